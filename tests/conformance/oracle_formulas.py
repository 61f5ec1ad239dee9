"""What every operation means, in numpy: one formula an op, on wide arrays (see oracle_dtypes).

A formula takes (inputs, attributes in record order, wanted) where `wanted` is (dtype, shape) of the result for ops that are
given one, and returns the wide result. `NOISE` gives for ops that add terms the size of those terms: cancellation leaves
rounding errors relative to them, not to the result.
"""

import ast
import decimal
import fractions
import math
import re

import numpy as np

import oracle_dtypes as types

_erf = np.vectorize(math.erf, otypes=[np.float64])


def erf(x):
    return _erf(x) if np.size(x) else np.zeros(np.shape(x))


def erfc(x):
    return np.vectorize(math.erfc, otypes=[np.float64])(x) if np.size(x) else np.zeros(np.shape(x))


def maximum(a, b):
    bigger = np.where(a < b, b, a)
    if bigger.dtype.kind != "f":
        return bigger
    bigger = np.where((a == b) & np.signbit(a), b, bigger)  # of two zeros, +0 is the larger
    return np.where(np.isnan(a) | np.isnan(b), np.nan, bigger)


def minimum(a, b):
    smaller = np.where(b < a, b, a)
    if smaller.dtype.kind != "f":
        return smaller
    smaller = np.where((a == b) & np.signbit(b), b, smaller)
    return np.where(np.isnan(a) | np.isnan(b), np.nan, smaller)


def fma_of(a, b, c):
    """In exact arithmetic, rounded once; where that is 0, the sign is that of what was lost."""
    if not (math.isfinite(a) and math.isfinite(b)) or a == 0 or b == 0:
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = fractions.Fraction(a) * fractions.Fraction(b) + fractions.Fraction(c)
    try:
        rounded = float(exact)
    except OverflowError:
        rounded = math.inf
    return math.copysign(rounded, -1 if exact < 0 else 1)


def fma(a, b, c):
    a, b, c = np.broadcast_arrays(a, b, c)
    return np.array([fma_of(*map(float, row)) for row in zip(a.flat, b.flat, c.flat)], np.float64).reshape(a.shape)


def scale2(x, n):
    whole = np.floor(np.clip(np.where(np.isnan(n), 0, n), -5000, 5000)).astype(np.int64)
    infinite = np.where(np.isnan(x), 1.0, x) * np.where(n > 0, np.inf, 0.0)
    return np.where(np.isnan(n), np.nan, np.where(np.isinf(n), infinite, np.ldexp(x, whole)))


def shift(x, count, left):
    width = 8 * x.dtype.itemsize
    count = count.astype(object)
    beyond = (count < 0) | (count >= width)
    count = np.where(beyond, 0, count).astype(np.int64).astype(x.dtype)
    moved = np.left_shift(x, count) if left else np.right_shift(x, count)
    return np.where(beyond.astype(bool), 0 if left else np.where(x < 0, -1, 0).astype(x.dtype), moved).astype(x.dtype)


def absolute(x):
    return np.hypot(x.real, x.imag) if x.dtype.kind == "c" else np.abs(x)


def total(x, axes, keepdims):
    if x.dtype.kind in "biu":
        x = x.astype(np.uint64 if x.dtype.kind == "u" else np.int64)
    return np.sum(x, axis=tuple(axes), keepdims=keepdims)


def mean(x, axes, keepdims):
    count = math.prod(x.shape[a] for a in axes)
    added = np.asarray(np.sum(x, axis=tuple(axes), keepdims=keepdims))
    if added.dtype.kind != "c":
        return np.divide(added, float(count))
    out = np.empty_like(added)  # each part by a real: numpy divides by the complex count, which mixes NaN into both
    out.real, out.imag = np.divide(added.real, float(count)), np.divide(added.imag, float(count))
    return out


def largest(x, axes, keepdims):
    top = np.max(x, axis=tuple(axes), keepdims=keepdims)
    if x.dtype.kind != "f":
        return top
    has_plus_zero = np.any((x == 0) & ~np.signbit(x), axis=tuple(axes), keepdims=keepdims)
    return np.where(top == 0, np.where(has_plus_zero, 0.0, -0.0), top)


def argmax(x, axes, keepdims):
    kept = [i for i in range(x.ndim) if i not in axes]
    rows = np.transpose(x, kept + list(axes)).reshape([x.shape[i] for i in kept] + [math.prod(x.shape[i] for i in axes)])
    first = np.argmax(rows, axis=-1)
    return first.reshape([1 if i in axes else x.shape[i] for i in range(x.ndim)]) if keepdims else first


def box(x, starts, sizes, steps):
    for axis, (start, size, step) in enumerate(zip(starts, sizes, steps)):
        x = np.take(x, start + step * np.arange(size), axis=axis)
    return x


