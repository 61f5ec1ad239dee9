#pragma once

// A contraction with what comes before and behind it, on the CPU.

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/cpu/compiler.h"
#include "backend/cpu/dnn.h"
#include "backend/cpu/dnn_product.h"
#include "plan/contraction.h"
#include "plan/steps.h"

namespace lazuli::cpu {

/// A kernel and its code; null where it is interpreted.
struct Runnable {
    std::shared_ptr<const codegen::Kernel> kernel;
    std::shared_ptr<const Compiled> compiled;
    std::vector<ValueRef> buffers;
    /// How far it goes, where it has variables; null where it has none.
    std::shared_ptr<const Extents> extents = nullptr;

    /// The code, where it is there by now.
    const Code* code() const { return compiled == nullptr ? nullptr : compiled->code(); }
    /// Whether no code is still being made.
    bool is_ready() const { return compiled == nullptr || code() != nullptr; }
};

/// How far a kernel goes at these sizes of its variables. Throws ArgumentError where they are not
/// within bounds. A run of the kernel takes it; it may be kept for as many as there are.
Extents extents_at(const Runnable& runnable, std::span<const std::int64_t> sizes);

/// Runs a kernel, on all threads. `buffers` has one address for each of the kernel's that is not
/// scratch.
void launch(const Runnable& runnable, std::span<void* const> buffers, const Extents& extents);
/// The same for a kernel without variables, or one that has its extents.
void launch(const Runnable& runnable, std::span<void* const> buffers);

/// The kernel of a group of a program's operations.
using MakeRunnable = std::function<Runnable(const codegen::Group& group)>;

class ContractionStep {
   public:
    /// None where the group is no contraction that is multiplied here. Policies of the op choose
    /// among the kernels; ArgumentError where one is forced that does not serve.
    static std::unique_ptr<ContractionStep> make(const Program& program, const plan::Step& step,
                                                 const MakeRunnable& runnable);

    /// Runs it; `buffers` are the step's, `owners` who owns each, or null, and `room` is what was
    /// planned for it, or null.
    void run(std::span<void* const> buffers, std::span<Buffer* const> owners, char* room) const;
    /// Whether no code of its parts is still being made.
    bool is_ready() const;
    bool is_convolution() const { return plan_.windows.has_value(); }
    /// Whether oneDNN computes it.
    bool uses_library() const { return library_is_there() && choice_ == Choice::library; }

   private:
    struct Side {
        plan::ProductOperand operand;
        std::optional<Runnable> prologue;
    };
    enum class Choice : std::uint8_t { own, library, open };
    bool library_is_there() const { return dnn_ != nullptr || product_ != nullptr; }
    bool choose(std::string_view op);
    void multiply_by_library(const char* const* operands, Buffer* frozen, char* result,
                             std::int64_t batches) const;
    std::int64_t element_size(std::size_t side) const {
        return static_cast<std::int64_t>(size_of(sides_[side].operand.dtype));
    }
    std::int64_t batch_offset(std::int64_t batch, std::size_t side) const;
    void multiply_batch(const char* left, const char* right, Buffer* right_owner, char* result,
                        std::int64_t batch, std::span<void* const> epilogue_buffers) const;
    void multiply_batches(const char* const* operands, Buffer* right_owner, char* result,
                          std::int64_t batches, std::span<void* const> epilogue_buffers) const;

    plan::Contraction plan_;
    std::vector<ValueRef> buffers_;  // the step's
    plan::ContractionRoom room_;     // beside them
    std::optional<ValueRef> product_in_;
    DType dtype_ = DType::f32;
    Side sides_[2];
    bool right_alone_ = false;  // only the product reads the right operand
    std::unique_ptr<DnnConvolution> dnn_;
    std::unique_ptr<DnnProduct> product_;
    /// Which kernel it is; where a policy wants the faster one, that is found by the first run.
    mutable std::atomic<Choice> choice_{Choice::own};
    std::optional<Runnable> epilogue_;
    std::int64_t steps_a_row_ = 0;  // of the epilogue's loop; 0: it runs behind the whole product
};

}  // namespace lazuli::cpu
