"""Every op of the op table against its formula in numpy, called by the names that Python gives its parameters."""

import inspect
import itertools

import numpy as np
import pytest

import lazuli as lz
import oracle_formulas  # noqa: F401  (before the formulas that are a part of it)
import oracle_composites
import oracle_linalg
from oracle_formulas import FORMULAS

OPS = {op.name: op for op in lz.ops()}
LINEAR = set(oracle_linalg.OPS)  # test_linalg.py
BODIES = {"argument", "loop", "cond", "while_loop", "checkpoint", "custom_gradient"}  # recorded from functions of C++ programs
# `full`, every movement, functions of C++ programs, several results
NOT_CALLED = LINEAR | BODIES | {"constant", "view", "custom_call", "part", "bundle", "time_mix_v7", "time_mix_v7_grad"}

# Ops that Python calls as numpy does and not as their record says.
FORMS = {
    "slice": lambda i, a: lz.slice(i[0], a["starts"], [b + n * s if b + n * s >= 0 else -10**9 for b, n, s in zip(a["starts"], a["sizes"], a["steps"])], a["steps"]),
    "pad": lambda i, a: pad(i[0], **a),
    "roll": lambda i, a: lz.roll(i[0], a["shift"], a["axis"]),
    "repeat": lambda i, a: lz.repeat(i[0], a["count"], a["axis"]),
    "tile": lambda i, a: lz.tile(i[0], a["counts"]),
    "concat": lambda i, a: lz.concat(i, a["axis"]),
    "diagonal": lambda i, a: lz.diagonal(i[0], *a.values()),
    "attention_general": lambda i, a: attention_general(i, **a),
    "dropout": lambda i, a: lz.dropout(i[0], a["p"], i[1]),
    "scatter": lambda i, a: lz.scatter(i[0], i[2], i[1], **a),  # positions come before updates
    "stack": lambda i, a: lz.stack(i, a["axis"]),
    "einsum": lambda i, a: lz.einsum(a["subscripts"], *i),
}


def pad(x, before, after, value):
    """numpy's pad knows no negative widths; indices do."""
    cut = tuple(slice(max(-b, 0), n - max(-a, 0)) for n, b, a in zip(x.shape, before, after))
    return lz.pad(x[cut], [(max(b, 0), max(a, 0)) for b, a in zip(before, after)], constant_values=value)


def attention_general(i, masked, **a):
    more = dict(zip(["mask", "slopes"] if masked else ["slopes"], i[3:]))
    return lz.attention_general(*i[:3], **more, **a)


def type_of(op):
    for dtype in (lz.float32, lz.int32, lz.uint32, lz.uint64, lz.bool_):
        if dtype in op.dtypes:
            return np.dtype(str(dtype))
    raise AssertionError(f"no type to test {op.name} with")


def draw(rng, op, shape, dtype):
    low, high = op.sample
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(max(low, 0), max(high, 2), shape).astype(dtype)
    return rng.uniform(low, high, shape).astype(dtype)


def operands(rng, op, shapes):
    if op.name.startswith("random_"):
        return [np.uint64(1234)] + [draw(rng, op, shape, np.dtype(np.float32)) for shape in shapes[1:]]
    dtype = type_of(op)
    drawn = [draw(rng, op, shape, dtype) for shape in shapes]
    if op.name == "select":
        drawn[0] = rng.random(shapes[0]) < 0.5
    if op.name in ("embedding", "cross_entropy", "dropout", "rope"):  # floats beside integers
        drawn[0] = rng.uniform(-2, 2, shapes[0]).astype(np.float32)
        last = rng.integers(0, 2, shapes[1])
        drawn[1] = np.uint64(77) if op.name == "dropout" else last
    if op.name in ("token_shift", "shift_state", "channel_mix_v7"):  # the last says which tokens belong together
        drawn = [rng.uniform(-2, 2, shape).astype(np.float32) for shape in shapes[:-1]]
        drawn.append(np.array([[1, 0, shapes[0][0]]][: shapes[-1][0]], np.int64).reshape(-1, 3))
    if op.name in ("gather", "take"):
        axis_size = max(min(shapes[0], default=1), 1)
        drawn[1] = rng.integers(0, axis_size, shapes[1])
    return drawn


def wide(array):
    return np.asarray(array).astype(np.float64) if np.asarray(array).dtype.kind == "f" else np.asarray(array)


def check(op, got, wanted):
    got = np.asarray(got)
    assert got.shape == np.shape(wanted), op.name
    if got.dtype.kind == "f":
        np.testing.assert_allclose(got, wanted, rtol=3e-5, atol=3e-5, err_msg=op.name)
    else:
        np.testing.assert_array_equal(got, wanted, err_msg=op.name)


