"""Lazuli, a lazy tensor engine: operations record, and run when a value is needed.

    import lazuli as lz
    y = (lz.array([[1.0, 2.0], [3.0, 4.0]]) @ x + 0.5).tanh().sum(axis=0)
    print(y)
"""

from math import e, inf, nan, pi

from . import _lazuli
from ._lazuli import *

newaxis = None


def __dir__():
    return sorted(set(globals()) | set(vars(_lazuli)))
