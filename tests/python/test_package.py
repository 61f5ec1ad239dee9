"""What is installed: the README's example, the stub, the names."""

import ast
import contextlib
import importlib.metadata
import io
import pathlib
import pydoc

import lazuli as lz

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def test_the_example_of_the_readme_runs():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    program = text.split("```python\n")[1].split("```")[0]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, {})
    assert "1 kernel" in printed.getvalue() and "[1.9732286" in printed.getvalue()


def test_the_readme_compiles_a_function():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    names = {}
    for program in text.split("```python\n")[1:3]:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(program.split("```")[0], names)
    assert names["f"](names["x"])["mean"].tolist() == [1, 1] and names["f"].bindings_seen() == [{"b": 2}, {"b": 7}]


def test_the_stub_knows_every_name():
    stub = ast.parse((pathlib.Path(lz.__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))
    known = set()
    for node in stub.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            known.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            known.add(node.target.id)
    assert {name for name in dir(lz) if not name.startswith("_")} <= known
    assert {op.name for op in lz.ops()} - {"bundle", "constant", "time_mix_v7_grad", "view"} <= known


def test_help_and_version():
    assert lz.__version__ == importlib.metadata.version("lazuli")
    assert "softmax(x, axis=-1)" in pydoc.render_doc(lz.softmax, renderer=pydoc.plaintext)
    assert "Exponentials along an axis" in pydoc.render_doc(lz.Tensor, renderer=pydoc.plaintext)
