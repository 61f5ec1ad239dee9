#include "codegen/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "ir/placement.h"
#include "lazuli/error.h"
#include "ops/convolution.h"

namespace lazuli::codegen {

namespace {

using Position = std::vector<Expr>;

/// The type in which elements are combined: rounding is left to the end of a sum.
DType accumulation_type(DType dtype) {
    switch (dtype) {
        case DType::boolean: return DType::u8;
        case DType::f16:
        case DType::bf16:
        case DType::f32: return DType::f64;
        case DType::c64: return DType::c128;
        default: return dtype;
    }
}

// A reduction outside of all loops is shared out from this many steps on, in parts of about this
// length.
constexpr double kSharedSteps = 1 << 16;
constexpr std::int64_t kRun = 1 << 14;
constexpr std::int64_t kFewParts = 16;

class Lowerer {
   public:
    Lowerer(const Program& program, const Group& group, std::string name,
            const LowerOptions& options)
        : program_(program), group_(group), options_(options) {
        out_.kernel.name = std::move(name);
        for (const Dim variable : program.variables())
            out_.kernel.variables.push_back(context().import(variable.expr()));
    }

    Lowered run() {
        const TensorSpec spec = program_.spec(group_.outputs.at(0));
        std::vector<Expr> counters;
        for (int d = 0; d < spec.shape.rank(); ++d) {
            if (spec.shape.dim(d) == Dim(0)) return empty();
            counters.push_back(
                context().counter(fmt::format("i{}", d), size_of_axis(spec.shape, d)));
        }
        scopes_.push_back({});
        nest(counters, spec.shape, loop_order(counters), true);
        // Stores come behind what is read.
        for (std::size_t i = 0; i < stored_.size(); ++i) {
            out_.buffers.push_back(group_.outputs[i]);
            out_.kernel.buffers.push_back(stored_[i]);
        }
        for (const KernelBuffer& buffer : scratch_) out_.kernel.buffers.push_back(buffer);
        for (const std::uint32_t operation : group_.operations)
            out_.work.push_back({operation, evaluations_[operation]});
        out_.kernel.body = std::move(scopes_[0].block);
        place_stores(out_.kernel.body);
        return std::move(out_);
    }

   private:
    /// A block under construction and what was computed in it.
    struct Scope {
        Block block;
        std::map<std::pair<std::uint32_t, std::vector<const symbolic::Node*>>, ValueId> known;
        std::vector<Expr> variables;  // that have a value from here on inwards
        std::vector<Expr> sizes;      // of the loops that this is the body of
    };

    ExprContext& context() { return *out_.kernel.context; }

    /// A size as an expression of the kernel. What is made for some elements is not for none.
    Expr sized(Dim size) {
        if (size.is_concrete()) return context().constant(size.value());
        const Expr out = context().import(size.expr());
        if (size.bounds().low < 1) require(at_least(out, context().constant(1)));
        return out;
    }
    Expr size_of_axis(const Shape& shape, int axis) { return sized(shape.dim(axis)); }
    Expr elements_of(const Shape& shape) {
        if (shape.is_concrete()) return context().constant(shape.numel());
        return sized(shape.count());
    }
    void require(const Expr& condition) {
        if (prove(condition) == Truth::yes) return;
        auto& all = out_.conditions;
        if (std::find(all.begin(), all.end(), condition) == all.end()) all.push_back(condition);
    }
    static double steps_of(const Expr& size) {
        return static_cast<double>(size.constant().value_or(1));
    }

    Lowered empty() {
        for (const ValueRef output : group_.outputs) {
            const TensorSpec spec = program_.spec(output);
            out_.buffers.push_back(output);
            out_.kernel.buffers.push_back(
                {buffer_name("out"), spec.dtype, elements_of(spec.shape), true});
        }
        return std::move(out_);
    }

    std::string buffer_name(const char* prefix) {
        return fmt::format("{}{}", prefix, buffer_count_++);
    }

    bool is_inside(ValueRef v) const {
        return !v.is_param() &&
               std::binary_search(group_.operations.begin(), group_.operations.end(),
                                  static_cast<std::uint32_t>(v.index()));
    }

    // ---- loops

