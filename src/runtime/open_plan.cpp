#include "runtime/open_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>

#include "ir/layout.h"
#include "lazuli/error.h"
#include "plan/cache.h"
#include "plan/explain.h"
#include "runtime/for_all_sizes.h"
#include "runtime/inspect.h"
#include "runtime/planning.h"
#include "runtime/running.h"
#include "runtime/specialise.h"
#include "runtime/values.h"

namespace lazuli::runtime {

namespace {

std::atomic<std::uint64_t> plans_made{0};
std::atomic<std::uint64_t> bindings_made{0};
std::atomic<std::uint64_t> own_plans_made{0};

using Values = std::vector<SizeBinding>;

/// A program with the plans that were bound to sizes of it, on one device under one set of
/// policies.
class Planned {
   public:
    Planned(const Program& program, const plan::Context& context)
        : context_(context), all_(program, context.device) {
        for (const Dim variable : program.variables()) names_.push_back(variable.str());
        if (why_not().empty()) plans_made.fetch_add(1, std::memory_order_relaxed);
    }

    /// Called by one thread at a time.
    std::shared_ptr<const plan::Plan> at(std::span<const std::int64_t> sizes, Finding& finding) {
        for (auto it = bound_.begin(); it != bound_.end(); ++it) {
            if (!std::ranges::equal(it->first, sizes)) continue;
            bound_.splice(bound_.begin(), bound_, it);
            finding.found = true;
            it->second = to_run(it->second);
            return it->second;
        }
        std::shared_ptr<const plan::Plan> made = make(named(sizes));
        finding.is_bound = made->is_bound;
        bound_.emplace_front(std::vector(sizes.begin(), sizes.end()), made);
        if (bound_.size() > kMostBound) bound_.pop_back();
        return made;
    }
    /// The same; it is not kept.
    std::shared_ptr<const plan::Plan> peek(const Values& values) const {
        for (const auto& [known, plan] : bound_) {
            if (std::ranges::equal(known, values, {}, {}, &SizeBinding::second)) return plan;
        }
        return make(values);
    }

    std::vector<Values> bindings() const {
        std::vector<Values> out;
        for (const auto& [sizes, plan] : bound_) out.push_back(named(sizes));
        return out;
    }
    const std::string& why_not() const { return all_.why_not(); }

   private:
    Values named(std::span<const std::int64_t> sizes) const {
        Values out;
        for (std::size_t i = 0; i < names_.size(); ++i) out.emplace_back(names_[i], sizes[i]);
        return out;
    }

    // A plan that is bound again costs some ten microseconds a kernel.
    static constexpr std::size_t kMostBound = 256;

    std::shared_ptr<const plan::Plan> make(const Values& values) const {
        const Program instance = all_.program().instantiate(values);
        std::shared_ptr<plan::Plan> out = all_.bound(values, instance);
        auto& count = out == nullptr ? own_plans_made : bindings_made;
        count.fetch_add(1, std::memory_order_relaxed);
        if (out == nullptr) {
            out = make_plan(instance, context_.device);
        } else {
            count_uses(*out, context_);
        }
        if (is_watching()) report_plan(*out);
        return out;
    }

    const plan::Context context_;
    const ForAllSizes all_;
    std::vector<std::string> names_;  // of the variables
    using Bound = std::pair<std::vector<std::int64_t>, std::shared_ptr<const plan::Plan>>;
    std::list<Bound> bound_;  // by the variables' values, last used first
};

/// `, here b = 8, t = 100`.
std::string text_of(const Values& values) {
    std::string out;
    for (const auto& [name, value] : values)
        out += fmt::format("{} {} = {}", out.empty() ? ", here" : ",", name, value);
    return out;
}

class OpenPlan final : public ir::OpenProgram {
   public:
    OpenPlan(const Program& program, Device device) : program_(program), device_(device) {}

