#include "plan/expand.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "lazuli/error.h"
#include "lazuli/functional.h"

namespace lazuli::plan {

namespace {

std::string operands_text(const InferArgs& args) {
    std::vector<std::string> texts;
    for (const TensorSpec* spec : args.inputs) texts.push_back(spec->str());
    return fmt::format("{}", fmt::join(texts, ", "));
}

const Implementation& choose(OpId op, const InferArgs& args, const ExpandOptions& options) {
    using functional::Policy;
    const auto& all = args.op.implementations;
    const Policy policy = functional::policy_of(args.op.name);
    std::vector<std::size_t> able;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto reason = all[i].refuses != nullptr ? all[i].refuses(args) : std::nullopt;
        if (policy.kind == Policy::Kind::force && all[i].name == policy.implementation) {
            if (!reason) return all[i];
            throw ArgumentError(
                fmt::format("{}: the forced implementation '{}' does not serve ({}): {}",
                            args.op.name, all[i].name, operands_text(args), *reason));
        }
        if (!reason) able.push_back(i);
    }
    if (able.empty())
        throw ArgumentError(
            fmt::format("{}: no implementation serves ({})", args.op.name, operands_text(args)));
    if (policy.kind == Policy::Kind::benchmark && able.size() > 1 && options.fastest) {
        return all[options.fastest(op, args, able, policy.cache)];
    }
    return all[able.front()];
}

/// Whether the backend takes a composite as it is. What a policy names is what runs: where it names
/// a way to build it, the backend does not; where it names a kernel, the backend must.
bool stays_whole(const InferArgs& args, const ExpandOptions& options,
                 std::span<const TensorSpec> inputs) {
    using functional::Policy;
    const Policy policy = functional::policy_of(args.op.name);
    const auto& kernels = args.op.kernels;
    const bool wanted =
        policy.kind == Policy::Kind::force &&
        std::find(kernels.begin(), kernels.end(), policy.implementation) != kernels.end();
    // Where nothing else could be measured, a kernel that is there is the choice.
    const bool open =
        policy.kind == Policy::Kind::standard ||
        (policy.kind == Policy::Kind::benchmark && args.op.implementations.size() == 1);
    const bool able = options.keeps && options.keeps(args.op, inputs, *args.wanted);
    if (wanted && options.keeps && !able) {
        throw ArgumentError(
            fmt::format("{}: the forced kernel '{}' does not serve ({}) on this device",
                        args.op.name, policy.implementation, operands_text(args)));
    }
    return able && (open || wanted);
}

/// One pass: composites are replaced by one level of their implementation. True where there was
/// one.
bool expand_once(const Program& program, const ExpandOptions& options, Program& out) {
    bool changed = false;
    ProgramBuilder builder;
    std::vector<Value> params;
    std::vector<Value> values;
    for (const Param& param : program.params())
        params.push_back(builder.param(param.name, param.spec));
    const auto value = [&](ValueRef v) {
        return v.is_param() ? params[v.index()] : values[v.index()];
    };
    std::vector<Value> inputs;
    std::vector<TensorSpec> specs;
    std::vector<const TensorSpec*> pointers;
    for (std::size_t i = 0; i < program.size(); ++i) {
        const Operation operation = program.operation(i);
        const OpDef& def = operation.def();
        const TensorSpec spec = operation.spec();
        inputs.clear();
        specs.clear();
        pointers.clear();
        for (std::size_t k = 0; k < operation.input_count(); ++k) {
            inputs.push_back(value(operation.input(k)));
            specs.push_back(inputs.back().spec());
        }
        for (const TensorSpec& s : specs) pointers.push_back(&s);
        const InferArgs args{def, pointers, operation.attrs(), &spec};
        if (!def.is_composite() || stays_whole(args, options, specs)) {
            values.push_back(builder.op(operation.op(), inputs, operation.attrs().words(), &spec));
            continue;
        }
        changed = true;
        const Implementation& implementation = choose(operation.op(), args, options);
        const Value built = implementation.build(builder, inputs, args);
        if (!(built.spec() == spec)) {
            throw InternalError(fmt::format("{}: the implementation '{}' makes {} where {} is due",
                                            def.name, implementation.name, built.spec().str(),
                                            spec.str()));
        }
        values.push_back(built);
    }
    for (const ProgramResult& result : program.results())
        builder.result(value(result.value), result.name);
    if (changed) out = builder.build();
    return changed;
}

}  // namespace

Program expand(const Program& program, const ExpandOptions& options) {
    bool composites = false;
    for (std::size_t i = 0; i < program.size() && !composites; ++i)
        composites = program.operation(i).def().is_composite();
    Program current = program;
    // Implementations may use composites in turn (matmul with gelu); a record that builds itself
    // would go on for ever.
    for (int depth = 0; composites && expand_once(current, options, current); ++depth) {
        if (depth == 32) throw CycleError("a composite op is built out of itself");
    }
    return current;
}

}  // namespace lazuli::plan
