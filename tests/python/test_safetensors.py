"""Safetensors files: written by us and read by others, and the other way round.

The oracle is the package `safetensors`; its tests are skipped where that is not installed.
"""

import gc
import json
import os
import pathlib
import struct

import numpy as np
import pytest

import lazuli as lz

try:
    import safetensors
    import safetensors.numpy
except ImportError:
    safetensors = None

oracle = pytest.mark.skipif(safetensors is None, reason="the package safetensors is not installed")

TYPES = {
    "BOOL": np.bool_, "U8": np.uint8, "I8": np.int8, "U16": np.uint16, "I16": np.int16, "U32": np.uint32, "I32": np.int32,
    "U64": np.uint64, "I64": np.int64, "F16": np.float16, "F32": np.float32, "F64": np.float64, "C64": np.complex64,
}  # fmt: skip
SHAPES = [(), (1,), (7,), (0,), (3, 5), (2, 0, 4), (2, 3, 1, 4)]
METADATA = {"format": "np", "größe": "瑠璃 🔷", "escaped": '"\\\n\t\u0001'}


def arrays(rng):
    """Every type in every shape, with any bits that the type takes."""
    out = {}
    for kind, dtype in TYPES.items():
        for shape in SHAPES:
            size = np.dtype(dtype).itemsize
            raw = rng.integers(0, 2 if kind == "BOOL" else 256, (*shape, size), dtype=np.uint8)
            out[f"{kind} {shape}"] = np.frombuffer(raw.tobytes(), dtype).reshape(shape)
    return out


def assert_same(got, want):
    got = np.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    assert got.tobytes() == want.tobytes()


def test_what_is_saved_comes_back(tmp_path, rng):
    want = arrays(rng)
    path = tmp_path / "a.safetensors"
    lz.save_safetensors(path, want, METADATA)
    assert os.listdir(tmp_path) == ["a.safetensors"]
    got = lz.load_safetensors(path)
    assert got.keys() == want.keys()
    for name, value in want.items():
        assert_same(got[name], value)
    assert lz.SafetensorsFile(path).metadata == METADATA


@oracle
def test_others_read_what_we_write(tmp_path, rng):
    want = arrays(rng)
    want["unicode ☃"] = np.arange(3.0)
    path = tmp_path / "ours.safetensors"
    lz.save_safetensors(path, want, METADATA)
    with safetensors.safe_open(path, "np") as file:
        assert set(file.keys()) == set(want)
        assert file.metadata() == METADATA
        for name, value in want.items():
            assert_same(file.get_tensor(name), value)
    views = {"transposed": lz.array(want["F32 (3, 5)"]).T, "computed": lz.arange(5, dtype="f32") * 2, "rows": lz.array(want["I16 (3, 5)"])[1:]}
    lz.save_safetensors(path, views)
    for name, value in safetensors.numpy.load_file(path).items():
        assert_same(value, views[name].numpy())


@oracle
def test_we_read_what_others_write(tmp_path, rng):
    want = {name: value for name, value in arrays(rng).items()}
    path = tmp_path / "theirs.safetensors"
    safetensors.numpy.save_file(want, path, METADATA)
    file = lz.SafetensorsFile(path)
    assert set(file) == set(want) and len(file) == len(want)
    assert file.metadata == METADATA
    for name, value in want.items():
        assert name in file and file.shape(name) == value.shape and file.dtype(name) == lz.array(value).dtype
        assert_same(file[name], value)
    for name, value in file.tensors().items():
        assert_same(value, want[name])


