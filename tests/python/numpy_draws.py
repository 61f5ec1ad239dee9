"""How the arguments of functions are drawn, and what numpy says to them."""

import warnings

import numpy as np

import oracle_dtypes as types
import oracle_formulas
from numpy_drawing import *  # noqa: F403

# ---- elementwise functions

COMPLEX_EDGES = ("add", "sub", "neg", "abs", "eq", "ne", "select", "real", "imag", "conj")
EITHER_ZERO = ("maximum", "minimum", "fmax", "fmin", "nextafter")


def operand_types(rng, record, count):
    """Types that promote to one that the op takes; mostly one and the same, else two."""
    while True:
        some = [one_of(rng, drawable(record)) for _ in range(1 if rng.random() < 0.6 else 2)]
        chosen = [one_of(rng, some) for _ in range(count)]
        if computed_in(record, chosen) is not None:
            return chosen


def edges_of(record, dtype):
    return EDGES if kind(dtype) < 3 or record in COMPLEX_EDGES else NUMBERS


def elementwise(rng, name, function, count):
    record = getattr(lz, name).op
    low, high = OPS[record].sample
    if rng.random() < 0.25 and record != "pow":
        low, high = -20, 20
    dtypes = operand_types(rng, record, count)
    result = computed_in(record, dtypes)
    edges = edges_of(record, result) if record != "copysign" else NUMBERS
    given = [values(rng, d, s, low, high, edges) for d, s in zip(dtypes, broadcasting(rng, count))]
    passed = list(given)
    if count == 2 and rng.random() < 0.1:  # a number of Python's takes the tensor's type
        which = int(rng.integers(2))
        if dtypes[1 - which] != BOOL and computed_in(record, [dtypes[1 - which]]) is not None:
            result = computed_in(record, [dtypes[1 - which]])
            number = one_of(rng, [1.5, 3, 0.25]) if kind(result) > 1 else 3
            passed[which], given[which] = number, narrow(np.float64(number), result)
            if kind(dtypes[1 - which]) < 2 and isinstance(number, int):
                given[which] = np.array(number, dtypes[1 - which])
    computed = [wide(converted(x, result)) for x in given]
    return Call(tuple(passed), finite(record, result, numpys(function, *computed), result), record=record, signs=record not in EITHER_ZERO)


def finite(record, dtype, found, result):
    """Poles and overflow of complex functions are left out."""
    out = narrow(found, result)
    if kind(dtype) == 3 and out.dtype.kind == "c" and record not in COMPLEX_EDGES:
        return np.ma.array(out, mask=~np.isfinite(out))
    return out


def unary(rng, name):
    function = getattr(np, name)
    if name == "rint":
        function = lambda x: np.rint(x) if x.dtype.kind == "f" else x  # numpy's makes floats of integers
    return elementwise(rng, name, function, 1)


def binary(rng, name):
    return elementwise(rng, name, getattr(np, name), 2)


def ldexp(rng, name):
    dtype = one_of(rng, [d for d in REALS if d != DTYPE["u64"]])
    result = computed_in("scale2", [dtype])
    shapes = broadcasting(rng, 2)
    x, power = values(rng, dtype, shapes[0]), rng.integers(-30, 30, shapes[1]).astype(one_of(rng, ["int8", "int16", "int32", "int64"]))
    return Call((x, power), narrow(numpys(np.ldexp, wide(converted(x, result)), power), result), record="scale2", signs=True)


def nextafter(rng, name):
    dtypes = operand_types(rng, "nextafter", 2)
    result = computed_in("nextafter", dtypes)
    given = [values(rng, d, s) for d, s in zip(dtypes, broadcasting(rng, 2))]
    stored = [converted(x, result) for x in given]
    if result == BFLOAT16:
        wanted = np.asarray(oracle_formulas.nextafter(*(x.view(np.uint16) for x in stored))).astype(np.uint16).view(BFLOAT16)
    else:
        wanted = np.asarray(numpys(np.nextafter, *stored))
    return Call(tuple(given), wanted, record="nextafter")


def where(rng, name):
    dtypes = operand_types(rng, "select", 2)
    shapes = broadcasting(rng, 3)
    condition = values(rng, BOOL, shapes[0])
    given = [values(rng, d, s) for d, s in zip(dtypes, shapes[1:])]
    return Call((condition, *given), np.where(condition, *(converted(x, promoted(dtypes)) for x in given)), signs=True)


