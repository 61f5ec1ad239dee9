"""Every function that numpy has under the same name, called at random and compared with numpy.

DRAWS says for each function how its arguments are drawn: shapes of rank 0 to 4 with axes of size 0 and 1 among them, axes
counted from either end, the element types of the op's record, operands that broadcast, views as operands, and values from the
edge. What numpy says is computed in float64 or complex128 of operands in the type that docs/ops.md promotes them to, or in
the integers themselves, and rounded once to the result's type, which is Lazuli's. Integers, truth values and what is only moved
must be equal; others lie within the tolerance of the op's record, which is cut as tests/conformance/oracle.py cuts it: half
types get 8 epsilons at most, and the absolute part is at most 16 epsilons of the terms that were added.

LAZULI_NUMPY_CALLS is the number of calls a function, 200 by default; LAZULI_QUICK_START=0 compiles every one of them first.
"""
import operator
import os
import pathlib
import re
import zlib

import numpy as np
import pytest

import lazuli as lz
import oracle_dtypes as types
from numpy_drawing import *  # noqa: F403
from numpy_draws import *  # noqa: F403
from numpy_draws_linear import *  # noqa: F403

CALLS = int(os.environ.get("LAZULI_NUMPY_CALLS", 200))
agreed = {}  # how many calls of each function were compared and found right

# ---- the table

def all_of(draw, names):
    return {name: draw for name in names.split()}


DRAWS = {
    **all_of(unary, "abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh around asin asinh atan atanh bitwise_count "
             "bitwise_invert bitwise_not cbrt ceil conj conjugate cos cosh exp exp2 expm1 floor imag invert isfinite isinf isnan log log10 "
             "log1p log2 logical_not negative real reciprocal rint round sign sin sinh sqrt square tan tanh trunc"),
    **all_of(binary, "add arctan2 atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal "
             "floor_divide fmax fmin fmod greater greater_equal hypot left_shift less less_equal logaddexp logical_and logical_or "
             "logical_xor maximum minimum mod multiply not_equal pow power remainder right_shift subtract true_divide"),
    "ldexp": ldexp, "nextafter": nextafter, "where": where, "clip": clip, "matmul": matmul, "einsum": einsum,
    **all_of(extreme, "amax amin max min any all count_nonzero"), **all_of(position, "argmax argmin"), **all_of(added, "sum mean"),
    "prod": multiplied, **all_of(spread, "std var"), **all_of(scan, "cumsum cumprod cumulative_sum cumulative_prod"),
    "transpose": moved(ways_to_transpose), "permute_dims": moved(order_of), "moveaxis": moved(ways_to_move, low=1),
    "swapaxes": moved(lambda rng, x: ((axis_of(rng, x.ndim), axis_of(rng, x.ndim)), {}), low=1), "expand_dims": moved(ways_to_expand),
    "squeeze": moved(ways_to_squeeze), "ravel": moved(nothing_else), "ascontiguousarray": moved(nothing_else),
    "reshape": moved(ways_to_reshape), "broadcast_to": moved(ways_to_broadcast), "flip": moved(ways_to_flip), "roll": moved(ways_to_roll),
    "repeat": moved(ways_to_repeat), "tile": moved(ways_to_tile), "pad": moved(ways_to_pad), "diagonal": moved(ways_to_diagonal, low=2),
    "tril": moved(ways_to_cut, low=2), "triu": moved(ways_to_cut, low=2), "split": moved(ways_to_split, low=1), "take": moved(ways_to_take),
    "take_along_axis": moved(ways_to_take_along, low=1),
    **all_of(joined, "concat concatenate"), "stack": stacked,
    **all_of(in_order, "sort argsort"), "searchsorted": searched, "unique": distinct, **all_of(found, "nonzero flatnonzero argwhere"),
    **all_of(shaped, "zeros ones empty full"), **all_of(alike, "zeros_like ones_like empty_like full_like"),
    **all_of(diagonal_of_ones, "eye tri"), "arange": arange, **all_of(spaced, "linspace logspace"),
    **all_of(made, "array asarray"), "astype": as_another_type, "from_dlpack": exchanged, "promote_types": promotion,
    **all_of(of_square, "linalg.cholesky linalg.det linalg.eigvalsh linalg.inv"), "linalg.solve": solved, "linalg.lstsq": least_squares,
    "linalg.qr": orthogonal, **all_of(singular, "linalg.svd linalg.svdvals"), "linalg.eigh": eigen,
    **all_of(transform, "fft.fft fft.ifft fft.rfft fft.irfft fft.fftn fft.ifftn fft.rfftn fft.irfftn fft.fft2 fft.ifft2 fft.rfft2 "
             "fft.irfft2"),
    **all_of(frequencies, "fft.fftfreq fft.rfftfreq"), **all_of(moved(ways_to_flip, low=1), "fft.fftshift fft.ifftshift"),
    **all_of(listed, "Tensor.item Tensor.tolist"), "Tensor.flatten": flattened,
}


