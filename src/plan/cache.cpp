#include "plan/cache.h"

#include <algorithm>

#include "base/hash.h"

namespace lazuli::plan {

namespace {

bool same(const std::vector<std::uint64_t>& kept, std::span<const std::uint64_t> words) {
    return std::equal(kept.begin(), kept.end(), words.begin(), words.end());
}

}  // namespace

std::uint64_t Cache::key_of(const ir::Capture& capture, const Context& context) {
    return hash_mix(capture.hash, hash_mix(context.device.number(), context.policies));
}

namespace {

template <class Range, class Context>
auto match(const Range& range, const ir::Capture& capture, const Context& context) {
    return std::find_if(range.first, range.second, [&](const auto& pair) {
        const auto& entry = *pair.second;
        return entry.context == context && same(entry.words, capture.words.words()) &&
               same(entry.rest, capture.rest.words());
    });
}

}  // namespace

std::shared_ptr<const Plan> Cache::find(const ir::Capture& capture, const Context& context) {
    const std::uint64_t key = key_of(capture, context);
    const std::scoped_lock lock(mutex_);
    const auto range = by_key_.equal_range(key);
    const auto at = match(range, capture, context);
    if (at == range.second) {
        ++stats_.misses;
        return nullptr;
    }
    entries_.splice(entries_.begin(), entries_, at->second);
    ++stats_.hits;
    return at->second->plan;
}

bool Cache::peek(const ir::Capture& capture, const Context& context) const {
    const std::uint64_t key = key_of(capture, context);
    const std::scoped_lock lock(mutex_);
    const auto range = by_key_.equal_range(key);
    return match(range, capture, context) != range.second;
}

void Cache::insert(const ir::Capture& capture, const Context& context,
                   std::shared_ptr<const Plan> plan) {
    // The words stand here, in the captured program and in the expanded one; what the backend made
    // of them is about as large.
    const std::size_t count = capture.words.size() + capture.rest.size() +
                              plan->program.words().size() + 2 * plan->expanded.words().size();
    const std::size_t bytes =
        sizeof(Entry) + sizeof(Plan) + count * sizeof(std::uint64_t) + 64 * capture.params.size();
    const std::scoped_lock lock(mutex_);
    if (bytes > limit_) return;
    const std::uint64_t key = key_of(capture, context);
    const auto [first, last] = by_key_.equal_range(key);
    for (auto it = first; it != last; ++it) {  // another thread was faster
        if (it->second->context == context && same(it->second->words, capture.words.words()) &&
            same(it->second->rest, capture.rest.words()))
            return;
    }
    while (stats_.bytes + bytes > limit_) drop_oldest();
    const auto words_of = [](const ir::WordBuffer& b) {
        return std::vector<std::uint64_t>(b.words().begin(), b.words().end());
    };
    entries_.push_front(
        {key, context, words_of(capture.words), words_of(capture.rest), std::move(plan), bytes});
    by_key_.emplace(key, entries_.begin());
    stats_.bytes += bytes;
    ++stats_.plans;
}

void Cache::drop_oldest() {
    const auto oldest = std::prev(entries_.end());
    const auto [first, last] = by_key_.equal_range(oldest->key);
    for (auto it = first; it != last; ++it) {
        if (it->second == oldest) {
            by_key_.erase(it);
            break;
        }
    }
    stats_.bytes -= oldest->bytes;
    --stats_.plans;
    ++stats_.evicted;
    entries_.pop_back();
}

void Cache::clear() {
    const std::scoped_lock lock(mutex_);
    entries_.clear();
    by_key_.clear();
    stats_.bytes = 0;
    stats_.plans = 0;
}

CacheStats Cache::stats() const {
    const std::scoped_lock lock(mutex_);
    CacheStats out = stats_;
    out.limit = limit_;
    return out;
}

}  // namespace lazuli::plan
