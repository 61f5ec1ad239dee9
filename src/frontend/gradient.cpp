#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "frontend/record.h"
#include "ir/graph.h"
#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/grad.h"
#include "lazuli/ops.h"
#include "ops/reverse.h"

namespace lazuli {

using frontend::node_of;
using Tensors = std::vector<Tensor>;

namespace {

bool is_wanted(const Tensor& tensor) { return node_of(tensor)->has_flag(ir::kGradFlag); }

/// What was recorded between some tensors and others, which gradients flow through.
class Tape {
   public:
    /// From `targets` down to `ends`, and to whatever else wants gradients.
    Tape(const Tensors& targets, const Tensors& ends) {
        std::vector<ir::Node*> tops;
        std::vector<ir::Node*> bottoms;
        for (const Tensor& t : targets) tops.push_back(node_of(t));
        for (const Tensor& t : ends) bottoms.push_back(node_of(t));
        ir::Capture captured;
        const std::scoped_lock lock(ir::graph_lock());
        ir::capture(tops, {.tape = true, .ends = bottoms}, false, captured);
        program_ = captured.program();
        for (ir::Node* node : captured.params) params_.push_back(held(*node));
        for (ir::Node* node : captured.nodes) values_.push_back(held(*node));
        for (const Tensor& end : ends) {
            const auto at = std::ranges::find(captured.params, node_of(end));
            ends_.push_back(static_cast<std::size_t>(at - captured.params.begin()));
        }
    }

    /// Tensors other than the ends that want gradients, and where they stand among the parameters.
    std::vector<std::size_t> other_leaves() const {
        std::vector<std::size_t> out;
        for (std::size_t i = 0; i < params_.size(); ++i) {
            if (is_wanted(params_[i]) && std::ranges::find(ends_, i) == ends_.end())
                out.push_back(i);
        }
        return out;
    }
    const std::vector<std::size_t>& ends() const { return ends_; }
    const Tensor& param(std::size_t i) const { return params_[i]; }

    /// What flows back to these parameters from cotangents of the targets; an empty tensor where
    /// nothing does.
    Tensors pull(const Tensors& cotangents, std::span<const std::size_t> to) const {
        ProgramBuilder builder;
        Tensors given;
        const auto take = [&](const Tensor& tensor) {
            given.push_back(tensor);
            return builder.param("", tensor.spec());
        };
        std::unordered_map<std::uint32_t, Value> taken;
        const auto forward = [&](ValueRef v) {
            const auto [at, is_new] = taken.try_emplace(v.raw);
            if (is_new) at->second = take(v.is_param() ? params_[v.index()] : values_[v.index()]);
            return at->second;
        };
        std::vector<Value> seeds;
        for (const Tensor& cotangent : cotangents)
            seeds.push_back(cotangent.defined() ? take(cotangent) : Value());
        std::vector<bool> wanted(params_.size(), false);
        for (const std::size_t i : to) wanted[i] = true;
        const std::vector<Value> flows = ops::reverse(builder, program_, forward, seeds, wanted);
        std::vector<std::size_t> reached;
        for (const std::size_t i : to) {
            if (flows[i].defined()) {
                reached.push_back(i);
                builder.result(flows[i]);
            }
        }
        const Tensors made = record(builder.build(), given);
        Tensors out(to.size());
        for (std::size_t k = 0, next = 0; k < to.size(); ++k) {
            if (next < reached.size() && reached[next] == to[k]) out[k] = made[next++];
        }
        return out;
    }