def clip(rng, name):
    dtypes = operand_types(rng, "clamp", 3)
    given = [values(rng, d, s) for d, s in zip(dtypes, broadcasting(rng, 3))]
    result = promoted(dtypes)
    for i in (1, 2):
        if rng.random() < 0.2:
            given[i] = None
    if given[1] is None or given[2] is None:
        result = promoted([x.dtype for x in given if x is not None])
        if result == BOOL:
            return clip(rng, name)
    wanted = numpys(np.clip, *(x if x is None else wide(converted(x, result)) for x in given))
    keywords = {}
    if rng.random() < 0.3:
        keywords = {"min": given.pop(1), "max": given.pop(1)}
    return Call(tuple(given), narrow(wanted, result), keywords, record="clamp")


def matmul(rng, name):
    dtypes = operand_types(rng, "matmul", 2)
    result = computed_in("matmul", dtypes)
    inner, rows, columns = filled_shape(rng, 3, 3) if rng.random() < 0.8 else shape_of(rng, 3, 3)
    lead = [s[-2:] for s in broadcasting(rng, 2)]
    shapes = [(*lead[0], rows, inner), (*lead[1], inner, columns)]
    for i in range(2):
        if rng.random() < 0.15:
            shapes[i] = (inner,)
    edges = [MILD if kind(result) < 3 and (kind(d) == 2 or kind(result) < 2) else NUMBERS for d in dtypes]
    given = [values(rng, d, s, edges=e) for d, s, e in zip(dtypes, shapes, edges)]
    computed = [wide(converted(x, result)) for x in given]
    terms = numpys(np.matmul, *map(np.abs, computed))
    return Call(tuple(given), narrow(numpys(np.matmul, *computed), result), record="matmul", terms=terms)


def einsum(rng, name):
    """Up to three operands of letters that have a size each, some of them twice, some operands with more axes before them."""
    dtypes = operand_types(rng, "einsum", int(rng.integers(1, 4)))
    result = computed_in("einsum", dtypes)
    sizes = dict(zip("ijkl", shape_of(rng, 4, 4)))
    before = [one_of(rng, [(), (), (2,), (3, 2), (1, 2)]) if rng.random() < 0.3 else None for _ in dtypes]
    letters = ["".join(one_of(rng, list(sizes)) for _ in range(rng.integers(0, 4))) for _ in dtypes]
    subscripts = ",".join(("" if b is None else "...") + own for b, own in zip(before, letters))
    if rng.random() < 0.7:
        there = sorted(set("".join(letters)))
        kept = [str(c) for c in rng.permutation(there)[: rng.integers(0, len(there) + 1)]]
        subscripts += "->" + ("..." if any(b is not None for b in before) else "") + "".join(kept)
    shapes = [(*(b or ()), *(sizes[c] for c in own)) for b, own in zip(before, letters)]
    given = [values(rng, d, s, -2.0, 2.0, NUMBERS) for d, s in zip(dtypes, shapes)]
    computed = [wide(converted(x, result)) for x in given]
    terms = numpys(np.einsum, subscripts, *map(np.abs, computed))
    return Call((subscripts, *given), narrow(numpys(np.einsum, subscripts, *computed), result), record="einsum", terms=terms)


# ---- reductions and scans

def reduced(rng, x, tuples=True):
    """Keywords that say over which axes."""
    how = rng.random()
    keywords = {}
    if how < 0.3 or x.ndim == 0:
        keywords = {} if rng.random() < 0.5 else {"axis": None}
    elif how < 0.65 or not tuples:
        keywords = {"axis": axis_of(rng, x.ndim)}
    else:
        keywords = {"axis": axes_of(rng, x.ndim)}
    return keywords | ({"keepdims": bool(rng.random() < 0.5)} if rng.random() < 0.6 else {})


