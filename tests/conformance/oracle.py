#!/usr/bin/python3
"""The reference backend against numpy: every op of the table, with every element type of its matrix.

    oracle.py --lazuli PATH [--seed N] [--verbose]

Cases go in as .npy files and a program text, `lazuli run` writes the results as .npy files, and numpy says what they should
be: formulas of their own (oracle_formulas.py), computed in float64, complex128 or exact integers and rounded once. The script
fails when the table has an op it knows no formula for, or a float op without f16, bf16, f32 and f64.

A check is one result tensor (or one error message) compared. How closely:

- to the bit: integers, bool, movement, select, cast, comparisons, maximum, minimum, neg, abs, relu, and add, sub, mul, div and
  sqrt of real floats. Signed zeros count; NaN equals NaN, in movement and select bit by bit.
- libm functions: 1 ulp of the type; f64: 4, since numpy's library may be another.
- complex functions: 1e-6 (c64) or 1e-12 (c128) of each part; 1e-14 of the added terms is allowed where they cancel. Only
  finite operands, and only elements whose result is finite: numpy and C differ at infinities and poles.
- sums, means, dots: f32 and narrower 1 ulp of the f64 result rounded; f64 1e-12.
- composites round after every op they are made of: the record's tolerance, which is made for other backends and therefore
  cut: its ulps to 8 (64 ulps of bf16 are half the value), its absolute part to 16 epsilon of the terms that are added; f16,
  bf16 and complex get 4 epsilon of those terms more.

- linear algebra and Fourier transforms: see oracle_linalg.py.

Exit code: 0, 1 if any check failed, 77 if numpy is missing.
"""

import argparse
import collections
import json
import math
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed")
    sys.exit(77)

import oracle_dtypes as types
import oracle_formulas as formulas
import oracle_linalg
import oracle_composites as composites  # behind the formulas, of which it is a part
from oracle_dtypes import COMPLEX, DTYPES, FLOATS, INTEGERS, NUMPY, PART, narrow, widen

SKIPPED = {"custom_call": "needs a host function, which `lazuli run` does not have",
           "part": "is checked with the ops that have several results",
           "bundle": "is checked with the ops that have several results",
           **dict.fromkeys(("argument", "loop", "cond", "while_loop"), "has bodies; see tests/backend/control_test.cpp"),
           **dict.fromkeys(("checkpoint", "custom_gradient"), "has bodies; see tests/gradients")}

RAW = {"view", "pad", "flip", "unfold", "diagonal", "roll", "repeat", "tile", "contiguous", "select", "reshape", "permute", "broadcast_to", "slice", "concat", "gather",
       "take_along_axis", "dynamic_slice", "dynamic_update_slice", "blit", "stack", "identity", "stop_gradient", "anew"}
EXACT = {"add", "sub", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "max", "argmax", "iota", "random_bits",
         "random_uniform", "relu", "copysign", "scale2", "shift_left", "shift_right", "floor", "ceil", "trunc", "round", "sign", "square",
         "reciprocal", "min", "argmin", "any", "all", "fmax", "fmin", "clamp", "nextafter", "real", "imag", "conj",
         "cummax", "cummin", "sort", "argsort", "argtopk", "searchsorted"}
STORED = {"nextafter"}  # formulas that want the numbers as they are stored
REAL_PART = {"abs", "real", "imag", "var", "std"}
EXACT_IF_REAL = {"mul", "div", "sqrt", "abs"}
SUMS = {"sum", "mean", "dot_general", "einsum", "convolution", "prod", "cumsum", "cumprod", "scatter"}
PICKING = {"take_along_axis", "scatter", "dynamic_slice", "dynamic_update_slice"}  # positions are the last operand
COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "logical_not", "isnan", "isinf", "isfinite", "any", "all",
               "random_bernoulli"}
# Of complex operands these work part by part, or have a stated result, so infinities and NaN are checked too.
COMPLEX_EDGES = {"add", "sub", "neg", "abs", "eq", "ne", "select", "real", "imag", "conj"}

Case = collections.namedtuple("Case", "op row column label inputs attrs dtype expected mode noise tolerance")


# ---- programs

def spec(dtype, shape):
    return "%s[%s]" % (dtype, ", ".join(map(str, shape)))


def attribute_text(kind, value):
    if kind == "bool":
        return "true" if value else "false"
    if kind == "real":
        return repr(float(value))
    if kind in ("axes", "integers"):
        return "[%s]" % ", ".join(map(str, value))
    if kind == "text":
        return json.dumps(value)
    return str(value)


def program_text(cases, attr_defs):
    params, body, results = [], [], []
    for i, case in enumerate(cases):
        names = []
        for k, (dtype, array) in enumerate(case.inputs):
            names.append("p%d_%d" % (i, k))
            params.append("%s: %s" % (names[-1], spec(dtype, array.shape)))
        attrs = "".join(" %s" % v if d["kind"] == "view" else " %s=%s" % (d["name"], attribute_text(d["kind"], v))
                        for d, v in zip(attr_defs, case.attrs))
        body.append("  %%%d = %s(%s)%s : %s\n" % (i, case.op, ", ".join(names), attrs, spec(case.dtype, case.expected.shape)))
        results.append("%%%d as r%d" % (i, i))
    return "program(%s) {\n%s  return %s\n}\n" % (", ".join(params), "".join(body), ", ".join(results))


