"""What every differentiable op is in PyTorch's terms: `FORMULAS[op](operands, attributes, shape)`.

Attributes are those of the op's record, `shape` is the result's where the caller gives it. `INTEGERS` draws the operands that
are positions or keys, `REASONS` says why an op of the table that gradients flow through has no formula here.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F

inf = math.inf


# ---- reductions: of no axes, of one, of several

def over(function):
    """A reduction of several axes by one that takes a list of at least one."""
    def reduce(i, a, shape):
        axes = list(a["axes"])
        return function(i[0], axes, a["keepdims"]) if axes else function(i[0][..., None], [-1], False)
    return reduce


def prod(x, axes, keepdims):
    axes = [axis % x.ndim for axis in axes]
    kept = [d for d in range(x.ndim) if d not in axes]
    count = math.prod(x.shape[d] for d in axes)
    out = x.permute(kept + axes).reshape([x.shape[d] for d in kept] + [count]).prod(-1)
    return out.reshape([1 if d in axes else x.shape[d] for d in range(x.ndim)]) if keepdims else out


def spread(function):
    def reduce(i, a, shape):
        axes = list(a["axes"])
        x, axes, keepdims = (i[0], axes, a["keepdims"]) if axes else (i[0][..., None], [-1], False)
        return function(x, axes, correction=a["correction"], keepdim=keepdims)
    return reduce


# ---- movements

def axis_indices(x, lists):
    for axis, indices in enumerate(lists):
        x = x.index_select(axis, torch.tensor(list(indices), dtype=torch.int64))
    return x


def pad(x, before, after, value):
    pairs = [n for pair in reversed(list(zip(before, after))) for n in pair]
    return F.pad(x, pairs, value=value)


def blit(x, y, starts, steps):
    if x.ndim == 0:
        return y.clone()
    grids = torch.meshgrid(*[torch.tensor([s + k * step for k in range(n)], dtype=torch.int64) for s, step, n in zip(starts, steps, y.shape)], indexing="ij")
    return x.index_put(tuple(grids), y)


def first_of(x, starts, sizes):
    counted = [int(s) + n if s < 0 else int(s) for s, n in zip(starts, x.shape)]
    return [min(max(s, 0), n - size) for s, n, size in zip(counted, x.shape, sizes)]


def dynamic_slice(x, starts, sizes):
    return axis_indices(x, [range(f, f + n) for f, n in zip(first_of(x, starts, sizes), sizes)])


def gather(x, index, axis):
    index = torch.where(index < 0, index + x.shape[axis], index)
    picked = x.index_select(axis, index.reshape(-1))
    return picked.reshape(x.shape[:axis] + index.shape + x.shape[axis + 1:])


def scatter(x, updates, positions, axis, mode):
    """One position after the other: of several updates of a place the last one is set."""
    if mode == "add":
        return x.scatter_add(axis, positions, updates)
    combine = {"set": lambda old, new: new, "mul": torch.mul, "min": torch.minimum, "max": torch.maximum}[mode]
    out = x
    for at in np.ndindex(*positions.shape):
        here = torch.zeros(x.shape, dtype=torch.bool)
        here[at[:axis] + (int(positions[at]),) + at[axis + 1:]] = True
        out = torch.where(here, combine(out, updates[at]), out)
    return out


def scanned(function):
    def scan(i, a, shape):
        x = i[0].flip(a["axis"]) if a["reverse"] else i[0]
        out = function(x, a["axis"])
        return out.flip(a["axis"]) if a["reverse"] else out
    return scan


# ---- products

def dot_general(x, y, a):
    left, right = [None] * x.ndim, [None] * y.ndim
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    batch = [next(letters) for _ in a["lhs_batch"]]
    for label, i, j in zip(batch, a["lhs_batch"], a["rhs_batch"]):
        left[i] = right[j] = label
    for i, j in zip(a["lhs_contract"], a["rhs_contract"]):
        left[i] = right[j] = next(letters)
    free = []
    for side in (left, right):
        for i, label in enumerate(side):
            if label is None:
                side[i] = next(letters)
                free.append(side[i])
    return torch.einsum("%s,%s->%s" % ("".join(left), "".join(right), "".join(batch + free)), x, y)


ACTIVATIONS = {"none": lambda x: x, "relu": torch.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "gelu": F.gelu}
CONVOLUTIONS = {1: (F.conv1d, F.conv_transpose1d), 2: (F.conv2d, F.conv_transpose2d), 3: (F.conv3d, F.conv_transpose3d)}


def convolution(x, w, a):
    dims = len(a["strides"])
    if x.shape[1] == 0:  # of which PyTorch makes no channels
        sizes = [x.shape[2 + d] - w.shape[2 + d] + 1 for d in range(dims)]
        return (x.sum() + w.sum()).expand(x.shape[0], w.shape[0], *sizes)
    x = pad(x, [0, 0, *a["padding"][:dims]], [0, 0, *a["padding"][dims:]], 0)
    return CONVOLUTIONS[dims][0](x, w, None, tuple(a["strides"]), 0, tuple(a["dilation"]), a["groups"])


def convolution_transpose(x, w, a):
    dims = len(a["strides"])
    strides, dilation = tuple(a["strides"]), tuple(a["dilation"])
    whole = CONVOLUTIONS[dims][1](x, w, None, strides, 0, 0, a["groups"], dilation)
    before = [0, 0] + [-n for n in a["padding"][:dims]]
    after = [0, 0] + [more - n for n, more in zip(a["padding"][dims:], a["output_padding"])]
    return pad(whole, before, after, 0)


def seen_so_far(queries, keys):
    return torch.arange(keys)[None, :] - (torch.arange(queries)[:, None] + keys - queries)


def attention(i, a):
    q, k, v = i[:3]
    scores = q @ k.transpose(-1, -2) * (a["scale"] or 1 / math.sqrt(q.shape[-1]))
    if len(i) > 3:
        scores = scores + i[3]
    if a["causal"]:
        scores = torch.where(seen_so_far(*scores.shape[-2:]) <= 0, scores, -inf)
    return scores.softmax(-1) @ v


def attention_general(i, a):
    q, k, v = i[:3]
    masked = a["masked"]
    slopes = i[3 + masked] if len(i) > 3 + masked else None
    shared = q.shape[-3] // k.shape[-3]
    k, v = k.repeat_interleave(shared, -3), v.repeat_interleave(shared, -3)
    distance = seen_so_far(q.shape[-2], k.shape[-2])
    scores = q @ k.transpose(-1, -2) * (a["scale"] or 1 / math.sqrt(q.shape[-1]))
    if a["softcap"]:
        scores = a["softcap"] * torch.tanh(scores / a["softcap"])
    if slopes is not None:
        scores = scores - slopes[:, None, None] * distance.abs()
    if masked:
        scores = scores + i[3]
    if a["causal"]:
        scores = torch.where(distance <= 0, scores, -inf)
    if a["window"]:
        scores = torch.where((-distance if a["causal"] else distance.abs()) < a["window"], scores, -inf)
    return scores.softmax(-1) @ v


# ---- networks

def rms_norm(x, weight, eps):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * weight


def channel(x, rank):
    return x.reshape((1, -1) + (1,) * (rank - 2))


def batch_norm(i, eps):
    x, mean, variance_, weight, bias = i[0], *(channel(v, i[0].ndim) for v in i[1:])
    return (x - mean) / torch.sqrt(variance_ + eps) * weight + bias


def cross_entropy(logits, targets, a):
    rows = logits.reshape(-1, logits.shape[-1])
    return F.cross_entropy(rows, targets.reshape(-1), ignore_index=a["ignore_index"], label_smoothing=a["label_smoothing"])


def rope(x, positions, a):
    half = x.shape[-1] // 2
    angle = positions.to(torch.float64)[..., None] * a["base"] ** (-2.0 * torch.arange(half, dtype=torch.float64) / x.shape[-1])
    cos, sin = torch.cos(angle), torch.sin(angle)
    first, second = (x[..., 0::2], x[..., 1::2]) if a["interleaved"] else (x[..., :half], x[..., half:])
    turned = first * cos - second * sin, second * cos + first * sin
    return torch.stack(turned, -1).reshape(x.shape) if a["interleaved"] else torch.cat(turned, -1)


def windows(x, a, fill):
    dims = len(a["window"])
    x = pad(x, [0, 0, *a["padding"][:dims]], [0, 0, *a["padding"][dims:]], fill)
    for d in range(dims):
        x = x.unfold(2 + d, a["window"][d], a["strides"][d])
    return x, tuple(range(-dims, 0))


def avg_pool(x, a):
    parts, axes = windows(x, a, 0.0)
    count = math.prod(a["window"])
    if not a["count_padding"]:
        count = windows(torch.ones_like(x), a, 0.0)[0].sum(axes)
    return parts.sum(axes) / count


def max_pool(x, a):
    parts, axes = windows(x, a, -inf)
    return parts.amax(axes)


def interpolate(x, a):
    dims = len(a["sizes"])
    if a["linear"]:
        return F.interpolate(x, tuple(a["sizes"]), mode={1: "linear", 2: "bilinear", 3: "trilinear"}[dims], align_corners=False)
    return axis_indices(x, [range(n) for n in x.shape[:2]] + [[k * taken // n for k in range(n)] for n, taken in zip(a["sizes"], x.shape[2:])])


# ---- RWKV-7

def shifted(x, state, runs):
    rows = list(torch.zeros_like(x))
    for number, first, count in runs.tolist():
        for t in range(first, first + count):
            rows[t] = state[number].to(x.dtype) if t == first else x[t - 1]
    return torch.stack(rows) if rows else x


def token_shift(x, state, mix, runs):
    return x + (shifted(x, state, runs) - x) * mix


def shift_state(x, state, runs):
    rows = list(state)
    for number, first, count in runs.tolist():
        if count:
            rows[number] = x[first + count - 1].to(state.dtype)
    return torch.stack(rows) if rows else state


# ---- linear algebra

def of_lower(x):
    """The matrix whose lower triangle is that of x. Ours reads no more of it, so that nothing flows back to the rest; PyTorch's
    gradient is shared by both triangles."""
    below = x.tril(-1)
    return below + below.mH + torch.diag_embed(x.diagonal(dim1=-2, dim2=-1).real.to(x.dtype))


# ---- the table

def unary(function):
    return lambda i, a, shape: function(i[0])


def elements(function):
    return lambda i, a, shape: function(*i)


FORMULAS = {
    **{name: elements(getattr(torch, name)) for name in (
        "add sub mul div maximum minimum neg abs copysign pow sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh "
        "tanh asinh acosh atanh sigmoid erf erfc square reciprocal fmod erfinv lgamma digamma logaddexp hypot fmax fmin relu").split()},
    "rem": elements(torch.remainder), "cbrt": unary(lambda x: x.sign() * x.abs() ** (1 / 3)), "fma": elements(lambda x, y, z: x * y + z),
    "scale2": elements(lambda x, n: x * torch.exp2(n.detach().floor())), "select": elements(torch.where), "clamp": elements(lambda *i: torch.clamp(*torch.broadcast_tensors(*i))),
    "cast": unary(lambda x: x.clone()), "real": unary(lambda x: x.real if x.is_complex() else x), "imag": unary(lambda x: x.imag if x.is_complex() else x * 0),
    "conj": unary(lambda x: x.conj()), "identity": unary(lambda x: x.clone()), "contiguous": unary(lambda x: x.contiguous()),
    "nextafter": elements(lambda x, y: x + (torch.nextafter(x, y) - x).detach()),  # PyTorch has no gradient of it
    "anew": lambda i, a, shape: i[0].clone(),
    "sum": over(lambda x, axes, keep: x.sum(axes, keepdim=keep)), "mean": over(lambda x, axes, keep: x.mean(axes, keepdim=keep)),
    "max": over(lambda x, axes, keep: x.amax(axes, keepdim=keep)), "min": over(lambda x, axes, keep: x.amin(axes, keepdim=keep)), "prod": over(prod),
    "logsumexp": over(lambda x, axes, keep: x.logsumexp(axes, keepdim=keep)),
    "var": spread(torch.var), "std": spread(torch.std),
    "reshape": lambda i, a, shape: i[0].reshape(shape), "permute": lambda i, a, shape: i[0].permute(a["axes"]),
    "broadcast_to": lambda i, a, shape: i[0].expand(shape),
    "slice": lambda i, a, shape: axis_indices(i[0], [[s + k * step for k in range(n)] for s, n, step in zip(a["starts"], a["sizes"], a["steps"])]),
    "pad": lambda i, a, shape: pad(i[0], a["before"], a["after"], a["value"]), "flip": lambda i, a, shape: i[0].flip(a["axes"]),
    "unfold": lambda i, a, shape: i[0].unfold(a["axis"], a["size"], a["step"]),
    "diagonal": lambda i, a, shape: i[0].diagonal(a["offset"], a["first"], a["second"]),
    "roll": lambda i, a, shape: i[0].roll(a["shift"], a["axis"]),
    "repeat": lambda i, a, shape: i[0].repeat_interleave(a["count"], a["axis"]), "tile": lambda i, a, shape: i[0].tile(tuple(a["counts"])),
    "concat": lambda i, a, shape: torch.cat(i, a["axis"]), "stack": lambda i, a, shape: torch.stack(i, a["axis"]),
    "blit": lambda i, a, shape: blit(*i, a["starts"], a["steps"]),
    "gather": lambda i, a, shape: gather(*i, a["axis"]), "embedding": lambda i, a, shape: gather(*i, 0),
    "take_along_axis": lambda i, a, shape: i[0].gather(a["axis"], torch.where(i[1] < 0, i[1] + i[0].shape[a["axis"]], i[1])),
    "scatter": lambda i, a, shape: scatter(*i, a["axis"], a["mode"]),
    "dynamic_slice": lambda i, a, shape: dynamic_slice(i[0], i[1].tolist(), a["sizes"]),
    "dynamic_update_slice": lambda i, a, shape: blit(i[0], i[1], first_of(i[0], i[2].tolist(), i[1].shape), [1] * i[0].ndim),
    "cumsum": scanned(torch.cumsum), "cumprod": scanned(torch.cumprod),
    "cummax": scanned(lambda x, axis: x.cummax(axis).values), "cummin": scanned(lambda x, axis: x.cummin(axis).values),
    "sort": lambda i, a, shape: i[0].sort(dim=a["axis"], descending=a["descending"], stable=True).values if i[0].ndim else i[0].clone(),
    "dot_general": lambda i, a, shape: dot_general(*i, a), "einsum": lambda i, a, shape: torch.einsum(a["subscripts"].replace(" ", ""), *i),
    "matmul": lambda i, a, shape: ACTIVATIONS[a["activation"]](i[0] @ i[1]),
    "matmul_bias": lambda i, a, shape: ACTIVATIONS[a["activation"]](i[0] @ i[1] + i[2]),
    "lora": lambda i, a, shape: i[0] @ i[1] + (i[0] @ i[2]) @ i[3] * a["scale"],
    "convolution": lambda i, a, shape: convolution(*i, a), "convolution_transpose": lambda i, a, shape: convolution_transpose(*i, a),
    "attention": lambda i, a, shape: attention(i, a), "attention_general": lambda i, a, shape: attention_general(i, a),
    "gelu": lambda i, a, shape: F.gelu(i[0], approximate="tanh" if a["approximate"] else "none"),
    "softmax": lambda i, a, shape: i[0].softmax(a["axis"]), "log_softmax": lambda i, a, shape: i[0].log_softmax(a["axis"]),
    "layer_norm": lambda i, a, shape: F.layer_norm(i[0], i[0].shape[-1:], i[1], i[2], a["eps"]),
    "rms_norm": lambda i, a, shape: rms_norm(*i, a["eps"]),
    "group_norm": lambda i, a, shape: F.group_norm(i[0], a["groups"], i[1], i[2], a["eps"]) if i[0].numel() else i[0].clone(),
    "batch_norm": lambda i, a, shape: batch_norm(i, a["eps"]),
    "l2_norm": lambda i, a, shape: F.normalize(i[0], dim=a["axis"], eps=a["eps"]),
    "silu": unary(F.silu), "softplus": unary(lambda x: torch.logaddexp(x, torch.zeros_like(x))), "mish": unary(F.mish),
    "elu": lambda i, a, shape: F.elu(i[0], a["alpha"]), "leaky_relu": lambda i, a, shape: F.leaky_relu(i[0], a["slope"]),
    "squared_relu": unary(lambda x: torch.relu(x) ** 2), "glu": lambda i, a, shape: F.glu(i[0], a["axis"]),
    "swiglu": elements(lambda x, y: F.silu(x) * y), "affine": elements(lambda x, y, z: x * y + z),
    "lerp": lambda i, a, shape: i[1] + i[2] * (i[0] - i[1]) if a["reversed"] else i[0] + i[2] * (i[1] - i[0]),
    "blend": elements(lambda x, y, t: x * t + y * (1 - t)),
    "add_activate": lambda i, a, shape: ACTIVATIONS[a["result"]](ACTIVATIONS[a["first"]](i[0]) + ACTIVATIONS[a["second"]](i[1])),
    "cross_entropy": lambda i, a, shape: cross_entropy(*i, a), "tril": lambda i, a, shape: i[0].tril(a["k"]), "triu": lambda i, a, shape: i[0].triu(a["k"]),
    "rope": lambda i, a, shape: rope(*i, a), "max_pool": lambda i, a, shape: max_pool(i[0], a), "avg_pool": lambda i, a, shape: avg_pool(i[0], a),
    "interpolate": lambda i, a, shape: interpolate(i[0], a),
    "token_shift": elements(token_shift), "shift_state": elements(shift_state),
    "channel_mix_v7": elements(lambda x, state, mix, key, value, runs: torch.relu(token_shift(x, state, mix, runs) @ key.T) ** 2 @ value.T),
    "control_k_v7": elements(lambda k, a, k_a: k * (1 + (a - 1) * k_a)), "pack_kvakk": lambda i, a, shape: torch.stack(i),
    "time_first_v7": elements(lambda y, r, k, v, r_k: y + (r * k * r_k).sum(-1, keepdim=True) * v),
    # Fourier transforms and linear algebra
    "fft_c2c": lambda i, a, shape: (torch.fft.ifft(i[0], a["n"], a["axis"], norm="forward") if a["inverse"] else torch.fft.fft(i[0], a["n"], a["axis"])) * a["scale"],
    "fft_r2c": lambda i, a, shape: (torch.fft.fft if a["full"] else torch.fft.rfft)(i[0], a["n"], a["axis"]) * a["scale"],
    "fft_c2r": lambda i, a, shape: torch.fft.irfft(i[0], a["n"], a["axis"], norm="forward") * a["scale"],
    "cholesky": unary(lambda x: torch.linalg.cholesky(of_lower(x))), "inv": unary(torch.linalg.inv), "det": unary(torch.linalg.det),
    "solve": elements(torch.linalg.solve), "lstsq": lambda i, a, shape: torch.linalg.pinv(i[0]) @ i[1],
    "triangular_solve": lambda i, a, shape: torch.linalg.solve_triangular(
        i[0].mT if a["transposed"] else i[0], i[1], upper=a["lower"] == a["transposed"], unitriangular=a["unit_diagonal"]),
}


def time_mix(r, w, packed, state, runs):
    """Output and states of time_mix_v7, token by token, in the tokens' type."""
    k, v, a, kk = packed
    states, out = list(state.to(r.dtype)), [torch.zeros_like(r[0])] * len(r)
    for number, first, count in runs:
        for t in range(first, first + count):
            s = states[number]
            removed = s @ -kk[t, :, :, None]
            states[number] = s * w[t, :, None] + removed * (kk * a)[t, :, None] + v[t, :, :, None] * k[t, :, None]
            out[t] = (states[number] @ r[t, :, :, None])[..., 0]
    return torch.stack(out), torch.stack(states)


