"""How the arguments of linear algebra and Fourier transforms are drawn, and what numpy says to them."""

import numpy as np

from oracle_linalg import hermitian, phases
from numpy_drawing import *  # noqa: F403

# ---- linear algebra

LINEAR = [DTYPE[d] for d in ("f32", "f64", "c64", "c128")]


def matrices(rng, dtype, rows, columns, lead=None):
    lead = shape_of(rng, 0, 2) if lead is None else lead
    return values(rng, dtype, (*lead, rows, columns), -1, 1, NUMBERS)


def strong(x):
    """With so much on the diagonal that it is positive definite and far from singular."""
    rows, columns = x.shape[-2:]
    return (x + 2 * max(rows, columns) * np.eye(rows, columns)).astype(x.dtype)


def side(rng):
    return small(rng, 0, 6)


def linear_type(rng):
    """And the type that is computed in: integers are float32."""
    dtype = one_of(rng, LINEAR + [DTYPE["f32"], DTYPE["f64"], DTYPE["i32"]])
    return dtype, dtype if dtype in LINEAR else DTYPE["f32"]


def of_square(rng, name):
    dtype, result = linear_type(rng)
    n = side(rng)
    x = strong(matrices(rng, dtype, n, n))
    function = getattr(np.linalg, name)
    computed = wide(converted(x, result))
    if name in ("cholesky", "eigvalsh"):
        computed = hermitian(computed)
    wanted = function(computed)
    size = np.max(np.abs(wanted), initial=1.0)
    return Call((x,), narrow(wanted, result), record={"eigvalsh": "eigh"}.get(name, name), terms=8 * size)


def solved(rng, name):
    dtype, result = linear_type(rng)
    n, lead = side(rng), shape_of(rng, 0, 2)
    x = strong(matrices(rng, dtype, n, n, lead))
    if rng.random() < 0.3:
        y = values(rng, dtype, (n,), -1, 1, NUMBERS)
    else:
        behind = tuple(1 if rng.random() < 0.3 else k for k in lead[rng.integers(len(lead) + 1):])
        y = matrices(rng, dtype, n, small(rng, 0, 4), behind)
    computed = [wide(converted(a, result)) for a in (x, y)]
    return Call((x, y), narrow(np.linalg.solve(*computed), result), record="solve", terms=16.0)


def least_squares(rng, name):
    dtype, result = linear_type(rng)
    rows, columns = side(rng), side(rng)
    x = strong(matrices(rng, dtype, rows, columns, ()))
    y = values(rng, dtype, (rows,) if rng.random() < 0.3 else (rows, small(rng, 1, 4)), -1, 1, NUMBERS)
    keywords = {"rcond": one_of(rng, [None, 1e-3])} if rng.random() < 0.5 else {}
    wanted = np.linalg.lstsq(*(wide(converted(a, result)) for a in (x, y)), **({"rcond": None} | keywords))[0]  # ours gives x alone
    return Call((x, y), narrow(wanted, result), keywords, "lstsq", terms=32.0)


def orthogonal(rng, name):
    dtype = one_of(rng, LINEAR)
    x = matrices(rng, dtype, side(rng), side(rng))
    q, r = np.linalg.qr(wide(x))
    diagonal = np.diagonal(r, axis1=-2, axis2=-1)
    if np.any(np.abs(diagonal) < 0.05):
        return orthogonal(rng, name)
    phase = diagonal / np.abs(diagonal)
    q, r = q * phase[..., None, :], np.conj(phase)[..., :, None] * r  # with a diagonal as ours
    if rng.random() < 0.3:
        return Call((x,), narrow(r, dtype), {"mode": "r"}, "qr", terms=100.0)
    return Call((x,), [narrow(q, dtype), narrow(r, dtype)], {"mode": "reduced"} if rng.random() < 0.3 else {}, "qr", terms=1000.0)


