#include "property/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lazuli/conformance.h"
#include "ops/bundle.h"
#include "property/random_view.h"

namespace lazuli::tests {

std::map<std::string, int>& ProgramGenerator::histogram() {
    static std::map<std::string, int> counts;
    return counts;
}

Shape ProgramGenerator::shape() {
    constexpr std::int64_t sizes[] = {2, 3, 3, 4, 2, 1, 0};
    Shape out;
    const auto rank = random_.below(4);
    // Empty tensors are rare: they would soon be everywhere.
    for (std::size_t i = 0; i < rank; ++i)
        out.push_back(sizes[random_.below(random_.one_in(8) ? 7 : 6)]);
    return out;
}

Value ProgramGenerator::pick(const std::vector<Value>& values) {
    // Recent values more often than old ones, so that programs are deep as well as wide.
    const std::size_t window =
        random_.one_in(3) ? values.size() : std::min<std::size_t>(values.size(), 6);
    return values[values.size() - 1 - random_.below(window)];
}

Attribute ProgramGenerator::attribute(const OpDef& def, const AttrDef& attr,
                                      const std::vector<Value>& inputs) {
    const int rank = inputs.empty() ? 2 : inputs[0].shape().rank();
    switch (attr.kind) {
        case AttrKind::boolean: return random_.one_in(2);
        case AttrKind::integer: return random_.between(0, std::max(rank - 1, 0));
        case AttrKind::real: return 1e-5 * static_cast<double>(1 + random_.below(100));
        case AttrKind::scalar: return Scalar(static_cast<std::int64_t>(random_.below(3)));
        case AttrKind::text: return std::string("property_identity");
        case AttrKind::program: return std::string("program() {\n  return\n}\n");
        case AttrKind::choice: return std::string(attr.choices[random_.below(attr.choices.size())]);
        case AttrKind::axes: {
            Ints axes;
            if (def.name == "permute") {
                for (int i = 0; i < rank; ++i) axes.push_back(i);
                for (int i = rank - 1; i > 0; --i)
                    swap(axes[i],
                         axes[static_cast<int>(random_.below(static_cast<std::size_t>(i) + 1))]);
                return axes;
            }
            for (int i = 0; i < rank; ++i) {
                if (random_.one_in(2)) axes.push_back(i);
            }
            if (def.name == "dot_general" && !axes.empty()) {
                const std::int64_t one = axes[0];
                axes = Ints{};
                if (!random_.one_in(3)) axes.push_back(one);
            }
            return axes;
        }
        case AttrKind::ints: {
            Ints list;
            for (int i = 0; i < rank; ++i)
                list.push_back(attr.name == "steps" ? random_.between(-2, 2)
                                                    : random_.between(0, 3));
            return list;
        }
        case AttrKind::view: {
            const Shape shape = inputs.empty() ? Shape() : inputs[0].shape();
            std::vector<Dim> base(shape.begin(), shape.end());
            return Placement{draw_tracker(random_, base, false),
                             Scalar(static_cast<std::int64_t>(random_.below(3)))};
        }
    }
    __builtin_unreachable();
}

Value ProgramGenerator::shaped(const Value& v, const Shape& shape) {
    ProgramBuilder& builder = v.builder();
    const auto move = [&](const char* op, const Value& x, const std::vector<Attribute>& attrs,
                          const Shape& to) {
        const TensorSpec wanted{x.dtype(), to};
        return builder.op(op, {&x, 1}, attrs, &wanted);
    };
    const Value flat = move("reshape", v, {}, {v.shape().numel()});
    const std::int64_t count = shape.numel();
    if (v.shape().numel() >= count) {
        const std::vector<Attribute> box{Ints{0}, Ints{count}, Ints{1}};
        return move("reshape", move("slice", flat, box, {count}), {}, shape);
    }
    if (v.shape().numel() == 0) return builder.constant(1, {v.dtype(), shape});
    const std::vector<Attribute> first{Ints{0}, Ints{1}, Ints{1}};
    return move("broadcast_to", move("slice", flat, first, {1}), {}, shape);
}

bool ProgramGenerator::append(ProgramBuilder& builder, std::vector<Value>& values) {
    const auto id = static_cast<OpId>(random_.below(static_cast<std::size_t>(op_count())));
    const OpDef& def = op_def(id);
    // An argument has no value outside of a body.
    if (has(def.traits, Trait::leaf) || def.name == "argument") return false;
    if (has(def.traits, Trait::sensitive))
        return drawn_ == Drawn::all && append_sensitive(builder, def, values);
    for (int attempt = 0; attempt < 12; ++attempt) {
        const int most = def.max_inputs < 0 ? def.min_inputs + 2 : def.max_inputs;
        const auto count = random_.between(def.min_inputs, most);
        std::vector<Value> inputs;
        // Operands as they come rarely fit ops that ask for much of them: those get what one of
        // their cases asks for.
        const Case* fits = attempt > 6 && !def.cases.empty()
                               ? &def.cases[random_.below(def.cases.size())]
                               : nullptr;
        // Runs of tokens must be valid, so these ops take their cases' operands alone.
        const bool runs = !def.cases.empty() && !def.cases[0].types.empty();
        if (runs && fits == nullptr) continue;
        if (fits != nullptr) {
            for (const Shape& wanted : fits->inputs) {
                inputs.push_back(shaped(pick(values), wanted));
                values.push_back(inputs.back());
            }
        } else {
            for (int i = 0; i < count; ++i) inputs.push_back(pick(values));
        }
        // Ops that ask for one type get it: the first operand's, or the last one's where the first
        // is a condition.
        const bool same = has(def.traits, Trait::promotes);
        const std::size_t first = has(def.traits, Trait::predicated) ? 1 : 0;
        const auto cast_to = [&](Value& v, DType dtype) {
            if (v.dtype() == dtype) return;
            const TensorSpec wanted{dtype, v.shape()};
            v = builder.op("cast", {&v, 1}, {}, &wanted);
            values.push_back(v);
        };
        try {
            if (fits != nullptr && !fits->types.empty()) {
                for (std::size_t i = 0; i < inputs.size(); ++i) cast_to(inputs[i], fits->types[i]);
                // The last of these ops' operands are runs of tokens: 0 says none.
                inputs.back() = builder.constant(0, inputs.back().spec());
                values.push_back(inputs.back());
            } else if (same && !inputs.empty()) {
                for (std::size_t i = first; i < inputs.size(); ++i) {
                    const DType dtype =
                        def.dtypes.contains(inputs.back().dtype()) ? inputs.back().dtype() : f32;
                    cast_to(inputs[i], dtype);
                }
                if (first == 1) cast_to(inputs[0], DType::boolean);
            } else if (!inputs.empty() && !def.dtypes.contains(inputs.back().dtype())) {
                for (int t = 0; t < kDTypeCount; ++t) {
                    const auto dtype = static_cast<DType>(
                        (t + static_cast<int>(random_.below(kDTypeCount))) % kDTypeCount);
                    if (def.dtypes.contains(dtype)) {
                        cast_to(inputs.back(), dtype);
                        break;
                    }
                }
            }
            if (has(def.traits, Trait::random) && !inputs.empty() &&
                inputs[0].shape().rank() != 0) {
                inputs[0] =
                    builder.constant(static_cast<std::uint64_t>(random_.below(1000)), {u64, {}});
                values.push_back(inputs[0]);
            }
            // The sign of a NaN depends on how it came about: integers have none.
            if (def.name == "copysign") {
                const DType dtype = inputs[1].dtype();
                cast_to(inputs[1], i32);
                cast_to(inputs[1], dtype);
            }
            std::vector<Attribute> attrs;
            if (fits != nullptr) {
                attrs = fits->attrs;
            } else {
                for (const AttrDef& attr : def.attrs) attrs.push_back(attribute(def, attr, inputs));
            }
            TensorSpec wanted{static_cast<DType>(random_.below(kDTypeCount)), shape()};
            if (has(def.traits, Trait::movement) && !inputs.empty()) {
                wanted.dtype = inputs[0].dtype();
                const Shape& from = inputs[0].shape();
                if (const auto* placement =
                        attrs.empty() ? nullptr : std::get_if<Placement>(&attrs[0])) {
                    wanted.shape = {};
                    for (const Dim size : placement->tracker.shape())
                        wanted.shape.push_back(size.value());
                }
                if (def.name == "reshape")
                    wanted.shape = random_.one_in(2) ? Shape{-1} : Shape{from.numel(), 1};
                if (def.name == "broadcast_to") {
                    wanted.shape = from;
                    if (from.rank() < 4 && random_.one_in(2)) {
                        wanted.shape = Shape{2};
                        for (const std::int64_t dim : from) wanted.shape.push_back(dim);
                    }
                }
            }
            if (def.name == "cast") wanted.shape = inputs[0].shape();
            if (def.name == "custom_call")
                wanted = inputs.empty() ? TensorSpec{f32, {2}} : inputs[0].spec();
            const bool picks = def.name == "gather" || def.name == "embedding";
            if (picks && inputs[0].shape().numel() == 0) continue;
            if (picks) {
                // Positions must be valid: 0 is, wherever the axis is not empty.
                inputs[1] = builder.constant(0, {i32, shape()});
                values.push_back(inputs[1]);
            }
            if (def.name == "take_along_axis" || def.name == "scatter") {
                if (inputs[0].shape().numel() == 0) continue;
                if (def.name == "scatter") inputs[1] = inputs[0];
                inputs.back() = builder.constant(0, {i32, inputs[0].shape()});
                values.push_back(inputs.back());
            }
            if (def.name == "dynamic_update_slice") cast_to(inputs[1], inputs[0].dtype());
            const Value made = builder.op(def.name, inputs, attrs, &wanted);
            if (made.shape().numel() > 4096 || made.shape().rank() > 6) {
                values.push_back(builder.constant(1, {f32, {2}}));  // the large one is left unused
                return false;
            }
            if (def.results != nullptr && drawn_ == Drawn::all) {
                take_apart(def, inputs, attrs, made, values);
            } else {
                values.push_back(made);
            }
            ++histogram()[std::string(def.name)];
            return true;
        } catch (const Error&) {
            continue;  // these operands or attributes do not fit
        }
    }
    return false;
}

bool ProgramGenerator::append_sensitive(ProgramBuilder& builder, const OpDef& def,
                                        std::vector<Value>& values) {
    const Case& drawn = def.cases[random_.below(def.cases.size())];
    std::vector<DType> types;
    for (int t = 0; t < kDTypeCount; ++t) {
        if (def.dtypes.contains(static_cast<DType>(t))) types.push_back(static_cast<DType>(t));
    }
    const DType dtype = types[random_.below(types.size())];
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < drawn.inputs.size(); ++i) {
        const std::string name = fmt::format("own{}_{}", owners_.size(), i);
        inputs.push_back(builder.param(name, {dtype, drawn.inputs[i]}));
        owners_[name] = &def;
    }
    try {
        const Value made = builder.op(def.name, inputs, drawn.attrs, nullptr);
        if (def.results != nullptr) {
            take_apart(def, inputs, drawn.attrs, made, values);
        } else {
            values.push_back(made);
        }
    } catch (const Error&) {
        return false;  // not of this type
    }
    ++histogram()[std::string(def.name)];
    return true;
}

