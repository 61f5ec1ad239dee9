"""To and from numbers, lists, numpy, buffers and DLPack, and whose memory it is."""

import array
import copy
import gc
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest

import lazuli as lz

NUMPY_TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
               "complex64", "complex128"]


def test_numbers_and_lists():
    for value, dtype in ((True, "bool"), (3, "int32"), (2**40, "int64"), (2**63, "uint64"), (1.5, "float32"), (1 + 2j, "complex64")):
        t = lz.array(value)
        assert (t.shape, t.dtype, t.item()) == ((), dtype, value)
        assert lz.array([value, value]).dtype == dtype
    assert lz.array([[1, 2.5], [True, 4]]).tolist() == [[1, 2.5], [1, 4]]
    assert lz.array([1, 2], dtype=lz.float64).dtype == lz.float64
    assert lz.array(0.1, dtype="float64").item() == 0.1
    assert lz.array([]).shape == (0,) and lz.array([[], []]).shape == (2, 0)
    assert lz.array((1, 2)).tolist() == [1, 2]
    assert lz.array([np.float64(1), np.float64(2)]).dtype == lz.float64
    assert lz.array([lz.array([1, 2]), lz.array([3, 4])]).tolist() == [[1, 2], [3, 4]]
    assert lz.array(range(3)).tolist() == [0, 1, 2]
    for bad in ([[1, 2], [3]], [1, [2]], [[1], 2]):
        with pytest.raises(lz.ShapeError):
            lz.array(bad)
    for bad in ("text", None, object(), ["a"], {}):
        with pytest.raises(TypeError):
            lz.array(bad)
    for number, dtype in ((300, "uint8"), (-1, "uint32"), (2**40, "int32")):
        with pytest.raises(ValueError):
            lz.array(number, dtype=dtype)
    with pytest.raises(ValueError):
        lz.array(2**70)


@pytest.mark.parametrize("dtype", NUMPY_TYPES)
def test_numpy_there_and_back(dtype, rng):
    x = (rng.normal(size=(3, 4, 5)) * 5).astype(dtype)
    for view in (x, x.T, x[::2, ::-1], x[1, 2, 3], x[:0], np.asfortranarray(x), x.astype(x.dtype.newbyteorder(">"))):
        t = lz.array(view)
        assert t.dtype == dtype and t.shape == view.shape
        back = np.asarray(t)
        assert back.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(back, view)
        np.testing.assert_array_equal(np.asarray(t.T), view.T)
        np.testing.assert_array_equal(np.from_dlpack(t), view)
        if view.dtype.isnative:
            np.testing.assert_array_equal(np.asarray(lz.from_dlpack(np.asarray(view))), view)
        else:
            with pytest.raises(BufferError):  # numpy's own
                lz.from_dlpack(view)
        assert t.tolist() == view.tolist()
    assert np.dtype(str(t.dtype)) == x.dtype
    assert np.zeros(2, str(t.dtype)).dtype == x.dtype


def test_dtypes():
    assert lz.float32 == "float32" == lz.float32 and lz.float32 == "f32" and lz.float32 == np.float32 and lz.float32 == np.dtype("f4")
    assert lz.float32 != lz.float64 and lz.float32 != "nonsense" and lz.float32 != 3
    assert lz.bool_ == bool and lz.int64 == int and lz.float32 == float
    assert repr(lz.bfloat16) == "lazuli.bfloat16" and str(lz.bool_) == "bool" and lz.float16.itemsize == 2
    assert len({lz.float32, lz.float32, lz.int8}) == 2
    assert pickle.loads(pickle.dumps(lz.bool_)) is lz.bool_
    assert lz.promote_types("int32", lz.float16) == lz.float16
    for bad in ("float31", np.dtype("datetime64[s]"), 3, object):
        with pytest.raises(TypeError):
            lz.zeros(2, dtype=bad)
    with pytest.raises(TypeError):
        lz.array(np.array(["a"]))
    with pytest.raises(TypeError):
        lz.array(np.zeros(2, "datetime64[s]"))


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([1.5, -2, 3.25], ml_dtypes.bfloat16)
    t = lz.array(x)
    assert t.dtype == lz.bfloat16 and t.dtype == ml_dtypes.bfloat16
    assert np.asarray(t).dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(t * 2), x * 2)
    assert lz.array([1.5], dtype=ml_dtypes.bfloat16).tolist() == [1.5]
    with pytest.raises(BufferError):
        memoryview(t)


def test_bfloat16_without_ml_dtypes_says_what_to_do():
    program = ("import sys; sys.modules['ml_dtypes'] = None\nimport lazuli as lz, numpy as np\n"
               "t = lz.array([1.5], dtype='bfloat16')\n"
               "try: np.asarray(t)\nexcept TypeError as e: print(e)\n"
               "print(t.astype('float32').numpy()[0], t.tolist())")
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "pip install ml_dtypes" in out and "1.5 [1.5]" in out


