"""Derivatives: of functions of trees of tensors, and gradients that tensors keep."""

import collections
import gc
import inspect
import threading

import numpy as np
import pytest

import lazuli as lz

Layer = collections.namedtuple("Layer", "w b")


def noise(*shape, dtype=np.float64):
    return np.random.default_rng(sum(shape) + 1).uniform(-1, 1, shape).astype(dtype)


def same(got, wanted, **kwargs):
    assert type(got) is lz.Tensor
    np.testing.assert_allclose(got.numpy(), wanted, **{"rtol": 1e-12, "atol": 1e-12, **kwargs})


def slope(f, x, h=1e-6):
    """The gradient of a function of one array, by differences."""
    out = np.zeros_like(x)
    for at in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[at] = h
        out[at] = (f(x + step) - f(x - step)) / (2 * h)
    return out


# ---- grad and value_and_grad


def test_a_gradient_of_one_argument():
    x = noise(3, 2)
    same(lz.grad(lambda t: (t * t).sum())(lz.array(x)), 2 * x)
    value, gradient = lz.value_and_grad(lambda t: t.sin().sum())(lz.array(x))
    same(value, np.sin(x).sum())
    same(gradient, np.cos(x))
    assert not value.requires_grad and not gradient.requires_grad


def test_arrays_and_numbers_are_arguments_too():
    same(lz.grad(lambda t: (t**3).sum())(noise(4)), 3 * noise(4) ** 2)
    gradient = lz.grad(lambda t: t * t * t)(2.0)
    assert gradient.item() == 12 and gradient.shape == () and gradient.dtype == lz.array(2.0).dtype
    assert lz.grad(lambda t: t * t)(np.float32(3)).item() == 6
    a, b = lz.grad(lambda t: t[0] * t[1])([2.0, 5.0])
    assert (a.item(), b.item()) == (5, 2)


def test_a_gradient_has_the_form_of_its_argument():
    weights = {"first": Layer(lz.array(noise(3, 4)), lz.array(noise(4))), "rest": [lz.array(noise(4, 1)), (lz.array(noise(1)), None)], "none": {}}

    def loss(p, x):
        assert type(p["first"]) is Layer and p["rest"][1][1] is None and type(p["rest"][1]) is tuple
        hidden = (x @ p["first"].w + p["first"].b).tanh()
        return ((hidden @ p["rest"][0] + p["rest"][1][0]) ** 2).mean()

    x = noise(5, 3)
    value, gradient = lz.value_and_grad(loss)(weights, x)
    assert list(gradient) == ["first", "rest", "none"] and type(gradient["first"]) is Layer and gradient["none"] == {}
    assert type(gradient["rest"]) is list and type(gradient["rest"][1]) is tuple and gradient["rest"][1][1] is None

    def by_numpy(w, b, v, c):
        return np.mean((np.tanh(x @ w + b) @ v + c) ** 2)

    parts = [noise(3, 4), noise(4), noise(4, 1), noise(1)]
    same(value, by_numpy(*parts))
    found = [gradient["first"].w, gradient["first"].b, gradient["rest"][0], gradient["rest"][1][0]]
    for i, got in enumerate(found):
        same(got, slope(lambda t: by_numpy(*parts[:i], t, *parts[i + 1 :]), parts[i]), rtol=1e-6, atol=1e-8)


def test_argnums_choose():
    def f(x, y, z):
        return (x * y * z).sum()

    x, y, z = noise(3), noise(3) + 2, noise(3) - 5
    same(lz.grad(f, 1)(x, y, z), x * z)
    same(lz.grad(f, argnums=-1)(x, y, z), x * y)
    one = lz.grad(f, (2,))(x, y, z)
    assert type(one) is tuple and len(one) == 1
    same(one[0], x * y)
    last, first, again = lz.grad(f, (2, 0, 2))(x, y, z)
    same(last, x * y)
    same(first, y * z)
    same(again, x * y)
    value, (a, b) = lz.value_and_grad(f, [0, 1])(x, y, z)
    same(value, (x * y * z).sum())
    same(b, x * z)


