#!/usr/bin/env python3
"""Lazuli and its peers on the same work, turn by turn.

    compare.py --lazuli build/release/bin/lazuli [--filter REGEX] [--rounds N] [--libraries a,b] [--json FILE] [--plot FILE]

Every library runs in a process of its own (worker.py). All warm up, then each round runs each library once; the table shows medians
over the rounds and the fastest peer's time over ours, by medians and by the least of all readings. --plot FILE writes FILE.svg and
FILE.png. --from FILE.json prints and plots what was measured before; --list names the work.
"""

import argparse
import json
import os
import re
import select
import signal
import statistics
import subprocess
import sys
import time

from libraries import LIBRARIES
from work import all_work

READING = 0.02     # seconds: short work is repeated for so long
MOST = 6.0         # seconds of readings a library and piece of work, once three are taken
START = 120.0      # seconds to import a library
PREPARE = 300.0    # seconds to compile and warm up
PAUSE = 0.01       # threads of the library before stop spinning
# What a library is run with again where it crashes. Processors exist that announce AMX, on which oneDNN, which multiplies bf16 for
# PyTorch, executes an instruction they lack.
CAREFUL = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}


class Gone(Exception):
    """The process ended, or did not answer in time."""


class Missing(Exception):
    """The library is not installed."""


