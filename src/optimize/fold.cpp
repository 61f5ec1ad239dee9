// Functions of constants are constants. See tests/golden/optimize/fold.ir

#include "optimize/passes.h"

namespace lazuli::optimize {

Program fold(const Program& program, Fuel& fuel) {
    return Rewriter(fuel).run(
        program, [](Rewriter& rewriter, const Candidate& candidate) -> std::optional<Value> {
            const OpDef& def = candidate.def();
            if (!has(def.traits, Trait::elementwise) || def.evaluate == nullptr ||
                candidate.inputs.empty() || candidate.inputs.size() > 4)
                return std::nullopt;
            // What kernels compute to the last bit or so stays theirs to compute: folded it would
            // have other bits than unfolded.
            if (def.expand != nullptr && def.tolerance.ulps > 0) return std::nullopt;
            // One element of each operand: all its others are the same.
            TensorSpec specs[4];
            HostArray arrays[4];
            alignas(16) unsigned char elements[4][16];
            for (std::size_t i = 0; i < candidate.inputs.size(); ++i) {
                const auto number = rewriter.number(candidate.inputs[i]);
                if (!number) return std::nullopt;
                specs[i].dtype = candidate.inputs[i].dtype();
                store_scalar(*number, specs[i].dtype, elements[i]);
                arrays[i] = {elements[i], &specs[i]};
            }
            alignas(16) unsigned char result[16];
            const TensorSpec spec{candidate.spec.dtype, {}};
            def.evaluate(
                {def, candidate.attrs(), {arrays, candidate.inputs.size()}, &spec, result});
            return rewriter.constant(load_scalar(spec.dtype, result), candidate.spec);
        });
}

Program merge_equal(const Program& program, Fuel& fuel) {
    return Rewriter(fuel).run(
        program, [](Rewriter&, const Candidate&) -> std::optional<Value> { return std::nullopt; },
        true);
}

Program open_anew(const Program& program, Fuel& fuel) {
    static const OpId anew = require_op("anew");
    return Rewriter(fuel).run(program,
                              [](Rewriter&, const Candidate& candidate) -> std::optional<Value> {
                                  if (candidate.op != anew) return std::nullopt;
                                  return candidate.inputs[0];
                              });
}

}  // namespace lazuli::optimize