def far_apart(values_):
    gaps = np.abs(np.diff(values_, axis=-1))
    return not np.any(gaps < 0.05)


def singular(rng, name):
    dtype = one_of(rng, LINEAR)
    x = matrices(rng, dtype, side(rng), side(rng))
    u, s, vh = np.linalg.svd(wide(x), full_matrices=False)
    if name == "svdvals" or rng.random() < 0.3:
        return Call((x,), narrow(s, dtype), {} if name == "svdvals" else {"compute_uv": False}, "svd", terms=100.0)
    if not far_apart(np.concatenate([s, np.zeros((*s.shape[:-1], 1))], -1)):
        return singular(rng, name)
    phase = phases(u)
    parts = [narrow(part, dtype) for part in (u / phase, s, vh * np.swapaxes(phase, -1, -2))]
    return Call((x,), parts, {"full_matrices": x.shape[-1] == x.shape[-2]}, "svd", terms=3000.0)


def eigen(rng, name):
    dtype = one_of(rng, LINEAR)
    n = side(rng)
    x = matrices(rng, dtype, n, n)
    w, v = np.linalg.eigh(hermitian(wide(x)))
    if not far_apart(w):
        return eigen(rng, name)
    return Call((x,), [narrow(w, dtype), narrow(v / phases(v), dtype)], record="eigh", terms=3000.0)


# ---- Fourier transforms

def transformed(rng, x, name, several):
    """Keywords of a transform: lengths, axes and norm."""
    keywords = {"norm": one_of(rng, [None, "backward", "ortho", "forward"])} if rng.random() < 0.6 else {}
    inverse_real = name.startswith("irfft")
    if not several:
        axis = axis_of(rng, x.ndim) if rng.random() < 0.6 else -1
        keywords |= {"axis": axis} if axis != -1 or rng.random() < 0.5 else {}
        size = x.shape[axis]
        if size == 0 or inverse_real and size < 2 or rng.random() < 0.5:
            keywords["n"] = small(rng, 1, 8)
        return keywords
    two = name.endswith("2")
    some = rng.permutation(x.ndim)[: 2 if two else rng.integers(1, x.ndim + 1)]
    axes = tuple(int(a) - (x.ndim if rng.random() < 0.5 else 0) for a in some)
    given = rng.random() < 0.6
    sizes = [x.shape[a] for a in (axes if given else [-2, -1] if two else range(x.ndim))]
    if 0 in sizes or inverse_real and sizes[-1] < 2 or rng.random() < 0.3:
        given = True
        keywords["s"] = tuple(small(rng, 1, 7) for _ in axes)
    return keywords | ({"axes": axes} if given else {})


def transform(rng, name):
    several = name.endswith(("n", "2"))
    real = name.startswith("rfft")
    dtype = one_of(rng, [DTYPE["f32"], DTYPE["f64"], DTYPE["i32"], BOOL] + ([] if real else LINEAR * 2))
    x = values(rng, dtype, shape_of(rng, 2 if name.endswith("2") else 1), -1, 1, NUMBERS)
    computed = wide(converted(x, dtype if kind(dtype) > 1 else DTYPE["f32"]))
    result = DTYPE["c128"] if dtype in (DTYPE["f64"], DTYPE["c128"]) else DTYPE["c64"]
    keywords = transformed(rng, x, name, several)
    wanted = numpys(getattr(np.fft, name), computed, **keywords)
    record = {"r": "fft_r2c", "i": "fft_c2r" if name.startswith("irfft") else "fft_c2c"}.get(name[0], "fft_c2c")
    return Call((x,), narrow(wanted, result), keywords, record, terms=float(np.sum(np.abs(computed))))


def frequencies(rng, name):
    given = (small(rng, 1, 40),) + ((float(rng.uniform(0.1, 4)),) if rng.random() < 0.6 else ())
    return Call(given, narrow(getattr(np.fft, name)(*given), DTYPE["f32"]), record="div")
