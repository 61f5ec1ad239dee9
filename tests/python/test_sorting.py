"""Sorting, scanning, and picking and putting by position, by numpy's names."""

import numpy as np
import pytest

import lazuli as lz


def same(got, wanted):
    got = np.asarray(got)
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    np.testing.assert_array_equal(got, wanted)


X = np.array([[3, np.nan, -1, 3], [0, 2, np.inf, -np.inf]], np.float32)


def test_sorting():
    for axis in (0, 1, -1):
        same(lz.sort(X, axis), np.sort(X, axis))
        same(lz.argsort(X, axis=axis), np.argsort(X, axis, kind="stable"))
    same(lz.array([3, 1, 2]).sort(descending=True), np.array([3, 2, 1], np.int32))
    values, indices = lz.topk(lz.array([1.0, 5.0, 3.0]), 2)
    assert values.tolist() == [5, 3] and indices.tolist() == [1, 2]
    assert lz.topk(lz.array([1.0, 5.0, 3.0]), 1, largest=False)[0].tolist() == [1]
    with pytest.raises(ValueError):
        lz.topk(lz.array([1.0]), 2)
    for side in ("left", "right"):
        same(lz.searchsorted([1, 2, 2, 3], [2, 0, 9], side), np.searchsorted([1, 2, 2, 3], [2, 0, 9], side))
    with pytest.raises(ValueError, match="side"):
        lz.searchsorted([1, 2], [1], "middle")


def test_scans(rng):
    x = rng.integers(-9, 9, (3, 4)).astype(np.int8)
    for name in ("cumsum", "cumprod"):
        for axis in (None, 0, -1):
            same(getattr(lz, name)(x, axis), getattr(np, name)(x, axis))
        same(getattr(lz, name)(x, 0, dtype="float64"), getattr(np, name)(x, 0, dtype=np.float64))
    same(lz.cumsum(x, 1, reverse=True), np.flip(np.cumsum(np.flip(x, 1), 1), 1))
    same(lz.cummax(x, 0), np.maximum.accumulate(x, 0))
    same(lz.cummin(x, axis=1), np.minimum.accumulate(x, 1))


def test_picking_and_putting():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    at = np.array([[2, 0], [1, 1]])
    same(lz.take_along_axis(x, at, 1), np.take_along_axis(x, at, 1))
    assert lz.scatter(lz.array([1.0, 2.0]), [0, 0], lz.array([5.0, 6.0]), mode="add").tolist() == [12, 2]
    with pytest.raises(ValueError, match="mode"):
        lz.scatter(lz.array([1.0]), [0], lz.array([5.0]), mode="twice")
    assert lz.dynamic_slice(x, [1, 9], (1, 2)).tolist() == [[4, 5]]
    assert lz.dynamic_update_slice(lz.array(x), lz.array([[9.0]]), [0, 0]).tolist()[0] == [9, 1, 2]
    assert lz.blit(lz.zeros(5), lz.ones(2), (0,), (3,)).tolist() == [1, 0, 0, 1, 0]
    same(lz.stack([lz.array(x), lz.array(x)], -1), np.stack([x, x], -1))


def test_functions_that_evaluate():
    x = np.array([[0, 3, 0], [3, 1, 0]])
    for got, wanted in zip(lz.nonzero(x), np.nonzero(x), strict=True):
        same(got, wanted)
    same(lz.flatnonzero(x), np.flatnonzero(x))
    same(lz.argwhere(x), np.argwhere(x))
    same(lz.unique(x), np.unique(x))
    got = lz.unique(lz.array(X), return_inverse=True, return_counts=True)
    for part, wanted in zip(got, np.unique(X, return_inverse=True, return_counts=True), strict=True):
        same(part, wanted)
    with pytest.raises(ValueError):
        lz.nonzero(lz.array(1))
