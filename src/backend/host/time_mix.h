#pragma once

// What the kernels of time_mix_v7 and of its gradient share: tokens as f32 in rows of whole
// vectors, and the step from one token to the next.

#include <cstring>

#include "backend/host/families.h"
#include "ops/time_mix_v7.h"

namespace lazuli::backend::host {

/// A token's numbers for one head, as f32, in rows of a size that is filled up with zeros.
struct Token {
    const float* r;
    const float* w;
    const float* k;
    const float* v;
    const float* a;
    const float* kk;
    const float* b;  // kk * a
};
inline constexpr std::int64_t kTokenRows = 7;

inline constexpr std::int64_t kLanes =
    16;  // rows are filled up to this many, whatever the vectors are

inline std::int64_t padded_size(std::int64_t size) { return (size + kLanes - 1) / kLanes * kLanes; }

/// Numbers as f32.
template <class T>
const float* widened(const T* numbers, std::int64_t size, float* row) {
    for (std::int64_t j = 0; j < size; ++j) row[j] = static_cast<float>(numbers[j]);
    return row;
}

/// The token whose numbers begin at `at` in [tokens, heads, size], in kTokenRows rows that are zero
/// behind `size`.
template <class T>
Token read_token(std::span<const HostArray> inputs, std::int64_t at, std::int64_t size,
                 float* rows) {
    const ops::HeadToken<T> from(inputs, at);
    const auto row = [&](std::int64_t i) { return rows + i * padded_size(size); };
    float* b = row(6);
    const Token token{.r = widened(from.r, size, row(0)),
                      .w = widened(from.w, size, row(1)),
                      .k = widened(from.k, size, row(2)),
                      .v = widened(from.v, size, row(3)),
                      .a = widened(from.a, size, row(4)),
                      .kk = widened(from.kk, size, row(5)),
                      .b = b};
    for (std::int64_t j = 0; j < size; ++j) b[j] = token.kk[j] * token.a[j];
    return token;
}

/// The sum of a vector's elements: its halves are added until one is left.
template <int Lanes>
__attribute__((always_inline)) inline float total(const void* vector) {
    if constexpr (Lanes == 1) {
        float one;
        std::memcpy(&one, vector, sizeof(one));
        return one;
    } else {
        using Half [[gnu::vector_size(Lanes * 2)]] = float;
        Half low;
        Half high;
        std::memcpy(&low, vector, sizeof(Half));
        std::memcpy(&high, static_cast<const char*>(vector) + sizeof(Half), sizeof(Half));
        low += high;
        return total<Lanes / 2>(&low);
    }
}

/// Rows of a state between where the operands have them and where they are whole vectors.
inline void copy_rows(const float* from, std::int64_t from_step, float* to, std::int64_t to_step,
                      std::int64_t size) {
    for (std::int64_t i = 0; i < size; ++i)
        std::memcpy(to + i * to_step, from + i * from_step,
                    static_cast<std::size_t>(size) * sizeof(float));
}

/// The lengths of vectors that kernels are written for.
enum class Vectors : std::uint8_t { of_4, of_8, of_16 };
/// The longest that this processor has.
Vectors best_vectors();

/// One token: the state after it, which may lie where the state before it did, and its output.
/// `padded` is `size` filled up to whole vectors; rows of states lie `padded` apart.
void next_state(const Token& token, std::int64_t size, std::int64_t padded, const float* before,
                float* after, float* y);

/// The kernel of time_mix_v7_grad.
void time_mix_grad(const EvalArgs& args);

}  // namespace lazuli::backend::host