def choices(op):
    """The values of an elementwise op's attributes: truth values, as a rule none."""
    return [dict(zip([name for name, _ in op.attributes], values))
            for values in itertools.product([False, True], repeat=len(op.attributes))]


ELEMENTWISE = [n for n, op in OPS.items() if op.elementwise and all(kind == "boolean" for _, kind in op.attributes)
               and n not in ("cast", "bitcast", "constant")]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name, rng):
    op = OPS[name]
    for shapes in ([(3, 4)] * op.min_inputs, [(2, 1, 5), (4, 1), (5,)][: op.min_inputs]):
        given = operands(rng, op, shapes)
        tensors = [lz.array(x) for x in given]
        for keywords in choices(op):
            with np.errstate(all="ignore"):
                wanted = FORMULAS[name]([wide(x) for x in given], list(keywords.values()), None)
            check(op, getattr(lz, name)(*tensors, **keywords), wanted)
            check(op, getattr(tensors[0], name)(*tensors[1:], **keywords), wanted)
            check(op, getattr(lz, name)(*given, **keywords), wanted)  # arrays of numpy as operands


CASES = [(n, i) for n, op in OPS.items() if n not in ELEMENTWISE and n not in NOT_CALLED and n not in ("cast", "bitcast")
         for i in range(len(op.cases))]


@pytest.mark.parametrize("name,number", CASES)
def test_cases(name, number, rng):
    op = OPS[name]
    shapes, attributes, result = op.cases[number]
    given = operands(rng, op, shapes)
    tensors = [lz.array(x) for x in given]
    dtype = {"random_bits": "u32", "iota": "i64"}.get(name, "f32")
    with np.errstate(all="ignore"):
        wanted = FORMULAS[name]([wide(x) for x in given], list(attributes.values()), (dtype, result))
    if name in FORMS:
        check(op, FORMS[name](tensors, attributes), wanted)
        return
    function = getattr(lz, name)
    known = inspect.signature(function).parameters
    keywords = {{"axes": "axis"}.get(k, k): v for k, v in attributes.items()}
    if name == "one_hot":
        keywords = {"classes": result[-1], "dtype": lz.int32}
    if "shape" in known:
        keywords["shape"] = result
    if "dtype" in known and name == "iota":
        keywords["dtype"] = lz.int64
    assert set(keywords) <= set(known), (name, known)
    check(op, function(*tensors, **keywords), wanted)
    if tensors:
        check(op, getattr(tensors[0], name)(*tensors[1:], **keywords), wanted)


def test_every_op_is_tested():
    tested = set(ELEMENTWISE) | {name for name, _ in CASES} | {"cast", "bitcast"} | NOT_CALLED
    assert set(OPS) <= tested


def test_every_op_is_a_function_with_doc_and_signature():
    for name, op in OPS.items():
        if name in ("constant", "view", "bundle", "time_mix_v7_grad"):
            continue
        function = getattr(lz, name)
        assert function.__doc__.strip(), name
        assert len(inspect.signature(function).parameters) >= 1, name
        assert name in dir(lz)
        if op.min_inputs > 0 and name not in ("concat", "time_mix_v7"):  # lists of tensors, several results
            assert hasattr(lz.Tensor, name) or op.max_inputs < 0, name


def test_numpys_names(rng):
    """Functions of elementwise ops that numpy has under the same name mean the same."""
    compared = 0
    for name in dir(lz):
        function = getattr(lz, name)
        if not isinstance(function, lz.Function) or function.op not in ELEMENTWISE or not hasattr(np, name):
            continue
        if name == "select":  # numpy's chooses among lists
            continue
        op = OPS[function.op]
        given = operands(rng, op, [(3, 4)] * op.min_inputs)
        if name == "ldexp":
            given[1] = np.floor(given[1]).astype(np.int32)
        if name in ("where",):
            given[0] = given[0].astype(bool)
        with np.errstate(all="ignore"):
            check(op, function(*given), getattr(np, name)(*given))
        compared += 1
    assert compared >= 20


def test_quotients_and_what_they_leave():
    """numpy's names; integers stay integers."""
    for dtype in (np.int32, np.uint8, np.float32):
        x, y = np.array([7, 7, 9, 0], dtype), np.array([2, 3, 9, 5], dtype)
        if np.dtype(dtype).kind != "u":
            x, y = np.concatenate([x, -x, x]), np.concatenate([y, y, -y])
        for name in ("floor_divide", "remainder", "mod", "fmod"):
            got = np.asarray(getattr(lz, name)(x, y))
            assert got.dtype == dtype, name
            np.testing.assert_array_equal(got, getattr(np, name)(x, y), err_msg=name)
    np.testing.assert_array_equal(np.asarray(lz.floor_div(lz.array([7, -7]), 2)), [3, -4])
    np.testing.assert_array_equal(np.asarray(lz.array([7, -7]).rem(4)), [3, 1])


