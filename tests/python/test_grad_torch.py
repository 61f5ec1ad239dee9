"""Gradients of every differentiable op, and gradients of those, beside PyTorch's.

Operands are drawn as the op's record says, for the calls that it lists, in float64 and complex128. What flows back from a
cotangent must be what PyTorch says, and so must what flows back from that in turn.
"""

import collections

import numpy as np
import pytest

import lazuli as lz

torch = pytest.importorskip("torch")
from torch_formulas import FLOATS, FORMULAS, INTEGERS, REASONS, time_mix  # noqa: E402

OPS = {op.name: op for op in lz.ops()}
REAL, COMPLEX = np.float64, np.complex128
compared = collections.Counter()  # operands of each op whose gradients were compared

def summary():
    return f"gradients: {len(compared)} ops beside PyTorch's, {sum(compared.values())} operands; {len(REASONS)} ops have a reason why not"


def draw(rng, dtype, shape, low, high):
    part = lambda: rng.uniform(low, high, shape)  # noqa: E731
    return np.asarray(part() + 1j * part() if dtype == COMPLEX else part(), dtype)


def calls(op):
    """Shapes of operands, attributes by name, the result's shape; each once."""
    seen = []
    if not op.cases:
        shapes = {1: [[(7,)], [(2, 3)], [()], [(0, 3)]], 2: [[(6,), (6,)], [(2, 3, 1), (3, 2)], [(), (5,)], [(2, 2), ()]]}
        shapes[3] = [[s[-1], *s] for s in shapes[2]]
        return [(s, {}, None) for s in shapes[op.max_inputs]]
    for case in op.cases:
        if case not in seen:
            seen.append(case)
    return seen


def operands(op, shapes, attributes, dtype, rng):
    low, high = op.sample
    out = []
    for k, shape in enumerate(shapes):
        if k in INTEGERS.get(op.name, {}):
            out.append(np.asarray(INTEGERS[op.name][k](rng, shapes, attributes)))
        else:
            out.append(draw(rng, dtype, shape, low, high).astype(FLOATS.get(op.name, {}).get(k, dtype)))
    if op.name in ("cholesky", "inv", "det", "solve", "triangular_solve") and len(shapes[0]) > 1:
        out[0] = out[0] + 2 * shapes[0][-1] * np.eye(shapes[0][-1])
        if op.name == "cholesky":
            out[0] = (out[0] + np.conj(np.swapaxes(out[0], -1, -2))) / 2
        if op.name == "triangular_solve":
            out[0] = (np.tril if attributes["lower"] else np.triu)(out[0])
    return out


def is_float(x):
    return np.asarray(x).dtype.kind in "fc"


def close(got, wanted, text, tolerance=1e-9):
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape and got.dtype == wanted.dtype, (text, got.dtype, got.shape, wanted.dtype, wanted.shape)
    if got.dtype in (np.float32, np.complex64):
        tolerance = 2e-5
    if wanted.size:
        scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0)
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance * max(scale, 1e-3), err_msg=text)


def plain(x):
    return x.detach().numpy(force=True)


def compare(name, ours, theirs, arrays, rng, second=True, text="", tolerance=1e-9):
    """Functions of lists of operands, of which the floats move: values, gradients, and gradients of those."""
    moving = [k for k, x in enumerate(arrays) if is_float(x)]

    def filled(xs, wrap):
        out = [wrap(x) for x in arrays]
        for k, x in zip(moving, xs):
            out[k] = x
        return out

    def f(*xs):
        return ours(filled(xs, lz.array))

    xs = [torch.from_numpy(np.array(arrays[k])).requires_grad_() for k in moving]
    wanted = theirs(filled(xs, lambda x: torch.from_numpy(np.array(x))))
    given = [lz.array(arrays[k]) for k in moving]
    close(f(*given).numpy(), plain(wanted), f"{name}: the value, {text}", tolerance)
    if not wanted.numel() or name in OPS and not OPS[name].differentiable:
        return
    _, pull = lz.vjp(f, *given)
    c = draw(rng, COMPLEX if wanted.is_complex() else REAL, tuple(wanted.shape), -1, 1).astype(plain(wanted).dtype)
    flows = pull(lz.array(c))
    expected = torch.autograd.grad(wanted, xs, torch.from_numpy(c), create_graph=second, materialize_grads=True)
    for k, got, want in zip(moving, flows, expected):
        close(got.numpy(), plain(want), f"{name}: operand {k}, {text}", tolerance)
        compared[name] += 1
    if not second:
        return
    weights = [draw(rng, COMPLEX if want.is_complex() else REAL, tuple(want.shape), -1, 1).astype(plain(want).dtype) for want in expected]
    twice = lz.vjp(lambda *ys: lz.vjp(f, *ys)[1](lz.array(c)), *given)[1](tuple(lz.array(w) for w in weights))
    if any(want.requires_grad for want in expected):
        expected = torch.autograd.grad([w for w in expected if w.requires_grad], xs,
                                       [torch.from_numpy(w) for w, e in zip(weights, expected) if e.requires_grad], materialize_grads=True)
    else:
        expected = [torch.zeros_like(x) for x in xs]
    for k, got, want in zip(moving, twice, expected):
        close(got.numpy(), plain(want), f"{name}: operand {k} once more, {text}", tolerance * 10)


