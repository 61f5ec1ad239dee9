"""Work beside the thread that records it, and bounds of memory."""

import threading
import time

import lazuli as lz
import numpy as np
import pytest


def test_async_eval_returns_and_values_come():
    x = lz.array(np.arange(1000, dtype=np.float32))
    ys = [x * float(i) for i in range(20)]
    assert lz.async_eval(*ys[:10], ys[10:]) is None
    for i, y in enumerate(ys):
        np.testing.assert_array_equal(y.numpy(), np.arange(1000, dtype=np.float32) * i)


def test_is_ready_and_wait():
    y = lz.ones((64, 64)) @ lz.ones((64, 64))
    y.wait()
    assert y.is_ready() and y.is_materialized
    z = y + 1
    z.wait(timeout=60)
    assert z.is_ready() is True
    lz.wait(z)
    assert float(z[0, 0].item()) == 65
    with pytest.raises(ValueError, match="timeout of -1"):
        z.wait(timeout=-1)


def test_a_wait_that_times_out_leaves_the_work_running():
    big = lz.ones((1500, 1500))
    y = big
    for _ in range(8):
        y = (y @ big) * 1e-3
    with pytest.raises(TimeoutError, match="not over within"):
        y.wait(timeout=0)
    y.wait()
    assert y.is_ready()


def test_streams():
    before = lz.ones(4)
    with lz.Stream() as s:
        y = before * 3
        lz.async_eval(y)
        s.commit()
        s.synchronize()
        assert y.is_materialized
    lz.synchronize()
    np.testing.assert_array_equal(y.numpy(), np.full(4, 3, np.float32))


def test_threads_record_while_others_wait():
    done = []

    def work(k):
        x = lz.full((128,), float(k))
        for _ in range(50):
            x = x + 1
            lz.async_eval(x)
        done.append(float(x[5].item()) == k + 50)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert done == [True] * 4


def test_errors_are_kept_where_they_belong():
    x = lz.array(np.arange(4, dtype=np.float32))
    bad = lz.take(x, lz.array(np.array([9])), axis=0)
    good = x + 1
    lz.async_eval(bad, good)
    lz.synchronize()
    np.testing.assert_array_equal(good.numpy(), np.arange(1, 5, dtype=np.float32))
    with pytest.raises(Exception, match="index 9"):
        bad.wait()
    with pytest.raises(TypeError, match="async_eval: takes tensors"):
        lz.async_eval(3)


def test_memory_limit_and_figures():
    x = lz.ones((1 << 18,))
    lz.eval(x)
    y = x * 2
    before = lz.set_memory_limit(lz.memory_stats()["bytes"] + 1000)
    try:
        with pytest.raises(MemoryError, match="out of memory"):
            lz.eval(y)
    finally:
        lz.set_memory_limit(before)
    lz.reset_peak_memory()
    lz.eval(y)
    stats = lz.memory_stats()
    assert stats["peak"] >= stats["bytes"] > 0
    assert stats["limit"] == before
    assert float(y[7].item()) == 2
    old = lz.set_cache_limit(0)
    assert lz.memory_stats()["spare"] == 0
    assert lz.set_cache_limit(old) == 0
    with pytest.raises(ValueError, match="below 0"):
        lz.set_memory_limit(-1)


def test_limits_of_streams():
    lz.set_stream_limits(max_ops_per_commit=2)
    y = lz.ones(3) + 1
    lz.async_eval(y)
    deadline = time.time() + 30
    while not y.is_ready() and time.time() < deadline:
        time.sleep(0.001)
    assert y.is_ready()
    lz.set_stream_limits(max_ops_per_commit=4)
    with pytest.raises(ValueError, match="limit of 0"):
        lz.set_stream_limits(max_ops_per_commit=0)


def test_the_plan_says_what_it_needs():
    x = lz.ones((64, 64))
    y = x
    for _ in range(6):
        y = lz.tanh(y @ x)
    e = y.explain()
    assert 0 < e.arena_bytes == e.alive_bytes < e.unplanned_bytes
    assert "memory to compute in" in str(e)
