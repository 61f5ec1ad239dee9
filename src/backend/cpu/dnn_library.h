#pragma once

// The module src/onednn, opened when it is first wanted.

#include "onednn/library.h"

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

}  // namespace lazuli::cpu