def reduction(rng, name, tuples=True, low=-4.0, high=4.0, edges=MILD, other_types=False):
    record = getattr(lz, name).op or name
    dtype = one_of(rng, drawable(record))
    result = computed_in(record, [dtype])
    if kind(result) == 3 and record not in ("any", "all", "count_nonzero") or kind(dtype) < kind(result) == 2:
        edges = NUMBERS
    x = values(rng, dtype, shape_of(rng), low, high, edges)
    keywords = reduced(rng, x, tuples)
    function = getattr(np, name)
    if other_types and rng.random() < 0.15:
        result = one_of(rng, [DTYPE["f32"], DTYPE["f64"]] if kind(result) == 2 or record == "mean" else [result, DTYPE["c128"]])
        x = values(rng, dtype, x.shape, low, high, NUMBERS)
        keywords["dtype"] = str(result)
        if kind(result) < 2:
            wanted = numpys(function, x, **keywords)
            return Call((x,), np.asarray(wanted), keywords)
    computed = wide(converted(x, result))
    places = {k: v for k, v in keywords.items() if k != "dtype"}
    found = numpys(function, computed, **places)
    terms = numpys(np.sum, np.abs(computed), **places) if record in ("sum", "mean") else 1.0
    return Call((x,), narrow(found, result), keywords, record, terms)


def extreme(rng, name):
    return reduction(rng, name, edges=EDGES)


def position(rng, name):
    return reduction(rng, name, tuples=False, edges=EDGES)


def added(rng, name):
    return reduction(rng, name, other_types=True)


def multiplied(rng, name):
    return reduction(rng, name, low=0.5, high=1.5, other_types=True)


def spread(rng, name):
    dtype = one_of(rng, drawable(name))
    result = computed_in(name, [dtype])
    x = values(rng, dtype, shape_of(rng), edges=MILD if kind(dtype) == 2 else NUMBERS)
    keywords = reduced(rng, x)
    if rng.random() < 0.6:
        keywords[one_of(rng, ["ddof", "correction"])] = int(rng.integers(3))
    asked = dict(keywords)
    if kind(dtype) == 2 and rng.random() < 0.1:
        result = DTYPE["f64"]
        asked["dtype"] = "float64"
    return Call((x,), narrow(numpys(getattr(np, name), wide(converted(x, result)), **keywords), result), asked, name, terms=16.0)


def scan(rng, name):
    record = name.replace("cumulative_", "cum")
    dtype = one_of(rng, ALL)
    low, high = (-4, 4) if record == "cumsum" or kind(dtype) == 1 else (0.5, 1.5)
    x = values(rng, dtype, shape_of(rng, 0 if name == record else 1), low, high, MILD if kind(dtype) < 3 else NUMBERS)
    keywords = {"axis": axis_of(rng, x.ndim)} if x.ndim and (name != record and x.ndim > 1 or rng.random() < 0.7) else {}
    asked, result = dict(keywords), dtype
    if rng.random() < 0.15 and kind(dtype) < 3:
        result = DTYPE["f64"]
        asked["dtype"] = result
    computed = wide(converted(x, result))
    function = getattr(np, name)
    terms = numpys(function, np.abs(computed), **keywords)
    return Call((x,), narrow(numpys(function, computed, **keywords), result), asked, record, terms)


# ---- movement: elements are taken as they are

def moved(arguments, **limits):
    """A drawer of functions of one tensor that move elements; `arguments` draws all but the tensor."""
    def draw(rng, name):
        x = values(rng, one_of(rng, ALL), shape_of(rng, limits.get("low", 0)))
        rest, keywords = arguments(rng, x)
        wanted = numpys(getattr(np.fft if name.endswith("fftshift") else np, name), x, *rest, **keywords)
        return Call((x, *rest), wanted, keywords, signs=True)
    return draw


def ways_to_transpose(rng, x):
    if rng.random() < 0.25:
        return (), {}
    order = tuple(int(a) - (x.ndim if rng.random() < 0.3 else 0) for a in rng.permutation(x.ndim))
    return (order,), {}


def order_of(rng, x):
    return ([int(a) for a in rng.permutation(x.ndim)],), {}


def ways_to_move(rng, x):
    if rng.random() < 0.5:
        return (axis_of(rng, x.ndim), axis_of(rng, x.ndim)), {}
    source = axes_of(rng, x.ndim)
    return (source, tuple(int(a) for a in rng.permutation(x.ndim)[: len(source)])), {}


def ways_to_expand(rng, x):
    if rng.random() < 0.6:
        return (int(rng.integers(-x.ndim - 1, x.ndim + 1)),), {}
    rank = x.ndim + int(rng.integers(1, 3))
    return (tuple(int(a) for a in rng.permutation(rank)[: rank - x.ndim]),), {}


def ways_to_squeeze(rng, x):
    ones = [a for a, n in enumerate(x.shape) if n == 1]
    if rng.random() < 0.3:
        return (), {}
    if ones and rng.random() < 0.5:
        return (), {"axis": one_of(rng, ones) - (x.ndim if rng.random() < 0.5 else 0)}
    return (), {"axis": tuple(ones)}


