"""`lazuli train` as a user tries it: it learns, goes on where it was broken off, adapts, and says what is wrong.

usage: train.py LAZULI
"""

import json
import os
import signal
import subprocess
import sys
import tempfile

TEXT = "The quick brown fox jumps over the lazy dog, and the dog does not mind.\n" * 120
SMALL = ["--layers", "1", "--dim", "32", "--batch", "2", "--context", "16", "--dropout", "0.1"]


def run(*arguments, check=0, **environment):
    done = subprocess.run([LAZULI, "train", *arguments], capture_output=True, text=True, env={**os.environ, **environment}, timeout=600)
    assert done.returncode == check, f"{arguments}: exit code {done.returncode}, not {check}: {done.stderr}"
    return done


def losses(*arguments, **environment):
    return [json.loads(line)["loss"] for line in run(*arguments, "--json", **environment).stdout.splitlines()]


def interrupted():
    """Ctrl-C saves and ends well; what follows is what would have followed."""
    whole = losses("--data", "text", *SMALL, "--steps", "40", "--out", "whole")
    with subprocess.Popen([LAZULI, "train", "--data", "text", *SMALL, "--steps", "40", "--out", "part", "--json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        first = [json.loads(process.stdout.readline())["loss"] for _ in range(10)]
        process.send_signal(signal.SIGINT)
        rest = [json.loads(line)["loss"] for line in process.stdout]
        assert process.wait(60) == 0, process.stderr.read()
    before = first + rest
    assert before == whole[:len(before)]
    if len(before) < len(whole):
        assert before + losses("--resume", "part") == whole, "a run that goes on is not the run that was broken off"
    seen = [json.loads(line)["step"] for line in open("part/steps.jsonl")]
    assert seen == list(range(1, 41)), seen
    return len(before)


def main():
    with open("text", "w", encoding="utf-8") as file:
        file.write(TEXT)
    said = run("--data", "text", *SMALL, "--steps", "30", "--lr", "0.01", "--out", "gpt").stderr
    assert "validation" in said and "tokens/s" in said and "peak" in said and "left" in said, said
    assert sorted(os.listdir("gpt")) == ["checkpoint.safetensors", "loss.svg", "model.safetensors", "steps.jsonl"]
    assert open("gpt/loss.svg", encoding="utf-8").read().startswith("<svg")
    learnt = [json.loads(line)["loss"] for line in open("gpt/steps.jsonl")]
    assert learnt[-1] < 0.8 * learnt[0], learnt

    one = losses("--data", "text", *SMALL, "--steps", "8", "--out", "one", LAZULI_NUM_THREADS="1")
    assert one == losses("--data", "text", *SMALL, "--steps", "8", "--out", "two"), "losses depend on the threads"
    steps = interrupted()

    mixed = losses("--data", "text", "--model", "rwkv7", "--heads", "1", "--layers", "1", "--dim", "32", "--batch", "2", "--context", "16",
                   "--steps", "10", "--lr", "0.01", "--out", "rwkv")
    assert mixed[-1] < mixed[0], mixed
    adapted = losses("--lora", "gpt/model.safetensors", "--data", "text", "--steps", "10", "--lr", "0.01", "--out", "adapted")
    assert adapted[-1] < learnt[0] and "adapter.safetensors" in os.listdir("adapted")
    for dtype in ("bf16", "f16"):
        narrow = losses("--data", "text", *SMALL, "--dtype", dtype, "--steps", "10", "--lr", "0.01", "--out", dtype)
        assert narrow[-1] < narrow[0], narrow

    for arguments, words in (((), "--data: a text file"), (("--data", "nothing"), "nothing: cannot be read"),
                             (("--data", "text", "--model", "lstm"), "lstm is neither gpt nor rwkv7"),
                             (("--data", "text", "--heads", "3"), "3 do not divide a width of 256"),
                             (("--resume", "nowhere"), "nowhere"), (("--lora", "text", "--data", "text"), "text"),
                             (("--lora", "gpt/model.safetensors", "--data", "text", "--dim", "64"), "64 is given, and the model that is there has 32")):
        said = run(*arguments, "--out", "wrong", check=1).stderr
        assert words in said, (arguments, said)
    print(f"train: broken off behind {steps} of 40 steps, and went on with the same losses")


LAZULI = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    os.chdir("/")
