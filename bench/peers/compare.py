#!/usr/bin/env python3
"""Lazuli and its peers on the same work, turn by turn: bench-cpu in a process of its own, the peers in this one.

    compare.py --lazuli build/release/bin/bench-cpu [--rows N] [--columns N] [--rounds N] [--json FILE]

Every round runs each library once on each piece of work; the table shows medians over the rounds and how often the fastest
peer's time ours goes into. Libraries that are not installed are left out, and said so.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

WORK = ["10 x tanh(x*y+0.5)-y", "10 x (x*y+0.5)-y", "sum((x-y)^2)", "softmax", "rms_norm", "layer_norm"]


def chains(tanh):
    def with_tanh(x, y):
        z = x
        for _ in range(10):
            z = tanh(z * y + 0.5) - y
        return z

    def without(x, y):
        z = x
        for _ in range(10):
            z = (z * y + 0.5) - y
        return z

    return with_tanh, without


def torch_work(arrays, compiled):
    import torch

    torch.set_num_threads(os.cpu_count())
    x, y, w, b = (torch.from_numpy(a) for a in arrays)
    first, second = chains(torch.tanh)
    functions = {
        WORK[0]: lambda x, y, w, b: first(x, y),
        WORK[1]: lambda x, y, w, b: second(x, y),
        WORK[2]: lambda x, y, w, b: ((x - y) ** 2).sum(),
        WORK[3]: lambda x, y, w, b: torch.softmax(x, -1),
        WORK[4]: lambda x, y, w, b: torch.nn.functional.rms_norm(x, (x.shape[-1],), w),
        WORK[5]: lambda x, y, w, b: torch.nn.functional.layer_norm(x, (x.shape[-1],), w, b),
    }
    if compiled:
        functions = {name: torch.compile(f) for name, f in functions.items()}
    return {name: (lambda f=f: f(x, y, w, b)) for name, f in functions.items()}


def jax_work(arrays):
    import jax
    import jax.numpy as jnp

    x, y, w, b = (jnp.asarray(a) for a in arrays)
    first, second = chains(jnp.tanh)

    def rms(x, w):
        return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w

    def norm(x, w, b):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * w + b

    functions = [lambda x, y, w, b: first(x, y), lambda x, y, w, b: second(x, y), lambda x, y, w, b: ((x - y) ** 2).sum(),
                 lambda x, y, w, b: jax.nn.softmax(x), lambda x, y, w, b: rms(x, w), lambda x, y, w, b: norm(x, w, b)]
    made = [jax.jit(f) for f in functions]
    return {name: (lambda f=f: f(x, y, w, b).block_until_ready()) for name, f in zip(WORK, made)}


def mlx_work(arrays):
    import mlx.core as mx

    x, y, w, b = (mx.array(a) for a in arrays)
    first, second = chains(mx.tanh)
    functions = [mx.compile(lambda x, y, w, b: first(x, y)), mx.compile(lambda x, y, w, b: second(x, y)),
                 mx.compile(lambda x, y, w, b: ((x - y) ** 2).sum()), lambda x, y, w, b: mx.softmax(x, -1),
                 lambda x, y, w, b: mx.fast.rms_norm(x, w, 1e-5), lambda x, y, w, b: mx.fast.layer_norm(x, w, b, 1e-5)]
    return {name: (lambda f=f: mx.eval(f(x, y, w, b))) for name, f in zip(WORK, functions)}


def numpy_work(arrays):
    x, y, w, b = arrays
    first, second = chains(np.tanh)

    def softmax():
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def rms():
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w

    def norm():
        mean = x.mean(-1, keepdims=True)
        return (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * w + b

    return dict(zip(WORK, [lambda: first(x, y), lambda: second(x, y), lambda: ((x - y) ** 2).sum(), softmax, rms, norm]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lazuli", required=True)
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--columns", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    random = np.random.default_rng(1)
    shape = (options.rows, options.columns)
    arrays = [random.random(s, dtype=np.float32) for s in (shape, shape, shape[1:], shape[1:])]
    peers = {}
    for name, make in (("numpy", numpy_work), ("torch", lambda a: torch_work(a, False)), ("torch.compile", lambda a: torch_work(a, True)),
                       ("jax", jax_work), ("mlx", mlx_work)):
        try:
            peers[name] = make(arrays)
        except ImportError:
            print("%s is not installed" % name, file=sys.stderr)
    seconds = {}
    for round_number in range(options.rounds + 1):
        text = subprocess.run([options.lazuli, "--json", "--rows", str(options.rows), "--columns", str(options.columns)],
                              capture_output=True, text=True, check=True).stdout
        rows = {row["name"]: row["median_us"] / 1e6 for row in json.loads(text)}
        for work in WORK:
            if round_number:
                seconds.setdefault((work, "lazuli"), []).append(rows[work])
            for peer, functions in peers.items():
                try:
                    start = time.perf_counter()
                    functions[work]()
                    taken = time.perf_counter() - start
                except Exception as error:  # a peer that cannot do this work is left out of it
                    if not round_number:
                        print("%s cannot do %s: %s" % (peer, work, str(error).splitlines()[0]), file=sys.stderr)
                    continue
                if round_number:  # the first round compiles
                    seconds.setdefault((work, peer), []).append(taken)
        if sys.stderr.isatty():
            print("round %d of %d" % (round_number, options.rounds), end="\r", file=sys.stderr)
    names = ["lazuli"] + list(peers)
    print("%-24s" % "ms, medians" + "".join("%15s" % n for n in names) + "%12s" % "best/ours")
    result = {}
    for work in WORK:
        medians = {n: statistics.median(seconds[work, n]) for n in names if (work, n) in seconds}
        best = min(t for n, t in medians.items() if n != "lazuli")
        result[work] = {"seconds": medians, "ratio": best / medians["lazuli"]}
        print("%-24s" % work + "".join("%15.2f" % (1e3 * medians[n]) if n in medians else "%15s" % "-" for n in names)
              + "%11.2fx" % (best / medians["lazuli"]))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
