#include "runtime/for_all_sizes.h"

#include <fmt/format.h>

#include "lazuli/error.h"
#include "runtime/planning.h"

namespace lazuli::runtime {

ForAllSizes::ForAllSizes(const Program& program, Device device)
    : program_(program), device_(device) {
    if (program.variables().empty()) {
        why_not_ = "all sizes are numbers";
        return;
    }
    try {
        expanded_ = plan::expand(program, expand_options(backend_of(device)));
        ensure_supported();
        open_ = backend_of(device).prepare_open(expanded_);
        if (open_ == nullptr)
            why_not_ = fmt::format("the backend {} plans each size", device.name());
    } catch (const OutOfMemory&) {
        throw;
    } catch (const Error& error) {  // something needs numbers
        why_not_ = error.what();
    }
}

void ForAllSizes::ensure_supported() const {
    Backend& backend = backend_of(device_);
    std::vector<TensorSpec> inputs;
    for (std::size_t i = 0; i < expanded_.size(); ++i) {
        const Operation operation = expanded_.operation(i);
        inputs.clear();
        for (std::size_t k = 0; k < operation.input_count(); ++k)
            inputs.push_back(expanded_.spec(operation.input(k)));
        if (!backend.supports(operation.def(), inputs, operation.spec())) {
            throw ShapeError(fmt::format("{}: the backend {} does not take it with any size",
                                         operation.def().name, device_.name()),
                             "numbers", operation.spec().shape.str());
        }
    }
}

std::shared_ptr<plan::Plan> ForAllSizes::bound(std::span<const SizeBinding> values,
                                               const Program& instance) const {
    if (open_ == nullptr) return nullptr;
    Backend& backend = backend_of(device_);
    auto out = std::make_shared<plan::Plan>();
    try {
        out->prepared = backend.bind(open_.get(), values);
    } catch (const OutOfMemory&) {
        throw;
    } catch (const Error&) {  // numbers on the way leave 64 bits
    }
    if (out->prepared == nullptr) return nullptr;
    out->is_bound = true;
    out->hash = instance.hash();
    out->program = instance;
    out->expanded = expanded_.instantiate(values);
    out->prepared_bytes = backend.prepared_bytes(out->prepared.get());
    out->device = device_;
    out->launches = backend.info(out->prepared.get(), false).kernels.size();
    return out;
}

}  // namespace lazuli::runtime