   private:
    static Tensor held(ir::Node& node) {
        ir::retain(&node);
        return Tensor::adopt(&node);
    }
    Program program_;
    Tensors params_;
    Tensors values_;
    std::vector<std::size_t> ends_;
};

/// A tensor as a value of its own, which gradients flow from.
Tensor as_source(const Tensor& tensor) {
    Tensor own = identity(tensor);
    node_of(own)->flags.fetch_or(ir::kGradFlag, std::memory_order_relaxed);
    return own;
}

void expect_float(std::string_view op, const std::string& what, const Tensor& tensor) {
    if (ops::has_gradient(tensor.dtype())) return;
    throw DTypeError(fmt::format("{}: {} is {}: only floats and complex numbers have gradients", op,
                                 what, tensor.spec().str()));
}

void expect_number(std::string_view op, const Tensor& value) {
    const TensorSpec& spec = value.spec();
    if (!is_floating(spec.dtype)) {
        throw DTypeError(fmt::format(
            "{}: the function's value is {}: only a real number has a gradient", op, spec.str()));
    }
    if (spec.shape.rank() != 0) {
        throw ShapeError(
            fmt::format("{}: the function's value is {}, and one number is needed: its "
                        "sum or mean, or vjp with a cotangent",
                        op, spec.str()),
            "[]", spec.shape.str());
    }
}

/// A cotangent or tangent, checked to be one of `like`.
void expect_like(std::string_view op, std::string_view what, std::size_t number,
                 const Tensor& given, const Tensor& like) {
    if (given.spec() == like.spec()) return;
    const std::string text = fmt::format("{}: {} {} is {}, and what it belongs to is {}", op, what,
                                         number, given.spec().str(), like.spec().str());
    if (given.dtype() != like.dtype()) throw DTypeError(text);
    throw ShapeError(text, like.shape().str(), given.shape().str());
}

/// What a function records while its own derivative is taken is on its tape, whatever scope of no
/// gradients the derivative is taken in: that one is about gradients from outside.
class InnerScope {
   public:
    InnerScope() : outer_(std::exchange(ir::arena().mode.no_grad, 0)) { ir::arena().mode.update(); }
    ~InnerScope() {
        ir::arena().mode.no_grad = outer_;
        ir::arena().mode.update();
    }
    InnerScope(const InnerScope&) = delete;
    InnerScope& operator=(const InnerScope&) = delete;

   private:
    int outer_;
};

/// A function that was called, with what it recorded.
struct Called {
    Tensors sources;  // the arguments, as values of their own
    Tensors results;
};

Called call(std::string_view op, const TensorFunction& function, const Tensors& arguments,
            const std::vector<bool>& chosen) {
    Called out;
    Tensors passed;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        (void)frontend::require_node(op, arguments[i]);
        if (chosen[i]) {
            out.sources.push_back(as_source(arguments[i]));
            passed.push_back(out.sources.back());
        } else {
            passed.push_back(arguments[i]);
        }
    }
    const InnerScope scope;
    out.results = function(passed);
    for (const Tensor& result : out.results) (void)frontend::require_node(op, result);
    return out;
}

/// What is handed out lets go of what was recorded, unless gradients from outside flow through it.
class HandedOut {
   public:
    HandedOut(const Tape& tape, const Tensors& arguments)
        : stops_(ir::arena().mode.no_grad > 0),
          connected_(!stops_ && (!tape.other_leaves().empty() || any_wanted(arguments))) {}
    /// The same for what is linear in these, too.
    HandedOut with(const Tensors& factors) const {
        HandedOut out = *this;
        out.stops_ = ir::arena().mode.no_grad > 0;
        out.connected_ = !out.stops_ && (connected_ || any_wanted(factors));
        return out;
    }
    Tensor operator()(const Tensor& tensor) const {
        if (connected_ || !is_wanted(tensor)) return tensor;
        return stops_ || ir::arena().mode.bodies == 0 ? stop_gradient(tensor) : let_go(tensor);
    }
    void all(Tensors& tensors) const {
        for (Tensor& tensor : tensors) tensor = (*this)(tensor);
    }

   private:
    static bool any_wanted(const Tensors& tensors) {
        return std::ranges::any_of(
            tensors, [](const Tensor& tensor) { return tensor.defined() && is_wanted(tensor); });
    }
    /// Nobody wants its gradient yet, but that of the body, taken later, flows through all of it.
    static Tensor let_go(const Tensor& tensor) {
        Tensor own = identity(tensor);
        constexpr auto rest = static_cast<std::uint8_t>(~ir::kGradFlag);
        node_of(own)->flags.fetch_and(rest, std::memory_order_relaxed);
        return own;
    }

