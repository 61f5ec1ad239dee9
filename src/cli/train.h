#pragma once

// `lazuli train`: a language model over bytes, trained on a text file.

#include <cstdint>
#include <optional>
#include <string>

namespace lazuli::cli {

/// What was said on the command line. What was not comes from the run that is resumed, from the
/// model that is adapted, or from the defaults.
struct TrainOptions {
    std::optional<std::string> data;
    std::optional<std::string> model;  // gpt or rwkv7
    std::optional<std::int64_t> layers;
    std::optional<std::int64_t> dim;
    std::optional<std::int64_t> heads;
    std::optional<std::int64_t> steps;
    std::optional<std::int64_t> batch;
    std::optional<std::int64_t> context;
    std::optional<std::int64_t> accumulate;
    std::optional<double> lr;
    std::optional<double> clip;
    std::optional<double> dropout;
    std::optional<std::string> optimizer;
    std::optional<std::string> dtype;
    std::optional<std::int64_t> seed;
    std::optional<std::int64_t> rank;
    std::optional<double> alpha;
    std::string lora;    // a model that gets an adapter; empty: all of a new one is trained
    std::string resume;  // a folder, or the checkpoint in it
    std::string out = "lazuli-train";
    std::int64_t save_every = 0;      // steps; 0: ten times in a run
    std::int64_t validate_every = 0;  // steps; 0: ten times in a run
    bool recompute = false;           // less memory for more work
    bool json = false;                // a line a step on standard output
};

/// Trains; Ctrl-C saves and returns. Returns the exit code.
int train(const TrainOptions& options);

}  // namespace lazuli::cli
