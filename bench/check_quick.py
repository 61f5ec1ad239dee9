#!/usr/bin/env python3
"""Runs every case of `lazuli bench` on small sizes, and looks at what is said of them.

    check_quick.py build/release/bin/lazuli
"""

import json
import math
import subprocess
import sys


def output(*arguments, **options):
    return subprocess.run([sys.argv[1], "bench", "--quick", *arguments], check=True, text=True, stdout=subprocess.PIPE,
                          **options).stdout


def main():
    names = [line.split()[0] for line in output("--list").splitlines()]
    assert len(names) == len(set(names)) and len(names) > 50, names
    rows = {row["name"]: row for row in json.loads(output("--json"))}
    assert list(rows) == names, "listed and run differ: %s" % sorted(set(names) ^ set(rows))
    for name, row in rows.items():
        assert 0 < row["min_us"] <= row["median_us"] < math.inf, row
        for field in ("gb_s", "gflop_s", "share_of_limit"):
            assert row[field] is None or 0 < row[field] < math.inf, row
        if name.startswith("matmul"):
            assert row["gflop_s"] and row["share_of_limit"], row
        if name.startswith("softmax/"):
            assert row["gb_s"] and row["share_of_limit"], row
        assert ("times_lazy" in row) == name.startswith(("eager/", "passes_off/")), row
        assert ("cycles_for_16_over_bare" in row) == name.startswith("matmul_bias_gelu/"), row
    # A filter takes along what a case is compared with, and nothing else.
    some = [row["name"] for row in json.loads(output("--json", "--filter", "^matmul_bias_gelu/f32/64$"))]
    assert some == ["matmul/f32/64", "matmul_bias_gelu/f32/64"], some
    turns = [json.loads(line) for line in output("--turns", input="call/f32/16\ncall/f32/16\nno such\n").splitlines()]
    assert turns[0]["seconds"] > 0 and turns[1]["seconds"] > 0 and "no such" in turns[2]["error"], turns
    print("bench: %d cases ran" % len(names))


if __name__ == "__main__":
    main()
