#!/usr/bin/env python3
"""Steps of training, Lazuli beside PyTorch (eager, compiled), turn by turn.

    training.py [--lazuli build/release/bin/bench-training] [--filter REGEX] [--rounds N] [--threads N] [--libraries a,b]
                [--patience SECONDS] [--json FILE]
    training.py --memory [...]    the most memory that a step holds, instead of its time

The work; a step is forward, backward and the update by AdamW (lr 1e-3, betas 0.9 and 0.999, eps 1e-8, decay 0.01), all f32, on one
batch that stays the same. Gradients are not clipped.

    mlp     784-512-10, relu, cross entropy; batch of 256
    gpt     2 blocks of width 256: 4 heads, hidden 1024, vocabulary 256, context 128; batch of 8 x 128 tokens. The model of
            tests/learn/fixtures/trainings.py
    lora    x [128, 512], frozen w [512, 512], a [8, 512], b [512, 8]: mean((x w^T + 0.5 (x a^T) b^T - target)^2); only a and b learn

How a library is asked. Each runs each piece of work in a process of its own: `bench-training --worker CASE` for Lazuli, this script with
`--worker LIBRARY CASE` for others. Answers are lines on standard output; standard error is not read.

    it starts                  ->  `ready` when model, data and optimiser are there and one step was run at least (so that all is
                                   compiled), or `missing REASON`, and ends
    N on standard input        ->  it runs N steps one behind the other, waits until the last one's parameters are there, and prints
                                   the seconds that took, as a number: `0.1234`
    end of standard input      ->  it ends

`bench-training --memory CASE` (here `--memory-worker LIBRARY CASE`) prints the most bytes that tensors hold at once in a step that is not
the first: parameters, gradients, state of the optimiser, activations, temporaries; or `missing REASON`.

How they are compared: all are started and warmed up by WARM_UP steps. A reading is as many steps as take READING seconds, at least one.
Then each round asks each library for one reading, with a pause between them in which threads stop spinning. The table has medians over
the rounds in ms per step, and the fastest peer's time over Lazuli's, by medians and by the least readings: above 1, Lazuli is faster.
Threads that wait for each other suffer much where other programs use the cores. How much those used during the readings stands in the
notes (Linux). With --patience, readings during which it was more than QUIET cores are taken again in a quiet moment, for so many seconds
of each piece of work in all.
"""

import argparse
import os
import re
import statistics
import sys
import time

from compare import PAUSE, PREPARE, Gone, Missing, Process, duration, ratio, write_json

HERE = os.path.dirname(os.path.abspath(__file__))
TITLES = {"mlp": "MLP 784-512-10, batch 256", "gpt": "GPT 2 x 256, batch 8 x 128", "lora": "LoRA step 128x512 r 8"}
READING = 0.2  # seconds
WARM_UP = 5    # steps
QUIET = 0.1    # cores that other programs use at most where --patience is content


# ---- PyTorch

