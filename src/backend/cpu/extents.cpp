#include "backend/cpu/extents.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/flatten.h"
#include "codegen/lines.h"
#include "codegen/phases.h"
#include "lazuli/error.h"

namespace lazuli::cpu {

namespace {

// Below this a second thread costs more than it brings; above, pieces are about as long as this.
constexpr double kPieceCycles = 50'000;
// What a loop takes beside its steps.
constexpr double kLoopCycles = 20;

// Across a loop, elements of the loops inside lie apart and are read one by one: up to so many
// steps of those that is faster than vectors which are mostly empty, and up to codegen::kShortSteps
// where much is computed of what is read, about so many cycles an element.
constexpr std::int64_t kFewSteps = 5;
constexpr double kMuchWork = 2;

}  // namespace

ExtentTable::ExtentTable(const codegen::Kernel& kernel)
    : kernel_(kernel.name), table_(kernel.variables) {
    for (const Expr& v : kernel.variables)
        variables_.push_back({std::string(v.name()), v.bounds()});
    for (const codegen::Phase& phase : codegen::phases_of(kernel)) {
        Part& part = parts_.emplace_back();
        part.parallel = phase.parallel;
        if (!phase.parallel) continue;
        const codegen::Statement& loop = kernel.body[phase.first];
        part.across = codegen::vectorizes_across(loop);
        part.tiles = codegen::runs_in_tiles(loop);
        part.may_be_turned = codegen::may_be_turned(kernel, phase);
        part.may_be_flat = !kernel.variables.empty() && codegen::flattened(loop, 0).has_value();
        part.steps = table_.add(loop.counts[0].size);
        for (const std::size_t i : codegen::may_be_large(kernel, phase))
            part.large.push_back(memory_of(kernel.buffers[i]));
        part.work.push_back({0, {}});
        add(kernel, loop.body, 0, part);
    }
    for (const codegen::KernelBuffer& buffer : kernel.buffers) {
        if (buffer.scratch) scratch_.push_back(memory_of(buffer));
    }
}

ExtentTable::Memory ExtentTable::memory_of(const codegen::KernelBuffer& buffer) {
    return {table_.add(buffer.elements), static_cast<std::int64_t>(size_of(buffer.dtype))};
}

/// The size of a loop at the first step of those around it, as a result of the table.
std::size_t ExtentTable::add(const codegen::Kernel& kernel, const Expr& size) {
    return table_.add(size.substitute([&](Expr v) -> std::optional<Expr> {
        const auto& known = kernel.variables;
        if (std::find(known.begin(), known.end(), v) != known.end()) return std::nullopt;
        return v * 0;
    }));
}

/// About how many cycles the statements of a block take.
void ExtentTable::add(const codegen::Kernel& kernel, const codegen::Block& block, std::size_t body,
                      Part& part) {
    using codegen::StatementKind;
    for (const codegen::Statement& s : block) {
        switch (s.kind) {
            case StatementKind::parallel:
            case StatementKind::serial:
            case StatementKind::reduce: {
                part.work[body].cycles += kLoopCycles;
                Body inside{body, {}};
                for (const codegen::Count& c : s.counts)
                    inside.counts.push_back(add(kernel, c.size));
                part.work.push_back(std::move(inside));
                add(kernel, s.body, part.work.size() - 1, part);
                break;
            }
            case StatementKind::load:
            case StatementKind::store: part.work[body].cycles += 0.25; break;
            case StatementKind::apply:
                part.work[body].cycles += op_def(s.op).primitive == Primitive::none ? 40 : 0.1;
                break;
            case StatementKind::constant:
            case StatementKind::position:
            case StatementKind::bind: break;
        }
    }
}

codegen::Form ExtentTable::form_of(const Part& part, std::span<const std::int64_t> results) {
    using codegen::Form;
    std::int64_t longest = 0;  // of the loops inside
    bool is_flat = part.may_be_flat;
    for (const Body& body : part.work) {
        for (const std::size_t count : body.counts) {
            longest = std::max(longest, results[count]);
            is_flat = is_flat && results[count] == 1;
        }
    }
    const std::int64_t steps = results[part.steps];
    if (is_flat) return Form::flat;
    const auto is_short = [&] {
        if (part.across) return steps == 1;
        double work = 0;
        for (std::size_t i = 1; i < part.work.size(); ++i) work += part.work[i].cycles;
        const bool many = part.tiles || work >= kMuchWork;
        return longest <= (many ? codegen::kShortSteps : kFewSteps) &&
               steps >= codegen::kShortSteps;
    };
    if (part.may_be_turned && is_short()) return Form::turned;
    const bool is_large = std::all_of(part.large.begin(), part.large.end(), [&](const Memory& m) {
        return results[m.elements] >= codegen::kStreamBytes / m.size;
    });
    return !part.large.empty() && is_large ? Form::large : Form::usual;
}

Extents::Part ExtentTable::evaluated(const Part& part,
                                     std::span<const std::int64_t> results) const {
    if (!part.parallel) return {};
    std::vector<double> times(part.work.size(), 1);
    double cycles = part.work[0].cycles;
    for (std::size_t i = 1; i < part.work.size(); ++i) {
        const Body& body = part.work[i];
        times[i] = times[body.around];
        for (const std::size_t count : body.counts)
            times[i] *= static_cast<double>(std::max<std::int64_t>(1, results[count]));
        cycles += times[i] * body.cycles;
    }
    const codegen::Form form = form_of(part, results);
    if (form == codegen::Form::flat)  // there are no loops inside
        cycles -= kLoopCycles * static_cast<double>(part.work.size() - 1);
    const std::int64_t steps = std::max<std::int64_t>(0, results[part.steps]);
    auto grain = static_cast<std::int64_t>(kPieceCycles / std::max(0.01, cycles));
    // Not so many pieces that handing them out shows, and whole cache lines each.
    grain = std::max<std::int64_t>({grain, steps / 256, 1});
    const bool turned = form == codegen::Form::turned;
    if (part.across != turned || form == codegen::Form::flat)
        grain = std::max<std::int64_t>(grain, 64);
    if (part.tiles) grain = std::max(grain, codegen::kTileRows);
    if (grain > 64) grain = grain / 64 * 64;
    return {steps, grain, form};
}

Extents ExtentTable::at(std::span<const std::int64_t> sizes) const {
    if (sizes.size() != variables_.size())
        throw ArgumentError(
            fmt::format("{}: {} sizes given for {}", kernel_, sizes.size(), variables_.size()));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const auto& [name, bounds] = variables_[i];
        if (sizes[i] < bounds.low || sizes[i] > bounds.high)
            throw ArgumentError(fmt::format("{}: {} = {} is not within {} to {}", kernel_, name,
                                            sizes[i], bounds.low, bounds.high));
    }
    std::vector<std::int64_t> results(table_.size());
    table_.evaluate(sizes, results);
    Extents out{{sizes.begin(), sizes.end()}, {}, {}};
    for (const Part& part : parts_) out.parts.push_back(evaluated(part, results));
    for (const Memory& s : scratch_) out.scratch_bytes.push_back(results[s.elements] * s.size);
    return out;
}

}  // namespace lazuli::cpu