def test_what_is_not_chosen_is_passed_as_it_is():
    marker = object()
    seen = []

    def f(x, other, *, scale, mode=None):
        seen.append((other, mode))
        return (x * scale).sum()

    given = {"ids": [1, 2], "marker": marker}
    same(lz.grad(f)(noise(3), given, scale=lz.array(2.0, dtype="float64"), mode="text"), np.full(3, 2.0))
    assert seen[0][0] is given and seen[0][1] == "text"


def test_aux_is_handed_on():
    marker = object()

    def f(x):
        return (x * x).sum(), {"twice": x * 2, "name": "f", "list": [marker, x.sum()], "none": None, "count": 3}

    x = noise(4)
    gradient, aux = lz.grad(f, has_aux=True)(x)
    same(gradient, 2 * x)
    same(aux["twice"], 2 * x)
    same(aux["list"][1], x.sum())
    assert aux["name"] == "f" and aux["list"][0] is marker and aux["none"] is None and aux["count"] == 3
    assert not aux["twice"].requires_grad
    (value, aux), gradient = lz.value_and_grad(f, has_aux=True)(x)
    same(value, (x * x).sum())
    same(gradient, 2 * x)
    assert lz.value_and_grad(lambda x: (x.sum(), 7), has_aux=True)(x)[0][1] == 7


def test_what_does_not_matter_has_a_gradient_of_zeros():
    gradient = lz.grad(lambda p: p["a"].sum())({"a": noise(2), "b": noise(3, 2)})
    same(gradient["a"], np.ones(2))
    same(gradient["b"], np.zeros((3, 2)))
    same(lz.grad(lambda x: lz.array(1.0))(noise(3)), np.zeros(3))
    assert lz.grad(lambda p, x: (x * x).sum())({}, lz.array(noise(2))) == {}


def test_looking_at_values_on_the_way_loses_nothing(capsys):
    x = noise(3)

    def f(t):
        y = (t * t).sum()
        assert y.item() == pytest.approx((x * x).sum()) and float(y) == y.item()
        print(t, repr(y), y.numpy())
        if y > 0:  # of the value
            y = y * 3
        z = y.exp().eval()
        assert z.is_materialized
        return z + t.tolist()[0] * 0

    same(lz.grad(f)(x), 6 * x * np.exp(3 * (x * x).sum()))
    assert "requires_grad=True" in capsys.readouterr().out


def test_eager_evaluation_loses_nothing():
    x = noise(3, 4)
    with lz.eager():
        same(lz.grad(lambda t: t.softmax().log().sum())(x), lz.grad(lambda t: t.softmax().log().sum())(x).numpy())
        same(lz.grad(lambda t: (t[1:] * 2).reshape(-1).sum())(x), np.array([[0.0] * 4, [2.0] * 4, [2.0] * 4]))


def test_derivatives_of_derivatives():
    f = lambda t: t**5  # noqa: E731
    derivatives = [f]
    for _ in range(5):
        derivatives.append(lz.grad(derivatives[-1]))
    x = np.float64(1.5)
    wanted = [x**5, 5 * x**4, 20 * x**3, 60 * x**2, 120 * x, 120]
    assert [d(lz.array(x)).item() for d in derivatives] == pytest.approx(wanted)

    def g(t):
        return (t.sin() * t.roll(1)).sum()

    v, x = noise(4) + 1, noise(4)
    product = lz.grad(lambda t: (lz.grad(g)(t) * v).sum())(x)  # of the second derivatives and v
    by_numpy = lambda t: np.dot(np.cos(t) * np.roll(t, 1) + np.roll(np.sin(t), -1), v)  # noqa: E731
    same(product, slope(by_numpy, x), rtol=1e-7, atol=1e-8)


def test_inner_gradients_use_outer_arguments():
    def f(x, y):
        return lz.grad(lambda t: (t * t * y).sum())(x).sum()  # 2 * x * y

    x, y = noise(3), noise(3) + 3
    a, b = lz.grad(f, (0, 1))(x, y)
    same(a, 2 * y)
    same(b, 2 * x)


def test_complex_gradients_point_uphill():
    z = noise(4) + 1j * noise(3, 1)[:, 0].sum()
    same(lz.grad(lambda t: (t * t.conj()).real().sum())(z), 2 * z)
    assert lz.grad(lambda t: t.imag())(np.complex64(2 + 3j)).item() == 1j


