#include "ops/control_gradient.h"

#include <fmt/format.h>

#include <cmath>

#include "lazuli/error.h"
#include "ops/control.h"
#include "ops/gradient.h"
#include "ops/reverse.h"

namespace lazuli::ops {

namespace {

bool is_float(const TensorSpec& spec) { return has_gradient(spec.dtype); }

// ---- conditions

/// A branch backwards: its operands and cotangents of its results, to cotangents of the operands
/// that are wanted.
Program branch_backwards(const Program& branch, std::span<const Value> cotangents,
                         const std::vector<bool>& wanted) {
    ProgramBuilder builder;
    std::vector<Value> params;
    for (const Param& param : branch.params()) params.push_back(builder.param("", param.spec));
    std::vector<Value> seeds;
    for (const Value& cotangent : cotangents)
        seeds.push_back(cotangent.defined() ? builder.param("", cotangent.spec()) : Value());
    const std::vector<Value> flows = through_program(builder, branch, params, seeds, wanted);
    for (std::size_t i = 0; i < flows.size(); ++i) {
        if (wanted[i]) builder.result(or_zeros(builder, flows[i], branch.params()[i].spec));
    }
    return builder.build();
}

}  // namespace

std::vector<Value> cond_gradient(const GradientArgs& g) {
    const std::vector<bool> wanted(g.wanted.begin() + 1, g.wanted.end());
    AttrWords words;
    for (const int branch : {CondAttr::then, CondAttr::otherwise})
        words.program(branch_backwards(g.call.attrs.program(branch), g.cotangents, wanted));
    std::vector<Value> operands(g.inputs.begin(), g.inputs.end());
    for (const Value& cotangent : g.cotangents) {
        if (cotangent.defined()) operands.push_back(cotangent);
    }
    const std::vector<Value> flows = parts_of(g.builder, "cond", operands, words);
    std::vector<Value> out(g.inputs.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i]) out[1 + i] = flows[next++];
    }
    return out;
}

std::vector<Value> while_gradient(const GradientArgs& g) {
    throw ArgumentError(fmt::format(
        "while_loop: nothing flows back through it, since how many steps it takes is not "
        "known before: a loop of a known number of trips, or scan_loop, has a gradient "
        "(operands {})",
        operands_text(g.call)));
}

// ---- loops

namespace {

/// Attributes and operands of a loop, by what they are to its body.
struct LoopParts {
    explicit LoopParts(const GradientArgs& g)
        : body(g.call.attrs.program(LoopAttr::body)),
          trips(g.call.attrs.size(LoopAttr::trips)),
          carried(static_cast<std::size_t>(g.call.attrs.integer(LoopAttr::carried))),
          scanned(static_cast<std::size_t>(g.call.attrs.integer(LoopAttr::scanned))),
          reverse(g.call.attrs.boolean(LoopAttr::reverse)) {
        if (at_least(trips, 0) != Truth::yes) {
            throw ArgumentError(
                fmt::format("loop: nothing flows back through a number of trips that is a tensor: "
                            "what is carried would have to be kept for each (operands {})",
                            operands_text(g.call)));
        }
        outside = g.inputs.size() - carried - scanned;
    }
    /// What the body is handed besides the step's number.
    const TensorSpec& param(std::size_t i) const { return body.params()[1 + i].spec; }
    std::size_t stacked() const { return body.results().size() - carried; }

    AttrWords words(const Program& program, std::size_t carries, std::size_t scans, Dim count,
                    bool backwards) const {
        AttrWords out;
        out.program(program);
        out.integer(static_cast<std::int64_t>(carries));
        out.integer(static_cast<std::int64_t>(scans));
        out.integer(count.raw());
        out.boolean(backwards);
        return out;
    }