    /// The dimensions from the outermost loop to the innermost: what reductions depend on comes
    /// first, so that each is computed once for the loops inside.
    std::vector<std::size_t> loop_order(const Position& counters) {
        std::vector<int> weight(counters.size(), 0);
        for (const ValueRef output : group_.outputs) weigh(output, counters, counters, weight);
        std::vector<std::size_t> order(counters.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return weight[a] > weight[b]; });
        return order;
    }

    void weigh(ValueRef v, const Position& position, const Position& counters,
               std::vector<int>& weight) {
        std::vector<const symbolic::Node*> key;
        for (const Expr& e : position) key.push_back(e.node());
        if (!is_inside(v) || !weighed_.insert({v.raw, key}).second) return;
        const Operation operation = program_.operation(v.index());
        const Lowering how = operation.def().lowering;
        if (how == Lowering::reduction || how == Lowering::contraction ||
            how == Lowering::convolution) {
            for (std::size_t d = 0; d < counters.size(); ++d) {
                for (const Expr& e : position) {
                    const auto vars = e.vars();
                    if (std::find(vars.begin(), vars.end(), counters[d]) != vars.end()) {
                        ++weight[d];
                        break;
                    }
                }
            }
        }
        for (const auto& [operand, at] : operand_positions(operation, position))
            weigh(operand, at, counters, weight);
    }

    /// Where an operation looks at its operands; reduced axes are left at 0, which is enough to see
    /// what a position depends on.
    std::vector<std::pair<ValueRef, Position>> operand_positions(const Operation& operation,
                                                                 const Position& position) {
        std::vector<std::pair<ValueRef, Position>> out;
        const OpDef& def = operation.def();
        const auto zeros = [&](ValueRef v) {
            return Position(program_.spec(v).shape.size(), context().constant(0));
        };
        if (def.move != nullptr) {
            const ValueRef operand = operation.input(0);
            out.emplace_back(operand, unravelled(program_.spec(operand).shape,
                                                 moved(operation, position).index));
        } else if (has(def.traits, Trait::elementwise)) {
            for (std::size_t k = 0; k < operation.input_count(); ++k)
                out.emplace_back(operation.input(k), broadcast(position, operation.input(k)));
        } else if (def.lowering == Lowering::reduction) {
            const Ints axes = operation.attrs().list(0);
            const bool keep = operation.attrs().boolean(1);
            Position inner = zeros(operation.input(0));
            std::size_t at = 0;
            for (std::size_t d = 0; d < inner.size(); ++d) {
                const bool reduced =
                    std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) != axes.end();
                if (!reduced) inner[d] = position[at];
                if (!reduced || keep) ++at;
            }
            out.emplace_back(operation.input(0), inner);
        } else {
            // Of the others only what they depend on matters: take it that it is everything.
            for (std::size_t k = 0; k < operation.input_count(); ++k) {
                Position any = zeros(operation.input(k));
                if (!any.empty()) {
                    for (const Expr& e : position) any[0] = any[0] + e;
                }
                out.emplace_back(operation.input(k), any);
            }
        }
        return out;
    }

    void nest(const Position& counters, const Shape& shape, std::vector<std::size_t> order,
              bool outermost) {
        if (order.empty()) {
            for (std::size_t i = 0; i < group_.outputs.size(); ++i) store(i, counters, shape);
            return;
        }
        const std::size_t d = order.front();
        order.erase(order.begin());
        const Expr size = size_of_axis(shape, static_cast<int>(d));
        if (counters[d].is_constant()) return nest(counters, shape, std::move(order), outermost);
        scopes_.push_back({.block = {}, .known = {}, .variables = {counters[d]}, .sizes = {size}});
        nest(counters, shape, std::move(order), false);
        Statement loop{.kind = outermost ? StatementKind::parallel : StatementKind::serial};
        loop.counts = {{counters[d], size}};
        loop.body = std::move(scopes_.back().block);
        scopes_.pop_back();
        scopes_.back().block.push_back(std::move(loop));
    }

    void store(std::size_t output, const Position& position, const Shape& shape) {
        const TensorSpec spec = program_.spec(group_.outputs[output]);
        Statement s{.kind = StatementKind::store};
        s.operands = {element(group_.outputs[output], position)};
        s.index = row_major(position, shape);
        s.buffer = kStores + output;
        stored_.push_back({buffer_name("out"), spec.dtype, elements_of(spec.shape), true});
        scopes_.back().block.push_back(std::move(s));
    }

