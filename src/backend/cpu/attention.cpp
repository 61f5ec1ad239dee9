// Scores are computed as keys by queries, so that a vector holds one key's scores of many queries:
// maxima, exponentials and sums then run from vector to vector, and what comes out is packed for
// the second product as it stands. That one is values by queries, for the same reason.

#include "backend/cpu/attention.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "backend/cpu/gemm_tile.h"
#include "backend/cpu/narrow.h"
#include "backend/cpu/pack_room.h"
#include "base/convert.h"
#include "lazuli/backend.h"
#include "ops/eval.h"
#include "ops/maths/polynomials.h"
#include "ops/values.h"
#include "runtime/pool.h"

namespace lazuli::cpu {

namespace {

// Scores of this many keys stay in the first cache.
constexpr std::int64_t kKeys = 252;  // whole tiles of 14 and 6 rows
constexpr std::int64_t kPackedBytes = std::int64_t{64} << 20;

std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

template <int Lanes>
struct Floats {
    typedef float type __attribute__((vector_size(Lanes * 4)));
    typedef std::int32_t ints __attribute__((vector_size(Lanes * 4)));
};

/// e^x for x up to 0, as src/ops/maths/exp_log.cpp has it; what would be denormal is 0.
template <int Lanes>
inline __attribute__((always_inline)) typename Floats<Lanes>::type exp_down(
    typename Floats<Lanes>::type x) {
    using Vector = typename Floats<Lanes>::type;
    using Ints32 = typename Floats<Lanes>::ints;
    const Vector low = Vector{} - 87.0F;
    const Vector cut = x < low ? low : x;  // NaN stays
    const Vector rounder = Vector{} + 12582912.0F;
    const Vector shifted = cut * 1.44269504F + rounder;
    const Vector n = shifted - rounder;
    const Vector r = n * -1.42860682e-06F + (n * -0.693145751953125F + cut);
    Vector sum{};
    for (std::size_t i = ops::kExp.size(); i-- > 0;)
        sum = sum * r + static_cast<float>(ops::kExp[i]);
    sum = (sum * r + 1.0F) * r + 1.0F;
    // The low bits of the shifted number are n.
    Ints32 bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    Ints32 power = (bits - 0x4b400000 + 127) << 23;
    Vector two_to_n;
    std::memcpy(&two_to_n, &power, sizeof two_to_n);
    return x < low ? Vector{} : sum * two_to_n;
}

/// What a block of queries has seen: the largest score of each, and its sum of exponentials.
struct Seen {
    float* largest;
    float* total;
};

/// Makes weights of scores ([keys][2 * Lanes], in place), and brings what was summed before to the
/// new largest score.
template <int Lanes>
inline __attribute__((always_inline)) void weigh(float* scores, std::int64_t keys, Seen seen,
                                                 float* sums, std::int64_t width) {
    using Vector = typename Floats<Lanes>::type;
    for (int half = 0; half < 2; ++half) {
        float* column = scores + half * Lanes;
        Vector before;
        std::memcpy(&before, seen.largest + half * Lanes, sizeof before);
        Vector most[4] = {before, before, before, before};
        std::int64_t k = 0;
        for (; k + 4 <= keys; k += 4) {
#pragma GCC unroll 4
            for (int c = 0; c < 4; ++c) {
                Vector s;
                std::memcpy(&s, column + (k + c) * 2 * Lanes, sizeof s);
                most[c] = s > most[c] ? s : most[c];
            }
        }
        for (; k < keys; ++k) {
            Vector s;
            std::memcpy(&s, column + k * 2 * Lanes, sizeof s);
            most[0] = s > most[0] ? s : most[0];
        }
        most[0] = most[0] > most[1] ? most[0] : most[1];
        most[2] = most[2] > most[3] ? most[2] : most[3];
        const Vector largest = most[0] > most[2] ? most[0] : most[2];
        std::memcpy(seen.largest + half * Lanes, &largest, sizeof largest);
        // Where nothing was seen, scores are -inf and weights 0.
        const Vector hidden = Vector{} - std::numeric_limits<float>::infinity();
        const Vector base = largest == hidden ? Vector{} : largest;
        Vector total[2] = {};
        for (k = 0; k + 2 <= keys; k += 2) {
#pragma GCC unroll 2
            for (int c = 0; c < 2; ++c) {
                Vector s;
                std::memcpy(&s, column + (k + c) * 2 * Lanes, sizeof s);
                const Vector e = exp_down<Lanes>(s - base);
                std::memcpy(column + (k + c) * 2 * Lanes, &e, sizeof e);
                total[c] += e;
            }
        }
        for (; k < keys; ++k) {
            Vector s;
            std::memcpy(&s, column + k * 2 * Lanes, sizeof s);
            const Vector e = exp_down<Lanes>(s - base);
            std::memcpy(column + k * 2 * Lanes, &e, sizeof e);
            total[0] += e;
        }
        const Vector fewer = exp_down<Lanes>(before - base);
        Vector so_far;
        std::memcpy(&so_far, seen.total + half * Lanes, sizeof so_far);
        so_far = so_far * fewer + (total[0] + total[1]);
        std::memcpy(seen.total + half * Lanes, &so_far, sizeof so_far);
        for (std::int64_t d = 0; d < width; ++d) {
            Vector sum;
            std::memcpy(&sum, sums + d * 2 * Lanes + half * Lanes, sizeof sum);
            sum *= fewer;
            std::memcpy(sums + d * 2 * Lanes + half * Lanes, &sum, sizeof sum);
        }
    }
}

using Weigh = void (*)(float* scores, std::int64_t keys, Seen seen, float* sums,
                       std::int64_t width);

#define LAZULI_WEIGH(name, features, lanes)                                                  \
    __attribute__((target(features))) void name(float* scores, std::int64_t keys, Seen seen, \
                                                float* sums, std::int64_t width) {           \
        weigh<lanes>(scores, keys, seen, sums, width);                                       \
    }
LAZULI_WEIGH(weigh_512, "avx512f,avx512vl", 16)
LAZULI_WEIGH(weigh_256, "avx2,fma", 8)
LAZULI_WEIGH(weigh_128, "sse2", 4)
#undef LAZULI_WEIGH

Weigh choose_weigh() {
    const int width = tile_width();
    return width == 512 ? weigh_512 : width == 256 ? weigh_256 : weigh_128;
}

}  // namespace

/// One call: some heads at a time have their keys and values packed, then blocks of queries of
/// these heads are shared out.
template <class From>
class AttentionRun {
   public:
    AttentionRun(const AttentionStep& step, std::span<void* const> buffers)
        : s_(step), buffers_(buffers), tile_(choose_tile()), weigh_(choose_weigh()) {
        padded_keys_ = round_up(s_.keys_, tile_.rows);
        padded_width_ = round_up(s_.width_, tile_.rows);
        head_ = padded_keys_ * s_.length_ + padded_width_ * s_.keys_;
        blocks_ = (s_.queries_ + tile_.columns - 1) / tile_.columns;
    }

