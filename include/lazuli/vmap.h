#pragma once

/// @file
/// Functions of one made to functions of many: an axis in front of everything, and no loop.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lazuli/grad.h"
#include "lazuli/tensor.h"

namespace lazuli {

/// What a function gives for each entry along an axis of its arguments, as the entries of a first
/// axis. `axes` says which axis of each argument that is (none: the argument is the same for all);
/// where nothing is said it is the first of every one. The function is recorded once, with tensors
/// that have no value. Throws ShapeError where the axes differ in size.
std::vector<Tensor> vmap_of(const TensorFunction& function, const std::vector<Tensor>& arguments,
                            const std::vector<std::optional<int>>& axes = {});

/// What a function gives for many, with what is the same for all of them still there once.
struct Mapped {
    std::vector<Tensor> results;  ///< Those that differ have an entry each along their first axis.
    std::vector<bool> many;       ///< Of each result, whether it differs.
    Dim count;                    ///< How many there are.
};

/// The same as `vmap_of`, except that a result which stands on no axis of an argument is not
/// repeated. `names` are what messages call the arguments.
Mapped mapped_of(const TensorFunction& function, const std::vector<Tensor>& arguments,
                 const std::vector<std::optional<int>>& axes = {},
                 const std::vector<std::string>& names = {});

/// From a function of tensors that returns one to a function of many.
///
///     vmap([](const Tensor& x, const Tensor& y) { return sum(x * y); })(xs, ys)  // one a row
template <class F>
    requires(!detail::TakesTensorList<F>)
auto vmap(F function, std::vector<std::optional<int>> axes = {}) {
    return [function, axes](const std::convertible_to<Tensor> auto&... arguments) -> Tensor {
        return vmap_of(detail::of_list<sizeof...(arguments)>(function), {arguments...}, axes)[0];
    };
}

}  // namespace lazuli
