#pragma once

// Products of matrices by oneDNN, where it was built in: an alternative to our own kernel. Pieces
// of the result, cut by the shape alone, are shared out among our threads.

#include <memory>

#include "lazuli/backend.h"
#include "plan/contraction.h"

namespace lazuli::cpu {

class DnnProduct {
   public:
    /// None where oneDNN is not there, or has nothing for this product.
    static std::unique_ptr<DnnProduct> make(const plan::Contraction& contraction, DType dtype);
    ~DnnProduct();
    DnnProduct(const DnnProduct&) = delete;
    DnnProduct& operator=(const DnnProduct&) = delete;

    /// result = left right, of one batch, dense. Addresses are those of the first elements.
    void run(const void* left, const void* right, void* result) const;

   private:
    DnnProduct() = default;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace lazuli::cpu
