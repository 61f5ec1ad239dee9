#!/usr/bin/env python3
"""What traces and LAZULI_DEBUG cost where nobody asks for them: bench-watched of this build and of one that lacks them, in turns.

usage: bench/untraced.py [--rounds N]      builds build/release and build/untraced first
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def build():
    subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    untraced = ["cmake", "--preset", "release", "-B", "build/untraced", "-DLAZULI_TRACING=OFF", "-DLAZULI_TESTS=OFF"]
    subprocess.run(untraced, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    out = []
    for folder in ("release", "untraced"):
        subprocess.run(["ninja", "-C", f"build/{folder}", "bench-watched"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        out.append(ROOT / "build" / folder / "bin" / "bench-watched")
    return out


def readings(program):
    text = subprocess.run([program], env={**os.environ, "LAZULI_CACHE": "0"}, check=True, capture_output=True, text=True).stdout
    return {name: float(seconds) for name, seconds in (line.split() for line in text.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=61)
    rounds = parser.parse_args().rounds
    programs = build()
    seen = [{}, {}]
    for i in range(rounds):
        print(f"\rround {i + 1} of {rounds}", end="", file=sys.stderr, flush=True)
        for which in (0, 1) if i % 2 == 0 else (1, 0):  # the order must not favour one
            for name, seconds in readings(programs[which]).items():
                seen[which].setdefault(name, []).append(seconds)
    print(file=sys.stderr)
    print(f"{'work':<14} {'traced build':>14} {'untraced':>14} {'by medians':>11} {'by best':>9}")
    for name, ours in seen[0].items():
        without = seen[1][name]
        print(
            f"{name:<14} {statistics.median(ours) * 1e6:>11.3f} us {statistics.median(without) * 1e6:>11.3f} us"
            f" {statistics.median(ours) / statistics.median(without):>11.4f} {min(ours) / min(without):>9.4f}"
        )


if __name__ == "__main__":
    main()
