#pragma once

/// @file
/// Functions of tensors, compiled once for all sizes their arguments may have.

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lazuli/explanation.h"
#include "lazuli/program.h"
#include "lazuli/tensor.h"

namespace lazuli {

/// A tensor without a value, of sizes that may be variables: what stands for an argument.
/// `placeholder(f32, {dim("b", 1, 64), 768})`. Reading it is an error.
Tensor placeholder(DType dtype, Shape shape);

/// A function that was recorded once, and is planned once for all sizes. Calls from several threads
/// may run at once.
class Function {
   public:
    /// No function.
    Function() = default;

    /// Its results for these arguments, whose sizes say what its variables are. Throws ShapeError,
    /// DTypeError or ArgumentError naming the argument, the variable, its bounds and both values
    /// where they do not fit. An argument that nobody else holds may be overwritten. Where
    /// gradients of an argument are wanted, or of a tensor that the function took from outside, the
    /// results are recorded instead of computed, so that gradients flow through them.
    std::vector<Tensor> call(std::vector<Tensor> arguments) const;
    /// The result of a function that has one.
    template <std::convertible_to<Tensor>... Arguments>
    Tensor operator()(Arguments&&... arguments) const {
        std::vector<Tensor> list;
        list.reserve(sizeof...(arguments));
        (list.push_back(std::forward<Arguments>(arguments)), ...);
        return single(call(std::move(list)));
    }

    /// What was recorded: the arguments come first, then what it took from outside.
    const Program& program() const;
    /// Its kernels, and whether they serve all sizes; where they do not, why. Figures are those of
    /// the sizes it was called with last, or of some.
    Explanation explain() const;
    /// The same for the sizes of these arguments.
    Explanation explain(const std::vector<Tensor>& arguments) const;
    /// The values of its variables it was called with and still has plans for, last ones first.
    std::vector<std::vector<SizeBinding>> bindings_seen() const;
    /// Whether there is a function.
    explicit operator bool() const { return state_ != nullptr; }

   private:
    friend Function compile(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>&,
                            std::vector<TensorSpec>);
    std::vector<Tensor> recorded(std::vector<Tensor> arguments,
                                 std::span<const std::int64_t> sizes) const;
    static Tensor single(std::vector<Tensor> results);
    struct State;
    std::shared_ptr<const State> state_;
};

/// Records a function of some tensors and plans it for all sizes at once. It is called now, with
/// tensors that have no value; tensors it takes from outside are kept. Throws what it throws, and
/// ArgumentError where a variable's value could not be found by the arguments' sizes.
Function compile(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& function,
                 std::vector<TensorSpec> specs);

namespace detail {

inline TensorSpec argument_spec(const TensorSpec& spec) { return spec; }
inline TensorSpec argument_spec(const Tensor& placeholder) { return placeholder.spec(); }

inline std::vector<Tensor> result_list(Tensor result) { return {std::move(result)}; }
inline std::vector<Tensor> result_list(std::vector<Tensor> results) { return results; }

template <class Call, std::size_t... I>
std::vector<Tensor> call_with(const Call& call, const std::vector<Tensor>& arguments,
                              std::index_sequence<I...>) {
    return result_list(call(arguments[I]...));
}

}  // namespace detail

/// The same for a function of that many tensors, with a spec or placeholder for each:
/// `compile([](Tensor x, Tensor w) { return softmax(matmul(x, w)); }, x, w)`. It returns a tensor,
/// or a vector of them.
template <class Call, class... Specs>
    requires(sizeof...(Specs) > 0) && ((std::same_as<std::remove_cvref_t<Specs>, Tensor> ||
                                        std::same_as<std::remove_cvref_t<Specs>, TensorSpec>) &&
                                       ...)
Function compile(const Call& call, const Specs&... specs) {
    return compile(
        [&](const std::vector<Tensor>& arguments) {
            return detail::call_with(call, arguments, std::index_sequence_for<Specs...>());
        },
        {detail::argument_spec(specs)...});
}

/// A function that returns something beside its tensors when it is recorded: `compile_with_aux`
/// hands that on.
template <class Aux>
struct CompiledWithAux {
    Function function;  ///< The tensors' part.
    Aux aux;            ///< What came with them.
};

/// Compiles a function that returns its tensors and something else, which is computed once, when it
/// is recorded: names, shapes, counts.
template <class Call>
auto compile_with_aux(const Call& call, std::vector<TensorSpec> specs) {
    using Both = std::invoke_result_t<const Call&, const std::vector<Tensor>&>;
    std::optional<typename Both::second_type> aux;
    Function function = compile(
        [&](const std::vector<Tensor>& arguments) {
            Both both = call(arguments);
            aux.emplace(std::move(both.second));
            return std::vector<Tensor>(std::move(both.first));
        },
        std::move(specs));
    return CompiledWithAux<typename Both::second_type>{std::move(function), std::move(*aux)};
}

}  // namespace lazuli
