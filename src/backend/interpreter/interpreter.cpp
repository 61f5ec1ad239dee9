#include "backend/interpreter/interpreter.h"

#include <cstring>

#include "ir/layout.h"
#include "plan/steps.h"

namespace lazuli::backend {

namespace {

class Interpreter final : public Backend {
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
    std::size_t prepared_bytes(const void* prepared) const override {
        return static_cast<const plan::Steps*>(prepared)->bytes();
    }

    std::vector<BufferPtr> run(const void* prepared, std::span<const Binding> params) override {
        const auto& steps = *static_cast<const plan::Steps*>(prepared);
        const Program& program = steps.program;
        std::vector<BufferPtr> dense;  // copies of operands that are not dense
        std::vector<const void*> param_data;
        for (std::size_t i = 0; i < params.size(); ++i) {
            const auto* data =
                static_cast<const unsigned char*>(params[i].buffer->host_data()) + params[i].offset;
            if (!params[i].dense) {
                const TensorSpec& spec = program.params()[i].spec;
                dense.push_back(allocate(static_cast<std::size_t>(spec.nbytes())));
                ir::copy_dense(data, params[i].strides, spec, dense.back()->host_mutable());
                data = static_cast<const unsigned char*>(dense.back()->host_data());
            }
            param_data.push_back(data);
        }
        std::vector<BufferPtr> values(program.size());
        const auto data_of = [&](ValueRef v) {
            return v.is_param() ? param_data[v.index()] : values[v.index()]->host_data();
        };
        for (const plan::Step& step : steps.all) {
            for (const ValueRef output : step.outputs)
                values[output.index()] =
                    allocate(static_cast<std::size_t>(program.spec(output).nbytes()));
            if (step.kernel == nullptr) {
                evaluate(program, step.outputs[0], data_of, values);
            } else {
                std::vector<void*> buffers;
                for (const ValueRef v : step.buffers)
                    buffers.push_back(const_cast<void*>(data_of(v)));
                codegen::interpret(*step.kernel, buffers);
            }
            for (const std::uint32_t ended : step.dying) values[ended] = nullptr;
        }
        std::vector<BufferPtr> results;
        for (const ProgramResult& result : program.results()) {
            if (!result.value.is_param()) {
                results.push_back(values[result.value.index()]);
                continue;
            }
            // A parameter that is returned is copied: results are the tensor's own.
            const auto bytes = static_cast<std::size_t>(program.spec(result.value).nbytes());
            results.push_back(allocate(bytes));
            if (bytes > 0)
                std::memcpy(results.back()->host_mutable(), data_of(result.value), bytes);
        }
        return results;
    }

    std::vector<std::string> kernel_lines(const void* prepared) const override {
        return static_cast<const plan::Steps*>(prepared)->lines();
    }

    BufferPtr allocate(std::size_t bytes) override { return allocate_host(device(), bytes); }
    void copy_in(Buffer& to, const void* from, std::size_t bytes) override {
        if (bytes > 0) std::memcpy(to.host_mutable(), from, bytes);
    }
    void copy_out(void* to, const Buffer& from, std::size_t bytes) override {
        if (bytes > 0) std::memcpy(to, from.host_data(), bytes);
    }

   private:
    template <class DataOf>
    static void evaluate(const Program& program, ValueRef output, const DataOf& data_of,
                         std::vector<BufferPtr>& values) {
        const Operation operation = program.operation(output.index());
        std::vector<TensorSpec> specs;
        for (std::size_t k = 0; k < operation.input_count(); ++k)
            specs.push_back(program.spec(operation.input(k)));
        std::vector<HostArray> inputs;
        for (std::size_t k = 0; k < specs.size(); ++k)
            inputs.push_back({data_of(operation.input(k)), &specs[k]});
        const TensorSpec spec = operation.spec();
        operation.def().evaluate({operation.def(), operation.attrs(), inputs, &spec,
                                  values[output.index()]->host_mutable()});
    }
};

}  // namespace

std::unique_ptr<Backend> make_interpreter() { return std::make_unique<Interpreter>(); }

}  // namespace lazuli::backend
