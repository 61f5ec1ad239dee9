"""`lz.linalg` and `lz.fft` against numpy's modules of these names."""

import numpy as np
import pytest

import lazuli as lz


def near(got, wanted, bound=1e-10):
    got = np.asarray(got)
    assert got.shape == np.shape(wanted)
    np.testing.assert_allclose(got, wanted, rtol=bound, atol=bound)


def matrices(rng, shape, complex_=False):
    x = rng.uniform(-1, 1, shape)
    return x + 1j * rng.uniform(-1, 1, shape) if complex_ else x


@pytest.mark.parametrize("complex_", [False, True])
def test_what_is_unique_is_numpys(rng, complex_):
    x = matrices(rng, (2, 3, 4, 4), complex_) + 4 * np.eye(4)
    b = matrices(rng, (2, 3, 4, 2), complex_)
    for name in ("inv", "det", "svdvals"):
        near(getattr(lz.linalg, name)(x), getattr(np.linalg, name)(x) if hasattr(np.linalg, name) else np.linalg.svd(x, compute_uv=False))
    near(lz.linalg.solve(x, b), np.linalg.solve(x, b))
    near(lz.linalg.solve(x[0, 0], b[0, 0, :, 0]), np.linalg.solve(x[0, 0], b[0, 0, :, 0]))
    near(lz.linalg.lstsq(x[0, 0], b[0, 0]), np.linalg.lstsq(x[0, 0], b[0, 0], rcond=None)[0])
    positive = x @ np.conj(np.swapaxes(x, -1, -2))
    near(lz.linalg.cholesky(positive), np.linalg.cholesky(positive))
    near(lz.linalg.eigvalsh(positive), np.linalg.eigvalsh(positive))


def test_several_results_have_names(rng):
    x = matrices(rng, (5, 3))
    q, r = lz.linalg.qr(x)
    near(np.asarray(q) @ np.asarray(r), x)
    near(lz.linalg.qr(x, mode="r"), np.asarray(r))
    found = lz.linalg.svd(x, full_matrices=False)
    near((np.asarray(found.U) * np.asarray(found.S)) @ np.asarray(found.Vh), x)
    near(lz.linalg.svd(x, compute_uv=False), np.linalg.svd(x, compute_uv=False))
    values, vectors = lz.linalg.eigh(x.T @ x)
    near(x.T @ x @ np.asarray(vectors), np.asarray(vectors) * np.asarray(values))
    assert lz.linalg.eigh(x.T @ x).eigenvalues.shape == (3,)


def test_errors():
    with pytest.raises(lz.ExecutionError, match="inv: the matrix .* singular .pivot 1"):
        lz.linalg.inv(np.array([[1.0, 2.0], [2.0, 4.0]])).eval()
    with pytest.raises(ValueError, match="square"):
        lz.linalg.det(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="full_matrices"):
        lz.linalg.svd(np.zeros((2, 3)), full_matrices=True)
    with pytest.raises(ValueError, match="norm"):
        lz.fft.fft(np.zeros(4), norm="half")


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_along_one_axis(rng, name, norm):
    for shape, axis in (((8,), -1), ((3, 7), 1), ((6, 5), 0)):
        x = matrices(rng, shape, name != "rfft")
        for n in (None, 4, 11):
            near(getattr(lz.fft, name)(x, n, axis, norm), getattr(np.fft, name)(x, n, axis, norm))


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"])
def test_along_several_axes(rng, name):
    x = matrices(rng, (4, 5, 6), not name.startswith("rfft"))
    near(getattr(lz.fft, name)(x), getattr(np.fft, name)(x))
    near(getattr(lz.fft, name)(x, s=(3, 8), axes=(0, 2)), getattr(np.fft, name)(x, s=(3, 8), axes=(0, 2)))


def test_frequencies():
    for n in (1, 2, 5, 8):
        near(lz.fft.fftfreq(n, 0.5), np.fft.fftfreq(n, 0.5), 1e-6)
        near(lz.fft.rfftfreq(n), np.fft.rfftfreq(n), 1e-6)
        x = np.arange(3 * n, dtype=np.float32).reshape(3, n)
        near(lz.fft.fftshift(x), np.fft.fftshift(x))
        near(lz.fft.ifftshift(x, axes=1), np.fft.ifftshift(x, axes=1))
