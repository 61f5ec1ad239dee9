"""Writes the module's type stub: what the op table has becomes what editors and type checkers know.

    stubs.py FOLDER_OF_THE_MODULE STUB
"""

import inspect
import sys

HEAD = '''"""Lazuli, a lazy tensor engine. Written by python/stubs.py from the op table."""

import builtins
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Ints = int | Dim | Sequence[int | Dim]
DTypeLike = Any
ArrayLike = Any

__version__: str
newaxis: None
e: float
inf: float
nan: float
pi: float
'''

# What parameters of a name are; others are anything.
PARAMETERS = {
    "x": "ArrayLike", "a": "ArrayLike", "b": "ArrayLike", "y": "ArrayLike", "z": "ArrayLike", "axis": "Ints | None", "shape": "Ints", "dtype": "DTypeLike | None",
    "keepdims": "bool", "device": "str | None", "key": "Tensor | None", "arrays": "Sequence[ArrayLike]", "copy": "bool | None",
    "name": "str", "low": "int", "high": "int", "activation": "str", "eps": "float", "seed": "int", "approximate": "bool", "timeout": "float | None", "bytes": "int", "has_aux": "bool", "argnums": "int | Sequence[int]", "requires_grad": "bool",
    "path": "str | builtins.bytes | os.PathLike[str]", "tensors": "dict[str, ArrayLike]", "metadata": "dict[str, str] | None",
}
# What functions give that give no tensor.
RESULTS = {
    "split": "list[Tensor]", "ops": "list[Op]", "devices": "list[str]", "default_device": "str", "set_default_device": "None",
    "cache_stats": "dict[str, Any]", "memory_stats": "dict[str, int]", "graph_stats": "dict[str, int]", "clear_caches": "None",
    "qr": "Any", "svd": "Any", "eigh": "tuple[Tensor, Tensor]", "manual_seed": "None", "explain": "Explanation", "promote_types": "dtype",
    "synchronize": "None", "is_ready": "bool", "wait": "None", "set_memory_limit": "int", "set_cache_limit": "int", "reset_peak_memory": "None",
    "set_stream_limits": "None", "dim": "Dim", "any_dim": "Dim", "grad": "Gradient", "value_and_grad": "Gradient", "jvp": "tuple[Any, Any]",
    "backward": "None", "zero_grad": "None", "checkpoint": "Region", "custom_gradient": "Region", "vmap": "Vmap",
    "save_safetensors": "None", "load_safetensors": "dict[str, Tensor]",
}
PROPERTIES = {
    "shape": "tuple[Any, ...]", "dtype": "dtype", "ndim": "int", "size": "Any", "itemsize": "int", "nbytes": "int", "device": "str",
    "op": "str", "is_materialized": "bool", "T": "Tensor", "name": "str", "short_name": "str", "kind": "str", "doc": "str", "edge": "str",
    "min_inputs": "int", "max_inputs": "int", "elementwise": "bool", "composite": "bool", "differentiable": "bool", "requires_grad": "bool", "grad": "Tensor | None", "sample": "tuple[float, float]",
    "attributes": "list[tuple[str, str]]", "dtypes": "list[dtype]", "operations": "Any", "bytes_read": "int", "bytes_written": "int",
    "ends": "str", "cache": "str", "arena_bytes": "int", "alive_bytes": "int", "unplanned_bytes": "int", "kernels": "list[Kernel]",
    "bounds": "tuple[int, int]", "variables": "list[Dim]", "path": "str", "names": "list[str]", "metadata": "dict[str, str]",
}
# Properties that can be set, and to what.
SETTERS = {"requires_grad": "bool", "grad": "None"}
SPECIAL = {"__len__": "int", "__bool__": "bool", "__int__": "int", "__float__": "float", "__index__": "int", "__repr__": "str", "__str__": "str"}
# Methods that no signature tells of, by class.
METHODS = {
    "Dim": [f"__{op}__(self, other: int | Dim) -> int | Dim" for o in "add sub mul floordiv mod".split() for op in (o, "r" + o)]
    + [f"__{op}__(self, other: int | Dim) -> bool" for op in "lt le gt ge".split()]
    + ["__neg__(self) -> int | Dim", "__hash__(self) -> int", "__bool__(self) -> bool", "evaluate(self, values: dict[str, int]) -> int"],
    "Compiled": ["__call__(self, *args: Any, **kwargs: Any) -> Any", "program(self) -> Program", "explain(self, *args: Any, **kwargs: Any) -> Explanation",
                 "bindings_seen(self) -> list[dict[str, int]]"],
    "Op": ["call(self, operands: Sequence[ArrayLike], attributes: dict[str, Any] = ..., shape: Ints | None = ..., dtype: DTypeLike | None = ...) -> Tensor"],
    "Gradient": ["__call__(self, *args: Any, **kwargs: Any) -> Any"],
    "Vmap": ["__call__(self, *args: Any, **kwargs: Any) -> Any"],
    "Region": ["__call__(self, *args: Any, **kwargs: Any) -> Any"],
    "Pull": ["__call__(self, cotangents: Any) -> tuple[Any, ...]"],
    "Program": ["instantiate(self, values: dict[str, int]) -> Program", "json(self) -> str", "bytes(self) -> builtins.bytes", "__len__(self) -> int"],
    "SafetensorsFile": ["__init__(self, path: str | builtins.bytes | os.PathLike[str]) -> None", "__getitem__(self, name: str) -> Tensor", "__len__(self) -> int",
                        "__iter__(self) -> Iterator[str]", "__contains__(self, name: object) -> bool", "tensors(self) -> dict[str, Tensor]",
                        "shape(self, name: str) -> tuple[int, ...]", "dtype(self, name: str) -> dtype"],
}
OPERATORS = "add sub mul truediv pow matmul floordiv mod and or xor lshift rshift".split()


