#include "frontend/waits.h"

#include <map>
#include <mutex>

#include "lazuli/graph.h"

namespace lazuli {

namespace {

struct Counts {
    std::mutex mutex;
    std::map<std::string, std::uint64_t, std::less<>> by_reason;
};

Counts& counts() {
    static Counts& c = *new Counts;
    return c;
}

}  // namespace

void frontend::count_wait(std::string_view reason) {
    Counts& c = counts();
    const std::scoped_lock lock(c.mutex);
    const auto at = c.by_reason.find(reason);
    if (at != c.by_reason.end()) {
        ++at->second;
    } else {
        c.by_reason.emplace(reason, 1);
    }
}

std::vector<Wait> waits() {
    Counts& c = counts();
    const std::scoped_lock lock(c.mutex);
    std::vector<Wait> out;
    for (const auto& [reason, count] : c.by_reason) out.push_back({reason, count});
    return out;
}

}  // namespace lazuli
