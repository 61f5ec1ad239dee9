"""The work of work.py in each library: a class a library, a method a kind of work.

A method takes operands as the library holds them and returns what is timed, a function of no arguments that returns when the
result is there. What a class lacks, the library is not compared on.
"""

import math
import os
import shutil

import numpy as np

EPS = 1e-5
SCALE = 0.5  # of the low rank product


def chain(x, y, tanh=None):
    z = x
    for _ in range(10):
        z = z * y + 0.5
        z = (tanh(z) if tanh else z) - y
    return z


def rms_norm(x, w, mean, sqrt):
    return x / sqrt(mean(x * x) + EPS) * w


def layer_norm(x, w, b, mean, sqrt):
    centred = x - mean(x)
    return centred / sqrt(mean(centred * centred) + EPS) * w + b


def lora(x, w, a, b):
    return x @ w + (x @ a) @ b * SCALE


class Library:
    """One whose functions are made of Python functions by `compiled`, and whose results `finish` waits for."""

    def operands(self, work):
        arrays = work.arrays()
        out = [self.array(a, work.dtype) for a in arrays]
        if work.kind == "scatter_add":  # the last operand says where in the first, as a share of its length
            out[-1] = self.integers((arrays[-1] * len(arrays[0])).astype(np.int64))
        return out

    def integers(self, a):
        raise NotImplementedError("no positions")

    def prepare(self, work):
        """The function that is timed."""
        expression = getattr(self, work.kind, None)
        if expression is None:
            raise NotImplementedError("no %s" % work.kind)
        operands = self.operands(work)
        function = self.compiled(expression)
        return lambda: self.finish(function(*operands))

    def compiled(self, function):
        return function

    def finish(self, result):
        return result


class Numpy(Library):
    def array(self, a, dtype):
        if dtype != "f32":
            raise NotImplementedError("no %s" % dtype)
        return a

    def numbers(self, result):
        return result

    def mean(self, x):
        return x.mean(-1, keepdims=True)

    def tanh_chain(self, x, y, w, b):
        return chain(x, y, np.tanh)

    def chain(self, x, y, w, b):
        return chain(x, y)

    def sum_squares(self, x, y, w, b):
        return ((x - y) ** 2).sum()

    def softmax(self, x, y=None, w=None, b=None):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def rms_norm(self, x, y, w, b):
        return rms_norm(x, w, self.mean, np.sqrt)

    def layer_norm(self, x, y, w, b):
        return layer_norm(x, w, b, self.mean, np.sqrt)

    def matmul(self, a, b, bias):
        return a @ b

    def lora(self, x, w, a, b):
        return lora(x, w, a, b)

    def integers(self, a):
        return a

    def sort(self, x):
        return np.sort(x)

    def topk(self, x):
        at = np.argpartition(x, -100)[-100:]
        return x[at[np.argsort(-x[at])]]

    def cumsum(self, x):
        return np.cumsum(x)

    def scatter_add(self, x, updates, positions):
        out = x.copy()
        np.add.at(out, positions, updates)
        return out

    def attention(self, q, k, v):
        return self.softmax(q @ k.transpose(0, 2, 1) * np.float32(1 / math.sqrt(q.shape[-1]))) @ v


