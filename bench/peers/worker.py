#!/usr/bin/env python3
"""One library in a process of its own: answers lines of JSON on standard input, for compare.py.

    {"prepare": NAME, "reading": SECONDS}  ->  {"ready": true, "mean": M}: the work is warmed up; M is the mean of what it computes
    {"read": true}                         ->  {"seconds": S}: what the work takes once
Anything that goes wrong is answered with {"error": TEXT}; where the library is not installed, {"missing": TEXT} comes first.
"""

import json
import os
import sys
import time

from libraries import LIBRARIES
from work import all_work


def run(function, times):
    start = time.perf_counter()
    for _ in range(times):
        function()
    return (time.perf_counter() - start) / times


def warm_up(function, reading):
    """How many runs a reading has. Compilers of some libraries start with the second call, and speed settles behind it."""
    for _ in range(3):
        taken = run(function, 1)
        if taken > 3:
            return 1
    times = 1
    while taken * times < reading and times < 1 << 16:
        times = int(min(max(reading / taken, 1), times * 8)) + 1
        taken = run(function, times)
    return times


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer

    def answer(**fields):
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    def in_short(error):
        return ("%s: %s" % (type(error).__name__, (str(error).splitlines() or [""])[0]))[:200]

    try:
        library = LIBRARIES[sys.argv[1]]()
    except Exception as error:
        answer(missing=in_short(error))
        return
    answer(ready=True)
    work = {w.name: w for w in all_work()}
    function, times = None, 1
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            if "prepare" in asked:
                function = None  # its operands go first
                function = library.prepare(work[asked["prepare"]])
                times = warm_up(function, asked["reading"])
                answer(ready=True, mean=float(library.numbers(function()).astype("f8").mean()))
            else:
                answer(seconds=run(function, times))
        except Exception as error:
            answer(error=in_short(error))


if __name__ == "__main__":
    main()
