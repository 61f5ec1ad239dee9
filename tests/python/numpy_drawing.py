"""Types, arrays and calls that are drawn at random, as numpy and Lazuli are handed them."""

import dataclasses
import math
import operator
import warnings

import ml_dtypes
import numpy as np

import lazuli as lz
import oracle_dtypes as types
import oracle_formulas

OPS = {op.name: op for op in lz.ops()}
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
SHORT = {np.dtype(v): k for k, v in types.NUMPY.items() if k != "bf16"} | {BFLOAT16: "bf16"}  # the names that oracle_dtypes has
DTYPE = {short: dtype for dtype, short in SHORT.items()}
INTEGERS = [DTYPE[d] for d in types.INTEGERS]
FLOATS = [DTYPE[d] for d in types.FLOATS]
COMPLEX = [DTYPE[d] for d in types.COMPLEX]
BOOL = DTYPE["bool"]
REALS = [BOOL] + INTEGERS + FLOATS
ALL = REALS + COMPLEX

# What is not compared, because numpy leaves it open, means something else by it, or docs/ops.md says otherwise on purpose.
SKIPPED_FUNCTIONS = {
    "select": "numpy's chooses among lists of arrays; ours is numpy's where",
    "identity": "numpy's is a matrix of ones on the diagonal; ours is the tensor itself",
    "dtype": "a class without a constructor: types are lz.float32 and so on",
}
SKIPPED = {
    "parameters and forms that Lazuli lacks": "order, out, where, initial, decimals, kind, where of a condition alone",
    "types outside of an op's record": "Lazuli refuses them: isnan of integers, floor of truth values, sort of complex numbers",
    "u64 beside signed integers": "an error by docs/ops.md; numpy computes in float64",
    "an axis of a tensor of rank 0": "an error by docs/ops.md; numpy takes 0 and -1",
    "axis=None of sort, argsort and take_along_axis": "the axis is an integer by docs/ops.md; numpy flattens",
    "repeats that differ from element to element": "the count is one integer by docs/ops.md",
    "tril and triu of rank 1": "the last two dimensions are a matrix by docs/ops.md; numpy makes one of a vector",
    "infinities and NaN of complex operands": "numpy and C differ, but for add, subtract, negative, abs, equal and parts",
    "the sign of a zero of max, min, sort, sums and products": "numpy takes either zero",
    "copysign from NaN": "the sign of a NaN depends on how it came about",
    "floats beyond an integer type's range, as it": "numpy's result depends on the machine",
    "exponents of ldexp beyond 2^11": "they are converted to the first operand's type, as all operands are",
    "f64 products and sums that overflow on the way": "they depend on the order",
    "large integers in means and products, as floats": "they cancel, and rounding is what is left",
    "the elements of empty and empty_like": "they may be any; shape and type are compared",
    "Fourier transforms of no elements": "numpy refuses them",
    "order of equal elements under argsort": "numpy leaves it open but for kind='stable', with which ours is compared",
    "singular and almost singular matrices": "what comes of them is rounding",
    "eigenvectors and singular vectors of values that nearly coincide": "they are not unique",
}

OPERATORS = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv, "true_divide": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "mod": operator.mod, "power": operator.pow, "pow": operator.pow,
    "matmul": operator.matmul, "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "left_shift": operator.lshift, "right_shift": operator.rshift, "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt,
    "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge, "negative": operator.neg, "abs": operator.abs,
    "absolute": operator.abs, "invert": operator.invert,
}


# ---- types

def kind(dtype):
    return "bifc".index({"u": "i", "V": "f"}.get(dtype.kind, dtype.kind))


def promoted(dtypes):
    """By docs/ops.md; None where that says it is an error."""
    highest = max(map(kind, dtypes))
    if highest == 3:
        parts = {"f64" if d in (DTYPE["f64"], DTYPE["c128"]) else "f32" for d in dtypes}
        return DTYPE["c128" if "f64" in parts else "c64"]
    among = {d for d in dtypes if kind(d) == highest}
    if among == {DTYPE["f16"], DTYPE["bf16"]}:
        return DTYPE["f32"]
    among -= {DTYPE["f16"], DTYPE["bf16"]} if len(among) > 1 and highest == 2 else set()
    out = among.pop()
    for d in among:
        out = np.promote_types(out, d)
    return out if kind(out) == highest else None


def numpy_type(name):
    name = str(name).removeprefix("lazuli.")
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


def computed_in(record, dtypes):
    """The type that an op computes in: integers are floats to ops of floats."""
    out = promoted(dtypes)
    if out is None or out in taken(record):
        return out
    return DTYPE["f32"] if kind(out) < 2 and DTYPE["f32"] in taken(record) else None


def taken(record):
    return [numpy_type(d) for d in OPS[record].dtypes]


def drawable(record):
    """The types of operands: those of the record, and what is promoted to its floats."""
    listed = taken(record)
    if DTYPE["i32"] in listed or record in ("isnan", "isinf", "isfinite"):
        return listed
    return [BOOL] + INTEGERS + listed


def converted(array, dtype):
    """As Lazuli's cast converts."""
    if array.dtype == dtype:
        return array
    if kind(dtype) < 2 or kind(array.dtype) == 2 and kind(dtype) == 3:
        return array.astype(dtype)
    source = array.view(np.uint16) if array.dtype == BFLOAT16 else array
    out = oracle_formulas.cast(SHORT[array.dtype], source, SHORT[dtype])
    return out.view(BFLOAT16) if dtype == BFLOAT16 else out