    /// What is stored was numbered before the number of loads was known.
    void place_stores(Block& block) {
        const std::size_t scratch = out_.kernel.buffers.size() - scratch_.size();
        for (Statement& s : block) {
            if (s.kind == StatementKind::store || s.kind == StatementKind::load) {
                if (s.buffer >= kScratch) {
                    s.buffer = scratch + (s.buffer - kScratch);
                } else if (s.buffer >= kStores) {
                    s.buffer = scratch - stored_.size() + (s.buffer - kStores);
                }
            }
            place_stores(s.body);
        }
    }

    // ---- elements

    /// The scope in which all variables of a position have a value.
    std::size_t level_of(const Position& position) const {
        std::size_t level = 0;
        for (const Expr& e : position) {
            for (const Expr& v : e.vars()) {
                for (std::size_t s = scopes_.size(); s-- > 0;) {
                    const auto& known = scopes_[s].variables;
                    if (std::find(known.begin(), known.end(), v) == known.end()) continue;
                    level = std::max(level, s);
                    break;
                }
            }
        }
        return level;
    }

    /// Works in an outer scope while `act` runs.
    template <class Act>
    auto at_level(std::size_t level, const Act& act) {
        std::vector<Scope> inner(
            std::make_move_iterator(scopes_.begin() + static_cast<std::ptrdiff_t>(level) + 1),
            std::make_move_iterator(scopes_.end()));
        scopes_.resize(level + 1);
        auto result = act();
        for (Scope& scope : inner) scopes_.push_back(std::move(scope));
        return result;
    }

    ValueId add(Statement s) {
        const ValueId id = next_++;
        s.results = {id};
        scopes_.back().block.push_back(std::move(s));
        return id;
    }

    ValueId element(ValueRef v, const Position& position) {
        std::vector<const symbolic::Node*> nodes;
        for (const Expr& e : position) nodes.push_back(e.node());
        const auto key = std::make_pair(v.raw, std::move(nodes));
        for (const Scope& scope : scopes_) {
            if (const auto at = scope.known.find(key); at != scope.known.end()) return at->second;
        }
        return at_level(level_of(position), [&] {
            const ValueId id =
                is_inside(v)
                    ? computed(static_cast<std::uint32_t>(v.index()), position)
                    : loaded(v, row_major(position, program_.spec(v).shape), std::nullopt, 0);
            scopes_.back().known.emplace(key, id);
            return id;
        });
    }

    ValueId loaded(ValueRef v, Expr index, std::optional<Expr> valid, const Scalar& fill) {
        auto at = std::find(out_.buffers.begin(), out_.buffers.end(), v);
        const TensorSpec spec = program_.spec(v);
        if (at == out_.buffers.end()) {
            out_.buffers.push_back(v);
            out_.kernel.buffers.push_back({fmt::format("in{}", out_.kernel.buffers.size()),
                                           spec.dtype, elements_of(spec.shape), false});
            at = out_.buffers.end() - 1;
        }
        Statement s{.kind = StatementKind::load, .dtype = spec.dtype};
        s.buffer = static_cast<std::size_t>(at - out_.buffers.begin());
        s.index = index;
        s.valid = valid;
        s.fill = fill;
        return add(std::move(s));
    }

    ValueId constant(const Scalar& value, DType dtype) {
        Statement s{.kind = StatementKind::constant, .dtype = dtype};
        s.fill = value.as(dtype);
        return add(std::move(s));
    }

    ValueId applied(OpId op, DType dtype, std::vector<ValueId> operands,
                    std::span<const std::uint64_t> words = {}) {
        Statement s{.kind = StatementKind::apply, .dtype = dtype};
        s.op = op;
        s.operands = std::move(operands);
        s.words.assign(words.begin(), words.end());
        return add(std::move(s));
    }

    ValueId converted(ValueId v, DType from, DType to) {
        static const OpId cast = require_op("cast");
        return from == to ? v : applied(cast, to, {v});
    }

    /// How often something at this position is computed here. A contraction packs its operands:
    /// what they are made of is computed once for each of their own positions.
    double times(const Position& position) const {
        double out = 1;
        for (const Scope& scope : scopes_) {
            bool counts = !packing_;
            for (const Expr& e : position) {
                if (counts) break;
                for (const Expr& v : e.vars()) {
                    counts = counts || std::find(scope.variables.begin(), scope.variables.end(),
                                                 v) != scope.variables.end();
                }
            }
            for (const Expr& size : scope.sizes) out *= counts ? steps_of(size) : 1;
        }
        return out;
    }

