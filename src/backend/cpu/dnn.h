#pragma once

// Convolutions by oneDNN, where it was built in. The library lays images out in its own way first;
// parts of the result, cut by the shape alone, are shared out among our threads.

#include <memory>

#include "lazuli/backend.h"
#include "plan/contraction.h"

namespace lazuli::cpu {

class DnnConvolution {
   public:
    /// None where oneDNN is not there, or has nothing for this convolution.
    static std::unique_ptr<DnnConvolution> make(const plan::Contraction& contraction, DType dtype);
    ~DnnConvolution();
    DnnConvolution(const DnnConvolution&) = delete;
    DnnConvolution& operator=(const DnnConvolution&) = delete;

    /// Convolves. Addresses are those of the operands' first elements, offsets included; the result
    /// is dense. Weights that are frozen are kept with their owner as the library wants them.
    void run(const void* image, const void* weights, Buffer* frozen, void* result) const;

   private:
    DnnConvolution() = default;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace lazuli::cpu