def kinds(op):
    takes = [str(dtype).removeprefix("lazuli.") for dtype in op.dtypes]
    if op.name in INTEGERS and op.name != "select":
        return [REAL] + ([COMPLEX] if op.name in ("gather", "embedding", "take_along_axis", "scatter", "dynamic_slice", "dynamic_update_slice") else [])
    return [dtype for dtype in (REAL, COMPLEX) if np.dtype(dtype).name in takes]


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("name", sorted(set(FORMULAS) & set(OPS)))
def test_op(name):
    op = OPS[name]
    rng = np.random.default_rng(len(name) + ord(name[0]))
    for dtype in kinds(op):
        for shapes, attributes, shape in calls(op):
            if dtype == COMPLEX and {"min", "max", "relu", "gelu"} & set(map(str, attributes.values())):
                continue  # complex numbers have no order
            if name.startswith("fft") and 0 in (*shapes[0], attributes["n"]):
                continue  # PyTorch refuses them
            arrays = operands(op, shapes, attributes, dtype, rng)
            compare(name, lambda i: op.call(i, attributes, shape), lambda i: FORMULAS[name](i, attributes, shape), arrays, rng,
                    text=f"{np.dtype(dtype).name} {shapes} {attributes}")
    if not op.differentiable:
        pytest.skip("no gradients flow through it; values agree")
    assert compared[name] > 0


def test_no_op_is_forgotten():
    differentiable = {op.name for op in lz.ops() if op.differentiable}
    assert sorted(differentiable - set(FORMULAS) - set(REASONS)) == [], "no formula of PyTorch's, and no reason why not"
    assert sorted((set(FORMULAS) | set(REASONS)) - set(OPS)) == [], "no op of the table"
    assert sorted(set(FORMULAS) & set(REASONS)) == []


# ---- ops that need more than a formula


def test_dropout():
    rng = np.random.default_rng(1)
    for p in (0.0, 0.25, 0.9):
        key = lz.array(np.uint64(3))
        mask = OPS["dropout"].call([lz.ones((40,), dtype="float64"), key], {"p": p}).numpy()
        compare("dropout", lambda i: OPS["dropout"].call([*i, key], {"p": p}), lambda i: i[0] * torch.from_numpy(np.array(mask)), [draw(rng, REAL, (40,), -4, 4)], rng)


def test_loops_and_conditions():
    rng = np.random.default_rng(2)
    w, x, rows = draw(rng, REAL, (3, 3), -1, 1), draw(rng, REAL, (3,), -1, 1), draw(rng, REAL, (5, 3), -1, 1)

    def unrolled(i):
        now = i[1]
        for _ in range(4):
            now = torch.tanh(i[0] @ now)
        return now

    compare("loop", lambda i: lz.loop(4, [i[1]], lambda step, now: [(i[0] @ now[0]).tanh()])[0][0], unrolled, [w, x], rng)
    for reverse in (False, True):
        def scanned(i):
            now, out = i[1], [None] * len(rows)
            for t in reversed(range(len(rows))) if reverse else range(len(rows)):
                now = torch.tanh(i[0] @ now) + i[2][t]
                out[t] = now * now
            return torch.stack(out)

        def body(i):
            def step(now, entry):
                after = (i[0] @ now[0]).tanh() + entry[0]
                return [after], [after * after]
            return lz.scan_loop([i[1]], [i[2]], step, reverse)[1][0]

        compare("loop", body, scanned, [w, x, rows], rng, text=f"scanned, reverse={reverse}")
    for holds in (True, False):
        compare("cond", lambda i: lz.cond(lz.array(holds), lambda: [i[0].sin() * i[1]], lambda: [i[0].exp()])[0],
                lambda i: i[0].sin() * i[1] if holds else i[0].exp(), [x, x + 1], rng)