def test_stop_gradient_and_detach():
    x = noise(3)
    same(lz.grad(lambda t: (t * lz.stop_gradient(t)).sum())(x), x)
    same(lz.grad(lambda t: (t * t.detach()).sum())(x), x)
    same(lz.grad(lambda t: lz.stop_gradient(t * t).sum())(x), np.zeros(3))
    plain = lz.array(x)
    assert not plain.detach().requires_grad
    same(plain.detach(), x)


def test_no_grad_of_what_is_recorded_within():
    def f(t):
        with lz.no_grad():
            scale = t * t
        assert not scale.requires_grad
        return (t * scale).sum()

    x = noise(3)
    same(lz.grad(f)(x), x * x)
    t = lz.array(x).requires_grad_()
    scope = lz.no_grad()
    with scope:
        with scope:
            assert not (t * 2).requires_grad
        assert not (t * 2).requires_grad and t.requires_grad
    assert (t * 2).requires_grad


def test_no_grad_is_of_one_thread():
    t = lz.array(noise(3)).requires_grad_()
    seen = []
    with lz.no_grad():
        other = threading.Thread(target=lambda: seen.append((t * 2).requires_grad))
        other.start()
        other.join()
    assert seen == [True]


def test_gradients_as_decorators_and_methods():
    class Model:
        def __init__(self):
            self.scale = lz.array(3.0, dtype="float64")

        def loss(self, x):
            """Of a model."""
            return (x * x * self.scale).sum()

        slope = lz.grad(loss, argnums=1)

    model = Model()
    same(model.slope(noise(2)), 6 * noise(2))
    same(lz.grad(model.loss)(noise(2)), 6 * noise(2))
    f = lz.grad(Model.loss, 1)
    assert list(inspect.signature(f).parameters) == ["self", "x"] and f.__name__ == "loss" and f.__wrapped__ is Model.loss
    assert repr(f) == "<lazuli.grad of loss>"