    ValueId computed(std::uint32_t number, const Position& position) {
        const Operation operation = program_.operation(number);
        evaluations_[number] += times(position);
        const OpDef& def = operation.def();
        const DType dtype = operation.spec().dtype;
        if (def.move != nullptr) return viewed(operation, position);
        if (has(def.traits, Trait::elementwise)) {
            std::vector<ValueId> operands;
            for (std::size_t k = 0; k < operation.input_count(); ++k)
                operands.push_back(
                    element(operation.input(k), broadcast(position, operation.input(k))));
            return applied(operation.op(), dtype, std::move(operands), operation.attrs().words());
        }
        switch (def.lowering) {
            case Lowering::constant: return constant(operation.attrs().scalar(0), dtype);
            case Lowering::position: {
                static const OpId cast = require_op("cast");
                Statement s{.kind = StatementKind::position, .dtype = DType::i64};
                s.index = position[static_cast<std::size_t>(operation.attrs().integer(0))];
                const ValueId at = add(std::move(s));
                return dtype == DType::i64 ? at : applied(cast, dtype, {at});
            }
            case Lowering::reduction: return reduced(operation, position);
            case Lowering::contraction: return contracted(operation, position);
            case Lowering::convolution: return convolved(operation, position);
            case Lowering::concat: return joined(operation, position);
            case Lowering::gather: return gathered(operation, position);
            case Lowering::opaque: break;
        }
        throw InternalError(fmt::format("no kernel computes {}", def.name));
    }

    /// The position of an operand that is broadcast to the result's shape.
    Position broadcast(const Position& position, ValueRef operand) {
        const Shape shape = program_.spec(operand).shape;
        Position out;
        for (int d = 0; d < shape.rank(); ++d) {
            out.push_back(
                shape.dim(d) == Dim(1)
                    ? context().constant(0)
                    : position[position.size() - shape.size() + static_cast<std::size_t>(d)]);
        }
        return out;
    }

    IndexExpr moved(const Operation& operation, const Position& position) {
        const TensorSpec spec = operation.spec();
        Placement placement{ShapeTracker(ir::dims_of(program_.spec(operation.input(0)).shape))};
        operation.def().move(placement, operation.attrs(), spec.shape);
        return placement.tracker.index_expr(context(), position);
    }

    ValueId viewed(const Operation& operation, const Position& position) {
        const TensorSpec spec = operation.spec();
        const ValueRef operand = operation.input(0);
        Placement placement{ShapeTracker(ir::dims_of(program_.spec(operand).shape))};
        operation.def().move(placement, operation.attrs(), spec.shape);
        const auto [index, valid] = placement.tracker.index_expr(context(), position);
        return element_or(operand, index, valid, placement.fill.value_or(0).as(spec.dtype));
    }

    /// The element at an index where `valid` holds, else a number.
    ValueId element_or(ValueRef operand, const Expr& index, const Expr& valid, const Scalar& fill) {
        static const OpId select = require_op("select");
        const auto [dtype, shape] = program_.spec(operand);
        if (valid.bounds() == Bounds{0, 0}) return constant(fill, dtype);
        const bool always = valid.bounds() == Bounds{1, 1};
        if (!is_inside(operand))
            return loaded(operand, index, always ? std::nullopt : std::optional(valid), fill);
        if (always) return element(operand, unravelled(shape, index));
        // Padding of a computed value: there it is computed at some position that exists, and not
        // used.
        const Expr elements = elements_of(shape);
        if (elements.bounds() == Bounds{0, 0}) return constant(fill, dtype);
        const Expr zero = context().constant(0);
        const bool stays = prove(at_least(index, zero)) == Truth::yes &&
                           prove(less(index, elements)) == Truth::yes;
        const Expr inside = stays ? index : min(max(index, zero), elements - 1);
        const ValueId value = element(operand, unravelled(shape, inside));
        Statement s{.kind = StatementKind::position, .dtype = DType::boolean};
        s.index = valid;
        const ValueId condition = add(std::move(s));
        return applied(select, dtype, {condition, value, constant(fill, dtype)});
    }

    Expr row_major(const Position& position, const Shape& shape) {
        Expr index = context().constant(0);
        Expr stride = context().constant(1);
        for (int d = shape.rank() - 1; d >= 0; --d) {
            index = index + position[static_cast<std::size_t>(d)] * stride;
            if (d > 0) stride = stride * size_of_axis(shape, d);
        }
        return index;
    }