def popcount(x):
    """numpy has it since 2.0."""
    return np.vectorize(lambda v: bin(abs(int(v))).count("1"), otypes=[np.uint8])(x)


def dot_general(a, b, lhs_contract, rhs_contract, lhs_batch, rhs_batch):
    left, right = [None] * a.ndim, [None] * b.ndim
    fresh = iter(range(52))
    batch = [next(fresh) for _ in lhs_batch]
    for label, i, j in zip(batch, lhs_batch, rhs_batch):
        left[i] = right[j] = label
    for i, j in zip(lhs_contract, rhs_contract):
        left[i] = right[j] = next(fresh)
    free = []
    for side in (left, right):
        for i, label in enumerate(side):
            if label is None:
                side[i] = next(fresh)
                free.append(side[i])
    return np.einsum(a, left, b, right, batch + free)


def gather(x, index, axis):
    size = x.shape[axis]
    flat = [int(i) + size if int(i) < 0 else int(i) for i in np.asarray(index).reshape(-1)]
    return np.take(x, np.array(flat, np.int64).reshape(index.shape), axis=axis)


def iota(axis, dtype, shape):
    line = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    line = np.broadcast_to(line, shape)
    return line.astype(np.float64) if dtype in types.FLOATS else line.astype(types.NUMPY[dtype])


# ---- random numbers

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def threefry2x32(key, counter):
    """Threefry-2x32-20 (Salmon et al., SC 2011). Key: two words; counter: two arrays of words; result: two arrays."""
    word = np.uint32
    schedule = [word(key[0]), word(key[1]), word(key[0] ^ key[1] ^ _PARITY)]
    with np.errstate(over="ignore"):
        x = np.asarray(counter[0], word) + schedule[0]
        y = np.asarray(counter[1], word) + schedule[1]
        for group in range(5):
            for rotation in _ROTATIONS[group % 2]:
                x = x + y
                y = ((y << word(rotation)) | (y >> word(32 - rotation))) ^ x
            x = x + schedule[(group + 1) % 3]
            y = y + schedule[(group + 2) % 3] + word(group + 1)
    return x, y


def random_words(key, count, high_bit=0):
    """The 64 random bits of the positions 0 .. count; word 0 is the low half."""
    key = int(key)
    position = np.arange(count, dtype=np.uint64)
    low = (position & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    high = (position >> np.uint64(32)).astype(np.uint32) | np.uint32(high_bit << 31)
    x, y = threefry2x32((key & 0xFFFFFFFF, key >> 32), (low, high))
    return x.astype(np.uint64) | (y.astype(np.uint64) << np.uint64(32))


def check_threefry():
    """The known answers that were published with the generator."""
    for key, counter, answer in (
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ):
        x, y = threefry2x32(key, ([counter[0]], [counter[1]]))
        if (int(x[0]), int(y[0])) != answer:
            raise AssertionError("the script's own Threefry is wrong for key %r" % (key,))


def random_bits(key, dtype, shape):
    return random_words(key, math.prod(shape)).astype(types.NUMPY[dtype]).reshape(shape)


def random_uniform(key, dtype, shape):
    bits = types.PRECISION[dtype]
    top = random_words(key, math.prod(shape)) >> np.uint64(64 - bits)
    return np.ldexp(top.astype(np.float64), -bits).reshape(shape)


def random_normal(key, dtype, shape):
    # Box-Muller: a radius from (0, 1], an angle from [0, 1) of the second draw, whose counter has the top bit set.
    count = math.prod(shape)
    u = np.ldexp((random_words(key, count) >> np.uint64(11)).astype(np.float64) + 1, -53)
    v = np.ldexp((random_words(key, count, high_bit=1) >> np.uint64(11)).astype(np.float64), -53)
    return (np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)).reshape(shape)


def random_gumbel(key, shape):
    u = np.ldexp((random_words(key, math.prod(shape)) >> np.uint64(11)).astype(np.float64), -53)
    return -np.log(-np.log(np.maximum(u, 2.0**-54))).reshape(shape)


def random_permutation(key, n):
    order = list(range(n))
    for i, bits in enumerate(random_words(key, n).tolist()):
        j = i + (bits * (n - i) >> 64)
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


# ---- less common functions

def _erfinv(x):
    size = abs(x)
    if not size < 1:
        return math.copysign(math.inf, x) if size == 1 else math.nan
    low, high = 0.0, 6.0
    for _ in range(60):  # halve, then Newton's last steps; by erfc where 1 - size is exact
        t = (low + high) / 2
        below = math.erf(t) < size if size < 0.5 else math.erfc(t) > 1 - size
        low, high = (t, high) if below else (low, t)
    t = t if size > 1e-8 else size * math.sqrt(math.pi) / 2
    for _ in range(2):
        missing = size - math.erf(t) if size < 0.5 else math.erfc(t) - (1 - size)
        t += missing * math.sqrt(math.pi) / 2 * math.exp(t * t)
    return math.copysign(t, x)