def wide(array):
    if array.dtype == BFLOAT16:
        return array.astype(np.float64)
    return types.widen(SHORT[array.dtype], array)


def narrow(array, dtype):
    """What numpy found as the type of Lazuli's result: integers stay, floats are of the type computed in, or of its parts'."""
    if array is ValueError:
        return array
    array = np.asarray(array)
    if array.dtype.kind in "biu":
        return array
    if array.dtype.kind == "f" and kind(dtype) == 3:
        dtype = DTYPE[types.PART[SHORT[dtype]]]
    if kind(dtype) < 2:
        return array.astype(dtype)
    out = types.narrow(SHORT[dtype], array)
    return out.view(BFLOAT16) if dtype == BFLOAT16 else out


# ---- drawing

def shape_of(rng, low=0, high=4):
    return tuple(int(n) for n in rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 2, 3, 1], rng.integers(low, high + 1)))


def filled_shape(rng, low=0, high=4):
    return tuple(max(n, 1) for n in shape_of(rng, low, high))


def broadcasting(rng, count):
    """Shapes that broadcast with each other."""
    whole = shape_of(rng)
    out = []
    for _ in range(count):
        shape = whole[rng.integers(len(whole) + 1):] if rng.random() < 0.3 else whole
        out.append(tuple(1 if rng.random() < 0.2 else n for n in shape))
    return out


def one_of(rng, choices):
    return choices[rng.integers(len(choices))]


def axis_of(rng, rank):
    return int(rng.integers(-rank, rank))


def axes_of(rng, rank, least=0):
    """Several axes, each counted from either end."""
    some = rng.permutation(rank)[: rng.integers(least, rank + 1)]
    return tuple(int(a) - (rank if rng.random() < 0.5 else 0) for a in some)


NUMBERS = "numbers"  # no edges
MILD = "mild"  # NaN, infinities and zeros, but nothing that overflows
EDGES = "edges"


def edge_values(dtype, edges):
    if kind(dtype) == 1:
        info = np.iinfo(dtype)
        return np.array([info.min, info.max, info.max - 1, 0, 1], dtype)
    special = [0.0, -0.0, math.inf, -math.inf, math.nan]
    if edges == EDGES:
        tiny, large = types.TINIEST[SHORT[dtype]], types.LARGEST[SHORT[dtype]]
        special += [tiny, -tiny, large, -large, 1.0, -1.0, 0.5, 2.0]
    return narrow(np.array(special), dtype)


def values(rng, dtype, shape, low=-4.0, high=4.0, edges=EDGES):
    """An array of numbers between the bounds, in a third of the draws with values from the edge among them."""
    if kind(dtype) == 0:
        return np.asarray(rng.random(shape) < 0.5)
    if kind(dtype) == 1:
        info = np.iinfo(dtype)
        out = rng.integers(max(math.floor(low), info.min), math.ceil(high) + 1, shape).astype(dtype)
        if edges != NUMBERS and rng.random() < 0.2:
            out = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    elif kind(dtype) == 2:
        out = narrow(rng.uniform(low, high, shape), dtype)
    else:
        out = np.empty(shape, dtype)
        part = DTYPE[types.PART[SHORT[dtype]]]
        out.real, out.imag = (values(rng, part, shape, low, high, edges) for _ in range(2))
        return out
    if edges != NUMBERS and rng.random() < 0.33:
        special = edge_values(dtype, edges)
        out = np.where(rng.random(shape) < 0.4, special[rng.integers(len(special), size=shape)], out).astype(dtype)
    return np.asarray(out)


def handed(rng, array):
    """The array as Lazuli is handed it: a tensor, a view of another tensor, or as it is."""
    how = rng.random()
    if how < 0.1:
        return array
    if how < 0.15:  # an array of numpy with strides of its own
        return np.flip(np.ascontiguousarray(np.flip(array).T)).T if array.ndim else array
    if how < 0.55 or array.ndim == 0:
        return lz.array(array)
    if how < 0.7:
        order = [int(a) for a in rng.permutation(array.ndim)]
        return lz.array(np.transpose(array, np.argsort(order))).transpose(order)
    if how < 0.85:
        axes = axes_of(rng, array.ndim)
        return lz.array(np.flip(array, axes)).flip(axes)
    steps = [int(s) for s in rng.integers(1, 3, array.ndim)]
    room = np.zeros([1 + n * s for n, s in zip(array.shape, steps)], array.dtype)
    box = tuple(slice(1, None, s) for s in steps)
    room[box] = array
    return lz.array(room)[box]


@dataclasses.dataclass
class Call:
    """A call and what numpy says to it."""
    given: tuple  # arrays are handed as tensors, views or arrays; lists of them too
    wanted: object  # an array, several, or the class of the error that both raise
    keywords: dict = dataclasses.field(default_factory=dict)
    record: str = None  # the op whose tolerance holds; None: equal
    terms: object = 1.0  # how large what was added is
    signs: bool = False  # whether the signs of zeros are compared
    only_shape: bool = False


def numpys(function, *arguments, **keywords):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*arguments, **keywords)
        except ValueError:
            return ValueError


def small(rng, low=-9, high=9):
    return int(rng.integers(low, high))