    Position unravelled(const Shape& shape, Expr number) {
        Position out(shape.size(), context().constant(0));
        for (int d = shape.rank() - 1; d >= 0; --d) {
            if (shape.dim(d) == Dim(0)) return out;
            const Expr size = size_of_axis(shape, d);
            out[static_cast<std::size_t>(d)] = mod(number, size);
            number = floor_div(number, size);
        }
        return out;
    }

    /// A loop over `counters` that combines what `body` computes. `body` gets a function that says
    /// where a position lies that is written in those counters.
    template <class Body>
    ValueId combined(const std::vector<Count>& counts, OpId combine, DType dtype,
                     const Scalar& init, const Body& body) {
        double steps = 1;
        for (const Count& c : counts) steps *= steps_of(c.size);
        if (scopes_.size() == 1 && options_.lanes > 1 && steps >= kSharedSteps)
            return combined_in_parts(counts, combine, dtype, init, body);
        require_in_order(counts);
        const auto as_they_are = [](const Position& position) { return position; };
        return combined_in_order(counts, combine, dtype, init, [&] { return body(as_they_are); });
    }

    /// Sizes for which a reduction here would not be shared out: it is short, or within a loop that
    /// has more than one step.
    void require_in_order(const std::vector<Count>& counts) {
        if (out_.kernel.variables.empty() || options_.lanes == 1) return;
        Expr steps = context().constant(1);
        for (const Count& c : counts) steps = steps * c.size;
        Expr around = context().constant(1);
        for (const Scope& scope : scopes_) {
            for (const Expr& size : scope.sizes) around = around * size;
        }
        const auto limit = context().constant(static_cast<std::int64_t>(kSharedSteps));
        const Expr is_long = at_least(steps, limit);
        const Expr is_alone = less(around, context().constant(2));
        require(negated(both(is_long, is_alone)));
    }

    template <class Body>
    ValueId combined_in_order(const std::vector<Count>& counts, OpId combine, DType dtype,
                              const Scalar& init, const Body& body) {
        Scope scope;
        for (const Count& c : counts) {
            scope.variables.push_back(c.variable);
            scope.sizes.push_back(c.size);
        }
        scopes_.push_back(std::move(scope));
        const ValueId from = body();
        Statement s{.kind = StatementKind::reduce, .dtype = dtype};
        s.counts = counts;
        // Lanes that no step reaches would hold nothing: without the upper half of them the bits
        // are the same. So they are the same whatever the number of steps, and a kernel whose sizes
        // are known when it runs gives them too.
        const std::int64_t inner = counts.back().size.constant().value_or(options_.lanes);
        s.lanes = options_.lanes;
        while (s.lanes > 1 && s.lanes / 2 >= inner) s.lanes /= 2;
        s.accumulators = {{combine, dtype, init, from}};
        s.body = std::move(scopes_.back().block);
        scopes_.pop_back();
        return add(std::move(s));
    }