def erfinv(x):
    return np.vectorize(_erfinv, otypes=[np.float64])(x) if np.size(x) else np.zeros(np.shape(x))


def _zeta(k):
    """Sum of 1 / n^k: some terms, then Euler and Maclaurin's rest."""
    n = np.longdouble(300)
    terms = sum(np.longdouble(i) ** -k for i in range(1, 300))
    rest = n ** (1 - k) / (k - 1) + n**-k / 2 + k * n ** (-k - 1) / 12 - k * (k + 1) * (k + 2) * n ** (-k - 3) / 720
    return terms + rest + k * (k + 1) * (k + 2) * (k + 3) * (k + 4) * n ** (-k - 5) / 30240


_ZETA = [_zeta(k) for k in range(2, 60)]
_EULER = np.longdouble("0.577215664901532860606512090082402431")
_STIRLING = [(1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360), (1, 156)]


def _lgamma_near_1(t):  # log gamma(1 + t), by its series
    return -_EULER * t + sum(z * (-t) ** k / k for k, z in enumerate(_ZETA, 2))


def _lgamma(value):
    """In extended precision; its zeros at 1 and 2 by series."""
    x = np.longdouble(value)
    if np.isnan(x):
        return value
    if np.isinf(x) or (x <= 0 and np.floor(x) == x):
        return math.inf
    if x < 0:
        r = x - np.rint(x)
        pi = np.longdouble("3.14159265358979323846264338327950288")
        return float(np.log(pi) - np.log(np.abs(np.sin(pi * r))) - np.log(-x) - np.longdouble(_lgamma_above_0(-x)))
    return float(_lgamma_above_0(x))


def _lgamma_above_0(x):
    if abs(x - 1) < 0.3:
        return _lgamma_near_1(x - 1)
    if abs(x - 2) < 0.3:
        return np.log1p(x - 2) + _lgamma_near_1(x - 2)
    product = np.longdouble(1)
    while x < 25:
        product, x = product * x, x + 1
    rest = sum(np.longdouble(a) / b / x ** (2 * k + 1) for k, (a, b) in enumerate(_STIRLING))
    tau = np.longdouble("6.28318530717958647692528676655900577")
    return (x - np.longdouble(0.5)) * np.log(x) - x + np.log(tau) / 2 + rest - np.log(product)


def lgamma(x):
    return np.vectorize(_lgamma, otypes=[np.float64])(x) if np.size(x) else np.zeros(np.shape(x))


_PI = decimal.Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
_BERNOULLI = [(1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798), (-174611, 330)]


def _cotangent_of_pi_times(x):
    """By the series of sine and cosine, from the nearest integer on."""
    t = _PI * (x - x.to_integral_value())
    sine, cosine, term = decimal.Decimal(0), decimal.Decimal(0), decimal.Decimal(1)
    for k in range(60):
        sine, cosine = (sine, cosine + term) if k % 2 == 0 else (sine + term, cosine)
        term = term * t / (k + 1) * (-1 if k % 2 else 1)
    return cosine / sine


def _digamma(value):
    """In 50 digits: up to 60 by the recurrence, then the asymptotic series; below 0 by reflection."""
    if math.isnan(value) or value == -math.inf:
        return math.nan
    if value == math.inf:
        return math.inf
    if value <= 0 and value == math.floor(value):
        return -math.inf
    with decimal.localcontext() as context:
        context.prec = 50
        x = decimal.Decimal(value)
        if value < 0:
            return float(_digamma_above_0(1 - x) - _PI * _cotangent_of_pi_times(x))
        return float(_digamma_above_0(x))


def _digamma_above_0(x):
    steps = decimal.Decimal(0)
    while x < 60:
        steps, x = steps + 1 / x, x + 1
    rest = sum(decimal.Decimal(a) / b / (2 * k) / x ** (2 * k) for k, (a, b) in enumerate(_BERNOULLI, 1))
    return x.ln() - 1 / (2 * x) - rest - steps


def digamma(x):
    return np.vectorize(_digamma, otypes=[np.float64])(x) if np.size(x) else np.zeros(np.shape(x))


def nextafter(x, y):
    """Of numbers as they are stored; bf16 by its bits."""
    if x.dtype != np.uint16:
        return np.where(x == y, y, np.nextafter(x, y))  # of f16 numpy returns the first zero
    x, y = np.broadcast_arrays(x, y)
    a, b = types.bf16_values(x), types.bf16_values(y)
    number = (x & np.uint16(0x7FFF)).astype(np.int64)
    number = np.where(x >> np.uint16(15) != 0, -number, number) + np.where(b > a, 1, -1)
    negative = (number < 0) | ((number == 0) & (a < 0))
    moved = (np.abs(number) | np.where(negative, 0x8000, 0)).astype(np.uint16)
    return np.where(np.isnan(a) | np.isnan(b), np.uint16(0x7FC0), np.where(a == b, y, moved))


