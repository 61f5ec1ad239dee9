"""Sizes that vary: Dim, placeholders, and functions that are compiled once for all sizes."""

import collections
import copy
import threading
import time

import numpy as np
import pytest

import lazuli as lz

B = lz.dim("py_b", 1, 64)
T = lz.dim("py_t", 1, 500)
SIZES = [(1, 1), (2, 1), (1, 5), (3, 4), (5, 33), (7, 100), (64, 500), (17, 257)]


def noise(*shape):
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype(np.float32)


def numbers(shape, b, t):
    return tuple(size if isinstance(size, int) else size.evaluate({"py_b": b, "py_t": t}) for size in shape)


def made_since(before, *keys):
    now = lz.cache_stats()
    return tuple(now[key] - before[key] for key in keys)


# ---- sizes


def test_arithmetic_gives_sizes_or_numbers():
    assert (B + T) - T is not None and (B + T) - T == B
    assert B - B == 0 and type(B - B) is int
    assert str(2 * B + 1) == "2*py_b + 1" and repr(B * T) == "Dim(py_b*py_t)"
    assert (B * 6) // 3 == 2 * B and type((B * 6) % 3) is int
    assert (1 + B, 10 - B, 3 * B, -B) == (B + 1, -B + 10, B * 3, 0 - B)
    assert (2 * B + 5).bounds == (7, 133) and (B // 8).bounds == (0, 8) and (100 % B).bounds[0] == 0
    assert (1000 // B).evaluate({"py_b": 7}) == 142 and (B * T).evaluate({"py_b": 3, "py_t": 5}) == 15
    assert lz.Dim.min(B, 100) == B and lz.Dim.max(B, 100) == 100 and lz.Dim.max(3, 4) == 4
    assert lz.Dim.min(B, 5).evaluate({"py_b": 7}) == 5 and lz.Dim.max(B, T).bounds == (1, 500)
    with pytest.raises(TypeError):
        B + 1.5
    with pytest.raises(TypeError):
        B / 2
    with pytest.raises(TypeError, match="must be an integer or a Dim, not str"):
        lz.Dim.min(B, "x")
    with pytest.raises(lz.ArgumentError, match="py_t"):
        (B * T).evaluate({"py_b": 3})


def test_a_comparison_holds_for_all_sizes_or_is_an_error():
    assert B == B and B == lz.dim("py_b", 1, 64) and not B != B
    assert B < 65 and B <= 64 and B > 0 and B >= 1 and 65 > B and not B > 64
    assert B != 65 and B != 0 and B + 1 != B and B + 1 > B
    assert B != "text" and B != None and B != 0.5  # noqa: E711
    assert bool(B)
    for question in (lambda: B == 3, lambda: B != 3, lambda: B < 3, lambda: 3 <= B, lambda: B == 3.0):
        with pytest.raises(lz.ArgumentError, match=r"py_b .* 3 depends on the sizes: py_b \(from 1 to 64\)"):
            question()
    with pytest.raises(lz.ArgumentError, match=r"py_b == py_t depends on the sizes: py_b \(from 1 to 64\), py_t \(from 1 to 500\)"):
        B == T
    with pytest.raises(lz.ArgumentError, match="depends"):
        bool(B - 1)
    with pytest.raises(lz.ArgumentError, match="depends"):
        max(B, 2)


def test_names_and_bounds():
    assert {B: "b", T: "t"}[lz.dim("py_b", 1, 64)] == "b" and len({B, B + 1, 1 + B}) == 2
    assert lz.any_dim() != "x" and str(lz.any_dim()) != str(lz.any_dim())
    assert lz.any_dim().bounds[0] == 1
    with pytest.raises(lz.ArgumentError, match="py_b: lies between 1 and 64, not 1 and 3"):
        lz.dim("py_b", 1, 3)
    for conversion in (int, float, range, np.zeros):
        with pytest.raises(lz.ShapeError, match="py_b has no value"):
            conversion(B)
    assert copy.deepcopy({"shape": (B, 3)}) == {"shape": (B, 3)}
    with pytest.raises(TypeError, match="'name' must be a text"):
        lz.dim(3, 1, 2)


# ---- placeholders


def test_shapes_are_tuples_of_numbers_and_sizes():
    x = lz.placeholder(lz.float32, (B, 3, T))
    assert x.shape == (B, 3, T) and x.ndim == 3 and x.size == 3 * B * T and x.dtype == lz.float32
    assert lz.placeholder((B, 4), "int64").dtype == lz.int64
    assert lz.placeholder(dtype="f16", shape=B).shape == (B,)
    assert (x.T.shape, x.sum(1).shape, x.reshape(-1, T).shape) == ((T, 3, B), (B, T), (3 * B, T))
    assert x.reshape(B * 3, T).shape == (3 * B, T) and x.ravel().shape == (3 * B * T,)
    assert x[0].shape == (3, T) and x[:, :2, -1].shape == (B, 2) and x[:, None].shape == (B, 1, 3, T)
    assert x[..., : lz.Dim.min(T, 7)].shape == x[..., :7].shape == (B, 3, lz.Dim.min(T, 7))
    assert x[:, 1:2].squeeze(1).shape == (B, T) and x.expand_dims(0).shape == (1, B, 3, T)
    assert [part.shape for part in lz.split(lz.ones((B, 6 * T)), 3, 1)] == [(B, 2 * T)] * 3
    assert lz.zeros((B, 2)).shape == lz.full((B, 2), 2.5).shape == lz.rand((B, 2)).shape == lz.iota((B, 2)).shape == (B, 2)
    assert lz.broadcast_to(lz.ones((1, 2)), (B, 2)).shape == (B, 2) and lz.zeros_like(x).shape == x.shape
    assert lz.arange(B).shape == (B,) and lz.eye(B).shape == (B, B) and lz.tri(B, T).shape == (B, T)
    with pytest.raises(lz.ShapeError, match="negative"):
        lz.placeholder("f32", (B - 2,))
    with pytest.raises(lz.ShapeError, match=r"does not fit \[3, 4\]"):
        x.reshape(3, 4)
    with pytest.raises(lz.IndexError, match="position 1 may be outside dimension 0 of size py_b"):
        x[1]
    with pytest.raises(lz.ShapeError, match="which need not be 1"):
        x.squeeze(0)
    with pytest.raises(TypeError):
        lz.placeholder("f32", "no shape")


def test_a_placeholder_has_no_value():
    x = lz.placeholder("f32", (B, 3))
    for read in (len, list, lambda x: x.sum().item(), np.asarray, lambda x: x.tolist(), bool, lz.eval, lambda x: x.nbytes):
        with pytest.raises(lz.Error, match="py_b has no value"):
            read(x)
    assert "py_b" in repr(x) and "py_b" in repr(x + 1)


# ---- compiled functions

WEIGHTS = lz.array(noise(24, 10))
WAYS = {
    "softmax": (lambda x: (x @ WEIGHTS).softmax(), [(B, 24)]),
    "a chain": (lambda x: (x * 2 + 1).exp() - x, [(B, T)]),
    "several": (lambda x: [x.sum(1), x.max(1, keepdims=True) - x, x.mean(0)], [(B, T)]),
    "two arguments": (lambda x, y: lz.matmul(x, y), [(B, T), (T, 3)]),
    "by a size": (lambda x: x.sum(1) / x.shape[1] + (x > x.shape[0]).sum(), [(B, T)]),
    "positions": (lambda x: [x[0], x[:, -1], x[::-1, ::2], x[:, : (x.shape[1] + 1) // 2], x[:, -3:]], [(B, T)]),
    "filled": (lambda x: lz.zeros(x.shape) + x + lz.full((x.shape[0], 1), 2.5) + lz.arange(x.shape[1]), [(B, T)]),
    "a mask": (lambda x: lz.where(lz.tri(x.shape[1]) > 0, x.T @ x, -1e9).softmax() @ lz.eye(x.shape[1]), [(B, T)]),
    "joined": (lambda x: lz.concatenate([x.reshape(-1), x.ravel(), lz.arange(3, 3 + x.shape[0], dtype="float32")]), [(B, T)]),
    "a scan": (lambda x: lz.scan_loop([lz.zeros((x.shape[1],))], [x], lambda now, entry: ([now[0] * 0.5 + entry[0]], [now[0]]))[1], [(B, T)]),
    "parts": (lambda x: lz.split(x, 2, 1) + lz.split(x, [1, -1], 1), [(B, 4 * T)]),
}


@pytest.mark.parametrize("name", WAYS)
def test_the_bits_are_those_of_the_numbers(name):
    way, shapes = WAYS[name]
    f = lz.compile(way, *(lz.placeholder("f32", shape) for shape in shapes))
    before = lz.cache_stats()
    for b, t in SIZES:
        arguments = [lz.array(noise(*numbers(shape, b, t))) for shape in shapes]
        given, wanted = f(*arguments), way(*arguments)
        if not isinstance(wanted, list):
            given, wanted = [given], [wanted]
        assert len(given) == len(wanted)
        for g, w in zip(given, wanted):
            assert (g.shape, g.dtype) == (w.shape, w.dtype)
            assert g.numpy().tobytes() == w.numpy().tobytes()
    assert made_since(before, "open_plans", "own_plans") == (1, 0), f.explain().cache


def test_a_third_size_makes_a_plan_for_all():
    for on, expected in ((True, (2, 1, 4)), (False, (6, 0, 0))):
        lz.clear_caches()
        lz.set_generalising(on)
        before = lz.cache_stats()
        for n in (6, 7, 8, 9, 10, 11):
            x = lz.array(np.ones((n, 3), np.float32))
            assert (x * 7.5 - 1).sum(1).tolist() == [19.5] * n
        assert made_since(before, "misses", "general_plans", "general_hits") == expected
    lz.set_generalising(True)
    with pytest.raises(TypeError, match="set_generalising: 'on' must be True or False"):
        lz.set_generalising("yes")


def test_sizes_that_are_used_often_get_kernels_of_their_own():
    f = lz.compile(lambda x: (x * 3).sum(1), lz.placeholder("f32", (B, T)))
    x = lz.ones((3, 4)).eval()
    before = lz.cache_stats()
    for _ in range(1000):
        assert f(x).tolist() == [12.0] * 3
        if made_since(before, "specialised") == (1,):
            break
        time.sleep(0.001)
    assert made_since(before, "specialised") == (1,)
    lz.set_specialising(False)
    y = lz.ones((5, 4)).eval()
    for _ in range(200):
        f(y)
    assert made_since(before, "specialised") == (1,)
    lz.set_specialising(True)


def test_one_plan_serves_all_sizes():
    f = lz.compile(lambda x: (x * 3).sum(1), lz.placeholder("f32", (B, T)))
    before = lz.cache_stats()
    for b in (2, 5, 2, 7, 5):
        assert f(lz.ones((b, 4))).tolist() == [12.0] * b
    assert made_since(before, "open_plans", "bindings", "own_plans") == (1, 3, 0)
    assert f.bindings_seen() == [{"py_b": b, "py_t": 4} for b in (5, 7, 2)]
    assert f.explain().cache.startswith("one plan for all sizes")
    small, large = (f.explain(lz.ones((b, 100))) for b in (2, 64))
    assert len(small.kernels) == len(large.kernels) == 1 and (small.bytes_written, large.bytes_written) == (8, 256)
    assert "1 kernel" in str(small)
    with pytest.raises(lz.ShapeError, match="py_b = 65 is not within"):
        f.explain(lz.ones((65, 2)))


def test_trees_of_arguments_and_results():
    Pair = collections.namedtuple("Pair", "first second")
    row = lz.placeholder("f32", (B,))

    def mix(weights, pair, *, scale):
        return {"sum": Pair(weights["a"] + pair[0], [pair[1] * scale]), "aux": (3, "text", None), "size": pair[0].shape}

    f = lz.compile(mix, {"a": row, "more": []}, (row, row), scale=lz.placeholder("f32", ()))
    for b in (3, 2):
        made = f({"more": [], "a": np.ones(b, np.float32)}, (lz.ones(b), lz.full(b, 2.0)), scale=5.0)
        assert type(made["sum"]) is Pair and made["sum"].first.tolist() == [2.0] * b
        assert made["sum"].second[0].tolist() == [10.0] * b
        assert made["aux"] == (3, "text", None) and made["size"] == (B,)
    assert lz.compile(lambda x: (3, None), row)(lz.ones(2)) == (3, None)
    assert repr(f) == "<lazuli.Compiled mix(f32[py_b], f32[py_b], f32[py_b], f32[]) -> (f32[py_b], f32[py_b]) where 1 <= py_b <= 64>"


def test_another_structure_is_named():
    row = lz.placeholder("f32", (B,))
    f = lz.compile(lambda tree, last: tree["k"][0] + tree["k"][1] + last, {"k": [row, row]}, row)
    one, two = lz.ones(1), lz.ones(2)
    wrong = [
        (({"k": [one, one]},), "takes 2 arguments by position, 1 given"),
        (({"k": (one, one)}, one), r"argument 0\['k'\]: a list of 2 is expected, not a tuple"),
        (({"k": [one]}, one), r"argument 0\['k'\]: a list of 2 is expected, not a list of 1"),
        (({"q": [one, one]}, one), r"argument 0: a dict of {'k'} is expected, not one without 'k'"),
        (({"k": [one, one], "q": one}, one), r"argument 0: a dict of {'k'} is expected, not one with 'q'"),
        (([one, one], one), "argument 0: a dict of {'k'} is expected, not a list"),
        (({"k": [one, {}]}, one), r"argument 0\['k'\]\[1\]: a tensor is expected, not a dict"),
        (({"k": [one, None]}, one), r"argument 0\['k'\]\[1\]: a tensor is expected, not a NoneType"),
        (({"k": [one, two]}, one), r"is 1 by argument 0\['k'\]\[0\] and 2 by argument 0\['k'\]\[1\]"),
    ]
    for arguments, message in wrong:
        with pytest.raises(ValueError, match=message):
            f(*arguments)
    with pytest.raises(lz.ArgumentError, match="no argument 'x'"):
        f({"k": [one, one]}, one, x=one)
    with pytest.raises(TypeError, match=r"spec 0\[1\] is a str"):
        lz.compile(len, [row, "x"])
    with pytest.raises(TypeError, match="'function' must be a function"):
        lz.compile(3, row)


def test_sizes_that_do_not_fit_are_named():
    f = lz.compile(lambda x, y: x + y, lz.placeholder("f32", (B, 3)), lz.placeholder("f32", (B, 3)))
    ones = lambda *shape: lz.ones(shape)  # noqa: E731
    with pytest.raises(lz.ShapeError, match="py_b = 65 is not within 1 <= py_b <= 64"):
        f(ones(65, 3), ones(65, 3))
    with pytest.raises(lz.ShapeError, match=r"py_b \(1 <= py_b <= 64\) is 4 by argument 0 and 5 by argument 1"):
        f(ones(4, 3), ones(5, 3))
    with pytest.raises(lz.ShapeError, match="dimension 1 is 2, not 3"):
        f(ones(4, 2), ones(4, 3))
    with pytest.raises(lz.ShapeError, match="argument 1"):
        f(ones(4, 3), ones(4))
    with pytest.raises(lz.DTypeError, match=r"argument 1: f64\[4, 3\] given for f32\[py_b, 3\]"):
        f(ones(4, 3), np.ones((4, 3)))
    with pytest.raises(lz.ArgumentError, match="it has no value"):
        f(lz.placeholder("f32", (B, 3)), ones(4, 3))
    with pytest.raises(lz.ArgumentError, match="no argument's size says what py_b is"):
        lz.compile(lambda x: x, lz.placeholder("f32", (B * T,)))
    assert f(ones(4, 3), ones(4, 3)).tolist() == [[2.0] * 3] * 4


def test_what_the_function_raises_comes_out():
    class Mine(Exception):
        pass

    def wrong(x):
        raise Mine("text")

    x = lz.placeholder("f32", (B,))
    with pytest.raises(Mine, match="text") as caught:
        lz.compile(wrong, x)
    assert caught.traceback[-1].name == "wrong"
    with pytest.raises(lz.ArgumentError, match="py_b == 3 depends"):
        lz.compile(lambda x: x if x.shape[0] == 3 else x + 1, x)
    with pytest.raises(lz.ExecutionError, match="py_b has no value"):
        lz.compile(lambda x: x.sum().item(), x)
    with pytest.raises(lz.ArgumentError, match="from outside, which has no value"):
        lz.compile(lambda y: y + x, x)


def test_captured_tensors_are_kept():
    w = lz.array(noise(4)) + 1  # not computed yet
    f = lz.compile(lambda x: x * w, lz.placeholder("f32", (B, 4)))
    wanted = (lz.ones((2, 4)) * w).numpy()
    del w
    np.testing.assert_array_equal(f(lz.ones((2, 4))).numpy(), wanted)
    assert len(f.program()) == 1


def test_a_cache_grows_step_by_step():
    slots, width = 16, 4
    b = lz.dim("py_lanes", 1, 8)

    def step(cache, x, position):
        zero = lz.array(0, dtype="int64")
        cache = lz.dynamic_update_slice(cache, x, lz.stack([zero, position, zero]))
        scores = x @ cache.swapaxes(1, 2)
        return cache, lz.where(lz.iota((slots,)) <= position, scores, -np.inf).softmax() @ cache

    decode = lz.compile(step, lz.placeholder("f32", (b, slots, width)), lz.placeholder("f32", (b, 1, width)), lz.placeholder("int64", ()))
    # The same without places to come: the length varies instead.
    whole = lz.compile(lambda cache, x: (x @ cache.swapaxes(1, 2)).softmax() @ cache,
                       lz.placeholder("f32", (b, B, width)), lz.placeholder("f32", (b, 1, width)))
    before = lz.cache_stats()
    for lanes in (1, 3):
        tokens = noise(lanes, slots, width)
        cache = lz.zeros((lanes, slots, width))
        for i in range(slots):
            token = tokens[:, i : i + 1]
            cache, out = decode(cache, token, np.int64(i))
            np.testing.assert_allclose(out.numpy(), whole(cache[:, : i + 1], token).numpy(), rtol=2e-6, atol=2e-6)
        np.testing.assert_array_equal(cache.numpy(), tokens)
    assert made_since(before, "open_plans", "bindings", "own_plans") == (2, 2 + 2 * slots, 0)
    assert len(decode.bindings_seen()) == 2 and len(whole.bindings_seen()) == 2 * slots


def test_programs():
    f = lz.compile(lambda x: x * 2 + 1, lz.placeholder("f32", (B, T)))
    program = f.program()
    assert program.variables == [B, T] and "f32[py_b, py_t]" in str(program)
    numbers = program.instantiate({"py_b": 2, "py_t": 3})
    assert numbers.variables == [] and "f32[2, 3]" in str(numbers) and numbers != program
    assert numbers == program.instantiate({"py_t": 3, "py_b": 2}) and len({program, f.program()}) == 1
    assert '"py_b"' in program.json() and program.bytes().startswith(b"LZIR")
    with pytest.raises(lz.ArgumentError, match="py_t"):
        program.instantiate({"py_b": 2})
    with pytest.raises(lz.ArgumentError, match="py_b"):
        program.instantiate({"py_b": 65, "py_t": 3})


def test_threads_call_at_once():
    f = lz.compile(lambda x: (x * 2).sum(1), lz.placeholder("f32", (B, T)))
    wrong = []

    def work(b):
        for t in range(1, 20):
            if f(lz.ones((b, t))).tolist() != [2.0 * t] * b:
                wrong.append((b, t))

    threads = [threading.Thread(target=work, args=(b,)) for b in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
