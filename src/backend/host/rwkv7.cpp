// time_mix_v7 on all threads: a head of a run is one piece of work. A row of the state is read and
// written once a token; its columns are the vectors.

#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/host/time_mix.h"
#include "base/convert.h"
#include "ops/bundle.h"
#include "ops/eval.h"
#include "ops/runs.h"
#include "runtime/pool.h"

namespace lazuli::backend::host {

Vectors best_vectors() {
    static const Vectors best = [] {
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
            return Vectors::of_16;
        const bool has_8 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
        return has_8 ? Vectors::of_8 : Vectors::of_4;
    }();
    return best;
}

namespace {

using namespace ops;  // the names of the operands

template <int Lanes>
__attribute__((always_inline)) inline void step(const Token& token, std::int64_t size,
                                                std::int64_t padded, const float* before,
                                                float* after, float* y) {
    using Vector [[gnu::vector_size(Lanes * 4)]] = float;
    Vector s, r, w, k, kk, b;
    for (std::int64_t i = 0; i < size; ++i) {
        const float* from = before + i * padded;
        float* row = after + i * padded;
        Vector along{};
        for (std::int64_t j = 0; j < padded; j += Lanes) {
            std::memcpy(&s, from + j, sizeof(Vector));
            std::memcpy(&kk, token.kk + j, sizeof(Vector));
            along += s * kk;
        }
        const float removed = -total<Lanes>(&along);
        const float value = token.v[i];
        Vector sum{};
        for (std::int64_t j = 0; j < padded; j += Lanes) {
            std::memcpy(&s, from + j, sizeof(Vector));
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

#define LAZULI_STEP(name, features, lanes)                                                \
    __attribute__((target(features))) void name(const Token& token, std::int64_t size,    \
                                                std::int64_t padded, const float* before, \
                                                float* after, float* y) {                 \
        step<lanes>(token, size, padded, before, after, y);                               \
    }
LAZULI_STEP(step_512, "avx512f,avx512vl", 16)
LAZULI_STEP(step_256, "avx2,fma", 8)
LAZULI_STEP(step_128, "sse2", 4)
#undef LAZULI_STEP

}  // namespace

void next_state(const Token& token, std::int64_t size, std::int64_t padded, const float* before,
                float* after, float* y) {
    switch (best_vectors()) {
        case Vectors::of_16: return step_512(token, size, padded, before, after, y);
        case Vectors::of_8: return step_256(token, size, padded, before, after, y);
        case Vectors::of_4: return step_128(token, size, padded, before, after, y);
    }
}

namespace {

struct Work {
    const EvalArgs& args;
    std::vector<Run> runs;
    std::int64_t heads;
    std::int64_t size;
    char* out;
    float* state;
};

template <class T>
void mix_head(const Work& work, const Run& run, std::int64_t head) {
    const std::int64_t size = work.size;
    const std::int64_t padded = padded_size(size);
    const std::int64_t offset = (run.state * work.heads + head) * size * size;
    const float* before = work.args.inputs[kState].as<float>() + offset;
    float* after = work.state + offset;
    // Where rows are whole vectors the state changes where it is to lie in the end.
    const bool in_place = padded == size;
    const std::int64_t rows = kTokenRows + 1 + (in_place ? 0 : size);
    std::vector<float> room(static_cast<std::size_t>(rows * padded), 0.0F);
    float* y = room.data() + kTokenRows * padded;
    float* state = in_place ? after : y + padded;
    copy_rows(before, size, state, padded, size);
    for (std::int64_t t = run.first; t < run.first + run.count; ++t) {
        const std::int64_t at = (t * work.heads + head) * size;
        const Token token = read_token<T>(work.args.inputs, at, size, room.data());
        next_state(token, size, padded, state, state, y);
        T* to = reinterpret_cast<T*>(work.out) + at;
        for (std::int64_t j = 0; j < size; ++j) to[j] = convert<T>(static_cast<double>(y[j]));
    }
    if (!in_place) copy_rows(state, padded, after, size, size);
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

Family rwkv7() { return {{"time_mix_v7", time_mix}, {"time_mix_v7_grad", time_mix_grad}}; }

}  // namespace lazuli::backend::host
