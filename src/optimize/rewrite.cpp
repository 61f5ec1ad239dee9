#include "optimize/rewrite.h"

#include <algorithm>

#include "base/hash.h"
#include "ir/op_table.h"
#include "lazuli/error.h"

namespace lazuli::optimize {

namespace {

constexpr int kMaxDepth = 64;  // of rules that build what rules rewrite

std::vector<bool> needed_by_results(const Program& program) {
    std::vector<bool> needed(program.size(), false);
    for (const ProgramResult& result : program.results()) {
        if (!result.value.is_param()) needed[result.value.index()] = true;
    }
    for (std::size_t i = program.size(); i-- > 0;) {
        if (!needed[i]) continue;
        const Operation operation = program.operation(i);
        for (std::size_t k = 0; k < operation.input_count(); ++k) {
            if (!operation.input(k).is_param()) needed[operation.input(k).index()] = true;
        }
    }
    return needed;
}

std::uint64_t hash_of(const Candidate& c) {
    std::uint64_t h = hash_mix(c.op, static_cast<std::uint64_t>(c.spec.dtype));
    for (const Value& v : c.inputs) h = hash_mix(h, v.ref().raw);
    for (const std::uint64_t word : c.words) h = hash_mix(h, word);
    for (const std::int64_t dim : c.spec.shape.raw())
        h = hash_mix(h, static_cast<std::uint64_t>(dim));
    return h;
}

bool same(const Candidate& a, const Candidate& b) {
    return a.op == b.op && a.spec == b.spec && a.words == b.words &&
           std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(),
                      [](const Value& x, const Value& y) { return x.ref() == y.ref(); });
}

}  // namespace

const Candidate* Rewriter::producer(const Value& value) const {
    return value.ref().is_param() ? nullptr : &made_[value.ref().index()];
}

std::optional<Scalar> Rewriter::number(const Value& value) const {
    const Candidate* made = producer(value);
    if (made == nullptr || made->def().lowering != Lowering::constant) return std::nullopt;
    return made->attrs().scalar(0);
}

Value Rewriter::append(Candidate candidate) {
    const std::uint64_t hash = hash_of(candidate);
    const bool merges = merge_equal_ && !ir::calls_user(candidate.def(), candidate.attrs());
    if (merges) {
        const auto [first, last] = by_hash_.equal_range(hash);
        for (auto at = first; at != last; ++at) {
            if (same(made_[at->second], candidate) && fuel_.take("equal operations"))
                return values_[at->second];
        }
    }
    const Value made =
        builder_->op(candidate.op, candidate.inputs, candidate.words, &candidate.spec);
    by_hash_.emplace(hash, static_cast<std::uint32_t>(made_.size()));
    made_.push_back(std::move(candidate));
    values_.push_back(made);
    return made;
}

std::optional<Value> Rewriter::apply_rule(const Candidate& candidate) {
    const int depth = depth_++;
    rule_name_ = {};
    try {
        const auto replaced = (*rule_)(*this, candidate);
        depth_ = depth;
        return replaced;
    } catch (const Error&) {
        // A rule that must know a size as a number, or prove what depends, does not apply where
        // sizes are expressions.
        if (program_->variables().empty()) throw;
        depth_ = depth;
        return std::nullopt;
    }
}

Value Rewriter::emit(OpId op, std::span<const Value> inputs, std::span<const std::uint64_t> words,
                     const TensorSpec& spec) {
    Candidate candidate{op, {inputs.begin(), inputs.end()}, {words.begin(), words.end()}, spec};
    if (depth_ < kMaxDepth && fuel_.left > 0) {
        const auto replaced = apply_rule(candidate);
        if (replaced && fuel_.take(rule_name_.empty() ? candidate.def().name : rule_name_)) {
            if (!(replaced->spec() == spec)) {
                throw InternalError(std::string("a rule made ") + replaced->spec().str() + " of " +
                                    std::string(candidate.def().name) + ", which is " + spec.str());
            }
            return *replaced;
        }
    }
    return append(std::move(candidate));
}

Value Rewriter::constant(const Scalar& value, const TensorSpec& spec) {
    static const OpId op = require_op("constant");
    AttrWords words;
    words.scalar(value.as(spec.dtype));
    return append({op, {}, {words.words().begin(), words.words().end()}, spec});
}

Program Rewriter::run(const Program& program, const Rule& rule, bool merge_equal) {
    program_ = &program;
    rule_ = &rule;
    merge_equal_ = merge_equal;
    builder_ = std::make_unique<ProgramBuilder>();
    made_.clear();
    values_.clear();
    by_hash_.clear();
    std::vector<Value> params;
    for (const Param& param : program.params())
        params.push_back(builder_->param(param.name, param.spec));
    const std::vector<bool> needed = needed_by_results(program);
    std::vector<Value> mapped(program.size());
    const auto value = [&](ValueRef v) {
        return v.is_param() ? params[v.index()] : mapped[v.index()];
    };
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < program.size(); ++i) {
        if (!needed[i]) continue;
        const Operation operation = program.operation(i);
        inputs.clear();
        for (std::size_t k = 0; k < operation.input_count(); ++k)
            inputs.push_back(value(operation.input(k)));
        mapped[i] = emit(operation.op(), inputs, operation.attrs().words(), operation.spec());
    }
    for (const ProgramResult& result : program.results())
        builder_->result(value(result.value), result.name);
    return without_dead(builder_->build());
}

Program without_dead(const Program& program) {
    const std::vector<bool> needed = needed_by_results(program);
    if (std::find(needed.begin(), needed.end(), false) == needed.end()) return program;
    ProgramBuilder builder;
    std::vector<Value> params;
    for (const Param& param : program.params())
        params.push_back(builder.param(param.name, param.spec));
    std::vector<Value> mapped(program.size());
    const auto value = [&](ValueRef v) {
        return v.is_param() ? params[v.index()] : mapped[v.index()];
    };
    for (std::size_t i = 0; i < program.size(); ++i) {
        if (!needed[i]) continue;
        const Operation operation = program.operation(i);
        std::vector<Value> inputs;
        for (std::size_t k = 0; k < operation.input_count(); ++k)
            inputs.push_back(value(operation.input(k)));
        const TensorSpec spec = operation.spec();
        mapped[i] = builder.op(operation.op(), inputs, operation.attrs().words(), &spec);
    }
    for (const ProgramResult& result : program.results())
        builder.result(value(result.value), result.name);
    return builder.build();
}

}  // namespace lazuli::optimize
