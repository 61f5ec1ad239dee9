#include "backend/cpu/cpu.h"

#include <fmt/format.h>

#include "backend/cpu/attention.h"
#include "backend/cpu/contraction.h"
#include "backend/cpu/limits.h"
#include "backend/host_backend.h"
#include "backend/run_steps.h"
#include "plan/describe.h"
#include "runtime/pool.h"

namespace lazuli::backend {

namespace {

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
        for (const plan::Step& step : out->steps.all) {
            Prepared::Way& way = out->ways.emplace_back();
            if (step.kernel == nullptr) {
                const Program& own = out->steps.program;
                way.attention =
                    cpu::AttentionStep::make(own, own.operation(step.outputs[0].index()));
                continue;
            }
            way.contraction = cpu::ContractionStep::make(out->steps.program, step);
            if (way.contraction == nullptr)
                way.kernel = {step.kernel, cpu::code_of(*step.kernel), step.buffers};
        }
        return out;
    }
    std::size_t prepared_bytes(const void* prepared) const override {
        const auto& [steps, ways] = *static_cast<const Prepared*>(prepared);
        std::size_t total = steps.bytes();
        for (const auto& way : ways)
            total += way.kernel.compiled == nullptr ? 0 : way.kernel.compiled->bytes();
        return total;
    }
    std::vector<BufferPtr> run(const void* prepared, std::span<const Binding> params) override {
        const auto& [steps, ways] = *static_cast<const Prepared*>(prepared);
        const auto launch = [&](std::size_t step, const StepBuffers& buffers) {
            const Prepared::Way& way = ways[step];
            if (way.contraction != nullptr) {
                way.contraction->run(buffers.addresses, buffers.owners);
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
