#include "plan/cache.h"

#include <algorithm>

#include "base/hash.h"

namespace lazuli::plan {

namespace {

bool same(std::span<const std::uint64_t> kept, std::span<const std::uint64_t> words) {
    return std::equal(kept.begin(), kept.end(), words.begin(), words.end());
}

std::uint64_t key_of(const ir::Capture& capture, const Context& context) {
    return hash_mix(capture.hash, hash_of(context));
}

// How many graphs and dropped plans are remembered for telling misses apart.
constexpr std::size_t kSeen = 1 << 12;
constexpr std::size_t kDropped = 1 << 14;
constexpr std::ptrdiff_t kSet = 4;  // of these, the last ones whose keys fall together

std::ptrdiff_t set_of(std::uint64_t key) {
    return static_cast<std::ptrdiff_t>(key % (kDropped / kSet)) * kSet;
}

}  // namespace

std::uint64_t hash_of(const Context& context) {
    return hash_mix(hash_mix(context.device.number(), context.passes), context.policies);
}

Form form_of(const ir::Capture& capture) {
    Form form;
    const auto mix = [](std::uint64_t& into, std::span<const std::uint64_t> words) {
        for (const std::uint64_t word : words) into = hash_mix(into, word);
    };
    const auto note_type = [&](std::uint64_t header, std::span<const std::uint64_t> sizes) {
        form.dtypes = hash_mix(form.dtypes, header >> 16 & 0xff);
        form.shapes = hash_mix(form.shapes, sizes.size());
        mix(form.shapes, sizes);
    };
    const auto words = capture.words.words();
    for (std::size_t at = 0; at < words.size();) {
        const std::uint64_t header = words[at];
        const std::size_t inputs = ir::input_words(ir::header_inputs(header));
        const auto rank = static_cast<std::size_t>(ir::header_rank(header));
        form.structure = hash_mix(form.structure, ir::header_op(header));
        mix(form.structure, words.subspan(at + 1, inputs));
        note_type(header, words.subspan(at + 1 + inputs, rank));
        const auto attrs = words.subspan(at + 1 + inputs + rank, ir::header_attr_words(header));
        const bool is_view =
            has(op_def(static_cast<OpId>(ir::header_op(header))).traits, Trait::view);
        mix(is_view ? form.layouts : form.structure, attrs);
        at += ir::operation_length(header);
    }
    const auto rest = capture.rest.words();
    std::size_t at = 0;
    for (std::size_t i = 0; i < capture.params.size(); ++i) {
        const auto rank = static_cast<std::size_t>(ir::header_rank(rest[at]));
        note_type(rest[at], rest.subspan(at + 1, rank));
        at += 1 + rank;
    }
    mix(form.structure, rest.subspan(at));  // the results
    return form;
}

// ---- the table

void Cache::Table::put(const Slot& slot) {
    std::size_t i = slot.key & mask();
    while (slots_[i].used) i = (i + 1) & mask();
    slots_[i] = slot;
}

void Cache::Table::insert(std::uint64_t key, Entries::iterator entry) {
    if (2 * (count_ + 1) > slots_.size()) {
        std::vector<Slot> before(std::max<std::size_t>(64, 2 * slots_.size()));
        before.swap(slots_);
        for (const Slot& slot : before) {
            if (slot.used) put(slot);
        }
    }
    put({key, entry, true});
    ++count_;
}

void Cache::Table::erase(std::uint64_t key, Entries::iterator entry) {
    const Slot* slot = find(key, [&](Entries::iterator other) { return other == entry; });
    if (slot == nullptr) return;
    auto hole = static_cast<std::size_t>(slot - slots_.data());
    // Slots behind it that would not be found across the hole move up.
    for (std::size_t i = (hole + 1) & mask(); slots_[i].used; i = (i + 1) & mask()) {
        const std::size_t home = slots_[i].key & mask();
        if (((i - home) & mask()) < ((i - hole) & mask())) continue;
        slots_[hole] = slots_[i];
        hole = i;
    }
    slots_[hole] = {};
    --count_;
}

void Cache::Table::clear() {
    slots_.clear();
    count_ = 0;
}

// ---- the cache

const Cache::Table::Slot* Cache::find_slot(std::uint64_t key, const ir::Capture& capture,
                                           const Context& context) const {
    return table_.find(key, [&](Entries::const_iterator entry) {
        return entry->context == context &&
               same(entry->plan->program.words(), capture.words.words()) &&
               same(entry->rest, capture.rest.words());
    });
}

Miss Cache::why_missing(std::uint64_t key, const Form& form, const Context& context) const {
    if (!dropped_.empty()) {
        const auto set = dropped_.begin() + set_of(key);
        if (std::find(set, set + kSet, key) != set + kSet) return Miss::evicted;
    }
    if (seen_.empty()) return Miss::new_op;
    const Seen& last = seen_[form.structure % kSeen];
    if (last.form.structure != form.structure) return Miss::new_op;
    if (last.form.dtypes != form.dtypes) return Miss::dtype;
    if (last.form.shapes != form.shapes) return Miss::shape;
    if (last.form.layouts != form.layouts) return Miss::layout;
    if (!(last.context.device == context.device)) return Miss::device;
    if (!(last.context == context)) return Miss::policy;
    return Miss::evicted;  // planned before, and not kept
}

Cache::Found Cache::find(const ir::Capture& capture, const Context& context) {
    const std::uint64_t key = key_of(capture, context);
    const std::scoped_lock lock(mutex_);
    if (const Table::Slot* slot = find_slot(key, capture, context)) {
        entries_.splice(entries_.begin(), entries_, slot->entry);
        ++stats_.hits;
        return {slot->entry->plan};
    }
    const Form form = form_of(capture);
    const Miss why = why_missing(key, form, context);
    ++stats_.misses;
    ++stats_.missed[static_cast<std::size_t>(why)];
    if (seen_.empty()) seen_.resize(kSeen);
    seen_[form.structure % kSeen] = {form, context};
    return {nullptr, why};
}

void Cache::count_served(Miss why) {
    const std::scoped_lock lock(mutex_);
    --stats_.misses;
    --stats_.missed[static_cast<std::size_t>(why)];
    ++stats_.hits;
    ++stats_.general_hits;
}

Cache::Found Cache::peek(const ir::Capture& capture, const Context& context) const {
    const std::uint64_t key = key_of(capture, context);
    const std::scoped_lock lock(mutex_);
    if (const Table::Slot* slot = find_slot(key, capture, context)) return {slot->entry->plan};
    return {nullptr, why_missing(key, form_of(capture), context)};
}

namespace {

std::size_t bytes_of(const Program& program) {
    // The words, where each operation starts, and parameters and results with their names.
    return 128 + 8 * program.words().size() + 4 * program.size() +
           sizeof(Param) * program.params().size() +
           sizeof(ProgramResult) * program.results().size();
}

std::size_t bytes_of(const Plan& plan) {
    const bool is_shared = plan.expanded.words().data() == plan.program.words().data();
    return sizeof(Plan) + plan.prepared_bytes + bytes_of(plan.program) +
           (is_shared ? 0 : bytes_of(plan.expanded));
}

}  // namespace

void Cache::replace(const ir::Capture& capture, const Context& context,
                    std::shared_ptr<const Plan> plan) {
    Entries dropped;  // end behind the lock, as does the plan that was there
    const std::scoped_lock lock(mutex_);
    const Table::Slot* slot = find_slot(key_of(capture, context), capture, context);
    if (slot == nullptr || slot->entry->plan == plan) return;
    Entry& entry = *slot->entry;
    const std::size_t bytes = entry.bytes - bytes_of(*entry.plan) + bytes_of(*plan);
    stats_.bytes += bytes - entry.bytes;
    entry.bytes = bytes;
    entry.plan.swap(plan);
    entries_.splice(entries_.begin(), entries_, slot->entry);
    make_room(0, dropped);
}

void Cache::make_room(std::size_t bytes, Entries& dropped) {
    while (stats_.bytes + bytes > limit_) drop_oldest(dropped);
}

void Cache::insert(const ir::Capture& capture, const Context& context,
                   std::shared_ptr<const Plan> plan) {
    const std::size_t bytes = sizeof(Entry) + 8 * capture.rest.size() + bytes_of(*plan);
    Entries dropped;  // end behind the lock
    const std::scoped_lock lock(mutex_);
    const std::uint64_t key = key_of(capture, context);
    if (bytes > limit_ || find_slot(key, capture, context) != nullptr)
        return;  // or another thread was faster
    make_room(bytes, dropped);
    const auto rest = capture.rest.words();
    entries_.push_front({key, context, {rest.begin(), rest.end()}, std::move(plan), bytes});
    table_.insert(key, entries_.begin());
    stats_.bytes += bytes;
    ++stats_.plans;
}

void Cache::remember_dropped(std::uint64_t key) {
    if (dropped_.empty()) dropped_.resize(kDropped);
    const auto set = dropped_.begin() + set_of(key);
    std::move_backward(set, set + kSet - 1, set + kSet);
    *set = key;
}

void Cache::drop_oldest(Entries& dropped) {
    const auto oldest = std::prev(entries_.end());
    table_.erase(oldest->key, oldest);
    remember_dropped(oldest->key);
    stats_.bytes -= oldest->bytes;
    --stats_.plans;
    ++stats_.evicted;
    dropped.splice(dropped.begin(), entries_, oldest);
}

void Cache::clear() {
    Entries dropped;
    const std::scoped_lock lock(mutex_);
    for (const Entry& entry : entries_) remember_dropped(entry.key);
    dropped.swap(entries_);
    table_.clear();
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