def number_first(extreme, a, b):
    if a.dtype.kind != "f":
        return extreme(a, b)
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, extreme(a, b)))


# ---- more reductions

def product(x, axes, keepdims):
    if x.dtype.kind in "biu":
        x = x.astype(np.uint64 if x.dtype.kind == "u" else np.int64)
    return np.prod(x, axis=tuple(axes), keepdims=keepdims)


def smallest(x, axes, keepdims):
    if x.dtype.kind == "f":
        return -largest(-x, axes, keepdims)
    return np.min(x, axis=tuple(axes), keepdims=keepdims)


def argmin(x, axes, keepdims):
    if x.dtype.kind == "f":
        return argmax(-x, axes, keepdims)
    return argmax(~x, axes, keepdims)  # the order turned round, without overflow


def variance(x, axes, keepdims, correction):
    count = math.prod(x.shape[a] for a in axes)
    centred = x - np.asarray(mean(x, axes, True)) if x.size else x
    squares = centred.real**2 + centred.imag**2
    return np.divide(np.sum(squares, axis=tuple(axes), keepdims=keepdims), max(count - correction, 0.0))


def logsumexp(x, axes, keepdims):
    axes = tuple(axes)
    top = np.max(x, axis=axes, keepdims=True, initial=-math.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    out = np.log(np.sum(np.exp(x - top), axis=axes, keepdims=True)) + top
    return out if keepdims else np.reshape(out, [n for i, n in enumerate(x.shape) if i not in axes])


# ---- composites

def relu(x):
    return maximum(x, np.zeros((), x.dtype))


def sigmoid(x):
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, np.where(np.isnan(x), np.nan, 1.0)) / (1 + e)


def gelu(x, approximate=False):
    if approximate:
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def softmax(x, axis):
    if x.shape[axis] == 0:
        return x
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def normalized(x, eps):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + eps)


def rms(x, eps):
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps)


def convolution(x, w, strides, padding, dilation, groups):
    dims = len(strides)
    x = np.pad(x, [(0, 0), (0, 0)] + [(padding[d], padding[dims + d]) for d in range(dims)])
    reach = [(w.shape[2 + d] - 1) * dilation[d] + 1 for d in range(dims)]
    sizes = [(x.shape[2 + d] - reach[d]) // strides[d] + 1 for d in range(dims)]
    out = np.zeros((x.shape[0], w.shape[0], *sizes), x.dtype)
    made, taken = w.shape[0] // groups, w.shape[1]
    for tap in np.ndindex(*w.shape[2:]):
        box = tuple(slice(tap[d] * dilation[d], tap[d] * dilation[d] + (sizes[d] - 1) * strides[d] + 1, strides[d]) for d in range(dims))
        for g in range(groups):
            channels = x[(slice(None), slice(g * taken, (g + 1) * taken), *box)]
            part = w[(slice(g * made, (g + 1) * made), slice(None), *tap)]
            out[:, g * made : (g + 1) * made] += np.einsum("oc,nc...->no...", part, channels)
    return out


def attention(q, k, v, mask, scale, causal):
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * (scale or 1 / math.sqrt(q.shape[-1]))
    if mask is not None:
        scores = scores + mask
    if causal:
        queries, keys = scores.shape[-2:]
        seen = np.arange(keys)[None, :] <= np.arange(queries)[:, None] + (keys - queries)
        scores = np.where(seen, scores, -math.inf)
    return np.matmul(softmax(scores, -1), v)


def scanned(x, axis, reverse, combine):
    """What `combine` makes of the elements so far, one position after the other."""
    rows = np.moveaxis(np.flip(x, axis) if reverse else x, axis, 0)
    out = np.empty_like(rows)
    for k in range(len(rows)):
        out[k] = rows[k] if k == 0 else combine(out[k - 1], rows[k])
    out = np.moveaxis(out, 0, axis)
    return np.flip(out, axis) if reverse else out


def summed(x):
    """As the type that sums have."""
    return x.astype(np.uint64 if x.dtype.kind == "u" else np.int64) if x.dtype.kind in "biu" else x


def order(x, axis, descending):
    """Positions in sorted order; numpy sorts stably, with NaN last. Sorted backwards from the end, ties stay as they are."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)


def searched(sequence, values, side):
    """The halving of the op's page, one value at a time: it says what an unsorted sequence gives, too."""
    def behind(a, b):  # whether a stands behind b
        return (b < a) or (a != a and b == b)

    def find(value):
        low, high = 0, len(sequence)
        while low < high:
            middle = (low + high) // 2
            up = not behind(sequence[middle], value) if side == "right" else behind(value, sequence[middle])
            low, high = (middle + 1, high) if up else (low, middle)
        return low

    return np.array([find(v) for v in values.reshape(-1)], np.int64).reshape(values.shape)


SCATTER = {"set": lambda a, b: b, "add": np.add, "mul": np.multiply, "min": minimum, "max": maximum}


def scatter(x, updates, positions, axis, mode):
    out = np.array(x)
    for at in np.ndindex(*positions.shape):
        to = at[:axis] + (int(positions[at]),) + at[axis + 1:]
        out[to] = SCATTER[mode](out[to], updates[at])
    return out


def box_at(x, starts, sizes):
    counted = [int(s) + n if s < 0 else int(s) for s, n in zip(starts, x.shape)]
    first = [min(max(s, 0), n - size) for s, n, size in zip(counted, x.shape, sizes)]
    return tuple(slice(f, f + size) for f, size in zip(first, sizes))


def put_box(x, box, y):
    out = np.array(x)
    out[box] = y
    return out


def blit(x, y, starts, steps):
    grids = np.ix_(*[[start + k * step for k in range(n)] for start, step, n in zip(starts, steps, y.shape)])
    return put_box(x, tuple(g.astype(np.int64) for g in grids), y)


def unfold(x, axis, size, step):
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis)
    return windows[(slice(None),) * axis + (slice(None, None, step),)]


