"""Linear algebra and Fourier transforms of the reference backend (or the device that LAZULI_DEVICE names) against numpy.

Operands are made so that what is compared is unique: matrices that can be inverted, singular values that differ. Of factors the
product and the orthogonality are checked as well as the values, after numpy's own were brought to our signs and phases. Ops with
several results go through `part`.
"""

import math

import numpy as np

import oracle_dtypes as types

OPS = ("cholesky", "qr", "svd", "eigh", "solve", "triangular_solve", "inv", "det", "lstsq", "fft_c2c", "fft_r2c", "fft_c2r")
ALIGN = 64
REAL = {"f32": "f32", "f64": "f64", "c64": "f32", "c128": "f64"}
WIDE = {"f32": "c64", "f64": "c128"}


def spec(dtype, shape):
    return "%s[%s]" % (dtype, ", ".join(map(str, shape)))


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def bound(dtype):
    return 3e-5 if REAL.get(dtype, dtype) == "f32" else 1e-11


def to_wide(x):
    return x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)


def hermitian(x):
    """What is meant by a matrix of which the lower triangle is read."""
    low = np.tril(x, -1)
    n = x.shape[-1]
    return low + adjoint(low) + np.real(x) * np.eye(n)


def phases(columns):
    """By which our vectors, columns, are divided: the first element of at least 0.9 of the largest is real."""
    size = np.abs(columns)
    if columns.shape[-2] == 0 or columns.shape[-1] == 0:
        return np.ones(columns.shape[:-2] + (1, columns.shape[-1]))
    first = np.argmax(size >= 0.9 * size.max(axis=-2, keepdims=True), axis=-2)
    picked = np.take_along_axis(columns, first[..., None, :], -2)
    return picked / np.abs(picked)


class Checks:
    def __init__(self, oracle, name, op):
        self.oracle, self.name, self.op = oracle, name, op

    def drawn(self, dtype, shape):
        return self.oracle.sampled(dtype, tuple(shape), -1, 1)

    def run(self, dtype, inputs, attrs, results):
        """The results of one call: None where it failed, which is recorded."""
        oracle = self.oracle
        params, paths = [], []
        for k, array in enumerate(inputs):
            kind = dtype if array.dtype == types.NUMPY[dtype] else {v: d for d, v in types.NUMPY.items()}[array.dtype.type]
            types.save(oracle.path("p%d.npy" % k), kind, array)
            params.append("p%d: %s" % (k, spec(kind, array.shape)))
            paths.append(("p%d" % k, oracle.path("p%d.npy" % k)))
        words = "".join(" %s=%s" % (d["name"], str(v).lower()) for d, v in zip(self.op["attrs"], attrs))
        names = ", ".join("p%d" % k for k in range(len(inputs)))
        if len(results) == 1:
            body = "  %%0 = %s(%s)%s : %s\n" % (self.name, names, words, spec(*results[0]))
            returned = ["%0 as r0"]
        else:
            offsets, total = [], 0
            for kind, shape in results:
                offsets.append(total)
                size = math.prod(shape) * np.dtype(types.NUMPY[kind]).itemsize
                total += (size + ALIGN - 1) // ALIGN * ALIGN
            body = "  %%0 = %s(%s)%s : u8[%d]\n" % (self.name, names, words, total)
            returned = []
            for i, result in enumerate(results):
                body += "  %%%d = part(%%0) offset=%d : %s\n" % (i + 1, offsets[i], spec(*result))
                returned.append("%%%d as r%d" % (i + 1, i))
        text = "program(%s) {\n%s  return %s\n}\n" % (", ".join(params), body, ", ".join(returned))
        outputs = [("r%d" % i, oracle.path("r%d.npy" % i)) for i in range(len(results))]
        done = oracle.run_program(text, paths, outputs)
        if done.returncode != 0:
            oracle.record(self.name, dtype, "lazuli run gave %d: %s" % (done.returncode, done.stderr.strip()), "\n" + text)
            return None
        return [to_wide(types.load(path, kind)) for (kind, _), (_, path) in zip(results, outputs)]

    def close(self, dtype, label, got, wanted, scale=1.0):
        got, wanted = np.asarray(got), np.asarray(wanted)
        problem = None
        if got.shape != wanted.shape:
            problem = "%s: shape %s, expected %s" % (label, got.shape, wanted.shape)
        elif got.size and not np.max(np.abs(got - wanted)) <= bound(dtype) * max(scale, np.max(np.abs(wanted)), 1):
            problem = "%s differs by %g" % (label, np.max(np.abs(got - wanted)))
        self.oracle.record(self.name, dtype, problem)

    def unit(self, dtype, label, columns):
        k = columns.shape[-1]
        self.close(dtype, label, adjoint(columns) @ columns, np.broadcast_to(np.eye(k), columns.shape[:-2] + (k, k)))


