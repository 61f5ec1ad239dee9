#include "lazuli/functional.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/env.h"
#include "frontend/policy.h"
#include "frontend/record.h"
#include "ir/op_table.h"
#include "lazuli/ensure.h"
#include "lazuli/error.h"
#include "lazuli/ops.h"

namespace lazuli::functional {

namespace {

using PolicyMap = std::map<std::string, Policy, std::less<>>;

void check(std::string_view op, const Policy& policy) {
    if (op == "*") {
        if (policy.kind == Policy::Kind::force)
            throw ArgumentError("policy: '*' cannot force an implementation; name the op");
        return;
    }
    const std::vector<std::string> names = implementations(op);
    if (policy.kind == Policy::Kind::force &&
        std::find(names.begin(), names.end(), policy.implementation) == names.end()) {
        throw ArgumentError(fmt::format("policy: {} has no implementation '{}' (it has {})", op,
                                        policy.implementation, fmt::join(names, ", ")));
    }
    if (policy.kind == Policy::Kind::benchmark && policy.cache == 0)
        throw ArgumentError(fmt::format("policy: {}: benchmark needs a cache of at least 1", op));
}

Policy parse_words(std::string_view op, std::string_view text) {
    if (text == "default") return Policy::standard();
    if (text.starts_with("force:")) return Policy::force(std::string(text.substr(6)));
    if (text == "benchmark") return Policy::benchmark();
    if (text.starts_with("benchmark:")) {
        std::size_t cache = 0;
        const std::string_view digits = text.substr(10);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), cache);
        if (error == std::errc{} && end == digits.data() + digits.size())
            return Policy::benchmark(cache);
    }
    throw ArgumentError(fmt::format(
        "policy: {}: '{}' is none of default, force:NAME, benchmark, benchmark:N", op, text));
}

PolicyMap parse_env(std::string_view text) {
    PolicyMap out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(';'), text.size());
        const std::string_view entry = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (entry.empty()) continue;
        const std::size_t equals = entry.find('=');
        if (equals == std::string_view::npos)
            throw ArgumentError(fmt::format("LAZULI_POLICY: '{}' is not op=policy", entry));
        out[std::string(entry.substr(0, equals))] =
            parse_words(entry.substr(0, equals), entry.substr(equals + 1));
    }
    return out;
}

PolicyMap parse_json(std::string_view text) {
    PolicyMap out;
    try {
        const nlohmann::json json = nlohmann::json::parse(text);
        for (const auto& [op, value] : json.items()) {
            if (value.is_string()) {
                out[op] = parse_words(op, value.get<std::string>());
            } else if (value.contains("force")) {
                out[op] = Policy::force(value.at("force").get<std::string>());
            } else if (value.contains("benchmark")) {
                out[op] = Policy::benchmark(value.at("benchmark").get<std::size_t>());
            } else {
                throw ArgumentError(fmt::format(
                    "policy: {}: neither \"default\", \"force\" nor \"benchmark\"", op));
            }
        }
    } catch (const nlohmann::json::exception& e) {
        throw ArgumentError(fmt::format("policy JSON: {}", e.what()));
    }
    return out;
}

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw FileError(path, "cannot be read");
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

PolicyMap from_environment() {
    PolicyMap out;
    if (const std::string path = env::text(env::Var::policy_file); !path.empty())
        out = parse_json(read_file(path));
    for (auto& [op, policy] : parse_env(env::text(env::Var::policy))) out[op] = policy;
    for (const auto& [op, policy] : out) check(op, policy);
    return out;
}

struct Process {
    std::mutex mutex;
    PolicyMap policies;
    bool read_environment = false;
    std::atomic<std::uint64_t> generation{1};

    void ensure_read() {
        if (read_environment) return;
        policies = from_environment();
        read_environment = true;
    }
};

Process& process() {
    static Process& p = *new Process;
    return p;
}

// Policies of this thread's scopes, innermost last, and the number of the whole set as last
// computed.
struct ThreadPolicies {
    std::vector<std::pair<std::string, Policy>> scopes;
    std::uint64_t generation = 0;
    std::uint64_t number = 0;
};
thread_local ThreadPolicies thread_policies;