    const Program& body;
    Dim trips;
    std::size_t carried;
    std::size_t scanned;
    std::size_t outside = 0;
    bool reverse;
};

TensorSpec stacked_spec(const TensorSpec& spec, Dim count) {
    TensorSpec out{spec.dtype, Shape{count}};
    for (int d = 0; d < spec.shape.rank(); ++d) out.shape.push_back(spec.shape.dim(d));
    return out;
}

/// The body, which also stacks what it is handed to carry on.
Program keeping_carried(const LoopParts& loop) {
    ProgramBuilder builder;
    std::vector<Value> params;
    for (const Param& param : loop.body.params())
        params.push_back(builder.param(param.name, param.spec));
    const std::vector<Value> values = inlined(builder, loop.body, params);
    for (const ProgramResult& result : loop.body.results())
        builder.result(value_in(result.value, params, values));
    for (std::size_t i = 0; i < loop.carried; ++i) builder.result(params[1 + i]);
    return builder.build();
}

/// What a loop keeps of each step for the way back, in bytes; none where sizes vary.
std::optional<double> kept_bytes(const LoopParts& loop) {
    if (!loop.trips.is_concrete()) return std::nullopt;
    double out = 0;
    for (std::size_t i = 0; i < loop.carried; ++i) {
        if (!loop.param(i).shape.is_concrete()) return std::nullopt;
        out += static_cast<double>(loop.param(i).nbytes());
    }
    return out * static_cast<double>(loop.trips.value());
}

/// Beyond this, steps are computed a second time from checkpoints.
constexpr double kMostKept = 32 << 20;
constexpr std::int64_t kFewTrips = 8;

/// A loop as a loop of loops: of its steps back only every so many are kept.
class Segments {
   public:
    explicit Segments(const GradientArgs& g, const LoopParts& loop)
        : loop_(loop),
          size_(static_cast<std::int64_t>(
              std::ceil(std::sqrt(static_cast<double>(loop.trips.value()))))),
          count_(loop.trips.value() / size_),
          rest_(loop.trips.value() % size_) {
        for (const TensorSpec* spec : g.call.inputs) specs_.push_back(*spec);
    }

    /// With the loop's operands for parameters, and its results.
    Program program() const {
        ProgramBuilder builder;
        std::vector<Value> operands;
        for (const TensorSpec& spec : specs_) operands.push_back(builder.param("", spec));
        std::vector<Value> carried(operands.begin(),
                                   operands.begin() + static_cast<std::ptrdiff_t>(loop_.carried));
        // The entries left over by segments of one size are those that come last.
        const std::int64_t whole = count_ * size_;
        const std::int64_t first = loop_.reverse ? rest_ : 0;
        std::vector<Value> segmented = run_segments(builder, operands, carried, first);
        std::vector<Value> left;
        if (rest_ > 0) {
            std::copy_n(segmented.begin(), loop_.carried, carried.begin());
            left = run_rest(builder, operands, carried, loop_.reverse ? 0 : whole);
            std::copy_n(left.begin(), loop_.carried, segmented.begin());
        }
        for (std::size_t i = 0; i < segmented.size(); ++i) {
            Value result = segmented[i];
            if (i >= loop_.carried) {
                Shape flat =
                    stacked_spec(loop_.body.spec(loop_.body.results()[i].value), whole).shape;
                result = reshape(result, flat);
                if (rest_ > 0) {
                    const Value both[] = {loop_.reverse ? left[i] : result,
                                          loop_.reverse ? result : left[i]};
                    result = joined(both, 0);
                }
            }
            builder.result(result);
        }
        return builder.build();
    }

   private:
    std::vector<Value> scanned_part(ProgramBuilder& builder, std::span<const Value> operands,
                                    std::int64_t from, std::int64_t count) const {
        std::vector<Value> out;
        for (std::size_t i = 0; i < loop_.scanned; ++i)
            out.push_back(part_of_axis(operands[loop_.carried + i], 0, from, count));
        // The steps' own numbers.
        const Value steps = positions(builder, Shape{loop_.trips}, 0, i64);
        out.push_back(part_of_axis(steps, 0, from, count));
        return out;
    }

