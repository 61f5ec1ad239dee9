#include "ir/sources.h"

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "base/callers.h"
#include "lazuli/inspect.h"

namespace lazuli {

namespace ir {

namespace {

struct Sources {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, Source> by_id;
};

Sources& sources() {
    static Sources& s = *new Sources;
    return s;
}

std::atomic<std::string (*)()> source_hook{nullptr};

}  // namespace

std::string Source::str() const { return text.empty() ? place_of(frames) : text; }

void keep_source(Node& node) {
    Source source;
    if (auto* const hook = source_hook.load()) source.text = hook();
    if (source.text.empty()) source.frames = callers(1);
    const std::scoped_lock lock(sources().mutex);
    sources().by_id[node.id] = std::move(source);
    node.flags.fetch_or(kSourceFlag, std::memory_order_relaxed);
}

Source source_of(const Node& node) {
    const std::scoped_lock lock(sources().mutex);
    const auto it = sources().by_id.find(node.id);
    return it == sources().by_id.end() ? Source() : it->second;
}

void drop_source(const Node& node) noexcept {
    const std::scoped_lock lock(sources().mutex);
    sources().by_id.erase(node.id);
}

}  // namespace ir

void set_source_hook(std::string (*hook)()) { ir::source_hook.store(hook); }

}  // namespace lazuli
