#include "backend/run_steps.h"

#include <cstring>

#include "backend/host/kernels.h"
#include "ir/layout.h"
#include "runtime/control.h"

namespace lazuli::backend {

namespace {

class Run {
   public:
    Run(Backend& backend, const plan::Steps& steps, std::span<const Binding> params)
        : backend_(backend), steps_(steps), program_(steps.program), values_(program_.size()) {
        for (std::size_t i = 0; i < params.size(); ++i) {
            params_.push_back(dense(params[i], i));
            owners_.push_back(params[i].dense ? params[i].buffer.get() : nullptr);
        }
    }

    std::vector<BufferPtr> run(const Launch& launch) {
        std::vector<void*> buffers;
        std::vector<Buffer*> owners;
        for (std::size_t i = 0; i < steps_.all.size(); ++i) {
            const plan::Step& step = steps_.all[i];
            for (const ValueRef output : step.outputs)
                values_[output.index()] =
                    backend_.allocate(static_cast<std::size_t>(program_.spec(output).nbytes()));
            buffers.clear();
            owners.clear();
            for (const ValueRef v : step.buffers) {
                buffers.push_back(const_cast<void*>(data_of(v)));
                owners.push_back(v.is_param() ? owners_[v.index()] : values_[v.index()].get());
            }
            if (!launch(i, {buffers, owners})) evaluate(step.outputs[0]);
            for (const std::uint32_t ended : step.dying) values_[ended] = nullptr;
        }
        return results();
    }

   private:
    const void* data_of(ValueRef v) const {
        return v.is_param() ? params_[v.index()] : values_[v.index()]->host_data();
    }

    /// Where a parameter's elements lie one behind the other.
    const void* dense(const Binding& binding, std::size_t i) {
        const auto* data =
            static_cast<const unsigned char*>(binding.buffer->host_data()) + binding.offset;
        if (binding.dense) return data;
        const TensorSpec& spec = program_.params()[i].spec;
        copies_.push_back(backend_.allocate(static_cast<std::size_t>(spec.nbytes())));
        ir::copy_dense(data, binding.strides, spec, copies_.back()->host_mutable());
        return copies_.back()->host_data();
    }

    void evaluate(ValueRef output) {
        const Operation operation = program_.operation(output.index());
        std::vector<TensorSpec> specs;
        for (std::size_t k = 0; k < operation.input_count(); ++k)
            specs.push_back(program_.spec(operation.input(k)));
        std::vector<HostArray> inputs;
        for (std::size_t k = 0; k < specs.size(); ++k)
            inputs.push_back({data_of(operation.input(k)), &specs[k]});
        const TensorSpec spec = operation.spec();
        const EvalArgs args{operation.def(), operation.attrs(), inputs, &spec,
                            values_[output.index()]->host_mutable()};
        if (runtime::is_control(args.op)) return runtime::run_control(backend_, args);
        host_kernel(args.op)(args);
    }

    std::vector<BufferPtr> results() {
        std::vector<BufferPtr> out;
        for (const ProgramResult& result : program_.results()) {
            if (!result.value.is_param()) {
                out.push_back(values_[result.value.index()]);
                continue;
            }
            // A parameter that is returned is copied: results are the tensor's own.
            const auto bytes = static_cast<std::size_t>(program_.spec(result.value).nbytes());
            out.push_back(backend_.allocate(bytes));
            if (bytes > 0) std::memcpy(out.back()->host_mutable(), data_of(result.value), bytes);
        }
        return out;
    }

    Backend& backend_;
    const plan::Steps& steps_;
    const Program& program_;
    std::vector<const void*> params_;
    std::vector<Buffer*> owners_;    // of parameters
    std::vector<BufferPtr> copies_;  // of parameters that are not dense
    std::vector<BufferPtr> values_;
};

}  // namespace

std::vector<BufferPtr> run_steps(Backend& backend, const plan::Steps& steps,
                                 std::span<const Binding> params, const Launch& launch) {
    return Run(backend, steps, params).run(launch);
}

}  // namespace lazuli::backend