class Torch:
    """AdamW is fused. By least readings for mlp and gpt no other form was faster: not the default, foreach, nor a compiled update."""

    def __init__(self, compiled, threads):
        sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "learn", "fixtures"))
        import torch
        self.torch, self.compiled = torch, compiled
        torch.set_num_threads(threads)
        torch.manual_seed(1)

    def mlp(self):
        from trainings import Mlp
        model, x, targets = Mlp(784, 512, 10), self.torch.randn(256, 784), self.torch.randint(0, 10, (256,))
        return list(model.parameters()), lambda: self.torch.nn.functional.cross_entropy(model(x), targets)

    def gpt(self):
        from trainings import Gpt
        model = Gpt(vocabulary=256, context=128, width=256, heads=4, hidden=1024, blocks=2)
        ids, targets = self.torch.randint(0, 256, (8, 128)), self.torch.randint(0, 256, (8, 128))
        return list(model.parameters()), lambda: self.torch.nn.functional.cross_entropy(model(ids).flatten(0, 1), targets.flatten())

    def lora(self):
        torch, linear = self.torch, self.torch.nn.functional.linear
        x, target, w = torch.randn(128, 512), torch.randn(128, 512), torch.randn(512, 512) / 512 ** 0.5
        a, b = torch.nn.Parameter(torch.randn(8, 512) / 512 ** 0.5), torch.nn.Parameter(torch.zeros(512, 8))
        return [a, b], lambda: torch.nn.functional.mse_loss(linear(x, w) + 0.5 * linear(linear(x, a), b), target)

    def step(self, case):
        """A function that runs one step, and returns when it is done."""
        parameters, loss = getattr(self, case)()
        if self.compiled:
            loss = self.torch.compile(loss)
        optimizer = self.torch.optim.AdamW(parameters, lr=1e-3, fused=True)

        def step():
            optimizer.zero_grad()  # first, so that the activations have the place of the gradients
            loss().backward()
            optimizer.step()
        return step

    def peak(self, case):
        """The most bytes allocated and not freed in the last of four steps. What oneDNN and MKL allocate themselves is not seen."""
        profiler = self.torch.profiler
        with profiler.profile(activities=[profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            step = self.step(case)
            for _ in range(3):
                step()
            with profiler.record_function("the last step"):
                step()
        events = sorted(profile.profiler.kineto_results.events(), key=lambda event: event.start_ns())
        begin = next(event.start_ns() for event in events if event.name() == "the last step")
        held, most = 0, 0
        for event in events:
            if event.name() == "[memory]":
                if event.start_ns() >= begin:
                    most = max(most, held)  # what was held before it counts as well
                held += event.nbytes()
                if event.start_ns() >= begin:
                    most = max(most, held)
        return most


LIBRARIES = {"torch": lambda threads: Torch(False, threads), "torch.compile": lambda threads: Torch(True, threads)}


def answer_turns(step):
    yield "ready"
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(int(line)):
            step()
        yield "%.9f" % (time.perf_counter() - start)


def work(library, case, threads, memory):
    """What a worker does."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    try:
        peer = LIBRARIES[library](threads)
        if memory:
            print(peer.peak(case), file=answers, flush=True)
            return
        step = peer.step(case)
        step()
    except Exception as error:
        print("missing %s: %s" % (type(error).__name__, (str(error).splitlines() or [""])[0][:200]), file=answers, flush=True)
        return
    for line in answer_turns(step):
        print(line, file=answers, flush=True)


# ---- the comparison

class Worker:
    """A library at one piece of work."""

    def __init__(self, library, case, options, memory=False):
        if library == "lazuli":
            if not os.access(options.lazuli, os.X_OK):
                raise Missing("there is no %s" % options.lazuli)
            command = [options.lazuli, "--memory" if memory else "--worker", case]
        else:
            command = [sys.executable, os.path.abspath(__file__), "--threads", str(options.threads),
                       "--memory-worker" if memory else "--worker", library, case]
        self.name = library
        self.process = Process(command, {"LAZULI_NUM_THREADS": str(options.threads), "OMP_NUM_THREADS": str(options.threads)})
        self.first = self.process.ask_text(None, PREPARE)
        if self.first.startswith("missing"):
            self.process.end()
            raise Missing(self.first[len("missing "):])

    def run(self, steps):
        """Seconds of one."""
        return float(self.process.ask_text(str(steps), PREPARE)) / steps

    def read(self):
        """Seconds of one, and how many cores other programs used meanwhile."""
        begin, busy = time.monotonic(), others(self.process.child.pid)
        seconds = self.run(self.steps)
        if seconds * self.steps < READING / 2:  # the machine was busy when steps were counted
            self.steps = round(READING / seconds)
        return seconds, max(0.0, others(self.process.child.pid) - busy) / (time.monotonic() - begin)


def wait_for_quiet(until):
    busy = QUIET + 1
    while busy > QUIET and time.monotonic() < until:
        before = others(os.getpid())
        time.sleep(0.5)
        busy = (others(os.getpid()) - before) / 0.5


def others(pid):
    """Processor time in seconds that all but one process used since the machine started; 0 where that is unknown."""
    try:
        with open("/proc/stat") as whole, open("/proc/%d/stat" % pid) as own:
            user, nice, system, _, _, *more = (int(n) for n in whole.readline().split()[1:9])
            mine = own.read().rpartition(")")[2].split()
            return (user + nice + system + sum(more) - int(mine[11]) - int(mine[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


def start(case, options, notes):
    workers = []
    for library in options.libraries.split(","):
        try:
            worker = Worker(library, case, options)
            worker.run(WARM_UP)
            worker.steps = max(1, round(READING / worker.run(2)))
            worker.run(worker.steps)
            workers.append(worker)
        except (Missing, Gone) as reason:
            notes.append("%s, %s: left out, %s" % (library, case, reason))
    return workers


def measure(case, options, notes):
    workers = start(case, options, notes)
    readings, disturbed = {worker.name: [] for worker in workers}, []
    until = time.monotonic() + options.patience
    for number in range(options.rounds):
        for worker in list(workers):
            time.sleep(PAUSE)
            try:
                seconds, cores = worker.read()
                while cores > QUIET and time.monotonic() < until:
                    wait_for_quiet(until)
                    seconds, cores = worker.read()
                readings[worker.name].append(seconds)
                disturbed.append(cores)
            except Gone as gone:
                notes.append("%s, %s: %s in round %d" % (worker.name, case, gone, number + 1))
                workers.remove(worker)
    for worker in workers:
        worker.process.end()
    row = {"name": case, "title": TITLES[case], "cores_used_by_others": statistics.mean(disturbed) if disturbed else None}
    if disturbed and row["cores_used_by_others"] > QUIET:
        notes.append("%s: other programs used %.1f cores meanwhile" % (case, row["cores_used_by_others"]))
    for key, of in (("seconds", statistics.median), ("least", min)):
        row[key] = {name: of(values) if values else None for name, values in readings.items()}
    row["best_peer_over_ours"], row["best_peer"] = ratio(row["seconds"])
    row["best_peer_over_ours_by_least"], _ = ratio(row["least"])
    return row


def measure_memory(case, options, notes):
    row = {"name": case, "title": TITLES[case], "bytes": {}}
    for library in options.libraries.split(","):
        try:
            worker = Worker(library, case, options, memory=True)
            row["bytes"][library] = int(worker.first)
            worker.process.end()
        except (Missing, Gone) as reason:
            notes.append("%s, %s: left out, %s" % (library, case, reason))
    return row


def print_table(result, names):
    width = max(len(row["title"]) for row in result["work"])
    memory = "bytes" in result["work"][0]
    head = "the most memory in a step" if memory else "a step"
    print("%-*s" % (width, head) + "".join("%24s" % n for n in names) + ("" if memory else "%13s%10s" % ("best / ours", "by least")))
    for row in result["work"]:
        cells = []
        for name in names:
            if memory:
                cells.append("%.1f MB" % (row["bytes"][name] / 1e6) if name in row["bytes"] else "-")
            else:
                known = row["seconds"].get(name)
                cells.append("%s (%s)" % (duration(known), duration(row["least"][name])) if known else "-")
        line = "%-*s" % (width, row["title"]) + "".join("%24s" % cell for cell in cells)
        if not memory and row["best_peer"]:
            line += "%12.2fx%9.2fx  %s" % (row["best_peer_over_ours"], row["best_peer_over_ours_by_least"], row["best_peer"])
        print(line)
    print("\n" + "\n".join(result["notes"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lazuli", default=os.path.join(HERE, "..", "..", "build", "release", "bin", "bench-training"))
    parser.add_argument("--filter", default="", help="only work whose name this expression finds: " + ", ".join(TITLES))
    parser.add_argument("--libraries", default=",".join(["lazuli", *LIBRARIES]))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--patience", type=float, default=0, help="seconds to wait for a quiet machine, for each piece of work")
    parser.add_argument("--json")
    parser.add_argument("--memory", action="store_true", help="compare memory, not time")
    parser.add_argument("--worker", nargs=2, metavar=("LIBRARY", "CASE"), help=argparse.SUPPRESS)
    parser.add_argument("--memory-worker", nargs=2, metavar=("LIBRARY", "CASE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker or options.memory_worker:
        return work(*(options.worker or options.memory_worker), options.threads, bool(options.memory_worker))
    options.lazuli = os.path.relpath(options.lazuli)
    names = options.libraries.split(",")
    for name in names:
        if name not in ("lazuli", *LIBRARIES):
            sys.exit("training.py: --libraries %s: there are lazuli, %s" % (name, ", ".join(LIBRARIES)))
    chosen = [case for case in TITLES if re.search(options.filter, case)]
    if not chosen:
        sys.exit("training.py: --filter %s: there are %s" % (options.filter, ", ".join(TITLES)))

    notes = []
    result = {"libraries": names, "rounds": options.rounds, "threads": options.threads, "work": [], "notes": notes}
    for case in chosen:
        result["work"].append((measure_memory if options.memory else measure)(case, options, notes))
    if not options.memory:
        notes.append("medians (least), %d threads, %d rounds" % (options.threads, options.rounds))
    print_table(result, names)
    write_json(result, options.json)


if __name__ == "__main__":
    main()
