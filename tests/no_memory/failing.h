#pragma once

namespace lazuli::tests {

/// How many allocations of this thread succeed before one fails; none fails where it is negative.
extern thread_local long until_failure;

}  // namespace lazuli::tests
