#include "cli/train.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "ir/text.h"
#include "lazuli/lazuli.h"

namespace lazuli::cli {

namespace {

using nlohmann::json;
namespace files = std::filesystem;

constexpr const char* kNote = "lazuli.train";  // where files of a run say what made them

// ---- what a run is

/// All that decides what a run computes. It stands in its checkpoints.
struct Config {
    std::string data;
    std::string model = "gpt";
    std::int64_t layers = 4;
    std::int64_t dim = 256;
    std::int64_t heads = 4;
    std::int64_t steps = 1000;
    std::int64_t batch = 8;
    std::int64_t context = 128;
    std::int64_t accumulate = 1;
    double lr = 1e-3;
    double clip = 1;
    double dropout = 0;
    std::string optimizer = "adamw";
    std::string dtype = "f32";
    std::int64_t seed = 1;
    std::int64_t rank = 8;
    double alpha = 16;
    std::string lora;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Config, data, model, layers, dim, heads, steps,
                                                batch, context, accumulate, lr, clip, dropout,
                                                optimizer, dtype, seed, rank, alpha, lora)

template <class T>
void set(T& place, const std::optional<T>& given) {
    if (given) place = *given;
}

/// Refuses to change what a checkpoint or a model to adapt fixes.
template <class T>
void keep(std::string_view option, T& place, const std::optional<T>& given, bool fixed) {
    if (fixed && given && *given != place)
        throw ArgumentError(fmt::format("--{}: {} is given, and the model that is there has {}",
                                        option, *given, place));
    set(place, given);
}

Config with_options(Config config, const TrainOptions& given, bool fixed) {
    keep("model", config.model, given.model, fixed);
    keep("layers", config.layers, given.layers, fixed);
    keep("dim", config.dim, given.dim, fixed);
    keep("heads", config.heads, given.heads, fixed);
    // A GPT has a row for each place; RWKV-7 takes any length.
    keep("context", config.context, given.context, fixed && config.model == "gpt");
    set(config.data, given.data);
    set(config.steps, given.steps);
    set(config.batch, given.batch);
    set(config.accumulate, given.accumulate);
    set(config.lr, given.lr);
    set(config.clip, given.clip);
    set(config.dropout, given.dropout);
    set(config.optimizer, given.optimizer);
    set(config.dtype, given.dtype);
    set(config.seed, given.seed);
    set(config.rank, given.rank);
    set(config.alpha, given.alpha);
    return config;
}

Config config_in(const std::string& path) {
    const SafetensorsFile file = SafetensorsFile::open(path);
    const auto found = file.metadata().find(kNote);
    if (found == file.metadata().end())
        throw FileError(path, "it is not from `lazuli train`: it does not say what model it is of");
    try {
        return json::parse(found->second).get<Config>();
    } catch (const json::exception& error) {
        throw FileError(path,
                        fmt::format("what it says of its model cannot be read: {}", error.what()));
    }
}

void expect_sensible(const Config& config) {
    const auto expect = [](bool holds, const std::string& message) {
        if (!holds) throw ArgumentError(message);
    };
    expect(!config.data.empty(), "--data: a text file to learn from is missing");
    expect(config.model == "gpt" || config.model == "rwkv7",
           fmt::format("--model: {} is neither gpt nor rwkv7", config.model));
    expect(config.optimizer == "adamw" || config.optimizer == "adam" || config.optimizer == "sgd" ||
               config.optimizer == "lion" || config.optimizer == "adafactor" ||
               config.optimizer == "muon",
           fmt::format("--optimizer: {} is none of adamw, adam, sgd, lion, adafactor, muon",
                       config.optimizer));
    expect(config.dtype == "f32" || config.dtype == "bf16" || config.dtype == "f16",
           fmt::format("--dtype: {} is none of f32, bf16, f16", config.dtype));
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, std::int64_t>>{
             {"layers", config.layers},
             {"dim", config.dim},
             {"heads", config.heads},
             {"steps", config.steps},
             {"batch", config.batch},
             {"context", config.context},
             {"accumulate", config.accumulate},
             {"rank", config.rank}})
        expect(value >= 1, fmt::format("--{}: {}, below 1", name, value));
    expect(config.lr > 0, fmt::format("--lr: {}, not above 0", config.lr));
    expect(
        config.dim % config.heads == 0,
        fmt::format("--heads: {} do not divide a width of {} (--dim)", config.heads, config.dim));
}

// ---- what it is made of

std::unique_ptr<nn::LanguageModel> model_of(const Config& config) {
    const SeedScope seed(static_cast<std::uint64_t>(config.seed));
    if (config.model == "gpt")
        return std::make_unique<nn::Gpt>(nn::GptOptions{.context = config.context,
                                                        .width = config.dim,
                                                        .layers = config.layers,
                                                        .heads = config.heads,
                                                        .dropout = config.dropout});
    return std::make_unique<nn::Rwkv7>(nn::Rwkv7ModelOptions{
        .block = {
            .width = config.dim, .head_size = config.dim / config.heads, .layers = config.layers}});
}

/// The layers that an adapter is for: what asks and what is asked for.
std::vector<std::string> adapted_layers(const Config& config) {
    if (config.model == "gpt") return {"*.query", "*.value"};
    return {"*.receptance", "*.value"};
}

std::unique_ptr<optim::Optimizer> optimizer_of(const Config& config) {
    const std::int64_t warm = std::clamp<std::int64_t>(config.steps / 20, 1, 200);
    const optim::Schedule schedule =
        optim::warm_up(warm, optim::cosine(std::max<std::int64_t>(1, config.steps - warm), 0.1));
    const optim::AdamOptions adam{
        .lr = config.lr, .beta2 = 0.95, .weight_decay = 0.1, .schedule = schedule};
    if (config.optimizer == "adamw") return std::make_unique<optim::AdamW>(adam);
    if (config.optimizer == "adam")
        return std::make_unique<optim::Adam>(
            optim::AdamOptions{.lr = config.lr, .beta2 = 0.95, .schedule = schedule});
    if (config.optimizer == "sgd")
        return std::make_unique<optim::Sgd>(
            optim::SgdOptions{.lr = config.lr, .momentum = 0.9, .schedule = schedule});
    if (config.optimizer == "lion")
        return std::make_unique<optim::Lion>(
            optim::LionOptions{.lr = config.lr, .weight_decay = 0.1, .schedule = schedule});
    if (config.optimizer == "adafactor")
        return std::make_unique<optim::Adafactor>(
            optim::AdafactorOptions{.lr = config.lr, .schedule = schedule});
    return std::make_unique<optim::Muon>(
        optim::MuonOptions{.lr = config.lr, .others = adam, .schedule = schedule});
}

// ---- what is shown

std::atomic<bool> interrupted{false};

/// Remembers the first Ctrl-C; the second one ends the process as ever.
class InterruptScope {
   public:
    InterruptScope() {
        interrupted = false;
        struct sigaction action{};
        action.sa_handler = [](int) { interrupted = true; };
        action.sa_flags = static_cast<int>(SA_RESETHAND);
        sigaction(SIGINT, &action, &before_);
    }
    ~InterruptScope() { sigaction(SIGINT, &before_, nullptr); }
    InterruptScope(const InterruptScope&) = delete;
    InterruptScope& operator=(const InterruptScope&) = delete;

