#include "lazuli/control.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/bodies.h"
#include "frontend/bundle.h"
#include "frontend/record.h"
#include "ir/arena.h"
#include "ir/engine.h"
#include "ir/graph.h"
#include "lazuli/error.h"
#include "lazuli/ops.h"
#include "lazuli/program.h"
#include "ops/control.h"

namespace lazuli {

namespace {

using frontend::home_of;
using frontend::OpRef;
using frontend::Outside;
using frontend::record_body;
using frontend::Recorded;
using frontend::specs_of;
using Tensors = std::vector<Tensor>;

Tensors parts(const OpRef& op, const Tensors& operands, const AttrWords& words,
              std::vector<TensorSpec> (*results)(const InferArgs&), Device device) {
    const Tensor bundle = frontend::record_list(op, operands, words.words(), nullptr, device);
    const std::vector<TensorSpec> specs = specs_of(op.def->name, operands);
    std::vector<const TensorSpec*> pointers;
    for (const TensorSpec& spec : specs) pointers.push_back(&spec);
    return frontend::unbundle(bundle, results({*op.def, pointers, Attrs(*op.def, words.words())}));
}

/// The length that the first axes of what is scanned have.
Dim length_of(std::span<const TensorSpec> scanned) {
    for (const TensorSpec& spec : scanned) {
        if (spec.shape.rank() > 0 &&
            equal(spec.shape.dim(0), scanned[0].shape.dim(0)) == Truth::yes)
            continue;
        std::string all;
        for (const TensorSpec& each : scanned) all += (all.empty() ? "" : ", ") + each.str();
        throw ShapeError(
            fmt::format("scan_loop: first axes of one length are needed, given {}", all),
            scanned[0].shape.str(), spec.shape.str());
    }
    return scanned[0].shape.dim(0);
}

/// In the place of a number of trips that is an operand.
constexpr Dim kOperand = -1;

/// The general loop. `trips` is an operand where `fixed` says so.
Looped make_loop(std::string_view name, const Tensor& trips, Dim fixed, const Tensors& carried,
                 const Tensors& scanned, bool reverse,
                 const std::function<Looped(const Tensor&, const Tensors&, const Tensors&)>& body) {
    static const OpRef op("loop");
    Tensors operands;
    if (fixed == kOperand) operands.push_back(trips);
    operands.insert(operands.end(), carried.begin(), carried.end());
    operands.insert(operands.end(), scanned.begin(), scanned.end());
    const Device device = home_of(carried.empty() ? operands : carried);
    std::vector<TensorSpec> arguments{{i64, {}}};
    for (const TensorSpec& spec : specs_of(name, carried)) arguments.push_back(spec);
    for (const TensorSpec& spec : specs_of(name, scanned)) {
        TensorSpec entry{spec.dtype, {}};
        for (int d = 1; d < spec.shape.rank(); ++d) entry.shape.push_back(spec.shape.dim(d));
        arguments.push_back(entry);
    }
    const Recorded recorded = record_body(name, arguments, device, [&](const Tensors& given) {
        const auto middle = given.begin() + 1 + static_cast<std::ptrdiff_t>(carried.size());
        Looped made =
            body(given[0], Tensors(given.begin() + 1, middle), Tensors(middle, given.end()));
        if (made.carried.size() != carried.size()) {
            throw ArgumentError(fmt::format("{}: {} values are carried, and the body returns {}",
                                            name, carried.size(), made.carried.size()));
        }
        made.carried.insert(made.carried.end(), made.stacked.begin(), made.stacked.end());
        return made.carried;
    });
    for (std::size_t i = 0; i < carried.size(); ++i)
        ops::expect_spec(name, fmt::format("value {} that is carried", i), carried[i].spec(),
                         recorded.results[i].spec());
    Outside outside;
    outside.capture(recorded);
    operands.insert(operands.end(), outside.operands().begin(), outside.operands().end());
    AttrWords words;
    words.program(outside.program(0, arguments));
    words.integer(static_cast<std::int64_t>(carried.size()));
    words.integer(static_cast<std::int64_t>(scanned.size()));
    words.integer(fixed.raw());
    words.boolean(reverse);
    Tensors all = parts(op, operands, words, ops::loop_results, device);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(carried.size());
    return {Tensors(all.begin(), middle), Tensors(middle, all.end())};
}

}  // namespace

Looped loop(std::int64_t trips, const Tensors& carried,
            const std::function<Looped(const Tensor&, const Tensors&)>& body) {
    return make_loop(
        "loop", {}, std::max<std::int64_t>(trips, 0), carried, {}, false,
        [&](const Tensor& step, const Tensors& now, const Tensors&) { return body(step, now); });
}

Tensors loop(const Tensor& trips, const Tensors& carried,
             const std::function<Tensors(const Tensor&, const Tensors&)>& body) {
    const TensorSpec& spec = frontend::require_node("loop", trips).spec;
    if (!is_integer(spec.dtype) || spec.shape.rank() != 0) {
        const std::string text =
            fmt::format("loop: the number of trips is an integer of rank 0, given {}", spec.str());
        if (spec.shape.rank() == 0) throw DTypeError(text);
        throw ShapeError(text, "i64[]", spec.str());
    }
    // A number that stands in the program would be planned for: it is passed instead.
    static const OpRef parameter("scalar");
    const ir::Node& node = *frontend::node_of(trips);
    Tensor passed = trips;
    if (op_def(node.op).lowering == Lowering::constant) {
        AttrWords words;
        words.scalar(node.attrs().scalar(0));
        passed = frontend::make_node(parameter, spec,
                                     home_of(carried.empty() ? Tensors{trips} : carried), {},
                                     words.words());
    }
    return make_loop("loop", passed.dtype() == i64 ? passed : passed.cast(i64), kOperand, carried,
                     {}, false,
                     [&](const Tensor& step, const Tensors& now, const Tensors&) {
                         return Looped{body(step, now)};
                     })
        .carried;
}

Looped scan_loop(const Tensors& carried, const Tensors& scanned,
                 const std::function<Looped(const Tensors&, const Tensors&)>& body, bool reverse) {
    if (scanned.empty()) throw ArgumentError("scan_loop: there is nothing to scan");
    return make_loop(
        "scan_loop", {}, length_of(specs_of("scan_loop", scanned)), carried, scanned, reverse,
        [&](const Tensor&, const Tensors& now, const Tensors& entry) { return body(now, entry); });
}

Tensors cond(const Tensor& condition, const std::function<Tensors()>& then,
             const std::function<Tensors()>& otherwise) {
    static const OpRef op("cond");
    const TensorSpec& spec = frontend::require_node("cond", condition).spec;
    ops::expect_spec("cond", "the condition", {DType::boolean, {}}, spec);
    const Device device = condition.device();
    Outside outside;
    for (const auto* body : {&then, &otherwise}) {
        const auto call = [&](const Tensors&) { return (*body)(); };
        outside.capture(record_body("cond", {}, device, call));
    }
    AttrWords words;
    words.program(outside.program(0, {}));
    words.program(outside.program(1, {}));
    Tensors operands{condition};
    operands.insert(operands.end(), outside.operands().begin(), outside.operands().end());
    return parts(op, operands, words, ops::cond_results, device);
}

Tensors while_loop(const Tensors& carried, const std::function<Tensor(const Tensors&)>& test,
                   const std::function<Tensors(const Tensors&)>& body) {
    static const OpRef op("while_loop");
    const std::vector<TensorSpec> arguments = specs_of("while_loop", carried);
    if (carried.empty()) throw ArgumentError("while_loop: there is nothing to carry");
    const Device device = home_of(carried);
    Outside outside;
    outside.capture(record_body("while_loop", arguments, device,
                                [&](const Tensors& now) { return Tensors{test(now)}; }));
    outside.capture(record_body("while_loop", arguments, device, [&](const Tensors& now) {
        Tensors made = body(now);
        if (made.size() != carried.size()) {
            throw ArgumentError(
                fmt::format("while_loop: {} values are carried, and the body returns {}",
                            carried.size(), made.size()));
        }
        return made;
    }));
    AttrWords words;
    words.program(outside.program(0, arguments));
    words.program(outside.program(1, arguments));
    words.integer(static_cast<std::int64_t>(carried.size()));
    Tensors operands = carried;
    operands.insert(operands.end(), outside.operands().begin(), outside.operands().end());
    return parts(op, operands, words, ops::while_results, device);
}

}  // namespace lazuli
