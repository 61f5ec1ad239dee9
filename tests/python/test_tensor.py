"""Operators, conversions to Python's values, text, errors."""

import operator

import numpy as np
import pytest

import lazuli as lz

A = np.array([[1.0, 2, 3], [4, 5, 6]], np.float32)
B = np.array([[2.0, 0.5, 1], [3, 2, 6]], np.float32)
BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.eq, operator.ne, operator.lt, operator.le,
          operator.gt, operator.ge]


@pytest.mark.parametrize("op", BINARY)
def test_operators(op):
    a, b = lz.array(A), lz.array(B)
    wanted = op(A, B)
    for got in (op(a, b), op(a, B), op(A, b)):  # numpy's operand first as well
        assert isinstance(got, lz.Tensor)
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-5)
    for number in (2, 2.5, True, np.float32(2), np.float64(2.5), np.int64(3)):
        for left, right, other in ((a, number, op(A, number)), (number, a, op(number, A))):
            got = op(left, right)
            assert isinstance(got, lz.Tensor) and got.dtype == (other.dtype if other.dtype == bool else lz.float32)
            np.testing.assert_allclose(np.asarray(got), other, rtol=1e-5)


def test_other_operators():
    a, b = lz.array(A), lz.array(B)
    np.testing.assert_allclose(np.asarray(a @ b.T), A @ B.T, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(A @ b.T), A @ B.T, rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(-a), -A)
    np.testing.assert_array_equal(np.asarray(abs(-a)), A)
    assert +a is a
    signed = A - 3.5
    for op in (operator.mod, operator.floordiv):
        np.testing.assert_array_equal(np.asarray(op(lz.array(signed), b)), op(signed, B))
        np.testing.assert_array_equal(np.asarray(op(-5, lz.array([-2, 2, 3]))), op(-5, np.array([-2, 2, 3])))
    i = lz.array([1, 2, 3])
    assert (i << 2).tolist() == [4, 8, 12] and (i >> 1).tolist() == [0, 1, 1] and (1 << i).tolist() == [2, 4, 8]
    before = a
    a += 1
    assert a is not before and before.tolist() == A.tolist() and a.tolist() == (A + 1).tolist()
    assert (a == "text") is False and (a != None) is True  # noqa: E711
    for wrong in (lambda: a + "text", lambda: a + None, lambda: {} * a, lambda: pow(a, 2, 3)):
        with pytest.raises(TypeError):
            wrong()


def test_types_follow_the_tensor_beside_a_number():
    half = lz.array([1.5], dtype="float16")
    assert (half * 2.0).dtype == (2.0 * half).dtype == (half * np.float64(2)).dtype == lz.float16
    assert (lz.array([1], dtype="int8") + 1).dtype == lz.int8
    assert (lz.array([1]) * 2.5).dtype == lz.float32
    assert (half + lz.array([1.0])).dtype == lz.float32
    with pytest.raises(ValueError):
        lz.array([1], dtype="uint8") + 300


def test_properties():
    t = lz.zeros((2, 3, 4), dtype="int16")
    assert (t.shape, t.ndim, t.size, t.dtype, t.itemsize, t.nbytes) == ((2, 3, 4), 3, 24, lz.int16, 2, 48)
    assert t.T.shape == (4, 3, 2) and t.device == lz.default_device() and (t + 1).op == "add"
    assert not (t + 1).is_materialized and (t + 1).eval().is_materialized


def test_one_value():
    assert lz.array([[3]]).item() == 3 and isinstance(lz.array(3).item(), int)
    assert isinstance(lz.array(True).item(), bool) and lz.array(2**64 - 1, dtype="uint64").item() == 2**64 - 1
    assert float(lz.array(2.5)) == 2.5 and int(lz.array(2.5)) == 2 and complex(lz.array(1 + 2j)) == 1 + 2j
    assert bool(lz.array(1.0)) and not bool(lz.array([0]))
    assert list(range(5))[lz.array(2)] == 2
    with pytest.raises(ValueError):
        bool(lz.array([1, 2]))
    with pytest.raises(ValueError):
        lz.array([1, 2]).item()
    with pytest.raises(TypeError):
        [1, 2][lz.array(1.0)]
    with pytest.raises(TypeError):
        hash(lz.array(1))


def test_text():
    t = lz.array([[1, 2.5], [3, 4]])
    assert str(t) == "[[1.  2.5]\n [3.  4. ]]"
    assert repr(t) == "Tensor([[1.  2.5]\n        [3.  4. ]], dtype=float32)"
    assert repr(lz.sum) == "<function lazuli.sum>"


def test_errors_are_pythons_too():
    a = lz.zeros((2, 3))
    with pytest.raises(lz.ShapeError, match=r"add: .*\[2, 3\] and \[4\]") as shape:
        a + lz.zeros(4)
    assert isinstance(shape.value, ValueError) and isinstance(shape.value, lz.Error)
    assert (shape.value.expected, shape.value.actual) == ("[2, 3]", "[4]")
    with pytest.raises(lz.ShapeError, match="matmul"):
        a @ a
    with pytest.raises(lz.DTypeError) as dtype:
        lz.copysign(lz.array([1]), lz.array([2])).eval() if False else lz.shift_left(a, a)
    assert isinstance(dtype.value, TypeError)
    with pytest.raises(lz.IndexError) as index:
        a[5]
    assert isinstance(index.value, IndexError)
    with pytest.raises(lz.IndexError):
        a.sum(axis=2)
    with pytest.raises(lz.ArgumentError, match="activation"):
        lz.matmul(a, a.T, activation="nothing")
    with pytest.raises(lz.DeviceError, match="there are: reference"):
        lz.set_default_device("nowhere")
    with pytest.raises(lz.OutOfMemory) as memory:
        (lz.zeros((1 << 46,)) + 1).eval()
    assert isinstance(memory.value, MemoryError)
    assert memory.value.demand >= 1 << 46 and memory.value.limit > 0 and memory.value.largest


@pytest.mark.parametrize("call,message", [
    (lambda: lz.add(1), "missing argument 'y'"), (lambda: lz.tanh(lz.zeros(1), 2), "takes 1 positional"),
    (lambda: lz.sum(lz.zeros(1), axes=0), "unexpected keyword argument 'axes'"), (lambda: lz.sum(lz.zeros(1), 0, axis=0), "multiple values"),
    (lambda: lz.sum(lz.zeros(1), axis="a"), "'axis' must be"), (lambda: lz.sum(lz.zeros(1), keepdims=3), "'keepdims' must be"),
    (lambda: lz.tanh("a"), "no tensor can be made of a str"), (lambda: lz.Tensor(), "Tensor"), (lambda: lz.eval(3), "takes tensors"),
])
def test_wrong_calls(call, message):
    with pytest.raises(TypeError, match=message):
        call()
