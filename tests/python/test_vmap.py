"""Functions of many against loops of numpy's over each."""

import collections
import inspect

import numpy as np
import pytest

import lazuli as lz

Layer = collections.namedtuple("Layer", "w b")


def noise(*shape, dtype=np.float64):
    return np.random.default_rng(sum(shape) + 1).uniform(-1, 1, shape).astype(dtype)


def same(got, wanted, **kwargs):
    assert type(got) is lz.Tensor
    wanted = np.asarray(wanted)
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got.numpy(), wanted, **{"rtol": 1e-12, "atol": 1e-12, **kwargs})


# ---- axes of arguments


def test_the_first_axis_of_every_argument():
    x, y = noise(5, 3), noise(5, 3) + 2
    same(lz.vmap(lambda a, b: (a * b).sum())(x, y), [np.dot(a, b) for a, b in zip(x, y)])
    same(lz.vmap(lambda a: a.sin())(lz.array(x)), np.sin(x))
    assert lz.vmap(lambda a: a + 1)(np.arange(4)).tolist() == [1, 2, 3, 4]
    same(lz.vmap(lambda a: a * 2)(np.ones(0)), np.ones(0))  # none are many too


def test_one_axis_for_all_arguments():
    x, y = noise(3, 5), noise(2, 5)
    wanted = [np.outer(x[:, i], y[:, i]) for i in range(5)]
    outer = lambda a, b: a[:, None] * b  # noqa: E731
    same(lz.vmap(outer, 1)(x, y), wanted)
    same(lz.vmap(outer, in_axes=-1)(x, y), wanted)


def test_an_axis_for_each_argument():
    x, w, y = noise(2, 5, 3), noise(3, 4), noise(4, 5)
    f = lambda a, b, c: a @ b + c  # noqa: E731
    wanted = [x[:, i] @ w + y[:, i] for i in range(5)]
    same(lz.vmap(f, in_axes=(1, None, -1))(x, w, y), wanted)
    same(lz.vmap(f, in_axes=[1, None, -1])(x, w, y), wanted)


def test_what_has_no_axis_is_handed_on_as_it_is():
    marker, seen = object(), []
    w = lz.array(noise(3))

    def f(x, scale, given):
        seen.append((scale, given["marker"], given["ids"]))
        if given["w"].sum().item() < 100:  # its values are there
            return x.sum(axis=scale) * given["w"][0]

    same(lz.vmap(f, (0, None, None))(noise(5, 3), 0, {"marker": marker, "w": w, "ids": [1, 2]}), noise(5, 3).sum(axis=1) * noise(3)[0])
    assert type(seen[0][0]) is int and seen[0][1] is marker and seen[0][2] == [1, 2]


def test_functions_take_from_outside():
    w, x = lz.array(noise(3)), noise(5, 3)
    same(lz.vmap(lambda a: (a * w).sum())(x), x @ noise(3))


def test_trees_of_arguments():
    p = {"layer": Layer(noise(5, 3, 2), noise(2)), "rest": [noise(4, 5), (noise(5), None)]}

    def f(q, x):
        assert type(q["layer"]) is Layer and type(q["rest"][1]) is tuple and q["rest"][1][1] is None
        return (x @ q["layer"].w + q["layer"].b) * q["rest"][0].sum() + q["rest"][1][0]

    axes = {"rest": [1, 0], "layer": Layer(0, None)}  # a tuple below has one number for all of it
    x = noise(3)
    wanted = [(x @ p["layer"].w[i] + p["layer"].b) * p["rest"][0][:, i].sum() + p["rest"][1][0][i] for i in range(5)]
    same(lz.vmap(f, (axes, None))(p, x), wanted)
    # One number stands for all that is below it.
    q = {"a": noise(5), "b": [noise(5, 2), noise(5, 3)]}
    total = lambda t: t["a"] + t["b"][0].sum() + t["b"][1].sum()  # noqa: E731
    same(lz.vmap(total)(q), q["a"] + q["b"][0].sum(axis=1) + q["b"][1].sum(axis=1))
    same(lz.vmap(total, ({"a": 0, "b": None},))({"a": noise(5), "b": [noise(2), noise(3)]}), noise(5) + noise(2).sum() + noise(3).sum())