def test_threads_take_gradients_at_once():
    wrong = []

    def work(n):
        for _ in range(20):
            x = noise(n)
            if not np.allclose(lz.grad(lambda t: (t.exp() * t).sum())(x).numpy(), np.exp(x) * (1 + x)):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(2, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# ---- errors


def test_integers_in_a_chosen_argument_are_named():
    total = lambda p, *rest: p["w"].sum()  # noqa: E731
    with pytest.raises(lz.DTypeError, match=r"^grad: argument 0\['ids'\] is i64\[3\]: only floats and complex numbers have gradients"):
        lz.grad(total)({"w": noise(2), "ids": np.arange(3)})
    with pytest.raises(TypeError, match=r"^value_and_grad: argument 1\[0\]\[1\] is bool\[2\]"):
        lz.value_and_grad(total, (0, 1))({"w": noise(2)}, [(noise(2), np.array([True, False]))])
    with pytest.raises(lz.DTypeError, match=r"^grad: argument 0 is i32\[\]"):
        lz.grad(lambda x: x * x)(3)
    same(lz.grad(total)({"w": noise(2)}, {"ids": np.arange(3)})["w"], np.ones(2))  # not chosen
    with pytest.raises(TypeError, match=r"^grad: argument 0\['name'\] is a str; tensors and numbers"):
        lz.grad(total)({"w": noise(2), "name": "text"})
    with pytest.raises(lz.DTypeError, match=r"^vjp: argument 1 is i64\[3\]"):
        lz.vjp(lambda x, y: x, noise(3), np.arange(3))


def test_a_value_must_be_a_real_number():
    x = noise(3)
    with pytest.raises(lz.ShapeError, match=r"the function's value is f64\[3\], and one number is needed: its sum or mean, or vjp with a cotangent"):
        lz.grad(lambda t: t * 2)(x)
    with pytest.raises(lz.DTypeError, match=r"the function's value is c128\[\]: only a real number has a gradient"):
        lz.grad(lambda t: t.sum())(x + 1j)
    with pytest.raises(lz.DTypeError, match=r"the function's value is i64\[\]"):
        lz.grad(lambda t: t.argmax())(x)
    with pytest.raises(TypeError, match="grad: the function returned a float, and a tensor is needed: one that remembers how it was computed"):
        lz.grad(lambda t: t.sum().item())(x)
    with pytest.raises(TypeError, match="the function returned None, and a tensor"):
        lz.grad(lambda t: None)(x)
    with pytest.raises(TypeError, match="the function returned a tuple of 2.*has_aux=True says that there is something beside it"):
        lz.grad(lambda t: (t.sum(), t))(x)
    with pytest.raises(TypeError, match="with has_aux the function returns a tuple of its value and something else, not a Tensor"):
        lz.grad(lambda t: t.sum(), has_aux=True)(x)
    with pytest.raises(TypeError, match="not a tuple of 3"):
        lz.grad(lambda t: (t.sum(), 1, 2), has_aux=True)(x)


def test_wrong_calls():
    with pytest.raises(TypeError, match="'fn' must be a function, not int"):
        lz.grad(3)
    with pytest.raises(TypeError, match="'argnums' must be an integer or a tuple of them, not str"):
        lz.grad(len, "x")
    with pytest.raises(lz.ArgumentError, match="argnums is empty"):
        lz.grad(len, ())
    with pytest.raises(lz.ArgumentError, match="grad: there is no argument 1: 1 given by position"):
        lz.grad(lambda x, y: x, 1)(noise(2), y=noise(2))
    with pytest.raises(lz.ArgumentError, match="there is no argument -3: 2 given"):
        lz.grad(lambda x, y: x, -3)(noise(2), noise(2))
    with pytest.raises(TypeError, match="True or False"):
        lz.grad(len, 0, 3)

    class Mine(Exception):
        pass

    def wrong(x):
        raise Mine("text")

    for call in (lz.grad(wrong), lambda x: lz.vjp(wrong, x), lambda x: lz.jvp(wrong, (x,), (x,))):
        with pytest.raises(Mine, match="text"):
            call(lz.array(noise(3)))
    assert lz.grad(lambda t: t * t)(3.0).item() == 6


def test_an_op_without_a_gradient_is_named():
    with pytest.raises(lz.ArgumentError, match=r"bitcast: the op has no gradient: bitcast\(f64\[3\]\) -> f64\[3\]"):
        lz.grad(lambda t: lz.bitcast(t, dtype="float64").sum())(noise(3))
    with pytest.raises(lz.ArgumentError, match="while_loop: nothing flows back through it"):
        lz.grad(lambda t: lz.while_loop([t], lambda now: now[0].sum() < 100, lambda now: [now[0] * now[0] + 1])[0].sum())(noise(3))


# ---- vjp and jvp


def test_vjp():
    x, y = noise(3), noise(3) + 2
    (product, rest), pull = lz.vjp(lambda a, b: (a * b["y"], {"sum": a.sum(), "name": "text"}), x, {"y": y})
    same(product, x * y)
    assert rest["name"] == "text" and not product.requires_grad
    c = noise(3) * 3
    flows = pull((c, {"sum": 2.0, "name": None}))
    assert type(flows) is tuple and len(flows) == 2
    same(flows[0], c * y + 2)
    same(flows[1]["y"], c * x)
    flows = pull((None, {"sum": np.float64(1), "name": "text"}))  # once more, and of one result
    same(flows[0], np.ones(3))
    same(flows[1]["y"], np.zeros(3))
    with pytest.raises(lz.ShapeError, match=r"vjp: the cotangent\[0\] is f64\[2\], and what it belongs to is f64\[3\]"):
        pull((noise(2), {"sum": 1.0, "name": None}))
    with pytest.raises(lz.DTypeError, match=r"vjp: the cotangent\[0\] is f32\[3\]"):
        pull((noise(3, dtype=np.float32), {"sum": 1.0, "name": None}))
    with pytest.raises(lz.ArgumentError, match=r"vjp: the cotangent: a tuple of 2 is expected, not a Tensor"):
        pull(lz.array(c))
    with pytest.raises(lz.ArgumentError, match=r"the cotangent\[1\]: a dict of {'sum', 'name'} is expected, not one without 'sum'"):
        pull((c, {}))
    with pytest.raises(TypeError, match="vjp: the function returned no tensor"):
        lz.vjp(lambda a: 3, x)


def test_jvp():
    x, y = noise(3), noise(3) + 2
    dx, dy = noise(3) * 2, noise(3) - 1
    f = lambda p, b: {"product": p["x"] * b, "kept": 3, "sign": p["x"] > 0}  # noqa: E731
    result, change = lz.jvp(f, ({"x": x}, y), ({"x": dx}, dy))
    same(result["product"], x * y)
    same(change["product"], dx * y + x * dy)
    assert result["kept"] == 3 and change["kept"] == 3 and result["sign"].tolist() == (x > 0).tolist()
    same(lz.jvp(f, [{"x": x}, y], [{"x": None}, dy])[1]["product"], x * dy)
    same(lz.jvp(f, ({"x": x}, y), (None, dy))[1]["product"], x * dy)
    assert lz.jvp(lambda t: t**3, (2.0,), (1.0,))[1].item() == 12
    same(lz.jvp(lambda t: t[np.array([1, 1])], (x,), (dx,))[1], dx[[1, 1]])
    with pytest.raises(lz.ArgumentError, match="jvp: 1 tangents for 2 arguments"):
        lz.jvp(f, ({"x": x}, y), ({"x": dx},))
    with pytest.raises(lz.ShapeError, match=r"jvp: tangent 0\['x'\] is f64\[2\], and what it belongs to is f64\[3\]"):
        lz.jvp(f, ({"x": x}, y), ({"x": noise(2)}, dy))
    with pytest.raises(lz.ArgumentError, match=r"jvp: tangent 0: a dict of {'x'} is expected"):
        lz.jvp(f, ({"x": x}, y), (dx, dy))
    with pytest.raises(TypeError, match="'primals' must be a tuple with one entry an argument, not"):
        lz.jvp(f, x, dx)


def test_forward_and_reverse_agree_with_each_other():
    x, dx, c = noise(3, 4), noise(3, 4) + 1, noise(3)
    f = lambda t: (t.softmax() * t.exp()).sum(axis=1).log()  # noqa: E731
    _, change = lz.jvp(f, (x,), (dx,))
    _, pull = lz.vjp(f, x)
    assert np.dot(change.numpy(), c) == pytest.approx(np.sum(pull(c)[0].numpy() * dx))
    # The second derivative along a line: forward over reverse, and reverse over forward.
    g = lambda t: f(t).sum()  # noqa: E731
    one = lz.jvp(lz.grad(g), (x,), (dx,))[1]
    two = lz.grad(lambda t: lz.jvp(g, (t,), (dx,))[1])(x)
    same(one, two.numpy())


# ---- gradients that tensors keep


def test_backward_adds_up():
    x = lz.array(noise(3))
    mine = x
    assert not x.requires_grad and x.grad is None
    x.requires_grad = True
    assert x is mine and x.requires_grad and (x * 2).requires_grad and not (x > 0).requires_grad
    y = lz.array(noise(3) + 3).requires_grad_()
    assert type(y) is lz.Tensor and y.requires_grad_() is y
    (x * x * y).sum().backward()
    same(x.grad, 2 * noise(3) * (noise(3) + 3))
    same(y.grad, noise(3) ** 2)
    (x * 10).sum().backward()
    same(x.grad, 2 * noise(3) * (noise(3) + 3) + 10)
    same(y.grad, noise(3) ** 2)
    assert not x.grad.requires_grad
    x.grad = None
    assert x.grad is None and y.grad is not None
    y.zero_grad()
    assert y.grad is None
    (x * x).backward(noise(3) + 1)
    same(x.grad, 2 * noise(3) * (noise(3) + 1))
    x.zero_grad()
    (x * 3).sum().backward(2)  # a number, of its type
    same(x.grad, np.full(3, 6.0))


def test_a_gradient_is_of_the_object_and_of_no_other():
    data = lz.array(noise(3))
    x = data.detach().requires_grad_()
    assert x.requires_grad and not data.requires_grad
    y = x * 2
    y.sum().backward()
    assert y.grad is None and data.grad is None
    same(x.grad, np.full(3, 2.0))
    x.requires_grad = False
    assert not x.requires_grad and x.grad is None
    same(x, noise(3))


def test_backward_after_looking_at_values():
    x = lz.array(noise(3)).requires_grad_()
    y = (x.exp() * x).sum()
    y.item()
    print(x, y)
    y.eval()
    y.backward()
    same(x.grad, np.exp(noise(3)) * (1 + noise(3)))
    assert "requires_grad=True" in repr(x) and "requires_grad" not in repr(x.detach())
    assert repr(lz.array([1.0, 2.0]).requires_grad_()) == "Tensor([1. 2.], dtype=float32, requires_grad=True)"


def test_wrong_uses_of_backward():
    x = lz.array(noise(3))
    with pytest.raises(lz.ArgumentError, match="computed from nothing that wants a gradient"):
        x.sum().backward()
    x.requires_grad_()
    with pytest.raises(lz.ShapeError, match="one number is needed"):
        (x * 2).backward()
    with pytest.raises(lz.ShapeError, match=r"backward: cotangent 0 is f64\[2\]"):
        (x * 2).backward(noise(2))
    with pytest.raises(lz.DTypeError, match="only floats and complex numbers have gradients"):
        lz.arange(3).requires_grad = True
    with pytest.raises(TypeError, match="True or False"):
        x.requires_grad = "yes"
    with pytest.raises(TypeError, match="'value' must be None, not Tensor"):
        x.grad = lz.ones((3,))


def test_both_styles_meet():
    w = lz.array(noise(3)).requires_grad_()
    x = noise(3) + 2
    value, gradient = lz.value_and_grad(lambda t: (t * w).sum())(x)  # w comes from outside
    assert value.requires_grad
    same(gradient, noise(3))
    (gradient * 5).sum().backward()
    same(w.grad, np.full(3, 5.0))


# ---- compiled functions


def test_gradients_flow_through_compiled_functions():
    b = lz.dim("grad_b", 1, 16)
    w = lz.array(noise(3)).requires_grad_()
    f = lz.compile(lambda x: {"y": (x * w).tanh(), "name": "f"}, lz.placeholder("f64", (b, 3)))
    before = f(noise(2, 3))["y"]
    for rows in (1, 2, 5):
        x = noise(rows, 3)
        wanted = 1 - np.tanh(x * noise(3)) ** 2
        same(lz.grad(lambda t: f(t)["y"].sum())(x), wanted * noise(3))
        w.zero_grad()
        f(x)["y"].sum().backward()
        same(w.grad, (wanted * x).sum(axis=0))
    assert before.requires_grad  # of what it took from outside
    with lz.no_grad():
        assert not f(noise(2, 3))["y"].requires_grad
    plain = lz.compile(lambda x: x * 2, lz.placeholder("f64", (b, 3)))
    assert plain(noise(2, 3)).is_materialized and not plain(noise(2, 3)).requires_grad
    same(lz.grad(lambda t: (plain(t) * t).sum())(noise(2, 3)), 4 * noise(2, 3))
    same(lz.grad(lambda t: lz.grad(lambda s: (plain(s) * s).sum())(t).sum())(noise(2, 3)), np.full((2, 3), 4.0))
    with pytest.raises(lz.ShapeError, match="not within"):
        lz.grad(lambda t: plain(t).sum())(noise(17, 3))


def test_gradients_within_compiled_functions():
    b = lz.dim("grad_b", 1, 16)
    f = lz.compile(lambda x, w: lz.value_and_grad(lambda t: ((x @ t).tanh() ** 2).mean())(w), lz.placeholder("f64", (b, 3)), lz.placeholder("f64", (3, 2)))
    for rows in (1, 4, 7):
        x, w = noise(rows, 3), noise(3, 2)
        value, gradient = f(x, w)
        same(value, np.mean(np.tanh(x @ w) ** 2))
        same(gradient, slope(lambda t: np.mean(np.tanh(x @ t) ** 2), w), rtol=1e-6, atol=1e-8)
    assert value.is_materialized and gradient.is_materialized and not gradient.requires_grad


# ---- memory


def train(steps, step):
    """Live nodes and bytes after some steps, and after many more."""
    counts = []
    for i in range(steps):
        step(i)
        if i in (20, steps - 1):
            gc.collect()
            counts.append((lz.graph_stats(), lz.memory_stats()))
    return counts


def test_a_thousand_steps_of_training_keep_nothing():
    x, y = noise(16, 3), noise(16, 1)
    state = {"w": {"first": lz.array(noise(3, 8)), "last": lz.array(noise(8, 1))}, "total": lz.array(0.0, dtype="float64")}
    losses = []

    def step(i):
        def loss(w):
            error = (x @ w["first"]).tanh() @ w["last"] - y
            return (error * error).mean()

        value, gradient = lz.value_and_grad(loss)(state["w"])
        state["w"] = {key: state["w"][key] - 0.1 * gradient[key] for key in gradient}
        state["total"] = state["total"] + value
        lz.eval(state["total"], *state["w"].values())
        if i % 100 == 0:
            losses.append(value.item())

    (graph, memory), (graph_later, memory_later) = train(1000, step)
    assert losses[-1] < losses[0] / 2
    assert graph_later["live_nodes"] <= graph["live_nodes"] + 8, (graph, graph_later)
    assert memory_later["bytes"] <= memory["bytes"] + 4096, (memory, memory_later)
    assert not state["total"].requires_grad and state["total"].is_materialized


def test_a_thousand_backward_steps_keep_nothing():
    x, y = lz.array(noise(16, 3)), lz.array(noise(16, 1))
    w = [lz.array(noise(3, 1)).requires_grad_()]
    totals = [lz.array(0.0, dtype="float64")]

    def step(i):
        loss = ((x @ w[0] - y) ** 2).mean()
        loss.backward()
        totals[0] = (totals[0] + loss.detach()).eval()
        w[0] = (w[0].detach() - 0.1 * w[0].grad).eval().requires_grad_()

    (graph, memory), (graph_later, memory_later) = train(1000, step)
    assert graph_later["live_nodes"] <= graph["live_nodes"] + 8, (graph, graph_later)
    assert memory_later["bytes"] <= memory["bytes"] + 4096, (memory, memory_later)


# ---- functions with gradients of their own kind


def test_checkpoints_give_the_same_gradients():
    def block(p, x, scale):
        return {"y": (x @ p["w"]).tanh() * scale, "name": "block"}

    p, x = {"w": lz.array(noise(3, 3))}, lz.array(noise(2, 3))
    for scale in (2.0, 0.5):
        plain = lz.grad(lambda q: (block(q, x, scale)["y"] ** 2).sum())(p)["w"]
        again = lz.grad(lambda q: (lz.checkpoint(block)(q, x, scale=scale)["y"] ** 2).sum())(p)["w"]
        same(again, plain.numpy())
    f = lz.checkpoint(block)
    assert f.__name__ == "block" and repr(f) == "<lazuli.checkpoint of block>" and f(p, x, 1.0)["name"] == "block"
    same(f(p, x, 1.0)["y"], np.tanh(noise(2, 3) @ noise(3, 3)))
    with pytest.raises(TypeError, match="checkpoint: the function returned no tensor"):
        lz.checkpoint(lambda t: 3)(x)


def block(p, x, scale=2.0):
    for layer in p["layers"]:
        x = (x @ layer.w + layer.b).tanh()
    return {"y": x * scale * p["scales"][0], "name": "block", "none": None, "rest": (x.sum(), [x > 0])}


def leaves(tree):
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        return [leaf for child in tree for leaf in leaves(child)]
    return [] if tree is None else [tree]


# Functions of one that return a number, and how a tensor comes from them.
COMBINATIONS = {
    "grad": lambda f, p, x: lz.grad(f, (0, 1))(p, x),
    "vmap of grad": lambda f, p, x: lz.vmap(lz.grad(f, (0, 1)), (None, 0))(p, x),
    "grad of vmap": lambda f, p, x: lz.grad(lambda q: lz.vmap(f, (None, 0))(q, x).sum())(p),
    "vmap of vmap of grad": lambda f, p, x: lz.vmap(lz.vmap(lambda r: lz.grad(f, (0, 1))(p, r)))(x.reshape(5, 1, 3)),
    "grad of grad": lambda f, p, x: lz.grad(lambda v: (lz.grad(f, 1)(p, v) ** 2).sum())(x),
    "jvp of grad": lambda f, p, x: lz.jvp(lambda v: lz.grad(f, 1)(p, v), (x,), (x,)),
    "grad of jvp": lambda f, p, x: lz.grad(lambda v: lz.jvp(lambda u: f(p, u), (v,), (x,))[1])(x),
    "grad of checkpoint of grad": lambda f, p, x: lz.grad(lambda v: lz.checkpoint(lz.grad(f, 1))(p, v).sum())(x),
    "checkpoint of vmap": lambda f, p, x: lz.grad(lambda q: lz.checkpoint(lz.vmap(f, (None, 0)))(q, x).sum())(p),
}


@pytest.mark.parametrize("name", COMBINATIONS)
def test_checkpoints_within_others_and_others_within_checkpoints(name):
    p = {"layers": [Layer(noise(3, 3), noise(3)), Layer(noise(3, 3) / 2, noise(3) + 1)], "scales": (noise(3), None)}

    def number(f):
        return lambda q, x: (f(q, x)["y"] ** 2).sum() + f(q, x)["rest"][0]

    make, x = COMBINATIONS[name], lz.array(noise(5, 3))
    wanted = leaves(make(number(block), p, x))
    for f in (lz.checkpoint(block), lz.checkpoint(lz.checkpoint(block))):
        got = leaves(make(number(f), p, x))
        assert len(got) == len(wanted) > 0
        for a, b in zip(got, wanted):
            same(a, b.numpy(), rtol=1e-10)


def test_derivatives_within_bodies_have_derivatives():
    cube = lambda t: (t**3).sum()  # noqa: E731
    x = lz.array(noise(3))
    for f in (
        lz.checkpoint(lz.grad(cube)),
        lz.checkpoint(lambda t: lz.vjp(cube, t)[1](1.0)[0]),
        lambda t: lz.loop(1, [t], lambda i, now: [lz.grad(cube)(now[0])])[0][0],
        lz.compile(lz.grad(cube), lz.placeholder("f64", (3,))),
    ):
        same(lz.grad(lambda t: f(t).sum())(x), 6 * noise(3))


def test_numbers_within_bodies_stay_numbers():
    def scoped(t):
        with lz.no_grad():
            number = t * t
        return t * number

    x = noise(3)
    for f in (lambda t: t * lz.stop_gradient(t * t), lambda t: t * (t * t).detach(), lambda t: t.detach() * t.detach() * t, scoped):
        for body in (f, lz.checkpoint(f), lz.vmap(f), lambda t: lz.loop(1, [t], lambda i, now: [f(now[0])])[0][0]):
            same(lz.grad(lambda t: body(t).sum())(x), x * x)


def test_products_with_jacobians_are_linear():
    x, v = noise(3), noise(3) + 2
    _, pull = lz.vjp(lambda t: t**3, x)
    same(lz.grad(lambda c: (pull(c)[0] * c).sum())(v), 6 * x * x * v)
    same(lz.grad(lambda c: (lz.jvp(lambda t: t**3, (x,), (c,))[1] * c).sum())(v), 6 * x * x * v)


def test_gradients_of_ones_own():
    rounded = lz.custom_gradient(lz.round, lambda given, result, flow: (flow,))
    x = lz.array(noise(4)) * 5
    same(rounded(x), np.round(noise(4) * 5))
    same(lz.grad(lambda t: (rounded(t) * 3).sum())(x), np.full(4, 3.0))

    def forward(p, ids):
        return {"y": p["a"] * p["b"], "ids": ids, "name": "f"}

    def backward(given, results, flow):
        assert type(given) is tuple and results["name"] == "f" and flow["ids"] is None
        return {"a": flow["y"] * 10, "b": None}, None

    f = lz.custom_gradient(forward, backward)
    a, b, ids = lz.array(noise(3)), lz.array(noise(3) + 2), lz.arange(3)
    made = f({"a": a, "b": b}, ids)
    same(made["y"], noise(3) * (noise(3) + 2))
    gradient = lz.grad(lambda p: f(p, ids)["y"].sum())({"a": a, "b": b})
    same(gradient["a"], np.full(3, 10.0))
    same(gradient["b"], np.zeros(3))
    with pytest.raises(lz.ShapeError, match=r"custom_gradient: the cotangent of argument 0\['a'\] is f64\[\], and what it belongs to is f64\[3\]"):
        lz.custom_gradient(forward, lambda given, results, flow: ({"a": flow["y"].sum(), "b": None}, None))({"a": a, "b": b}, ids)
    with pytest.raises(TypeError, match="returns a tuple with one entry an argument, of which there are 1"):
        lz.custom_gradient(lambda t: t, lambda given, result, flow: flow)(a)