def test_clip_and_clamp():
    x = np.array([-2, 0.5, 3, np.nan], np.float32)
    np.testing.assert_array_equal(np.asarray(lz.clip(x, -1, 1)), np.clip(x, -1, 1))
    np.testing.assert_array_equal(np.asarray(lz.clamp(x, -1, lz.array(x).abs())), np.clip(x, -1, np.abs(x)))
    assert lz.clamp(lz.array([1, 5]), 2, 3).dtype == lz.int32


def test_popcount_is_bitwise_count():
    for dtype in (np.int8, np.uint8, np.int64, np.uint64):
        x = np.array([0, 1, 3, 127, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
        got = np.asarray(lz.bitwise_count(x))
        assert got.dtype == np.uint8
        np.testing.assert_array_equal(got, np.bitwise_count(x))


@pytest.mark.parametrize("source", ["bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64", "complex64"])
def test_casts(source):
    x = np.array([0, 1, 2, 3, 100]).astype(source)
    for target in ("bool", "int8", "int64", "uint32", "float16", "float32", "float64", "complex128"):
        if np.dtype(source).kind == "c" and np.dtype(target).kind != "c":
            continue
        got = lz.array(x).astype(target)
        assert got.dtype == target
        np.testing.assert_array_equal(np.asarray(got), x.astype(target))
    bits = lz.array(np.float32([1.5, -2])).bitcast(lz.uint32)
    np.testing.assert_array_equal(np.asarray(bits), np.float32([1.5, -2]).view(np.uint32))


def test_reductions(rng):
    x = rng.normal(size=(3, 4, 5)).astype(np.float32)
    t = lz.array(x)
    for name in [n for n in ("sum", "max", "mean", "min", "prod") if hasattr(lz, n)]:
        for axis in (None, 0, -1, (0, 2), (1, -1)):
            for keepdims in (False, True):
                wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims)
                got = getattr(lz, name)(t, axis=axis, keepdims=keepdims)
                assert got.shape == np.shape(wanted)
                np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-4, atol=1e-5)
    for axis in (None, 0, -1):
        np.testing.assert_array_equal(np.asarray(lz.argmax(t, axis=axis)), np.argmax(x, axis=axis))
        np.testing.assert_array_equal(np.asarray(lz.argmin(t, axis=axis)), np.argmin(x, axis=axis))
        for name in ("any", "all", "count_nonzero"):
            np.testing.assert_array_equal(np.asarray(getattr(lz, name)(t > 1, axis=axis)), getattr(np, name)(x > 1, axis=axis))
        for name, ddof in itertools.product(("var", "std"), (0, 1)):
            wanted = getattr(np, name)(x, axis=axis, ddof=ddof)
            np.testing.assert_allclose(np.asarray(getattr(lz, name)(t, axis=axis, ddof=ddof)), wanted, rtol=1e-5)
            np.testing.assert_allclose(np.asarray(getattr(t, name)(axis, correction=ddof)), wanted, rtol=1e-5)
    assert lz.prod(lz.ones(3, dtype=lz.int8)).dtype == lz.int64
    assert t.sum(dtype=lz.float64).dtype == lz.float64
    np.testing.assert_allclose(float(t.sum(dtype="float64")), x.astype(np.float64).sum())
    assert lz.sum(lz.ones(3, dtype=lz.int8), dtype=lz.int8).dtype == lz.int8
    with pytest.raises(TypeError):
        t.sum(0, True)  # numpy's third place is dtype


def test_time_mix_v7_gives_output_and_state(rng):
    shape = (5, 2, 4)
    r, w, k, v, a, kk = (rng.uniform(0.1, 0.9, shape).astype(np.float32) for _ in range(6))
    state = rng.uniform(-1, 1, (2, 2, 4, 4)).astype(np.float32)
    runs = np.array([[1, 0, 3], [0, 3, 2]])
    packed = lz.pack_kvakk(k, v, a, kk)
    output, after = lz.time_mix_v7(r, w, packed, state, runs)
    wanted = oracle_composites.time_mix(*(x.astype(np.float64) for x in (r, w, np.asarray(packed), state)), runs)
    np.testing.assert_allclose(np.asarray(output), wanted[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(np.asarray(after), wanted[1], rtol=1e-5, atol=1e-5)


def test_tri():
    np.testing.assert_array_equal(np.asarray(lz.tri(3, 4, 1)), np.tri(3, 4, 1))
