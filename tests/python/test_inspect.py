"""Looking into evaluations: what every operation computed, and who made a NaN."""

import inspect
import subprocess
import sys

import lazuli as lz
import numpy as np
import pytest


def line():
    return inspect.currentframe().f_back.f_lineno


def test_debug_tensors_sees_what_fused_kernels_never_write():
    seen = []
    x = lz.array(np.array([1.0, -2.0, 4.0], np.float32))
    with lz.debug_tensors(seen.append):
        y = lz.exp(x * 2.0) + 1.0
        at = line() - 1
        y.eval()
    assert [s.op for s in seen] == ["mul", "exp", "add"]
    first = seen[0]
    assert (first.min, first.max, first.mean, first.nans, first.infs) == (-4.0, 8.0, 2.0, 0, 0)
    assert first.first == [2.0, -4.0, 8.0] and first.shape == (3,) and first.spec == "f32[3]"
    assert first.source == f"{__file__}:{at} in test_debug_tensors_sees_what_fused_kernels_never_write"
    assert "max 8" in repr(first)
    (x + 1).eval()
    assert len(seen) == 3


def test_debug_tensors_prints(capfd):
    with lz.debug_tensors():
        (lz.array(np.ones(3, np.float32)) * 3).eval()
    text = capfd.readouterr().err
    assert "mul" in text and "max 3" in text and "test_inspect.py" in text


def test_nan_check_names_operation_and_line():
    def model(x):
        return (lz.log(x) * 2).sum()

    x = lz.array(np.array([[1.0, -1.0]], np.float32))
    with lz.nan_check():
        with pytest.raises(RuntimeError, match=r"log: makes NaN .* 1 of 2 elements of f32\[1, 2\], the first at \[0, 1\]") as caught:
            model(x).eval()
        assert f"{__file__}:" in str(caught.value) and " in model" in str(caught.value)
        assert float((x + 1).sum().item()) == 2.0
    assert np.isnan(model(x).item())


def test_scopes_nest_and_must_be_entered():
    check = lz.nan_check()
    with pytest.raises(ValueError, match="without being entered"):
        check.__exit__(None, None, None)
    with check, check:
        assert float((lz.ones(2) + 1).sum().item()) == 4.0


def test_the_environment_switches_it_on():
    code = "import lazuli as lz\nx = lz.log(lz.array([-1.0]))\nx.eval()\n"
    run = subprocess.run([sys.executable, "-c", code], env={"LAZULI_NAN_CHECK": "1", "PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert run.returncode != 0 and "log: makes NaN" in run.stderr and "<string>:2 in <module>" in run.stderr
    run = subprocess.run([sys.executable, "-c", code], env={"LAZULI_DEBUG_TENSORS": "1", "PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert run.returncode == 0 and "NaN 1" in run.stderr