    /// The body with the step's number among what is scanned.
    Program numbered_body() const {
        ProgramBuilder builder;
        (void)builder.param("", {i64, {}});
        std::vector<Value> params(1);
        for (std::size_t i = 0; i < loop_.carried + loop_.scanned; ++i)
            params.push_back(builder.param("", loop_.param(i)));
        params[0] = builder.param("", {i64, {}});
        for (std::size_t i = 0; i < loop_.outside; ++i)
            params.push_back(builder.param("", loop_.param(loop_.carried + loop_.scanned + i)));
        const std::vector<Value> values = inlined(builder, loop_.body, params);
        for (const ProgramResult& result : loop_.body.results())
            builder.result(value_in(result.value, params, values));
        return builder.build();
    }

    std::vector<Value> run(ProgramBuilder& builder, const Program& body,
                           std::span<const Value> carried, std::span<const Value> scanned,
                           std::span<const Value> outside, std::int64_t count) const {
        std::vector<Value> operands(carried.begin(), carried.end());
        operands.insert(operands.end(), scanned.begin(), scanned.end());
        operands.insert(operands.end(), outside.begin(), outside.end());
        return parts_of(builder, "loop", operands,
                        loop_.words(body, carried.size(), scanned.size(), count, loop_.reverse));
    }

    std::vector<Value> run_rest(ProgramBuilder& builder, std::span<const Value> operands,
                                std::span<const Value> carried, std::int64_t from) const {
        return run(builder, numbered_body(), carried, scanned_part(builder, operands, from, rest_),
                   operands.last(loop_.outside), rest_);
    }

    std::vector<Value> run_segments(ProgramBuilder& builder, std::span<const Value> operands,
                                    std::span<const Value> carried, std::int64_t from) const {
        std::vector<Value> scanned = scanned_part(builder, operands, from, count_ * size_);
        for (Value& each : scanned) {
            Shape split{count_, size_};
            for (int d = 1; d < each.shape().rank(); ++d) split.push_back(each.shape().dim(d));
            each = reshape(each, split);
        }
        ProgramBuilder body;
        (void)body.param("", {i64, {}});
        std::vector<Value> handed;
        const auto take = [&](const TensorSpec& spec) { handed.push_back(body.param("", spec)); };
        for (std::size_t i = 0; i < loop_.carried; ++i) take(loop_.param(i));
        for (std::size_t i = 0; i < loop_.scanned; ++i)
            take(stacked_spec(loop_.param(loop_.carried + i), size_));
        take({i64, Shape{size_}});
        for (std::size_t i = 0; i < loop_.outside; ++i)
            take(loop_.param(loop_.carried + loop_.scanned + i));
        const std::span<const Value> all(handed);
        for (const Value& result :
             run(body, numbered_body(), all.first(loop_.carried),
                 all.subspan(loop_.carried, loop_.scanned + 1), all.last(loop_.outside), size_))
            body.result(result);
        return run(builder, body.build(), carried, scanned, operands.last(loop_.outside), count_);
    }

    const LoopParts& loop_;
    std::int64_t size_;
    std::int64_t count_;
    std::int64_t rest_;
    std::vector<TensorSpec> specs_;
};

/// One loop back: it carries what flows back to what was carried, and what has flowed back to what
/// was taken from outside; it scans what was kept of each step, what was scanned, and what flows
/// back to the stacks; it stacks what flows back to what was scanned.
class Backwards {
   public:
    Backwards(const GradientArgs& g, const LoopParts& loop) : g_(g), loop_(loop) {}

    std::vector<Value> run() {
        const std::size_t n = loop_.carried;
        const std::vector<Value> forward = parts_of(
            g_.builder, "loop", g_.inputs,
            loop_.words(keeping_carried(loop_), n, loop_.scanned, loop_.trips, loop_.reverse));
        const auto stacks = std::span(forward).subspan(loop_.body.results().size());

        std::vector<Value> carried;
        std::vector<Value> scanned(stacks.begin(), stacks.end());
        for (std::size_t i = 0; i < n; ++i) {
            if (is_float(loop_.param(i)))
                carried.push_back(or_zeros(g_.builder, g_.cotangents[i], loop_.param(i)));
        }
        for (std::size_t i = n + loop_.scanned; i < g_.inputs.size(); ++i) {
            if (g_.wanted[i]) carried.push_back(zeros_like(g_.inputs[i]));
        }
        for (std::size_t i = 0; i < loop_.scanned; ++i) scanned.push_back(g_.inputs[n + i]);
        for (std::size_t i = n; i < g_.cotangents.size(); ++i) {
            if (g_.cotangents[i].defined()) scanned.push_back(g_.cotangents[i]);
        }
        std::vector<Value> operands = carried;
        operands.insert(operands.end(), scanned.begin(), scanned.end());
        operands.insert(operands.end(),
                        g_.inputs.end() - static_cast<std::ptrdiff_t>(loop_.outside),
                        g_.inputs.end());
        const std::vector<Value> made = parts_of(
            g_.builder, "loop", operands,
            loop_.words(body(), carried.size(), scanned.size(), loop_.trips, !loop_.reverse));
        return handed_back(made);
    }

