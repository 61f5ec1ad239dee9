"""Functions that are called as numpy's are."""

import numpy as np
import pytest

import lazuli as lz

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def same(got, wanted):
    assert got.shape == wanted.shape
    np.testing.assert_array_equal(np.asarray(got), wanted)


CALLS = [
    ("transpose", (), {}), ("transpose", ((2, 0, 1),), {}), ("swapaxes", (0, -1), {}), ("moveaxis", (0, -1), {}),
    ("moveaxis", ((0, 1), (-1, 0)), {}), ("expand_dims", (1,), {}), ("expand_dims", ((0, -1),), {}), ("ravel", (), {}),
    ("reshape", ((4, 6),), {}), ("reshape", ((3, -1),), {}), ("reshape", (-1,), {}), ("broadcast_to", ((5, 2, 3, 4),), {}),
    ("pad", (1,), {}), ("pad", ((1, 2),), {"constant_values": 7}), ("pad", (((1, 0), (0, 2), (3, 1)),), {}),
    ("roll", (5,), {}), ("roll", (-1, 1), {}), ("roll", ((1, 2), (0, 2)), {}), ("repeat", (3,), {}), ("repeat", (2, 1), {}),
    ("take", ([0, 5, -1],), {}), ("take", ([[1, 0], [0, 1]],), {"axis": 0}), ("tile", (2,), {}), ("tile", ((2, 1, 3),), {}),
    ("tile", ((2, 1, 1, 2),), {}), ("flip", (), {}), ("flip", (1,), {}), ("flip", ((0, 2),), {}), ("diagonal", (), {}),
    ("diagonal", (), {"offset": 1, "axis1": 1, "axis2": 2}), ("clip", (3, 10), {}), ("squeeze", (), {}),
]


@pytest.mark.parametrize("name,arguments,keywords", CALLS)
def test_call(name, arguments, keywords):
    wanted = getattr(np, name)(X, *arguments, **keywords)
    same(getattr(lz, name)(X, *arguments, **keywords), wanted)
    same(getattr(lz.array(X), name)(*arguments, **keywords), wanted)


def test_methods_take_sizes_one_by_one():
    x = lz.array(X)
    same(x.reshape(6, 4), X.reshape(6, 4))
    same(x.transpose(1, 0, 2), X.transpose(1, 0, 2))
    same(x.permute(1, 0, 2), X.transpose(1, 0, 2))
    same(x.T, X.T)


def test_joining_and_parting():
    a, b = X, X + 100
    for axis in (0, 1, -1, None):
        same(lz.concatenate([a, lz.array(b)], axis=axis), np.concatenate([a, b], axis=axis))
    for axis in (0, 2, -1):
        same(lz.stack([a, b], axis=axis), np.stack([a, b], axis=axis))
    for how, axis in ((3, 1), ([1, 3], 2), ([0, 2], 2), (2, -1)):
        got, wanted = lz.split(X, how, axis), np.split(X, how, axis)
        assert len(got) == len(wanted)
        for g, w in zip(got, wanted):
            same(g, w)
    same(lz.squeeze(X[:1], axis=0), X[0])
    for call in (lambda: lz.split(X, 5, 0), lambda: lz.concatenate([]), lambda: lz.stack([X, X[0]]), lambda: lz.squeeze(X, axis=0)):
        with pytest.raises(ValueError):
            call()


def test_factories():
    for got, wanted in (
        (lz.zeros((2, 3)), np.zeros((2, 3), np.float32)), (lz.ones(4, dtype="int16"), np.ones(4, np.int16)),
        (lz.full((2,), 3), np.full((2,), 3, np.int32)), (lz.full((2,), 2.5, dtype=lz.float64), np.full((2,), 2.5)),
        (lz.arange(5), np.arange(5)), (lz.arange(2, 9, 3), np.arange(2, 9, 3)), (lz.arange(0, 1, 0.25), np.arange(0, 1, 0.25, np.float32)),
        (lz.arange(5, dtype=np.float64), np.arange(5.0)), (lz.eye(3), np.eye(3, dtype=np.float32)), (lz.eye(2, 4, k=1), np.eye(2, 4, 1, np.float32)),
        (lz.linspace(0, 1, 5), np.linspace(0, 1, 5, dtype=np.float32)), (lz.zeros_like(X), np.zeros_like(X)),
        (lz.ones_like(X, dtype="int8"), np.ones_like(X, dtype=np.int8)), (lz.full_like(X, 2), np.full_like(X, 2)),
    ):
        same(got, wanted)
        assert np.asarray(got).dtype == wanted.dtype
    assert lz.zeros((2,), device="reference").device == "reference"


def test_attention_takes_a_mask_or_none(rng):
    q, k, v = (rng.normal(size=(2, 5, 4)).astype(np.float32) for _ in range(3))
    weights = q @ k.swapaxes(1, 2) / 2
    softmax = lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    np.testing.assert_allclose(np.asarray(lz.attention(q, k, v)), softmax(weights) @ v, rtol=1e-4, atol=1e-5)
    seen = np.tril(np.ones((5, 5), bool))
    wanted = softmax(np.where(seen, weights, -np.inf)) @ v
    np.testing.assert_allclose(np.asarray(lz.attention(q, k, v, causal=True)), wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.asarray(lz.attention(q, k, v, mask=seen)), wanted, rtol=1e-4, atol=1e-5)


def test_random_numbers_follow_their_key():
    key = lz.key(7)
    a, b = lz.rand((1000,), key=key), lz.rand((1000,), key=lz.key(7))
    same(a, np.asarray(b))
    values = np.asarray(a)
    assert 0 <= values.min() and values.max() < 1 and abs(values.mean() - 0.5) < 0.05
    normal = np.asarray(lz.randn((4000,), key=key))
    assert abs(normal.mean()) < 0.1 and abs(normal.std() - 1) < 0.1
    whole = np.asarray(lz.randint(3, 9, (500,), key=key))
    assert set(whole) == set(range(3, 9))
    lz.manual_seed(5)
    first = np.asarray(lz.rand((10,)))
    second = np.asarray(lz.rand((10,)))
    lz.manual_seed(5)
    same(lz.rand((10,)), first)
    assert not np.array_equal(first, second)
