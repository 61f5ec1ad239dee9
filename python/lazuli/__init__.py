"""Lazuli, a lazy tensor engine: operations record, and run when a value is needed.

    import lazuli as lz

    x = lz.array([[1.0, 2.0], [3.0, 4.0]])
    y = (x @ x + 0.5).tanh().sum(axis=0)  # records; computes nothing
    print(y)                              # now it runs

A function whose sizes vary is planned once: `lz.compile(f, lz.placeholder("f32", (lz.dim("b", 1, 64), 8)))`.

`lz.grad(f)` is the gradient of a function of tensors, or of lists, tuples and dicts of them; `x.requires_grad = True` and
`y.backward()` keep gradients with tensors. `lz.vmap(f)` is the same function for each entry along an axis of its arguments,
without a loop.

Every operation of the op table is a function and a method under numpy's names; `lz.ops()` lists them.
"""

from math import e, inf, nan, pi

from . import _lazuli
from ._lazuli import *

__version__ = _lazuli.__version__
newaxis = None
