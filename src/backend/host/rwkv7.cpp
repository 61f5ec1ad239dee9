// time_mix_v7 on all threads: a head of a run is one piece of work. A row of the state is read and
// written once a token; its columns are the vectors.

#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/host/families.h"
#include "base/convert.h"
#include "ops/bundle.h"
#include "ops/eval.h"
#include "ops/runs.h"
#include "ops/time_mix_v7.h"
#include "runtime/pool.h"

namespace lazuli::backend::host {

namespace {

using namespace ops;  // the names of the operands

/// A token's numbers for one head, as f32, in rows of a size that is filled up with zeros.
struct Token {
    const float* r;
    const float* w;
    const float* k;
    const float* v;
    const float* kk;
    const float* b;  // kk * a
};

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

/// One token. `padded` is `size` filled up to whole vectors; rows of the state lie `padded` apart.
template <int Lanes>
__attribute__((always_inline)) inline void step(const Token& token, std::int64_t size,
                                                std::int64_t padded, float* state, float* y) {
    using Vector [[gnu::vector_size(Lanes * 4)]] = float;
    Vector s, r, w, k, kk, b;
    for (std::int64_t i = 0; i < size; ++i) {
        float* row = state + i * padded;
        Vector along{};
        for (std::int64_t j = 0; j < padded; j += Lanes) {
            std::memcpy(&s, row + j, sizeof(Vector));
            std::memcpy(&kk, token.kk + j, sizeof(Vector));
            along += s * kk;
        }
        const float removed = -total<Lanes>(&along);
        const float value = token.v[i];
        Vector sum{};
        for (std::int64_t j = 0; j < padded; j += Lanes) {
            std::memcpy(&s, row + j, sizeof(Vector));
            std::memcpy(&w, token.w + j, sizeof(Vector));
            std::memcpy(&b, token.b + j, sizeof(Vector));
            std::memcpy(&k, token.k + j, sizeof(Vector));
            std::memcpy(&r, token.r + j, sizeof(Vector));
            s = s * w + removed * b + value * k;
            std::memcpy(row + j, &s, sizeof(Vector));
            if (j + Lanes > size) {
                // What lies behind the last column stays 0, also where a value is infinite.
                std::fill(row + size, row + padded, 0.0F);
                std::memcpy(&s, row + j, sizeof(Vector));
            }
            sum += s * r;
        }
        y[i] = total<Lanes>(&sum);
    }
}

#define LAZULI_STEP(name, features, lanes)                                                     \
    __attribute__((target(features))) void name(const Token& token, std::int64_t size,         \
                                                std::int64_t padded, float* state, float* y) { \
        step<lanes>(token, size, padded, state, y);                                            \
    }
LAZULI_STEP(step_512, "avx512f,avx512vl", 16)
LAZULI_STEP(step_256, "avx2,fma", 8)
LAZULI_STEP(step_128, "sse2", 4)
#undef LAZULI_STEP

using Step = void (*)(const Token&, std::int64_t, std::int64_t, float*, float*);

Step best_step() {
    static const Step best = [] {
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
            return step_512;
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? step_256
                                                                               : step_128;
    }();
    return best;
}

constexpr std::int64_t kLanes = 16;  // rows are filled up to this many, whatever the vectors are

struct Work {
    const EvalArgs& args;
    std::vector<Run> runs;
    std::int64_t heads;
    std::int64_t size;
    std::int64_t plane;
    char* out;
    float* state;
};

template <class T>
void mix_head(const Work& work, const Run& run, std::int64_t head) {
    const std::int64_t size = work.size;
    const std::int64_t padded = (size + kLanes - 1) / kLanes * kLanes;
    const auto row = static_cast<std::size_t>(padded);
    const auto bytes = static_cast<std::size_t>(size) * sizeof(float);
    const std::int64_t offset = (run.state * work.heads + head) * size * size;
    const float* before = work.args.inputs[kState].as<float>() + offset;
    float* after = work.state + offset;
    // Where rows are whole vectors the state changes where it is to lie in the end.
    const bool in_place = padded == size;
    std::vector<float> room((in_place ? 0 : static_cast<std::size_t>(size) * row) + 7 * row, 0.0F);
    float* tokens = room.data();
    float* state = in_place ? after : room.data() + 7 * row;
    for (std::int64_t i = 0; i < size; ++i)
        std::memcpy(state + i * padded, before + i * size, bytes);
    const Step next = best_step();
    for (std::int64_t t = run.first; t < run.first + run.count; ++t) {
        const std::int64_t at = (t * work.heads + head) * size;
        const auto wide = [&](const HostArray& from, std::int64_t plane, std::size_t to) {
            const T* numbers = from.as<T>() + plane * work.plane + at;
            float* line = tokens + to * row;
            for (std::int64_t j = 0; j < size; ++j) line[j] = static_cast<float>(numbers[j]);
            return line;
        };
        const HostArray& packed = work.args.inputs[kPacked];
        const float* a = wide(packed, kRates, 6);
        const Token token{.r = wide(work.args.inputs[kReceptance], 0, 0),
                          .w = wide(work.args.inputs[kDecay], 0, 1),
                          .k = wide(packed, kKeys, 2),
                          .v = wide(packed, kValues, 3),
                          .kk = wide(packed, kDirections, 4),
                          .b = tokens + 5 * row};
        for (std::int64_t j = 0; j < size; ++j) tokens[5 * padded + j] = token.kk[j] * a[j];
        float* y = tokens + 6 * row;  // the rates have been used
        next(token, size, padded, state, y);
        T* to = reinterpret_cast<T*>(work.out) + at;
        for (std::int64_t j = 0; j < size; ++j) to[j] = convert<T>(static_cast<double>(y[j]));
    }
    if (!in_place) {
        for (std::int64_t i = 0; i < size; ++i)
            std::memcpy(after + i * size, state + i * padded, bytes);
    }
}

void mix_pieces(void* data, std::int64_t begin, std::int64_t end) {
    const Work& work = *static_cast<Work*>(data);
    const DType dtype = work.args.inputs[kReceptance].spec->dtype;
    for (std::int64_t i = begin; i < end; ++i) {
        const Run& run = work.runs[static_cast<std::size_t>(i / work.heads)];
        dispatch(dtype, [&]<class T>() {
            if constexpr (is_real_float_v<T>) mix_head<T>(work, run, i % work.heads);
        });
    }
}

void time_mix(const EvalArgs& args) {
    const TensorSpec& spec = *args.inputs[kReceptance].spec;
    // f32 would lose what f64 tokens are for.
    if (spec.dtype == f64) return args.op.evaluate(args);
    const TensorSpec& states = *args.inputs[kState].spec;
    const TensorSpec made[] = {spec, states};
    const BundleLayout layout = bundle_layout(made);
    auto* state = reinterpret_cast<float*>(args.result<char>() + layout.offsets[1]);
    Work work{args,
              read_runs("time_mix_v7", args.inputs[kRuns], spec.shape[0], states.shape[0]),
              spec.shape[1],
              spec.shape[2],
              spec.shape.numel(),
              args.result<char>(),
              state};
    // What no run writes: tokens are 0, states stay, and the bytes that fill up a bundle are 0.
    std::fill_n(args.result<char>(), layout.offsets[1], char{0});
    std::fill(reinterpret_cast<char*>(state) + states.nbytes(), args.result<char>() + layout.bytes,
              char{0});
    std::vector<bool> written(static_cast<std::size_t>(states.shape[0]));
    for (const Run& run : work.runs) written[static_cast<std::size_t>(run.state)] = true;
    const std::int64_t each = work.heads * work.size * work.size;
    for (std::int64_t i = 0; i < states.shape[0]; ++i) {
        if (!written[static_cast<std::size_t>(i)] && each > 0)
            std::memcpy(state + i * each, args.inputs[kState].as<float>() + i * each,
                        static_cast<std::size_t>(each) * sizeof(float));
    }
    const auto pieces = static_cast<std::int64_t>(work.runs.size()) * work.heads;
    runtime::share_out(pieces, 1, mix_pieces, &work);
}

}  // namespace

Family rwkv7() { return {{"time_mix_v7", time_mix}}; }

}  // namespace lazuli::backend::host
