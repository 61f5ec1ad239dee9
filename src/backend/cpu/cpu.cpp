#include "backend/cpu/cpu.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstring>

#include "backend/cpu/compiler.h"
#include "backend/run_steps.h"
#include "lazuli/error.h"
#include "runtime/pool.h"

namespace lazuli::backend {

namespace {

/// A plan and the code of its steps; null where a step is interpreted, or has no kernel.
struct Prepared {
    plan::Steps steps;
    std::vector<std::shared_ptr<const cpu::Code>> code;
};

// Results of reductions that pass from phase to phase of one kernel.
constexpr std::size_t kPassedValues = 64;

void launch(const cpu::Code& code, const codegen::Kernel& kernel, std::span<void* const> given) {
    std::vector<void*> buffers(given.begin(), given.end());
    std::vector<std::vector<double>> scratch;
    for (std::size_t i = given.size(); i < kernel.buffers.size(); ++i)
        buffers.push_back(scratch
                              .emplace_back(static_cast<std::size_t>(kernel.buffers[i].elements) *
                                                size_of(kernel.buffers[i].dtype) / sizeof(double) +
                                            1)
                              .data());
    struct Call {
        const cpu::Code::Part* part;
        void* const* buffers;
        std::array<std::int64_t, kPassedValues> values;
        std::array<std::int64_t, 3> status{};
        std::atomic_flag told = ATOMIC_FLAG_INIT;
    } call{.part = nullptr, .buffers = buffers.data(), .values = {}};
    for (const cpu::Code::Part& part : code.parts()) {
        call.part = &part;
        runtime::share_out(
            part.phase.steps, part.grain,
            [](void* data, std::int64_t begin, std::int64_t end) {
                auto& c = *static_cast<Call*>(data);
                std::array<std::int64_t, 3> status{};
                c.part->run(c.buffers, begin, end, c.values.data(), status.data());
                if (status[0] != 0 && !c.told.test_and_set()) c.status = status;
            },
            &call);
        if (call.status[0] != 0)
            throw ExecutionError("gather", fmt::format("index {} is out of range for an axis of {}",
                                                       call.status[1], call.status[2]));
    }
}

class Cpu final : public Backend {
   public:
    std::string name() const override { return "cpu"; }
    DeviceInfo describe() const override {
        return {fmt::format("fused kernels as machine code on {} threads", runtime::thread_count()),
                0};
    }
    bool supports(const OpDef& op, std::span<const TensorSpec>, const TensorSpec&) const override {
        return op.evaluate != nullptr;
    }
    std::shared_ptr<const void> prepare(const Program& program) override {
        auto out = std::make_shared<Prepared>();
        out->steps = plan::make_steps(program);
        for (const plan::Step& step : out->steps.all)
            out->code.push_back(step.kernel == nullptr ? nullptr : cpu::code_of(*step.kernel));
        return out;
    }
    std::size_t prepared_bytes(const void* prepared) const override {
        const auto& [steps, code] = *static_cast<const Prepared*>(prepared);
        std::size_t total = steps.bytes();
        for (const auto& each : code) total += each == nullptr ? 0 : each->bytes();
        return total;
    }
    std::vector<BufferPtr> run(const void* prepared, std::span<const Binding> params) override {
        const auto& [steps, code] = *static_cast<const Prepared*>(prepared);
        const auto& all = steps.all;
        return run_steps(*this, steps, params,
                         [&](std::size_t step, std::span<void* const> buffers) {
                             if (code[step] != nullptr) {
                                 launch(*code[step], *all[step].kernel, buffers);
                             } else {
                                 codegen::interpret(*all[step].kernel, buffers);
                             }
                         });
    }
    std::vector<std::string> kernel_lines(const void* prepared) const override {
        const auto& [steps, code] = *static_cast<const Prepared*>(prepared);
        std::vector<std::string> out = steps.lines();
        for (std::size_t i = 0; i < out.size(); ++i) {
            if (steps.all[i].kernel != nullptr && code[i] == nullptr) out[i] += " (interpreted)";
        }
        return out;
    }
    BufferPtr allocate(std::size_t bytes) override { return allocate_host(device(), bytes); }
    void copy_in(Buffer& to, const void* from, std::size_t bytes) override {
        if (bytes > 0) std::memcpy(to.host_mutable(), from, bytes);
    }
    void copy_out(void* to, const Buffer& from, std::size_t bytes) override {
        if (bytes > 0) std::memcpy(to, from.host_data(), bytes);
    }
};

}  // namespace

std::unique_ptr<Backend> make_cpu() { return std::make_unique<Cpu>(); }

}  // namespace lazuli::backend
