#pragma once

// Plans of programs that are not captured graphs, such as bodies of loops: a few are kept, the last
// used first.

#include <list>
#include <memory>
#include <mutex>

#include "frontend/policy.h"
#include "optimize/pipeline.h"
#include "plan/cache.h"
#include "runtime/planning.h"

namespace lazuli::runtime {

template <class Key>
class PlanList {
   public:
    explicit PlanList(std::size_t most) : most_(most) {}

    /// The plan of a program that is known by this key, on a device, by the policies of this
    /// thread.
    std::shared_ptr<const plan::Plan> find(const Key& key, const Program& program, Device device) {
        const plan::Context context{device, frontend::policy_set(), optimize::switches_key()};
        {
            const std::scoped_lock lock(mutex_);
            for (auto at = plans_.begin(); at != plans_.end(); ++at) {
                if (!(at->key == key) || !(at->context == context)) continue;
                plans_.splice(plans_.begin(), plans_, at);
                return at->plan;
            }
        }
        auto made = make_plan(program, device);  // outside of the lock: it may take a while
        const std::scoped_lock lock(mutex_);
        plans_.push_front({key, context, made});
        if (plans_.size() > most_) plans_.pop_back();
        return made;
    }
    void clear() {
        const std::scoped_lock lock(mutex_);
        plans_.clear();
    }

   private:
    struct Entry {
        Key key;
        plan::Context context;
        std::shared_ptr<const plan::Plan> plan;
    };
    const std::size_t most_;
    std::mutex mutex_;
    std::list<Entry> plans_;
};

}  // namespace lazuli::runtime
