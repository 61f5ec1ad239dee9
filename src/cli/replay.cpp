// `lazuli replay`: a program that a trace left behind, run again and compared.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "cli/commands.h"
#include "lazuli/lazuli.h"

namespace lazuli::cli {

namespace {

namespace fs = std::filesystem;

/// The operands beside the program, or drawn ones where there are none.
std::vector<Tensor> operands(const Program& program, const fs::path& folder) {
    std::vector<Tensor> out;
    std::uint64_t seed = 1;
    for (const Param& param : program.params()) {
        const fs::path file = folder / (param.name + ".npy");
        if (fs::exists(file)) {
            out.push_back(load_npy(file.string()));
            if (!(out.back().spec() == param.spec))
                throw ShapeError(fmt::format("{}: is {}, the parameter {} is {}", file.string(),
                                             out.back().spec().str(), param.name, param.spec.str()),
                                 param.spec.str(), out.back().spec().str());
        } else {
            fmt::print("{}: no {}, drawn from 0 to 1\n", param.name, file.string());
            out.push_back(conformance::draw(param.spec, 0, 1, false, seed++));
        }
    }
    return out;
}

struct Outcome {
    std::vector<std::vector<double>> values;  // of each result
    double milliseconds = 0;                  // of the best of several runs
};

Outcome run_on(const std::string& device, const Program& program, const std::vector<Tensor>& inputs,
               int times) {
    std::vector<Tensor> there;
    for (const Tensor& input : inputs) there.push_back(input.to(Device(device)));
    Outcome out{.milliseconds = 1e300};
    for (int i = 0; i < times; ++i) {
        const auto start = std::chrono::steady_clock::now();
        const std::vector<Tensor> results = record(program, there);
        eval(std::span<const Tensor>(results));
        out.milliseconds = std::min(out.milliseconds, std::chrono::duration<double, std::milli>(
                                                          std::chrono::steady_clock::now() - start)
                                                          .count());
        if (i > 0) continue;
        for (const Tensor& result : results)
            out.values.push_back(result.cast(f64).to_vector<double>());
    }
    return out;
}

struct Difference {
    double largest = 0;  // of |a - b| / max(1, |b|)
    std::size_t where = 0;
    std::size_t beyond = 0;  // elements further apart than allowed

    Difference(const std::vector<double>& got, const std::vector<double>& wanted, double allowed) {
        for (std::size_t i = 0; i < got.size(); ++i) {
            if (got[i] == wanted[i] || (std::isnan(got[i]) && std::isnan(wanted[i]))) continue;
            double apart = std::abs(got[i] - wanted[i]) / std::max(1.0, std::abs(wanted[i]));
            if (std::isnan(apart)) apart = INFINITY;
            if (apart > allowed) ++beyond;
            if (apart > largest) {
                largest = apart;
                where = i;
            }
        }
    }
};

double allowed_for(DType dtype, double factor) {
    return factor * (dtype == f16 || dtype == bf16 ? 2e-2 : dtype == f64 ? 1e-10 : 1e-4);
}

}  // namespace

int replay(const ReplayOptions& options) {
    const Program program = bound(read_program(options.file), options.bind);
    const fs::path folder = options.inputs.empty() ? fs::path(options.file).parent_path() / "inputs"
                                                   : fs::path(options.inputs);
    const std::vector<Tensor> inputs = operands(program, folder);
    const std::string device = options.backend.empty() ? default_device().name() : options.backend;
    const Outcome got = run_on(device, program, inputs, options.times);
    const Outcome wanted = run_on(options.against, program, inputs, 1);
    fmt::print("{} operations on {}: {:.3f} ms, on {}: {:.3f} ms\n", program.size(), device,
               got.milliseconds, options.against, wanted.milliseconds);
    fmt::print("{:<16} {:<24} {:>12} {:>14} {:>10}\n", "result", "type", "elements",
               "furthest apart", "too far");
    std::size_t beyond = 0;
    for (std::size_t i = 0; i < got.values.size(); ++i) {
        const TensorSpec spec = program.spec(program.results()[i].value);
        const Difference difference(got.values[i], wanted.values[i],
                                    allowed_for(spec.dtype, options.tolerance));
        beyond += difference.beyond;
        fmt::print(
            "{:<16} {:<24} {:>12} {:>14.3g} {:>10}{}\n", program.results()[i].name, spec.str(),
            got.values[i].size(), difference.largest, difference.beyond,
            difference.beyond == 0
                ? ""
                : fmt::format("   element {}: {} and not {}", difference.where,
                              got.values[i][difference.where], wanted.values[i][difference.where]));
    }
    return beyond == 0 ? 0 : 1;
}

}  // namespace lazuli::cli
