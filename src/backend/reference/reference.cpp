#include "backend/reference/reference.h"

#include <algorithm>
#include <cstring>

#include "backend/host_backend.h"
#include "ir/layout.h"
#include "ops/bundle.h"

namespace lazuli::backend {

namespace {

/// A program, and which values nobody needs after each of its operations.
struct Prepared {
    Program program;
    std::vector<std::uint32_t> dying;  // operations whose values end, in the order of their ends
    std::vector<std::uint32_t> dying_until;  // where in `dying` each operation's share ends
};

class Reference final : public HostBackend {
   public:
    std::string name() const override { return "reference"; }
    DeviceInfo describe() const override {
        return {"plain interpreter on the host; slow, and right by definition", 0};
    }
    bool supports(const OpDef& op, std::span<const TensorSpec>, const TensorSpec&) const override {
        return op.evaluate != nullptr;
    }

    std::shared_ptr<const void> prepare(const Program& program) override {
        const std::size_t count = program.size();
        // The last operation that reads each value: itself where nobody does, none where it is
        // returned.
        constexpr std::uint32_t kNever = UINT32_MAX;
        std::vector<std::uint32_t> last(count);
        for (std::uint32_t i = 0; i < count; ++i) {
            last[i] = i;
            const Operation operation = program.operation(i);
            for (std::size_t k = 0; k < operation.input_count(); ++k) {
                if (!operation.input(k).is_param()) last[operation.input(k).index()] = i;
            }
        }
        for (const ProgramResult& result : program.results()) {
            if (!result.value.is_param()) last[result.value.index()] = kNever;
        }
        auto out = std::make_shared<Prepared>();
        out->program = program;
        out->dying_until.assign(count, 0);
        for (const std::uint32_t at : last) {
            if (at != kNever) ++out->dying_until[at];
        }
        for (std::size_t i = 1; i < count; ++i) out->dying_until[i] += out->dying_until[i - 1];
        out->dying.resize(count == 0 ? 0 : out->dying_until.back());
        std::vector<std::uint32_t> next(count);  // filled from each share's end
        for (std::size_t i = 0; i < count; ++i) next[i] = out->dying_until[i];
        for (std::uint32_t i = 0; i < count; ++i) {
            if (last[i] != kNever) out->dying[--next[last[i]]] = i;
        }
        return out;
    }

    std::size_t prepared_bytes(const void* prepared) const override {
        const auto& [program, dying, dying_until] = *static_cast<const Prepared*>(prepared);
        return sizeof(Prepared) + (dying.size() + dying_until.size()) * sizeof(std::uint32_t);
    }

    std::vector<BufferPtr> run(const void* prepared, std::span<const Binding> params) override {
        const auto& [program, dying, dying_until] = *static_cast<const Prepared*>(prepared);
        std::vector<HostArray> param_arrays;
        std::vector<BufferPtr> dense;  // copies of operands that are not dense
        std::vector<Reading> reading;
        for (std::size_t i = 0; i < params.size(); ++i) {
            const TensorSpec& spec = program.params()[i].spec;
            reading.emplace_back(*params[i].buffer);
            const auto* data =
                static_cast<const unsigned char*>(reading.back().data()) + params[i].offset;
            if (params[i].dense) {
                param_arrays.push_back({data, &spec});
            } else {
                dense.push_back(allocate(static_cast<std::size_t>(spec.nbytes())));
                ir::copy_dense(data, params[i].strides, spec, dense.back()->host_mutable());
                param_arrays.push_back({dense.back()->address(), &spec});
            }
        }
        std::vector<BufferPtr> values(program.size());
        std::vector<TensorSpec> specs;
        std::vector<HostArray> inputs;
        for (std::size_t i = 0; i < program.size(); ++i) {
            const Operation operation = program.operation(i);
            const std::size_t count = operation.input_count();
            inputs.clear();
            specs.resize(std::max(specs.size(), count));
            for (std::size_t k = 0; k < count; ++k) {
                const std::size_t at = operation.input(k).index();
                if (operation.input(k).is_param()) {
                    inputs.push_back(param_arrays[at]);
                } else {
                    specs[k] = program.operation(at).spec();
                    inputs.push_back({values[at]->address(), &specs[k]});
                }
            }
            const TensorSpec spec = operation.spec();
            values[i] = allocate(static_cast<std::size_t>(spec.nbytes()));
            const EvalArgs args{operation.def(), operation.attrs(), inputs, &spec,
                                values[i]->host_mutable()};
            ops::clear_gaps(args);
            args.op.evaluate(args);
            for (std::size_t k = i == 0 ? 0 : dying_until[i - 1]; k < dying_until[i]; ++k)
                values[dying[k]] = nullptr;
        }
        std::vector<BufferPtr> results;
        for (const ProgramResult& result : program.results()) {
            if (!result.value.is_param()) {
                results.push_back(values[result.value.index()]);
                continue;
            }
            // A parameter that is returned is copied: results are the tensor's own.
            const HostArray& from = param_arrays[result.value.index()];
            const auto bytes = static_cast<std::size_t>(from.spec->nbytes());
            results.push_back(allocate(bytes));
            if (bytes > 0) std::memcpy(results.back()->host_mutable(), from.data, bytes);
        }
        return results;
    }
};

}  // namespace

std::unique_ptr<Backend> make_reference() { return std::make_unique<Reference>(); }

}  // namespace lazuli::backend
