#include "ops/batching.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "ir/placement.h"
#include "lazuli/error.h"
#include "ops/bundle.h"
#include "ops/control.h"
#include "ops/differentiation.h"
#include "ops/gradient.h"
#include "ops/reverse.h"

namespace lazuli::ops {

namespace {

Shape with_count(const Shape& shape, Dim count) {
    Shape out{count};
    for (int d = 0; d < shape.rank(); ++d) out.push_back(shape.dim(d));
    return out;
}
TensorSpec with_count(const TensorSpec& spec, Dim count) {
    return {spec.dtype, with_count(spec.shape, count)};
}

/// A value of the program, for one or for many.
struct Batched {
    Value value;
    bool many = false;
    std::vector<Value> parts = {};  // of an op with several results, for many
};

/// One operation, with its operands for one or for many.
struct Call {
    const OpDef& def;
    OpId op;
    Attrs attrs;
    TensorSpec spec;               // of one
    std::vector<TensorSpec> args;  // of one
    std::vector<Batched> inputs;

    InferArgs infer_args(std::vector<const TensorSpec*>& pointers) const {
        for (const TensorSpec& arg : args) pointers.push_back(&arg);
        return {def, pointers, attrs, &spec};
    }
    std::vector<TensorSpec> results() const {
        if (def.results == nullptr) return {spec};
        std::vector<const TensorSpec*> pointers;
        return def.results(infer_args(pointers));
    }
};

class Batcher {
   public:
    Batcher(ProgramBuilder& builder, Dim count) : builder_(builder), count_(count) {}

    /// Appends a program; its results, for one or for many.
    std::vector<Batched> run(const Program& program, std::span<const Batched> params) {
        std::vector<Batched> values;
        const auto value = [&](ValueRef v) -> const Batched& {
            return v.is_param() ? params[v.index()] : values[v.index()];
        };
        for (std::size_t i = 0; i < program.size(); ++i) {
            const Operation operation = program.operation(i);
            Call call{operation.def(), operation.op(), operation.attrs(), operation.spec(), {}, {}};
            for (std::size_t k = 0; k < operation.input_count(); ++k) {
                call.args.push_back(program.spec(operation.input(k)));
                call.inputs.push_back(value(operation.input(k)));
            }
            values.push_back(made(program, operation, call));
        }
        std::vector<Batched> out;
        for (const ProgramResult& result : program.results()) out.push_back(value(result.value));
        return out;
    }

    /// For many, whatever it was.
    Value spread(const Batched& x) const {
        if (x.many) return x.value;
        return broadcast_to(with_axis(x.value, 0), with_count(x.value.shape(), count_));
    }

   private:
    Batched made(const Program& program, const Operation& operation, const Call& call) {
        const bool many = std::ranges::any_of(call.inputs, &Batched::many);
        if (!many) {
            std::vector<Value> inputs;
            for (const Batched& input : call.inputs) inputs.push_back(input.value);
            return {builder_.op(call.op, inputs, call.attrs.words(), &call.spec)};
        }
        if (call.def.name == "part" && !call.inputs[0].parts.empty())
            return {part_taken(program, operation, call), true};
        std::vector<Value> results = for_many(call);
        if (call.def.results == nullptr) return {results[0], true};
        return {{}, true, std::move(results)};
    }

    /// Which of the results of the op below this part is.
    Value part_taken(const Program& program, const Operation& part, const Call& call) const {
        const Operation owner = program.operation(part.input(0).index());
        std::vector<TensorSpec> args;
        for (std::size_t k = 0; k < owner.input_count(); ++k)
            args.push_back(program.spec(owner.input(k)));
        std::vector<const TensorSpec*> pointers;
        for (const TensorSpec& arg : args) pointers.push_back(&arg);
        const TensorSpec spec = owner.spec();
        const std::vector<TensorSpec> results =
            owner.def().results({owner.def(), pointers, owner.attrs(), &spec});
        const std::vector<Dim> offsets = bundle_offsets(results);
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (offsets[i] == call.attrs.size(0) && results[i] == call.spec)
                return call.inputs[0].parts[i];
        }
        throw InternalError("a part that its op does not have");
    }

    // ---- rules, the most special first