class Process:
    """A child that answers lines with lines."""

    def __init__(self, command, environment=None):
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                      env={**os.environ, **(environment or {})})
        self.rest = b""

    def ask(self, line, timeout):
        """Sends a line (or nothing) and returns what the next one that comes back says in JSON."""
        return json.loads(self.ask_text(line, timeout))

    def ask_text(self, line, timeout):
        try:
            if line is not None:
                self.child.stdin.write(line.encode() + b"\n")
                self.child.stdin.flush()
            until = time.monotonic() + timeout
            while b"\n" not in self.rest:
                if not select.select([self.child.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                    self.end()
                    raise Gone("no answer in %.0f s" % timeout)
                more = os.read(self.child.stdout.fileno(), 65536)
                if not more:
                    raise BrokenPipeError
                self.rest += more
        except BrokenPipeError:
            code = self.child.wait()
            raise Gone("crashed (%s)" % (signal.Signals(-code).name if code < 0 else "exit code %d" % code)) from None
        answer, self.rest = self.rest.split(b"\n", 1)
        return answer.decode()

    def end(self):
        self.child.kill()
        self.child.wait()


class Worker:
    """A library by worker.py."""

    def __init__(self, library, environment=None):
        self.process = Process([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py"), library],
                               environment)
        answer = self.process.ask(None, START)
        if "missing" in answer:
            self.process.end()
            raise Missing(answer["missing"])

    def prepare(self, work):
        """The mean of the result; RuntimeError where the library cannot do this work."""
        answer = self.process.ask(json.dumps({"prepare": work.name, "reading": READING}), PREPARE)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["mean"]

    def read(self):
        answer = self.process.ask(json.dumps({"read": True}), PREPARE)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["seconds"]

    def end(self):
        self.process.end()


class Program:
    """Lazuli by `lazuli bench --turns`; it draws operands of its own."""

    def __init__(self, path, environment=None):
        if not path:
            raise Missing("neither the Python module nor --lazuli")
        self.process = Process([path, "bench", "--turns"], environment)
        self.work = None

    def prepare(self, work):
        self.work = work
        self.read()  # warms up as well

    def read(self):
        answer = self.process.ask(self.work.name, PREPARE)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["seconds"]

    def end(self):
        self.process.end()


class Peer:
    """A library, started when it is needed and again when it is gone."""

    def __init__(self, name, start):
        self.name, self.start = name, start
        self.worker, self.careful = None, False

    def ready(self, work):
        """Warms up on some work. Returns the mean of the result, and what happened, if anything."""
        if self.careful:  # only for the work it crashed on
            self.end()
        note = None
        for environment in (None, CAREFUL):
            try:
                if self.worker is None:
                    self.worker = self.start(environment)
                mean = self.worker.prepare(work)
                if note:
                    note += "; runs with " + ", ".join("%s=%s" % item for item in CAREFUL.items())
                self.careful = environment is not None
                return mean, note
            except Gone as gone:
                self.end()
                if note or "crashed" not in str(gone):  # what crashed may go with care, what is slow does not
                    raise Gone(note or str(gone)) from None
                note = str(gone)
        raise AssertionError

    def end(self):
        if self.worker is not None:
            self.worker.end()
        self.worker, self.careful = None, False


def lazuli_by(path):
    """How Lazuli is started, and by what: the module where it can be imported, else the program."""
    try:
        Worker("lazuli").end()
        return (lambda environment: Worker("lazuli", environment)), "the Python module"
    except Missing as missing:
        if not path:
            sys.exit("compare.py: lazuli cannot be imported (%s), and there is no --lazuli" % missing)
        return (lambda environment: Program(path, environment)), "lazuli bench --turns"


def start_peers(options):
    peers, notes = [], []
    for name in options.libraries.split(","):
        if name not in LIBRARIES:
            sys.exit("compare.py: --libraries %s: there are %s" % (name, ", ".join(LIBRARIES)))
        if name == "lazuli":
            start, by = lazuli_by(options.lazuli)
            notes.append("lazuli: by " + by)
            peers.append(Peer(name, start))
            continue
        try:
            peer = Peer(name, lambda environment, name=name: Worker(name, environment))
            peer.worker = peer.start(None)
            peers.append(peer)
        except Missing as missing:
            notes.append("%s: left out, %s" % (name, missing))
        except Gone as gone:
            notes.append("%s: left out, %s on import" % (name, gone))
    return peers, notes


def differs(mean, other, dtype):
    return abs(mean - other) > (0.03 if dtype == "bf16" else 1e-3) * max(abs(other), 1e-6)


def measure(work, peers, rounds, notes, progress):
    """Readings in seconds by library; none for one that could not, and the reason in the notes."""
    ready, means, out = [], {}, {}
    for peer in peers:
        progress("%s: %s warms up" % (work.name, peer.name))
        try:
            means[peer.name], note = peer.ready(work)
            ready.append(peer)
        except (Gone, RuntimeError) as error:
            out[peer.name], note = [], str(error)
        if note and not note.startswith("NotImplementedError"):
            notes.append("%s, %s: %s" % (peer.name, work.name, note))
    known = sorted(m for m in means.values() if m is not None)
    for name, mean in means.items():
        if mean is not None and differs(mean, known[len(known) // 2], work.dtype):
            notes.append("%s, %s: its result has the mean %.6g, others %.6g" % (name, work.name, mean, known[len(known) // 2]))
    readings = {peer.name: [] for peer in ready}
    spent = {peer.name: 0.0 for peer in ready}
    for number in range(rounds):
        for peer in list(ready):
            if len(readings[peer.name]) >= 3 and spent[peer.name] > MOST:
                continue
            progress("%s: round %d of %d, %s" % (work.name, number + 1, rounds, peer.name))
            time.sleep(PAUSE)
            start = time.monotonic()
            try:
                readings[peer.name].append(peer.worker.read())
            except (Gone, RuntimeError) as error:
                notes.append("%s, %s: %s in round %d" % (peer.name, work.name, error, number + 1))
                peer.end()
                ready.remove(peer)
            spent[peer.name] += time.monotonic() - start
    return {**out, **readings}


def ratio(seconds):
    """The fastest peer's time over ours, and its name."""
    others = {name: s for name, s in seconds.items() if name != "lazuli" and s}
    if not seconds.get("lazuli") or not others:
        return None, None
    best = min(others, key=others.get)
    return others[best] / seconds["lazuli"], best


def duration(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1 or unit == "us":
            return "%.*f %s" % (0 if seconds * scale >= 100 else 1 if seconds * scale >= 10 else 2, seconds * scale, unit)


def print_table(result):
    names = result["libraries"]
    width = max(len(row[key]) for row in result["work"] for key in ("name", "group"))
    group = None
    for row in result["work"]:
        if row["group"] != group:
            group = row["group"]
            print("\n%-*s" % (width, group) + "".join("%14s" % n for n in names) + "%13s%10s" % ("best / ours", "by least"))
        cells = ["%14s" % (duration(row["seconds"][n]) if row["seconds"].get(n) else "-") for n in names]
        if row["best_peer"]:
            cells.append("%12.2fx%9.2fx  %s" % (row["best_peer_over_ours"], row["best_peer_over_ours_by_least"], row["best_peer"]))
        print("%-*s" % (width, row["name"]) + "".join(cells))
    if result["notes"]:
        print("\n" + "\n".join(result["notes"]))


def write_json(result, path):
    if path:
        with open(path, "w") as file:
            json.dump(result, file, indent=1)


def write_plot(result, path):
    if path:
        try:
            import plot
        except ImportError as error:
            print("not plotted: %s" % error, file=sys.stderr)
        else:
            plot.write(result, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lazuli", help="the program, for where the Python module is not installed")
    parser.add_argument("--filter", default="", help="only work whose name this expression finds")
    parser.add_argument("--libraries", default=",".join(LIBRARIES))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json")
    parser.add_argument("--plot")
    parser.add_argument("--from", dest="source")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.source:
        with open(options.source) as file:
            result = json.load(file)
        print_table(result)
        return write_plot(result, options.plot)
    chosen = [w for w in all_work() if re.search(options.filter, w.name)]
    if options.list:
        return print("\n".join(w.name for w in chosen))
    if not chosen:
        sys.exit("compare.py: --filter %s: no work has such a name (--list lists it)" % options.filter)

    def progress(text):
        if sys.stderr.isatty():
            print("\r\033[K[%d of %d] %s" % (len(result["work"]) + 1, len(chosen), text), end="", file=sys.stderr, flush=True)

    peers, notes = start_peers(options)
    result = {"libraries": [p.name for p in peers], "rounds": options.rounds, "work": [], "notes": notes}
    try:
        for work in chosen:
            readings = measure(work, peers, options.rounds, notes, progress)
            row = {"name": work.name, "group": work.group}
            for key, of in (("seconds", statistics.median), ("least", min)):
                row[key] = {name: of(values) if values else None for name, values in readings.items()}
            row["best_peer_over_ours"], row["best_peer"] = ratio(row["seconds"])
            row["best_peer_over_ours_by_least"], _ = ratio(row["least"])
            result["work"].append(row)
            write_json(result, options.json)  # as it grows: who stops half way keeps that half
    except KeyboardInterrupt:
        notes.append("stopped by hand")
    finally:
        for peer in peers:
            peer.end()
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    if result["work"]:
        print_table(result)
        write_json(result, options.json)
        write_plot(result, options.plot)


if __name__ == "__main__":
    main()