def moved(x, text):
    """A chain of movements, as a program prints it, applied to an array."""
    text, _, fill = text.partition(" filled ")
    for name, rest in re.findall(r"(\w+)([^|>]*)", text.replace(" in ", "@")):
        lists = [ast.literal_eval("[%s]" % part) for part in re.findall(r"[\[(]((?:\([^()]*\)|[^()\[\]])*)[\])]", rest)]
        if name == "reshape":
            x = np.reshape(x, lists[0])
        elif name == "permute":
            x = np.transpose(x, lists[0])
        elif name == "expand":
            x = np.broadcast_to(x, lists[0])
        elif name == "pad":
            x = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, lists[0]))]
            lists[0] = [(max(a, 0), max(b, 0)) for a, b in lists[0]]
            out = np.full([n + a + b for n, (a, b) in zip(x.shape, lists[0])], np.asarray(float(fill)).astype(x.dtype))
            out[tuple(slice(a, a + n) for n, (a, b) in zip(x.shape, lists[0]))] = x
            x = out
        elif name == "shrink":
            x = x[tuple(slice(a, b) for a, b in lists[0])]
        elif name == "flip":
            x = np.flip(x, lists[0])
        elif name == "stride":
            x = x[tuple(slice(None, None, step) for step in lists[0])]
        elif name == "strided" and "@" not in rest:
            offset = int(rest.partition("+")[2] or 0)
            flat = np.ascontiguousarray(x).reshape(-1)[offset:]
            x = np.lib.stride_tricks.as_strided(flat, lists[0], [s * x.itemsize for s in lists[1]])
        elif name != "same":
            raise ValueError("unknown movement in " + text)
    return x


ACTIVATIONS = {"none": lambda x: x, "relu": relu, "sigmoid": sigmoid, "tanh": np.tanh, "gelu": gelu}


def slope(x, activation):
    """How an activation magnifies an error of x; a complex one has poles."""
    if x.dtype.kind == "c" and activation == "tanh":
        return np.abs(1 - np.tanh(x) ** 2)
    if x.dtype.kind == "c" and activation == "sigmoid":
        return np.abs(sigmoid(x) * (1 - sigmoid(x)))
    return np.ones(())


def activations_of(dtype):
    if dtype in types.FLOATS:
        return list(ACTIVATIONS)
    return ["none", "tanh", "sigmoid"] if dtype in types.COMPLEX else ["none", "relu"]