std::string text_of(const Policy& policy) {
    switch (policy.kind) {
        case Policy::Kind::standard: return "default";
        case Policy::Kind::force: return "force:" + policy.implementation;
        case Policy::Kind::benchmark: return fmt::format("benchmark:{}", policy.cache);
    }
    __builtin_unreachable();
}

PolicyMap effective() {
    Process& p = process();
    const std::scoped_lock lock(p.mutex);
    p.ensure_read();
    PolicyMap all = p.policies;
    for (const auto& [op, policy] : thread_policies.scopes) all[op] = policy;
    return all;
}

void set_all(const PolicyMap& policies) {
    for (const auto& [op, policy] : policies) check(op, policy);
    Process& p = process();
    const std::scoped_lock lock(p.mutex);
    p.ensure_read();
    for (const auto& [op, policy] : policies) p.policies[op] = policy;
    ++p.generation;
}

}  // namespace

CallPlan validate(std::string_view op, std::span<const Tensor> inputs,
                  std::span<const Attribute> attributes, const TensorSpec* wanted) {
    const OpId id = require_op(op);
    const OpDef& def = op_def(id);
    if (has(def.traits, Trait::leaf)) {
        throw ArgumentError(fmt::format("call: '{}' is a leaf, not an operation", op));
    }
    for (const Tensor& input : inputs) {
        (void)frontend::require_node(op, input);
        ensure_same_device(op, inputs[0], input);
    }
    std::vector<TensorSpec> specs;
    for (const Tensor& input : inputs) specs.push_back(input.spec());
    if (const auto common = frontend::promoted_type(def, inputs)) {
        for (std::size_t i = frontend::first_promoted(def); i < specs.size(); ++i) {
            specs[i].dtype = *common;
        }
    }
    TensorSpec result = infer(id, specs, attributes, wanted);
    return {id,
            {inputs.begin(), inputs.end()},
            {attributes.begin(), attributes.end()},
            std::move(result)};
}

Tensor capture(const CallPlan& plan) {
    return call(op_def(plan.op).name, plan.inputs, plan.attributes, &plan.result);
}

void set_policy(std::string_view op, const Policy& policy) { set_all({{std::string(op), policy}}); }

void reset_policies() {
    PolicyMap fresh = from_environment();
    Process& p = process();
    const std::scoped_lock lock(p.mutex);
    p.policies = std::move(fresh);
    p.read_environment = true;
    ++p.generation;
}

void set_policies_json(std::string_view json) { set_all(parse_json(json)); }

void load_policies(const std::string& path) { set_all(parse_json(read_file(path))); }

Policy policy_of(std::string_view op) {
    const PolicyMap all = effective();
    if (const auto it = all.find(op); it != all.end()) return it->second;
    if (const auto it = all.find("*"); it != all.end()) return it->second;
    return {};
}

PolicyScope::PolicyScope(std::string_view op, const Policy& policy) {
    check(op, policy);
    thread_policies.scopes.emplace_back(op, policy);
    thread_policies.generation = 0;
}

PolicyScope::~PolicyScope() {
    thread_policies.scopes.pop_back();
    thread_policies.generation = 0;
}

std::vector<std::string> implementations(std::string_view op) {
    const OpDef& def = op_def(require_op(op));
    if (!def.is_composite() && def.kernels.empty())
        throw ArgumentError(
            fmt::format("{} is a core op: it has no implementations to choose from", op));
    std::vector<std::string> names(def.kernels.begin(), def.kernels.end());
    for (const Implementation& i : def.implementations) names.emplace_back(i.name);
    return names;
}

}  // namespace lazuli::functional

namespace lazuli::frontend {

std::uint64_t policy_set() {
    using namespace functional;
    const std::uint64_t now = process().generation.load(std::memory_order_acquire);
    if (thread_policies.generation != now) {
        std::string text;
        for (const auto& [op, policy] : effective())
            text += fmt::format("{}={};", op, text_of(policy));
        thread_policies.number = ir::intern(text);
        thread_policies.generation = now;
    }
    return thread_policies.number;
}

}  // namespace lazuli::frontend
