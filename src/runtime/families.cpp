#include "runtime/families.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/env.h"
#include "base/hash.h"
#include "ir/general.h"
#include "lazuli/error.h"
#include "lazuli/graph.h"
#include "runtime/behind.h"
#include "runtime/for_all_sizes.h"

namespace lazuli::runtime {

namespace {

std::atomic<std::uint64_t> made{0};

std::atomic<bool>& switched_on() {
    static std::atomic<bool> on{env::flag(env::Var::generalise)};
    return on;
}

/// Recordings of one form under one context, and the general plans they led to.
class Family {
   public:
    explicit Family(const plan::Context& context) : context_(context) {}

    /// Null where the graph needs a plan of its own.
    std::shared_ptr<plan::Plan> plan_of(const ir::Words& words, std::uint64_t ones,
                                        const ir::Capture& captured, const plan::Context& context) {
        if (is_generalising_.load(std::memory_order_relaxed)) return nullptr;  // it would wait
        const std::scoped_lock lock(mutex_);
        if (!is_ours(words, context)) return nullptr;
        try {
            if (const auto served = served_by_general(words, captured)) return *served;
            const bool is_third = remember(words, ones);
            if (!is_third || generals_.size() >= kMostGeneral || failures_ >= kMostFailures ||
                !generalise(ones))
                return nullptr;
            return at(generals_.front(), words, captured).value_or(nullptr);
        } catch (const OutOfMemory&) {
            throw;
        } catch (const std::bad_alloc&) {
            throw;
        } catch (const std::exception&) {  // a guess that fails must not fail the evaluation
            if (env::flag(env::Var::verify)) throw;
            ++failures_;
            return nullptr;
        }
    }

    /// About how much memory it takes.
    std::size_t bytes() const {
        constexpr std::size_t kPlan = std::size_t{128} << 10;  // with its machine code
        const std::scoped_lock lock(mutex_);
        std::size_t total = sizeof(Family) + generals_.size() * kPlan;
        for (const Kept& kept : kept_)
            total += 8 * (kept.recording.program.size() + kept.recording.rest.size() +
                          kept.numbers.size());
        return total;
    }

    std::shared_ptr<const plan::Plan> peek(const ir::Words& words, const ir::Capture& captured,
                                           const plan::Context& context) {
        const std::scoped_lock lock(mutex_);
        return is_ours(words, context) ? served_by_general(words, captured).value_or(nullptr)
                                       : nullptr;
    }

   private:
    // What fails, or serves no sizes but those it was made of, is not tried for ever.
    static constexpr std::size_t kMostGeneral = 6;
    static constexpr std::size_t kMostFailures = 2;
    static constexpr std::size_t kMostKept = 6;

    struct General {
        ir::General of;
        ForAllSizes plans;
    };
    struct Kept {
        ir::Recording recording;
        std::uint64_t ones;
        std::vector<std::int64_t> numbers;
    };

    /// Not so where hashes are equal by accident.
    bool is_ours(const ir::Words& words, const plan::Context& context) const {
        if (!(context == context_)) return false;
        return kept_.empty() || ir::same_form(kept_.front().recording.words(), words);
    }

    std::optional<std::shared_ptr<plan::Plan>> served_by_general(
        const ir::Words& words, const ir::Capture& captured) const {
        for (const General& general : generals_) {
            if (auto served = at(general, words, captured)) return served;
        }
        return std::nullopt;
    }

    /// None where this is no instance of it; null where it is one that needs a plan of its own.
    static std::optional<std::shared_ptr<plan::Plan>> at(const General& general,
                                                         const ir::Words& words,
                                                         const ir::Capture& captured) {
        const auto values = general.of.values_in(words);
        if (!values) return std::nullopt;
        try {
            if (!ir::is_instance(general.of.program().instantiate(*values), words))
                return std::nullopt;
        } catch (const OutOfMemory&) {
            throw;
        } catch (const Error&) {  // no such program: a size below 0
            return std::nullopt;
        }
        return general.plans.bound(*values, captured.program());
    }

    /// Whether some number has its third value.
    bool remember(const ir::Words& words, std::uint64_t ones) {
        const bool is_known = std::ranges::any_of(
            kept_, [&](const Kept& kept) { return kept.recording.words() == words; });
        if (is_known) return false;  // its plan was dropped
        std::vector<std::int64_t> numbers = ir::numbers_of(words);
        const bool has_values = std::ranges::all_of(
            numbers, [](std::int64_t number) { return Dim::from_raw(number).is_concrete(); });
        if (!has_values) return false;  // what stands on placeholders
        kept_.push_front({ir::Recording(words), ones, std::move(numbers)});
        if (kept_.size() > kMostKept) kept_.pop_back();
        for (std::size_t i = 0; i < kept_.front().numbers.size(); ++i) {
            std::vector<std::int64_t> values;
            for (const Kept& kept : kept_) {
                if (std::ranges::find(values, kept.numbers[i]) == values.end())
                    values.push_back(kept.numbers[i]);
            }
            if (values.size() >= 3) return true;
        }
        return false;
    }

