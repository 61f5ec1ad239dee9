"""What calls from Python cost: recording an operation, and evaluating one whose plan is there, on 16 elements.

    LAZULI_DEVICE=cpu .venv/bin/python bench/python_calls.py
"""

import timeit

import numpy as np

import lazuli as lz

x = lz.array(np.arange(16, dtype=np.float32))
y = (x + 1).eval()

RECORDED = ["x + y", "x + 1.0", "-x", "x.tanh()", "lz.add(x, y)", "x.sum(axis=0)", "x.reshape(4, 4)", "x[1:3]"]
EVALUATED = ["(x + y).eval()", "lz.eval(x + y)", "(x + y).tanh().eval()"]

COUNT = 500  # short, so that some of the turns are left alone by whatever else runs
for statement in RECORDED + EVALUATED:
    best = min(timeit.repeat(statement, number=COUNT, repeat=300, globals=globals())) / COUNT
    print(f"{statement:24} {best * 1e9:7.0f} ns")
