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

}  // namespace lazuli::cpu
