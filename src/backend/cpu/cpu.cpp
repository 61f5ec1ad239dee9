#include "backend/cpu/cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "backend/cpu/attention.h"
#include "backend/cpu/contraction.h"
#include "backend/cpu/limits.h"
#include "backend/host_backend.h"
#include "backend/run_steps.h"
#include "plan/contraction.h"
#include "plan/describe.h"
#include "runtime/pool.h"

namespace lazuli::backend {

namespace {

/// A kernel and its code.
cpu::Runnable runnable_of(codegen::Lowered lowered) {
    cpu::Runnable out;
    out.compiled = cpu::code_of(lowered.kernel);
    out.kernel = std::make_shared<const codegen::Kernel>(std::move(lowered.kernel));
    out.buffers = std::move(lowered.buffers);
    return out;
}

/// A plan, and how each of its steps runs.
struct Prepared {
    struct Way {
        std::unique_ptr<cpu::ContractionStep> contraction;
        std::unique_ptr<cpu::AttentionStep> attention;
        cpu::Runnable kernel;
    };
    plan::Steps steps;
    std::vector<Way> ways;
};

/// A plan for all sizes, with the code of its kernels.
struct OpenPrepared {
    plan::OpenSteps steps;
    std::vector<std::shared_ptr<const cpu::Compiled>> code;  // of each step that has a kernel
    /// Parts of products, by their operations and outputs. They are found at some sizes, and made
    /// once.
    using Members = std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>;
    struct Part {
        cpu::Runnable kernel;
        codegen::SizeTable conditions;  // of the sizes, for the kernel to be right
    };
    mutable std::map<Members, Part> parts;
};

class Cpu final : public HostBackend {
   public:
    std::string name() const override { return "cpu"; }
    DeviceInfo describe() const override {
        return {fmt::format("fused kernels as machine code on {} threads", runtime::thread_count()),
                0};
    }
    bool supports(const OpDef& op, std::span<const TensorSpec> inputs,
                  const TensorSpec&) const override {
        return op.evaluate != nullptr ||
               (op.name == "attention" && cpu::AttentionStep::takes(inputs));
    }
    std::shared_ptr<const void> prepare(const Program& program) override {
        auto out = std::make_shared<Prepared>();
        out->steps = plan::make_steps(program);
        const auto part = [&](const codegen::Group& group) {
            return runnable_of(plan::make_kernel(out->steps.program, group, "part"));
        };
        const auto kernel = [](const plan::Step& step) {
            return cpu::Runnable{step.kernel, cpu::code_of(*step.kernel), step.buffers};
        };
        for (const plan::Step& step : out->steps.all)
            out->ways.push_back(way_of(out->steps.program, step, part, kernel));
        return out;
    }
    bool has_open_plans() const override { return true; }
    std::shared_ptr<const void> prepare_open(const Program& program) override {
        auto out = std::make_shared<OpenPrepared>(OpenPrepared{plan::make_open_steps(program)});
        for (const plan::Step& step : out->steps.pattern.all) {
            const bool runs = step.kernel != nullptr &&
                              !plan::find_contraction(out->steps.pattern.program, step.group);
            out->code.push_back(runs ? cpu::code_of(*step.kernel) : nullptr);
        }
        // Parts of products too are made now, and not when they are first needed.
        std::vector<SizeBinding> values;
        for (std::size_t i = 0; i < out->steps.variables.size(); ++i)
            values.emplace_back(out->steps.variables[i], out->steps.pattern.sizes[i]);
        (void)bind(out.get(), values);
        return out;
    }
    std::shared_ptr<const void> bind(const void* prepared,
                                     std::span<const SizeBinding> values) override {
        const auto& open = *static_cast<const OpenPrepared*>(prepared);
        auto steps = plan::bind_steps(open.steps, values);
        if (!steps) return nullptr;
        auto out = std::make_shared<Prepared>();
        out->steps = std::move(*steps);
        const auto with_extents = [&](cpu::Runnable runnable) {
            runnable.extents =
                std::make_shared<const cpu::Extents>(cpu::extents_at(runnable, out->steps.sizes));
            return runnable;
        };
        bool fits = true;
        const auto part = [&](const codegen::Group& group) {
            const OpenPrepared::Part& made = part_of(open, group);
            fits = fits && made.conditions.all_hold(out->steps.sizes);
            return with_extents(made.kernel);
        };
        std::size_t at = 0;
        for (const plan::Step& step : out->steps.all) {
            const auto kernel = [&](const plan::Step& own) {
                const auto& made = open.code[at];
                return with_extents(
                    {own.kernel, made != nullptr ? made : cpu::code_of(*own.kernel), own.buffers});
            };
            out->ways.push_back(way_of(out->steps.program, step, part, kernel));
            ++at;
        }
        return fits ? out : nullptr;
    }
    std::size_t prepared_bytes(const void* prepared) const override {
        const auto& [steps, ways] = *static_cast<const Prepared*>(prepared);
        std::size_t total = steps.bytes();
        for (const auto& way : ways) {
            const bool is_own = way.kernel.compiled != nullptr && way.kernel.extents == nullptr;
            total += is_own ? way.kernel.compiled->bytes() : 0;
        }
        return total;
    }
    std::vector<BufferPtr> run(const void* prepared, std::span<const Binding> params) override {
        const auto& [steps, ways] = *static_cast<const Prepared*>(prepared);
        const auto launch = [&](std::size_t step, const StepBuffers& buffers) {
            const Prepared::Way& way = ways[step];
            if (way.contraction != nullptr) {
                way.contraction->run(buffers.addresses, buffers.owners, buffers.room);
            } else if (way.attention != nullptr) {
                way.attention->run(buffers.addresses);
            } else if (way.kernel.kernel != nullptr) {
                cpu::launch(way.kernel, buffers.addresses);
            } else {
                return false;
            }
            return true;
        };
        const auto reads_released = [&](std::size_t step) {
            return ways[step].contraction != nullptr;
        };
        return run_steps(*this, steps, params, launch, reads_released);
    }
    bool is_ready(const void* prepared) const override {
        const auto& [steps, ways] = *static_cast<const Prepared*>(prepared);
        return std::ranges::all_of(ways, [](const Prepared::Way& way) {
            return way.kernel.is_ready() &&
                   (way.contraction == nullptr || way.contraction->is_ready());
        });
    }
    double least_seconds(const KernelInfo& kernel) const override {
        return cpu::least_seconds(kernel.bytes_read, kernel.bytes_written, kernel.flops,
                                  kernel.factors);
    }
    PreparedInfo info(const void* prepared, bool code) const override {
        const auto& [steps, ways] = *static_cast<const Prepared*>(prepared);
        PreparedInfo out = plan::describe(steps, code);
        for (std::size_t i = 0; i < ways.size(); ++i) {
            out.kernels[i].how = text_of(ways[i]);
            if (code && ways[i].kernel.kernel != nullptr && ways[i].kernel.code() != nullptr)
                out.kernels[i].assembly = cpu::assembly_of(*ways[i].kernel.kernel);
        }
        return out;
    }

