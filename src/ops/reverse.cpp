#include "ops/reverse.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/placement.h"
#include "lazuli/error.h"
#include "ops/bundle.h"
#include "ops/gradient.h"

namespace lazuli::ops {

bool has_gradient(DType dtype) { return is_floating(dtype) || is_complex(dtype); }

std::vector<Value> inlined(ProgramBuilder& builder, const Program& program,
                           std::span<const Value> params) {
    std::vector<Value> values;
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < program.size(); ++i) {
        const Operation operation = program.operation(i);
        inputs.clear();
        for (std::size_t k = 0; k < operation.input_count(); ++k)
            inputs.push_back(value_in(operation.input(k), params, values));
        const TensorSpec spec = operation.spec();
        values.push_back(builder.op(operation.op(), inputs, operation.attrs().words(), &spec));
    }
    return values;
}

Program built(const InferArgs& args) {
    for (const Implementation& way : args.op.implementations) {
        if (way.refuses != nullptr && way.refuses(args)) continue;
        ProgramBuilder builder;
        std::vector<Value> params;
        for (const TensorSpec* spec : args.inputs) params.push_back(builder.param("", *spec));
        builder.result(way.build(builder, params, args));
        return builder.build();
    }
    throw ArgumentError(
        fmt::format("{}: no implementation serves ({})", args.op.name, operands_text(args)));
}

namespace {

/// Operands and attributes of one operation, as inference and gradients see them.
class Called {
   public:
    Called(const Program& program, const Operation& operation)
        : spec_(operation.spec()), def_(operation.def()), attrs_(operation.attrs()) {
        for (std::size_t k = 0; k < operation.input_count(); ++k)
            inputs_.push_back(program.spec(operation.input(k)));
        for (const TensorSpec& input : inputs_) pointers_.push_back(&input);
    }
    Called(const Called&) = delete;
    Called& operator=(const Called&) = delete;

    InferArgs args() const { return {def_, pointers_, attrs_, &spec_}; }
    /// For messages: `bitcast(f32[3])`.
    std::string text() const {
        return fmt::format("{}({}) -> {}", def_.name, operands_text(args()), spec_.str());
    }

   private:
    TensorSpec spec_;
    const OpDef& def_;
    Attrs attrs_;
    std::vector<TensorSpec> inputs_;
    std::vector<const TensorSpec*> pointers_;
};

class Reverse {
   public:
    Reverse(ProgramBuilder& builder, const Program& program, const Forward& forward)
        : builder_(builder), program_(program), forward_(forward), cotangents_(program.size()) {}

    /// `bundled`: the program's only result is a bundle, and cotangents are those of its parts.
    std::vector<Value> run(std::span<const Value> cotangents, const std::vector<bool>& wanted,
                           bool bundled) {
        params_.resize(wanted.size());
        find_active(wanted);
        for (std::size_t i = 0; i < cotangents.size(); ++i) {
            const ValueRef value = program_.results()[bundled ? 0 : i].value;
            if (cotangents[i].defined() && is_active(value))
                add(slot(value, bundled ? i : 0), cotangents[i]);
        }
        for (std::size_t i = program_.size(); i > 0; --i) {
            const bool reached = std::ranges::any_of(cotangents_[i - 1], &Value::defined);
            if (active_[i - 1] && reached) go_back(i - 1);
        }
        return params_;
    }

   private:
    bool is_active(ValueRef v) const {
        return v.is_param() ? wanted_[v.index()] : active_[v.index()];
    }

    void find_active(const std::vector<bool>& wanted) {
        wanted_ = wanted;
        active_.assign(program_.size(), false);
        for (std::size_t i = 0; i < program_.size(); ++i) {
            const Operation operation = program_.operation(i);
            const OpDef& def = operation.def();
            if (has(def.traits, Trait::no_gradient)) continue;
            if (!has_gradient(operation.dtype()) && def.results == nullptr) continue;
            for (std::size_t k = 0; k < operation.input_count(); ++k)
                active_[i] = active_[i] || is_active(operation.input(k));
        }
    }

    Value& slot(ValueRef v, std::size_t result = 0) {
        if (v.is_param()) return params_[v.index()];
        std::vector<Value>& all = cotangents_[v.index()];
        if (all.size() <= result) all.resize(result + 1);
        return all[result];
    }
    static void add(Value& to, const Value& more) { to = to.defined() ? to + more : more; }

