#include "backend/interpreter/interpreter.h"

#include <fmt/format.h>

#include <cstring>

#include "codegen/lower.h"
#include "ir/layout.h"
#include "optimize/pipeline.h"
#include "plan/explain.h"
#include "plan/group.h"

namespace lazuli::backend {

namespace {

/// A kernel, or an operation that its record evaluates; and the values nobody reads behind it.
struct Step {
    codegen::Lowered lowered;
    std::vector<ValueRef> outputs;
    bool opaque = false;
    std::vector<std::uint32_t> dying;
    std::string text;  // for people
};

struct Prepared {
    Program program;
    std::vector<Step> steps;
};

class Interpreter final : public Backend {
   public:
    std::string name() const override { return "interpreter"; }
    DeviceInfo describe() const override {
        return {"fused kernels, interpreted step by step on the host", 0};
    }
    bool supports(const OpDef& op, std::span<const TensorSpec>, const TensorSpec&) const override {
        return op.evaluate != nullptr;
    }

    std::shared_ptr<const void> prepare(const Program& given) override {
        auto out = std::make_shared<Prepared>();
        out->program = optimize::optimize(given);
        const Program& program = out->program;
        std::vector<std::size_t> last(program.size(), 0);  // the step that reads each value last
        for (plan::Grouped& grouped : plan::group(program)) {
            Step step;
            step.outputs = grouped.group.outputs;
            step.opaque = grouped.opaque;
            step.text = plan::group_text(program, grouped.group);
            if (!step.opaque) {
                step.lowered =
                    codegen::lower(program, grouped.group, fmt::format("k{}", out->steps.size()));
                step.lowered.kernel.verify();
                for (const ValueRef v : step.lowered.buffers) {
                    if (!v.is_param()) last[v.index()] = out->steps.size();
                }
            } else {
                const Operation operation = program.operation(step.outputs[0].index());
                for (std::size_t k = 0; k < operation.input_count(); ++k) {
                    if (!operation.input(k).is_param())
                        last[operation.input(k).index()] = out->steps.size();
                }
            }
            out->steps.push_back(std::move(step));
        }
        std::vector<bool> kept(program.size(), false);
        for (const ProgramResult& result : program.results()) {
            if (!result.value.is_param()) kept[result.value.index()] = true;
        }
        for (const Step& step : out->steps) {
            for (const ValueRef output : step.outputs) {
                if (!kept[output.index()])
                    out->steps[last[output.index()]].dying.push_back(
                        static_cast<std::uint32_t>(output.index()));
            }
        }
        return out;
    }

    std::vector<BufferPtr> run(const void* prepared, std::span<const Binding> params) override {
        const auto& [program, steps] = *static_cast<const Prepared*>(prepared);
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
        for (const Step& step : steps) {
            for (const ValueRef output : step.outputs)
                values[output.index()] =
                    allocate(static_cast<std::size_t>(program.spec(output).nbytes()));
            if (step.opaque) {
                evaluate(program, step.outputs[0], data_of, values);
            } else {
                std::vector<void*> buffers;
                for (const ValueRef v : step.lowered.buffers)
                    buffers.push_back(const_cast<void*>(data_of(v)));
                codegen::interpret(step.lowered.kernel, buffers);
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
        const auto& [program, steps] = *static_cast<const Prepared*>(prepared);
        std::vector<std::string> out;
        for (const Step& step : steps) {
            std::int64_t read = 0;
            std::int64_t written = 0;
            for (std::size_t k = 0; k < step.lowered.buffers.size(); ++k) {
                (step.lowered.kernel.buffers[k].written ? written : read) +=
                    program.spec(step.lowered.buffers[k]).nbytes();
            }
            out.push_back(fmt::format("k{}: {} read, {} written: {}", out.size(),
                                      plan::bytes_text(read), plan::bytes_text(written),
                                      step.text));
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
