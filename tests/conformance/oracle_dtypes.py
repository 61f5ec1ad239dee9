"""Element types for oracle.py: conversion to and from wide values, and .npy files.

An array of a Lazuli type is held as the numpy array of that type; bf16, which numpy lacks, as uint16 bits. A *wide* array is
what the formulas compute with: float64 for f16, bf16, f32 and f64, complex128 for c64 and c128, the type itself for bool and
integers.
"""

import math
import struct

import numpy as np

NUMPY = {
    "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16,
    "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "bf16": np.uint16, "f32": np.float32, "f64": np.float64,
    "c64": np.complex64, "c128": np.complex128,
}
DTYPES = list(NUMPY)
INTEGERS = [d for d in DTYPES if d[0] in "iu"]
FLOATS = ["f16", "bf16", "f32", "f64"]
COMPLEX = ["c64", "c128"]
PART = {"c64": "f32", "c128": "f64"}
# Bits of the fraction with the leading one; the largest finite value; the smallest denormal.
PRECISION = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
LARGEST = {"f16": 65504.0, "bf16": math.ldexp(255, 120), "f32": float(np.finfo(np.float32).max), "f64": float(np.finfo(np.float64).max)}
TINIEST = {"f16": 2.0**-24, "bf16": 2.0**-133, "f32": 2.0**-149, "f64": 5e-324}


def epsilon(dtype):
    return math.ldexp(1, 1 - PRECISION[PART.get(dtype, dtype)])


def bf16_bits(values):
    """float64 -> bf16 bits, rounded to nearest even in one step."""
    values = np.asarray(values, np.float64)
    bits = values.view(np.uint64)
    sign = (bits >> np.uint64(63)).astype(np.uint16) << np.uint16(15)
    magnitude = bits & np.uint64(0x7FFF_FFFF_FFFF_FFFF)
    # Normal results: keep 7 of the 52 fraction bits, a carry moves into the exponent; then change the exponent's bias.
    odd = (magnitude >> np.uint64(45)) & np.uint64(1)
    kept = ((magnitude + np.uint64((1 << 44) - 1) + odd) >> np.uint64(45)).astype(np.int64) - (896 << 7)
    # Denormal results are multiples of 2^-133; scaling by a power of two is exact.
    small = np.abs(values) < 2.0**-126
    denormal = np.rint(np.where(small, np.abs(values), 0.0) * 2.0**133).astype(np.int64)
    kept = np.where(small, denormal, np.minimum(kept, 0x7F80))
    kept = np.where(np.isnan(values), 0x7FC0, kept)
    return kept.astype(np.uint16) | sign


def bf16_values(bits):
    """bf16 bits -> float64, exactly."""
    wide = np.asarray(bits, np.uint16).astype(np.uint32) << np.uint32(16)
    return np.asarray(wide, np.uint32).view(np.float32).astype(np.float64)


def widen(dtype, array):
    with np.errstate(invalid="ignore"):  # signalling NaNs
        if dtype == "bf16":
            return bf16_values(array)
        if dtype in FLOATS:
            return np.asarray(array).astype(np.float64)
        if dtype in COMPLEX:
            return np.asarray(array).astype(np.complex128)
        return np.asarray(array)


def narrow(dtype, wide):
    """A wide array as `dtype`, rounded once."""
    with np.errstate(all="ignore"):
        if dtype == "bf16":
            return bf16_bits(wide)
        if dtype in COMPLEX:  # part by part, so that numpy's own complex casts have no say
            wide = np.asarray(wide, np.complex128)
            out = np.empty(wide.shape, NUMPY[dtype])
            out.real, out.imag = wide.real, wide.imag
            return out
        return np.asarray(wide).astype(NUMPY[dtype])


def round_integer(value, bits):
    """An integer rounded to `bits` significant bits, ties to even, in exact arithmetic."""
    magnitude = abs(value)
    shift = max(magnitude.bit_length() - bits, 0)
    kept, rest = magnitude >> shift, magnitude & ((1 << shift) - 1)
    half = (1 << shift) >> 1
    if shift and (rest > half or (rest == half and kept & 1)):
        kept += 1
    return (kept << shift) * (-1 if value < 0 else 1)


def ordered_bits(array):
    """Integers that count the values of a real float type in order; their difference is the distance in ulps."""
    unsigned = {2: np.uint16, 4: np.uint32, 8: np.uint64}[array.dtype.itemsize]
    bits = np.asarray(array).view(unsigned)
    top = 1 << (8 * array.dtype.itemsize - 1)
    return np.array([int(b) if b < top else top - int(b) for b in bits.reshape(-1).tolist()], dtype=object).reshape(bits.shape)


# ---- .npy

DESCR = {
    "bool": "|b1", "i8": "|i1", "i16": "<i2", "i32": "<i4", "i64": "<i8", "u8": "|u1", "u16": "<u2", "u32": "<u4", "u64": "<u8",
    "f16": "<f2", "bf16": "<V2", "f32": "<f4", "f64": "<f8", "c64": "<c8", "c128": "<c16",
}


def npy_bytes(descr, shape, data, fortran=False, version=1):
    """A .npy file by its published format (NEP 1), independent of numpy's writer."""
    text = "{'descr': %r, 'fortran_order': %r, 'shape': %r, }" % (descr, fortran, tuple(shape))
    prefix = 10 if version == 1 else 12
    text += " " * (-(prefix + len(text) + 1) % 64) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode() + data


def save(path, dtype, array):
    array = np.asarray(array)
    if dtype == "bf16":
        with open(path, "wb") as out:
            out.write(npy_bytes(DESCR["bf16"], array.shape, array.tobytes()))
    else:
        np.save(path, array)


def load(path, dtype):
    """The array in a file, which must be of `dtype`."""
    array = np.load(path)
    wanted = np.dtype("V2") if dtype == "bf16" else np.dtype(NUMPY[dtype])
    if array.dtype != wanted:
        raise ValueError("the file holds %s, not %s" % (array.dtype, dtype))
    return array.view(np.uint16) if dtype == "bf16" else array