def aligned(got, wanted, axis):
    """The signs that make vectors of theirs ours."""
    return torch.from_numpy(np.sign(np.sum(np.asarray(got) * plain(wanted), axis=axis, keepdims=True)))


@pytest.mark.parametrize("name", ["qr", "svd", "eigh"])
def test_factors(name):
    """Of matrices whose values lie apart; vectors up to their signs, which both libraries choose."""
    if not OPS[name].differentiable:
        pytest.skip("no gradients flow through it")
    rng = np.random.default_rng(3)
    for shape in ((3, 3), (2, 4, 3), (3, 4)) if name != "eigh" else ((3, 3), (2, 4, 4)):
        x = draw(rng, REAL, shape, -1, 1) + 3 * np.diag(np.arange(1.0, max(shape) + 1))[: shape[-2], : shape[-1]]
        x = (x + np.swapaxes(x, -1, -2)) / 2 if name == "eigh" else x

        def ours(i):
            a = (i[0] + i[0].swapaxes(-1, -2)) / 2 if name == "eigh" else i[0]
            parts = {"qr": lz.linalg.qr, "eigh": lz.linalg.eigh, "svd": lambda t: lz.linalg.svd(t, full_matrices=False)}[name](a)
            return lz.concat([p.reshape(-1) for p in parts])

        def theirs(i):
            a = (i[0] + i[0].mT) / 2 if name == "eigh" else i[0]
            if name == "qr":
                q, r = torch.linalg.qr(a)
                sign = aligned(lz.linalg.qr(lz.array(plain(a)))[0].numpy(), q, -2)
                parts = [q * sign, r * sign.mT]
            elif name == "eigh":
                values, vectors = torch.linalg.eigh(a)
                parts = [values, vectors * aligned(lz.linalg.eigh(lz.array(plain(a)))[1].numpy(), vectors, -2)]
            else:
                u, s, v = torch.linalg.svd(a, full_matrices=False)
                sign = aligned(lz.linalg.svd(lz.array(plain(a)), full_matrices=False)[0].numpy(), u, -2)
                parts = [u * sign, s, v * sign.mT]
            return torch.cat([p.reshape(-1) for p in parts])

        compare(name, ours, theirs, [x], rng, text=str(shape), tolerance=1e-8)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_time_mix(dtype):
    """Output and states at once. States are float32 after each token, of float64 too."""
    rng = np.random.default_rng(4)
    for tokens, heads, size, states, runs in ((5, 2, 4, 1, [[0, 0, 5]]), (9, 1, 1, 3, [[2, 0, 3], [0, 4, 5]]), (7, 3, 5, 4, [[3, 4, 2], [1, 0, 3], [0, 2, 0]]),
                                              (20, 1, 64, 2, [[1, 0, 20]]), (3, 1, 2, 2, [])):
        shape = (tokens, heads, size)
        kk = draw(rng, REAL, shape, -1, 1)
        planes = [draw(rng, REAL, shape, -1, 1), draw(rng, REAL, shape, -1, 1), draw(rng, REAL, shape, 0, 1), kk / np.linalg.norm(kk, axis=-1, keepdims=True)]
        arrays = [draw(rng, REAL, shape, -1, 1), draw(rng, REAL, shape, 0.55, 1), np.stack(planes)]
        arrays = [x.astype(dtype) for x in arrays] + [draw(rng, REAL, (states, heads, size, size), -1, 1).astype("float32")]

        def ours(i):
            output, state = lz.time_mix_v7(*i, lz.array(np.array(runs, np.int64).reshape(-1, 3)))
            return lz.concat([output.reshape(-1), state.astype(dtype).reshape(-1)])

        compare("time_mix_v7", ours, lambda i: torch.cat([x.reshape(-1) for x in time_mix(*i, runs)]), arrays, rng, text=f"{dtype} {shape} {runs}", tolerance=2e-7)


