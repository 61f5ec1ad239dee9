#include "backend/interpreter/interpreter.h"

#include "backend/host_backend.h"
#include "backend/run_steps.h"
#include "plan/describe.h"

namespace lazuli::backend {

namespace {

class Interpreter final : public HostBackend {
   public:
    std::string name() const override { return "interpreter"; }
    DeviceInfo describe() const override {
        return {"fused kernels, interpreted step by step on the host", 0};
    }
    bool supports(const OpDef& op, std::span<const TensorSpec>, const TensorSpec&) const override {
        return op.evaluate != nullptr;
    }
    std::shared_ptr<const void> prepare(const Program& program) override {
        return std::make_shared<plan::Steps>(plan::make_steps(program));
    }
    bool has_open_plans() const override { return true; }
    std::shared_ptr<const void> prepare_open(const Program& program) override {
        return std::make_shared<plan::OpenSteps>(plan::make_open_steps(program));
    }
    std::shared_ptr<const void> bind(const void* open,
                                     std::span<const SizeBinding> values) override {
        auto bound = plan::bind_steps(*static_cast<const plan::OpenSteps*>(open), values);
        return bound ? std::make_shared<plan::Steps>(std::move(*bound)) : nullptr;
    }
    std::size_t prepared_bytes(const void* prepared) const override {
        return static_cast<const plan::Steps*>(prepared)->bytes();
    }
    std::vector<BufferPtr> run(const void* prepared, std::span<const Binding> params) override {
        const auto& steps = *static_cast<const plan::Steps*>(prepared);
        return run_steps(*this, steps, params, [&](std::size_t step, const StepBuffers& buffers) {
            if (steps.all[step].kernel == nullptr) return false;
            codegen::interpret(*steps.all[step].kernel, buffers.addresses, steps.sizes);
            return true;
        });
    }
    PreparedInfo info(const void* prepared, bool code) const override {
        PreparedInfo out = plan::describe(*static_cast<const plan::Steps*>(prepared), code);
        for (KernelInfo& kernel : out.kernels) kernel.how = "interpreted";
        return out;
    }
};

}  // namespace

std::unique_ptr<Backend> make_interpreter() { return std::make_unique<Interpreter>(); }

}  // namespace lazuli::backend