def test_arguments_by_name_run_along_their_first_axis():
    x, y = noise(3, 5), noise(5, 3)
    f = lambda a, *, other, nothing=None: (a * other["y"]).sum()  # noqa: E731
    same(lz.vmap(f, in_axes=1)(x, other={"y": y}, nothing=None), [np.dot(x[:, i], y[i]) for i in range(5)])
    same(lz.vmap(lambda a, other: a * other, None)(2.0, other=y), 2 * y)


# ---- axes of results


def test_results_have_forms_of_their_own():
    x = noise(5, 3)
    out = lz.vmap(lambda a: {"sum": a.sum(), "both": (a, [a * 2]), "layer": Layer(a + 1, None), "count": 3, "list": []})(x)
    assert list(out) == ["sum", "both", "layer", "count", "list"] and type(out["layer"]) is Layer and out["layer"].b is None and out["list"] == []
    same(out["sum"], x.sum(axis=1))
    same(out["both"][1][0], 2 * x)
    same(out["layer"].w, x + 1)
    assert out["count"].tolist() == [3] * 5


def test_where_results_have_their_axis():
    x = noise(5, 3, 2)
    for axis in (0, 1, 2, -1, -2, -3):
        same(lz.vmap(lambda a: a * 2, out_axes=axis)(x), np.stack([2 * a for a in x], axis=axis))
    a, rest = lz.vmap(lambda t: (t, {"t": t.T, "s": t.sum()}), out_axes=(1, {"t": -1, "s": 0}))(x)
    same(a, np.stack(list(x), axis=1))
    same(rest["t"], np.stack([t.T for t in x], axis=-1))
    same(rest["s"], x.sum(axis=(1, 2)))
    one, two = lz.vmap(lambda t: [t, t + 1], out_axes=2)(x)
    same(two, np.stack([t + 1 for t in x], axis=2))
    same(lz.vmap(lambda a, b: a + b, in_axes=(0, 1), out_axes=1)(noise(5, 2), noise(2, 5)), noise(5, 2).T + noise(2, 5))


def test_results_that_are_the_same_for_all():
    x, w = noise(5, 3), lz.array(noise(2))
    same(lz.vmap(lambda a: w * 2)(x), np.tile(2 * noise(2), (5, 1)))
    same(lz.vmap(lambda a: w * 2, out_axes=1)(x), np.tile(2 * noise(2), (5, 1)).T)
    same(lz.vmap(lambda a: w * 2, out_axes=-1)(x), np.tile(2 * noise(2), (5, 1)).T)
    each, once = lz.vmap(lambda a: (a.sum(), {"w": w * 2, "name": "text"}), out_axes=(0, None))(x)
    same(each, x.sum(axis=1))
    same(once["w"], 2 * noise(2))
    assert once["name"] == "text"
    same(lz.vmap(lambda a: w, out_axes=None)(x), noise(2))


# ---- nested, and with derivatives


def test_many_of_many():
    x, y = noise(4, 3), noise(5, 3)
    dots = lz.vmap(lz.vmap(lambda a, b: (a * b).sum(), (None, 0)), (0, None))
    same(dots(x, y), x @ y.T)
    same(lz.vmap(lz.vmap(lambda a: a.sum(), 1), 1)(noise(2, 3, 4)), noise(2, 3, 4).sum(axis=0).reshape(3, 4))
    same(lz.vmap(lambda a: lz.vmap(lambda b: a * b, out_axes=1)(a.reshape(3, 1)))(x), [np.outer(a, a) for a in x])
    same(lz.vmap(lambda a: lz.vmap(lambda b: (a * b).sum())(y))(x), x @ y.T)  # of the outer one within


def loss(w, x, y):
    return ((x @ w["w"] + w["b"]).tanh() - y).square().sum()


def slope(w, b, x, y):
    made = np.tanh(x @ w + b)
    flow = 2 * (made - y) * (1 - made**2)
    return np.outer(x, flow), flow