class Torch(Library):
    def __init__(self):
        import torch

        torch.set_num_threads(os.cpu_count())
        torch.set_grad_enabled(False)
        self.torch = torch
        self.f = torch.nn.functional

    def array(self, a, dtype):
        return self.torch.from_numpy(a).to({"f32": self.torch.float32, "bf16": self.torch.bfloat16}[dtype])

    def numbers(self, result):
        return result.float().numpy()

    def tanh_chain(self, x, y, w, b):
        return chain(x, y, self.torch.tanh)

    def chain(self, x, y, w, b):
        return chain(x, y)

    def sum_squares(self, x, y, w, b):
        return ((x - y) ** 2).sum()

    def softmax(self, x, y, w, b):
        return self.torch.softmax(x, -1)

    def rms_norm(self, x, y, w, b):
        return self.f.rms_norm(x, (x.shape[-1],), w, EPS)

    def layer_norm(self, x, y, w, b):
        return self.f.layer_norm(x, (x.shape[-1],), w, b, EPS)

    def matmul(self, a, b, bias):
        return a @ b

    def matmul_bias_gelu(self, a, b, bias):
        return self.f.gelu(self.torch.addmm(bias, a, b))

    def lora(self, x, w, a, b):
        return lora(x, w, a, b)

    def convolution(self, x, w):
        return self.f.conv2d(x, w, padding=w.shape[-1] // 2)

    def integers(self, a):
        return self.torch.from_numpy(a)

    def sort(self, x):
        return self.torch.sort(x)[0]

    def topk(self, x):
        return self.torch.topk(x, 100)[0]

    def cumsum(self, x):
        return self.torch.cumsum(x, 0)

    def scatter_add(self, x, updates, positions):
        return x.scatter_add(0, positions, updates)

    def attention(self, q, k, v):
        return self.f.scaled_dot_product_attention(q[None], k[None], v[None])[0]


class TorchCompiled(Torch):
    def compiled(self, function):
        self.torch._dynamo.reset()
        return self.torch.compile(function)


class Jax(Library):
    def __init__(self):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        import jax
        import jax.numpy as jnp

        self.jax, self.jnp = jax, jnp

    def array(self, a, dtype):
        return self.jnp.asarray(a, {"f32": self.jnp.float32, "bf16": self.jnp.bfloat16}[dtype])

    def compiled(self, function):
        return self.jax.jit(function)

    def finish(self, result):
        return result.block_until_ready()

    def numbers(self, result):
        return np.asarray(result.astype(self.jnp.float32))

    def mean(self, x):
        return x.mean(-1, keepdims=True)

    def tanh_chain(self, x, y, w, b):
        return chain(x, y, self.jnp.tanh)

    def chain(self, x, y, w, b):
        return chain(x, y)

    def sum_squares(self, x, y, w, b):
        return ((x - y) ** 2).sum()

    def softmax(self, x, y, w, b):
        return self.jax.nn.softmax(x)

    def rms_norm(self, x, y, w, b):
        return rms_norm(x, w, self.mean, self.jnp.sqrt)

    def layer_norm(self, x, y, w, b):
        return layer_norm(x, w, b, self.mean, self.jnp.sqrt)

    def matmul(self, a, b, bias):
        return a @ b

    def matmul_bias_gelu(self, a, b, bias):
        return self.jax.nn.gelu(a @ b + bias, approximate=False)

    def lora(self, x, w, a, b):
        return lora(x, w, a, b)

    def operands(self, work):
        out = super().operands(work)
        if work.kind == "convolution":  # channels last, as it is fastest
            return [self.jnp.transpose(out[0], (0, 2, 3, 1)), self.jnp.transpose(out[1], (2, 3, 1, 0))]
        return out

    def convolution(self, x, w):
        return self.jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def attention(self, q, k, v):
        scores = self.jnp.einsum("hqd,hkd->hqk", q, k) / math.sqrt(q.shape[-1])
        return self.jax.nn.softmax(scores) @ v


class Mlx(Library):
    def __init__(self):
        import mlx.core as mx

        self.mx = mx
        if mx.default_device() != mx.Device(mx.cpu):
            mx.set_default_device(mx.cpu)

    def array(self, a, dtype):
        return self.mx.array(a).astype({"f32": self.mx.float32, "bf16": self.mx.bfloat16}[dtype])

    def operands(self, work):
        out = super().operands(work)
        if work.kind == "convolution":  # channels last, as it has to be
            out = [self.mx.contiguous(a.transpose(0, 2, 3, 1)) for a in out]
        self.mx.eval(out)
        return out

    def compiled(self, function):
        return self.mx.compile(function)

    def finish(self, result):
        self.mx.eval(result)
        return result

    def numbers(self, result):
        return np.array(result.astype(self.mx.float32))

    def tanh_chain(self, x, y, w, b):
        return chain(x, y, self.mx.tanh)

    def chain(self, x, y, w, b):
        return chain(x, y)

    def sum_squares(self, x, y, w, b):
        return ((x - y) ** 2).sum()

    def softmax(self, x, y, w, b):
        return self.mx.softmax(x, -1)

    def rms_norm(self, x, y, w, b):
        return self.mx.fast.rms_norm(x, w, EPS)

    def layer_norm(self, x, y, w, b):
        return self.mx.fast.layer_norm(x, w, b, EPS)

    def matmul(self, a, b, bias):
        return a @ b

    def matmul_bias_gelu(self, a, b, bias):
        x = self.mx.addmm(bias, a, b)
        return x * (1 + self.mx.erf(x / math.sqrt(2))) / 2

    def lora(self, x, w, a, b):
        return lora(x, w, a, b)

    def convolution(self, x, w):
        return self.mx.conv2d(x, w, padding=w.shape[1] // 2)

    def attention(self, q, k, v):
        return self.mx.fast.scaled_dot_product_attention(q[None], k[None], v[None], scale=1 / math.sqrt(q.shape[-1]))[0]


class Tinygrad(Library):
    def __init__(self):
        # It compiles with clang, by that name or another, or else with the LLVM it finds.
        if shutil.which("clang") is None:
            named = next((c for c in ("clang-%d" % v for v in range(30, 13, -1)) if shutil.which(c)), None)
            os.environ.setdefault(*(("CC", named) if named else ("DEV", "CPU:LLVM")))
        import tinygrad

        self.tinygrad = tinygrad

    def array(self, a, dtype):
        types = {"f32": self.tinygrad.dtypes.float32, "bf16": self.tinygrad.dtypes.bfloat16}
        return self.tinygrad.Tensor(a).cast(types[dtype]).contiguous().realize()

    def compiled(self, function):
        return self.tinygrad.TinyJit(lambda *operands: function(*operands).realize())

    def finish(self, result):
        self.tinygrad.Device[self.tinygrad.Device.DEFAULT].synchronize()
        return result

    def numbers(self, result):
        return result.cast(self.tinygrad.dtypes.float32).numpy()

    def tanh_chain(self, x, y, w, b):
        return chain(x, y, lambda z: z.tanh())

    def chain(self, x, y, w, b):
        return chain(x, y)

    def sum_squares(self, x, y, w, b):
        return ((x - y) ** 2).sum()

    def softmax(self, x, y, w, b):
        return x.softmax()

    def rms_norm(self, x, y, w, b):
        return x * ((x * x).mean(-1, keepdim=True) + EPS).rsqrt() * w

    def layer_norm(self, x, y, w, b):
        return x.layernorm(eps=EPS) * w + b

    def matmul(self, a, b, bias):
        return a @ b

    def matmul_bias_gelu(self, a, b, bias):
        x = a @ b + bias
        return x * (1 + (x / math.sqrt(2)).erf()) / 2

    def lora(self, x, w, a, b):
        return lora(x, w, a, b)

    def convolution(self, x, w):
        return x.conv2d(w, padding=w.shape[-1] // 2)

    def attention(self, q, k, v):
        return q.scaled_dot_product_attention(k, v)


class Lazuli(Library):
    """By its Python module; compare.py asks `lazuli bench` where there is none."""

    def __init__(self):
        os.environ.setdefault("LAZULI_QUICK_START", "0")  # no first calls without machine code among the readings
        import lazuli

        self.lz = lazuli
        lazuli.set_default_device("cpu")

    def array(self, a, dtype):
        return self.lz.array(a).cast({"f32": self.lz.float32, "bf16": self.lz.bfloat16}[dtype]).eval()

    def finish(self, result):
        result.eval()
        return result

    def numbers(self, result):
        return np.asarray(result.cast(self.lz.float32))

    def tanh_chain(self, x, y, w, b):
        return chain(x, y, self.lz.tanh)

    def chain(self, x, y, w, b):
        return chain(x, y)

    def sum_squares(self, x, y, w, b):
        d = x - y
        return (d * d).sum()

    def softmax(self, x, y, w, b):
        return self.lz.softmax(x)

    def rms_norm(self, x, y, w, b):
        return self.lz.rms_norm(x, w, EPS)

    def layer_norm(self, x, y, w, b):
        return self.lz.layer_norm(x, w, b, EPS)

    def matmul(self, a, b, bias):
        return a @ b

    def matmul_bias_gelu(self, a, b, bias):
        return self.lz.matmul_bias(a, b, bias, activation="gelu")

    def lora(self, x, w, a, b):
        return self.lz.lora(x, w, a, b, SCALE)

    def convolution(self, x, w):
        around = w.shape[-1] // 2
        return self.lz.convolution(x, w, [1, 1], [around, around])

    def attention(self, q, k, v):
        return self.lz.attention(q, k, v)


LIBRARIES = {"lazuli": Lazuli, "numpy": Numpy, "torch": Torch, "torch.compile": TorchCompiled, "jax": Jax, "mlx": Mlx,
             "tinygrad": Tinygrad}