    std::vector<Value> for_many(const Call& call) {
        const std::string_view name = call.def.name;
        if (name == "bundle") return all_spread(call);
        if (name == "dot_general") return {dot(call)};
        if (name == "gather") return {gathered(call)};
        if (name == "concat" || name == "stack") return {side_by_side(call)};
        if (name == "loop") return loop(call);
        if (name == "cond" && !call.inputs[0].many) return cond(call);
        if (name == "checkpoint" || name == "custom_gradient") return region(call);
        if (name == "convolution" && !call.inputs[1].many) return {convolved(call)};
        if (name == "dynamic_slice" && !call.inputs[1].many) return {box_taken(call)};
        // These say something to gradients and to passes, and are not what they are built of.
        if (name == "contiguous" || name == "identity" || name == "stop_gradient" || name == "anew")
            return {emit(call, all_spread(call), call.attrs.words())};
        if (call.def.move != nullptr) return {moved(call)};
        if (has(call.def.traits, Trait::elementwise)) return {element_by_element(call)};
        if (is_reduction(call.def)) return {reduced(call)};
        if (const auto axis = axis_attribute(call); axis >= 0) return along_axis(call, axis);
        if (takes_matrices(name)) return emit_all(call, all_spread(call), call.attrs.words());
        if (call.def.is_composite()) return expanded(call);
        return one_by_one(call);
    }

    std::vector<Value> all_spread(const Call& call) const {
        std::vector<Value> out;
        for (const Batched& input : call.inputs) out.push_back(spread(input));
        return out;
    }

    Value emit(const Call& call, std::span<const Value> inputs,
               std::span<const std::uint64_t> words) const {
        const TensorSpec wanted = with_count(call.spec, count_);
        return builder_.op(call.op, inputs, words, &wanted);
    }
    /// The same for ops that may have several results.
    std::vector<Value> emit_all(const Call& call, std::span<const Value> inputs,
                                std::span<const std::uint64_t> words) const {
        if (call.def.results == nullptr) return {emit(call, inputs, words)};
        const Value bundle = builder_.op(call.op, inputs, words);
        std::vector<TensorSpec> results;
        for (const TensorSpec& result : call.results())
            results.push_back(with_count(result, count_));
        std::vector<Value> out;
        for (std::size_t i = 0; i < results.size(); ++i) out.push_back(part_of(bundle, results, i));
        return out;
    }

    /// Every view of the chain has one more dimension, whose steps are as long as all below it.
    Value moved(const Call& call) const {
        Placement placement{ShapeTracker(ir::dims_of(call.args[0].shape))};
        call.def.move(placement, call.attrs, call.spec.shape);
        const Shape wanted = with_count(call.spec.shape, count_);
        if (placement.tracker.is_contiguous() &&
            call.spec.shape.count() == call.args[0].shape.count())
            return reshape(call.inputs[0].value, wanted);
        std::vector<View> views;
        Dim below = call.args[0].shape.count();
        for (std::size_t i = 0; i < placement.tracker.size(); ++i) {
            const View& one = i + 1 < placement.tracker.size() ? placement.tracker.below()[i]
                                                               : placement.tracker.top();
            View wide;
            wide.offset = one.offset;
            wide.shape.push_back(count_);
            wide.strides.push_back(count_ == Dim(1) ? Dim(0) : below);
            for (const Dim size : one.shape) wide.shape.push_back(size);
            for (const Dim stride : one.strides) wide.strides.push_back(stride);
            if (!one.mask.empty()) {
                wide.mask.push_back({0, count_});
                for (const DimRange& range : one.mask) wide.mask.push_back(range);
            }
            below = one.numel();
            views.push_back(std::move(wide));
        }
        placement.tracker = ShapeTracker::of_views(std::move(views)).simplify();
        if (placement.fill) placement.fill = placement.fill->as(call.spec.dtype);
        AttrWords words;
        words.placement(placement);
        const TensorSpec spec{call.spec.dtype, wanted};
        return builder_.op(require_op("view"), {&call.inputs[0].value, 1}, words.words(), &spec);
    }