def ways_to_reshape(rng, x):
    left, shape = x.size, []
    while left > 1 and len(shape) < 4:
        divisors = [d for d in range(1, left + 1) if left % d == 0]
        shape.append(one_of(rng, divisors))
        left //= shape[-1]
    shape.append(left)
    shape = [shape[i] for i in rng.permutation(len(shape))]
    if x.size and rng.random() < 0.4:
        shape[rng.integers(len(shape))] = -1
    return (shape[0] if len(shape) == 1 else tuple(shape),), {}


def ways_to_broadcast(rng, x):
    return ((*shape_of(rng, 0, 2), *(int(rng.integers(0, 5)) if n == 1 else n for n in x.shape)),), {}


def ways_to_flip(rng, x):
    how = rng.random()
    if how < 0.3 or x.ndim == 0:
        return (), {}
    return (axis_of(rng, x.ndim) if how < 0.6 else axes_of(rng, x.ndim),), {}


def ways_to_roll(rng, x):
    how = rng.random()
    if how < 0.3 or x.ndim == 0:
        return (int(rng.integers(-9, 9)),), {}
    if how < 0.6:
        return (int(rng.integers(-9, 9)), axis_of(rng, x.ndim)), {}
    axes = axes_of(rng, x.ndim, 1)
    return (tuple(int(s) for s in rng.integers(-9, 9, len(axes))), axes), {}


def ways_to_repeat(rng, x):
    return (int(rng.integers(0, 4)),), {"axis": axis_of(rng, x.ndim)} if x.ndim and rng.random() < 0.7 else {}


def ways_to_tile(rng, x):
    if rng.random() < 0.3:
        return (int(rng.integers(0, 4)),), {}
    return (tuple(int(n) for n in rng.integers(0, 3, rng.integers(0, 5))),), {}


def ways_to_pad(rng, x):
    how = rng.random()
    pairs = [tuple(pair) for pair in rng.integers(0, 3, (max(x.ndim, 1), 2)).tolist()]
    if how < 0.3 or x.ndim == 0:
        widths = pairs[0][0]
    elif how < 0.5:
        widths = pairs[0]
    else:
        widths = tuple(pairs if how < 0.9 else pairs[:1])
    keywords = {"constant_values": 1} if rng.random() < 0.4 else {}
    return (widths,), keywords | ({"mode": "constant"} if rng.random() < 0.2 else {})


def ways_to_diagonal(rng, x):
    keywords = {"offset": int(rng.integers(-3, 4))} if rng.random() < 0.7 else {}
    if rng.random() < 0.7:
        first, second = (int(a) for a in rng.permutation(x.ndim)[:2])
        keywords |= {"axis1": first, "axis2": second - x.ndim if rng.random() < 0.3 else second}
    return (), keywords


def ways_to_cut(rng, x):
    return (), {"k": int(rng.integers(-5, 6))} if rng.random() < 0.8 else {}


def ways_to_split(rng, x):
    axis = axis_of(rng, x.ndim)
    size = x.shape[axis]
    if rng.random() < 0.5:
        parts = one_of(rng, [d for d in range(1, size + 1) if size % d == 0] or [1, 2, 3])
        return (parts,), {"axis": axis}
    return ([int(i) for i in rng.integers(-1 - size, size + 2, rng.integers(0, 4))],), {"axis": axis}


def ways_to_take(rng, x):
    axis = axis_of(rng, x.ndim) if x.ndim and rng.random() < 0.7 else None
    size = x.size if axis is None else x.shape[axis]
    at = rng.integers(-size, size, shape_of(rng, 0, 2)) if size else np.zeros((0,), np.int64)
    at = np.asarray(at, one_of(rng, ["int16", "int32", "int64"]))
    return (at,), {} if axis is None else {"axis": axis}


def ways_to_take_along(rng, x):
    axis = axis_of(rng, x.ndim)
    size = x.shape[axis]
    shape = [1 if rng.random() < 0.2 else n for n in x.shape]
    shape[axis] = int(rng.integers(0, 5)) if size else 0
    at = rng.integers(-size, size, shape) if size else np.zeros(shape, np.int64)
    return (at.astype(one_of(rng, ["int32", "int64"])), axis), {}


def nothing_else(rng, x):
    return (), {}


# ---- joining

