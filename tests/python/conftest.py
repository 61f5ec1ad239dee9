"""What the tests share: numpy's formulas of the ops, which the conformance tests have, and a generator of numbers."""

import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "conformance"))


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def pytest_terminal_summary(terminalreporter):
    agreement = sys.modules.get("test_numpy_agreement")
    if agreement and agreement.agreed:
        terminalreporter.write_line(agreement.summary())
    gradients = sys.modules.get("test_grad_torch")
    if gradients and gradients.compared:
        terminalreporter.write_line(gradients.summary())
