// time_mix_v7_grad on all threads: a head of a run is one piece of work. The formulas stand in
// ops/time_mix_v7_grad.cpp.
//
// A token's way back needs the states before and after it. They are not kept for all tokens, nor
// computed from the last one backwards, which would divide by small decays: a first pass keeps the
// state at the start of every segment of about the square root of the tokens; then, from the last
// segment to the first, its states are computed a second time.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "backend/host/share.h"
#include "backend/host/time_mix.h"
#include "base/convert.h"
#include "ops/bundle.h"
#include "ops/eval.h"
#include "ops/runs.h"

namespace lazuli::backend::host {

namespace {

using namespace ops;  // the names of the operands

/// What flows back to a token's numbers for one head, and what is summed on the way: rows.
struct TokenFlows {
    float* r;
    float* w;
    float* k;
    float* v;
    float* b;
    float* kk;          // without what comes by way of b
    float* removed;     // of each row of the state
    float* to_removed;  // what flows back to that
};
constexpr std::int64_t kFlowRows = 8;

/// The first half of a token's way back, row by row: what its output adds to `flow`, and sums over
/// columns.
template <int Lanes>
__attribute__((always_inline)) inline void sum_rows(const Token& token, const float* to_y,
                                                    std::int64_t size, std::int64_t padded,
                                                    const float* before, float* flow,
                                                    const TokenFlows& to) {
    using Vector [[gnu::vector_size(Lanes * 4)]] = float;
    Vector s, f, r, k, kk, b;
    for (std::int64_t i = 0; i < size; ++i) {
        float* row = flow + i * padded;
        Vector along{}, to_removed{}, to_value{};
        for (std::int64_t j = 0; j < padded; j += Lanes) {
            std::memcpy(&s, before + i * padded + j, sizeof(Vector));
            std::memcpy(&f, row + j, sizeof(Vector));
            std::memcpy(&r, token.r + j, sizeof(Vector));
            std::memcpy(&k, token.k + j, sizeof(Vector));
            std::memcpy(&kk, token.kk + j, sizeof(Vector));
            std::memcpy(&b, token.b + j, sizeof(Vector));
            f += to_y[i] * r;
            std::memcpy(row + j, &f, sizeof(Vector));
            if (j + Lanes > size) {
                // What lies behind the last column is 0, also where a value is infinite.
                std::fill(row + size, row + padded, 0.0F);
                std::memcpy(&f, row + j, sizeof(Vector));
            }
            along += s * kk;
            to_removed += f * b;
            to_value += f * k;
        }
        to.removed[i] = -total<Lanes>(&along);
        to.to_removed[i] = total<Lanes>(&to_removed);
        to.v[i] = total<Lanes>(&to_value);
    }
}

/// The second half, column by column: sums over rows, and `flow` becomes what flows back to the
/// state before the token.
template <int Lanes>
__attribute__((always_inline)) inline void sum_columns(const Token& token, const float* to_y,
                                                       std::int64_t size, std::int64_t padded,
                                                       const float* before, const float* after,
                                                       float* flow, const TokenFlows& to) {
    using Vector [[gnu::vector_size(Lanes * 4)]] = float;
    Vector s, next, f, w, kk;
    for (std::int64_t j = 0; j < padded; j += Lanes) {
        std::memcpy(&w, token.w + j, sizeof(Vector));
        std::memcpy(&kk, token.kk + j, sizeof(Vector));
        Vector to_r{}, to_w{}, to_k{}, to_b{}, to_kk{};
        for (std::int64_t i = 0; i < size; ++i) {
            const std::int64_t at = i * padded + j;
            std::memcpy(&s, before + at, sizeof(Vector));
            std::memcpy(&next, after + at, sizeof(Vector));
            std::memcpy(&f, flow + at, sizeof(Vector));
            to_r += next * to_y[i];
            to_w += f * s;
            to_k += f * token.v[i];
            to_b += f * to.removed[i];
            to_kk -= s * to.to_removed[i];
            f = f * w - to.to_removed[i] * kk;
            std::memcpy(flow + at, &f, sizeof(Vector));
        }
        std::memcpy(to.r + j, &to_r, sizeof(Vector));
        std::memcpy(to.w + j, &to_w, sizeof(Vector));
        std::memcpy(to.k + j, &to_k, sizeof(Vector));
        std::memcpy(to.b + j, &to_b, sizeof(Vector));
        std::memcpy(to.kk + j, &to_kk, sizeof(Vector));
    }
}

#define LAZULI_STEP_BACK(name, features, lanes)                                        \
    __attribute__((target(features))) void name(                                       \
        const Token& token, const float* to_y, std::int64_t size, std::int64_t padded, \
        const float* before, const float* after, float* flow, const TokenFlows& to) {  \
        sum_rows<lanes>(token, to_y, size, padded, before, flow, to);                  \
        sum_columns<lanes>(token, to_y, size, padded, before, after, flow, to);        \
    }
LAZULI_STEP_BACK(step_back_512, "avx512f,avx512vl", 16)
LAZULI_STEP_BACK(step_back_256, "avx2,fma", 8)
LAZULI_STEP_BACK(step_back_128, "sse2", 4)
#undef LAZULI_STEP_BACK

void step_back(const Token& token, const float* to_y, std::int64_t size, std::int64_t padded,
               const float* before, const float* after, float* flow, const TokenFlows& to) {
    switch (best_vectors()) {
        case Vectors::of_16:
            return step_back_512(token, to_y, size, padded, before, after, flow, to);
        case Vectors::of_8:
            return step_back_256(token, to_y, size, padded, before, after, flow, to);
        case Vectors::of_4:
            return step_back_128(token, to_y, size, padded, before, after, flow, to);
    }
}

/// One head of one run, backwards.
template <class T>
class HeadBack {
   public:
    HeadBack(const EvalArgs& args, const BundleLayout& layout, const Run& run, std::int64_t head)
        : args_(args),
          layout_(layout),
          run_(run),
          head_(head),
          heads_(args.inputs[kReceptance].spec->shape[1]),
          size_(args.inputs[kReceptance].spec->shape[2]),
          padded_(padded_size(size_)),
          segment_(static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(run.count))))),
          segments_((run.count + segment_ - 1) / segment_),
          rows_(static_cast<std::size_t>((kTokenRows + 2 + kFlowRows) * padded_)),
          kept_(static_cast<std::size_t>(segments_ * square())),
          states_(static_cast<std::size_t>((segment_ + 1) * square())),
          flow_(static_cast<std::size_t>(square())) {}

    void run() {
        const std::int64_t offset = (run_.state * heads_ + head_) * size_ * size_;
        copy_rows(args_.inputs[kState].as<float>() + offset, size_, kept_.data(), padded_, size_);
        copy_rows(args_.inputs[kStateFlow].as<float>() + offset, size_, flow_.data(), padded_,
                  size_);
        for (std::int64_t i = 0; i + 1 < segments_; ++i) keep_start_behind(i);
        for (std::int64_t i = segments_ - 1; i >= 0; --i) go_back(i);
        copy_rows(flow_.data(), padded_, bundle_part<float>(args_, layout_, kState) + offset, size_,
                  size_);
    }

   private:
    std::int64_t square() const { return size_ * padded_; }
    float* row(std::int64_t i) { return rows_.data() + i * padded_; }
    float* state(std::int64_t i) { return states_.data() + i * square(); }
    std::int64_t first_of(std::int64_t token) const {
        return ((run_.first + token) * heads_ + head_) * size_;
    }

    void advance(std::int64_t token, const float* before, float* after) {
        const Token numbers = read_token<T>(args_.inputs, first_of(token), size_, row(0));
        next_state(numbers, size_, padded_, before, after, row(kTokenRows));
    }

    /// Goes through a segment whose first state is kept, to that of the next.
    void keep_start_behind(std::int64_t segment) {
        const float* before = kept_.data() + segment * square();
        float* after = kept_.data() + (segment + 1) * square();
        for (std::int64_t n = 0; n < segment_; ++n) {
            advance(segment * segment_ + n, before, after);
            before = after;
        }
    }

    /// The states of a segment once more, then its tokens from the last to the first.
    void go_back(std::int64_t segment) {
        const std::int64_t first = segment * segment_;
        const std::int64_t count = std::min(segment_, run_.count - first);
        std::copy_n(kept_.data() + segment * square(), square(), state(0));
        for (std::int64_t n = 0; n < count; ++n) advance(first + n, state(n), state(n + 1));
        for (std::int64_t n = count - 1; n >= 0; --n) token_back(first + n, state(n), state(n + 1));
    }

    void token_back(std::int64_t token, const float* before, const float* after) {
        const std::int64_t at = first_of(token);
        const Token numbers = read_token<T>(args_.inputs, at, size_, row(0));
        const float* to_y =
            widened(args_.inputs[kOutputFlow].as<T>() + at, size_, row(kTokenRows + 1));
        std::int64_t next = kTokenRows + 2;
        TokenFlows to{};
        for (float** line :
             {&to.r, &to.w, &to.k, &to.v, &to.b, &to.kk, &to.removed, &to.to_removed})
            *line = row(next++);
        step_back(numbers, to_y, size_, padded_, before, after, flow_.data(), to);
        for (std::int64_t j = 0; j < size_; ++j) {
            to.kk[j] += to.b[j] * numbers.a[j];
            to.b[j] *= numbers.kk[j];  // which is what flows back to the rate
        }
        write(to.r, bundle_part<T>(args_, layout_, kReceptance) + at);
        write(to.w, bundle_part<T>(args_, layout_, kDecay) + at);
        T* packed = bundle_part<T>(args_, layout_, kPacked) + at;
        const std::int64_t plane = args_.inputs[kReceptance].spec->shape.numel();
        write(to.k, packed + kKeys * plane);
        write(to.v, packed + kValues * plane);
        write(to.b, packed + kRates * plane);
        write(to.kk, packed + kDirections * plane);
    }

    void write(const float* from, T* to) const {
        for (std::int64_t j = 0; j < size_; ++j) to[j] = convert<T>(static_cast<double>(from[j]));
    }

    const EvalArgs& args_;
    const BundleLayout& layout_;
    const Run& run_;
    std::int64_t head_;
    std::int64_t heads_;
    std::int64_t size_;
    std::int64_t padded_;
    std::int64_t segment_;
    std::int64_t segments_;
    std::vector<float> rows_;
    std::vector<float> kept_;    // the first state of each segment
    std::vector<float> states_;  // of one segment
    std::vector<float> flow_;    // back to the state
};