    /// A long reduction outside of all loops: parts that threads share out, each into a place of
    /// its own, and then those. How it is cut depends on its sizes alone.
    template <class Body>
    ValueId combined_in_parts(const std::vector<Count>& counts, OpId combine, DType dtype,
                              const Scalar& init, const Body& body) {
        // The first counter is cut into runs that are worth handing out; the last, where that gives
        // few parts and it is long itself.
        const auto size_of_count = [](const Count& c) { return c.size.constant().value_or(1); };
        double within = 1;  // steps of all counters but the first
        for (std::size_t i = 1; i < counts.size(); ++i)
            within *= static_cast<double>(size_of_count(counts[i]));
        auto run = static_cast<std::int64_t>(std::max(1.0, static_cast<double>(kRun) / within));
        std::size_t cut = 0;
        if ((size_of_count(counts[0]) + run - 1) / run < kFewParts &&
            size_of_count(counts.back()) > kRun) {
            cut = counts.size() - 1;
            run = kRun;
        }
        const Count whole = counts[cut];
        const std::int64_t size = size_of_count(whole);
        const std::int64_t parts = (size + run - 1) / run;
        const Expr part =
            context().counter(fmt::format("r{}", counters_++), context().constant(parts));
        std::vector<Count> inner = counts;
        Expr at = part;
        if (run == 1) {
            inner.erase(inner.begin() + static_cast<std::ptrdiff_t>(cut));
        } else {
            const Expr length = size % run == 0 ? context().constant(run)
                                                : min(context().constant(run),
                                                      context().constant(size) - part * run);
            const Expr within_run = context().counter(fmt::format("r{}", counters_++), length);
            inner[cut] = {within_run, length};
            at = part * run + within_run;
        }
        const auto where = [&](const Position& position) {
            Position out;
            for (const Expr& e : position)
                out.push_back(e.substitute([&](Expr v) -> std::optional<Expr> {
                    if (!(v == whole.variable)) return std::nullopt;
                    return at;
                }));
            return out;
        };
        const std::size_t buffer = kScratch + scratch_.size();
        scratch_.push_back(
            {fmt::format("tmp{}", scratch_.size()), dtype, context().constant(parts), true, true});
        scopes_.push_back(
            {.block = {}, .known = {}, .variables = {part}, .sizes = {context().constant(parts)}});
        const ValueId sum =
            combined_in_order(inner, combine, dtype, init, [&] { return body(where); });
        Statement keep{.kind = StatementKind::store};
        keep.operands = {sum};
        keep.index = part;
        keep.buffer = buffer;
        scopes_.back().block.push_back(std::move(keep));
        Statement loop{.kind = StatementKind::parallel};
        loop.counts = {{part, context().constant(parts)}};
        loop.body = std::move(scopes_.back().block);
        scopes_.pop_back();
        scopes_.back().block.push_back(std::move(loop));
        const Count each = counter(context().constant(parts));
        return combined_in_order({each}, combine, dtype, init, [&] {
            Statement s{.kind = StatementKind::load, .dtype = dtype};
            s.buffer = buffer;
            s.index = each.variable;
            return add(std::move(s));
        });
    }

    Count counter(const Expr& size) {
        return {context().counter(fmt::format("r{}", counters_++), size), size};
    }

    /// A number of elements as a value.
    ValueId number(const Expr& count, DType dtype) {
        if (const auto value = count.constant()) return constant(*value, dtype);
        Statement s{.kind = StatementKind::position, .dtype = DType::i64};
        s.index = count;
        return converted(add(std::move(s)), DType::i64, dtype);
    }

    ValueId reduced(const Operation& operation, const Position& position) {
        const Reduction& how = operation.def().reduction;
        const TensorSpec spec = operation.spec();
        const ValueRef operand = operation.input(0);
        const TensorSpec from = program_.spec(operand);
        const Ints axes = operation.attrs().list(0);
        const bool keep = operation.attrs().boolean(1);
        Position inner;
        std::vector<Count> counts;
        std::size_t at = 0;
        Expr elements = context().constant(1);
        for (int d = 0; d < from.shape.rank(); ++d) {
            if (std::find(axes.begin(), axes.end(), d) == axes.end()) {
                inner.push_back(position[at++]);
                continue;
            }
            const Expr size = size_of_axis(from.shape, d);
            elements = elements * size;
            if (keep) ++at;
            if (size.bounds().high <= 1) {
                inner.push_back(context().constant(0));
                continue;
            }
            counts.push_back(counter(size));
            inner.push_back(counts.back().variable);
        }
        const bool rounds = how.combine == "add" || how.combine == "mul";
        const DType sum_type =
            rounds || spec.dtype == DType::boolean ? accumulation_type(spec.dtype) : spec.dtype;
        const Scalar init = how.initial(sum_type);
        // Where truth values are asked for a number becomes one first: 0.5 holds, and is 0 as an
        // integer.
        const auto taken = [&](const Position& where) {
            const ValueId value = element(operand, where);
            return spec.dtype == DType::boolean ? converted(value, from.dtype, spec.dtype) : value;
        };
        const DType taken_type = spec.dtype == DType::boolean ? spec.dtype : from.dtype;
        ValueId total = 0;
        if (elements.bounds() == Bounds{0, 0}) {
            total = constant(init, sum_type);
        } else if (counts.empty()) {
            // One step all the same: 0 + -0 is 0.
            total =
                applied(require_op(how.combine), sum_type,
                        {constant(init, sum_type), converted(taken(inner), taken_type, sum_type)});
        } else {
            total = combined(counts, require_op(how.combine), sum_type, init,
                             [&](const auto& where) { return taken(where(inner)); });
        }
        if (how.mean)
            total = applied(require_op("div"), sum_type, {total, number(elements, sum_type)});
        return converted(total, sum_type, spec.dtype);
    }

