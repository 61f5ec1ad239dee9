// One form for what only moves or renames elements. See tests/golden/optimize/views.ir

#include "ir/placement.h"
#include "ops/bundle.h"
#include "optimize/passes.h"

namespace lazuli::optimize {

namespace {

Value view_of(Rewriter& rewriter, const Value& base, const Placement& placement,
              const TensorSpec& spec) {
    static const OpId view = require_op("view");
    AttrWords words;
    words.placement(placement);
    return rewriter.emit(view, {&base, 1}, words.words(), spec);
}

std::optional<Value> moved(Rewriter& rewriter, const Candidate& candidate) {
    const OpDef& def = candidate.def();
    const Value& operand = candidate.inputs[0];
    const bool is_view = has(def.traits, Trait::view);
    const Candidate* below = rewriter.producer(operand);

    // A view of a view is a view of what that is of, unless their padding is filled differently.
    if (below != nullptr && has(below->def().traits, Trait::view)) {
        Placement placement = below->attrs().placement(0, below->spec.shape);
        const auto before = placement.fill;
        placement.fill.reset();
        def.move(placement, candidate.attrs(), candidate.spec.shape);
        if (placement.fill) placement.fill = placement.fill->as(candidate.spec.dtype);
        const bool fills = placement.fill && ir::is_masked(placement.tracker);
        if (!fills || !before || *placement.fill == *before) {
            if (!fills) placement.fill = before;
            const Value base = below->inputs[0];
            if (placement.tracker.is_contiguous() && base.shape() == candidate.spec.shape)
                return base;
            return view_of(rewriter, base, placement, candidate.spec);
        }
    }
    Placement placement{ShapeTracker(ir::dims_of(operand.shape()))};
    def.move(placement, candidate.attrs(), candidate.spec.shape);
    if (placement.tracker.is_contiguous() && operand.shape() == candidate.spec.shape)
        return operand;
    // All elements of a constant are the same, wherever they stand.
    if (const auto number = rewriter.number(operand); number && !ir::is_masked(placement.tracker))
        return rewriter.constant(*number, candidate.spec);
    if (is_view) return std::nullopt;
    if (placement.fill) placement.fill = placement.fill->as(candidate.spec.dtype);
    return view_of(rewriter, operand, placement, candidate.spec);
}

/// A part of what was just bundled is what was put there.
std::optional<Value> part_of_bundle(Rewriter& rewriter, const Candidate& candidate) {
    static const OpId bundle = require_op("bundle");
    const Candidate* below = rewriter.producer(candidate.inputs[0]);
    if (below == nullptr || below->op != bundle) return std::nullopt;
    std::vector<TensorSpec> specs;
    for (const Value& input : below->inputs) specs.push_back(input.spec());
    const std::vector<Dim> offsets = ops::bundle_offsets(specs);
    for (std::size_t i = 0; i < specs.size(); ++i) {
        if (offsets[i] == candidate.attrs().size(0) && specs[i] == candidate.spec)
            return below->inputs[i];
    }
    return std::nullopt;
}

}  // namespace

Program canonicalize(const Program& program, Fuel& fuel) {
    static const OpId cast = require_op("cast");
    static const OpId part = require_op("part");
    return Rewriter(fuel).run(
        program, [](Rewriter& rewriter, const Candidate& candidate) -> std::optional<Value> {
            if (candidate.def().move != nullptr) return moved(rewriter, candidate);
            if (candidate.op == part) return part_of_bundle(rewriter, candidate);
            if (candidate.op == cast && candidate.inputs[0].spec() == candidate.spec)
                return candidate.inputs[0];
            return std::nullopt;
        });
}

}  // namespace lazuli::optimize
