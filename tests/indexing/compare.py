#!/usr/bin/env python3
"""Indexing against numpy: runs the program that draws indices and checks every line it prints.

usage: compare.py PROGRAM [COUNT]
"""

import subprocess
import sys
import warnings

try:
    import numpy as np
except ImportError:
    print("numpy is not installed: skipped")
    sys.exit(77)


def expected(shape, text):
    x = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    try:
        warnings.simplefilter("error")  # a position outside an empty result is still accepted with a warning
        return x[eval(text, {"np": np, "slice": slice, "Ellipsis": Ellipsis})]
    except (IndexError, ValueError, DeprecationWarning):
        return None


def main():
    count = sys.argv[2] if len(sys.argv) > 2 else "3000"
    lines = subprocess.run([sys.argv[1], "1", count], capture_output=True, text=True, check=True).stdout.splitlines()
    wrong = errors = 0
    for line in lines:
        shape, text, got_shape, got = line.split("\t")
        want = expected(eval(shape), text)
        if want is None or got_shape == "error":
            errors += 1
            ok = want is None and got_shape == "error"
        else:
            ok = list(want.shape) == eval(got_shape) and want.reshape(-1).tolist() == eval(got)
        if not ok:
            wrong += 1
            if wrong <= 10:
                print("x%s %s\n  numpy: %s\n  here:  %s %s" % (shape, text, None if want is None else (want.shape, want.tolist()), got_shape, got))
    print("indexing: %d indices against numpy, %d of them refused, %d wrong" % (len(lines), errors, wrong))
    return 1 if wrong or len(lines) != int(count) else 0


if __name__ == "__main__":
    sys.exit(main())
