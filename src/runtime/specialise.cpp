#include "runtime/specialise.h"

#include <atomic>
#include <mutex>

#include "base/env.h"
#include "base/hash.h"
#include "lazuli/backend.h"
#include "lazuli/error.h"
#include "lazuli/graph.h"
#include "runtime/behind.h"
#include "runtime/planning.h"

namespace lazuli::plan {

/// How often a plan was used, and what takes its place.
class Uses {
   public:
    explicit Uses(const Context& context) : context_(context) {}

    /// Null while the plan is to run itself.
    std::shared_ptr<const Plan> successor(const std::shared_ptr<const Plan>& plan) {
        if (is_over()) return own_;
        const std::uint32_t count = count_.fetch_add(1, std::memory_order_relaxed) + 1;
        if (count == kHot) prepare_behind(plan);
        // Asking costs a look at every kernel.
        if (count % kHot != 0 || state_.load(std::memory_order_acquire) != State::made)
            return nullptr;
        if (!backend_of(own_->device).is_ready(own_->prepared.get())) return nullptr;
        if (state_.exchange(State::in_place, std::memory_order_acq_rel) == State::made)
            taken_over.fetch_add(1, std::memory_order_relaxed);
        return own_;
    }

    bool is_over() const { return state_.load(std::memory_order_acquire) == State::in_place; }

    static std::atomic<std::uint64_t> taken_over;

   private:
    // A plan that is used less often than this gains less than its kernels' compilation costs.
    static constexpr std::uint32_t kHot = 64;
    enum class State : std::uint8_t { none, made, in_place };

    void prepare_behind(const std::shared_ptr<const Plan>& plan) {
        runtime::run_behind([this, wanted = std::weak_ptr(plan)] {
            const std::shared_ptr<const Plan> still = wanted.lock();  // and with it, this
            if (still == nullptr) return;
            // Policies of a thread are not here.
            const auto is_ours = [&] { return runtime::context_of(context_.device) == context_; };
            if (!is_ours()) return;
            try {
                const auto made = runtime::make_plan(still->program, context_.device);
                if (!is_ours()) return;
                made->hash = hash_mix(still->hash, 1);  // traces tell both apart
                own_ = made;
                state_.store(State::made, std::memory_order_release);
            } catch (const std::exception&) {
                // The plan that is there goes on.
            }
        });
    }

    const Context context_;
    std::atomic<std::uint32_t> count_{0};
    std::atomic<State> state_{State::none};
    std::shared_ptr<const Plan> own_;  // from `made` on
};

std::atomic<std::uint64_t> Uses::taken_over{0};

}  // namespace lazuli::plan

namespace lazuli::runtime {

namespace {

std::atomic<bool>& switched_on() {
    static std::atomic<bool> on{env::flag(env::Var::specialise)};
    return on;
}

}  // namespace

void count_uses(plan::Plan& plan, const plan::Context& context) {
    plan.uses = std::make_shared<plan::Uses>(context);
}

std::shared_ptr<const plan::Plan> to_run(std::shared_ptr<const plan::Plan> plan) {
    if (plan->uses == nullptr || !switched_on().load(std::memory_order_relaxed)) return plan;
    auto successor = plan->uses->successor(plan);
    return successor != nullptr ? std::move(successor) : plan;
}

bool has_successor(const plan::Plan& plan) { return plan.uses != nullptr && plan.uses->is_over(); }

std::uint64_t specialised_count() { return plan::Uses::taken_over.load(std::memory_order_relaxed); }

}  // namespace lazuli::runtime

namespace lazuli {

bool specialising() { return runtime::switched_on(); }
void set_specialising(bool on) { runtime::switched_on() = on; }

}  // namespace lazuli
