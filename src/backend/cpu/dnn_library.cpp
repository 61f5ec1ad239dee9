#include "backend/cpu/dnn_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "backend/cpu/modules.h"
#include "base/env.h"

namespace lazuli::cpu {

const DnnLibrary* dnn_library() {
    static const std::unique_ptr<DnnLibrary> opened = []() -> std::unique_ptr<DnnLibrary> {
        const std::string given = env::text(env::Var::onednn);
        if (given == "0") return nullptr;
        const auto place = find_module("lazuli-onednn.so", given);
        if (place.empty()) return nullptr;
        void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
        auto out = std::make_unique<DnnLibrary>();
        const auto find = [&](auto& function, const char* name) {
            function =
                reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
            return function != nullptr;
        };
        if (handle == nullptr || !find(out->convolution, "lazuli_dnn_convolution") ||
            !find(out->lay_out_image, "lazuli_dnn_lay_out_image") ||
            !find(out->lay_out_weights, "lazuli_dnn_lay_out_weights") ||
            !find(out->convolve, "lazuli_dnn_convolve") || !find(out->drop, "lazuli_dnn_drop") ||
            !find(out->same_image, "lazuli_dnn_same_image") ||
            !find(out->product, "lazuli_dnn_product") ||
            !find(out->lay_out_b, "lazuli_dnn_lay_out_b") ||
            !find(out->multiply, "lazuli_dnn_multiply") ||
            !find(out->drop_product, "lazuli_dnn_drop_product")) {
            const char* why = dlerror();
            fmt::print(stderr, "lazuli: oneDNN is there and cannot be used: {}\n",
                       why != nullptr ? why : place.string());
            return nullptr;
        }
        return out;
    }();
    return opened.get();
}

std::optional<DnnTypes> dnn_types(const plan::ProductOperand& left,
                                  const plan::ProductOperand& right, DType result,
                                  std::int64_t depth) {
    if (result == DType::f32) return DnnTypes{LAZULI_DNN_F32, LAZULI_DNN_F32, LAZULI_DNN_F32};
    if (result == DType::bf16) return DnnTypes{LAZULI_DNN_BF16, LAZULI_DNN_BF16, LAZULI_DNN_BF16};
    // Where processors lack the instruction for it, sums of two products of bytes are cut off at
    // the bounds of i16.
    const bool bytes = size_of(left.dtype) == 1 && right.dtype == DType::i8;
    if (!bytes || __builtin_cpu_supports("avx512vnni") == 0) return std::nullopt;
    // On its way out the library has sums as f32, which are exact up to here.
    constexpr std::int64_t kExact = std::int64_t{1} << 24;
    if (depth > kExact / ((left.dtype == DType::u8 ? 255 : 128) * 128)) return std::nullopt;
    return DnnTypes{left.dtype == DType::u8 ? LAZULI_DNN_U8 : LAZULI_DNN_I8, LAZULI_DNN_I8,
                    LAZULI_DNN_I32};
}

}  // namespace lazuli::cpu