# ---- where a derivative is a matter of agreement


NAN, INF = np.nan, np.inf
# The op, its operands, attributes. What flows back from ones is what PyTorch says.
CONVENTIONS = [
    ("relu", [[-1.0, 0.0, -0.0, 2.0, INF]], {}),
    ("abs", [[-2.0, 0.0, -0.0, 3.0]], {}),
    ("sqrt", [[0.0, 4.0, -1.0, INF]], {}),
    ("rsqrt", [[0.0, 4.0, INF]], {}),
    ("log", [[0.0, -1.0, 1.0]], {}),
    ("reciprocal", [[0.0, 2.0]], {}),
    ("maximum", [[1.0, 2.0, 0.0, -0.0], [2.0, 2.0, -0.0, 0.0]], {}),
    ("minimum", [[1.0, 2.0, 0.0, -0.0], [2.0, 2.0, -0.0, 0.0]], {}),
    ("fmax", [[1.0, 2.0, NAN, 3.0], [2.0, 1.0, 4.0, NAN]], {}),
    ("fmin", [[1.0, 2.0, NAN, 3.0], [2.0, 1.0, 4.0, NAN]], {}),
    ("max", [[3.0, 1.0, 3.0, 3.0]], {"axes": [0], "keepdims": False}),
    ("min", [[[3.0, 1.0], [1.0, 1.0]]], {"axes": [0, 1], "keepdims": True}),
    ("clamp", [[-1.0, 0.0, 0.5, 1.0, 2.0], [0.0], [1.0]], {}),
    ("pow", [[0.0, 0.0, 0.0, 2.0, 0.0], [0.0, 1.0, 2.0, 0.0, 0.5]], {}),
    ("prod", [[2.0, 0.0, 3.0]], {"axes": [0], "keepdims": False}),
    ("prod", [[0.0, 5.0, 0.0]], {"axes": [0], "keepdims": False}),
    ("prod", [[0.0, 0.0, 0.0]], {"axes": [0], "keepdims": False}),
    ("cumprod", [[2.0, 0.0, 3.0, 4.0]], {"axis": 0, "reverse": False}),
    ("cumprod", [[2.0, 0.0, 3.0, 0.0, 5.0]], {"axis": 0, "reverse": False}),
    ("cumprod", [[2.0, 0.0, 3.0, 0.0, 5.0]], {"axis": 0, "reverse": True}),
    ("sort", [[2.0, 1.0, 2.0, 1.0]], {"axis": 0, "descending": False}),
    ("sort", [[2.0, 1.0, 2.0, 1.0]], {"axis": 0, "descending": True}),
    ("std", [[2.0, 2.0, 2.0]], {"axes": [0], "keepdims": False, "correction": 0.0}),
    ("var", [[2.0, 2.0, 2.0]], {"axes": [0], "keepdims": False, "correction": 1.0}),
    ("leaky_relu", [[-1.0, 0.0, 1.0]], {"slope": 0.1}),
    ("elu", [[-1.0, 0.0, 1.0]], {"alpha": 0.5}),
    ("softplus", [[-800.0, 0.0, 800.0]], {}),
    ("sigmoid", [[-800.0, 0.0, 800.0]], {}),
    ("logaddexp", [[-INF, 0.0, 800.0, -INF], [0.0, -INF, -800.0, -INF]], {}),
    ("logsumexp", [[-INF, 0.0, 1.0]], {"axes": [0], "keepdims": False}),
    ("softmax", [[-INF, 0.0, 1.0]], {"axis": 0}),
    ("log_softmax", [[-800.0, 0.0, 800.0]], {"axis": 0}),
    ("hypot", [[3.0, 0.0, 0.0], [4.0, 0.0, 2.0]], {}),
    ("atan2", [[0.0, 0.0, 1.0], [0.0, -1.0, 0.0]], {}),
    ("copysign", [[1.0, 0.0, -2.0, 3.0], [-1.0, 1.0, -0.0, 0.0]], {}),
    ("fmod", [[6.0, -6.0, 7.5], [3.0, 4.0, 2.0]], {}),
    ("rem", [[6.0, -6.0, 7.5], [3.0, 4.0, 2.0]], {}),
    ("asin", [[-1.0, 1.0, 0.0]], {}),
    ("atanh", [[-1.0, 1.0, 0.0]], {}),
    ("cummax", [[1.0, 3.0, 3.0, 2.0]], {"axis": 0, "reverse": False}),
    ("cummin", [[3.0, 1.0, 1.0, 2.0]], {"axis": 0, "reverse": False}),
    ("cbrt", [[8.0, -8.0]], {}),
    ("l2_norm", [[0.0, 0.0]], {"axis": 0, "eps": 1e-12}),
    ("max_pool", [[[[1.0, 3.0, 3.0, 2.0]]]], {"window": [2], "strides": [1], "padding": [0, 0]}),
    ("scatter", [[1.0, 0.0], [2.0, 0.0, 3.0], [0, 0, 1]], {"axis": 0, "mode": "mul"}),
]
# Where ours is another on purpose: what flows back from ones, what PyTorch says, and why.
OWN = [
    ("relu", [[NAN]], {}, [[0.0]], [[1.0]], "NaN is not above 0"),
    ("abs", [[NAN]], {}, [[NAN]], [[0.0]], "NaN has no sign, and hides nowhere"),
    ("logsumexp", [[-INF, -INF]], {"axes": [0], "keepdims": False}, [[1.0, 1.0]], [[NAN, NAN]], "rows that are masked whole spread no NaN"),
    ("scatter", [[1.0, 5.0], [5.0, 5.0, 9.0], [1, 1, 0]], {"axis": 0, "mode": "max"}, [[0.0, 1 / 3], [1 / 3, 1 / 3, 1.0]],
     [[0.0, 1 / 4], [1 / 4, 1 / 2, 1.0]], "equal elements share alike; the formula halves one after the other"),
]