def doc(text, indent):
    text = inspect.cleandoc(text if isinstance(text, str) else "").replace("\\", "\\\\").replace('"""', "'''")
    return f'{indent}    """{text}"""\n' if text else f"{indent}    ...\n"


def function(name, value, indent="", method=False):
    parts, keywords = [], False
    for i, p in enumerate(inspect.signature(value).parameters.values()):
        if p.kind is p.KEYWORD_ONLY and not keywords:
            parts.append("*")
            keywords = True
        if method and i == 0:
            parts.append("self")
            continue
        kind = PARAMETERS.get(p.name, "Any")
        if p.default is None and "None" not in kind and kind != "Any":
            kind += " | None"
        parts.append(f"{p.name}: {kind}" + ("" if p.default is p.empty else " = ..."))
    return f"{indent}def {name}({', '.join(parts)}) -> {RESULTS.get(name, 'Tensor')}:\n" + doc(value.__doc__, indent)


def class_(name, value, functions):
    bases = [b.__name__ if b.__module__ == "lazuli" else f"builtins.{b.__name__}" for b in value.__bases__ if b is not object]
    lines = [f"class {name}{'(' + ', '.join(bases) + ')' if bases else ''}:\n" + doc(value.__doc__, "").replace("    ...\n", "")]
    for key, member in sorted(vars(value).items()):
        if isinstance(member, functions):
            lines.append(function(key, member, "    ", True))
        elif isinstance(member, property) or type(member).__name__ in ("getset_descriptor", "nb_property"):
            if not key.startswith("__"):
                lines.append(f"    @property\n    def {key}(self) -> {PROPERTIES.get(key, 'Any')}: ...\n")
                if key in SETTERS:
                    lines.append(f"    @{key}.setter\n    def {key}(self, value: {SETTERS[key]}) -> None: ...\n")
    if name == "Tensor":
        for op in OPERATORS:
            lines.append(f"    def __{op}__(self, other: ArrayLike) -> Tensor: ...\n    def __r{op}__(self, other: ArrayLike) -> Tensor: ...\n")
        for op in "eq ne lt le gt ge".split():
            lines.append(f"    def __{op}__(self, other: ArrayLike) -> Tensor: ...  # type: ignore[override]\n")
        for op in "neg pos abs invert".split():
            lines.append(f"    def __{op}__(self) -> Tensor: ...\n")
        lines += [f"    def {key}(self) -> {result}: ...\n" for key, result in SPECIAL.items()]
        lines.append("    def __getitem__(self, index: Any) -> Tensor: ...\n    def __iter__(self) -> Iterator[Tensor]: ...\n"
                     "    def eval(self) -> Tensor: ...\n    def item(self) -> Any: ...\n    def tolist(self) -> Any: ...\n"
                     "    def numpy(self) -> np.ndarray: ...\n    def __array__(self, dtype: Any = ..., copy: bool | None = ...) -> np.ndarray: ...\n"
                     "    def __dlpack__(self, *, stream: Any = ..., max_version: Any = ..., dl_device: Any = ..., copy: bool | None = ...) -> Any: ...\n"
                     "    def __dlpack_device__(self) -> tuple[int, int]: ...\n")
    lines += [f"    def {method}: ...\n" for method in METHODS.get(name, [])]
    if name == "Dim":
        lines += [f"    @staticmethod\n    def {key}(a: int | Dim, b: int | Dim) -> int | Dim: ...\n" for key in ("min", "max")]
    if name in ("eager", "no_grad", "Stream"):
        lines.append(f"    def __enter__(self) -> {name}: ...\n    def __exit__(self, *error: Any) -> None: ...\n")
    body = "".join(lines)
    return body if body.count("\n") > 1 else body + "    ...\n"


def submodule(name, value, functions):
    """A module inside the module, as a class of functions: what `lz.linalg.svd` needs."""
    lines = [f"class {name}:\n" + doc(value.__doc__, "")]
    for key, member in sorted(vars(value).items()):
        if isinstance(member, functions):
            lines.append("    @staticmethod\n" + function(key, member, "    "))
    return "".join(lines)


def main(folder, path):
    sys.path.insert(0, folder)
    import _lazuli as module

    out = [HEAD]
    members = {k: v for k, v in vars(module).items() if not k.startswith("_")}
    classes = {k: v for k, v in members.items() if isinstance(v, type)}
    for name, value in sorted(classes.items(), key=lambda item: len(item[1].__mro__)):
        out.append(class_(name, value, module.Function))
    for name, value in sorted(members.items()):
        if name in classes:
            continue
        if isinstance(value, module.dtype):
            out.append(f"{name}: dtype\n")
        elif isinstance(value, module.Function):
            out.append(function(name, value))
        elif inspect.ismodule(value):
            out.append(submodule(name, value, module.Function))
        elif name == "compile":
            out.append("def compile(function: Any, *specs: Any, **named: Any) -> Compiled:\n" + doc(value.__doc__, ""))
        elif name == "vjp":
            out.append("def vjp(fn: Any, *primals: Any) -> tuple[Any, Pull]:\n" + doc(value.__doc__, ""))
        elif name in ("eval", "async_eval"):
            out.append(f"def {name}(*tensors: Tensor | Sequence[Any]) -> None:\n" + doc(value.__doc__, ""))
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