FORMULAS = {
    "add": lambda i, a, w: np.add(*i),
    "sub": lambda i, a, w: np.subtract(*i),
    "mul": lambda i, a, w: np.multiply(*i),
    "div": lambda i, a, w: np.divide(*i),
    "pow": lambda i, a, w: np.power(*i),
    "maximum": lambda i, a, w: maximum(*i),
    "minimum": lambda i, a, w: minimum(*i),
    "neg": lambda i, a, w: np.negative(i[0]),
    "abs": lambda i, a, w: absolute(i[0]),
    "exp": lambda i, a, w: np.exp(i[0]),
    "exp2": lambda i, a, w: np.exp2(i[0]),
    "expm1": lambda i, a, w: np.expm1(i[0]),
    "log": lambda i, a, w: np.log(i[0]),
    "log2": lambda i, a, w: np.log2(i[0]),
    "log10": lambda i, a, w: np.log10(i[0]),
    "log1p": lambda i, a, w: np.log1p(i[0]),
    "sqrt": lambda i, a, w: np.sqrt(i[0]),
    "rsqrt": lambda i, a, w: 1 / np.sqrt(i[0]),
    "square": lambda i, a, w: np.square(i[0]),
    "reciprocal": lambda i, a, w: 1 / i[0],
    "cbrt": lambda i, a, w: np.cbrt(i[0]),
    "tan": lambda i, a, w: np.tan(i[0]),
    "asin": lambda i, a, w: np.arcsin(i[0]),
    "acos": lambda i, a, w: np.arccos(i[0]),
    "atan": lambda i, a, w: np.arctan(i[0]),
    "atan2": lambda i, a, w: np.arctan2(*i),
    "sinh": lambda i, a, w: np.sinh(i[0]),
    "cosh": lambda i, a, w: np.cosh(i[0]),
    "asinh": lambda i, a, w: np.arcsinh(i[0]),
    "acosh": lambda i, a, w: np.arccosh(i[0]),
    "atanh": lambda i, a, w: np.arctanh(i[0]),
    "erfc": lambda i, a, w: erfc(i[0]),
    "sin": lambda i, a, w: np.sin(i[0]),
    "cos": lambda i, a, w: np.cos(i[0]),
    "tanh": lambda i, a, w: np.tanh(i[0]),
    "erf": lambda i, a, w: erf(i[0]),
    "fma": lambda i, a, w: fma(*i),
    "copysign": lambda i, a, w: np.copysign(*i),
    "scale2": lambda i, a, w: scale2(*i),
    "floor": lambda i, a, w: np.floor(i[0]) if i[0].dtype.kind == "f" else i[0],
    "ceil": lambda i, a, w: np.ceil(i[0]) if i[0].dtype.kind == "f" else i[0],
    "trunc": lambda i, a, w: np.trunc(i[0]) if i[0].dtype.kind == "f" else i[0],
    "round": lambda i, a, w: np.rint(i[0]) if i[0].dtype.kind == "f" else i[0],
    "sign": lambda i, a, w: np.sign(i[0]),
    "floor_divide": lambda i, a, w: np.floor_divide(*i),
    "fmod": lambda i, a, w: np.fmod(*i),
    "rem": lambda i, a, w: np.remainder(*i),
    "bitwise_and": lambda i, a, w: np.bitwise_and(*i),
    "bitwise_or": lambda i, a, w: np.bitwise_or(*i),
    "bitwise_xor": lambda i, a, w: np.bitwise_xor(*i),
    "bitwise_not": lambda i, a, w: np.invert(i[0]),
    "logical_and": lambda i, a, w: np.logical_and(*i),
    "logical_or": lambda i, a, w: np.logical_or(*i),
    "logical_xor": lambda i, a, w: np.logical_xor(*i),
    "logical_not": lambda i, a, w: np.logical_not(i[0]),
    "isnan": lambda i, a, w: np.isnan(i[0]),
    "isinf": lambda i, a, w: np.isinf(i[0]),
    "isfinite": lambda i, a, w: np.isfinite(i[0]),
    "shift_left": lambda i, a, w: shift(*i, left=True),
    "shift_right": lambda i, a, w: shift(*i, left=False),
    "eq": lambda i, a, w: np.equal(*i),
    "ne": lambda i, a, w: np.not_equal(*i),
    "lt": lambda i, a, w: np.less(*i),
    "le": lambda i, a, w: np.less_equal(*i),
    "gt": lambda i, a, w: np.greater(*i),
    "ge": lambda i, a, w: np.greater_equal(*i),
    "select": lambda i, a, w: np.where(*i),
    "sum": lambda i, a, w: total(i[0], *a),
    "max": lambda i, a, w: largest(i[0], *a),
    "mean": lambda i, a, w: mean(i[0], *a),
    "argmax": lambda i, a, w: argmax(i[0], *a),
    "view": lambda i, a, w: moved(i[0], a[0]),
    "pad": lambda i, a, w: moved(i[0], "pad%s filled %s" % (list(zip(a[0], a[1])), a[2])),
    "flip": lambda i, a, w: np.flip(i[0], a[0]),
    "unfold": lambda i, a, w: unfold(i[0], *a),
    "diagonal": lambda i, a, w: np.diagonal(i[0], *a),
    "roll": lambda i, a, w: np.roll(i[0], a[0], a[1]),
    "repeat": lambda i, a, w: np.repeat(i[0], a[0], a[1]),
    "tile": lambda i, a, w: np.tile(i[0], a[0]),
    "contiguous": lambda i, a, w: np.array(i[0]),
    "reshape": lambda i, a, w: np.reshape(i[0], w[1]),
    "permute": lambda i, a, w: np.transpose(i[0], a[0]),
    "broadcast_to": lambda i, a, w: np.broadcast_to(i[0], w[1]),
    "slice": lambda i, a, w: box(i[0], *a),
    "concat": lambda i, a, w: np.concatenate(i, axis=a[0]),
    "dot_general": lambda i, a, w: dot_general(*i, *a),
    "einsum": lambda i, a, w: np.einsum(a[0], *i),
    "iota": lambda i, a, w: iota(a[0], *w),
    "gather": lambda i, a, w: gather(*i, a[0]),
    "cumsum": lambda i, a, w: scanned(summed(i[0]), *a, np.add),
    "cumprod": lambda i, a, w: scanned(summed(i[0]), *a, np.multiply),
    "cummax": lambda i, a, w: scanned(i[0], *a, maximum),
    "cummin": lambda i, a, w: scanned(i[0], *a, minimum),
    "sort": lambda i, a, w: np.take_along_axis(i[0], order(i[0], *a), a[0]),
    "argsort": lambda i, a, w: order(i[0], *a),
    "argtopk": lambda i, a, w: np.take(order(i[0], a[1], a[2]), np.arange(a[0]), axis=a[1]),
    "searchsorted": lambda i, a, w: searched(*i, a[0]),
    "take_along_axis": lambda i, a, w: np.take_along_axis(i[0], i[1].astype(np.int64), a[0]),
    "scatter": lambda i, a, w: scatter(*i, *a),
    "dynamic_slice": lambda i, a, w: i[0][box_at(i[0], i[1], a[0])],
    "dynamic_update_slice": lambda i, a, w: put_box(i[0], box_at(i[0], i[2], i[1].shape), i[1]),
    "blit": lambda i, a, w: blit(*i, *a),
    "stack": lambda i, a, w: np.stack(i, axis=a[0]),
    "random_bits": lambda i, a, w: random_bits(i[0], *w),
    "random_uniform": lambda i, a, w: random_uniform(i[0], *w),
    "random_normal": lambda i, a, w: random_normal(i[0], *w),
    "relu": lambda i, a, w: relu(i[0]),
    "sigmoid": lambda i, a, w: sigmoid(i[0]),
    "gelu": lambda i, a, w: gelu(i[0], a[0]),
    "softmax": lambda i, a, w: softmax(i[0], a[0]),
    "layer_norm": lambda i, a, w: normalized(i[0], a[0]) * i[1] + i[2],
    "rms_norm": lambda i, a, w: rms(i[0], a[0]) * i[1],
    "matmul": lambda i, a, w: ACTIVATIONS[a[0]](np.matmul(*i)),
    "matmul_bias": lambda i, a, w: ACTIVATIONS[a[0]](np.matmul(i[0], i[1]) + i[2]),
    "convolution": lambda i, a, w: convolution(*i, *a),
    "attention": lambda i, a, w: attention(*i[:3], i[3] if len(i) > 3 else None, *a),
    "lora": lambda i, a, w: np.matmul(i[0], i[1]) + np.matmul(np.matmul(i[0], i[2]), i[3]) * a[0],
}