    bool generalise(std::uint64_t ones) {
        std::vector<ir::Words> alike;  // the newest first
        for (const Kept& kept : kept_) {
            if (kept.ones == ones) alike.push_back(kept.recording.words());
        }
        if (alike.size() < 2) return false;
        /// Others that come meanwhile plan by themselves.
        class Flag {
           public:
            explicit Flag(std::atomic<bool>& flag) : flag_(flag) { flag_ = true; }
            ~Flag() { flag_ = false; }
            Flag(const Flag&) = delete;
            Flag& operator=(const Flag&) = delete;

           private:
            std::atomic<bool>& flag_;
        };
        const Flag flag(is_generalising_);
        std::optional<ForAllSizes> plans;
        auto found = ir::General::of(alike, [&](const ir::General& general) {
            plans.emplace(general.program(), context_.device);
            return plans->why_not().empty();
        });
        if (!found) {
            ++failures_;
            return false;
        }
        generals_.push_front({std::move(*found), std::move(*plans)});
        made.fetch_add(1, std::memory_order_relaxed);
        return true;
    }

    const plan::Context context_;
    std::atomic<bool> is_generalising_{false};
    mutable std::mutex mutex_;
    std::list<Kept> kept_;  // the last ones first
    std::list<General> generals_;
    std::size_t failures_ = 0;
};

/// The families used last, as far as their recordings fit.
class Families {
   public:
    std::shared_ptr<Family> family(std::uint64_t key, const plan::Context& context) {
        const std::scoped_lock lock(mutex_);
        if (const auto found = places_.find(key); found != places_.end()) {
            all_.splice(all_.begin(), all_, found->second);
            return found->second->family;
        }
        all_.push_front({key, std::make_shared<Family>(context), 0});
        places_.emplace(key, all_.begin());
        return all_.front().family;
    }
    /// Says how large one is by now; others go where there are too many.
    void note_size(std::uint64_t key, std::size_t bytes) {
        const std::scoped_lock lock(mutex_);
        const auto found = places_.find(key);
        if (found == places_.end()) return;  // cleared meanwhile
        bytes_ += bytes - std::exchange(found->second->bytes, bytes);
        while (all_.size() > 1 && (bytes_ > kMostBytes || all_.size() > kMost)) {
            bytes_ -= all_.back().bytes;
            places_.erase(all_.back().key);
            all_.pop_back();
        }
    }
    /// Null where there is none.
    std::shared_ptr<Family> known(std::uint64_t key) const {
        const std::scoped_lock lock(mutex_);
        const auto found = places_.find(key);
        return found != places_.end() ? found->second->family : nullptr;
    }
    void clear() {
        const std::scoped_lock lock(mutex_);
        places_.clear();
        all_.clear();
        bytes_ = 0;
    }

   private:
    static constexpr std::size_t kMost = 512;
    static constexpr std::size_t kMostBytes = std::size_t{32} << 20;
    struct Entry {
        std::uint64_t key;
        std::shared_ptr<Family> family;
        std::size_t bytes;
    };
    mutable std::mutex mutex_;
    std::list<Entry> all_;  // last used first
    std::unordered_map<std::uint64_t, std::list<Entry>::iterator> places_;
    std::size_t bytes_ = 0;
};

Families& families() {
    static Families& all = *new Families;
    return all;
}

/// A graph as its family sees it.
struct Member {
    ir::Words words;
    ir::FormHash form;
    std::uint64_t key;  // of the family

    Member(const ir::Capture& captured, const plan::Context& context)
        : words{captured.words.words(), captured.rest.words(), captured.params.size()},
          form(ir::form_hash(words)),
          key(hash_mix(form.form, plan::hash_of(context))) {}
};

bool is_on(Device device) {
    return switched_on().load(std::memory_order_relaxed) && backend_of(device).has_open_plans();
}

}  // namespace

std::shared_ptr<plan::Plan> general_plan(const ir::Capture& captured,
                                         const plan::Context& context) {
    if (!is_on(context.device)) return nullptr;
    const Member member(captured, context);
    const NoFork stays;  // a child must not find the family locked
    const std::shared_ptr<Family> family = families().family(member.key, context);
    auto out = family->plan_of(member.words, member.form.ones, captured, context);
    families().note_size(member.key, family->bytes());
    return out;
}

std::shared_ptr<const plan::Plan> peek_general_plan(const ir::Capture& captured,
                                                    const plan::Context& context) {
    if (!is_on(context.device)) return nullptr;
    const Member member(captured, context);
    const std::shared_ptr<Family> family = families().known(member.key);
    return family != nullptr ? family->peek(member.words, captured, context) : nullptr;
}

std::uint64_t general_plan_count() { return made.load(std::memory_order_relaxed); }

void clear_families() { families().clear(); }

}  // namespace lazuli::runtime

namespace lazuli {

bool generalising() { return runtime::switched_on(); }
void set_generalising(bool on) { runtime::switched_on() = on; }

}  // namespace lazuli