class Oracle:
    def __init__(self, lazuli, seed, verbose, folder):
        self.lazuli, self.verbose, self.folder = lazuli, verbose, folder
        self.random = np.random.default_rng(seed)
        self.counts = collections.defaultdict(collections.Counter)
        self.passed = 0
        self.failures = []
        self.runs = 0
        listed = self.call(["ops", "--json"])
        if listed.returncode != 0:
            sys.exit("%s ops --json gave %d: %s" % (lazuli, listed.returncode, listed.stderr.strip()))
        self.ops = {op["name"]: op for op in json.loads(listed.stdout)}

    def path(self, name):
        return os.path.join(self.folder, name)

    def call(self, arguments):
        return subprocess.run([self.lazuli] + arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)

    def run_program(self, text, inputs, outputs):
        self.runs += 1
        with open(self.path("program.ir"), "w") as out:
            out.write(text)
        arguments = ["run", self.path("program.ir")]
        for name, path in inputs:
            arguments += ["--input", "%s=%s" % (name, path)]
        for name, path in outputs:
            arguments += ["--output", "%s=%s" % (name, path)]
        return self.call(arguments)

    def record(self, row, column, problem, details=""):
        """One check: `problem` is None if it passed."""
        self.counts[row][column] += 1
        if problem is None:
            self.passed += 1
        else:
            self.failures.append("%s %s: %s%s" % (row, column, problem, details))

    # ---- running cases

    def check_cases(self, cases):
        """Runs cases of one op in one program; if that fails, each alone, to tell which."""
        if not cases:
            return
        attr_defs = self.ops[cases[0].op]["attrs"]
        inputs, outputs = [], []
        for i, case in enumerate(cases):
            for k, (dtype, array) in enumerate(case.inputs):
                name = "p%d_%d" % (i, k)
                types.save(self.path(name + ".npy"), dtype, array)
                inputs.append((name, self.path(name + ".npy")))
            outputs.append(("r%d" % i, self.path("r%d.npy" % i)))
        text = program_text(cases, attr_defs)
        done = self.run_program(text, inputs, outputs)
        if done.returncode != 0 and len(cases) > 1:
            for case in cases:
                self.check_cases([case])
            return
        for i, case in enumerate(cases):
            if done.returncode != 0:
                problem = "%s: lazuli run gave %d: %s" % (case.label, done.returncode, done.stderr.strip())
                self.record(case.row, case.column, problem, "\n" + text)
                continue
            problem, details = self.judge(case, self.path("r%d.npy" % i))
            self.record(case.row, case.column, problem, details)
        for _, path in outputs:
            if os.path.exists(path):
                os.remove(path)

    def judge(self, case, path):
        try:
            got = types.load(path, case.dtype)
        except (OSError, ValueError) as e:
            return "%s: the result cannot be read: %s" % (case.label, e), ""
        if got.shape != case.expected.shape:
            return "%s: shape %s, expected %s" % (case.label, got.shape, case.expected.shape), ""
        bad = wrong_elements(case, got)
        if not np.any(bad):
            return None, ""
        where = tuple(int(n) for n in np.argwhere(bad)[0])
        details = "".join("\n    input %d: %s" % (k, operand_text(dtype, array, where, case)) for k, (dtype, array) in enumerate(case.inputs))
        details += "\n    attributes: %s" % (case.attrs,) if case.attrs else ""
        details += "\n    expected: %s\n    got:      %s" % (value_text(case.dtype, case.expected[where]), value_text(case.dtype, got[where]))
        return "%s: %d of %d elements differ, the first at %s" % (case.label, int(np.sum(bad)), bad.size, list(where)), details

    # ---- values

    def sampled(self, dtype, shape, low, high):
        """Values from a record's range, as `dtype`."""
        if dtype == "bool":
            return self.random.integers(0, 2, shape).astype(np.bool_)
        if dtype in INTEGERS:
            first = max(math.ceil(low), np.iinfo(NUMPY[dtype]).min)
            return np.asarray(self.random.integers(first, max(math.floor(high), first) + 1, shape)).astype(NUMPY[dtype])
        if dtype in COMPLEX:
            return narrow(dtype, self.random.uniform(low, high, shape) + 1j * self.random.uniform(low, high, shape))
        return narrow(dtype, self.random.uniform(low, high, shape))

    def any_bits(self, dtype, shape):
        """Values of every size: random bits; of floats also NaNs, of integers the full range."""
        if dtype == "bool":
            return self.random.integers(0, 2, shape).astype(np.bool_)
        size = np.dtype(NUMPY[dtype]).itemsize
        return np.frombuffer(self.random.bytes(size * math.prod(shape)), NUMPY[dtype]).reshape(shape)

    def make_case(self, op, label, inputs, attrs, wanted=None, row=None, column=None):
        """A case with what numpy says about it. `inputs`: (dtype, array) pairs."""
        name = op["name"]
        wide = [widen(d, a) for d, a in inputs]
        # Moved as they are, NaN payloads and all; numpy has no bf16 to fill padding with.
        raw = name in STORED or name in RAW and not (name == "pad" and inputs[0][0] == "bf16")
        if raw:
            wide = [a for _, a in inputs]
        dtype = wanted[0] if wanted else result_dtype(name, [d for d, _ in inputs])
        with np.errstate(all="ignore"):
            result = formulas.FORMULAS[name](wide, attrs, wanted)
            noise = formulas.NOISE[name](wide, attrs) if name in formulas.NOISE and dtype not in INTEGERS else 0.0
        expected = np.asarray(result) if raw else narrow(dtype, result)
        column = column or inputs[-1][0]
        mode = mode_of(op, inputs[0 if name in composites.FIRST_TYPE else -1][0] if inputs else dtype)
        return Case(name, row or name, column, label, inputs, attrs, dtype, expected, mode, noise, op["tolerance"])

    # ---- elementwise ops

    def elementwise_cases(self, op, dtype):
        low, high = op["sample"]
        operands = op["max_inputs"]
        kinds = ["bool"] + [dtype] * (operands - 1) if op["predicated"] else [dtype] * operands
        shapes = {
            "same shape": [(3, 4)] * operands,
            "rank 0": [()] * operands,
            "empty": [(0, 3)] * operands,
            "one element": [(1,)] * operands,
        }
        if operands > 1:
            shapes["broadcast"] = ([(2, 3, 1), (3, 4)] + [(4,)] * operands)[:operands]
            shapes["broadcast, swapped"] = ([(3, 4), (2, 3, 1)] + [()] * operands)[:operands]
            shapes["number beside tensor"] = ([(), (5,)] + [(5,)] * operands)[:operands]
            shapes["one element repeated"] = ([(2, 3), (1,)] + [(1, 1)] * operands)[:operands]
            shapes["one becomes none"] = ([(1, 3), (0, 3)] + [(3,)] * operands)[:operands]
        drawn = [(label, [self.sampled(k, s, low, high) for k, s in zip(kinds, each)]) for label, each in shapes.items()]
        finite_only = dtype in COMPLEX and op["name"] not in COMPLEX_EDGES
        drawn.append(("many values", [self.sampled(k, (60,), low, high) for k in kinds]))
        if not op["composite"] or dtype in INTEGERS:
            if not finite_only:
                drawn.append(("values of every size", [self.any_bits(k, (150,)) for k in kinds]))
        edges = edge_values(dtype, finite_only)
        if op["name"] in composites.STEPS_LEAVE_RANGE and dtype in FLOATS:
            edges = edges[~np.isin(np.abs(widen(dtype, edges)), [types.LARGEST[dtype], types.TINIEST[dtype]])]
        grids = np.meshgrid(*[np.array([False, True]) if k == "bool" and op["predicated"] else edges for k in kinds], indexing="ij")
        drawn.append(("edge values", [g.reshape(-1) for g in grids]))
        choices = [c["attrs"] for c in op["cases"]] if op["attrs"] else [[]]
        cases = []
        for attrs in [a for i, a in enumerate(choices) if a not in choices[:i]]:
            for label, arrays in drawn:
                cases.append(self.make_case(op, label, list(zip(kinds, arrays)), attrs, column=dtype))
        return cases

    # ---- other ops: the record's cases, and some more

    def listed_cases(self, op, dtype):
        name = op["name"]
        low, high = op["sample"]
        listed = [(c["inputs"], c["attrs"], c["result"]) for c in op["cases"]] + MORE_CASES.get(name, [])
        if name in ("matmul", "matmul_bias"):
            known = formulas.activations_of(dtype)
            shapes = listed[0][0]
            listed = [c for c in listed if c[1][0] in known] + [(shapes, [f], None) for f in known]
        cases = []
        for shapes, attrs, result in listed:
            wanted = (dtype, tuple(result)) if op["shaped"] else None
            label = "x".join(str(list(s)) for s in shapes)
            cases.append(self.make_case(op, label, [(dtype, self.sampled(dtype, s, low, high)) for s in shapes], attrs, wanted))
            if dtype in INTEGERS or name in RAW:
                inputs = [(dtype, self.any_bits(dtype, s)) for s in shapes]
                cases.append(self.make_case(op, label + ", values of every size", inputs, attrs, wanted))
        if dtype in FLOATS + COMPLEX:
            for label, values, attrs in special_rows(name, dtype):
                inputs = [(dtype, values)] + [(dtype, self.sampled(dtype, values.shape[-1:], low, high)) for _ in range(op["min_inputs"] - 1)]
                cases.append(self.make_case(op, label, inputs, attrs))
        return cases

    def constant_cases(self, op, dtype):
        if dtype == "bool":
            values = np.array([False, True])
        else:
            values = np.concatenate([edge_values(dtype, False), self.sampled(dtype, (3,), *op["sample"])])
        cases = []
        for i, value in enumerate(widen(dtype, values).tolist()):
            shape = ((3, 4), (), (0, 3), (1,))[i % 4] if i > 3 else (2,)
            text = constant_text(value)
            expected = np.broadcast_to(values[i], shape)
            cases.append(Case("constant", "constant", dtype, text, [], [text], dtype, expected, "exact", 0.0, op["tolerance"]))
        return cases

    def cast_cases(self, op, dtype):
        cases = []
        values = cast_values(dtype)
        wide = self.any_bits(dtype, (60,))
        for to in DTYPES:
            for label, array in (("representative values", values), ("values of every size", wide), ("rank 0", values[-1:].reshape(())),
                                 ("empty", values[:0].reshape(0, 3))):
                expected = formulas.cast(dtype, array, to)
                cases.append(Case("cast", "cast", dtype, "to %s: %s" % (to, label), [(dtype, array)], [], to, expected, "exact", 0.0, op["tolerance"]))
        return cases

    def bitcast_cases(self, op, dtype):
        cases = []
        for to in DTYPES:
            if np.dtype(NUMPY[to]).itemsize != np.dtype(NUMPY[dtype]).itemsize:
                continue
            for shape in ((60,), (), (0, 3)):
                array = self.any_bits(dtype, shape)
                expected = np.frombuffer(array.tobytes(), NUMPY["u8" if to == "bool" else to]).reshape(shape)
                expected = expected != 0 if to == "bool" else expected
                cases.append(Case("bitcast", "bitcast", dtype, "to %s %s" % (to, shape), [(dtype, array)], [], to, expected, "raw", 0.0, op["tolerance"]))
        return cases

    def iota_cases(self, op, dtype):
        listed = [(c["attrs"], c["result"]) for c in op["cases"]] + [([0], [300]), ([1], [2, 3000]), ([0], [70000])]
        return [self.make_case(op, str(shape), [], attrs, (dtype, tuple(shape)), column=dtype) for attrs, shape in listed]

    def gather_cases(self, op, dtype, row=None):
        """`dtype` is that of the index if it is listed in the record and no row is named; else that of the elements."""
        low, high = op["sample"]
        data, index = (dtype, "i64") if row else ("f32", dtype)
        listed = [(c["inputs"], c["attrs"]) for c in op["cases"]] + [(([3, 2, 4], [2, 1, 2]), [1]), (([2, 0], [3]), [0])]
        cases = []
        for shapes, attrs in listed:
            inputs = [(data, self.any_bits(data, shapes[0])), (index, self.sampled(index, shapes[1], low, high))]
            cases.append(self.make_case(op, "x".join(map(str, shapes)), inputs, attrs, row=row, column=dtype))
        # every valid position, from -n to n-1
        first = -4 if np.iinfo(NUMPY[index]).min < 0 else 0
        inputs = [(data, self.any_bits(data, (4, 3))), (index, np.arange(first, 4).astype(NUMPY[index]))]
        return cases + [self.make_case(op, "all positions", inputs, [0], row=row, column=dtype)]

    def picking_cases(self, op, dtype, row=None):
        """As gather_cases. Complex numbers of every size are left out: numpy and C multiply infinities differently."""
        low, high = op["sample"]
        data, index = (dtype, "i64") if row else ("f32", dtype)
        draw = (lambda s: self.sampled(data, s, -4, 4)) if data in COMPLEX else (lambda s: self.any_bits(data, s))
        cases = []
        for c in op["cases"]:
            shapes, attrs = c["inputs"], c["attrs"]
            if data in COMPLEX and attrs[-1:] in (["min"], ["max"]):
                continue
            inputs = [(data, draw(s)) for s in shapes[:-1]] + [(index, self.sampled(index, shapes[-1], low, high))]
            cases.append(self.make_case(op, "x".join(map(str, shapes)), inputs, attrs, row=row, column=dtype)._replace(
                mode=mode_of(op, data)))
        return cases

    def random_cases(self, op, dtype):
        keys = [0, 1, 2**64 - 1, 0x0370734413198A2E] + [int(k) for k in self.random.integers(0, 2**63, 3)]
        cases = []
        for key in keys:
            for case in op["cases"]:
                inputs = [("u64", np.array(key, np.uint64))]
                wanted = (dtype, tuple(case["result"])) if op["shaped"] else None
                label = "key %#x %s %s" % (key, case["attrs"], case["result"])
                for shape in case["inputs"][1:]:
                    inputs.append((dtype, self.sampled(dtype, shape, *op["sample"])))
                cases.append(self.make_case(op, label, inputs, case["attrs"], wanted, column=dtype))
            if op["name"] == "random_categorical":  # what is never chosen, and what always is
                inf, nan = math.inf, math.nan
                rows = narrow(dtype, np.array([[-inf, 0, -inf], [-inf, -inf, -inf], [0, inf, inf], [inf, nan, 0], [-inf, -inf, 5]]))
                cases.append(self.make_case(op, "special rows", [("u64", np.array(key, np.uint64)), (dtype, rows)], [1], column=dtype))
        return cases

    def check_ops(self):
        for name, op in self.ops.items():
            if op["leaf"] or name in SKIPPED:
                continue
            if name in oracle_linalg.OPS:
                oracle_linalg.check(self, name, op)
                continue
            if name in ("time_mix_v7", "time_mix_v7_grad"):
                composites.check_time_mix(self, name)
                continue
            if name not in formulas.FORMULAS and name not in ("constant", "cast", "bitcast"):
                self.record(name, "-", "the op table has this op, but there is no formula for it here")
                continue
            there = [d for d in FLOATS if d in op["dtypes"]]
            if there and there != FLOATS:
                self.record(name, "-", "a float op must take f16, bf16, f32 and f64; it takes %s" % ", ".join(there))
            own = {"constant": self.constant_cases, "cast": self.cast_cases, "bitcast": self.bitcast_cases, "iota": self.iota_cases, "gather": self.gather_cases}
            own.update({mixed: lambda op, dtype: composites.mixed_cases(self, op, dtype) for mixed in composites.FIRST_TYPE})
            own.update({mixed: lambda op, dtype: composites.run_cases(self, op, dtype) for mixed in composites.RUNS})
            if name.startswith("random_"):  # the record's type is the key's
                own_types = {"random_bits": INTEGERS, "random_bernoulli": ["bool"], "random_permutation": ["i64"]}
                make, dtypes = self.random_cases, own_types.get(name, FLOATS)
            elif name in PICKING:
                make, dtypes = self.picking_cases, op["dtypes"]
            else:
                make, dtypes = own.get(name, self.elementwise_cases if op["elementwise"] else self.listed_cases), op["dtypes"]
            started = time.time()
            for dtype in dtypes:
                self.check_cases(make(op, dtype))
            if name == "gather":
                for dtype in DTYPES:
                    self.check_cases(self.gather_cases(op, dtype, "gather elements"))
            if name in PICKING:
                for dtype in DTYPES:
                    self.check_cases(self.picking_cases(op, dtype, name + " elements"))
            if self.verbose:
                print("%-16s %6d checks  %5.2f s" % (name, sum(self.counts[name].values()), time.time() - started), flush=True)

    def check_distribution(self):
        """Mean and deviation over 100000 draws."""
        count = 100000
        text = ("program(k: u64[]) {\n  %%0 = random_normal(k) : f64[%d]\n  %%1 = random_uniform(k) : f64[%d]\n  return %%0 as n, %%1 as u\n}\n"
                % (count, count))
        types.save(self.path("k.npy"), "u64", np.array(20110612, np.uint64))
        done = self.run_program(text, [("k", self.path("k.npy"))], [("n", self.path("n.npy")), ("u", self.path("u.npy"))])
        if done.returncode != 0:
            self.record("random_normal", "f64", "the draws failed: " + done.stderr.strip())
            return
        normal, uniform = np.load(self.path("n.npy")), np.load(self.path("u.npy"))
        five = 5 / math.sqrt(count)  # five deviations of a mean
        for row, what, value, wanted, bound in (
            ("random_normal", "mean", normal.mean(), 0, five),
            ("random_normal", "deviation", normal.std(), 1, five / math.sqrt(2)),
            ("random_normal", "third moment", (normal**3).mean(), 0, five * math.sqrt(15)),
            ("random_normal", "fourth moment", (normal**4).mean(), 3, five * math.sqrt(96)),
            ("random_normal", "farthest", np.abs(normal).max(), 4.3, 1.5),
            ("random_normal", "correlation of neighbours", (normal[1:] * normal[:-1]).mean(), 0, five),
            ("random_uniform", "mean", uniform.mean(), 0.5, five * math.sqrt(1 / 12)),
            ("random_uniform", "deviation", uniform.std(), math.sqrt(1 / 12), five * 0.13),
            ("random_uniform", "range", float(uniform.min() >= 0 and uniform.max() < 1), 1, 0),
        ):
            problem = None if abs(value - wanted) <= bound else "%s of %d draws is %g, expected %g +- %g" % (what, count, value, wanted, bound)
            self.record(row, "f64", problem)

    # ---- .npy files

    def check_npy(self):
        for dtype in DTYPES:
            self.check_npy_of(dtype)
        self.check_npy_errors()

    def check_npy_of(self, dtype):
        matrix = self.any_bits(dtype, (3, 4))
        cube = self.any_bits(dtype, (2, 3, 4))
        little = types.DESCR[dtype]
        files = []

        def add(label, array, content=None):
            files.append((label, array, content))

        add("as numpy writes it", matrix)
        add("rank 0", matrix[0, 0].reshape(()))
        add("empty", matrix[:0])
        add("empty, three dimensions", self.any_bits(dtype, (2, 0, 3)))
        add("one element", matrix[:1, :1])
        add("rank 1", matrix[0])
        add("Fortran order", matrix, types.npy_bytes(little, matrix.shape, matrix.tobytes(order="F"), fortran=True))
        add("Fortran order, three dimensions", cube, types.npy_bytes(little, cube.shape, cube.tobytes(order="F"), fortran=True))
        add("Fortran order, rank 1", cube[0, 0], types.npy_bytes(little, (4,), cube[0, 0].tobytes(), fortran=True))
        add("version 2", matrix, types.npy_bytes(little, matrix.shape, matrix.tobytes(), version=2))
        add("version 3", matrix, types.npy_bytes(little, matrix.shape, matrix.tobytes(), version=3))
        if dtype == "bf16":  # what numpy calls it; a void has no byte order, so there is no big-endian one
            add("descr |V2", matrix, types.npy_bytes("|V2", matrix.shape, matrix.tobytes()))
        elif little[0] == "<":
            swapped = cube.astype(cube.dtype.newbyteorder(">"))
            big = ">" + little[1:]
            add("big-endian", cube, types.npy_bytes(big, cube.shape, swapped.tobytes()))
            add("big-endian, Fortran order, version 2", cube,
                types.npy_bytes(big, cube.shape, swapped.tobytes(order="F"), fortran=True, version=2))
        params, inputs, outputs, results = [], [], [], []
        for i, (_, array, content) in enumerate(files):
            name = "x%d" % i
            if content is None:
                types.save(self.path(name + ".npy"), dtype, array)
            else:
                with open(self.path(name + ".npy"), "wb") as out:
                    out.write(content)
            params.append("%s: %s" % (name, spec(dtype, array.shape)))
            inputs.append((name, self.path(name + ".npy")))
            outputs.append(("y%d" % i, self.path("y%d.npy" % i)))
            results.append("%s as y%d" % (name, i))
        done = self.run_program("program(%s) {\n  return %s\n}\n" % (", ".join(params), ", ".join(results)), inputs, outputs)
        for i, (label, array, _) in enumerate(files):
            if done.returncode != 0:
                self.record("npy", dtype, "%s: the round trip failed: %s" % (label, done.stderr.strip()))
                continue
            with open(outputs[i][1], "rb") as file:
                written = file.read()
            problem = None
            try:
                got = types.load(outputs[i][1], dtype)
                if got.shape != array.shape or got.tobytes() != array.tobytes():
                    problem = "%s: %r came back as %r" % (label, array, got)
                elif ("'descr': '%s'" % little).encode() not in written:
                    problem = "%s: the descr written is not %s: %r" % (label, little, written[:80])
                elif (len(written) - got.nbytes) % 64:
                    problem = "%s: the elements are not aligned to 64 bytes" % label
            except ValueError as e:
                problem = "%s: numpy cannot read what was written: %s" % (label, e)
            self.record("npy", dtype, problem)

    def check_npy_errors(self):
        data = np.arange(6, dtype=np.float32).tobytes()
        whole = types.npy_bytes("<f4", (2, 3), data)
        header = len(whole) - len(data)
        contents = {
            "truncated": whole[:-1], "no-elements": whole[:header], "cut-header": whole[: header // 2], "cut-length": whole[:9],
            "only-magic": whole[:6], "zero-bytes": b"", "garbage": bytes(range(256)) * 4, "text": b"1 2 3\n4 5 6\n",
            "unknown-version": whole[:6] + b"\x09" + whole[7:],
            "long-header": whole[:8] + b"\xff\xff" + whole[10:],
            "object": types.npy_bytes("|O", (2, 3), data),
            "text-elements": types.npy_bytes("<U4", (2, 3), data * 8),
            "long-double": types.npy_bytes("<f16", (2, 3), data * 8),
            "structured": types.npy_bytes("<f4", (2, 3), data).replace(b"'<f4'", b"[('a', '<f4')]"),
            "no-descr": whole.replace(b"descr", b"decsr"),
            "no-shape": whole.replace(b"shape", b"shpae"),
            "bad-shape": whole.replace(b"(2, 3)", b"(2, x)"),
            "negative-shape": types.npy_bytes("<f4", (-2, -3), data),
            "open-shape": whole.replace(b"(2, 3), }", b"(2, 3    "),
            "huge-shape": types.npy_bytes("<f4", (2**31, 2**31, 2**2), data),
            "huge-shape-overflow": types.npy_bytes("<f4", (2**62, 4), data),
            "huge-bytes-overflow": types.npy_bytes("<c16", (2**60,), data),
            "huge-bytes-fortran": types.npy_bytes("<c16", (2**30, 2**30), data, fortran=True),
            "huge-shape-of-none": types.npy_bytes("<f4", (2**62, 2**62, 0), b""),
            "huge-size": types.npy_bytes("<f4", (10**30, 3), data),
            "other-shape": types.npy_bytes("<f4", (3, 2), data),
            "other-type": types.npy_bytes("<i4", (2, 3), data),
        }
        text = "program(x: f32[2, 3]) {\n  return x as y\n}\n"
        for label in list(contents) + ["missing", "folder"]:
            path = self.path(label + ".npy")
            if label in contents:
                with open(path, "wb") as out:
                    out.write(contents[label])
            elif label == "folder":
                os.mkdir(path)
            self.check_error("npy errors", label, self.run_program(text, [("x", path)], [("y", self.path("y.npy"))]), path)
        types.save(self.path("good.npy"), "f32", np.zeros((2, 3), np.float32))
        nowhere = self.path("no-such-folder/y.npy")
        self.check_error("npy errors", "output nowhere", self.run_program(text, [("x", self.path("good.npy"))], [("y", nowhere)]), nowhere)

    def check_error(self, row, label, done, named, column="-"):
        """An error is exit code 1 and one line on stderr that names what is wrong."""
        problem = None
        if done.returncode != 1:
            problem = "%s: exit code %d, expected 1; stderr: %s" % (label, done.returncode, done.stderr.strip())
        elif done.stderr.count("\n") != 1 or not done.stderr.endswith("\n"):
            problem = "%s: the message is not one line: %r" % (label, done.stderr)
        elif named not in done.stderr:
            problem = "%s: the message does not name %s: %r" % (label, named, done.stderr)
        self.record(row, column, problem)

    # ---- errors that the table's page promises

    def check_promised_errors(self):
        for dtype, index, named in (("i32", 4, "4"), ("i8", -5, "-5"), ("u64", 2**64 - 1, str(2**64 - 1)), ("u8", 255, "255")):
            types.save(self.path("x.npy"), "f32", np.zeros((4, 3), np.float32))
            types.save(self.path("i.npy"), dtype, np.array([0, index], NUMPY[dtype]))
            text = "program(x: f32[4, 3], i: %s[2]) {\n  %%0 = gather(x, i) axis=0 : f32[2, 3]\n  return %%0 as y\n}\n" % dtype
            done = self.run_program(text, [("x", self.path("x.npy")), ("i", self.path("i.npy"))], [])
            self.check_error("gather", "position %d of 4" % index, done, named, dtype)
        # an activation that has no meaning for the type
        for dtype in ("i32", "c64", "c128"):
            types.save(self.path("x.npy"), dtype, np.zeros((2, 2), NUMPY[dtype]))
            for name, inputs in (("matmul", "x, x"), ("matmul_bias", "x, x, x")):
                for f in formulas.ACTIVATIONS:
                    if f not in formulas.activations_of(dtype):
                        text = "program(x: %s) {\n  %%0 = %s(%s) activation=%s : %s\n  return %%0 as y\n}\n" % (
                            spec(dtype, (2, 2)), name, inputs, f, spec(dtype, (2, 2)))
                        self.check_error(name, "activation " + f, self.run_program(text, [("x", self.path("x.npy"))], []), f, dtype)
        types.save(self.path("x.npy"), "f32", np.zeros((0, 3), np.float32))
        for name, dtype in (("max", "f32"), ("argmax", "i64"), ("min", "f32"), ("argmin", "i64")):
            text = "program(x: f32[0, 3]) {\n  %%0 = %s(x) axes=[0] keepdims=false : %s[3]\n  return %%0 as y\n}\n" % (name, dtype)
            self.check_error(name, "over an empty axis", self.run_program(text, [("x", self.path("x.npy"))], []), "empty", "f32")

    # ---- the report

    def report(self):
        width = max(len(row) for row in self.counts)
        print("checks of each op and type (gather: the index's type; random: the result's; cast: from)\n")
        print(" " * width + "".join("%6s" % d for d in DTYPES + ["-"]))
        for row, columns in self.counts.items():
            print("%-*s%s" % (width, row, "".join("%6s" % (columns[d] or ".") for d in DTYPES + ["-"])))
        print()
        for name, op in self.ops.items():
            if op["leaf"]:
                print("skipped: %s: a leaf, its value comes from outside" % name)
            elif name in SKIPPED:
                print("skipped: %s: %s" % (name, SKIPPED[name]))
        if self.failures:
            print("\nfailures%s:" % (" (20 of %d)" % len(self.failures) if len(self.failures) > 20 else ""))
            for failure in self.failures[:20]:
                print("  " + failure)
        print("%d passed, %d failed" % (self.passed, len(self.failures)))


# ---- values that are not drawn

# Beyond the record's cases: (shapes, attributes, result's shape).
MORE_CASES = {
    "sum": [([[40, 50]], [[0, 1], False], None), ([[2, 3, 4]], [[], True], None)],
    "mean": [([[40, 50]], [[0, 1], False], None)],
    "max": [([[40, 50]], [[0], True], None)],
    "argmax": [([[40, 50]], [[1], True], None), ([[2, 3, 4]], [[0, 2], False], None), ([[0, 3]], [[1], True], None)],
    "min": [([[40, 50]], [[0], True], None)],
    "argmin": [([[40, 50]], [[1], True], None), ([[2, 3, 4]], [[0, 2], False], None), ([[0, 3]], [[1], True], None)],
    "prod": [([[7, 5]], [[0, 1], False], None), ([[2, 3, 4]], [[], True], None)],
    "any": [([[40, 50]], [[1], True], None)],
    "all": [([[40, 50]], [[1], True], None)],
    "count_nonzero": [([[40, 50]], [[0, 1], False], None)],
    "var": [([[40, 50]], [[0, 1], False, 1.0], None), ([[3, 1]], [[1], False, 1.0], None), ([[2, 2]], [[0], False, 3.0], None)],
    "std": [([[40, 50]], [[0, 1], False, 1.0], None)],
    "logsumexp": [([[40, 50]], [[0, 1], False], None)],
    "reshape": [([[6]], [], [6]), ([[1, 1]], [], [])],
    "permute": [([[2, 3, 4, 5]], [[3, 1, 0, 2]], None)],
    "broadcast_to": [([[1, 3, 1]], [], [2, 3, 4]), ([[]], [], [])],
    "slice": [([[7, 8]], [[6, 0], [3, 4], [-3, 2]], None), ([[3]], [[2], [1], [5]], None)],
    "concat": [([[1, 2, 3], [4, 2, 3], [0, 2, 3], [2, 2, 3]], [0], None), ([[0]], [0], None)],
    "dot_general": [
        ([[2, 3, 4, 5], [3, 5, 2, 6]], [[3], [1], [0, 1], [2, 0]], None),
        ([[2, 3, 4], [4, 2, 3]], [[0, 1, 2], [1, 2, 0], [], []], None),
        ([[3, 2], [2, 3]], [[], [], [1, 0], [0, 1]], None),
        ([[], []], [[], [], [], []], None),
        ([[6, 70], [70, 5]], [[1], [0], [], []], None),
    ],
    "softmax": [([[2, 3, 4]], [0], None)],
    "matmul": [([[3, 4], [4]], ["none"], None), ([[2, 3], [5, 3, 2]], ["none"], None), ([[0, 3], [3, 2]], ["none"], None)],
    "matmul_bias": [([[4], [4, 5], []], ["none"], None), ([[4], [4], []], ["none"], None)],
}


def edge_values(dtype, finite_only):
    """The values at which ops have a stated meaning; of complex numbers all pairs of parts."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(NUMPY[dtype])
        return np.array(sorted({info.min, info.max, info.max - 1, 0, 1, 2} | ({-1, -2} if info.min < 0 else set())), NUMPY[dtype])
    if dtype in COMPLEX:
        if finite_only:
            parts = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0]
        else:
            parts = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, types.TINIEST[PART[dtype]], types.LARGEST[PART[dtype]]]
        out = np.empty((len(parts), len(parts)), NUMPY[dtype])
        out.real, out.imag = np.array(parts)[:, None], np.array(parts)
        return out.reshape(-1)
    tiny, large = types.TINIEST[dtype], types.LARGEST[dtype]
    return narrow(dtype, np.array([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, -math.nan, tiny, -tiny, large, -large, 0.5, 2.0, -3.0]))


def special_rows(name, dtype):
    """(label, operand, attributes) with NaN, infinities and signed zeros along the axis an op works on."""
    inf, nan, big = math.inf, math.nan, types.LARGEST[PART.get(dtype, dtype)]
    rows = narrow(dtype, np.array([
        [1, nan, 3, nan], [1, inf, 2, inf], [-inf, -inf, -inf, -inf], [inf, -inf, 1, 2], [-0.0, 0.0, -0.0, 0.0], [-0.0, -0.0, -0.0, -0.0],
        [0.0, -0.0, -1, -0.0], [-inf, 1, 2, 3], [nan, inf, -inf, 0], [-2, -1, -1, -3],
    ]))
    large = narrow(dtype, np.array([[big, big, -big, -big], [big, -big, 0.0, 0.0]]))
    if name in ("any", "all", "count_nonzero"):
        zeros = narrow(dtype, np.array([[0, 0, -0.0, 0], [0, nan, 0, 0], [1, 0.25, -inf, nan], [0, 0, 0.5, 0]]))
        return [("zeros and numbers", zeros, [[1], False]), ("special columns", np.asarray(rows.T, order="C"), [[0], False])]
    if name == "prod" and dtype not in COMPLEX:
        return [("special rows", rows, [[1], False]), ("large and small", narrow(dtype, np.array([[2, big, 0.5, 0.25]])), [[1], False])]
    if name in ("var", "std") and dtype not in COMPLEX:
        far = narrow(dtype, np.array([[1000, 1001, 1002, 1003], [1, 1, 1, 1]]))
        return [("special rows", rows, [[1], False, 0.0]), ("far from 0", far, [[1], False, 1.0])]
    if name == "logsumexp":
        return [("special rows", rows, [[1], False]), ("large", large, [[1], False])]
    if name in ("max", "argmax", "min", "argmin"):
        return [("special rows", rows, [[1], False]), ("special columns", np.asarray(rows.T, order="C"), [[0], False]), ("large", large, [[1], False])]
    if name in ("sum", "mean"):
        # not in f64: how a sum that overflows on its way ends depends on the order
        more = [("large", large, [[1], False])] if dtype not in ("f64", "c128") else []
        return [("special rows", rows, [[1], False])] + more
    if name in ("sort", "argsort", "cummax", "cummin", "cumsum"):
        both = [("special rows, %s" % flag, rows, [1, flag]) for flag in (False, True)]
        return both + [("special columns", np.asarray(rows.T, order="C"), [0, False])] if dtype not in COMPLEX else both
    if name == "argtopk":
        return [("special rows, %s" % flag, rows, [3, 1, flag]) for flag in (False, True)]
    if name == "log_softmax":
        return [("special rows", rows, [1])]
    if name == "l2_norm":
        return [("special rows", rows, [1, 1e-3])]
    if name == "glu":
        return [("special rows", rows, [1])]
    if name == "softmax":
        return [("special rows", rows, [1]), ("large", large, [1])]
    if name in ("layer_norm", "rms_norm"):
        return [("special rows", rows[[0, 4, 8, 9]], [1e-3])]
    return []


def cast_values(dtype):
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(NUMPY[dtype])
        wanted = {0, 1, 2, 100, -1, -2, -100, info.min, info.min + 1, info.max, info.max - 1}
        for bits in (7, 8, 10, 11, 15, 16, 24, 31, 32, 53, 60, 63):  # ends of types, and ties of float types
            for d in (-1, 0, 1):
                wanted |= {2**bits + d, -(2**bits) + d}
        for low, high in ((3, 11), (3, 12), (30, 38), (30, 54), (2, 26), (8, 61), (8, 62)):  # halfway between floats, and just beside
            for d in (-1, 0, 1):
                wanted |= {2**high + 2**low + d, 2**high + 3 * 2**low + d, -(2**high) - 2**low + d}
        for precision in (8, 11, 24, 53):
            for exponent in (20, 35, 56, 62):
                if exponent > precision:
                    tie = 2**exponent + 2 ** (exponent - precision)
                    wanted |= {tie - 1, tie, tie + 1, -tie, -tie - 1, -tie + 1}
        return np.array(sorted(w for w in wanted if info.min <= w <= info.max), NUMPY[dtype])
    values = [0.0, -0.0, 0.4, -0.4, 0.5, -0.5, 0.9, -0.9, 1.0, -1.0, 1.5, 2.5, -2.5, 3.99, -3.99, 100.7, -100.7, math.inf, -math.inf, math.nan]
    for bits in (7, 8, 15, 16, 31, 32, 63, 64):
        for factor in (1.0, 1 - 2.0**-53, 1 + 2.0**-52, 1 - 2.0**-24, 1 + 2.0**-23):
            values += [2.0**bits * factor, -(2.0**bits) * factor]
        values += [2.0**bits - 0.5, -(2.0**bits) - 0.5, -(2.0**bits) - 1, 2.0**bits - 1]
    for narrower in FLOATS:
        tiny, large, eps = types.TINIEST[narrower], types.LARGEST[narrower], types.epsilon(narrower)
        # ties and their neighbours, near one, at the largest value and among the denormals
        for tie in (1 + eps / 2, 1 + 3 * eps / 2, tiny / 2, tiny * 1.5, tiny * 2.5, large * (1 + eps / 4)):
            values += [tie, -tie, math.nextafter(tie, 0), math.nextafter(tie, math.inf)]
        values += [large, -large, tiny, -tiny]
    values += [1e30, -1e30, 1e-30, 1e300, -1e300, 1e-300]
    if dtype not in COMPLEX:
        return narrow(dtype, np.array(values))
    shifted = np.array(values[7:] + values[:7])  # an imaginary part unlike the real one
    out = np.empty(len(values) + 4, np.complex128)
    out.real = values + [0.0, -0.0, 0.0, math.nan]
    out.imag = np.concatenate([shifted, [1.0, 0.0, math.nan, 0.0]])
    return narrow(dtype, out)


def constant_text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, complex):
        imag = repr(value.imag)
        return "(%r%s%sj)" % (value.real, "" if imag[0] == "-" else "+", imag)
    return repr(value)


# ---- judging

def result_dtype(name, dtypes):
    if name in COMPARISONS:
        return "bool"
    if name in REAL_PART:
        return PART.get(dtypes[0], dtypes[0])
    if name == "shift_state":
        return "f32"
    if name in ("argmax", "argmin", "count_nonzero", "random_categorical", "random_permutation", "argsort", "argtopk", "searchsorted"):
        return "i64"
    if name == "popcount":
        return "u8"
    if name in ("sum", "prod", "cumsum", "cumprod") and dtypes[0] in ["bool"] + INTEGERS:
        return "u64" if dtypes[0][0] == "u" else "i64"
    return dtypes[0] if name == "gather" or name in PICKING or name in composites.FIRST_TYPE else dtypes[-1]


def mode_of(op, dtype):
    name = op["name"]
    if name in RAW:
        return "raw"
    if name == "neg":
        return "exact with the sign of NaN"
    if name in EXACT or name in composites.EXACT or dtype in ["bool"] + INTEGERS and not name.startswith("random_"):
        return "exact"
    if name in EXACT_IF_REAL and dtype not in COMPLEX:
        return "exact"
    if name == "random_normal":
        return "normal"
    if op["composite"]:
        return "composite"
    if name == "prod" and dtype in COMPLEX:
        return "complex"
    if name in SUMS:
        return "sum"
    return "complex" if dtype in COMPLEX else "ulps"


def wrong_elements(case, got):
    """Which elements of a result are not as expected."""
    with np.errstate(all="ignore"):
        if case.mode == "raw":
            size = got.dtype.itemsize
            both = [np.frombuffer(np.asarray(a, order="C").tobytes(), np.uint8).reshape(got.shape + (size,)) for a in (got, case.expected)]
            return np.any(both[0] != both[1], axis=-1)
        if case.dtype not in FLOATS + COMPLEX:
            return got != case.expected
        if case.dtype in COMPLEX:
            return wrong_complex(case, got)
        return wrong_real(case, got)


def wrong_real(case, got):
    dtype, expected = case.dtype, case.expected
    a, b = widen(dtype, got), widen(dtype, expected)
    both_nan = np.isnan(a) & np.isnan(b)
    same = (a == b) & (np.signbit(a) == np.signbit(b))
    if case.mode == "exact":
        return ~(both_nan | same)
    if case.mode == "exact with the sign of NaN":
        return ~((both_nan | same) & (np.signbit(a) == np.signbit(b)))
    eps = types.epsilon(dtype)
    finite = np.isfinite(a) & np.isfinite(b)
    if case.mode == "composite":
        return ~(both_nan | (a == b) | (finite & (np.abs(a - b) <= allowed(case, eps, np.abs(b)))))
    if case.mode == "normal" and dtype in ("f32", "f64"):
        # 1e-15: the angle's last bit, where the cosine is near 0
        return ~(same | (finite & (np.abs(a - b) <= {"f32": 1e-6, "f64": 1e-12}[dtype] * np.abs(b) + 1e-15)))
    if case.mode in ("sum", "complex") and dtype == "f64":  # complex: the modulus of a c128
        return ~(both_nan | (a == b) | (finite & (np.abs(a - b) <= 1e-12 * np.abs(b) + 1e-14 * case.noise)))
    ulps = np.asarray(types.ordered_bits(got) - types.ordered_bits(expected))
    near = np.abs(ulps).astype(np.float64) <= (4 if dtype == "f64" else 1)
    zeros_agree = (a != 0) | (b != 0) | (np.signbit(a) == np.signbit(b)) | (case.mode == "sum")
    return ~(both_nan | (~np.isnan(a) & ~np.isnan(b) & near & zeros_agree))


def wrong_complex(case, got):
    a, b = widen(case.dtype, got), widen(case.dtype, case.expected)
    if case.mode.startswith("exact"):
        bad = np.zeros(a.shape, bool)
        for x, y in ((a.real, b.real), (a.imag, b.imag)):
            signs_agree = np.signbit(x) == np.signbit(y)
            nan_ok = np.isnan(x) & np.isnan(y) & (signs_agree | (case.mode == "exact"))
            bad |= ~(nan_ok | ((x == y) & signs_agree))
        return bad
    if case.mode == "composite":
        size = np.hypot(b.real, b.imag)
        return np.isfinite(b) & ~(np.abs(a - b) <= allowed(case, types.epsilon(case.dtype), size))
    share = 1e-6 if case.dtype == "c64" else 1e-12
    noise = np.maximum(case.noise, np.hypot(b.real, b.imag))
    bad = np.zeros(a.shape, bool)
    for x, y in ((a.real, b.real), (a.imag, b.imag)):
        bad |= ~((np.isnan(x) & np.isnan(y)) | (x == y) | (np.abs(x - y) <= share * np.abs(y) + 1e-14 * noise))
    # poles and overflow of complex functions: see the rule at the top; sums are parts added, and are checked there as well
    return bad if case.mode == "sum" else bad & np.isfinite(b)


def allowed(case, eps, size):
    """How far a composite may lie from its formula."""
    absolute, terms = case.tolerance["absolute"], np.maximum(1, case.noise)
    if case.op == "sigmoid":
        terms = case.noise
    absolute = absolute + 4 * eps * terms if eps > 1e-4 or case.dtype in COMPLEX else np.minimum(absolute, 16 * eps * terms)
    return absolute + min(case.tolerance["ulps"], 8) * eps * size


def value_text(dtype, element):
    value = widen(dtype, np.asarray(element)).item()
    raw = np.asarray(element).tobytes()[::-1].hex()
    return "%r (bits %s)" % (value, raw) if dtype in FLOATS + COMPLEX else repr(value)


def operand_text(dtype, array, where, case):
    text = spec(dtype, array.shape)
    if case.op in formulas.FORMULAS and array.shape and len(where) >= array.ndim or case.op == "cast":
        own = tuple(0 if n == 1 else w for n, w in zip(array.shape, where[len(where) - array.ndim:]))
        if len(own) == array.ndim and all(w < n for w, n in zip(own, array.shape)):
            text += " with %s at %s" % (value_text(dtype, array[own]), list(own))
    if array.size <= 24:
        text += " = %s" % np.array2string(np.asarray(widen(dtype, array)), threshold=30, precision=17).replace("\n", "")
    return text


def main():
    parser = argparse.ArgumentParser(description="Checks the reference backend against numpy.")
    parser.add_argument("--lazuli", required=True, help="the program `lazuli`")
    parser.add_argument("--seed", type=int, default=1, help="of the values that are drawn")
    parser.add_argument("--verbose", action="store_true", help="say how long each op takes")
    options = parser.parse_args()
    formulas.check_threefry()
    started = time.time()
    with tempfile.TemporaryDirectory(prefix="lazuli-oracle-") as folder:
        oracle = Oracle(os.path.abspath(options.lazuli), options.seed, options.verbose, folder)
        oracle.check_ops()
        oracle.check_distribution()
        oracle.check_promised_errors()
        oracle.check_npy()
    if options.verbose:
        print("%d programs in %.1f s\n" % (oracle.runs, time.time() - started))
    oracle.report()
    return 1 if oracle.failures else 0


if __name__ == "__main__":
    sys.exit(main())