def joined(rng, name):
    dtypes = operand_types(rng, "concat", int(rng.integers(1, 4)))
    shape = shape_of(rng, 1)
    axis = axis_of(rng, len(shape))
    shapes = [tuple(int(rng.integers(0, 4)) if a == axis % len(shape) else n for a, n in enumerate(shape)) for _ in dtypes]
    keywords = {"axis": axis} if axis % len(shape) or rng.random() < 0.5 else {}
    if rng.random() < 0.2:
        shapes, keywords = [shape_of(rng) for _ in dtypes], {"axis": None}
    given = [values(rng, d, s) for d, s in zip(dtypes, shapes)]
    return Call((given,), getattr(np, name)([converted(x, promoted(dtypes)) for x in given], **keywords), keywords, signs=True)


def stacked(rng, name):
    dtypes = operand_types(rng, "stack", int(rng.integers(1, 4)))
    shape = shape_of(rng, 0, 3)
    given = [values(rng, d, shape) for d in dtypes]
    keywords = {"axis": int(rng.integers(-len(shape) - 1, len(shape) + 1))} if rng.random() < 0.8 else {}
    return Call((given,), np.stack([converted(x, promoted(dtypes)) for x in given], **keywords), keywords, signs=True)


# ---- sorting and searching

def ties(rng, dtype, shape):
    """Few different values, so that some are equal."""
    if rng.random() < 0.5 or kind(dtype) < 2:
        return values(rng, dtype, shape, -2, 2)
    return converted(values(rng, DTYPE["i8"], shape, -2, 2, NUMBERS), dtype)


def in_order(rng, name):
    x = ties(rng, one_of(rng, REALS), shape_of(rng, 1))
    keywords = {"axis": axis_of(rng, x.ndim)} if rng.random() < 0.8 else {}
    return Call((x,), narrow(getattr(np, name)(wide(x), kind="stable", **keywords), x.dtype), keywords)


def searched(rng, name):
    dtypes = operand_types(rng, "searchsorted", 2)
    result = promoted(dtypes)
    sequence = ties(rng, dtypes[0], shape_of(rng, 1, 1))
    sequence = sequence[np.argsort(wide(converted(sequence, result)), kind="stable")]
    sought = ties(rng, dtypes[1], shape_of(rng))
    keywords = {"side": one_of(rng, ["left", "right"])} if rng.random() < 0.7 else {}
    computed = [wide(converted(x, result)) for x in (sequence, sought)]
    return Call((sequence, sought), np.asarray(np.searchsorted(*computed, **keywords)), keywords)


def distinct(rng, name):
    x = ties(rng, one_of(rng, REALS), shape_of(rng))
    keywords = {k: bool(rng.random() < 0.7) for k in ("return_inverse", "return_counts") if rng.random() < 0.6}
    found = np.unique(wide(x), **keywords)
    parts = found if isinstance(found, tuple) else (found,)
    wanted = [narrow(parts[0], x.dtype), *parts[1:]]
    return Call((x,), wanted if isinstance(found, tuple) else wanted[0], keywords)


def found(rng, name):
    x = ties(rng, one_of(rng, ALL), shape_of(rng))
    wanted = numpys(getattr(np, name), wide(x))
    return Call((x,), list(wanted) if isinstance(wanted, tuple) else wanted)


# ---- factories

def type_or_none(rng, choices=None):
    return {"dtype": str(one_of(rng, choices or ALL))} if rng.random() < 0.7 else {}


def as_type(keywords, default):
    return numpy_type(keywords.get("dtype", default))


def shaped(rng, name):
    keywords = type_or_none(rng)
    shape = shape_of(rng)
    asked = shape[0] if len(shape) == 1 and rng.random() < 0.5 else shape
    dtype = as_type(keywords, "float32")
    if name != "full":
        return Call((asked,), np.asarray(getattr(np, name)(shape, dtype)), keywords, only_shape=name == "empty")
    value = one_of(rng, [0, 1, 3, 2.5, True])
    default = {bool: "bool", int: "int32", float: "float32"}[type(value)]
    return Call((asked, value), np.full(shape, value, as_type(keywords, default)), keywords)


def alike(rng, name):
    keywords = type_or_none(rng)
    x = values(rng, one_of(rng, ALL), shape_of(rng))
    rest = (one_of(rng, [0, 1, 3, 2.5, True]),) if name == "full_like" else ()
    return Call((x, *rest), getattr(np, name)(x, *rest, dtype=as_type(keywords, x.dtype)), keywords, only_shape=name == "empty_like")