def flows_of_ones(name, given, attributes):
    """What flows back to each float, by us and by PyTorch."""
    arrays = [np.array(x, np.int64 if k in INTEGERS.get(name, {}) else REAL) for k, x in enumerate(given)]
    moving = [k for k, x in enumerate(arrays) if is_float(x)]
    xs = [torch.from_numpy(x).requires_grad_() if k in moving else torch.from_numpy(x) for k, x in enumerate(arrays)]
    wanted = FORMULAS[name](xs, attributes, None)
    theirs = torch.autograd.grad(wanted, [xs[k] for k in moving], torch.ones_like(wanted), materialize_grads=True)

    def f(*floats):
        filled = [lz.array(x) for x in arrays]
        for k, x in zip(moving, floats):
            filled[k] = x
        return OPS[name].call(filled, attributes)

    y, pull = lz.vjp(f, *(arrays[k] for k in moving))
    return [flow.numpy() for flow in pull(lz.ones_like(y))], [plain(want) for want in theirs]


@pytest.mark.parametrize("number", range(len(CONVENTIONS)), ids=lambda n: f"{n}-{CONVENTIONS[n][0]}")
def test_convention(number):
    for k, (got, want) in enumerate(zip(*flows_of_ones(*CONVENTIONS[number]))):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12, err_msg=f"{CONVENTIONS[number]}, float {k}")


@pytest.mark.parametrize("number", range(len(OWN)), ids=lambda n: f"{n}-{OWN[n][0]}")
def test_our_own_convention(number):
    name, given, attributes, ours, theirs, why = OWN[number]
    got, said = flows_of_ones(name, given, attributes)
    for flow, want in zip(got + said, ours + theirs):
        np.testing.assert_allclose(flow, want, err_msg=f"{OWN[number]}")


def test_a_complex_zero_has_no_direction():
    z = np.array([0, 3 + 4j])
    got = lz.grad(lambda t: t.abs().sum())(z).numpy()
    x = torch.from_numpy(z).requires_grad_()
    np.testing.assert_allclose(got, plain(torch.autograd.grad(x.abs().sum(), x)[0]))