FORMULAS.update({
    "erfinv": lambda i, a, w: erfinv(i[0]),
    "lgamma": lambda i, a, w: lgamma(i[0]),
    "digamma": lambda i, a, w: digamma(i[0]),
    "identity": lambda i, a, w: np.array(i[0]),
    "stop_gradient": lambda i, a, w: np.array(i[0]),
    "anew": lambda i, a, w: np.array(i[0]),
    "logaddexp": lambda i, a, w: np.logaddexp(*i),
    "hypot": lambda i, a, w: np.hypot(*i),
    "nextafter": lambda i, a, w: nextafter(*i),
    "fmax": lambda i, a, w: number_first(maximum, *i),
    "fmin": lambda i, a, w: number_first(minimum, *i),
    "popcount": lambda i, a, w: popcount(i[0]),
    "clamp": lambda i, a, w: minimum(maximum(i[0], i[1]), i[2]),
    "real": lambda i, a, w: np.real(i[0]),
    "imag": lambda i, a, w: np.imag(i[0]),
    "conj": lambda i, a, w: np.conj(i[0]),
    "argmin": lambda i, a, w: argmin(i[0], *a),
    "min": lambda i, a, w: smallest(i[0], *a),
    "prod": lambda i, a, w: product(i[0], *a),
    "any": lambda i, a, w: np.any(i[0], axis=tuple(a[0]), keepdims=a[1]),
    "all": lambda i, a, w: np.all(i[0], axis=tuple(a[0]), keepdims=a[1]),
    "var": lambda i, a, w: variance(i[0], *a),
    "std": lambda i, a, w: np.sqrt(variance(i[0], *a)),
    "logsumexp": lambda i, a, w: logsumexp(i[0], *a),
    "count_nonzero": lambda i, a, w: np.sum(i[0] != 0, axis=tuple(a[0]), keepdims=a[1], dtype=np.int64),
    "random_bernoulli": lambda i, a, w: random_uniform(i[0], "f64", w[1]) < a[0],
    "random_gumbel": lambda i, a, w: random_gumbel(i[0], w[1]),
    "random_categorical": lambda i, a, w: np.argmax(i[1] + random_gumbel(i[0], np.shape(i[1])), axis=a[0]) if np.size(i[1])
    else np.zeros([n for d, n in enumerate(i[1].shape) if d != a[0]], np.int64),
    "random_permutation": lambda i, a, w: random_permutation(i[0], a[0]),
})

