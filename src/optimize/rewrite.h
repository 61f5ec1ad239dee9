#pragma once

// The rewrite engine: a program is built anew, operation by operation, and every operation that is
// about to be appended is offered to the rules first. Rules look at operands, which are in their
// final form by then, and what a rule builds is offered to the rules in turn. Each operation is
// looked at once: the time is linear in what is built.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lazuli/program.h"

namespace lazuli::optimize {

/// An operation about to be appended, or one that was.
struct Candidate {
    OpId op;
    std::vector<Value> inputs;
    std::vector<std::uint64_t> words;
    TensorSpec spec;

    const OpDef& def() const { return op_def(op); }
    Attrs attrs() const { return {def(), words}; }
};

/// How many rewrites may still be made: to find the one that breaks something.
struct Fuel {
    std::int64_t left = INT64_MAX;
    std::int64_t used = 0;
    std::map<std::string, std::int64_t, std::less<>> rules = {};  // which made them, how often

    bool take(std::string_view rule) {
        if (left <= 0) return false;
        --left;
        ++used;
        const auto at = rules.find(rule);
        if (at == rules.end()) {
            rules.emplace(rule, 1);
        } else {
            ++at->second;
        }
        return true;
    }
};

class Rewriter {
   public:
    /// What stands for the candidate instead, or nothing.
    using Rule = std::function<std::optional<Value>(Rewriter&, const Candidate&)>;

    explicit Rewriter(Fuel& fuel) : fuel_(fuel) {}

    /// The program with `rule` applied wherever it has something to say. Operations that no result
    /// needs are left out. With `merge_equal`, equal operations become one.
    Program run(const Program& program, const Rule& rule, bool merge_equal = false);

    /// For rules: an operation, rewritten by the rules itself.
    Value emit(OpId op, std::span<const Value> inputs, std::span<const std::uint64_t> words,
               const TensorSpec& spec);
    /// For rules: the name of the one that is about to answer; else it is called by the op it
    /// replaces.
    void name_rule(std::string_view name) { rule_name_ = name; }
    /// For rules: a constant.
    Value constant(const Scalar& value, const TensorSpec& spec);
    /// The operation that made a value; null for a parameter.
    const Candidate* producer(const Value& value) const;
    /// The number that every element of a value is, where it is a constant.
    std::optional<Scalar> number(const Value& value) const;

   private:
    std::optional<Value> apply_rule(const Candidate& candidate);
    Value append(Candidate candidate);

    Fuel& fuel_;
    const Program* program_ = nullptr;
    const Rule* rule_ = nullptr;
    std::string_view rule_name_;
    bool merge_equal_ = false;
    int depth_ = 0;
    std::unique_ptr<ProgramBuilder> builder_;
    std::vector<Candidate> made_;
    std::vector<Value> values_;  // of what was made
    std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

/// The operations that results need, and no others.
Program without_dead(const Program& program);

}  // namespace lazuli::optimize