   private:
    Program body() const {
        const std::size_t n = loop_.carried;
        ProgramBuilder builder;
        const auto param = [&](const TensorSpec& spec) { return builder.param("", spec); };
        std::vector<Value> forward{param({i64, {}})};  // the body's own parameters
        std::vector<Value> seeds(loop_.body.results().size());
        for (std::size_t i = 0; i < n; ++i) {
            if (is_float(loop_.param(i))) seeds[i] = param(loop_.param(i));
        }
        std::vector<Value> totals(loop_.outside);
        for (std::size_t i = 0; i < loop_.outside; ++i) {
            if (g_.wanted[n + loop_.scanned + i])
                totals[i] = param(loop_.param(n + loop_.scanned + i));
        }
        for (std::size_t i = 0; i < n + loop_.scanned; ++i)
            forward.push_back(param(loop_.param(i)));
        for (std::size_t i = n; i < seeds.size(); ++i) {
            if (g_.cotangents[i].defined())
                seeds[i] = param(loop_.body.spec(loop_.body.results()[i].value));
        }
        for (std::size_t i = 0; i < loop_.outside; ++i)
            forward.push_back(param(loop_.param(n + loop_.scanned + i)));
        std::vector<bool> wanted{false};
        for (std::size_t i = 0; i < g_.inputs.size(); ++i)
            wanted.push_back(i < n ? is_float(loop_.param(i)) : g_.wanted[i]);
        const std::vector<Value> flows =
            through_program(builder, loop_.body, forward, seeds, wanted);
        for (std::size_t i = 0; i < n; ++i) {
            if (wanted[1 + i]) builder.result(or_zeros(builder, flows[1 + i], loop_.param(i)));
        }
        for (std::size_t i = 0; i < loop_.outside; ++i) {
            const Value& flow = flows[1 + n + loop_.scanned + i];
            if (totals[i].defined()) builder.result(flow.defined() ? totals[i] + flow : totals[i]);
        }
        for (std::size_t i = n; i < n + loop_.scanned; ++i) {
            if (wanted[1 + i]) builder.result(or_zeros(builder, flows[1 + i], loop_.param(i)));
        }
        return builder.build();
    }

    /// The results of the loop back, each beside the operand it belongs to.
    std::vector<Value> handed_back(const std::vector<Value>& made) const {
        const std::size_t n = loop_.carried;
        std::vector<Value> out(g_.inputs.size());
        std::size_t next = 0;
        for (std::size_t i = 0; i < n; ++i) {
            if (is_float(loop_.param(i))) out[i] = made[next++];
        }
        for (std::size_t i = n + loop_.scanned; i < out.size(); ++i) {
            if (g_.wanted[i]) out[i] = made[next++];
        }
        for (std::size_t i = n; i < n + loop_.scanned; ++i) {
            if (g_.wanted[i]) out[i] = made[next++];
        }
        return out;
    }

    const GradientArgs& g_;
    const LoopParts& loop_;
};

}  // namespace

std::vector<Value> loop_gradient(const GradientArgs& g) {
    const LoopParts loop(g);
    const auto bytes = kept_bytes(loop);
    if (bytes && *bytes > kMostKept && loop.trips.value() > kFewTrips)
        return through_program(g.builder, Segments(g, loop).program(), g.inputs, g.cotangents,
                               g.wanted);
    return Backwards(g, loop).run();
}

}  // namespace lazuli::ops
