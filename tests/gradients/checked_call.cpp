#include "checked_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/bundle.h"
#include "frontend/record.h"
#include "lazuli/conformance.h"
#include "ops/reverse.h"

namespace lazuli::gradients {

namespace {

std::vector<std::vector<Shape>> elementwise_shapes(int operands) {
    if (operands == 1) return {{{7}}, {{2, 3}}, {{}}, {{0, 3}}};
    std::vector<std::vector<Shape>> out{{{6}, {6}}, {{2, 3, 1}, {3, 2}}, {{}, {5}}, {{2, 2}, {}}};
    if (operands == 3) {
        for (auto& shapes : out) shapes.insert(shapes.begin(), shapes.back());
    }
    return out;
}

/// The operands' types to be tried, best first: the first that the op takes is used.
std::vector<std::vector<DType>> type_choices(const OpDef& def, const Case& c, DType dtype) {
    const std::size_t count = c.inputs.size();
    if (!c.types.empty()) {
        std::vector<DType> wide = c.types;
        std::ranges::replace(wide, f32, dtype);
        if (dtype == f32) return {c.types};
        return {wide};
    }
    std::vector<DType> same(count, dtype);
    if (has(def.traits, Trait::predicated) && count > 0) same[0] = DType::boolean;
    std::vector<std::vector<DType>> out{same};
    for (const DType last : {i64, u64}) {
        std::vector<DType> picked(count, dtype);
        if (count > 0) picked.back() = last;
        out.push_back(picked);
    }
    std::vector<DType> picked(count, i64);
    if (count > 0) picked[0] = dtype;
    out.push_back(picked);
    return out;
}

}  // namespace

TensorFunction CheckedCall::function() const {
    return [*this](const std::vector<Tensor>& floats) {
        std::vector<Tensor> all = operands;
        for (std::size_t i = 0; i < moving.size(); ++i) all[moving[i]] = floats[i];
        return results(all);
    };
}

Tensor drawn_like(const Tensor& like, std::uint64_t seed) {
    return conformance::draw(like.spec(), -1, 1, false, seed).to(like.device());
}

Tensor inner(const Tensor& a, const Tensor& b) {
    if (!is_complex(a.dtype())) return sum(a * b);
    return sum(real(a) * real(b) + imag(a) * imag(b));
}

Tensor inner(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    Tensor total = zeros({}, real_part(a.empty() ? f64 : a[0].dtype()));
    for (std::size_t i = 0; i < a.size(); ++i)
        total = total + inner(a[i], b[i]).cast(total.dtype());
    return total;
}

std::vector<CheckedCall> checked_calls(OpId op, std::uint64_t seed) {
    const OpDef& def = op_def(op);
    std::vector<Case> cases = def.cases;
    if (cases.empty() && has(def.traits, Trait::elementwise) && def.attrs.empty()) {
        for (auto& shapes : elementwise_shapes(def.min_inputs))
            cases.push_back({std::move(shapes), {}, std::nullopt});
    }
    std::vector<CheckedCall> out;
    for (const Case& c : cases) {
        bool is_done = false;  // in f64 where the op takes that, else in f32
        for (const DType dtype : {f64, c128, f32}) {
            if (dtype == f32 && is_done) continue;
            for (const auto& types : type_choices(def, c, dtype)) {
                std::vector<TensorSpec> specs;
                std::string text;
                for (std::size_t i = 0; i < types.size(); ++i) {
                    specs.push_back({types[i], c.inputs[i]});
                    text += (text.empty() ? "" : ", ") + specs.back().str();
                }
                const bool shaped = has(def.traits, Trait::shaped);
                const TensorSpec wanted{dtype, c.result           ? *c.result
                                               : c.inputs.empty() ? Shape{}
                                                                  : c.inputs[0]};
                AttrWords words;
                std::vector<TensorSpec> parts;
                try {
                    for (std::size_t i = 0; i < c.attrs.size(); ++i)
                        words.append(def.name, def.attrs[i], c.attrs[i]);
                    parts = {infer(op, specs, c.attrs, shaped ? &wanted : nullptr)};
                    if (def.results != nullptr) {
                        std::vector<const TensorSpec*> pointers;
                        for (const TensorSpec& spec : specs) pointers.push_back(&spec);
                        parts = def.results({def, pointers, Attrs(def, words.words())});
                    }
                } catch (const Error&) {
                    continue;
                }
                const auto is_float = [](const TensorSpec& s) {
                    return ops::has_gradient(s.dtype);
                };
                if (std::ranges::none_of(specs, is_float) || std::ranges::none_of(parts, is_float))
                    continue;
                // Of narrow floats no difference holds.
                if (std::ranges::any_of(types, [](DType t) { return t == f16 || t == bf16; }))
                    continue;
                CheckedCall call;
                call.op = op;
                call.dtype = dtype;
                call.text = fmt::format("{}({})", def.name, text);
                for (std::size_t i = 0; i < specs.size(); ++i) {
                    Tensor operand =
                        conformance::draw(specs[i], def.sample.low, def.sample.high, false, ++seed)
                            .to(Device());
                    if (i == 0 && def.sample.diagonal != 0)
                        operand = conformance::with_diagonal(operand, def.sample.diagonal);
                    call.operands.push_back(operand);
                    if (is_float(specs[i])) call.moving.push_back(i);
                }
                const std::vector<std::uint64_t> kept(words.words().begin(), words.words().end());
                call.results = [op, kept, shaped, wanted, parts](const std::vector<Tensor>& all) {
                    const OpDef& record = op_def(op);
                    const Tensor result = frontend::record_list(
                        frontend::OpRef(op), all, kept, shaped ? &wanted : nullptr, Device());
                    if (record.results == nullptr) return std::vector<Tensor>{result};
                    std::vector<Tensor> floats;
                    for (const Tensor& part : frontend::unbundle(result, parts)) {
                        if (ops::has_gradient(part.dtype())) floats.push_back(part);
                    }
                    return floats;
                };
                out.push_back(std::move(call));
                is_done = true;
                break;
            }
        }
    }
    return out;
}

}  // namespace lazuli::gradients