    void run() {
        const std::int64_t heads = s_.batch_.numel();
        const std::int64_t at_once = std::clamp<std::int64_t>(kPackedBytes / (head_ * 4), 1, heads);
        const BufferPtr packed =
            allocate_host(Device(), static_cast<std::size_t>(head_ * at_once) * sizeof(float));
        packed_ = static_cast<float*>(packed->host_mutable());
        for (first_ = 0; first_ < heads; first_ += at_once) {
            const std::int64_t here = std::min(at_once, heads - first_);
            runtime::share_out(here, 1, pack_heads, this);
            runtime::share_out(here * blocks_, 1, run_blocks, this);
        }
    }

   private:
    /// Where an operand's part for a head begins.
    std::int64_t offset(std::size_t operand, std::int64_t head) const {
        std::int64_t out = 0;
        for (int d = s_.batch_.rank() - 1; d >= 0; --d) {
            out += head % s_.batch_[d] * s_.strides_[operand][d];
            head /= s_.batch_[d];
        }
        return out;
    }
    const From* operand(std::size_t which, std::int64_t head) const {
        return static_cast<const From*>(buffers_[which]) + offset(which, head);
    }

    static void pack_heads(void* data, std::int64_t begin, std::int64_t end) {
        auto& self = *static_cast<AttentionRun*>(data);
        const AttentionStep& s = self.s_;
        for (std::int64_t i = begin; i < end; ++i) {
            float* keys = self.packed_ + i * self.head_;
            float* values = keys + self.padded_keys_ * s.length_;
            pack<float>(self.operand(1, self.first_ + i), s.length_, 1, s.keys_, s.length_,
                        self.tile_.rows, keys);
            // Values are used in the same blocks as keys, each block a panel of its own.
            const From* from = self.operand(2, self.first_ + i);
            for (std::int64_t k = 0; k < s.keys_; k += kKeys) {
                const std::int64_t count = std::min(kKeys, s.keys_ - k);
                pack<float>(from + k * s.width_, 1, s.width_, s.width_, count, self.tile_.rows,
                            values + k * self.padded_width_);
            }
        }
    }