    void go_back(std::size_t i) {
        const Operation operation = program_.operation(i);
        if (operation.def().name == "part") {
            const auto [owner, result] = source_of(operation);
            add(slot(owner, result), cotangents_[i][0]);
            return;
        }
        const Called called(program_, operation);
        const InferArgs call = called.args();
        std::vector<Value> inputs;
        std::vector<bool> wanted;
        for (std::size_t k = 0; k < operation.input_count(); ++k) {
            inputs.push_back(forward_(operation.input(k)));
            wanted.push_back(is_active(operation.input(k)));
        }
        if (call.op.results != nullptr) cotangents_[i].resize(call.op.results(call).size());
        const std::vector<Value> flows = flowing_back(
            {builder_, call, inputs, forward_(ValueRef::op(i)), cotangents_[i], wanted}, called);
        for (std::size_t k = 0; k < flows.size(); ++k) {
            if (!wanted[k] || !flows[k].defined()) continue;
            const TensorSpec& due = *call.inputs[k];
            const Value flow = fitted(flows[k], due.shape);
            if (!(flow.spec() == due)) {
                throw InternalError(fmt::format("the gradient of {} for operand {} is {}",
                                                called.text(), k, flow.spec().str()));
            }
            add(slot(operation.input(k)), flow);
        }
        cotangents_[i].clear();
    }

    /// The op whose bundle a part is taken of, and which of its results it is.
    std::pair<ValueRef, std::size_t> source_of(const Operation& part) const {
        const ValueRef owner = part.input(0);
        if (owner.is_param())
            throw ArgumentError("a gradient of the parts of a bundle from outside was asked for");
        const Called called(program_, program_.operation(owner.index()));
        const std::vector<TensorSpec> results = called.args().op.results(called.args());
        const std::vector<Dim> offsets = bundle_offsets(results);
        const Dim offset = part.attrs().size(0);
        // Results without elements share their offsets with the next one.
        for (std::size_t k = 0; k < offsets.size(); ++k) {
            if (offsets[k] == offset && results[k] == part.spec()) return {owner, k};
        }
        throw InternalError(fmt::format("{} has no part at {}", called.text(), offset.str()));
    }

    std::vector<Value> flowing_back(const GradientArgs& args, const Called& called) {
        const OpDef& def = args.call.op;
        if (def.gradient != nullptr) return def.gradient(args);
        if (def.move != nullptr) {
            const Shape& base = args.call.inputs[0]->shape;
            Placement placement{ShapeTracker(ir::dims_of(base))};
            def.move(placement, args.call.attrs, args.call.wanted->shape);
            return {transposed(args.cotangent(), placement.tracker, base)};
        }
        if (!def.is_composite())
            throw ArgumentError(
                fmt::format("{}: the op has no gradient: {}", def.name, called.text()));
        const Program program = built(args.call);
        const std::vector<Value> values = inlined(builder_, program, args.inputs);
        const Forward forward = [&](ValueRef v) { return value_in(v, args.inputs, values); };
        return Reverse(builder_, program, forward)
            .run(args.cotangents, args.wanted, def.results != nullptr);
    }

    ProgramBuilder& builder_;
    const Program& program_;
    const Forward& forward_;
    std::vector<bool> wanted_;
    std::vector<bool> active_;  // an operation's value changes with what is wanted
    std::vector<std::vector<Value>> cotangents_;  // of each operation's results
    std::vector<Value> params_;
};

}  // namespace

std::vector<Value> reverse(ProgramBuilder& builder, const Program& program, const Forward& forward,
                           std::span<const Value> cotangents, const std::vector<bool>& wanted) {
    return Reverse(builder, program, forward).run(cotangents, wanted, false);
}

std::vector<Value> through_program(ProgramBuilder& builder, const Program& program,
                                   std::span<const Value> params, std::span<const Value> cotangents,
                                   const std::vector<bool>& wanted) {
    const std::vector<Value> values = inlined(builder, program, params);
    const auto forward = [&](ValueRef v) { return value_in(v, params, values); };
    return reverse(builder, program, forward, cotangents, wanted);
}

}  // namespace lazuli::ops
