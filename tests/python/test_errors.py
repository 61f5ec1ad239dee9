"""Bad calls of every op: the error's class, that its text names the op and shows what was given, and that nothing changes by it.

The texts stand in tests/golden/errors.txt for a reader to judge. LAZULI_WRITE_GOLDEN=1 writes that file anew.
"""

import difflib
import functools
import inspect
import os
import pathlib
import re
from typing import NamedTuple

import numpy as np
import pytest

import lazuli as lz
from bad_calls import CALLS, ALONE, NOT_POSSIBLE

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden" / "errors.txt"

HEAD = """\
What Lazuli says to bad calls: the ops in alphabetical order, the calls of each, and below a call the error it raises.
An operand is spelled by its type and shape: f32[2, 3] stands for lz.zeros((2, 3), dtype=lz.float32), f32[()] for a single number.
A call that ends in .eval() is wrong by its data alone, which only evaluation sees; all others are refused where they are made.
Written by tests/python/test_errors.py with LAZULI_WRITE_GOLDEN=1.
"""

DTYPES = {
    "bool": lz.bool_, "i8": lz.int8, "i16": lz.int16, "i32": lz.int32, "i64": lz.int64,
    "u8": lz.uint8, "u16": lz.uint16, "u32": lz.uint32, "u64": lz.uint64,
    "f16": lz.float16, "bf16": lz.bfloat16, "f32": lz.float32, "f64": lz.float64, "c64": lz.complex64, "c128": lz.complex128,
}  # fmt: skip

# The kinds of mistakes, in the order of the file, and the class that a mistake of the kind must raise.
KINDS = {
    "shapes": lz.ShapeError,  # operands that do not broadcast, sizes that differ, ranks that are not taken
    "axes": lz.IndexError,  # out of range, or given twice
    "dtypes": lz.DTypeError,  # outside of the op's matrix, or without a common type
    "values": lz.ArgumentError,  # of attributes: negative counts, steps of 0, unknown words
    "calls": TypeError,  # what Python alone decides: the number of arguments, and their classes
    "data": lz.ExecutionError,  # indices out of range, singular matrices: known at evaluation
}

CONTROL = ("cond", "loop", "while_loop", "checkpoint", "custom_gradient")

# Ops with arguments of the Python function, or numbers of operands, that their records do not have as attributes.
MORE_VALUES = ("concat", "dot_general", "one_hot", "qr", "stack", "svd", *CONTROL)


def attributes_of(op):
    """The attributes by name, without axes; and whether there are axes."""
    axes = {name for name, kind in op.attributes if kind == "axes" or name == "axis" or op.name == "diagonal" and name != "offset"}
    return {name: kind for name, kind in op.attributes if name not in axes}, bool(axes)


def refused_dtypes(op):
    """Types outside of the op's matrix; integers and truth values are converted where an op has floats alone."""
    missing = [name for name, dtype in DTYPES.items() if dtype not in op.dtypes]
    kept = op.name in ("isnan", "isinf", "isfinite") or any(dtype in op.dtypes for dtype in (lz.bool_, lz.int32, lz.uint8, lz.uint64))
    return missing if kept else [name for name in missing if name[0] in "fc" or name == "bf16"]


def why_not(op, kind):
    """Why no call of the op can have a mistake of the kind, or None where one can."""
    if op.name == "view":
        return "movements are recorded as views; Python cannot make one itself"
    if op.name == "bundle":
        return "gradients of ops with several results make it; Python cannot"
    if op.name == "time_mix_v7_grad":
        return "the gradient of time_mix_v7 makes it; Python cannot"
    if kind == "calls":
        return None
    if op.name in NOT_POSSIBLE.get(kind, {}):
        return NOT_POSSIBLE[kind][op.name]
    if kind == "data":
        return None if re.search("execution ?error", op.edge, re.I) or op.name == "channel_mix_v7" else "no value of the data is refused"
    if kind == "shapes":
        return "one operand, element by element" if op.elementwise and op.max_inputs == 1 else None
    if kind == "dtypes":
        alone = op.max_inputs in (0, 1) and op.name not in ("bitcast", "constant", *CONTROL)
        return "all types are taken or converted" if alone and not refused_dtypes(op) else None
    if kind == "values" and op.name in MORE_VALUES:
        return None
    if op.name in CONTROL:
        return "there are no axes"
    attributes, axes = attributes_of(op)
    if kind == "axes":
        return None if axes else "there are no axes"
    return None if set(attributes.values()) - {"boolean"} else "there are no attributes but axes and truth values"


# ---- calls that the records give


