"""Formulas of the ops that networks are made of: activations, norms, losses, pooling, attention, RWKV-7.

As in oracle_formulas.py, of which this is a part: `i` are the operands in float64 or exact integers, `a` the attributes in
order, `w` the type and shape asked for.
"""

import math

import numpy as np

import oracle_formulas as base

# Elementwise, but a step on the way (a product, a difference) leaves the type's range where the exact result would not: the
# largest and the smallest numbers are not among their edge values.
STEPS_LEAVE_RANGE = {"affine", "lerp", "blend", "add_activate", "swiglu", "control_k_v7"}


def silu(x):
    return x * base.sigmoid(x)


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def lerp(x, y, t, backwards):
    return y + t * (x - y) if backwards else x + t * (y - x)


def glu(x, axis):
    first, second = np.split(x, 2, axis)
    return first * base.sigmoid(second)


def add_activate(x, y, first, second, result):
    f = base.ACTIVATIONS
    return f[result](f[first](x) + f[second](y))


def log_softmax(x, axis):
    if x.shape[axis] == 0:
        return x
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def l2_norm(x, axis, eps):
    length = np.sqrt(np.sum(x * x, axis=axis, keepdims=True))
    return x / np.maximum(length, eps)


def channel(x, rank):
    return np.reshape(x, (1, -1) + (1,) * (rank - 2))


def group_norm(x, weight, bias, groups, eps):
    if x.size == 0:
        return x
    normal = base.normalized(x.reshape(x.shape[0], groups, -1), eps).reshape(x.shape)
    return normal * channel(weight, x.ndim) + channel(bias, x.ndim)


def group_noise(x, weight, bias, groups, eps):
    if x.size == 0:
        return x
    rows = x.reshape(x.shape[0], groups, -1)
    size = np.abs(rows) + np.abs(np.mean(rows, axis=-1, keepdims=True))
    size = (size / np.sqrt(np.var(rows, axis=-1, keepdims=True) + eps)).reshape(x.shape)
    return size * channel(np.abs(weight), x.ndim) + channel(np.abs(bias), x.ndim)


def batch_norm(x, mean, variance, weight, bias, eps):
    mean, variance, weight, bias = (channel(v, x.ndim) for v in (mean, variance, weight, bias))
    return (x - mean) / np.sqrt(variance + eps) * weight + bias


def one_hot(ids, shape):
    return ids[..., None] == np.arange(shape[-1])


def cross_entropy(logits, targets, smoothing, ignored):
    logs = log_softmax(logits, -1)
    classes = logits.shape[-1]
    losses = []
    for row, target in zip(logs.reshape(-1, classes), targets.reshape(-1).tolist()):
        if target == ignored:
            continue
        if not 0 <= target < classes:
            return np.nan
        even = -np.mean(row) * smoothing if smoothing > 0 else 0.0
        losses.append(-row[target] * (1 - smoothing) + even)
    return np.mean(losses) if losses else np.nan


def dropout(x, key, p):
    drawn = base.random_uniform(key, "f32", x.shape).astype(np.float64)
    if p == 0:
        return x
    return np.where(drawn >= np.float32(p), x / (1 - p) if p < 1 else x, 0)


def rope(x, positions, theta, interleaved):
    half = x.shape[-1] // 2
    angle = np.asarray(positions, np.float64)[..., None] * float(theta) ** (-2.0 * np.arange(half) / x.shape[-1])
    cos, sin = np.cos(angle), np.sin(angle)
    a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    turned = a * cos - b * sin, b * cos + a * sin
    return np.stack(turned, -1).reshape(x.shape) if interleaved else np.concatenate(turned, -1)


def windows(x, window, strides, padding, fill):
    """All windows of x, as new last axes."""
    dims = len(window)
    x = np.pad(x, [(0, 0), (0, 0)] + [(padding[d], padding[dims + d]) for d in range(dims)], constant_values=fill)
    out = np.lib.stride_tricks.sliding_window_view(x, window, tuple(range(2, 2 + dims)))
    return out[(slice(None), slice(None)) + tuple(slice(None, None, s) for s in strides)]