# ---- comparing

def tolerances():
    """Epsilons and an absolute part for each op, which the page of ops states."""
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "ops.md").read_text()
    out = {}
    for name, text in re.findall(r"^## (\w+)$(.*?)(?=^## |\Z)", page, re.M | re.S):
        ulps, _, absolute = re.search(r"tolerance: (.*)$", text, re.M).group(1).partition(" ulp")
        out[name] = (0.0, 0.0) if ulps == "exact" else (float(ulps), float(absolute.strip(" +") or 0))
    return out


TOLERANCES = tolerances()


def wrong(call, got, wanted):
    """What of a result is not as numpy says, in words; None if nothing."""
    if isinstance(wanted, str):
        return None if str(got).removeprefix("lazuli.") == wanted else "%s, wanted %s" % (got, wanted)
    mask = np.ma.getmaskarray(wanted) if isinstance(wanted, np.ma.MaskedArray) else False
    got, wanted = np.asarray(got), np.ma.getdata(wanted)
    if got.shape != wanted.shape:
        return "shape %s, wanted %s" % (got.shape, wanted.shape)
    if got.dtype != wanted.dtype:
        return "type %s, wanted %s" % (got.dtype, wanted.dtype)
    if call.only_shape:
        return None
    if kind(got.dtype) < 2:
        bad = got != wanted
    else:
        a, b = wide(got), wide(wanted)
        ulps, absolute = TOLERANCES[call.record] if call.record else (0.0, 0.0)
        parts = (a.real, b.real), (a.imag, b.imag)
        with np.errstate(all="ignore"):
            bad = np.zeros(a.shape, bool)
            for x, y in parts if kind(got.dtype) == 3 else parts[:1]:
                bad |= ~((x == y) & (np.signbit(x) == np.signbit(y) if call.signs else True) | np.isnan(x) & np.isnan(y))
            if ulps:
                short = types.PART.get(SHORT[got.dtype], SHORT[got.dtype])
                eps = types.epsilon(short)
                ulps = min(ulps, 8) if short in ("f16", "bf16") else ulps
                absolute = np.fmin(absolute, 16 * eps * np.fmax(1.0, call.terms)) if short in ("f32", "f64") else absolute
                near = np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= ulps * eps * np.abs(b) + absolute + ulps * types.TINIEST[short])
                bad &= ~near | ((a == b) & call.signs & (kind(got.dtype) < 3))
    bad = bad & ~mask
    if not np.any(bad):
        return None
    at = tuple(int(i[0]) for i in np.nonzero(bad)) if bad.ndim else ()
    return "%s at %s, wanted %s; %d of %d wrong" % (got[at], list(at), wanted[at], np.count_nonzero(bad), bad.size)


def text_of(argument):
    if isinstance(argument, np.ndarray):
        return "%s%s %s" % (argument.dtype, list(argument.shape), argument.tolist() if argument.size <= 12 else "...")
    return "[%s]" % ", ".join(map(text_of, argument)) if isinstance(argument, list) else repr(argument)