NOISE = {
    "mul": lambda i, a: np.abs(i[0]) * np.abs(i[1]),
    "sum": lambda i, a: total(np.abs(i[0]), *a),
    "mean": lambda i, a: mean(np.abs(i[0]), *a),
    "cumsum": lambda i, a: scanned(np.abs(i[0]), *a, np.add),
    "cumprod": lambda i, a: scanned(np.abs(i[0]), *a, np.multiply),
    "scatter": lambda i, a: scatter(np.abs(i[0]), np.abs(i[1]), i[2], *a),
    "dot_general": lambda i, a: dot_general(np.abs(i[0]), np.abs(i[1]), *a),
    "einsum": lambda i, a: np.einsum(a[0], *(np.abs(x) for x in i)),
    "convolution": lambda i, a: convolution(np.abs(i[0]), np.abs(i[1]), *a),
    "attention": lambda i, a: np.matmul(np.ones_like(np.matmul(i[0], np.swapaxes(i[1], -1, -2))), np.abs(i[2])),
    "lora": lambda i, a: np.matmul(np.abs(i[0]), np.abs(i[1]) + np.matmul(np.abs(i[2]), np.abs(i[3])) * abs(a[0])),
    "gelu": lambda i, a: np.abs(i[0]),
    "var": lambda i, a: variance(i[0], *a),  # of squares that are added one after the other
    "std": lambda i, a: np.sqrt(variance(i[0], *a)),
    "digamma": lambda i, a: np.log(np.abs(i[0]) + 10) + 1 / np.abs(i[0]),  # of which its zero is the difference
    # the mean is rounded before it is subtracted, the product before the bias is added
    "layer_norm": lambda i, a: (np.abs(i[0]) + np.abs(np.mean(i[0], axis=-1, keepdims=True)))
    / np.sqrt(np.var(i[0], axis=-1, keepdims=True) + a[0]) * np.abs(i[1]) + np.abs(i[2]),
    "sigmoid": lambda i, a: np.abs(np.exp(-i[0]) * sigmoid(i[0]) ** 2),  # what an error of exp becomes, near a pole too
    "matmul": lambda i, a: np.matmul(np.abs(i[0]), np.abs(i[1])) * slope(np.matmul(*i), a[0]),
    "matmul_bias": lambda i, a: (np.matmul(np.abs(i[0]), np.abs(i[1])) + np.abs(i[2])) * slope(np.matmul(i[0], i[1]) + i[2], a[0]),
}


import oracle_composites  # noqa: E402  (it reads this module, when it is called)

FORMULAS.update(oracle_composites.FORMULAS)
NOISE.update(oracle_composites.NOISE)


# ---- cast and constant: one element at a time, in exact arithmetic

def _integer(value, dtype):
    info = np.iinfo(types.NUMPY[dtype])
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return info.max if value > 0 else info.min
        return min(max(math.trunc(value), info.min), info.max)
    span = 1 << info.bits
    value = int(value) % span
    return value - span if value > info.max else value


def cast(dtype_from, array, dtype_to):
    """`array` of `dtype_from` as `dtype_to`; not wide: each is what it is stored as."""
    values = types.widen(dtype_from, array).reshape(-1).tolist()  # bool, int, float or complex of Python: all exact
    if dtype_to == "bool":
        out = np.array([v != 0 for v in values], np.bool_)
    elif dtype_to in types.INTEGERS:
        out = np.array([_integer(v.real if isinstance(v, complex) else v, dtype_to) for v in values], types.NUMPY[dtype_to])
    else:
        part = types.PART.get(dtype_to, dtype_to)

        def rounded(v):  # integers rounded exactly; floats are rounded by narrow()
            return float(types.round_integer(int(v), types.PRECISION[part])) if isinstance(v, (bool, int)) else v

        wide = np.array([rounded(v) for v in values], np.complex128)
        out = types.narrow(dtype_to, wide if dtype_to in types.COMPLEX else wide.real)
    return out.reshape(np.shape(array))
