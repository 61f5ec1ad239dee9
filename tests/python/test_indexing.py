"""Indices against numpy's, drawn at random."""

import numpy as np
import pytest

import lazuli as lz

SAMPLES = 300


def random_slice(rng, size):
    bound = lambda: None if rng.random() < 0.3 else int(rng.integers(-size - 2, size + 3))
    step = None if rng.random() < 0.4 else int(rng.choice([-3, -2, -1, 1, 2, 3]))
    return slice(bound(), bound(), step)


def random_index(rng, shape):
    index, axis, arrays = [], 0, 0
    dots = False
    count = int(rng.integers(1, len(shape) + 1))
    common = tuple(rng.integers(1, 4, rng.integers(1, 3)))
    while axis < count:
        kind = rng.choice(["int", "slice", "none", "dots", "array", "mask", "list", "numpy"])
        size = shape[axis]
        if kind == "int":
            index.append(int(rng.integers(-size, size)))
        elif kind == "numpy":
            index.append(np.int64(rng.integers(-size, size)))
        elif kind == "slice":
            index.append(random_slice(rng, size))
        elif kind == "none":
            index.append(None)
            continue
        elif kind == "dots":
            if not dots:
                index.append(...)
            dots = True
            continue
        elif dots:  # what stands behind the dots counts from the other end
            index.append(slice(None))
        elif kind == "array":
            index.append(rng.integers(-size, size, common))
            arrays += 1
        elif kind == "list":
            index.append([int(i) for i in rng.integers(-size, size, common[-1])])
            arrays += 1
        elif arrays:  # a mask's positions would have to fit the others
            index.append(slice(None))
        else:
            index.append(rng.random(size) < 0.5)
            arrays += 10
            common = (1,)
        axis += 1
    return tuple(index) if len(index) != 1 or rng.random() < 0.5 else index[0]


def as_ours(index):
    """Arrays as tensors, half of the time by kind."""
    one = lambda i: lz.array(i) if isinstance(i, np.ndarray) and i.size % 2 else i
    return tuple(map(one, index)) if isinstance(index, tuple) else one(index)


def test_random_indices():
    rng = np.random.default_rng(11)
    agreed = refused = 0
    while agreed < SAMPLES:
        shape = tuple(int(n) for n in rng.integers(1, 6, rng.integers(1, 5)))
        x = rng.integers(0, 1000, shape)
        index = random_index(rng, shape)
        try:
            wanted = x[index]
        except IndexError:
            with pytest.raises((IndexError, ValueError)):
                lz.array(x)[as_ours(index)].eval()
            refused += 1
            continue
        got = lz.array(x)[as_ours(index)]
        assert got.shape == np.shape(wanted), (shape, index)
        np.testing.assert_array_equal(np.asarray(got), wanted, err_msg=f"{shape} {index}")
        agreed += 1
    print(f"indices: {agreed} agreed, {refused} refused")


def test_plain_cases():
    x = np.arange(60).reshape(3, 4, 5)
    t = lz.array(x)
    for index in (0, -1, np.int32(2), slice(1, None), (0, 1), (slice(None), 1), (..., -1), (None, 0), (0, None, ..., 2),
                  (slice(None, None, -1), slice(3, 0, -2)), [2, 0], (slice(None), [1, 1, 0]), ([0, 1], slice(None), [2, 3]),
                  x > 30, np.array([True, False, True]), (), slice(10**30, None), ([[0], [1]], [0, 1]), [], (0, [])):
        wanted = x[index]
        np.testing.assert_array_equal(np.asarray(t[index]), wanted, err_msg=str(index))
    assert t[lz.array(1)].shape == (4, 5)
    assert t[lz.array([0, 1]), lz.array([1, 2])].shape == (2, 5)
    assert [row.shape for row in t] == [(4, 5)] * 3
    assert len(t) == 3


def test_wrong_indices():
    t = lz.zeros((3, 4))
    for index in (3, -4, (0, 4), (0, 0, 0), (..., ...), [5], np.zeros(5, bool)):
        with pytest.raises(IndexError):
            t[index].eval()
    for index in ("a", 1.5, np.array([0.5])):
        with pytest.raises(IndexError):
            t[index]
    with pytest.raises(TypeError, match="do not change"):
        t[0] = 1
    with pytest.raises(TypeError):
        len(lz.array(1))
    with pytest.raises(TypeError):
        iter(lz.array(1))