    /// Sizes are aligned from the back: those of many have their count in front of all.
    Value element_by_element(const Call& call) const {
        std::vector<Value> inputs;
        for (std::size_t i = 0; i < call.inputs.size(); ++i) {
            const Shape one = call.args[i].shape;
            const int missing = call.spec.shape.rank() - one.rank();
            Value value = call.inputs[i].value;
            if (call.inputs[i].many && missing > 0) {
                Shape wide{count_};
                for (int d = 0; d < missing; ++d) wide.push_back(1);
                for (int d = 0; d < one.rank(); ++d) wide.push_back(one.dim(d));
                value = reshape(value, wide);
            }
            inputs.push_back(value);
        }
        return emit(call, inputs, call.attrs.words());
    }

    static bool is_reduction(const OpDef& def) {
        return def.attrs.size() >= 2 && def.attrs[0].name == "axes" &&
               def.attrs[1].name == "keepdims";
    }
    Value reduced(const Call& call) const {
        AttrWords words;
        append_attributes(call, words, [&](const AttrDef& attr, Attribute& value) {
            if (attr.name == "axes") value = shifted(std::get<Ints>(value));
        });
        return emit(call, all_spread(call), words.words());
    }

    static Ints shifted(const Ints& axes) {
        Ints out;
        for (const std::int64_t axis : axes) out.push_back(axis + 1);
        return out;
    }
    /// The attributes, some of them changed.
    static void append_attributes(const Call& call, AttrWords& words, const auto& change) {
        for (std::size_t i = 0; i < call.def.attrs.size(); ++i) {
            Attribute value = call.attrs.get(static_cast<int>(i), call.spec.shape);
            change(call.def.attrs[i], value);
            words.append(call.def.name, call.def.attrs[i], value);
        }
    }

    /// The attribute that names an axis of operands that all have as many; -1 where there is none.
    static int axis_attribute(const Call& call) {
        const int rank = call.args[0].shape.rank();
        for (const TensorSpec& arg : call.args) {
            if (arg.shape.rank() != rank) return -1;
        }
        for (std::size_t i = 0; i < call.def.attrs.size(); ++i) {
            if (call.def.attrs[i].name == "axis") return static_cast<int>(i);
        }
        return -1;
    }
    std::vector<Value> along_axis(const Call& call, int) const {
        AttrWords words;
        append_attributes(call, words, [&](const AttrDef& attr, Attribute& value) {
            if (attr.name == "axis") value = std::get<std::int64_t>(value) + 1;
        });
        return emit_all(call, all_spread(call), words.words());
    }
    Value side_by_side(const Call& call) const { return along_axis(call, 0)[0]; }

    static bool takes_matrices(std::string_view name) {
        static const std::set<std::string_view> names{
            "cholesky", "qr", "svd", "eigh", "inv", "det", "solve", "triangular_solve", "lstsq"};
        return names.contains(name);
    }

    Value dot(const Call& call) const {
        Ints lists[4];
        for (int i = 0; i < 4; ++i) {
            lists[i] = call.attrs.list(i);
            if (call.inputs[static_cast<std::size_t>(i % 2)].many) lists[i] = shifted(lists[i]);
        }
        const auto [lhs, rhs] = std::pair(call.inputs[0], call.inputs[1]);
        if (lhs.many && rhs.many) {
            for (int i = 2; i < 4; ++i) {
                Ints batch{0};
                for (const std::int64_t axis : lists[i]) batch.push_back(axis);
                lists[i] = batch;
            }
        }
        const Value product =
            dot_general(lhs.value, rhs.value, lists[0], lists[1], lists[2], lists[3]);
        if (lhs.many && rhs.many) return product;
        // The count is the first free axis of one operand.
        const int batch = lists[2].rank();
        const int free = call.args[0].shape.rank() - batch - lists[0].rank();
        return to_front(product, lhs.many ? batch : batch + free);
    }
    static Value to_front(const Value& x, int axis) {
        if (axis == 0) return x;
        Ints order{axis};
        for (int d = 0; d < x.shape().rank(); ++d) {
            if (d != axis) order.push_back(d);
        }
        return permute(x, Axes(order));
    }

