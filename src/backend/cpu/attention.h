#pragma once

// Attention on the CPU: a few queries at a time go past all keys and values, and keep what they
// have seen as one row of sums each. The matrix of all scores is never in memory.

#include <memory>
#include <span>

#include "lazuli/program.h"

namespace lazuli::cpu {

class AttentionStep {
   public:
    /// Whether attention of these operands is computed here.
    static bool takes(std::span<const TensorSpec> inputs);
    /// None where the operation is no attention that is computed here.
    static std::unique_ptr<AttentionStep> make(const Program& program, const Operation& operation);

    /// Runs it; `buffers` are the operands and the result, dense.
    void run(std::span<void* const> buffers) const;

   private:
    DType dtype_ = DType::f32;
    Shape batch_;
    Ints strides_[4];           // of the operands along the batch, in elements
    std::int64_t queries_ = 0;  // how many there are of each, and how long they are
    std::int64_t keys_ = 0;
    std::int64_t length_ = 0;
    std::int64_t width_ = 0;             // of a value
    std::int64_t mask_strides_[2] = {};  // along queries and keys
    bool has_mask_ = false;
    bool causal_ = false;
    float scale_ = 1;

    template <class From>
    void run_typed(std::span<void* const> buffers) const;
    template <class From>
    friend class AttentionRun;
};

}  // namespace lazuli::cpu