def test_a_gradient_for_each_example():
    w, x, y = {"w": noise(3, 2), "b": noise(2)}, noise(5, 3), noise(5, 2)
    each = lz.vmap(lz.grad(loss), (None, 0, 0))(w, x, y)
    wanted = [slope(w["w"], w["b"], a, b) for a, b in zip(x, y)]
    same(each["w"], np.stack([g[0] for g in wanted]))
    same(each["b"], np.stack([g[1] for g in wanted]))
    values, gradients = lz.vmap(lz.value_and_grad(loss), (None, 0, 0), out_axes=(0, {"w": -1, "b": 0}))(w, x, y)
    same(values, [((np.tanh(a @ w["w"] + w["b"]) - b) ** 2).sum() for a, b in zip(x, y)])
    same(gradients["w"], np.stack([g[0] for g in wanted], axis=-1))


def test_the_gradient_of_many():
    w, x, y = {"w": noise(3, 2), "b": noise(2)}, noise(5, 3), noise(5, 2)
    total = lambda q: lz.vmap(loss, (None, 0, 0))(q, x, y).sum()  # noqa: E731
    got = lz.grad(total)(w)
    wanted = [slope(w["w"], w["b"], a, b) for a, b in zip(x, y)]
    same(got["w"], sum(g[0] for g in wanted))
    same(got["b"], sum(g[1] for g in wanted))
    # With respect to what runs, and to what functions take from outside.
    same(lz.grad(lambda t: lz.vmap(lambda a: (a * a * t[0]).sum())(t).sum())(x), 2 * x * x[0] + np.vstack([(x * x).sum(axis=0)] + [np.zeros(3)] * 4))
    t = lz.array(noise(3)).requires_grad_()
    lz.vmap(lambda a: (a * t).sum())(x).sum().backward()
    same(t.grad, x.sum(axis=0))


def test_jacobians_by_rows_and_by_columns():
    x = noise(3)
    f = lambda t: lz.stack([t[0] * t[1], t[2].sin(), (t * t).sum(), t[0] * 2])  # noqa: E731
    wanted = np.array([[x[1], x[0], 0], [0, 0, np.cos(x[2])], 2 * x, [2, 0, 0]])
    same(lz.vmap(lambda v: lz.jvp(f, (x,), (v,))[1], out_axes=-1)(np.eye(3)), wanted)
    _, pull = lz.vjp(f, x)
    same(lz.vmap(pull)(np.eye(4))[0], wanted)
    same(lz.vmap(lambda c: lz.vjp(f, x)[1](c)[0])(np.eye(4)), wanted)
    g = lambda t: (t[0] * t[1] * t[2]).exp()  # noqa: E731
    hessian = lz.vmap(lambda v: lz.jvp(lz.grad(g), (x,), (v,))[1])(np.eye(3))
    by_reverse = lz.vmap(lz.vjp(lz.grad(g), x)[1])(np.eye(3))[0]
    p = np.prod(x)
    first = np.exp(p) * p / x
    expected = np.outer(first, first) / np.exp(p) + np.exp(p) * (p / np.outer(x, x)) * (1 - np.eye(3))
    same(hessian, expected)
    same(by_reverse, expected)


def test_derivatives_of_many():
    x, dx = noise(5, 3), noise(5, 3) + 1
    many = lz.vmap(lambda a: {"y": a.sin() * a.sum()})
    made, change = lz.jvp(many, (x,), (dx,))
    same(made["y"], np.sin(x) * x.sum(axis=1, keepdims=True))
    same(change["y"], np.cos(x) * dx * x.sum(axis=1, keepdims=True) + np.sin(x) * dx.sum(axis=1, keepdims=True))
    _, pull = lz.vjp(many, x)
    c = noise(5, 3) * 2
    (flow,) = pull({"y": c})
    same(flow, c * np.cos(x) * x.sum(axis=1, keepdims=True) + (c * np.sin(x)).sum(axis=1, keepdims=True))
    second = lz.grad(lambda t: (lz.grad(lambda s: many(s)["y"].sum())(t) * dx).sum())(x)
    each = lz.vmap(lambda a, d: lz.grad(lambda t: (lz.grad(lambda s: (s.sin() * s.sum()).sum())(t) * d).sum())(a))(x, dx)
    same(second, each.numpy())


