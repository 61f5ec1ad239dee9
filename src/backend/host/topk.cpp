// The largest or smallest elements of lines. A chunk keeps what may be among them: most elements
// lie behind the last that is kept, which one comparison tells.

#include "backend/host/topk.h"

#include <algorithm>
#include <vector>

#include "backend/host/keys.h"
#include "backend/host/radix.h"
#include "ops/lines.h"

namespace lazuli::backend::host {

namespace {

using ops::Lines;

constexpr std::int64_t kChunk = std::int64_t{1} << 18;

template <class Key>
struct Candidate {
    Key key;
    std::int64_t at;
    bool operator<(const Candidate& other) const {
        return key != other.key ? key < other.key : at < other.at;
    }
};

/// Keeps the `k` first of all candidates that are shown to it.
template <class Key>
class Foremost {
   public:
    /// The first k of so many.
    Foremost(std::int64_t k, std::int64_t count)
        : k_(static_cast<std::size_t>(k)),
          most_(std::min(std::max<std::size_t>(4 * k_, 256), static_cast<std::size_t>(count) + 1)) {
        kept_.reserve(most_);
    }
    /// Candidates come in the order of their positions: one that equals the last is behind it.
    void show(Key key, std::int64_t at) {
        if (full_ && key >= last_) return;
        kept_.push_back({key, at});
        if (kept_.size() == most_) cut();
    }
    std::vector<Candidate<Key>>& cut() {
        if (kept_.size() > k_) {
            std::nth_element(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(k_ - 1),
                             kept_.end());
            kept_.resize(k_);
        }
        if (kept_.size() == k_) {
            last_ = std::max_element(kept_.begin(), kept_.end())->key;
            full_ = true;
        }
        return kept_;
    }

   private:
    std::size_t k_, most_;
    bool full_ = false;
    Key last_ = 0;
    std::vector<Candidate<Key>> kept_;
};

template <class T>
void find_in_line(const T* in, const Lines& lines, std::int64_t k, const Keys<T>& keys,
                  std::int64_t* out) {
    using Key = KeyOf<T>;
    // A chunk hands on as many as the line does: chunks are long beside that.
    const std::int64_t length = std::max(kChunk, 8 * k);
    const std::int64_t chunks = (lines.size + length - 1) / length;
    std::vector<std::vector<Candidate<Key>>> found(static_cast<std::size_t>(chunks));
    share(chunks, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t c = begin; c < end; ++c) {
            const std::int64_t last = std::min(lines.size, (c + 1) * length);
            Foremost<Key> foremost(k, last - c * length);
            for (std::int64_t i = c * length; i < last; ++i)
                foremost.show(keys.template encode<true>(in[i * lines.inner]), i);
            found[static_cast<std::size_t>(c)] = std::move(foremost.cut());
        }
    });
    std::vector<Candidate<Key>> all;
    for (const auto& part : found) all.insert(all.end(), part.begin(), part.end());
    std::partial_sort(all.begin(), all.begin() + k, all.end());
    for (std::int64_t i = 0; i < k; ++i) out[i * lines.inner] = all[static_cast<std::size_t>(i)].at;
}

}  // namespace

void argtopk(const EvalArgs& args) {
    if (args.spec->shape.numel() == 0) return;
    const std::int64_t k = args.attrs.integer(0);
    const std::int64_t axis = args.attrs.integer(1);
    const Lines lines = ops::lines_of(args.inputs[0].spec->shape, axis);
    const Lines made = ops::lines_of(args.spec->shape, axis);
    dispatch(args.inputs[0].spec->dtype, [&]<class T>() {
        if constexpr (!is_complex_v<T>) {
            const Keys<T> keys(args.attrs.boolean(2));
            const auto find = [&](std::int64_t i) {
                find_in_line(args.inputs[0].as<T>() + lines.begin(i), lines, k, keys,
                             args.result<std::int64_t>() + made.begin(i));
            };
            if (lines.size > kChunk && lines.count() < 4 * runtime::thread_count()) {
                for (std::int64_t i = 0; i < lines.count(); ++i) find(i);
                return;
            }
            const std::int64_t grain = std::max<std::int64_t>(1, kLongLine / lines.size);
            share(lines.count(), grain, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) find(i);
            });
        }
    });
}

}  // namespace lazuli::backend::host