   private:
    static Prepared::Way way_of(const Program& program, const plan::Step& step,
                                const cpu::MakeRunnable& part,
                                const std::function<cpu::Runnable(const plan::Step&)>& kernel) {
        Prepared::Way way;
        if (step.kernel == nullptr) {
            way.attention =
                cpu::AttentionStep::make(program, program.operation(step.outputs[0].index()));
            return way;
        }
        way.contraction = cpu::ContractionStep::make(program, step, part);
        if (way.contraction == nullptr) way.kernel = kernel(step);
        return way;
    }

    static const OpenPrepared::Part& part_of(const OpenPrepared& open,
                                             const codegen::Group& group) {
        OpenPrepared::Members members{group.operations, {}};
        for (const ValueRef output : group.outputs) members.second.push_back(output.raw);
        const auto at = open.parts.find(members);
        if (at != open.parts.end()) return at->second;
        codegen::Lowered lowered = plan::make_kernel(open.steps.program, group, "part");
        codegen::SizeTable conditions(lowered.kernel.variables);
        for (const Expr& condition : lowered.conditions) (void)conditions.add(condition);
        return open.parts
            .emplace(members, OpenPrepared::Part{runnable_of(std::move(lowered)), conditions})
            .first->second;
    }

    static std::string text_of(const Prepared::Way& way) {
        if (way.attention != nullptr) return "in blocks of queries";
        if (way.contraction != nullptr)
            return way.contraction->uses_library()     ? "oneDNN"
                   : way.contraction->is_convolution() ? "weights by windows"
                                                       : "product of matrices";
        if (way.kernel.kernel == nullptr) return "by its record";
        if (way.kernel.code() != nullptr) return "machine code";
        return way.kernel.compiled == nullptr ? "interpreted"
                                              : "interpreted until its code is there";
    }
};

}  // namespace

std::unique_ptr<Backend> make_cpu() { return std::make_unique<Cpu>(); }

}  // namespace lazuli::backend