    std::vector<Result> run(std::span<const std::int64_t> sizes,
                            std::span<ir::Node* const> operands,
                            std::span<const std::size_t> unneeded) override {
        Finding finding;
        const std::shared_ptr<const plan::Plan> plan = find(sizes, finding);
        const bool at_home = plan->device == device_;
        std::vector<Binding> bindings;
        bindings.reserve(operands.size());
        for (ir::Node* operand : operands) bindings.push_back(bind(*operand, plan->device));
        bool given_away = false;
        const bool keeps = is_traced() || is_inspecting() || !at_home;
        for (const std::size_t i : keeps ? std::span<const std::size_t>() : unneeded) {
            // Of the tensor that goes away with this call, and of these bindings.
            const BufferPtr& buffer = bindings[i].buffer;
            if (buffer.use_count() == 2 && !buffer->is_frozen() && !buffer->may_release() &&
                buffer->host_mutable() != nullptr)
                bindings[i].given_away = &given_away;
        }
        std::vector<BufferPtr> buffers =
            is_inspecting() ? run_inspected(plan->program, plan->device, bindings, {})
                            : computed(*plan, finding, bindings, given_away);
        std::vector<Result> out;
        out.reserve(buffers.size());
        for (std::size_t i = 0; i < buffers.size(); ++i) {
            const TensorSpec spec = plan->program.spec(plan->program.results()[i].value);
            Binding value{std::move(buffers[i]), 0, ir::dense_byte_strides(spec), true};
            if (!at_home) value.buffer = copied(value, spec, device_);
            out.push_back({std::move(value), spec});
        }
        return out;
    }

    Explanation explain(std::span<const SizeBinding> values) override {
        const std::scoped_lock lock(mutex_);
        Planned& all = planned();
        Values chosen(values.begin(), values.end());
        if (chosen.empty() && !all.bindings().empty()) chosen = all.bindings().front();
        if (chosen.empty()) {
            for (const Dim variable : program_.variables())
                chosen.emplace_back(
                    variable.str(),
                    std::clamp(std::int64_t{64}, variable.bounds().low, variable.bounds().high));
        }
        const auto plan = all.peek(chosen);
        Explanation out =
            plan::explanation(backend_of(plan->device).info(plan->prepared.get(), false));
        const std::string at = text_of(chosen);
        out.cache = all.why_not().empty()
                        ? fmt::format("one plan for all sizes{}", at)
                        : fmt::format("a plan for each size{}: {}", at, all.why_not());
        return out;
    }

    std::vector<std::vector<SizeBinding>> bindings() const override {
        const std::scoped_lock lock(mutex_);
        std::vector<Values> out;
        for (const auto& [context, all] : planned_) {
            for (Values& values : all->bindings()) out.push_back(std::move(values));
        }
        return out;
    }

   private:
    /// A function fails as a whole.
    static std::vector<BufferPtr> computed(const plan::Plan& plan, const Finding& finding,
                                           std::span<const Binding> bindings,
                                           const bool& given_away) {
        try {
            return run_watched(plan, finding, bindings, given_away);
        } catch (const SomeFailed& some) {
            for (const std::exception_ptr& error : some.errors) {
                if (error != nullptr) std::rethrow_exception(error);
            }
            throw;
        }
    }

    std::shared_ptr<const plan::Plan> find(std::span<const std::int64_t> sizes, Finding& finding) {
        const std::scoped_lock lock(mutex_);
        return planned().at(sizes, finding);
    }

    /// By the policies and passes that hold on this thread.
    Planned& planned() {
        const plan::Context context = context_of(device_);
        for (const auto& [known, all] : planned_) {
            if (known == context) return *all;
        }
        planned_.emplace_back(context, std::make_unique<Planned>(program_, context));
        return *planned_.back().second;
    }

    const Program program_;
    const Device device_;
    mutable std::mutex mutex_;
    std::vector<std::pair<plan::Context, std::unique_ptr<Planned>>> planned_;
};

}  // namespace

std::unique_ptr<ir::OpenProgram> open(const Program& program, Device device) {
    return std::make_unique<OpenPlan>(program, device);
}

OpenStats open_stats() { return {plans_made.load(), bindings_made.load(), own_plans_made.load()}; }

}  // namespace lazuli::runtime