    bool stops_;
    bool connected_;
};

}  // namespace

ValueAndGrad value_and_grad_of(const TensorFunction& function, const Tensors& arguments,
                               std::span<const int> chosen) {
    constexpr std::string_view op = "grad";
    std::vector<int> wanted(chosen.begin(), chosen.end());
    if (wanted.empty()) {
        wanted.resize(arguments.size());
        std::iota(wanted.begin(), wanted.end(), 0);
    }
    std::vector<bool> is_chosen(arguments.size(), false);
    for (const int i : wanted) {
        if (i < 0 || static_cast<std::size_t>(i) >= arguments.size()) {
            throw ArgumentError(
                fmt::format("{}: there is no argument {}: {} given", op, i, arguments.size()));
        }
        const auto at = static_cast<std::size_t>(i);
        (void)frontend::require_node(op, arguments[at]);
        expect_float(op, fmt::format("argument {}", i), arguments[at]);
        is_chosen[at] = true;
    }
    Called called = call(op, function, arguments, is_chosen);
    if (called.results.empty()) throw ArgumentError("grad: the function returns nothing");
    expect_number(op, called.results[0]);
    const Tape tape(called.results, called.sources);
    Tensors cotangents(called.results.size());
    cotangents[0] = ones_like(called.results[0]);
    const Tensors flows = tape.pull(cotangents, tape.ends());
    const HandedOut hand_out(tape, arguments);
    ValueAndGrad out{hand_out(called.results[0]), {}, {}};
    out.aux.assign(called.results.begin() + 1, called.results.end());
    hand_out.all(out.aux);
    for (const int i : wanted) {
        const auto at =
            static_cast<std::size_t>(std::count(is_chosen.begin(), is_chosen.begin() + i, true));
        out.gradients.push_back(flows[at].defined()
                                    ? hand_out(flows[at])
                                    : zeros_like(arguments[static_cast<std::size_t>(i)]));
    }
    return out;
}

Vjp vjp(const TensorFunction& function, const Tensors& arguments) {
    std::vector<bool> chosen;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        (void)frontend::require_node("vjp", arguments[i]);
        expect_float("vjp", fmt::format("argument {}", i), arguments[i]);
        chosen.push_back(true);
    }
    Called called = call("vjp", function, arguments, chosen);
    auto tape = std::make_shared<Tape>(called.results, called.sources);
    const HandedOut hand_out(*tape, arguments);
    Vjp out{called.results, {}};
    hand_out.all(out.results);
    out.pull = [tape, hand_out, results = called.results,
                arguments](const Tensors& cotangents) -> Tensors {
        if (cotangents.size() != results.size()) {
            throw ArgumentError(fmt::format("vjp: {} cotangents for {} results", cotangents.size(),
                                            results.size()));
        }
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (cotangents[i].defined())
                expect_like("vjp", "cotangent", i, cotangents[i], results[i]);
        }
        Tensors flows = tape->pull(cotangents, tape->ends());
        const HandedOut linear = hand_out.with(cotangents);
        for (std::size_t i = 0; i < flows.size(); ++i)
            flows[i] = flows[i].defined() ? linear(flows[i]) : zeros_like(arguments[i]);
        return flows;
    };
    return out;
}

