#pragma once

// Vectors and elements, as the kernels of products see them.

#include <type_traits>

namespace lazuli::cpu {

template <class T, int Lanes>
struct VectorOf {
    typedef T type __attribute__((vector_size(Lanes * sizeof(T))));
};

/// An element in the type that is computed in.
template <class T, class From>
T element(const From* at) {
    if constexpr (std::is_same_v<T, From>) {
        return *at;
    } else {
        return static_cast<T>(*at);
    }
}

}  // namespace lazuli::cpu