    static void run_blocks(void* data, std::int64_t begin, std::int64_t end) {
        auto& self = *static_cast<AttentionRun*>(data);
        for (std::int64_t i = begin; i < end; ++i)
            self.run_block(i / self.blocks_, i % self.blocks_ * self.tile_.columns);
    }

    void run_block(std::int64_t head, std::int64_t first) {
        const int columns = tile_.columns;
        const std::int64_t here = std::min<std::int64_t>(columns, s_.queries_ - first);
        const std::int64_t scores_room = round_up(kKeys, tile_.rows) * columns;
        float* room = thread_room<float, Room::left>((s_.length_ + padded_width_ + 2) * columns +
                                                     scores_room);
        float* queries = room;
        float* scores = queries + s_.length_ * columns;
        float* sums = scores + scores_room;
        const Seen seen{sums + padded_width_ * columns, sums + (padded_width_ + 1) * columns};
        pack<float>(operand(0, first_ + head) + first * s_.length_, s_.length_, 1, here, s_.length_,
                    columns, queries);
        for (std::int64_t i = 0; i < s_.length_ * columns; ++i) queries[i] *= s_.scale_;
        std::fill_n(sums, padded_width_ * columns, 0.0F);
        std::fill_n(seen.largest, columns, -std::numeric_limits<float>::infinity());
        std::fill_n(seen.total, columns, 0.0F);
        const float* keys = packed_ + head * head_;
        const float* values = keys + padded_keys_ * s_.length_;
        // Keys behind the place of the block's last query are seen by none of it.
        const std::int64_t lead = s_.keys_ - s_.queries_;
        const std::int64_t visible =
            s_.causal_ ? std::clamp<std::int64_t>(first + here + lead, 0, s_.keys_) : s_.keys_;
        for (std::int64_t k = 0; k < visible; k += kKeys) {
            const std::int64_t count = std::min(kKeys, s_.keys_ - k);
            for (std::int64_t row = 0; row < count; row += tile_.rows)
                tile_.multiply(s_.length_, keys + (k + row) * s_.length_, queries,
                               scores + row * columns, columns, false);
            hide(scores, head, first, here, k, count, lead);
            weigh_(scores, count, seen, sums, s_.width_);
            const float* panel = values + k * padded_width_;
            for (std::int64_t d = 0; d < padded_width_; d += tile_.rows)
                tile_.multiply(count, panel + d * count, scores, sums + d * columns, columns, true);
        }
        write(head, first, here, sums, seen.total);
    }

    /// Adds the mask, and hides keys behind a query's own place.
    void hide(float* scores, std::int64_t head, std::int64_t first, std::int64_t here,
              std::int64_t k, std::int64_t count, std::int64_t lead) const {
        const int columns = tile_.columns;
        if (s_.has_mask_) {
            const From* mask = operand(3, first_ + head) + first * s_.mask_strides_[0];
            for (std::int64_t j = 0; j < count; ++j) {
                for (std::int64_t q = 0; q < here; ++q)
                    scores[j * columns + q] += static_cast<float>(
                        mask[q * s_.mask_strides_[0] + (k + j) * s_.mask_strides_[1]]);
            }
        }
        if (!s_.causal_ || k + count <= first + lead + 1) return;
        for (std::int64_t j = 0; j < count; ++j) {
            // The first query that sees this key.
            const std::int64_t from = std::clamp<std::int64_t>(k + j - lead - first, 0, columns);
            std::fill_n(scores + j * columns, from, -std::numeric_limits<float>::infinity());
        }
    }

