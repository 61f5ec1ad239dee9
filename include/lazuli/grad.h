#pragma once

/// @file
/// Derivatives of functions of tensors. A function is called with the tensors themselves, so it may
/// look at values on the way; what it records is followed back from its result. The gradient is
/// recorded in turn: nothing is computed before somebody asks, and derivatives of derivatives are
/// taken in the same way.
///
/// Of a complex tensor z = x + iy the gradient is that with x plus i times that with y: the
/// direction in which the result grows fastest.

#include <concepts>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lazuli/function.h"
#include "lazuli/tensor.h"

namespace lazuli {

/// A function of some tensors that returns some. Of several results derivatives take the first, and
/// hand on the others.
using TensorFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// The value of a function, its gradients and what else it returned.
struct ValueAndGrad {
    Tensor value;                   ///< The number that it returned first.
    std::vector<Tensor> gradients;  ///< One a chosen argument.
    std::vector<Tensor> aux = {};   ///< Its other results.
};

/// The value of a function of these arguments and its gradients with respect to the chosen ones
/// (all where none are). Throws ShapeError where the value is not one number, DTypeError where it
/// or a chosen argument is no float, and ArgumentError naming an op on the way that has no
/// gradient.
ValueAndGrad value_and_grad_of(const TensorFunction& function, const std::vector<Tensor>& arguments,
                               std::span<const int> chosen = {});

/// What a function returned, and how cotangents of it flow back to the arguments.
struct Vjp {
    std::vector<Tensor> results;  ///< The function's.
    /// From one cotangent a result (an empty tensor where there is none) to one an argument: the
    /// product of a vector and the Jacobian. May be called several times.
    std::function<std::vector<Tensor>(const std::vector<Tensor>&)> pull;
};

/// Calls a function and keeps how cotangents flow back.
Vjp vjp(const TensorFunction& function, const std::vector<Tensor>& arguments);

/// What a function returned, and how that changes.
struct Jvp {
    std::vector<Tensor> results;   ///< The function's.
    std::vector<Tensor> tangents;  ///< Of each result.
};

/// Calls a function and says how its results change as the arguments move along `tangents` (an
/// empty tensor for one that stays): the product of the Jacobian and a vector.
Jvp jvp(const TensorFunction& function, const std::vector<Tensor>& arguments,
        const std::vector<Tensor>& tangents);

/// Calls a function whose values in between are not kept for its gradient, but computed again when
/// that is: less memory for more work. It is recorded with tensors that have no value.
std::vector<Tensor> checkpoint(const TensorFunction& function,
                               const std::vector<Tensor>& arguments);

/// From arguments, results and a cotangent a result that is a float to one an argument that is: an
/// empty tensor where nothing flows back.
using BackwardFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>& arguments,
                                                           const std::vector<Tensor>& results,
                                                           const std::vector<Tensor>& cotangents)>;

/// Calls a function whose gradient is what another says. Both are recorded with tensors that have
/// no value.
std::vector<Tensor> custom_gradient(const TensorFunction& function,
                                    const BackwardFunction& backward,
                                    const std::vector<Tensor>& arguments);

/// While it lives, what this thread records is nothing that gradients flow through.
class NoGradScope {
   public:
    /// Begins it.
    NoGradScope();
    ~NoGradScope();
    NoGradScope(const NoGradScope&) = delete;
    NoGradScope& operator=(const NoGradScope&) = delete;
};

namespace detail {

template <class F>
concept TakesTensorList = std::invocable<const F&, const std::vector<Tensor>&>;

/// A function of that many tensors as one of a list.
template <std::size_t Count, class F>
TensorFunction of_list(const F& function) {
    return [&function](const std::vector<Tensor>& arguments) {
        return call_with(function, arguments, std::make_index_sequence<Count>());
    };
}

}  // namespace detail

/// From a function of tensors that returns one to the same, whose values in between are computed
/// again for its gradient.
///
///     const auto block = checkpoint([&](const Tensor& x) { return layer(x); });
template <class F>
    requires(!detail::TakesTensorList<F>)
auto checkpoint(F function) {
    return [function](const std::convertible_to<Tensor> auto&... arguments) -> Tensor {
        return checkpoint(detail::of_list<sizeof...(arguments)>(function), {arguments...})[0];
    };
}

/// From a function of tensors that returns one number, or it and other tensors, to a function that
/// returns the number, its gradients with respect to the chosen arguments (all where none are) and
/// the other tensors.
///
///     const auto [loss, gradients, aux] = value_and_grad(f)(x, y);
template <class F>
auto value_and_grad(F function, std::vector<int> chosen = {}) {
    if constexpr (detail::TakesTensorList<F>) {
        return [function, chosen](const std::vector<Tensor>& arguments) {
            return value_and_grad_of(
                [&](const std::vector<Tensor>& list) {
                    return detail::result_list(function(list));
                },
                arguments, chosen);
        };
    } else {
        return [function, chosen](const std::convertible_to<Tensor> auto&... arguments) {
            return value_and_grad_of(detail::of_list<sizeof...(arguments)>(function),
                                     {arguments...}, chosen);
        };
    }
}

/// From a function of tensors that returns one number to its gradient with respect to one argument.
///
///     grad([](const Tensor& x) { return sum(x * x); })(x)  // 2 * x
template <class F>
    requires(!detail::TakesTensorList<F>)
auto grad(F function, int argument = 0) {
    return [function, argument](const std::convertible_to<Tensor> auto&... arguments) -> Tensor {
        return value_and_grad_of(detail::of_list<sizeof...(arguments)>(function), {arguments...},
                                 std::span(&argument, 1))
            .gradients[0];
    };
}
/// The same of a function of a list of tensors: one gradient each, or one each that is chosen.
template <detail::TakesTensorList F>
auto grad(F function, std::vector<int> chosen = {}) {
    return [function, chosen](const std::vector<Tensor>& arguments) -> std::vector<Tensor> {
        return value_and_grad<F>(function, chosen)(arguments).gradients;
    };
}

}  // namespace lazuli