def strong(x):
    """With so much on the diagonal that it is positive definite and can be inverted."""
    rows, columns = x.shape[-2:]
    return (x + max(rows, columns) * np.eye(rows, columns)).astype(x.dtype)


def cholesky(c, dtype):
    for shape in ((4, 4), (1, 1), (0, 0), (2, 3, 5, 5), (0, 3, 3), (40, 40)):
        x = strong(c.drawn(dtype, shape))
        got = c.run(dtype, [x], [], [(dtype, shape)])
        if got:
            whole = hermitian(to_wide(x))
            c.close(dtype, "L", got[0], np.linalg.cholesky(whole))
            c.close(dtype, "L L^H", got[0] @ adjoint(got[0]), whole)


def qr(c, dtype):
    for shape in ((4, 4), (6, 3), (3, 6), (1, 1), (1, 4), (0, 0), (3, 0), (2, 3, 5, 4), (0, 3, 2), (40, 30)):
        x = c.drawn(dtype, shape)
        m, n = shape[-2:]
        k = min(m, n)
        lead = shape[:-2]
        got = c.run(dtype, [x], [], [(dtype, lead + (m, k)), (dtype, lead + (k, n))])
        if not got:
            continue
        q, r = got
        c.close(dtype, "Q R", q @ r, to_wide(x))
        c.unit(dtype, "Q^H Q", q)
        c.close(dtype, "below the diagonal of R", np.tril(r, -1), np.zeros_like(r))
        diagonal = np.diagonal(r, axis1=-2, axis2=-1)
        c.close(dtype, "the diagonal of R", diagonal, np.abs(diagonal))
        if k:
            wanted_q, wanted_r = np.linalg.qr(to_wide(x))
            phase = np.diagonal(wanted_r, axis1=-2, axis2=-1)
            phase = phase / np.abs(phase)
            c.close(dtype, "R", r, np.conj(phase)[..., :, None] * wanted_r, 10)
            c.close(dtype, "Q", q, wanted_q * phase[..., None, :], 100)


def svd(c, dtype):
    for shape in ((4, 4), (6, 3), (3, 6), (1, 1), (5, 1), (0, 0), (3, 0), (2, 3, 5, 4), (0, 3, 2), (30, 20)):
        x = c.drawn(dtype, shape)
        m, n = shape[-2:]
        k = min(m, n)
        lead = shape[:-2]
        got = c.run(dtype, [x], [], [(dtype, lead + (m, k)), (REAL[dtype], lead + (k,)), (dtype, lead + (k, n))])
        if not got:
            continue
        u, s, vh = got
        c.close(dtype, "U S Vh", (u * s[..., None, :]) @ vh, to_wide(x))
        c.unit(dtype, "U^H U", u)
        c.unit(dtype, "V^H V", adjoint(vh))
        wanted = np.linalg.svd(to_wide(x), full_matrices=False)
        c.close(dtype, "S", s, wanted[1])
        c.close(dtype, "phases of U", phases(u), np.ones_like(phases(u)))
        if k and m * n <= 20:  # values lie far enough apart
            c.close(dtype, "U", u, wanted[0] / phases(wanted[0]), 300)
    # of rank 1: zeros among the singular values, and U and V are orthonormal all the same
    x = np.ones((4, 3), types.NUMPY[dtype])
    got = c.run(dtype, [x], [], [(dtype, (4, 3)), (REAL[dtype], (3,)), (dtype, (3, 3))])
    if got:
        c.close(dtype, "S of rank 1", got[1], [math.sqrt(12), 0, 0])
        c.unit(dtype, "U^H U of rank 1", got[0])
        c.unit(dtype, "V^H V of rank 1", adjoint(got[2]))