def test_array_protocol():
    t = lz.array([[1.0, 2], [3, 4]])
    assert np.asarray(t, dtype=np.float64).dtype == np.float64
    assert t.__array__(dtype=np.int32).dtype == np.int32
    written = np.array(t)
    written[0, 0] = 9
    assert t.tolist() == [[1, 2], [3, 4]]
    shown = np.asarray(t)
    assert not shown.flags.writeable
    with pytest.raises(ValueError):
        shown[0, 0] = 9
    assert t.__array__(copy=True).flags.writeable
    with pytest.raises(ValueError):
        t.__array__(dtype=np.float64, copy=False)
    first, second = np.asarray(t), np.asarray(t)
    assert first.__array_interface__["data"][0] == second.__array_interface__["data"][0]  # nothing is copied


def test_buffers():
    t = lz.array(np.arange(6, dtype=np.int16).reshape(2, 3))
    m = memoryview(t)
    assert (m.format, m.shape, m.strides, m.readonly, m.itemsize) == ("h", (2, 3), (6, 2), True, 2)
    assert m.tolist() == [[0, 1, 2], [3, 4, 5]] and bytes(t) == np.arange(6, dtype=np.int16).tobytes()
    del t
    gc.collect()
    assert m[1, 2] == 5
    assert memoryview(lz.array([[1, 2], [3, 4]]).T).tolist() == [[1, 3], [2, 4]]
    assert lz.array(array.array("d", [1, 2])).dtype == lz.float64
    assert lz.array(bytearray(b"ab")).tolist() == [97, 98]
    assert lz.array(memoryview(np.arange(10)[::3])).tolist() == [0, 3, 6, 9]


def test_array_copies_unless_asked_to_lend():
    x = np.arange(4.0)
    t, u = lz.array(x), lz.asarray(x)
    x[0] = 100
    assert t.tolist() == u.tolist() == [0, 1, 2, 3]

    for lend in (lambda a: lz.array(a, copy=False), lambda a: lz.from_dlpack(a, copy=False)):
        memory = np.arange(6.0)
        watch = weakref.ref(memory)
        owner = memory.reshape(2, 3)
        lent = lend(owner[:, ::-1])
        owner[0, 2] = 50  # seen, since the memory is shared
        assert (lent + 0).tolist() == [[50, 1, 0], [5, 4, 3]]
        view = lent.T
        del memory, owner, lent
        gc.collect()
        assert watch() is not None
        assert view.tolist() == [[50, 5], [1, 4], [0, 3]]
        del view
        lz.array(0)  # lent memory is given back between steps of Python code, or at the next array at the latest
        gc.collect()
        assert watch() is None

    for call in (lambda: lz.array([1, 2], copy=False), lambda: lz.array(x, dtype="float32", copy=False)):
        with pytest.raises(ValueError, match="copy=False"):
            call()


def test_results_outlive_their_tensors():
    shown = np.asarray(lz.array([1.0, 2]) + 1)
    capsule = (lz.array([1.0, 2]) * 3).__dlpack__(max_version=(1, 0))
    gc.collect()
    lz.clear_caches()
    for _ in range(100):
        (lz.ones(2) * 7).eval()
    assert shown.tolist() == [2, 3]
    del capsule  # never consumed


def test_dlpack_details():
    t = lz.array([[1.0, 2], [3, 4]])
    assert t.__dlpack_device__() == (1, 0)
    np.from_dlpack(t)[0, 0] = 9  # its own
    assert t.tolist() == [[1, 2], [3, 4]]
    shared = np.from_dlpack(t, copy=False)
    assert not shared.flags.writeable
    assert shared.__array_interface__["data"][0] == np.asarray(t).__array_interface__["data"][0]
    assert lz.from_dlpack(t) is t
    assert "dltensor_versioned" in repr(t.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(t.__dlpack__())
    with pytest.raises(BufferError):
        t.T.__dlpack__(max_version=(1, 0), copy=False)
    for keywords in ({"dl_device": (2, 0)}, {"copy": False}):
        with pytest.raises(BufferError):
            t.__dlpack__(**keywords)
    with pytest.raises(TypeError):
        lz.from_dlpack(3)


def test_torch():
    torch = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    assert lz.array(x.T).tolist() == x.T.tolist()
    assert torch.from_dlpack(lz.array([[1.0, 2]]) + 1).tolist() == [[2, 3]]
    assert lz.array(x.to(torch.bfloat16)).dtype == lz.bfloat16
    t = lz.array([1.0, 2])
    torch.from_dlpack(t)[0] = 9
    assert t.tolist() == [1, 2]


def test_copies_and_pickles():
    t = lz.array([[1.5, 2], [3, 4]], dtype="float64")
    for again in (pickle.loads(pickle.dumps(t)), copy.copy(t), copy.deepcopy(t)):
        assert again.dtype == t.dtype and again.tolist() == t.tolist()
    assert pickle.loads(pickle.dumps(lz.sum)) is lz.sum