def given_as(rng, argument):
    if isinstance(argument, list):
        return [given_as(rng, item) for item in argument]
    return handed(rng, argument) if isinstance(argument, np.ndarray) else argument


def compared(rng, name, call):
    """The call as Lazuli is made it: as a function, a method or an operator. In words what is wrong."""
    place, _, plain = name.rpartition(".")
    given = [given_as(rng, x) for x in call.given]
    keywords = {k: given_as(rng, v) for k, v in call.keywords.items()}
    if "dtype" in keywords:
        dtype = str(keywords["dtype"])
        keywords["dtype"] = one_of(rng, [dtype, numpy_type(dtype), getattr(lz, {"bool": "bool_"}.get(dtype, dtype))])
    if place == "" and len(given) == 1 and "axis" in keywords and rng.random() < 0.4:
        given.append(keywords.pop("axis"))  # the second parameter, here and in numpy
    form, first = "function", given[0] if given else None
    if plain in OPERATORS and not keywords and any(isinstance(x, lz.Tensor) for x in given) and rng.random() < 0.2:
        form, function = "operator", OPERATORS[plain]
    elif place == "Tensor" or isinstance(first, lz.Tensor) and place == "" and hasattr(lz.Tensor, plain) and rng.random() < 0.3:
        form, first = "method", first if isinstance(first, lz.Tensor) else lz.array(first)
        function = getattr(first, plain)
        given = given[1:]
        if plain in ("reshape", "transpose") and given and isinstance(given[0], tuple) and rng.random() < 0.5:
            given = given[0]  # one by one
    else:
        function = getattr(getattr(lz, place) if place else lz, plain)
    problem = None
    try:
        result = function(*given, **keywords)
        if call.wanted is ValueError:
            np.asarray(result)
            problem = "numpy raises ValueError"
        elif not isinstance(call.wanted, list):
            problem = wrong(call, result, call.wanted)
        elif len(result) != len(call.wanted):
            problem = "%d results, wanted %d" % (len(result), len(call.wanted))
        else:
            problem = next(filter(None, (wrong(call, *pair) for pair in zip(result, call.wanted))), None)
    except Exception as error:  # whatever it raises is the finding
        if call.wanted is not ValueError or not isinstance(error, ValueError):
            problem = "%s: %s" % (type(error).__name__, error)
    arguments = [*map(text_of, call.given), *(f"{k}={text_of(v)}" for k, v in call.keywords.items())]
    return problem and "%s(%s) as %s: %s" % (name, ", ".join(arguments), form, problem)


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("name", sorted(DRAWS))
def test_agrees(name):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    problems = [compared(rng, name, DRAWS[name](rng, name.rpartition(".")[2])) for _ in range(CALLS)]
    agreed[name] = problems.count(None)
    wrong_ones = [p for p in problems if p]
    assert not wrong_ones, "%d of %d calls differ from numpy's:\n%s" % (len(wrong_ones), CALLS, "\n".join(wrong_ones[:5]))


def test_no_function_is_left_out():
    def names(ours, numpys_, prefix=""):
        public = [n for n in dir(ours) if not n.startswith("_")]
        return {prefix + n for n in public if callable(getattr(ours, n)) and callable(getattr(numpys_, n, None))}

    functions = names(lz, np) | names(lz.linalg, np.linalg, "linalg.") | names(lz.fft, np.fft, "fft.")
    methods = {n for n in names(lz.Tensor, np.ndarray, "Tensor.") if n.removeprefix("Tensor.") not in DRAWS}
    assert functions | methods == set(DRAWS) | set(SKIPPED_FUNCTIONS)
    assert not set(DRAWS) & set(SKIPPED_FUNCTIONS)


def summary():
    return "numpy agreement: %d functions, %d calls" % (len(agreed), sum(agreed.values()))