/// What flows back is linear in the cotangents: flowing back through that again, from the tangents,
/// comes out at the results.
Jvp jvp(const TensorFunction& function, const Tensors& arguments, const Tensors& tangents) {
    if (tangents.size() != arguments.size()) {
        throw ArgumentError(
            fmt::format("jvp: {} tangents for {} arguments", tangents.size(), arguments.size()));
    }
    std::vector<bool> chosen;
    Tensors moving;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        (void)frontend::require_node("jvp", arguments[i]);
        chosen.push_back(tangents[i].defined());
        if (!chosen[i]) continue;
        expect_float("jvp", fmt::format("argument {}", i), arguments[i]);
        expect_like("jvp", "tangent", i, tangents[i], arguments[i]);
        moving.push_back(tangents[i]);
    }
    Called called = call("jvp", function, arguments, chosen);
    const Tape tape(called.results, called.sources);
    Tensors cotangents;
    for (const Tensor& result : called.results) {
        cotangents.push_back(ops::has_gradient(result.dtype()) ? as_source(zeros_like(result))
                                                               : Tensor());
    }
    const HandedOut hand_out(tape, arguments);
    const HandedOut linear = hand_out.with(tangents);
    const InnerScope scope;
    const Tensors flows = tape.pull(cotangents, tape.ends());
    Tensors sources;
    for (const Tensor& cotangent : cotangents) {
        if (cotangent.defined()) sources.push_back(cotangent);
    }
    Tensors targets;
    Tensors seeds;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        if (!flows[i].defined()) continue;
        targets.push_back(flows[i]);
        seeds.push_back(moving[i]);
    }
    const Tape back(targets, sources);
    const Tensors moved = back.pull(seeds, back.ends());
    Jvp out{called.results, {}};
    hand_out.all(out.results);
    std::size_t next = 0;
    for (std::size_t i = 0; i < called.results.size(); ++i) {
        const bool has = cotangents[i].defined() && moved[next].defined();
        out.tangents.push_back(has ? linear(moved[next]) : zeros_like(called.results[i]));
        if (cotangents[i].defined()) ++next;
    }
    return out;
}

NoGradScope::NoGradScope() {
    ++ir::arena().mode.no_grad;
    ir::arena().mode.update();
}
NoGradScope::~NoGradScope() {
    --ir::arena().mode.no_grad;
    ir::arena().mode.update();
}

// ---- gradients that tensors keep

Tensor& Tensor::set_requires_grad(bool wanted) {
    (void)frontend::require_node("set_requires_grad", *this);
    if (wanted) expect_float("set_requires_grad", "the tensor", *this);
    if (wanted != requires_grad()) *this = wanted ? as_source(*this) : lazuli::stop_gradient(*this);
    return *this;
}

bool Tensor::requires_grad() const {
    return frontend::require_node("requires_grad", *this).has_flag(ir::kGradFlag);
}

void Tensor::backward(const Tensor& cotangent) const {
    (void)frontend::require_node("backward", *this);
    if (!requires_grad()) {
        throw ArgumentError(fmt::format(
            "backward: {} is computed from nothing that wants a gradient (set_requires_grad)",
            spec().str()));
    }
    if (cotangent.defined()) {
        expect_like("backward", "cotangent", 0, cotangent, *this);
    } else {
        expect_number("backward", *this);
    }
    const Tape tape({*this}, {});
    const std::vector<std::size_t> leaves = tape.other_leaves();
    const Tensors flows = tape.pull({cotangent.defined() ? cotangent : ones_like(*this)}, leaves);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        if (!flows[i].defined()) continue;
        const Tensor& leaf = tape.param(leaves[i]);
        const Tensor before = leaf.grad();
        Tensor total = lazuli::stop_gradient(before.defined() ? before + flows[i] : flows[i]);
        // It stands on the tensor that keeps it. Whoever computes it as a part of something else
        // computes it for good, and lets both go.
        node_of(total)->flags.fetch_or(ir::kKeepFlag, std::memory_order_relaxed);
        ir::NodeHeader* node = total.node();
        ir::retain(node);
        ir::set_gradient(*node_of(leaf), node);
    }
}

Tensor Tensor::grad() const {
    return Tensor::adopt(ir::gradient_of(frontend::require_node("grad", *this)));
}

void Tensor::zero_grad() const {
    ir::set_gradient(frontend::require_node("zero_grad", *this), nullptr);
}

}  // namespace lazuli