def elementwise_calls(op):
    """Operands that do not broadcast, each at fault once, and types that are not taken or have no common one."""
    usual = next(name for name in ("f32", "i32") if DTYPES[name] in op.dtypes)
    first = ["bool"] if op.name == "select" else [usual]
    shapes, dtypes = [], []
    for wrong in range(1, op.max_inputs):
        operands = [f"{(first + [usual] * 2)[i]}[{'4, 3' if i == wrong else '2, 3'}]" for i in range(op.max_inputs)]
        shapes.append(f"lz.{op.name}({', '.join(operands)})")
    for group in (["bool"], ["i32", "u8"], ["f32"], ["c64"]):
        found = next((name for name in group if name in refused_dtypes(op)), None)
        if found is not None:
            dtypes.append(f"lz.{op.name}({', '.join([f'{found}[2, 3]'] * op.max_inputs)})")
    if op.max_inputs > 1 and op.name != "select":
        dtypes.append(f"lz.{op.name}({', '.join(['i64[2, 3]', 'u64[2, 3]', 'u64[2, 3]'][: op.max_inputs])})")
    return {"shapes": shapes, "dtypes": dtypes}


def python_calls(op):
    """Too few arguments, too many, and one that is no tensor."""
    function = getattr(lz, op.name, None)
    if function is None or op.min_inputs == 0 or op.max_inputs < 0 or op.name in CONTROL:
        return {}
    parameters = inspect.signature(function).parameters.values()
    required = [p.name for p in parameters if p.default is inspect.Parameter.empty]
    calls = [f"lz.{op.name}({'f32[2, 3]' if len(required) > 1 else ''})"]
    if len(required) == op.max_inputs == len(parameters):
        calls.append(f"lz.{op.name}({', '.join(['f32[2, 3]'] * (op.max_inputs + 1))})")
    if len(required) == op.min_inputs:
        calls.append(f"lz.{op.name}({'f32[2, 3], ' * (op.min_inputs - 1)}'text')")
    return {"calls": calls}


# ---- what the calls raise


class Operand:
    """`f32[2, 3]` in a call. Tensors are kept, so that the calls themselves make none."""

    kept = {}

    def __init__(self, name):
        self.name = name

    def __getitem__(self, shape):
        shape = shape if isinstance(shape, tuple) else (shape,)
        key = (self.name, shape)
        if key not in Operand.kept:
            Operand.kept[key] = lz.zeros(shape, dtype=DTYPES[self.name])
        return Operand.kept[key]


NAMES = {"lz": lz, "np": np, **{name: Operand(name) for name in DTYPES}}


class Entry(NamedTuple):
    op: str
    kind: str
    source: str
    raised: type | None
    text: str
    fields: dict


def make(op, kind, source):
    try:
        made = eval(source, dict(NAMES))
    except Exception as error:
        return Entry(op, kind, source, type(error), str(error), dict(vars(error)))
    del made
    return Entry(op, kind, source, None, "nothing is raised", {})


def sources():
    """Every bad call: (op, kind, source), in the order of the file."""
    for op in sorted(lz.ops(), key=lambda op: op.name):
        parts = [CALLS.get(op.name, {}), python_calls(op)]
        if op.elementwise and op.name not in ("bitcast", "cast", "contiguous"):
            parts.insert(0, elementwise_calls(op))
        for kind in KINDS:
            for source in dict.fromkeys(source for part in parts for source in part.get(kind, [])):
                yield op.name, kind, source


@functools.cache
def entries():
    return [make(*source) for source in sources()]


def render():
    lines = HEAD.splitlines()
    op = None
    for entry in entries():
        if entry.op != op:
            op = entry.op
            lines += ["", op]
        name = "" if entry.raised is None else f"{entry.raised.__name__}: "
        lines += [f"    {entry.source}"] + [f"        {line}" for line in (name + entry.text).splitlines()]
    return "\n".join(lines) + "\n"


def of_kinds(*kinds):
    """A test's entries, each under its source."""
    chosen = [source for source in sources() if source[1] in kinds]
    return pytest.mark.parametrize("which", chosen, ids=[source for _, _, source in chosen])


@functools.cache
def by_source():
    return {entry[:3]: entry for entry in entries()}


def shapes_in(entry):
    """The shapes that a call's source spells, as errors print them."""
    spelled = re.findall(rf"\b(?:{'|'.join(DTYPES)})\[(\(\)|[\d, ]+)\]", entry.source)
    targets = ("broadcast_to", "dynamic_slice", "reshape")
    given = re.findall(r"\((-?\d+, -?\d+|-?\d+,)\)", entry.source) if entry.op in targets else []
    return list(dict.fromkeys(f"[{text.strip('(),')}]" for text in spelled + given))


# ---- tests