    void write(std::int64_t head, std::int64_t first, std::int64_t here, const float* sums,
               const float* total) const {
        const int columns = tile_.columns;
        const std::int64_t start = ((first_ + head) * s_.queries_ + first) * s_.width_;
        float* row = thread_room<float, Room::right>(s_.width_);
        for (std::int64_t q = 0; q < here; ++q) {
            for (std::int64_t d = 0; d < s_.width_; ++d) row[d] = sums[d * columns + q] / total[q];
            auto* to = static_cast<From*>(buffers_.back()) + start + q * s_.width_;
            if constexpr (std::is_same_v<From, float>) {
                std::memcpy(to, row, static_cast<std::size_t>(s_.width_) * sizeof(float));
            } else {
                narrow(s_.dtype_, row, s_.width_, to);
            }
        }
    }

    const AttentionStep& s_;
    std::span<void* const> buffers_;
    const Tile<float> tile_;
    const Weigh weigh_;
    float* packed_ = nullptr;
    std::int64_t padded_keys_ = 0;  // to whole tiles
    std::int64_t padded_width_ = 0;
    std::int64_t head_ = 0;    // floats that a head's keys and values take
    std::int64_t blocks_ = 0;  // of queries, in a head
    std::int64_t first_ = 0;   // the first head that is packed
};

bool AttentionStep::takes(std::span<const TensorSpec> inputs) {
    const DType dtype = inputs[0].dtype;
    if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16) return false;
    return std::all_of(inputs.begin(), inputs.end(), [](const TensorSpec& spec) {
        for (int d = 0; d < spec.shape.rank(); ++d) {
            if (at_least(spec.shape.dim(d), 1) != Truth::yes) return false;
        }
        return true;
    });
}

std::unique_ptr<AttentionStep> AttentionStep::make(const Program& program,
                                                   const Operation& operation) {
    if (operation.def().name != "attention") return nullptr;
    std::vector<TensorSpec> inputs;
    for (std::size_t k = 0; k < operation.input_count(); ++k)
        inputs.push_back(program.spec(operation.input(k)));
    if (!takes(inputs)) return nullptr;
    auto out = std::make_unique<AttentionStep>();
    const Shape result = operation.spec().shape;
    const int batch = result.rank() - 2;
    out->dtype_ = inputs[0].dtype;
    out->batch_ = Shape(result.dims().first(static_cast<std::size_t>(batch)));
    const auto last = [](const Shape& shape, int from_end) {
        return shape[shape.rank() - from_end];
    };
    out->queries_ = last(inputs[0].shape, 2);
    out->length_ = last(inputs[0].shape, 1);
    out->keys_ = last(inputs[1].shape, 2);
    out->width_ = last(inputs[2].shape, 1);
    out->has_mask_ = inputs.size() == 4;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        Shape whole = out->batch_;
        whole.push_back(i == 0 || i == 3 ? out->queries_ : out->keys_);
        whole.push_back(i == 2 ? out->width_ : i == 3 ? out->keys_ : out->length_);
        const Ints strides = ops::broadcast_strides(inputs[i].shape, whole);
        for (int d = 0; d < batch; ++d) out->strides_[i].push_back(strides[d]);
        if (i < 3) continue;
        out->mask_strides_[0] = strides[batch];
        out->mask_strides_[1] = strides[batch + 1];
    }
    out->scale_ = static_cast<float>(ops::attention_scale(operation.attrs().real(0), out->length_));
    out->causal_ = operation.attrs().boolean(1);
    return out;
}

template <class From>
void AttentionStep::run_typed(std::span<void* const> buffers) const {
    AttentionRun<From>(*this, buffers).run();
}

void AttentionStep::run(std::span<void* const> buffers) const {
    switch (dtype_) {
        case DType::f16: return run_typed<Half>(buffers);
        case DType::bf16: return run_typed<BFloat16>(buffers);
        default: return run_typed<float>(buffers);
    }
}

}  // namespace lazuli::cpu
