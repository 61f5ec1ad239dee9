#include "backend/reference/reference.h"

#include <cstring>

#include "ir/layout.h"

namespace lazuli::backend {

namespace {

/// One operation, with all that evaluating it needs.
struct Step {
    const OpDef* op;
    std::vector<std::uint64_t> attr_words;
    std::vector<ValueRef> inputs;
    std::vector<std::size_t> dying;  // operations whose values nobody needs after this step
    TensorSpec spec;
    std::size_t bytes;
};

struct Prepared {
    std::vector<TensorSpec> params;
    std::vector<Step> steps;
    std::vector<ValueRef> results;
};

class Reference final : public Backend {
   public:
    std::string name() const override { return "reference"; }
    DeviceInfo describe() const override { return {"plain interpreter on the host; slow, and right by definition", 0}; }
    bool supports(const OpDef& op, std::span<const TensorSpec>, const TensorSpec&) const override { return op.evaluate != nullptr; }

    std::shared_ptr<const void> prepare(const Program& program) override {
        auto out = std::make_shared<Prepared>();
        constexpr std::size_t kNever = SIZE_MAX;
        std::vector<std::size_t> last(program.size(), kNever);
        for (const Param& param : program.params()) out->params.push_back(param.spec);
        for (std::size_t i = 0; i < program.size(); ++i) {
            const Operation operation = program.operation(i);
            Step step;
            step.op = &operation.def();
            const auto words = operation.attrs().words();
            step.attr_words.assign(words.begin(), words.end());
            step.spec = operation.spec();
            step.bytes = static_cast<std::size_t>(step.spec.nbytes());
            for (std::size_t k = 0; k < operation.input_count(); ++k) {
                step.inputs.push_back(operation.input(k));
                if (!operation.input(k).is_param()) last[operation.input(k).index()] = i;
            }
            out->steps.push_back(std::move(step));
        }
        std::vector<bool> returned(program.size());
        for (const ProgramResult& result : program.results()) {
            out->results.push_back(result.value);
            if (!result.value.is_param()) returned[result.value.index()] = true;
        }
        for (std::size_t i = 0; i < program.size(); ++i) {
            if (!returned[i]) out->steps[last[i] == kNever ? i : last[i]].dying.push_back(i);
        }
        return out;
    }

    std::vector<BufferPtr> run(const void* prepared, std::span<const Binding> params) override {
        const auto& program = *static_cast<const Prepared*>(prepared);
        std::vector<HostArray> param_arrays;
        std::vector<BufferPtr> dense;  // copies of operands that are not dense
        for (std::size_t i = 0; i < params.size(); ++i) {
            if (params[i].dense) {
                param_arrays.push_back({static_cast<const unsigned char*>(params[i].buffer->host_data()) + params[i].offset, &program.params[i]});
            } else {
                dense.push_back(allocate(static_cast<std::size_t>(program.params[i].nbytes())));
                ir::copy_dense(static_cast<const unsigned char*>(params[i].buffer->host_data()) + params[i].offset, params[i].strides,
                               program.params[i], dense.back()->host_mutable());
                param_arrays.push_back({dense.back()->host_data(), &program.params[i]});
            }
        }
        std::vector<BufferPtr> values(program.steps.size());
        std::vector<HostArray> inputs;
        for (std::size_t i = 0; i < program.steps.size(); ++i) {
            const Step& step = program.steps[i];
            inputs.clear();
            for (const ValueRef input : step.inputs) {
                const std::size_t at = input.index();
                inputs.push_back(input.is_param() ? param_arrays[at] : HostArray{values[at]->host_data(), &program.steps[at].spec});
            }
            values[i] = allocate(step.bytes);
            step.op->evaluate({*step.op, Attrs(*step.op, step.attr_words), inputs, &step.spec, values[i]->host_mutable()});
            for (const std::size_t gone : step.dying) values[gone] = nullptr;
        }
        std::vector<BufferPtr> results;
        for (const ValueRef result : program.results) {
            if (!result.is_param()) {
                results.push_back(values[result.index()]);
                continue;
            }
            // A parameter that is returned is copied: results are the tensor's own.
            const HostArray& from = param_arrays[result.index()];
            const auto bytes = static_cast<std::size_t>(from.spec->nbytes());
            results.push_back(allocate(bytes));
            if (bytes > 0) std::memcpy(results.back()->host_mutable(), from.data, bytes);
        }
        return results;
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

std::unique_ptr<Backend> make_reference() { return std::make_unique<Reference>(); }

}  // namespace lazuli::backend
