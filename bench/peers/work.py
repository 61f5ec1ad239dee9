"""The work that libraries are compared on. Names are those of `lazuli bench`."""

import dataclasses

import numpy as np

KERNELS = ("tanh_chain", "chain", "sum_squares", "softmax", "rms_norm", "layer_norm")
# Channels in, channels out, height and width, window: the shapes of ResNet-50 behind its first layer.
RESNET = ((64, 64, 56, 3), (128, 128, 28, 3), (256, 256, 14, 3), (512, 512, 7, 3), (64, 256, 56, 1), (256, 64, 56, 1),
          (128, 512, 28, 1), (512, 128, 28, 1), (256, 1024, 14, 1), (1024, 256, 14, 1), (512, 2048, 7, 1), (2048, 512, 7, 1))


@dataclasses.dataclass(frozen=True)
class Work:
    group: str   # a panel of the plot
    kind: str    # what libraries.py implements
    name: str
    dtype: str
    shapes: tuple  # of the operands

    def arrays(self):
        """The operands in f32, the same in every process."""
        random = np.random.default_rng(1)
        return [random.random(shape, dtype=np.float32) for shape in self.shapes]


def all_work():
    out = []
    for dtype in ("f32", "bf16"):
        x = (4096, 8192)
        for kind in KERNELS:
            out.append(Work("4096 x 8192, " + dtype, kind, "%s/%s/4096x8192" % (kind, dtype), dtype, (x, x, x[1:], x[1:])))
    x = (128, 1024)
    for kind in ("softmax", "rms_norm", "layer_norm"):
        out.append(Work("small work and attention, f32", kind, kind + "/f32/128x1024", "f32", (x, x, x[1:], x[1:])))
    out.append(Work("small work and attention, f32", "lora", "lora/f32/128x512r8", "f32", ((128, 512), (512, 512), (512, 8), (8, 512))))
    out.append(Work("small work and attention, f32", "attention", "attention/f32/8x1024x64", "f32", ((8, 1024, 64),) * 3))
    n = (10_000_000,)
    for kind, operands in (("sort", 1), ("topk", 1), ("cumsum", 1), ("scatter_add", 3)):
        out.append(Work("sorting and scanning, 10M elements", kind, kind + "/f32/10000000", "f32", (n,) * operands))
    for dtype in ("f32", "bf16"):
        for kind in ("matmul", "matmul_bias_gelu"):
            for n in (512, 1024, 2048, 4096):
                out.append(Work("products, " + dtype, kind, "%s/%s/%d" % (kind, dtype, n), dtype, ((n, n), (n, n), (n,))))
    for images in (1, 8):
        for channels, made, size, window in RESNET:
            name = "conv%dx%d/f32/%dx%dx%dx%dto%d" % (window, window, images, channels, size, size, made)
            out.append(Work("convolutions, f32, batch of %d" % images, "convolution", name, "f32",
                            ((images, channels, size, size), (made, channels, window, window))))
    return out