void ProgramGenerator::take_apart(const OpDef& def, const std::vector<Value>& inputs,
                                  const std::vector<Attribute>& attrs, const Value& bundle,
                                  std::vector<Value>& values) {
    std::vector<TensorSpec> specs;
    for (const Value& input : inputs) specs.push_back(input.spec());
    std::vector<const TensorSpec*> given;
    for (const TensorSpec& spec : specs) given.push_back(&spec);
    AttrWords words;
    for (std::size_t i = 0; i < attrs.size(); ++i) words.append(def.name, def.attrs[i], attrs[i]);
    const std::vector<TensorSpec> parts = def.results({def, given, Attrs(def, words.words())});
    const ops::BundleLayout layout = ops::bundle_layout(parts);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const Attribute offset{layout.offsets[i]};
        values.push_back(bundle.builder().op("part", {&bundle, 1}, {&offset, 1}, &parts[i]));
    }
}

Program ProgramGenerator::program(int ops) {
    static const bool registered = [] {
        register_custom("property_identity", [](std::span<const HostArray> in,
                                                const TensorSpec& spec, void* out) {
            // A mutated program may ask for more than its operand has.
            const auto bytes = static_cast<std::size_t>(spec.nbytes());
            const std::size_t there =
                in.empty() ? 0 : std::min(bytes, static_cast<std::size_t>(in[0].spec->nbytes()));
            if (bytes > 0) std::memset(out, 0, bytes);
            if (there > 0) std::memcpy(out, in[0].data, there);
        });
        return true;
    }();
    (void)registered;
    ProgramBuilder builder;
    std::vector<Value> values;
    constexpr DType types[] = {f32, f32, f32, f64, i32, DType::boolean, f16, bf16, i8,
                               u64, c64, u8,  i64, c128};
    const auto params = 1 + random_.below(4);
    for (std::size_t i = 0; i < params; ++i)
        values.push_back(builder.param("", {types[random_.below(std::size(types))], shape()}));
    for (int i = 0; i < ops;) {
        if (append(builder, values)) ++i;
    }
    const auto results = 1 + random_.below(3);
    for (std::size_t i = 0; i < results; ++i) builder.result(i == 0 ? values.back() : pick(values));
    return builder.build();
}

std::vector<Tensor> ProgramGenerator::operands(const Program& program) {
    std::vector<Tensor> out;
    for (const Param& param : program.params()) {
        const auto owner = owners_.find(param.name);
        if (owner == owners_.end()) {
            out.push_back(conformance::draw(param.spec, -3, 3, random_.one_in(4), random_.next()));
            continue;
        }
        const Sample& sample = owner->second->sample;
        out.push_back(
            conformance::draw(param.spec, sample.low, sample.high, false, random_.next()));
        // Matrices that can be inverted.
        if (sample.diagonal != 0 && param.name.ends_with("_0"))
            out.back() = conformance::with_diagonal(out.back(), sample.diagonal);
    }
    return out;
}

}  // namespace lazuli::tests
