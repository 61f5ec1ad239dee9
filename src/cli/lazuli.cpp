// The `lazuli` program.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/train.h"

namespace {

using namespace lazuli::cli;

void add_bind(CLI::App& command, std::vector<std::string>& bind) {
    command
        .add_option("--bind", bind,
                    "NAME=SIZE, or several with commas: the size that a variable of the program's "
                    "shapes has")
        ->allow_extra_args(false);  // a file may follow
}

void add_run(CLI::App& app, RunOptions& options) {
    CLI::App* command =
        app.add_subcommand("run", "Run a program from a file (.ir text, JSON or bytes)");
    command->add_option("file", options.file, "The program")->required();
    add_bind(*command, options.bind);
    command->add_option("--input", options.inputs,
                        "NAME=FILE.npy: a parameter's value; once a parameter");
    command->add_option("--output", options.outputs, "NAME=FILE.npy: where a result is written");
    command->add_option("--backend", options.backend,
                        "The device that runs it; else LAZULI_DEVICE, else cpu");
    command->add_flag("--print", options.print,
                      "Show the results even when they are written to files");
    command->callback([&options] { run(options); });
}

void add_train(CLI::App& app, TrainOptions& options, int& status) {
    CLI::App* command = app.add_subcommand(
        "train", "Train a language model over bytes on a text file, or an adapter of one");
    command->add_option("--data", options.data,
                        "The file to learn from; its end is for validation");
    command->add_option("--model", options.model, "gpt (default) or rwkv7");
    command->add_option("--layers", options.layers, "Blocks of the model (4)");
    command->add_option("--dim", options.dim, "Its width (256)");
    command->add_option("--heads", options.heads, "Heads of a block (4)");
    command->add_option("--steps", options.steps, "Updates (1000)");
    command->add_option("--batch", options.batch, "Sequences a step (8)");
    command->add_option("--context", options.context, "Bytes a sequence (128)");
    command->add_option("--accumulate", options.accumulate, "Batches an update (1)");
    command->add_option("--lr", options.lr, "Learning rate behind the warm-up (0.001)");
    command->add_option("--clip", options.clip, "Greatest norm of gradients; 0: any (1)");
    command->add_option("--dropout", options.dropout, "Share that is dropped in training (0)");
    command->add_option("--optimizer", options.optimizer,
                        "adamw (default), adam, sgd, lion, adafactor or muon");
    command->add_option("--dtype", options.dtype,
                        "f32 (default); bf16 and f16 keep f32 weights beside");
    command->add_option("--seed", options.seed, "Of weights, batches and dropout (1)");
    command->add_option("--lora", options.lora,
                        "A model.safetensors of a run: it is frozen, and an adapter is trained");
    command->add_option("--rank", options.rank, "Of the adapter (8)");
    command->add_option("--alpha", options.alpha, "Scale of the adapter, times its rank (16)");
    command->add_option("--resume", options.resume,
                        "The folder of a run that goes on from its checkpoint");
    command->add_option("--out", options.out, "The folder of the run")->capture_default_str();
    command->add_option("--save-every", options.save_every, "Steps; else ten times in a run");
    command->add_option("--validate-every", options.validate_every,
                        "Steps; else ten times in a run");
    command->add_flag("--recompute", options.recompute,
                      "Compute blocks again for their gradients: less memory, more work");
    command->add_flag("--json", options.json, "A line a step on standard output");
    command->callback([&] { status = train(options); });
}

void add_ops(CLI::App& app, bool& markdown, bool& json) {
    CLI::App* command = app.add_subcommand("ops", "List the operations");
    command->add_flag("--markdown", markdown, "As the page docs/ops.md");
    command->add_flag("--json", json, "As JSON, with types, attributes and test cases");
    command->callback([&] {
        if (markdown) {
            fmt::print("{}", ops_markdown());
        } else if (json) {
            fmt::print("{}\n", ops_json());
        } else {
            list_ops();
        }
    });
}

void add_bench(CLI::App& app, BenchOptions& options) {
    CLI::App* command = app.add_subcommand(
        "bench",
        "Measure kernels, products and the engine's own costs beside the machine's limits");
    command->add_option("--filter", options.filter, "Only cases whose names this expression finds");
    command->add_option("--device", options.device, "The device that computes")
        ->capture_default_str();
    command->add_flag("--list", options.list, "List the cases");
    command->add_flag("--quick", options.quick,
                      "Small sizes and few readings, to see that it works");
    command->add_flag("--json", options.json, "As JSON, for programs");
    command->add_flag(
        "--turns", options.turns,
        "Read names of cases from standard input, and answer each with the seconds of "
        "one reading");
    command->callback([&options] { bench(options); });
}

void add_plan_memory(CLI::App& app, PlanMemoryOptions& options, int& status) {
    CLI::App* command = app.add_subcommand(
        "plan-memory",
        "Give buffers with lifetimes places in one piece of memory, as low as can be");
    command
        ->add_option("file", options.file,
                     "Rows of id,lower,upper,size: bytes that are alive on [lower, upper)")
        ->required();
    command->add_option("--capacity", options.capacity,
                        "Bytes that are enough; exit code 3 where they are not");
    command->add_option("--seconds", options.seconds, "Time for the search")->capture_default_str();
    command->add_option("--alignment", options.alignment, "Of offsets, in bytes")
        ->capture_default_str();
    command->add_option("--output", options.output,
                        "Where the rows are written with their offsets; else they are printed");
    command->callback([&] { status = plan_memory(options); });
}

void add_replay(CLI::App& app, ReplayOptions& options, int& status) {
    CLI::App* command = app.add_subcommand(
        "replay", "Run a program that a trace left behind, and compare it on two devices");
    command->add_option("file", options.file, "The program: PLAN/program.ir of a trace")
        ->required();
    add_bind(*command, options.bind);
    command->add_option("--inputs", options.inputs,
                        "The folder with its operands; else `inputs` beside the program");
    command->add_option("--backend", options.backend,
                        "The device that runs it; else LAZULI_DEVICE, else cpu");
    command->add_option("--against", options.against, "The device it is compared with")
        ->capture_default_str();
    command->add_option("--tolerance", options.tolerance, "Times the difference that is allowed")
        ->capture_default_str();
    command->add_option("--times", options.times, "Runs, of which the fastest is told")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    command->callback([&] { status = replay(options); });
}

void add_report(CLI::App& app, ReportOptions& options) {
    CLI::App* command = app.add_subcommand("report", "Write a trace as one page that explains it");
    command->add_option("directory", options.directory, "Where LAZULI_TRACE left it")->required();
    command->add_option("--output", options.output, "The page; else report.html in that folder");
    command->callback([&options] {
        options.progress = isatty(STDERR_FILENO) != 0;
        report(options);
    });
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"Lazuli: a lazy tensor engine"};
    app.require_subcommand(1);
    app.set_version_flag("--version", "lazuli 0.1.0");
    RunOptions run_options;
    bool markdown = false;
    bool json = false;
    app.add_subcommand("demo", "Show one expression from recording to values")->callback(demo);
    add_run(app, run_options);
    add_ops(app, markdown, json);
    BenchOptions bench_options;
    add_bench(app, bench_options);
    PlanMemoryOptions memory_options;
    int status = 0;
    add_plan_memory(app, memory_options, status);
    ReplayOptions replay_options;
    add_replay(app, replay_options, status);
    TrainOptions train_options;
    add_train(app, train_options, status);
    ReportOptions report_options;
    add_report(app, report_options);
    ExplainOptions explain_options;
    CLI::App* command =
        app.add_subcommand("explain", "Show the kernels that a program becomes, and why no fewer");
    command->add_option("file", explain_options.file, "The program (.ir text, JSON or bytes)")
        ->required();
    add_bind(*command, explain_options.bind);
    command->add_flag("--kernels", explain_options.kernels, "Show their code as well");
    command->add_flag("--assembly", explain_options.assembly,
                      "Show the machine code of the cpu backend as well");
    command->callback([&] { explain(explain_options); });
    app.add_subcommand("devices", "List the devices")->callback(list_devices);
    app.add_subcommand("env", "List the environment variables")->callback(list_environment);
    return guarded("lazuli", [&] {
        try {
            app.parse(argc, argv);
        } catch (const CLI::ParseError& e) {
            return app.exit(e) == 0 ? 0 : 2;
        }
        return status;
    });
}
