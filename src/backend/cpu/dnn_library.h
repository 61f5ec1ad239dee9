#pragma once

// The module src/onednn, opened when it is first wanted.

#include <optional>

#include "onednn/library.h"
#include "plan/contraction.h"

namespace lazuli::cpu {

struct DnnLibrary {
    decltype(&lazuli_dnn_convolution) convolution = nullptr;
    decltype(&lazuli_dnn_lay_out_image) lay_out_image = nullptr;
    decltype(&lazuli_dnn_lay_out_weights) lay_out_weights = nullptr;
    decltype(&lazuli_dnn_convolve) convolve = nullptr;
    decltype(&lazuli_dnn_same_image) same_image = nullptr;
    decltype(&lazuli_dnn_drop) drop = nullptr;
    decltype(&lazuli_dnn_product) product = nullptr;
    decltype(&lazuli_dnn_lay_out_b) lay_out_b = nullptr;
    decltype(&lazuli_dnn_multiply) multiply = nullptr;
    decltype(&lazuli_dnn_drop_product) drop_product = nullptr;
};

/// The module, or null where there is none.
const DnnLibrary* dnn_library();

/// The types of a product as the module knows them.
struct DnnTypes {
    LazuliDnnType left, right, result;
};
/// None where it has no product of these operands with such a result that is exact where it must
/// be; `right` are the weights, `depth` how many products a sum has.
std::optional<DnnTypes> dnn_types(const plan::ProductOperand& left,
                                  const plan::ProductOperand& right, DType result,
                                  std::int64_t depth);

}  // namespace lazuli::cpu