    Value gathered(const Call& call) const {
        const int axis = static_cast<int>(call.attrs.integer(0));
        const Batched& x = call.inputs[0];
        const Batched& where = call.inputs[1];
        if (!where.many) return gather(x.value, where.value, axis + 1);
        if (!x.many) return to_front(gather(x.value, where.value, axis), axis);
        // Positions in the rows of all, one behind the other.
        const Shape one = call.args[0].shape;
        const Dim size = one.dim(axis);
        Ints order{0, axis + 1};
        Shape rest;
        for (int d = 0; d < one.rank(); ++d) {
            if (d == axis) continue;
            order.push_back(d + 1);
            rest.push_back(one.dim(d));
        }
        Shape flat{count_ * size};
        for (int d = 0; d < rest.rank(); ++d) flat.push_back(rest.dim(d));
        const Value rows = reshape(permute(x.value, Axes(order)), flat);
        const Value given = where.value.dtype() == i64 ? where.value : cast(where.value, i64);
        const Value length = number_of(builder_, size, i64);
        const Value counted = select(lt(given, constant_like(given, 0)), given + length, given);
        // What is outside of a row must not reach another.
        const Value inside =
            logical_and(ge(counted, constant_like(counted, 0)), lt(counted, length));
        const Value first = positions(builder_, given.shape(), 0, i64) * length;
        const Value beyond = number_of(builder_, count_ * size, i64);
        const Value picked = gather(rows, select(inside, counted + first, beyond), 0);
        // [count, positions..., rest...], where the positions stand behind the axes before theirs.
        const int ranks = call.args[1].shape.rank();
        Ints back{0};
        for (int d = 0; d < axis; ++d) back.push_back(1 + ranks + d);
        for (int d = 0; d < ranks; ++d) back.push_back(1 + d);
        for (int d = axis; d < rest.rank(); ++d) back.push_back(1 + ranks + d);
        return permute(picked, Axes(back));
    }

    /// Images of all are images.
    Value convolved(const Call& call) const {
        const Value inputs[] = {joined_front(call.inputs[0].value, call.args[0].shape),
                                call.inputs[1].value};
        const Value made = builder_.op(call.op, inputs, call.attrs.words());
        return reshape(made, with_count(call.spec.shape, count_));
    }
    Value joined_front(const Value& x, const Shape& one) const {
        Shape shape = one;
        shape.set(0, one.dim(0) * count_);
        return reshape(x, shape);
    }

    Value box_taken(const Call& call) const {
        const Value starts = call.inputs[1].value;
        const Value both[] = {builder_.constant(0, {starts.dtype(), Shape{1}}), starts};
        const Value inputs[] = {call.inputs[0].value, joined(both, 0)};
        const Attribute sizes[] = {Ints(with_count(call.spec.shape, count_))};
        return builder_.op(call.def.name, inputs, sizes);
    }

    // ---- bodies

    /// A program whose parameters are for many where `many` says so, and its results always.
    Program for_many(const Program& program, const std::vector<bool>& many) const {
        return batched(program, many, count_).program;
    }

    /// Functions with gradients of their own keep them.
    std::vector<Value> region(const Call& call) const {
        AttrWords words;
        for (std::size_t i = 0; i < call.def.attrs.size(); ++i) {
            const int at = static_cast<int>(i);
            if (call.def.attrs[i].kind == AttrKind::program) {
                const Program& body = call.attrs.program(at);
                words.program(for_many(body, std::vector<bool>(body.params().size(), true)));
            } else {
                words.integer(call.attrs.integer(at));
            }
        }
        return emit_all(call, all_spread(call), words.words());
    }

    std::vector<Value> cond(const Call& call) const {
        std::vector<bool> many;
        std::vector<Value> inputs{call.inputs[0].value};
        for (std::size_t i = 1; i < call.inputs.size(); ++i) {
            many.push_back(call.inputs[i].many);
            inputs.push_back(call.inputs[i].value);
        }
        AttrWords words;
        for (const int branch : {CondAttr::then, CondAttr::otherwise})
            words.program(for_many(call.attrs.program(branch), many));
        return emit_all(call, inputs, words.words());
    }

