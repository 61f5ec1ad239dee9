#pragma once

// An example is a line of code, run as a test and printed for readers: both come from the one place
// where it is written. See docs/examples.md for what comes out.

#include <fmt/format.h>

#include <array>
#include <concepts>
#include <functional>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "lazuli/lazuli.h"

namespace examples {

/// One example: the functions it shows, its code as text, what it gives as text, and itself.
struct Example {
    std::vector<std::string> names;
    std::string wanted;
    std::string code;
    std::string file;  // where it is written, with its comments and line breaks
    std::function<std::string()> run;
};

/// The examples of one subject.
using Examples = std::vector<Example>;

/// The names of `cumsum` or `(Shape::rank, Shape::numel)`.
std::vector<std::string> split_names(std::string_view text);

// ---- results as text: the plainest that says the value

std::string text_of(const lazuli::Tensor& tensor);  // its values, as nested lists
std::string text_of(const lazuli::Scalar& value);   // reals with five digits
std::string text_of(const std::string& text);
std::string text_of(lazuli::Truth truth);
std::string text_of(lazuli::Kind kind);

inline std::string text_of(std::string_view text) { return std::string(text); }
inline std::string text_of(const char* text) { return text; }
inline std::string text_of(lazuli::DType dtype) { return std::string(lazuli::name(dtype)); }
inline std::string text_of(const lazuli::Shape& shape) { return shape.str(); }
inline std::string text_of(const lazuli::TensorSpec& spec) { return spec.str(); }
inline std::string text_of(const lazuli::Device& device) { return device.name(); }
inline std::string text_of(lazuli::Expr expr) { return expr.str(); }
inline std::string text_of(lazuli::Dim dim) { return dim.str(); }
inline std::string text_of(lazuli::Bounds b) { return fmt::format("{} to {}", b.low, b.high); }
/// A program's text ends in a line break, which a comment need not have.
inline std::string text_of(const lazuli::Program& program) {
    std::string text = program.str();
    while (text.ends_with('\n')) text.pop_back();
    return text;
}
template <class T>
    requires lazuli::Element<T> || std::integral<T>
std::string text_of(T value) {
    return text_of(lazuli::Scalar(value));
}
template <class T>
std::string text_of(const std::optional<T>& value);
template <class... Ts>
std::string text_of(const std::tuple<Ts...>& values);
template <class A, class B>
std::string text_of(const std::pair<A, B>& values);
template <std::ranges::input_range R>
std::string text_of(const R& values);

template <class T>
std::string text_of(const std::optional<T>& value) {
    return value ? text_of(*value) : "none";
}
template <class... Ts>
std::string text_of(const std::tuple<Ts...>& values) {
    std::string out;
    std::apply(
        [&](const auto&... v) { ((out += (out.empty() ? "" : ", "), out += text_of(v)), ...); },
        values);
    return out;
}
template <class A, class B>
std::string text_of(const std::pair<A, B>& values) {
    return text_of(values.first) + ", " + text_of(values.second);
}
template <std::ranges::input_range R>
std::string text_of(const R& values) {
    std::string out;
    for (const auto& v : values) out += (out.empty() ? "" : ", ") + text_of(v);
    return "[" + out + "]";
}

/// What code gives, as text. Code of several lines is written as a function without arguments,
/// which is called. Code that throws gives the error's class and message.
std::string guarded(const std::function<std::string()>& run);
template <class Code>
std::string result_of(const Code& code) {
    return guarded([&]() -> std::string {
        using Result = std::invoke_result_t<const Code&>;
        if constexpr (std::is_void_v<Result>) {
            code();
            return "";
        } else if constexpr (std::same_as<Result, lazuli::Tensor>) {  // which can be called too
            return text_of(code());
        } else if constexpr (std::invocable<Result>) {
            if constexpr (std::is_void_v<std::invoke_result_t<Result>>) {
                code()();
                return "";
            } else {
                return text_of(code()());
            }
        } else {
            return text_of(code());
        }
    });
}

/// What code writes to standard output, without the last line break.
std::string printed(const std::function<void()>& code);

/// A path for an example's file, which is removed at the end.
class ScratchFile {
   public:
    ScratchFile();
    ~ScratchFile();
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;
    const std::string& path() const { return path_; }

   private:
    std::string path_;
};

// ---- the subjects

Examples tensors();
Examples factories();
Examples elementwise();
Examples reductions();
Examples movement();
Examples data();
Examples datasets();
Examples modules();
Examples optimisers();
Examples training();
Examples networks();
Examples rwkv7();
Examples linear_algebra();
Examples fourier();
Examples random_numbers();
Examples control();
Examples gradients();
Examples compiled();
Examples functional();
Examples programs();
Examples types();
Examples views();
Examples backends();

/// A section of the page.
struct Subject {
    const char* title;
    const char* about;
    Examples (*examples)();
};
/// All of them, in the order of the page.
std::span<const Subject> subjects();

/// An op that nobody calls by its name, and what stands for it.
struct WithoutFunction {
    std::string_view name;
    std::string_view reason;
};
std::span<const WithoutFunction> ops_without_function();

/// Prints the page of all examples; returns what the program is to return.
int print_page();

}  // namespace examples

/// LAZULI_EXAMPLE(cumsum, "[1, 3, 6]", cumsum(Tensor{1.0, 2.0, 3.0}));
/// In a function that has `Examples examples` and `using namespace lazuli`: the name of the
/// function that is shown, or several in parentheses; the text of the result; the code.
#define LAZULI_EXAMPLE(names, wanted, ...)                                               \
    examples.push_back({::examples::split_names(#names), wanted, #__VA_ARGS__, __FILE__, \
                        [] { return ::examples::result_of([] { return (__VA_ARGS__); }); }})