# ---- operands that are no floats

def positions_below(size, shape, rng):
    return rng.integers(-size, size, shape) if size else np.zeros(shape, np.int64)


def one_run(rng, shapes, a):
    """The tokens from the first on, as many as there are, of state 1 or the last."""
    return np.array([[min(1, shapes[1][0] - 1), 0, shapes[0][0]]][: shapes[-1][0]], np.int64).reshape(shapes[-1])


INTEGERS = {
    "gather": {1: lambda rng, shapes, a: positions_below(shapes[0][a["axis"]], shapes[1], rng)},
    "embedding": {1: lambda rng, shapes, a: positions_below(shapes[0][0], shapes[1], rng)},
    "take_along_axis": {1: lambda rng, shapes, a: positions_below(shapes[0][a["axis"]], shapes[1], rng)},
    "scatter": {2: lambda rng, shapes, a: rng.integers(0, max(shapes[0][a["axis"]], 1), shapes[2])},
    "dynamic_slice": {1: lambda rng, shapes, a: rng.integers(-3, 6, shapes[1])},
    "dynamic_update_slice": {2: lambda rng, shapes, a: rng.integers(-3, 6, shapes[2])},
    "cross_entropy": {1: lambda rng, shapes, a: rng.integers(0, shapes[0][-1], shapes[1])},
    "rope": {1: lambda rng, shapes, a: rng.integers(0, 40, shapes[1])},
    "select": {0: lambda rng, shapes, a: rng.random(shapes[0]) < 0.5},
    **{name: {3: one_run} for name in ("token_shift",)}, "shift_state": {2: one_run}, "channel_mix_v7": {5: one_run},
}
# Operands that an op wants as another float than the rest.
FLOATS = {"token_shift": {1: "float32"}, "shift_state": {1: "float32"}, "channel_mix_v7": {1: "float32"}}

# Differentiable ops that are not compared here.
REASONS = {
    "while_loop": "nothing flows back through it, which an error says",
    "bundle": "makes one tensor of several results, which ops that have several are compared with",
    "view": "the form in which movements are recorded, which are compared",
    "dropout": "drops what PyTorch's generator would not; test_dropout compares it by its own mask",
    **dict.fromkeys(("checkpoint", "custom_gradient"), "the gradient of a function, which tests/gradients compares"),
    **dict.fromkeys(("loop", "cond"), "has bodies; test_loops_and_conditions compares it"),
    **dict.fromkeys(("random_bernoulli", "random_gumbel"), "takes a key alone"),
    **dict.fromkeys(("count_nonzero", "one_hot", "random_categorical"), "its result is no float"),
    **dict.fromkeys(("qr", "svd", "eigh"), "several results: test_factors compares it"),
    "time_mix_v7": "several results: test_time_mix compares it",
    "time_mix_v7_grad": "what flows back through time_mix_v7, which test_time_mix compares in both orders",
}