def test_the_texts_are_those_of_the_golden_file():
    text = render()
    if os.environ.get("LAZULI_WRITE_GOLDEN") == "1":
        GOLDEN.write_text(text)
    wanted = GOLDEN.read_text()
    different = difflib.unified_diff(wanted.splitlines(), text.splitlines(), "golden/errors.txt", "what is raised", lineterm="", n=3)
    assert text == wanted, "\n" + "\n".join(different) + "\n(LAZULI_WRITE_GOLDEN=1 writes the file anew)"


@pytest.mark.parametrize("kind", KINDS)
def test_every_op_has_calls_of_each_kind_that_is_possible(kind):
    there = {op for op, of, _ in sources() if of == kind}
    for op in lz.ops():
        reason = why_not(op, kind)
        assert (op.name in there) == (reason is None), f"{op.name}, {kind}: {reason or 'no call'}"
    for name in NOT_POSSIBLE.get(kind, {}):
        assert name in {op.name for op in lz.ops()}, f"{name} is no op"


def test_every_case_belongs_to_an_op():
    assert set(CALLS) <= {op.name for op in lz.ops()}
    assert all(set(kinds) <= set(KINDS) for kinds in CALLS.values())
    assert ALONE <= {source for _, kind, source in sources() if kind == "shapes"}


@of_kinds(*KINDS)
def test_the_class_is_right(which):
    entry = by_source()[which]
    assert entry.raised is not None, f"{entry.source}: nothing is raised"
    assert issubclass(entry.raised, KINDS[entry.kind]), f"{entry.raised.__name__}: {entry.text}"


@of_kinds(*KINDS)
def test_the_op_is_named_first(which):
    """By its name in the table, or by that of the function that was called; an operator by its sign."""
    entry = by_source()[which]
    called = re.match(r"lz\.(?:\w+\.)?(\w+)\(", entry.source)
    names = {entry.op, called[1] if called else entry.op}
    sign = re.search(r"\] (\S) ", entry.source)
    if sign and not called and f" {sign[1]}: " in entry.text:
        return
    assert re.match(rf"({'|'.join(names)})(: |\(\) )", entry.text), entry.text


@of_kinds("shapes")
def test_both_shapes_are_shown(which):
    entry = by_source()[which]
    shapes = shapes_in(entry)
    shown = [shape for shape in shapes if shape in entry.text]
    if entry.source in ALONE:
        assert re.search(r"\[[-\d, ]*\]", entry.text), entry.text
    else:
        assert len(shown) >= min(2, len(shapes)), f"{entry.text} shows {shown} of {shapes}"
    if entry.raised is lz.ShapeError:
        assert entry.fields["expected"] and entry.fields["actual"]


@of_kinds("axes")
def test_the_axis_is_shown(which):
    entry = by_source()[which]
    assert re.search(r"axis -?\d+|order of the axes", entry.text), entry.text


@of_kinds("dtypes")
def test_types_are_shown(which):
    entry = by_source()[which]
    shown = set(re.findall(rf"\b({'|'.join(DTYPES)})\b", entry.text))
    assert shown, entry.text
    if "i64[" in entry.source and "u64[" in entry.source:
        assert {"i64", "u64"} <= shown, entry.text


@of_kinds("data")
def test_data_is_judged_at_evaluation(which):
    entry = by_source()[which]
    assert entry.source.endswith(".eval()")
    assert make(entry.op, entry.kind, entry.source.removesuffix(".eval()")).raised is None
    if entry.raised is lz.ExecutionError:
        assert f"{entry.fields['op']}: {entry.fields['reason']}" == entry.text


def test_all_others_are_refused_at_the_call():
    assert not [source for _, kind, source in sources() if kind != "data" and ".eval()" in source]


def test_nothing_changes_by_bad_calls():
    entries()  # makes the operands, which are kept
    lz.eval(*Operand.kept.values())
    refused = [entry for entry in entries() if entry.raised is not None]
    for entry in refused:
        graph, memory = lz.graph_stats(), lz.memory_stats()
        make(*entry[:3])
        after = lz.graph_stats()
        assert after["live_nodes"] == graph["live_nodes"], entry.source
        assert after["buffer_bytes"] == graph["buffer_bytes"], entry.source
        assert lz.memory_stats()["bytes"] == memory["bytes"], entry.source
        if entry.kind != "data":
            assert after["flushes"] == graph["flushes"], entry.source


def test_operands_stay_usable():
    entries()
    for (name, shape), operand in Operand.kept.items():
        assert operand.shape == shape and operand.dtype == DTYPES[name]
        np.testing.assert_array_equal(np.asarray(operand.cast("f32") if name == "bf16" else operand), np.zeros(shape))
        assert np.asarray(lz.eq(operand, operand)).all()


def test_texts_are_the_same_at_the_second_time():
    assert [make(*entry[:3])[3:5] for entry in entries()] == [entry[3:5] for entry in entries()]