@oracle
def test_bfloat16_of_others(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    want = np.arange(-3, 4).astype(ml_dtypes.bfloat16)
    path = tmp_path / "a.safetensors"
    safetensors.numpy.save_file({"a": want}, path)
    assert_same(lz.load_safetensors(path)["a"].numpy(), want)
    lz.save_safetensors(path, {"b": lz.array(want) * 2})
    assert_same(safetensors.numpy.load_file(path)["b"], (want * 2).astype(want.dtype))


@oracle
def test_others_refuse_what_we_refuse(tmp_path, rng):
    """Random changes to a header: where both read the file, they read the same."""
    path = tmp_path / "a.safetensors"
    good = {"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "b": {"dtype": "U8", "shape": [4], "data_offsets": [24, 28]}}
    numbers = [0, 1, 2, 3, 4, 6, 24, 25, 28, 29, 2**31, 2**62, 2**63, 2**64 - 1, 2**64, -1]
    both = ours_alone = 0
    for _ in range(2000):
        header = json.loads(json.dumps(good))
        for _ in range(rng.integers(0, 3)):
            entry = header[str(rng.choice(["a", "b"]))]
            field = entry[str(rng.choice(["shape", "data_offsets"]))]
            if field:
                field[rng.integers(len(field))] = numbers[rng.integers(len(numbers))]
            if rng.integers(4) == 0:
                entry["dtype"] = str(rng.choice(["F32", "U8", "I16", "F64", "BOOL", "X"]))
            if rng.integers(8) == 0:
                entry["shape"] = []
        text = json.dumps(header).encode()
        path.unlink(missing_ok=True)
        path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(range(28)))
        try:
            ours = lz.load_safetensors(path)
        except lz.FileError as error:
            assert str(path) in str(error)
            ours = None
        try:
            theirs = safetensors.numpy.load_file(path)
        except Exception:  # its errors are of several classes
            theirs = None
        if ours is not None:
            assert theirs is not None, text
            assert ours.keys() == theirs.keys()
            for name, value in theirs.items():
                if value.dtype != np.bool_:  # of which a file may have any bytes
                    assert_same(ours[name], value)
            both += 1
        elif theirs is not None:
            ours_alone += 1
    assert both > 200 and ours_alone == 0


def test_a_file_is_kept_by_its_tensors(tmp_path):
    path = tmp_path / "a.safetensors"
    lz.save_safetensors(str(path), {"x": np.arange(1000, dtype=np.float32)})
    x = lz.SafetensorsFile(os.fsencode(path))["x"]
    view = x.numpy()
    lz.save_safetensors(path, {"x": x + 1})
    path.unlink()
    gc.collect()
    assert x.sum().item() == 499500
    del x
    gc.collect()
    assert view.sum() == 499500


def test_a_file_that_is_open(tmp_path):
    path = tmp_path / "a.safetensors"
    lz.save_safetensors(path, {"half": lz.zeros(2, dtype="f16"), "w": lz.ones((2, 3))}, {"format": "pt"})
    file = lz.SafetensorsFile(path)
    assert file.path == str(path)
    assert file.names == ["w", "half"] and list(file) == ["w", "half"] and len(file) == 2
    assert "w" in file and "v" not in file and 3 not in file
    assert file.shape("w") == (2, 3) and file.dtype("half") == lz.float16
    assert file["w"].tolist() == [[1, 1, 1]] * 2
    assert list(file.tensors()) == file.names
    with pytest.raises(KeyError, match="v"):
        file["v"]
    with pytest.raises(lz.ArgumentError, match="no tensor named 'v'"):
        file.shape("v")


def test_bad_calls(tmp_path):
    path = tmp_path / "a.safetensors"
    with pytest.raises(lz.FileError, match="No such file") as error:
        lz.load_safetensors(path)
    assert error.value.path == str(path) and isinstance(error.value, OSError)
    x = lz.zeros(2)
    for call, kind in [
        (lambda: lz.save_safetensors(path, {"": x}), lz.ArgumentError),
        (lambda: lz.save_safetensors(path, {"__metadata__": x}), lz.ArgumentError),
        (lambda: lz.save_safetensors(path, {"x": lz.zeros(2, dtype="c128")}), lz.DTypeError),
        (lambda: lz.save_safetensors(path, {1: x}), TypeError),
        (lambda: lz.save_safetensors(path, [x]), TypeError),
        (lambda: lz.save_safetensors(path, {"x": object()}), TypeError),
        (lambda: lz.save_safetensors(path, {"x": x}, {"a": 1}), TypeError),
        (lambda: lz.save_safetensors(path, {"x": x}, "a"), TypeError),
        (lambda: lz.save_safetensors(3.5, {"x": x}), TypeError),
        (lambda: lz.save_safetensors(tmp_path / "nowhere" / "a", {"x": x}), lz.FileError),
        (lambda: lz.save_safetensors(tmp_path, {"x": x}), lz.FileError),
        (lambda: lz.load_safetensors(tmp_path), lz.FileError),
        (lambda: lz.load_safetensors(None), TypeError),
        (lambda: lz.SafetensorsFile(None), TypeError),
        (lambda: lz.SafetensorsFile(pathlib.Path("nowhere")), lz.FileError),
    ]:
        with pytest.raises(kind):
            call()
    assert os.listdir(tmp_path) == []