/// What no run writes: nothing flows to tokens, and to states what flows to the new ones.
void fill_in(const EvalArgs& args, const BundleLayout& layout) {
    const auto bytes = static_cast<std::size_t>(args.inputs[kState].spec->nbytes());
    std::fill_n(args.result<char>(), layout.bytes, char{0});
    if (bytes > 0)
        std::memcpy(bundle_part<char>(args, layout, kState), args.inputs[kStateFlow].data, bytes);
}

}  // namespace

void time_mix_grad(const EvalArgs& args) {
    const TensorSpec& spec = *args.inputs[kReceptance].spec;
    // f32 would lose what f64 tokens are for.
    if (spec.dtype == f64) return args.op.evaluate(args);
    const BundleLayout layout = bundle_layout(args);
    const std::vector<Run> runs = read_runs("time_mix_v7_grad", args.inputs[kGradRuns],
                                            spec.shape[0], args.inputs[kState].spec->shape[0]);
    const std::int64_t heads = spec.shape[1];
    fill_in(args, layout);
    share(static_cast<std::int64_t>(runs.size()) * heads, 1,
          [&](std::int64_t begin, std::int64_t end) {
              for (std::int64_t i = begin; i < end; ++i) {
                  const Run& run = runs[static_cast<std::size_t>(i / heads)];
                  dispatch(spec.dtype, [&]<class T>() {
                      if constexpr (is_real_float_v<T>)
                          HeadBack<T>(args, layout, run, i % heads).run();
                  });
              }
          });
}

}  // namespace lazuli::backend::host