def test_with_compiled_functions():
    b = lz.dim("vmap_b", 1, 16)
    f = lz.compile(lambda x: {"y": x.tanh() * 2}, lz.placeholder("f64", (b, 3)))
    x = noise(4, 2, 3)
    same(lz.vmap(f)(x)["y"], 2 * np.tanh(x))
    many = lz.compile(lz.vmap(lambda a: (a * a).sum()), lz.placeholder("f64", (b, 3)))
    for rows in (1, 2, 7):
        same(many(noise(rows, 3)), (noise(rows, 3) ** 2).sum(axis=1))


def test_loops_and_conditions_for_many():
    x, y = noise(5, 3), noise(4, 3)

    def scanned(a):
        (last,), (steps,) = lz.scan_loop([a], [lz.array(y)], lambda now, entry: ([now[0] * entry[0] + a], [now[0]]))
        return last, steps

    def by_numpy(a):
        now, steps = a, []
        for entry in y:
            steps.append(now)
            now = now * entry + a
        return now, np.stack(steps)

    last, steps = lz.vmap(scanned, out_axes=(0, 1))(x)
    same(last, [by_numpy(a)[0] for a in x])
    same(steps, np.stack([by_numpy(a)[1] for a in x], axis=1))
    each = lz.vmap(lz.grad(lambda a: scanned(a)[0].sum()))(x)
    same(each, np.tile(np.prod(y, axis=0) + 1 + sum(np.prod(y[i:], axis=0) for i in range(1, 4)), (5, 1)))
    picked = lz.vmap(lambda a: lz.cond(a.sum() > 0, lambda: [a * 2], lambda: [-a])[0])(x)
    same(picked, [2 * a if a.sum() > 0 else -a for a in x])


def test_decorators_and_methods():
    class Model:
        scale = 3

        def loss(self, x):
            """Of a model."""
            return (x * x).sum() * self.scale

        losses = lz.vmap(loss, (None, 0))

    same(Model().losses(noise(4, 2)), 3 * (noise(4, 2) ** 2).sum(axis=1))
    same(lz.vmap(Model().loss)(noise(4, 2)), 3 * (noise(4, 2) ** 2).sum(axis=1))
    f = lz.vmap(Model.loss, (None, 0))
    assert list(inspect.signature(f).parameters) == ["self", "x"] and f.__name__ == "loss" and f.__wrapped__ is Model.loss and f.__doc__ == "Of a model."
    assert repr(f) == "<lazuli.vmap of loss>"


# ---- errors


def test_sizes_that_differ_are_named():
    f = lambda *args, **named: args[0]  # noqa: E731
    with pytest.raises(
        lz.ShapeError, match=r"^vmap: argument 1\['ids'\]\[0\] is i64\[2, 4\] with 4 entries along axis 1, and argument 0 is f64\[5, 3\] with 5 entries along axis 0$"
    ):
        lz.vmap(f, (0, {"ids": 1, "w": 0}))(noise(5, 3), {"ids": [np.zeros((2, 4), np.int64)], "w": noise(5)})
    with pytest.raises(lz.ShapeError, match=r"^vmap: argument mask is bool\[2\] with 2 entries along axis 0, and argument 0 is f64\[5, 3\] with 5"):
        lz.vmap(f)(noise(5, 3), mask=np.array([True, False]))


def test_axes_that_are_not_there_are_named():
    f = lambda x: x  # noqa: E731
    with pytest.raises(IndexError, match=r"^vmap: axis 2 is out of range for argument 0\['ids'\], which is f64\[2, 3\]$"):
        lz.vmap(f, 2)({"ids": noise(2, 3)})
    with pytest.raises(IndexError, match=r"vmap: axis -3 is out of range for argument 0, which is f64\[2, 3\]"):
        lz.vmap(f, -3)(noise(2, 3))
    with pytest.raises(lz.ShapeError, match=r"^vmap: argument 0\[1\] is f64\[\] and has no axis to run along"):
        lz.vmap(f)([noise(2), np.float64(3)])
    with pytest.raises(IndexError, match=r"^vmap: out_axes has 2 for result\['y'\], which is f64\[3\] for each entry: with one more axis there are 2"):
        lz.vmap(lambda x: {"y": x}, out_axes=2)(noise(2, 3))
    with pytest.raises(IndexError, match=r"^vmap: out_axes has 1 for result, which is f64\[\] for each entry"):
        lz.vmap(lambda x: x.sum(), out_axes=1)(noise(2, 3))