    ValueId contracted(const Operation& operation, const Position& position) {
        const ValueRef left = operation.input(0);
        const ValueRef right = operation.input(1);
        const TensorSpec a = program_.spec(left);
        const TensorSpec b = program_.spec(right);
        const Ints lc = operation.attrs().list(0);
        const Ints rc = operation.attrs().list(1);
        const Ints lb = operation.attrs().list(2);
        const Ints rb = operation.attrs().list(3);
        Position pa(a.shape.size(), context().constant(0));
        Position pb(b.shape.size(), context().constant(0));
        std::size_t at = 0;
        for (int i = 0; i < lb.rank(); ++i, ++at)
            pa[static_cast<std::size_t>(lb[i])] = pb[static_cast<std::size_t>(rb[i])] =
                position[at];
        const auto free_axes = [&](Position& p, const Ints& contract, const Ints& batch) {
            for (std::size_t d = 0; d < p.size(); ++d) {
                const auto axis = static_cast<std::int64_t>(d);
                if (std::find(contract.begin(), contract.end(), axis) == contract.end() &&
                    std::find(batch.begin(), batch.end(), axis) == batch.end())
                    p[d] = position[at++];
            }
        };
        free_axes(pa, lc, lb);
        free_axes(pb, rc, rb);
        std::vector<Count> counts;
        bool empty = false;
        for (int i = 0; i < lc.rank(); ++i) {
            const Expr size = size_of_axis(a.shape, static_cast<int>(lc[i]));
            empty = empty || size.bounds() == Bounds{0, 0};
            if (size.bounds().high <= 1) continue;
            counts.push_back(counter(size));
            pa[static_cast<std::size_t>(lc[i])] = pb[static_cast<std::size_t>(rc[i])] =
                counts.back().variable;
        }
        const DType dtype = operation.spec().dtype;
        const DType wide = accumulation_type(dtype);
        const auto product = [&](const auto& where) {
            const bool outer = std::exchange(packing_, true);
            const ValueId x = converted(element(left, where(pa)), dtype, wide);
            const ValueId y = converted(element(right, where(pb)), dtype, wide);
            packing_ = outer;
            return applied(require_op("mul"), wide, {x, y});
        };
        const Scalar zero = Scalar(0).as(wide);
        const ValueId total =
            empty ? constant(zero, wide)
            : counts.empty()
                ? applied(require_op("add"), wide,
                          {constant(zero, wide), product([](const Position& p) { return p; })})
                : combined(counts, require_op("add"), wide, zero, product);
        return converted(total, wide, dtype);
    }

    ValueId convolved(const Operation& operation, const Position& position) {
        const ValueRef left = operation.input(0);
        const ValueRef right = operation.input(1);
        const Shape x = program_.spec(left).shape;
        const Shape w = program_.spec(right).shape;
        const ops::Window window(operation.attrs());
        const DType dtype = operation.spec().dtype;
        const DType wide = accumulation_type(dtype);
        // The taps: a channel of the group, and a place in the window.
        std::vector<Count> counts;
        Position tap{position[1]};
        for (int d = 1; d < w.rank(); ++d) {
            tap.push_back(context().constant(0));
            if (w[d] <= 1) continue;
            counts.push_back(counter(context().constant(w[d])));
            tap.back() = counts.back().variable;
        }
        Position at{position[0], floor_div(position[1], w[0] / window.groups) * w[1] + tap[1]};
        Expr valid = context().constant(1);
        for (int d = 0; d < x.rank() - 2; ++d) {
            const auto i = static_cast<std::size_t>(2 + d);
            at.push_back(position[i] * window.strides[d] + tap[i] * window.dilation[d] -
                         window.before[d]);
            valid = both(valid, both(at_least(at[i], context().constant(0)),
                                     less(at[i], size_of_axis(x, 2 + d))));
        }
        const Expr index = row_major(at, x);
        const auto product = [&](const auto& where) {
            const Position there = where({index, valid});
            const ValueId a =
                converted(element_or(left, there[0], there[1], Scalar(0).as(dtype)), dtype, wide);
            const ValueId b = converted(element(right, where(tap)), dtype, wide);
            return applied(require_op("mul"), wide, {a, b});
        };
        const Scalar zero = Scalar(0).as(wide);
        ValueId total = 0;
        if (w[1] == 0) {
            total = constant(zero, wide);
        } else if (counts.empty()) {
            total = applied(require_op("add"), wide,
                            {constant(zero, wide), product([](const Position& p) { return p; })});
        } else {
            total = combined(counts, require_op("add"), wide, zero, product);
        }
        return converted(total, wide, dtype);
    }

