"""Loops and conditions, whose bodies are Python functions."""

import numpy as np
import pytest

import lazuli as lz


def test_a_loop_carries_and_stacks():
    factor = lz.array([2.0, 3.0])
    carried, stacked = lz.loop(3, [lz.ones((2,))], lambda step, now: ([now[0] * factor], [now[0], step]))
    np.testing.assert_array_equal(np.asarray(carried[0]), [8, 27])
    np.testing.assert_array_equal(np.asarray(stacked[0]), [[1, 1], [2, 3], [4, 9]])
    assert stacked[1].tolist() == [0, 1, 2]


def test_trips_may_be_a_tensor():
    for trips in (0, 1, 7):
        carried, stacked = lz.loop(lz.array(trips), lz.zeros(()), lambda step, now: [now[0] + 2.0])
        assert carried[0].item() == 2 * trips and stacked == []
    with pytest.raises(lz.ArgumentError, match="known number of trips"):
        lz.loop(lz.array(2), lz.zeros(()), lambda step, now: ([now[0]], [now[0]]))


def test_a_scan_runs_both_ways():
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    for reverse in (False, True):
        carried, stacked = lz.scan_loop([lz.zeros((2,))], [lz.array(x)], lambda now, entry: ([now[0] + entry[0]], [now[0] + entry[0]]), reverse)
        wanted = np.cumsum(x[::-1], 0)[::-1] if reverse else np.cumsum(x, 0)
        np.testing.assert_array_equal(np.asarray(stacked[0]), wanted)
        np.testing.assert_array_equal(np.asarray(carried[0]), x.sum(0))


def test_conditions():
    x = lz.array([1.0, 4.0])
    for holds in (True, False):
        (made,) = lz.cond(lz.array(holds), lambda: [x * 2.0], lambda: [x.sqrt()])
        assert made.tolist() == ([2, 8] if holds else [1, 2])
    total, steps = lz.while_loop([lz.array(1.0), lz.array(0)], lambda now: now[0] < 100.0, lambda now: [now[0] * 3.0, now[1] + 1])
    assert total.item() == 243 and steps.item() == 5


def test_what_a_body_raises_comes_out():
    def wrong(step, now):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        lz.loop(3, [lz.ones((2,))], wrong)
    with pytest.raises(lz.ShapeError, match="value 0 that is carried"):
        lz.loop(3, [lz.ones((2,))], lambda step, now: [now[0].sum()])
    assert (lz.ones((2,)) + 1).tolist() == [2, 2]