def test_no_axis_at_all():
    for call in (
        lambda: lz.vmap(lambda x: x, None)(noise(3)),
        lambda: lz.vmap(lambda x, y: x, (None, None))(noise(3), 1),
        lambda: lz.vmap(lambda: 1)(),
        lambda: lz.vmap(lambda x: x, ({"a": None},))({"a": noise(3)}),
        lambda: lz.vmap(lambda x: 1)({}),
    ):
        with pytest.raises(lz.ArgumentError, match="^vmap: no argument has an axis to run along: in_axes has None, or no tensor, for all of them"):
            call()


def test_results_that_cannot_be():
    x = noise(5, 3)
    with pytest.raises(TypeError, match=r"^vmap: result\['name'\] is a str; tensors and numbers, and lists, tuples and dicts of them, are expected"):
        lz.vmap(lambda a: {"y": a, "name": "text"})(x)
    with pytest.raises(TypeError, match=r"^vmap: result is a function; tensors"):
        lz.vmap(lambda a: lambda: 1)(x)
    with pytest.raises(lz.ArgumentError, match=r"^vmap: result\[1\] is f64\[\] and differs from entry to entry: out_axes cannot be None there"):
        lz.vmap(lambda a: (a, a.sum()), out_axes=(0, None))(x)
    assert lz.vmap(lambda a: None)(x) is None


def test_forms_that_differ_are_named():
    f = lambda *args: args[0]  # noqa: E731
    x = noise(5, 3)
    with pytest.raises(lz.ArgumentError, match="^vmap: in_axes has 1 entries, and 2 arguments are given by position"):
        lz.vmap(f, (0,))(x, x)
    with pytest.raises(lz.ArgumentError, match=r"^vmap: argument 0\['a'\] is a list of 1, and in_axes has a list of 2 there"):
        lz.vmap(f, ({"a": [0, 1]},))({"a": [x]})
    with pytest.raises(lz.ArgumentError, match=r"^vmap: argument 0 is a dict of {'b'}, and in_axes has a dict of {'a'} there"):
        lz.vmap(f, ({"a": 0},))({"b": x})
    with pytest.raises(lz.ArgumentError, match=r"^vmap: argument 0 is a tensor, and in_axes has a tuple of 1 there"):
        lz.vmap(f, ((0,),))(lz.array(x))
    with pytest.raises(lz.ArgumentError, match=r"^vmap: argument 0 is a numpy.ndarray, and in_axes has a tuple of 1 there"):
        lz.vmap(f, ((0,),))(x)
    with pytest.raises(lz.ArgumentError, match=r"^vmap: result is a tensor, and out_axes has a tuple of 2 there"):
        lz.vmap(f, out_axes=(0, 1))(x)


def test_wrong_calls():
    with pytest.raises(TypeError, match="'fn' must be a function, not int"):
        lz.vmap(3)
    with pytest.raises(TypeError, match="'in_axes' must be an integer, None, or tuples, lists and dicts of them, not str"):
        lz.vmap(len, "x")
    with pytest.raises(TypeError, match="'in_axes' must be an integer, None, or tuples, lists and dicts of them, not bool"):
        lz.vmap(len, (0, {"a": True}))
    with pytest.raises(TypeError, match="'in_axes' must be an integer, None, or a tuple with one entry an argument, not dict"):
        lz.vmap(len, {"a": 0})
    with pytest.raises(TypeError, match="'out_axes' must be an integer, None, or tuples, lists and dicts of them, not float"):
        lz.vmap(len, 0, 1.5)
    with pytest.raises(TypeError, match=r"^vmap: argument mode is a str; tensors and numbers"):
        lz.vmap(lambda x, mode: x)(noise(3), mode="text")

    class Mine(Exception):
        pass

    def wrong(x):
        raise Mine("text")

    with pytest.raises(Mine, match="text"):
        lz.vmap(wrong)(noise(3))
    with pytest.raises(lz.ExecutionError, match="has no value while that is recorded"):
        lz.vmap(lambda x: x.item())(noise(3))
    same(lz.vmap(lambda x: x * 2)(noise(3)), 2 * noise(3))
