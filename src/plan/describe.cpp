#include "plan/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "lazuli/op.h"

namespace lazuli::plan {

namespace {

std::atomic<bool> keeping{false};

std::string text_of(const Program& program, ValueRef v) {
    return fmt::format(
        "{} {}", v.is_param() ? program.params()[v.index()].name : fmt::format("%{}", v.index()),
        program.spec(v).str());
}

/// Functions of elements and sums that a kernel computes at the sizes of its variables.
class Flops {
   public:
    Flops(const codegen::Kernel& kernel, std::span<const std::int64_t> sizes)
        : kernel_(kernel), sizes_(sizes) {}

    double of(const codegen::Block& block) const {
        using codegen::StatementKind;
        static const OpId fma = require_op("fma");
        static const OpId cast = require_op("cast");
        double flops = 0;
        for (const codegen::Statement& s : block) {
            if (s.kind == StatementKind::apply && s.op != cast) flops += s.op == fma ? 2 : 1;
            if (codegen::is_loop(s))
                flops += steps_of(s) * (of(s.body) + static_cast<double>(s.accumulators.size()));
        }
        return flops;
    }

   private:
    double steps_of(const codegen::Statement& loop) const {
        double steps = 1;
        for (const codegen::Count& count : loop.counts)
            steps *= static_cast<double>(count.size.evaluate([&](Expr v) {
                const auto at = std::ranges::find(kernel_.variables, v);
                // The last part of what is cut may be shorter: counters begin with 0.
                return at == kernel_.variables.end()
                           ? 0
                           : sizes_[static_cast<std::size_t>(at - kernel_.variables.begin())];
            }));
        return steps;
    }

    const codegen::Kernel& kernel_;
    std::span<const std::int64_t> sizes_;
};

/// The type that a product multiplies; of all else, which computes with vectors of f32 at best,
/// that.
DType factors_of(const Program& program, const Step& step) {
    static const OpId product = require_op("dot_general");
    for (const std::uint32_t member : step.group.operations) {
        const Operation operation = program.operation(member);
        if (operation.op() == product) return program.spec(operation.input(0)).dtype;
    }
    return f32;
}

KernelInfo kernel_of(const Steps& steps, const Step& step, bool code) {
    const Program& program = steps.program;
    KernelInfo out;
    out.name = step.kernel != nullptr
                   ? step.kernel->name
                   : std::string(program.operation(step.outputs[0].index()).def().name);
    out.operations = step.text;
    out.why = step.why;
    out.members = step.group.operations;
    for (std::size_t k = 0; k < step.buffers.size(); ++k) {
        const ValueRef v = step.buffers[k];
        const bool writes = step.writes(k);
        (writes ? out.writes : out.reads).push_back(text_of(program, v));
        (writes ? out.bytes_written : out.bytes_read) += program.spec(v).nbytes();
    }
    if (step.kernel != nullptr) {
        out.flops = flops_of(*step.kernel, steps.sizes);
        out.factors = factors_of(program, step);
        if (code) out.code = step.kernel->str();
    }
    return out;
}

}  // namespace

void keep_passes(bool keep) { keeping.store(keep); }
bool keeps_passes() { return keeping.load(std::memory_order_relaxed); }

double flops_of(const codegen::Kernel& kernel, std::span<const std::int64_t> sizes) {
    return Flops(kernel, sizes).of(kernel.body);
}

PreparedInfo describe(const Steps& steps, bool code) {
    const Program& program = steps.program;
    PreparedInfo out;
    out.program = program;
    out.passes = steps.passes;
    out.arena_bytes = steps.memory.peak;
    out.alive_bytes = steps.memory.bound;
    out.recorded_bytes = steps.memory.recorded_peak;
    out.unplanned_bytes = steps.memory.unplanned;
    out.method = steps.memory.method;
    std::vector<std::size_t> last(program.size(), 0);
    for (std::size_t i = 0; i < steps.all.size(); ++i) {
        out.kernels.push_back(kernel_of(steps, steps.all[i], code));
        for (const ValueRef v : steps.all[i].buffers) {
            if (!v.is_param()) last[v.index()] = i;
        }
    }
    for (const ProgramResult& result : program.results()) {
        if (!result.value.is_param()) last[result.value.index()] = steps.all.size() - 1;
    }
    for (std::size_t i = 0; i < steps.all.size(); ++i) {
        for (const ValueRef v : steps.all[i].outputs)
            out.values.push_back({.operation = static_cast<std::uint32_t>(v.index()),
                                  .text = text_of(program, v),
                                  .op = std::string(program.operation(v.index()).def().name),
                                  .bytes = program.spec(v).nbytes(),
                                  .offset = steps.memory.offsets[v.index()],
                                  .first = i,
                                  .last = last[v.index()]});
    }
    return out;
}

}  // namespace lazuli::plan