   private:
    struct sigaction before_{};
};

std::string duration_text(double seconds) {
    const auto whole = static_cast<std::int64_t>(seconds + 0.5);
    if (whole < 60) return fmt::format("{}s", whole);
    if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
    return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

/// A step, as lines in JSON and pictures have it.
struct Row {
    std::int64_t step = 0;  // from 1
    double loss = 0;
    double lr = 0;
    double norm = 0;
    double tokens_per_second = 0;
    std::uint64_t peak_bytes = 0;
    std::optional<double> validation = {};
};

std::string line_of(const Row& row) {
    json line{{"step", row.step},
              {"loss", row.loss},
              {"lr", row.lr},
              {"norm", row.norm},
              {"tokens_per_second", row.tokens_per_second},
              {"peak_bytes", row.peak_bytes}};
    if (row.validation) line["validation_loss"] = *row.validation;
    return line.dump();
}

/// A bar where somebody looks, a line now and then where nobody does.
class Progress {
   public:
    Progress(std::int64_t first, std::int64_t steps, bool quiet)
        : first_(first),
          steps_(steps),
          quiet_(quiet),
          is_terminal_(isatty(STDERR_FILENO) != 0),
          begin_(std::chrono::steady_clock::now()) {}

    void show(const Row& row) {
        if (row.validation) validation_ = row.validation;
        if (quiet_) return;
        const auto now = std::chrono::steady_clock::now();
        const bool is_last = row.step == steps_;
        if (is_terminal_) {
            if (!is_last && now - shown_ < std::chrono::milliseconds(100)) return;
            shown_ = now;
            fmt::print(stderr, "\r{} {}\x1b[K", bar(row.step), text(row, now));
        } else if (is_last || row.step == first_ + 1 ||
                   row.step % std::max<std::int64_t>(1, steps_ / 20) == 0) {
            fmt::print(stderr, "{}\n", text(row, now));
        }
        std::fflush(stderr);
    }
    /// Words below the bar.
    void say(const std::string& words) {
        fmt::print(stderr, "{}{}\n", is_terminal_ && !quiet_ ? "\r\x1b[K" : "", words);
    }

   private:
    std::string bar(std::int64_t step) const {
        constexpr std::int64_t kWidth = 24;
        const std::int64_t full = steps_ == 0 ? kWidth : step * kWidth / steps_;
        std::string out;
        for (std::int64_t i = 0; i < kWidth; ++i) out += i < full ? "█" : "░";
        return out;
    }
    std::string text(const Row& row, std::chrono::steady_clock::time_point now) const {
        const double passed = std::chrono::duration<double>(now - begin_).count();
        const double left = passed /
                            static_cast<double>(std::max<std::int64_t>(1, row.step - first_)) *
                            static_cast<double>(steps_ - row.step);
        return fmt::format(
            "{}/{}  loss {:.4f}{}  {:.0f} tokens/s  peak {}  {} left", row.step, steps_, row.loss,
            validation_ ? fmt::format("  validation {:.4f}", *validation_) : "",
            row.tokens_per_second, ir::bytes_text(static_cast<std::int64_t>(row.peak_bytes)),
            duration_text(left));
    }
    std::int64_t first_;
    std::int64_t steps_;
    bool quiet_;
    bool is_terminal_;
    std::chrono::steady_clock::time_point begin_;
    std::chrono::steady_clock::time_point shown_{};
    std::optional<double> validation_;
};

// ---- a run

class Run {
   public:
    Run(Config config, const TrainOptions& options, bool resumed)
        : config_(std::move(config)),
          options_(options),
          data_(Dataset::bytes(config_.data, config_.context).split(0.9)),
          model_(model_of(config_)),
          optimizer_(optimizer_of(config_)) {
        prepare_model();
        step_.emplace(
            *model_, *optimizer_,
            [this](const std::vector<Tensor>& batch) { return model_->loss(batch[0], batch[1]); },
            train::StepOptions{.clip_norm = config_.clip,
                               .accumulate = config_.accumulate,
                               .seed = static_cast<std::uint64_t>(config_.seed),
                               .loss_scale = config_.dtype == "f16"
                                                 ? std::optional(train::LossScale{})
                                                 : std::nullopt});
        files::create_directories(options_.out);
        if (resumed) resume();
    }

    int go() {
        const InterruptScope interrupts;
        const std::int64_t calls = config_.steps * config_.accumulate;
        const std::int64_t first = step_->calls();
        const std::int64_t validate_every = every(options_.validate_every);
        const std::int64_t save_every = every(options_.save_every);
        if (!options_.json) {
            fmt::print(stderr,
                       "{}, {} parameters, {} trained; {}: {} examples, {} for validation\n",
                       config_.model, model_->count(), model_->count(true), config_.data,
                       data_.first.size(), data_.second.size());
        }
        Progress progress(first / config_.accumulate, config_.steps, options_.json);
        Loader loader(data_.first, order(data_.first, 0), {.first = first});
        std::ofstream lines(path("steps.jsonl"), std::ios::app);
        Row row;
        double loss = 0;
        auto begin = std::chrono::steady_clock::now();
        bool failed = false;
        while (step_->calls() < calls && !interrupted) {
            row.lr = optimizer_->lr();
            const train::StepResult made = (*step_)(loader.next());
            loss += made.loss.item<double>() / static_cast<double>(config_.accumulate);
            if (step_->calls() % config_.accumulate != 0) continue;
            const auto now = std::chrono::steady_clock::now();
            row.step = step_->calls() / config_.accumulate;
            row.loss = std::exchange(loss, 0);
            row.norm = made.norm.defined() ? made.norm.item<double>() : 0;
            // Smoothed: single steps take now more, now less.
            const double speed =
                static_cast<double>(config_.batch * config_.context * config_.accumulate) /
                std::chrono::duration<double>(now - begin).count();
            row.tokens_per_second += (speed - row.tokens_per_second) *
                                     (row.step < first / config_.accumulate + 4 ? 1 : 0.1);
            row.peak_bytes = memory_stats().peak;
            row.validation.reset();
            const bool is_last = row.step == config_.steps;
            if (row.step % validate_every == 0 || is_last) row.validation = validation_loss();
            rows_.push_back(row);
            lines << line_of(row) << std::endl;
            if (options_.json) fmt::print("{}\n", line_of(row));
            progress.show(row);
            if (row.step % save_every == 0 && !is_last) failed = !save(progress);
            begin = std::chrono::steady_clock::now();
        }
        failed = !save(progress);
        if (interrupted)
            progress.say(fmt::format("interrupted at step {}: go on with --resume {}",
                                     step_->calls() / config_.accumulate, options_.out));
        if (!options_.json) say_where(loader.waited());
        return failed ? 1 : 0;
    }

   private:
    std::string path(const std::string& name) const {
        return (files::path(options_.out) / name).string();
    }
    std::int64_t every(std::int64_t given) const {
        return given > 0 ? given : std::max<std::int64_t>(1, config_.steps / 10);
    }
    Batches order(const Dataset& data, std::uint64_t which) const {
        const std::int64_t size = std::min(config_.batch, data.size());
        return Batches(
            data.size(),
            {.size = size, .key = key(static_cast<std::uint64_t>(config_.seed) * 2 + which)});
    }

    void prepare_model() {
        if (!config_.lora.empty()) {
            const SeedScope seed(static_cast<std::uint64_t>(config_.seed) + 1);
            if (config_.lora.ends_with("checkpoint.safetensors"))
                throw FileError(config_.lora,
                                "an adapter stands on weights alone: model.safetensors beside it");
            model_->load_file(config_.lora);
            nn::add_lora(*model_, {.layers = adapted_layers(config_),
                                   .rank = config_.rank,
                                   .alpha = config_.alpha,
                                   .dropout = config_.dropout});
        }
        model_->recompute = options_.recompute;
        if (config_.dtype != "f32") model_->cast(config_.dtype == "bf16" ? bf16 : f16);
    }

    void resume() {
        train::load_checkpoint(path("checkpoint.safetensors"), *model_, *optimizer_, *step_);
        // What was shown before is part of the curve, up to the step that was saved.
        const std::int64_t saved = step_->calls() / config_.accumulate;
        std::ifstream before(path("steps.jsonl"));
        std::string kept;
        for (std::string line; std::getline(before, line);) {
            const json parsed = json::parse(line, nullptr, false);
            if (parsed.is_discarded() || parsed.value("step", saved + 1) > saved) continue;
            Row row{.step = parsed.value("step", std::int64_t{0}),
                    .loss = parsed.value("loss", NAN)};
            if (parsed.contains("validation_loss")) row.validation = parsed["validation_loss"];
            rows_.push_back(row);
            kept += line + "\n";
        }
        std::ofstream(path("steps.jsonl"), std::ios::trunc) << kept;
    }

    double validation_loss() {
        constexpr std::int64_t kMost = 8;
        const NoGradScope no_gradients;
        model_->train(false);
        const Batches batches = order(data_.second, 1);
        const std::int64_t count = std::min(kMost, batches.per_epoch());
        double sum = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            const Batch batch = data_.second.batch(batches.at(i));
            sum += model_->loss(batch[0], batch[1]).item<double>();
        }
        model_->train(true);
        return sum / static_cast<double>(count);
    }

    /// Writes all files of the run. A disk that is full stops no training: what was written last
    /// time is still there, and all is in memory.
    bool save(Progress& progress) {
        const std::map<std::string, std::string> notes{{kNote, json(config_).dump()}};
        try {
            train::save_checkpoint(path("checkpoint.safetensors"), *model_, *optimizer_, *step_,
                                   notes);
            if (config_.lora.empty())
                save_safetensors(path("model.safetensors"), model_->state(), notes);
            else
                nn::save_lora(*model_, path("adapter.safetensors"));
            write_picture();
            return true;
        } catch (const FileError& error) {
            progress.say(fmt::format("not saved, and training goes on: {}", error.what()));
            return false;
        }
    }

    void write_picture() const {
        train::Curve training{"training", {}};
        train::Curve validation{"validation", {}};
        for (const Row& row : rows_) {
            training.points.emplace_back(row.step, row.loss);
            if (row.validation) validation.points.emplace_back(row.step, *row.validation);
        }
        const std::string picture =
            train::curves_svg(fmt::format("loss: {} of {} layers, width {}", config_.model,
                                          config_.layers, config_.dim),
                              {training, validation});
        std::ofstream out(path("loss.svg"), std::ios::trunc);
        out << picture;
        if (!out.flush()) throw FileError(path("loss.svg"), "cannot be written");
    }

    void say_where(const Waited& waited) const {
        const char* weights = config_.lora.empty() ? "model.safetensors" : "adapter.safetensors";
        fmt::print(stderr,
                   "\n{}: weights, {}: to go on from, {}: the curve; batches were waited "
                   "for {} times, {:.1f} ms in all\n",
                   path(weights), path("checkpoint.safetensors"), path("loss.svg"), waited.times,
                   std::chrono::duration<double, std::milli>(waited.total).count());
    }

    Config config_;
    const TrainOptions& options_;
    std::pair<Dataset, Dataset> data_;
    std::unique_ptr<nn::LanguageModel> model_;
    std::unique_ptr<optim::Optimizer> optimizer_;
    std::optional<train::Step> step_;
    std::vector<Row> rows_;
};

}  // namespace

int train(const TrainOptions& given) {
    TrainOptions options = given;
    Config config;
    const bool resumed = !options.resume.empty();
    if (resumed && !options.lora.empty())
        throw ArgumentError("--lora: a run that is resumed knows what it adapts");
    if (resumed) {
        const files::path named(options.resume);
        const bool is_folder = files::is_directory(named);
        options.out = is_folder ? named.string() : named.parent_path().string();
        if (options.out.empty()) options.out = ".";
        const files::path file = is_folder ? named / "checkpoint.safetensors" : named;
        config = with_options(config_in(file.string()), options, true);
    } else if (!options.lora.empty()) {
        config = with_options(config_in(options.lora), options, true);
        config.lora = options.lora;
    } else {
        config = with_options(config, options, false);
    }
    expect_sensible(config);
    return Run(config, options, resumed).go();
}

}  // namespace lazuli::cli
