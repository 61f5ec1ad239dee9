#pragma once

// Work on all threads, written as a lambda.

#include "runtime/pool.h"

namespace lazuli::backend::host {

/// Calls f(begin, end) for pieces of `grain` steps that make up 0 .. steps.
template <class F>
void share(std::int64_t steps, std::int64_t grain, const F& f) {
    runtime::share_out(
        steps, grain,
        [](void* data, std::int64_t begin, std::int64_t end) {
            (*static_cast<const F*>(data))(begin, end);
        },
        const_cast<F*>(&f));
}

}  // namespace lazuli::backend::host