    /// The operand in whose range the position falls, each read at a position that is there.
    ValueId joined(const Operation& operation, const Position& position) {
        const auto axis = static_cast<std::size_t>(operation.attrs().integer(0));
        const DType dtype = operation.spec().dtype;
        Expr start = context().constant(0);
        std::optional<ValueId> so_far;
        for (std::size_t k = 0; k < operation.input_count(); ++k) {
            const ValueRef operand = operation.input(k);
            const Expr size = size_of_axis(program_.spec(operand).shape, static_cast<int>(axis));
            if (size.bounds() == Bounds{0, 0}) continue;
            const Expr here = at_least(position[axis], start);
            Position inner = position;
            inner[axis] = min(max(position[axis] - start, context().constant(0)), size - 1);
            start = start + size;
            if (so_far && here.bounds() == Bounds{0, 0}) continue;
            const ValueId value = element(operand, inner);
            if (!so_far) {
                so_far = value;
                continue;
            }
            Statement s{.kind = StatementKind::position, .dtype = DType::boolean};
            s.index = here;
            const ValueId condition = add(std::move(s));
            so_far = applied(require_op("select"), dtype, {condition, value, *so_far});
        }
        return *so_far;
    }

    ValueId gathered(const Operation& operation, const Position& position) {
        const auto axis = static_cast<std::size_t>(operation.attrs().integer(0));
        const ValueRef operand = operation.input(0);
        const ValueRef indices = operation.input(1);
        const TensorSpec from = program_.spec(operand);
        const std::size_t rank = program_.spec(indices).shape.size();
        const auto middle = position.begin() + static_cast<std::ptrdiff_t>(axis);
        const ValueId index =
            element(indices, Position(middle, middle + static_cast<std::ptrdiff_t>(rank)));
        const Expr size = size_of_axis(from.shape, static_cast<int>(axis));
        // Where there is only one place to look the variable is 0, and the index still checked.
        const Expr variable = context().counter(fmt::format("g{}", counters_++), size);
        Statement s{.kind = StatementKind::bind};
        s.operands = {index};
        s.counts = {{variable, size}};
        scopes_.back().block.push_back(std::move(s));
        scopes_.back().variables.push_back(variable);
        Position inner(position.begin(), middle);
        inner.push_back(variable);
        inner.insert(inner.end(), middle + static_cast<std::ptrdiff_t>(rank), position.end());
        return element(operand, inner);
    }

    static constexpr std::size_t kStores = std::size_t{1} << 32;
    static constexpr std::size_t kScratch = std::size_t{1} << 33;

    const Program& program_;
    const Group& group_;
    const LowerOptions options_;
    Lowered out_;
    std::vector<Scope> scopes_;
    std::vector<KernelBuffer> stored_;
    std::vector<KernelBuffer> scratch_;
    std::set<std::pair<std::uint32_t, std::vector<const symbolic::Node*>>> weighed_;
    std::map<std::uint32_t, double> evaluations_;
    bool packing_ = false;
    ValueId next_ = 0;
    int counters_ = 0;
    int buffer_count_ = 0;
};

}  // namespace

bool is_lowered(const Operation& operation) {
    const OpDef& def = operation.def();
    // The mean of complex numbers is divided part by part, and no function of elements does that.
    if (def.reduction.mean && is_complex(operation.spec().dtype)) return false;
    // Where nothing is picked no kernel looks at the positions; its record does.
    const auto is_empty = [](const Shape& shape) {
        return std::ranges::find(shape.raw(), 0) != shape.raw().end();
    };
    if (def.lowering == Lowering::gather && is_empty(operation.spec().shape)) return false;
    return def.move != nullptr ||
           (has(def.traits, Trait::elementwise) && def.evaluate != nullptr) ||
           def.lowering != Lowering::opaque;
}

Lowered lower(const Program& program, const Group& group, std::string name,
              const LowerOptions& options) {
    return Lowerer(program, group, std::move(name), options).run();
}

}  // namespace lazuli::codegen
