// The order of examples.

#include <fmt/format.h>

#include <algorithm>

#include "data/permutation.h"
#include "lazuli/data.h"
#include "lazuli/error.h"
#include "ops/threefry.h"

namespace lazuli {

namespace {

/// Random tensors take the numbers of a key from position 0 on; orders take those of another key.
constexpr std::uint64_t kOrders = 0x6f72646572730000ULL;

std::uint64_t read_key(const Tensor& key) {
    if (key.dtype() != u64 || key.rank() != 0) {
        throw ArgumentError(fmt::format(
            "Batches: a key is one number, u64[], not {}; key(seed) makes one", key.spec().str()));
    }
    return key.item<std::uint64_t>();
}

}  // namespace

Batches::Batches(std::int64_t examples, const BatchOptions& options)
    : examples_(examples),
      size_(options.size),
      shuffled_(options.key.defined()),
      keep_rest_(options.keep_rest) {
    if (examples < 1) throw ArgumentError(fmt::format("Batches: there are {} examples", examples));
    if (size_ < 1) throw ArgumentError(fmt::format("Batches: {} examples a batch", size_));
    if (size_ > examples && !keep_rest_) {
        throw ArgumentError(
            fmt::format("Batches: {} examples do not fill a batch of {}, and a smaller one is only "
                        "made where keep_rest says so",
                        examples, size_));
    }
    if (shuffled_) key_ = read_key(options.key);
}

std::int64_t Batches::per_epoch() const {
    const bool has_rest = keep_rest_ && examples_ % size_ != 0;
    return examples_ / size_ + (has_rest ? 1 : 0);
}

std::int64_t Batches::epoch(std::int64_t step) const {
    if (step < 0) throw IndexError(fmt::format("Batches: there is no step {}", step));
    return step / per_epoch();
}

std::vector<std::int64_t> Batches::at(std::int64_t step) const {
    const std::int64_t number = epoch(step);
    const std::int64_t begin = step % per_epoch() * size_;
    std::vector<std::int64_t> out(static_cast<std::size_t>(std::min(size_, examples_ - begin)));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = begin + static_cast<std::int64_t>(i);
    if (!shuffled_) return out;
    const data::Permutation order(
        static_cast<std::uint64_t>(examples_),
        ops::threefry(key_ ^ kOrders, static_cast<std::uint64_t>(number)));
    for (std::int64_t& example : out)
        example = static_cast<std::int64_t>(order(static_cast<std::uint64_t>(example)));
    return out;
}

}  // namespace lazuli
