"""Runs `lazuli` and `lazuli-opt` on programs whose sizes vary, and compares what they print and say.

    check.py LAZULI LAZULI_OPT
"""

import pathlib
import re
import struct
import subprocess
import sys
import tempfile

PROGRAM = """program(x: f32[b, t], w: f32[t, 2]) where 1 <= b <= 64, 1 <= t <= 512 {
  %0 = matmul(x, w) activation=none : f32[b, 2]
  %1 = mul(%0, %0) : f32[b, 2]
  return %1 as y
}
"""
PLAIN = """program(x: f32[2]) {
  %0 = add(x, x) : f32[2]
  return %0 as y
}
"""


def write_npy(path, shape, values):
    """The file as the format's page says it, since numpy need not be there."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values)
    path.write_bytes(data)


def read_npy(path):
    data = path.read_bytes()
    size = struct.unpack_from("<H", data, 8)[0]
    shape = tuple(map(int, re.findall(r"\d+", re.search(rb"'shape': \((.*?)\)", data).group(1).decode())))
    values = data[10 + size :]
    return shape, list(struct.unpack(f"<{len(values) // 4}f", values))


def main(lazuli, lazuli_opt):
    checks = 0

    def run(program, *words, code=0):
        nonlocal checks
        checks += 1
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, cwd=folder, check=False)
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def refused(*words):
        return run(lazuli, *words, code=1)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "p.ir").write_text(PROGRAM)
        (folder / "plain.ir").write_text(PLAIN)
        (folder / "inputs").mkdir()
        inputs = ["--input", "x=x.npy", "--input", "w=w.npy"]

        # ---- run: one program at several sizes, in both ways of writing them, from text and from JSON
        (folder / "p.json").write_text(run(lazuli_opt, "--format=json", "p.ir"))
        for b, t in (1, 1), (3, 4), (2, 7):
            x = [float(i % 5) for i in range(b * t)]
            w = [float(i % 3) - 1 for i in range(t * 2)]
            write_npy(folder / "x.npy", (b, t), x)
            write_npy(folder / "w.npy", (t, 2), w)
            wanted = [sum(x[i * t + k] * w[k * 2 + j] for k in range(t)) ** 2 for i in range(b) for j in range(2)]
            for file, bind in (("p.ir", ["--bind", f"b={b}", "--bind", f"t={t}"]), ("p.json", ["--bind", f"b={b},t={t}"])):
                run(lazuli, "run", *bind, file, *inputs, "--output", "y=y.npy")
                assert read_npy(folder / "y.npy") == ((b, 2), wanted), (b, t)
        assert "y: f32[2, 2]" in run(lazuli, "run", "p.ir", "--bind", "t=7,b=2", *inputs)

        # ---- values that lack, that are unknown, that do not fit, and words that are none
        assert "--bind NAME=SIZE is needed for b (1 to 64), t (1 to 512)" in refused("run", "p.ir")
        assert "y: f32[2, 2]" in run(lazuli, "run", "p.ir", *inputs)  # sizes of operands say what they are
        assert refused("run", "p.ir", "--bind", "b=3").rstrip().endswith("is needed for t (1 to 512)")
        assert "--bind q: the program has no such variable (it has: b (1 to 64), t (1 to 512))" in refused("run", "p.ir", "--bind", "b=3,t=4,q=5")
        assert "--bind b: the program has no such variable (it has: none)" in refused("run", "plain.ir", "--bind", "b=3")
        said = refused("run", "p.ir", "--bind", "b=65,t=4")
        assert "b" in said and "65" in said and "64" in said, said
        for word in ("b", "b=", "=3", "b=x", "b=3x", "b=3,,t=4", "b=3,", "b=99999999999999999999"):
            assert "NAME=SIZE expected" in refused("run", "p.ir", "--bind", word), word
        assert "--bind b=4: it has a value already" in refused("run", "p.ir", "--bind", "b=3,b=4")
        assert "is f32[2, 7], the parameter x is f32[3, 4]" in refused("run", "p.ir", "--bind", "b=3,t=4", *inputs)

        # ---- the other commands that read programs
        assert "kernel" in run(lazuli, "explain", "p.ir", "--bind", "b=3,t=4", "--kernels")
        assert "is needed for b (1 to 64), t (1 to 512)" in refused("explain", "p.ir")
        assert "f32[3, 2]" in run(lazuli, "replay", "p.ir", "--bind", "b=3,t=4", "--times", "1")
        assert "is needed for t (1 to 512)" in refused("replay", "p.ir", "--bind", "b=3")
        assert run(lazuli_opt, "p.ir") == PROGRAM
        assert run(lazuli_opt, "--bind", "b=3,t=4", "p.ir").startswith("program(x: f32[3, 4], w: f32[4, 2]) {\n")
        assert run(lazuli_opt, "--bind=b=3", "--bind=t=4", "--pass=expand", "p.ir").startswith("program(x: f32[3, 4], w: f32[4, 2]) {\n")
        for command in ("run", "explain", "replay"):
            assert "--bind" in run(lazuli, command, "--help")
        assert "--bind=NAME=SIZE" in run(lazuli_opt, "--help")
    print(f"cli: {checks} calls")


if __name__ == "__main__":
    main(*map(lambda path: str(pathlib.Path(path).resolve()), sys.argv[1:]))