def diagonal_of_ones(rng, name):
    keywords = type_or_none(rng)
    dtype = as_type(keywords, "float32")
    if rng.random() < 0.7:
        keywords["k"] = small(rng, -6, 7)
    given = (small(rng, 0, 6),) if rng.random() < 0.4 else (small(rng, 0, 6), small(rng, 0, 6))
    return Call(given, getattr(np, name)(*given, k=keywords.get("k", 0), dtype=dtype), keywords)


def arange(rng, name):
    whole = rng.random() < 0.5
    number = (lambda: small(rng, -20, 20)) if whole else (lambda: small(rng, -40, 40) / 8)  # eighths: ends are where they seem
    given = one_of(rng, [(number(),), (number(), number()), (number(), number(), number() or 1)])
    keywords = type_or_none(rng, [DTYPE["f32"], DTYPE["f64"]] + ([DTYPE["i16"], DTYPE["i32"], DTYPE["i64"]] if whole else []))
    default = "int64" if all(isinstance(n, int) for n in given) else "float32"
    wanted = converted(np.arange(*given, dtype=np.int64 if whole else np.float64), as_type(keywords, default))
    return Call(given, wanted, keywords, "affine", terms=40.0)


def spaced(rng, name):
    keywords = type_or_none(rng, [DTYPE["f32"], DTYPE["f64"]])
    dtype = as_type(keywords, "float32")
    given = (float(rng.uniform(-3, 3)), float(rng.uniform(-3, 3)), small(rng, 0, 12))
    if rng.random() < 0.1:
        given = given[:2]
    if name == "logspace" and rng.random() < 0.5:
        keywords["base"] = float(rng.uniform(0.5, 4))
    wanted = getattr(np, name)(*given, **{k: v for k, v in keywords.items() if k == "base"})
    return Call(given, narrow(wanted, dtype), keywords, "pow" if name == "logspace" else "affine", terms=6.0)


def made(rng, name):
    """Of arrays and of nested lists, whose numbers have the default types."""
    x = values(rng, one_of(rng, ALL), shape_of(rng), 0, 100, NUMBERS)
    keywords = type_or_none(rng)
    # Python's own complex numbers become no integers and no floats.
    loses = kind(x.dtype) == 3 and kind(as_type(keywords, x.dtype)) in (1, 2)
    if loses or rng.random() < 0.5:
        return Call((x,), cast_quietly(x, as_type(keywords, x.dtype)), keywords, signs=True)
    default = {0: BOOL, 1: DTYPE["i32"], 2: DTYPE["f32"], 3: DTYPE["c64"]}[kind(x.dtype)]
    if x.size == 0:
        default = DTYPE["f32"]
        x = x.astype(np.float64)
    if kind(x.dtype) == 1:
        x = x.astype(np.int64)
    listed = wide(x).tolist()
    return Call((listed,), cast_quietly(np.array(listed), as_type(keywords, default)), keywords, signs=True)


def cast_quietly(x, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return converted(x, dtype)


def as_another_type(rng, name):
    source, target = one_of(rng, ALL), one_of(rng, ALL)
    safe = kind(source) < 2 or kind(target) != 1
    x = values(rng, source, shape_of(rng), -100 if safe else 0, 100, EDGES if safe else NUMBERS)
    return Call((x, str(target)), cast_quietly(x, target), signs=True)


def exchanged(rng, name):
    x = values(rng, one_of(rng, [d for d in ALL if d != BFLOAT16]), shape_of(rng))
    return Call((x,), np.from_dlpack(x), signs=True)


def promotion(rng, name):
    while True:
        pair = (one_of(rng, ALL), one_of(rng, ALL))
        try:
            wanted = np.promote_types(*pair)
        except TypeError:
            continue
        if promoted(pair) is not None and promoted(pair) == wanted:  # elsewhere docs/ops.md promotes otherwise
            return Call(tuple(map(str, pair)), str(wanted))


# ---- methods that are no functions of numpy's

def listed(rng, name):
    x = values(rng, one_of(rng, ALL), (1,) * int(rng.integers(5)) if name == "item" else shape_of(rng))
    return Call((x,), np.asarray(getattr(wide(x), name)()))


def flattened(rng, name):
    x = values(rng, one_of(rng, ALL), shape_of(rng))
    return Call((x,), x.flatten(), signs=True)
