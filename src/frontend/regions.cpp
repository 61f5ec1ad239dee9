// Functions that are recorded as one operation for the sake of their gradients.

#include <fmt/format.h>

#include "frontend/bodies.h"
#include "frontend/bundle.h"
#include "frontend/record.h"
#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/grad.h"
#include "lazuli/ops.h"
#include "ops/reverse.h"

namespace lazuli {

namespace {

using frontend::home_of;
using frontend::OpRef;
using frontend::Outside;
using frontend::record_body;
using frontend::Recorded;
using frontend::specs_of;
using Tensors = std::vector<Tensor>;

/// The op with these operands and what its functions take from outside; its results, which are
/// those of `function`.
Tensors record_region(const OpRef& op, const Tensors& arguments, const Outside& outside,
                      const AttrWords& words, const Tensors& results) {
    Tensors operands = arguments;
    operands.insert(operands.end(), outside.operands().begin(), outside.operands().end());
    const Tensor bundle =
        frontend::record_list(op, operands, words.words(), nullptr, home_of(operands));
    return frontend::unbundle(bundle, specs_of(op.def->name, results));
}

}  // namespace

Tensors checkpoint(const TensorFunction& function, const Tensors& arguments) {
    static const OpRef op("checkpoint");
    const std::vector<TensorSpec> specs = specs_of("checkpoint", arguments);
    const Recorded recorded = record_body("checkpoint", specs, home_of(arguments), function);
    Outside outside;
    outside.capture(recorded);
    AttrWords words;
    words.program(outside.program(0, specs));
    return record_region(op, arguments, outside, words, recorded.results);
}

Tensors custom_gradient(const TensorFunction& function, const BackwardFunction& backward,
                        const Tensors& arguments) {
    static const OpRef op("custom_gradient");
    const std::vector<TensorSpec> specs = specs_of("custom_gradient", arguments);
    const Device device = home_of(arguments);
    const Recorded forward = record_body("custom_gradient", specs, device, function);
    const std::vector<TensorSpec> made = specs_of("custom_gradient", forward.results);
    std::vector<TensorSpec> given = specs;
    given.insert(given.end(), made.begin(), made.end());
    for (const TensorSpec& result : made) {
        if (ops::has_gradient(result.dtype)) given.push_back(result);
    }
    const Recorded back = record_body("custom_gradient", given, device, [&](const Tensors& all) {
        const auto at = [&](std::size_t i) { return all.begin() + static_cast<std::ptrdiff_t>(i); };
        const std::size_t first = specs.size();
        Tensors flows =
            backward(Tensors(all.begin(), at(first)), Tensors(at(first), at(first + made.size())),
                     Tensors(at(first + made.size()), all.end()));
        if (flows.size() != specs.size()) {
            throw ArgumentError(
                fmt::format("custom_gradient: {} arguments, and the backward function returns {} "
                            "cotangents",
                            specs.size(), flows.size()));
        }
        Tensors floats;
        for (std::size_t i = 0; i < flows.size(); ++i) {
            if (!ops::has_gradient(specs[i].dtype)) continue;
            if (!flows[i].defined()) flows[i] = zeros_like(all[i]);
            if (!(flows[i].spec() == specs[i])) {
                throw ShapeError(fmt::format("custom_gradient: argument {} is {}, and the backward "
                                             "function returns {} for it",
                                             i, specs[i].str(), flows[i].spec().str()),
                                 specs[i].str(), flows[i].spec().str());
            }
            floats.push_back(flows[i]);
        }
        return floats;
    });
    Outside outside;
    outside.capture(forward);
    outside.capture(back);
    AttrWords words;
    words.program(outside.program(0, specs));
    words.program(outside.program(1, given));
    words.integer(static_cast<std::int64_t>(specs.size()));
    return record_region(op, arguments, outside, words, forward.results);
}

}  // namespace lazuli