def eigh(c, dtype):
    for shape in ((4, 4), (1, 1), (0, 0), (2, 3, 5, 5), (0, 3, 3), (24, 24)):
        x = c.drawn(dtype, shape)
        n = shape[-1]
        got = c.run(dtype, [x], [], [(REAL[dtype], shape[:-1]), (dtype, shape)])
        if not got:
            continue
        w, v = got
        whole = hermitian(to_wide(x))
        c.close(dtype, "A V", whole @ v, v * w[..., None, :], 4)
        c.unit(dtype, "V^H V", v)
        wanted = np.linalg.eigh(whole)
        c.close(dtype, "values", w, wanted[0])
        c.close(dtype, "phases", phases(v), np.ones_like(phases(v)))
        if 0 < n <= 5:
            c.close(dtype, "vectors", v, wanted[1] / phases(wanted[1]), 300)


def solve(c, dtype):
    for a, b in (((4, 4), (4, 3)), ((1, 1), (1, 1)), ((0, 0), (0, 2)), ((3, 3), (3, 0)), ((2, 3, 5, 5), (2, 3, 5, 2)),
                 ((0, 3, 3), (0, 3, 1)), ((40, 40), (40, 7))):
        x, y = strong(c.drawn(dtype, a)), c.drawn(dtype, b)
        got = c.run(dtype, [x, y], [], [(dtype, b)])
        if got:
            c.close(dtype, "x", got[0], np.linalg.solve(to_wide(x), to_wide(y)))
    # rows must change places
    x = np.array([[0, 2, 1], [1, 0, 0], [3, 0, 1]], types.NUMPY[dtype])
    y = c.drawn(dtype, (3, 2))
    got = c.run(dtype, [x, y], [], [(dtype, (3, 2))])
    if got:
        c.close(dtype, "x of rows out of order", got[0], np.linalg.solve(to_wide(x), to_wide(y)))


def triangular_solve(c, dtype):
    for lower in (True, False):
        for transposed in (True, False):
            for unit in (True, False):
                for a, b in (((4, 4), (4, 3)), ((2, 3, 3), (2, 3, 2)), ((1, 1), (1, 1)), ((0, 0), (0, 1))):
                    x, y = strong(c.drawn(dtype, a)), c.drawn(dtype, b)
                    got = c.run(dtype, [x, y], [lower, transposed, unit], [(dtype, b)])
                    wide = to_wide(x)
                    wide = np.tril(wide) if lower else np.triu(wide)
                    if unit:
                        wide = wide * (1 - np.eye(a[-1])) + np.eye(a[-1])
                    if transposed:
                        wide = np.swapaxes(wide, -1, -2)
                    if got:
                        c.close(dtype, "x", got[0], np.linalg.solve(wide, to_wide(y)), 10)


def inv(c, dtype):
    for shape in ((4, 4), (1, 1), (0, 0), (2, 3, 5, 5), (0, 3, 3), (40, 40)):
        x = strong(c.drawn(dtype, shape))
        got = c.run(dtype, [x], [], [(dtype, shape)])
        if got:
            c.close(dtype, "the inverse", got[0], np.linalg.inv(to_wide(x)))


def det(c, dtype):
    for shape in ((4, 4), (1, 1), (0, 0), (3, 0, 0), (2, 3, 5, 5), (0, 3, 3), (12, 12)):
        x = c.drawn(dtype, shape)
        got = c.run(dtype, [x], [], [(dtype, shape[:-2])])
        if got:
            c.close(dtype, "the determinant", got[0], np.linalg.det(to_wide(x)), 3)
    got = c.run(dtype, [np.array([[1, 2], [2, 4]], types.NUMPY[dtype])], [], [(dtype, ())])
    if got:
        c.close(dtype, "the determinant of a singular matrix", got[0], 0)


def lstsq(c, dtype):
    for a, b in (((6, 3), (6, 2)), ((3, 6), (3, 2)), ((4, 4), (4, 1)), ((1, 1), (1, 1)), ((0, 3), (0, 2)), ((3, 0), (3, 2)), ((2, 5, 3), (2, 5, 2))):
        x, y = strong(c.drawn(dtype, a)), c.drawn(dtype, b)
        result = a[:-2] + (a[-1], b[-1])
        got = c.run(dtype, [x, y], [-1.0], [(dtype, result)])
        if got:
            wanted = np.linalg.pinv(to_wide(x)) @ to_wide(y) if 0 not in a else np.zeros(result)
            c.close(dtype, "x", got[0], wanted)
    # of rank 2: the shortest of all that come closest
    x = c.drawn(dtype, (6, 2)) @ c.drawn(dtype, (2, 4))
    y = c.drawn(dtype, (6, 2))
    got = c.run(dtype, [x, y], [1e-4], [(dtype, (4, 2))])
    if got:
        c.close(dtype, "x of rank 2", got[0], np.linalg.lstsq(to_wide(x), to_wide(y), rcond=1e-4)[0], 100)


LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 15, 16, 30, 31, 37, 64, 74, 97, 100, 210, 256, 1009)


def fft_c2c(c, dtype):
    shapes = [((n,), 0, n) for n in LENGTHS] + [((3, 8), 1, 8), ((8, 3), 0, 8), ((2, 12, 11), 1, 12), ((0, 4), 1, 4), ((3, 8), 1, 5), ((3, 8), 0, 14)]
    for inverse in (False, True):
        for shape, axis, n in shapes:
            x = c.drawn(dtype, shape)
            wanted = (np.fft.ifft if inverse else np.fft.fft)(to_wide(x), n, axis)
            got = c.run(dtype, [x], [axis, n, inverse, 1.0 / n if inverse else 1.0], [(dtype, wanted.shape)])
            if got:
                c.close(dtype, "%d of %s along %d" % (n, shape, axis), got[0], wanted, math.sqrt(n))
        got = c.run(dtype, [c.drawn(dtype, (2, 0))], [1, 0, inverse, 1.0], [(dtype, (2, 0))])
        if got:
            c.close(dtype, "of none", got[0], np.zeros((2, 0)))


def fft_r2c(c, dtype):
    for full in (False, True):
        for shape, axis, n in [((n,), 0, n) for n in LENGTHS] + [((3, 8), 1, 8), ((8, 3), 0, 8), ((2, 9, 11), 1, 9), ((0, 4), 1, 4), ((3, 8), 1, 5), ((3, 8), 0, 14)]:
            x = c.drawn(dtype, shape)
            wanted = (np.fft.fft if full else np.fft.rfft)(to_wide(x), n, axis)
            got = c.run(dtype, [x], [axis, n, full, 1.0], [(WIDE[dtype], wanted.shape)])
            if got:
                c.close(dtype, "%d of %s along %d" % (n, shape, axis), got[0], wanted, math.sqrt(n))


def fft_c2r(c, dtype):
    for n in LENGTHS:
        for shape, axis in (((n // 2 + 1,), 0), ((2, n // 2 + 1, 3), 1), ((7, 2), 0)):
            x = c.drawn(dtype, shape)
            wanted = np.fft.irfft(to_wide(x), n, axis=axis)
            got = c.run(dtype, [x], [axis, n, 1.0 / n], [(REAL[dtype], wanted.shape)])
            if got:
                c.close(dtype, "%d of %s along %d" % (n, shape, axis), got[0], wanted, math.sqrt(n))


def failures(c, dtype):
    """Matrices that have no result: the message names the op, the matrix of the batch and the pivot."""
    if c.name not in ("cholesky", "solve", "triangular_solve", "inv"):
        return
    x = np.broadcast_to(3 * np.eye(3), (2, 2, 3, 3)).astype(types.NUMPY[dtype]).copy()
    x[1, 0, 2, 2] = -1 if c.name == "cholesky" else 0
    types.save(c.oracle.path("x.npy"), dtype, x)
    shape = spec(dtype, x.shape)
    attrs = " lower=true transposed=false unit_diagonal=false" if c.name == "triangular_solve" else ""
    operands = "x" if c.op["min_inputs"] == 1 else "x, x"
    text = "program(x: %s) {\n  %%0 = %s(%s)%s : %s\n  return %%0 as y\n}\n" % (shape, c.name, operands, attrs, shape)
    done = c.oracle.run_program(text, [("x", c.oracle.path("x.npy"))], [])
    for named in (c.name, "[1, 0]", "pivot 2"):
        c.oracle.check_error(c.name, "a matrix without a result", done, named, dtype)


def check(oracle, name, op):
    checks = Checks(oracle, name, op)
    for dtype in op["dtypes"]:
        globals()[name](checks, dtype)
        failures(checks, dtype)