    /// What is carried and scanned is for many from the first step on; steps stay the first axis of
    /// what is scanned and stacked.
    std::vector<Value> loop(const Call& call) {
        const Dim trips = call.attrs.size(LoopAttr::trips);
        if (at_least(trips, 0) != Truth::yes) return one_by_one(call);
        const auto carried = static_cast<std::size_t>(call.attrs.integer(LoopAttr::carried));
        const auto scanned = static_cast<std::size_t>(call.attrs.integer(LoopAttr::scanned));
        std::vector<bool> many{false};
        std::vector<Value> inputs;
        for (std::size_t i = 0; i < call.inputs.size(); ++i) {
            const bool is_scanned = i >= carried && i < carried + scanned;
            many.push_back(i < carried || call.inputs[i].many);
            if (i < carried) {
                inputs.push_back(spread(call.inputs[i]));
            } else if (is_scanned && call.inputs[i].many) {
                inputs.push_back(to_front(call.inputs[i].value, 1));
            } else {
                inputs.push_back(call.inputs[i].value);
            }
        }
        AttrWords words;
        words.program(for_many(call.attrs.program(LoopAttr::body), many));
        for (const int attr : {LoopAttr::carried, LoopAttr::scanned})
            words.integer(call.attrs.integer(attr));
        words.integer(trips.raw());
        words.boolean(call.attrs.boolean(LoopAttr::reverse));
        const Value bundle = builder_.op(call.op, inputs, words.words());
        std::vector<TensorSpec> results = call.results();
        for (std::size_t i = 0; i < results.size(); ++i) {
            TensorSpec& result = results[i];
            if (i < carried) {
                result = with_count(result, count_);
                continue;
            }
            Shape stacked{trips, count_};
            for (int d = 1; d < result.shape.rank(); ++d) stacked.push_back(result.shape.dim(d));
            result.shape = stacked;
        }
        std::vector<Value> out;
        for (std::size_t i = 0; i < results.size(); ++i) {
            const Value part = part_of(bundle, results, i);
            out.push_back(i < carried ? part : to_front(part, 1));
        }
        return out;
    }

    /// A composite by what it is built of.
    std::vector<Value> expanded(const Call& call) {
        std::vector<const TensorSpec*> pointers;
        const InferArgs args = call.infer_args(pointers);
        const Batched result = run(built(args), call.inputs)[0];
        if (call.def.results == nullptr) return {spread(result)};
        return result.parts;
    }

    /// What no rule is for: a loop of it over all.
    std::vector<Value> one_by_one(const Call& call) const {
        ProgramBuilder body;
        (void)body.param("", {i64, {}});
        std::vector<Value> params(call.inputs.size());
        std::vector<Value> scanned;
        std::vector<Value> outside;
        for (const bool many : {true, false}) {
            for (std::size_t i = 0; i < call.inputs.size(); ++i) {
                if (call.inputs[i].many != many) continue;
                params[i] = body.param("", call.args[i]);
                (many ? scanned : outside).push_back(call.inputs[i].value);
            }
        }
        const Value made = body.op(call.op, params, call.attrs.words(), &call.spec);
        const std::vector<TensorSpec> results = call.results();
        for (std::size_t i = 0; i < results.size(); ++i)
            body.result(call.def.results == nullptr ? made : part_of(made, results, i));
        AttrWords words;
        words.program(body.build());
        words.integer(0);
        words.integer(static_cast<std::int64_t>(scanned.size()));
        words.integer(count_.raw());
        words.boolean(false);
        std::vector<Value> inputs = scanned;
        inputs.insert(inputs.end(), outside.begin(), outside.end());
        const Value bundle = builder_.op(require_op("loop"), inputs, words.words());
        std::vector<TensorSpec> stacked;
        for (const TensorSpec& result : results) stacked.push_back(with_count(result, count_));
        std::vector<Value> out;
        for (std::size_t i = 0; i < stacked.size(); ++i) out.push_back(part_of(bundle, stacked, i));
        return out;
    }

    ProgramBuilder& builder_;
    Dim count_;
};

}  // namespace

BatchedProgram batched(const Program& program, const std::vector<bool>& many, Dim count,
                       SameForAll same) {
    ProgramBuilder builder;
    std::vector<Batched> params;
    for (std::size_t i = 0; i < program.params().size(); ++i) {
        const Param& param = program.params()[i];
        params.push_back(
            {builder.param(param.name, many[i] ? with_count(param.spec, count) : param.spec),
             static_cast<bool>(many[i])});
    }
    std::vector<bool> results;
    Batcher batcher(builder, count);
    for (const Batched& result : batcher.run(program, params)) {
        results.push_back(result.many || same == SameForAll::repeated);
        builder.result(results.back() ? batcher.spread(result) : result.value);
    }
    return {builder.build(), std::move(results)};
}

}  // namespace lazuli::ops
