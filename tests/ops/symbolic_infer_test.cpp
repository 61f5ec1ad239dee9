// Inference with sizes that are expressions: every op's cases with variables for their sizes. What
// it infers must be what it infers of the numbers, at any of them; what it cannot, it must refuse.
// Such a call is a program, in all formats, and with numbers the program of the numbers.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "lazuli/error.h"
#include "lazuli/op.h"
#include "lazuli/program.h"

namespace lazuli {
namespace {

using Bindings = std::vector<std::pair<std::string, std::int64_t>>;

/// One call: the specs of its operands, and the result where it is asked for.
struct Call {
    std::vector<TensorSpec> inputs;
    std::vector<Attribute> attrs;
    std::optional<TensorSpec> wanted;

    std::optional<TensorSpec> infer_of(const OpDef& def, std::string* why = nullptr) const {
        try {
            return infer(def.name, inputs, attrs, wanted ? &*wanted : nullptr);
        } catch (const Error& e) {
            if (why != nullptr) *why = e.what();
            return std::nullopt;
        }
    }
    /// Each size replaced by what `size` makes of it.
    Call with(const auto& size) const {
        Call out = *this;
        const auto replace = [&](Shape& shape) {
            for (int i = 0; i < shape.rank(); ++i) shape.set(i, size(shape.dim(i)));
        };
        for (TensorSpec& spec : out.inputs) replace(spec.shape);
        if (out.wanted) replace(out.wanted->shape);
        return out;
    }
};

std::vector<Call> calls_of(const OpDef& def) {
    const DType usual = def.dtypes.contains(f32) ? f32 : def.dtypes.contains(i32) ? i32 : u64;
    std::vector<Call> out;
    for (const Case& c : def.cases) {
        Call call{{}, c.attrs, std::nullopt};
        for (std::size_t i = 0; i < c.inputs.size(); ++i) {
            // Positions and keys come last; other operands are of any type.
            const bool last = i + 1 == c.inputs.size() || usual == f32;
            call.inputs.push_back({i < c.types.size() ? c.types[i]
                                   : last             ? usual
                                                      : f32,
                                   c.inputs[i]});
        }
        if (c.result)
            call.wanted = TensorSpec{call.inputs.empty() ? f32 : call.inputs[0].dtype, *c.result};
        out.push_back(std::move(call));
    }
    if (out.empty() && has(def.traits, Trait::elementwise) && def.max_inputs > 0) {
        Call call;
        for (int i = 0; i < def.min_inputs; ++i) {
            const bool condition = i == 0 && has(def.traits, Trait::predicated);
            call.inputs.push_back({condition ? DType::boolean : usual, {3, 5}});
        }
        out.push_back(std::move(call));
    }
    return out;
}

/// The sizes of a result at a binding.
Shape at(const Shape& shape, const Bindings& bindings) {
    Shape out;
    for (int i = 0; i < shape.rank(); ++i) out.push_back(shape.dim(i).evaluate(bindings));
    return out;
}

Program program_of(const OpDef& def, const Call& call) {
    ProgramBuilder builder;
    std::vector<Value> inputs;
    for (const TensorSpec& spec : call.inputs) inputs.push_back(builder.param("", spec));
    builder.result(builder.op(def.name, inputs, call.attrs, call.wanted ? &*call.wanted : nullptr));
    return builder.build();
}

void expect_formats(const Program& program) {
    EXPECT_EQ(Program::parse(program.str()), program) << program.str();
    EXPECT_EQ(Program::from_json(program.json()), program) << program.str();
    EXPECT_EQ(Program::from_bytes(program.bytes()), program) << program.str();
}

TEST(SymbolicInfer, IsWhatTheNumbersGiveOrIsRefused) {
    int inferred = 0;
    int refused = 0;
    int instances = 0;
    std::set<std::string> ops;
    std::map<std::string, std::string> reasons;  // of ops that inferred none
    for (int id = 0; id < op_count(); ++id) {
        const OpDef& def = op_def(static_cast<OpId>(id));
        for (const Call& call : calls_of(def)) {
            const auto wanted = call.infer_of(def);
            if (!wanted) continue;
            // Equal sizes are one variable: ops may need them to be.
            std::set<std::int64_t> sizes;
            (void)call.with([&](Dim size) {
                if (size.value() >= 2) sizes.insert(size.value());
                return size;
            });
            if (sizes.empty()) continue;
            const auto variable = [](Dim size) {
                return size.value() < 2 ? size : dim(fmt::format("infer_{}", size.value()), 2, 999);
            };
            std::string why;
            const auto symbolic = call.with(variable).infer_of(def, &why);
            if (!symbolic) {
                ++refused;
                reasons.try_emplace(std::string(def.name), why);
                EXPECT_NE(why.find(def.name), std::string::npos) << why;
                continue;
            }
            ++inferred;
            ops.insert(std::string(def.name));
            const Program program = program_of(def, call.with(variable));
            const std::vector<Dim> variables = program.variables();
            expect_formats(program);
            for (const std::int64_t more : {0, 1, 7}) {
                Bindings bindings;
                for (const std::int64_t size : sizes)
                    bindings.emplace_back(fmt::format("infer_{}", size), size + more);
                const Call numbers = call.with(
                    [&](Dim size) { return size.value() < 2 ? size : Dim(size.value() + more); });
                const auto there = numbers.infer_of(def);
                if (!there) continue;  // an attribute that only fits the sizes of the case
                std::erase_if(bindings, [&](const SizeBinding& binding) {
                    return std::ranges::none_of(
                        variables, [&](Dim known) { return known.str() == binding.first; });
                });
                const Program instance = program.instantiate(bindings);
                instance.verify();
                EXPECT_EQ(instance, program_of(def, numbers)) << program.str();
                ++instances;
                EXPECT_EQ(symbolic->dtype, there->dtype) << def.name;
                EXPECT_EQ(at(symbolic->shape, bindings), there->shape)
                    << def.name << ": " << symbolic->str();
            }
        }
    }
    for (const std::string& op : ops) reasons.erase(op);
    fmt::print(
        "symbolic inference: {} cases of {} ops at {} bindings, {} refused; {} ops infer none\n",
        inferred, ops.size(), instances, refused, reasons.size());
    for (const auto& [op, why] : reasons) fmt::print("  {}\n", why);
    EXPECT_GT(ops.size(), 100U);
}

}  // namespace
}  // namespace lazuli