def max_pool(x, window, strides, padding):
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    return np.max(windows(x, window, strides, padding, lowest), axis=tuple(range(-len(window), 0)))


def avg_pool(x, window, strides, padding, counted):
    axes = tuple(range(-len(window), 0))
    count = math.prod(window) if counted else np.sum(windows(np.ones_like(x), window, strides, padding, 0), axis=axes)
    return np.sum(windows(x, window, strides, padding, 0), axis=axes) / count


def interpolate(x, sizes, linear):
    for d, size in enumerate(sizes):
        axis, taken = 2 + d, x.shape[2 + d]
        if size == taken:
            continue
        if not linear:
            x = np.take(x, np.arange(size) * taken // size, axis)
            continue
        place = np.maximum((np.arange(size) + 0.5) * taken / size - 0.5, 0)
        below = np.floor(place).astype(np.int64)
        share = (place - below).reshape((1,) * axis + (-1,) + (1,) * (x.ndim - axis - 1))
        a, b = np.take(x, below, axis), np.take(x, np.minimum(below + 1, taken - 1), axis)
        x = a + share * (b - a)
    return x


def convolution_transpose(x, w, strides, padding, more, dilation, groups):
    dims = len(strides)
    whole = [(x.shape[2 + d] - 1) * strides[d] + (w.shape[2 + d] - 1) * dilation[d] + 1 + more[d] for d in range(dims)]
    made, taken = w.shape[1], x.shape[1] // groups
    out = np.zeros((x.shape[0], made * groups, *whole), x.dtype)
    for tap in np.ndindex(*w.shape[2:]):
        box = tuple(slice(tap[d] * dilation[d], tap[d] * dilation[d] + (x.shape[2 + d] - 1) * strides[d] + 1, strides[d]) for d in range(dims))
        for g in range(groups):
            part = w[(slice(g * taken, (g + 1) * taken), slice(None), *tap)]
            out[(slice(None), slice(g * made, (g + 1) * made), *box)] += np.einsum("co,nc...->no...", part, x[:, g * taken : (g + 1) * taken])
    return out[(slice(None), slice(None)) + tuple(slice(padding[d], whole[d] - padding[dims + d]) for d in range(dims))]


def attention_general(i, scale, causal, window, cap, masked):
    """One head after the other, each with the keys and values of its group."""
    q, k, v = i[:3]
    mask = i[3] if masked else None
    slopes = i[3 + masked] if len(i) > 3 + masked else None
    out = np.zeros(q.shape[:-1] + v.shape[-1:])
    heads, queries, keys = q.shape[-3], q.shape[-2], k.shape[-2]
    distance = np.arange(keys)[None, :] - (np.arange(queries)[:, None] + keys - queries)
    if mask is not None:
        mask = np.broadcast_to(mask, q.shape[:-1] + (keys,))
    for h in range(heads):
        shared = h // (heads // k.shape[-3])
        scores = np.matmul(q[..., h, :, :], np.swapaxes(k[..., shared, :, :], -1, -2)) * (scale or 1 / math.sqrt(q.shape[-1]))
        if cap:
            scores = cap * np.tanh(scores / cap)
        if slopes is not None:
            scores = scores - slopes[h] * np.abs(distance)
        if mask is not None:
            scores = scores + mask[..., h, :, :]
        if causal:
            scores = np.where(distance <= 0, scores, -np.inf)
        if window:
            scores = np.where((-distance if causal else np.abs(distance)) < window, scores, -np.inf)
        out[..., h, :, :] = np.matmul(base.softmax(scores, -1), v[..., shared, :, :])
    return out


# ---- RWKV-7, token after token

def token_shift(x, state, mix, runs):
    before = np.zeros_like(x)
    for number, first, count in runs.tolist():
        for t in range(first, first + count):
            before[t] = state[number] if t == first else x[t - 1]
    return x + (before - x) * mix


def shift_state(x, state, runs):
    out = np.array(state)
    for number, first, count in runs.tolist():
        if count:
            out[number] = x[first + count - 1]
    return out


def channel_mix(x, state, mix, key, value, runs):
    return np.maximum(token_shift(x, state, mix, runs) @ key.T, 0) ** 2 @ value.T


def channel_noise(x, state, mix, key, value, runs):
    size = x + (token_shift(x, state, np.ones(()), runs) + x) * mix
    return (size @ key.T) ** 2 @ value.T


def time_first(y, r, k, v, r_k):
    return y + np.sum(r * k * r_k, axis=-1, keepdims=True) * v


def time_mix(r, w, packed, state, runs):
    k, v, a, kk = packed
    out, state = np.zeros_like(r), np.array(state)
    for number, first, count in runs.tolist():
        for t in range(first, first + count):
            for h in range(r.shape[1]):
                s = state[number, h]
                removed = s @ -kk[t, h]
                s = s * w[t, h] + np.outer(removed, kk[t, h] * a[t, h]) + np.outer(v[t, h], k[t, h])
                state[number, h] = s
                out[t, h] = s @ r[t, h]
    return out, state


def time_mix_grad(r, w, packed, state, to_out, to_state, runs):
    """With matrices: the state becomes S @ M + outer(v, k), where M = diag(w) - outer(kk, kk * a)."""
    k, v, a, kk = packed
    to_r, to_w, to_packed, to_state = np.zeros_like(r), np.zeros_like(w), np.zeros_like(packed), np.array(to_state)
    for number, first, count in runs.tolist():
        for h in range(r.shape[1]) if count else ():
            tokens = range(first, first + count)
            matrices = {t: np.diag(w[t, h]) - np.outer(kk[t, h], kk[t, h] * a[t, h]) for t in tokens}
            states = [np.array(state[number, h])]
            for t in tokens:
                states.append(states[-1] @ matrices[t] + np.outer(v[t, h], k[t, h]))
            flow = to_state[number, h]
            for t in reversed(tokens):
                after, before = states.pop(), states[-1]
                to_r[t, h] = to_out[t, h] @ after
                flow = flow + np.outer(to_out[t, h], r[t, h])
                to_matrix = before.T @ flow
                to_w[t, h] = np.diag(to_matrix)
                to_b = -(kk[t, h] @ to_matrix)
                to_packed[:, t, h] = [v[t, h] @ flow, flow @ k[t, h], to_b * kk[t, h], to_b * a[t, h] - to_matrix @ (kk[t, h] * a[t, h])]
                flow = flow @ matrices[t].T
            to_state[number, h] = flow
    return to_r, to_w, to_packed, to_state


FORMULAS = {
    "silu": lambda i, a, w: silu(i[0]),
    "softplus": lambda i, a, w: softplus(i[0]),
    "mish": lambda i, a, w: i[0] * np.tanh(softplus(i[0])),
    "elu": lambda i, a, w: np.where(i[0] > 0, i[0], np.expm1(i[0]) * a[0]),
    "leaky_relu": lambda i, a, w: np.where(i[0] < 0, i[0] * a[0], i[0]),
    "squared_relu": lambda i, a, w: base.relu(i[0]) ** 2,
    "glu": lambda i, a, w: glu(i[0], a[0]),
    "swiglu": lambda i, a, w: silu(i[0]) * i[1],
    "affine": lambda i, a, w: i[0] * i[1] + i[2],
    "lerp": lambda i, a, w: lerp(*i, a[0]),
    "blend": lambda i, a, w: i[0] * i[2] + i[1] * (1 - i[2]),
    "add_activate": lambda i, a, w: add_activate(*i, *a),
    "log_softmax": lambda i, a, w: log_softmax(i[0], a[0]),
    "l2_norm": lambda i, a, w: l2_norm(i[0], *a),
    "group_norm": lambda i, a, w: group_norm(*i, *a),
    "batch_norm": lambda i, a, w: batch_norm(*i, a[0]),
    "embedding": lambda i, a, w: i[0][i[1].astype(np.int64)],
    "one_hot": lambda i, a, w: one_hot(i[0], w[1]),
    "cross_entropy": lambda i, a, w: cross_entropy(*i, *a),
    "dropout": lambda i, a, w: dropout(*i, a[0]),
    "tril": lambda i, a, w: np.tril(i[0], a[0]),
    "triu": lambda i, a, w: np.triu(i[0], a[0]),
    "rope": lambda i, a, w: rope(*i, *a),
    "max_pool": lambda i, a, w: max_pool(i[0], *a),
    "avg_pool": lambda i, a, w: avg_pool(i[0], *a),
    "interpolate": lambda i, a, w: interpolate(i[0], *a),
    "convolution_transpose": lambda i, a, w: convolution_transpose(*i, *a),
    "attention_general": lambda i, a, w: attention_general(i, *a),
    "token_shift": lambda i, a, w: token_shift(*i),
    "shift_state": lambda i, a, w: shift_state(*i),
    "channel_mix_v7": lambda i, a, w: channel_mix(*i),
    "control_k_v7": lambda i, a, w: i[0] * (1 + (i[1] - 1) * i[2]),
    "pack_kvakk": lambda i, a, w: np.stack(i),
    "time_first_v7": lambda i, a, w: time_first(*i),
    "time_mix_v7": lambda i, a, w: time_mix(*i)[0],  # see check_time_mix
    "time_mix_v7_grad": lambda i, a, w: time_mix_grad(*i)[0],
}

NOISE = {
    "silu": lambda i, a: np.abs(i[0]),
    "mish": lambda i, a: np.abs(i[0]),
    "glu": lambda i, a: np.abs(np.split(i[0], 2, a[0])[0]),
    "swiglu": lambda i, a: np.abs(i[0] * i[1]),
    "affine": lambda i, a: np.abs(i[0] * i[1]) + np.abs(i[2]),
    "lerp": lambda i, a: np.abs(i[0]) + np.abs(i[1]) + np.abs(i[2]) * (np.abs(i[0]) + np.abs(i[1])),
    "blend": lambda i, a: np.abs(i[0] * i[2]) + np.abs(i[1]) * (1 + np.abs(i[2])),
    "add_activate": lambda i, a: np.abs(i[0]) + np.abs(i[1]),
    "log_softmax": lambda i, a: np.abs(i[0]) + np.max(np.abs(i[0]), axis=a[0], keepdims=True, initial=0),
    "group_norm": lambda i, a: group_noise(*i, *a),
    "attention_general": lambda i, a: np.max(np.abs(i[2]), initial=0) * i[2].shape[-2],
    "token_shift": lambda i, a: np.max(np.abs(i[0]), initial=1) * (1 + np.max(np.abs(i[2]), initial=1)) * 2,
    "channel_mix_v7": lambda i, a: channel_noise(*map(np.abs, i)),
    "control_k_v7": lambda i, a: np.abs(i[0]) * (1 + (np.abs(i[1]) + 1) * np.abs(i[2])),
    "time_first_v7": lambda i, a: np.abs(i[0]) + np.sum(np.abs(i[1] * i[2] * i[4]), axis=-1, keepdims=True) * np.abs(i[3]),
    "rope": lambda i, a: np.full(i[0].shape, np.max(np.abs(i[0]), initial=0)),
    "avg_pool": lambda i, a: avg_pool(np.abs(i[0]), *a),
    "interpolate": lambda i, a: interpolate(np.abs(i[0]), *a) * 2,
    "convolution_transpose": lambda i, a: convolution_transpose(np.abs(i[0]), np.abs(i[1]), *a),
    "batch_norm": lambda i, a: batch_norm(np.abs(i[0]), -np.abs(i[1]), i[2], np.abs(i[3]), np.abs(i[4]), a[0]),
}



# ---- ops whose operands have types of their own

FIRST_TYPE = {"embedding", "cross_entropy", "dropout", "rope", "token_shift", "channel_mix_v7"}  # the result has the first operand's type
RUNS = {"token_shift", "shift_state", "channel_mix_v7"}  # their last operand says which tokens belong together
EXACT = {"embedding", "one_hot", "tril", "triu", "max_pool", "shift_state", "pack_kvakk"}


def mixed_cases(oracle, op, dtype):
    """Cases of an op whose last operand, of type `dtype`, is not of the first one's type."""
    name, cases = op["name"], []
    firsts = {"embedding": ["bool", "i16", "f32", "c64"]}.get(name, ["f16", "bf16", "f32", "f64"])
    for first in firsts:
        for case in op["cases"]:
            shapes, attrs = case["inputs"], case["attrs"]
            low, high = op["sample"]
            if name == "dropout":
                keys = [np.array(k, np.uint64) for k in (0, 1234567, 2**64 - 1)]
                for key in keys:
                    cases.append(("key %d" % key, [(first, oracle.sampled(first, shapes[0], -4, 4)), (dtype, key)], attrs))
                continue
            data = oracle.any_bits(first, shapes[0]) if name == "embedding" else oracle.sampled(first, shapes[0], -4, 4)
            cases.append(("%s %s" % (first, shapes), [(first, data), (dtype, oracle.sampled(dtype, shapes[1], low, high))], attrs))
        if name == "cross_entropy":
            cases += entropy_cases(oracle, first, dtype)
    return [oracle.make_case(op, label, inputs, attrs, column=dtype) for label, inputs, attrs in cases]


def entropy_cases(oracle, first, dtype):
    numpy = base.types.NUMPY[dtype]
    rows = base.types.narrow(first, np.array([[1, 2, 3], [0, -np.inf, 1], [5, 5, 5], [-60, 0, 60]]))
    special = base.types.narrow(first, np.array([[1, np.nan, 3], [0, np.inf, 1], [-np.inf] * 3, [1, 2, 3]]))
    targets = [np.array(t, numpy) for t in ([2, 0, 1, 2], [2, 2, 2, 2], [2, 3, 1, 2])]
    cases = [("rows", [(first, rows), (dtype, t)], [s, ignored]) for t in targets for s, ignored in ((0.0, -100), (0.0, 2), (0.5, 0))]
    cases += [("row %d special" % i, [(first, special[i : i + 1]), (dtype, np.array([2], numpy))], [0.0, g]) for i in range(4) for g in (7, 2)]
    return cases


def ragged():
    """(tokens, states, runs): one run, several in any order, empty ones, tokens and states that no run has."""
    return [(5, 1, [[0, 0, 5]]), (7, 3, [[2, 0, 3], [0, 3, 1], [1, 4, 3]]), (6, 4, [[3, 4, 2], [1, 0, 3], [0, 2, 0]]),
            (1, 1, [[0, 0, 1]]), (3, 2, []), (0, 2, []), (9, 2, [[1, 2, 6]])]


def run_cases(oracle, op, dtype):
    name, cases = op["name"], []
    for first in ("f16", "bf16", "f32", "f64"):
        for tokens, states, runs in ragged():
            draw = lambda *shape: (first, oracle.sampled(first, shape, -2, 2))
            for mix in ((6,), (3, 1, 6)) if name == "token_shift" else ((6,),):
                inputs = [draw(tokens, 6), ("f32", oracle.sampled("f32", (states, 6), -2, 2))]
                inputs += {"token_shift": [draw(*mix)], "channel_mix_v7": [draw(*mix), draw(8, 6), draw(5, 8)]}.get(name, [])
                inputs.append((dtype, np.array(runs, base.types.NUMPY[dtype]).reshape(-1, 3)))
                cases.append(oracle.make_case(op, "%s %d tokens, runs %s" % (first, tokens, runs), inputs, [], column=dtype))
    return cases


def check_time_mix(oracle, op):
    """time_mix_v7 has two results and time_mix_v7_grad four, each out of its bundle. f32 within 1e-5 of the formula in f64."""
    for dtype in ("f16", "bf16", "f32", "f64"):
        for index in ("i32", "i64"):
            for (tokens, states, runs), (heads, size) in zip(ragged() * 2, [(2, 4), (1, 16), (3, 5), (2, 64), (1, 33), (1, 1), (2, 8)] * 2):
                compare_time_mix(oracle, op, dtype, index, time_mix_inputs(oracle, op, dtype, index, (tokens, heads, size), states, runs))
    for label, runs, named in (("a state that is not there", [[2, 0, 1]], "state 2"), ("too many tokens", [[0, 1, 3]], "3 tokens from 1"),
                               ("a shared state", [[0, 0, 1], [0, 1, 1]], "share state 0"), ("a shared token", [[0, 0, 2], [1, 1, 1]], "share token 1")):
        text, files, _ = time_mix_program(oracle, op, time_mix_inputs(oracle, op, "f32", "i64", (3, 1, 2), 2, runs))
        oracle.check_error(op, label, oracle.run_program(text, files, []), named, "i64")


def time_mix_inputs(oracle, op, dtype, index, shape, states, runs):
    """Operands by name, in order, such as a model makes them."""
    types, (tokens, heads, size) = base.types, shape
    kk = oracle.random.uniform(-1, 1, shape)
    kk /= np.maximum(np.sqrt(np.sum(kk * kk, -1, keepdims=True)), 1e-12)
    planes = [oracle.random.uniform(-1, 1, shape), oracle.random.uniform(-1, 1, shape), oracle.random.uniform(0, 1, shape), kk]
    state = lambda: ("f32", oracle.sampled("f32", (states, heads, size, size), -1, 1))
    inputs = {"r": (dtype, types.narrow(dtype, oracle.random.uniform(-1, 1, shape))),
              "w": (dtype, types.narrow(dtype, oracle.random.uniform(0.55, 1, shape))),
              "n": (dtype, types.narrow(dtype, np.stack(planes))), "s": state()}
    if op == "time_mix_v7_grad":
        inputs |= {"dy": (dtype, types.narrow(dtype, oracle.random.uniform(-1, 1, shape))), "ds": state()}
    return inputs | {"u": (index, np.array(runs, types.NUMPY[index]).reshape(-1, 3))}


def time_mix_program(oracle, op, inputs):
    """The program, its files, and the results by name, of which each is like an operand."""
    made = [inputs[name] for name in ("rs" if op == "time_mix_v7" else "rwns")]
    room = lambda d, x: -(-{"f16": 2, "bf16": 2, "f32": 4, "f64": 8}[d] * x.size // 64) * 64
    spec = lambda d, x: "%s[%s]" % (d, ", ".join(map(str, x.shape)))
    files = []
    for name, (d, array) in inputs.items():
        base.types.save(oracle.path(name + ".npy"), d, array)
        files.append((name, oracle.path(name + ".npy")))
    text = "program(%s) {\n" % ", ".join("%s: %s" % (n, spec(d, x)) for n, (d, x) in inputs.items())
    text += "  %%0 = %s(%s) : u8[%d]\n" % (op, ", ".join(inputs), sum(room(*one) for one in made))
    results, offset = {}, 0
    for i, (d, x) in enumerate(made):
        text += "  %%%d = part(%%0) offset=%d : %s\n" % (i + 1, offset, spec(d, x))
        results["y%d" % i] = d
        offset += room(d, x)
    text += "  return %s\n}\n" % ", ".join("%%%d as y%d" % (i + 1, i) for i in range(len(made)))
    return text, files, results


def compare_time_mix(oracle, op, dtype, index, inputs):
    text, files, results = time_mix_program(oracle, op, inputs)
    shape = inputs["r"][1].shape
    done = oracle.run_program(text, files, [(name, oracle.path(name + ".npy")) for name in results])
    if done.returncode != 0:
        oracle.record(op, index, "%s %s: %s" % (dtype, shape, done.stderr.strip()))
        return
    wanted = {"time_mix_v7": time_mix, "time_mix_v7_grad": time_mix_grad}[op](*[base.types.widen(d, x) for d, x in inputs.values()])
    for (name, kind), expected in zip(results.items(), wanted):
        got = base.types.widen(kind, base.types.load(oracle.path(name + ".npy"), kind))
        worst = np.max(np.abs(got - expected) / (1 + np.abs(expected)), initial=0)
        bound = {"f16": 1e-3, "bf16": 8e-3}.get(kind, 1e-5)
        problem = None if worst <= bound else "%s %s: result %s is off by %g" % (dtype, shape, name, worst)
        oracle.record(op, index, problem)
