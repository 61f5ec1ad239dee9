// Kernels with variables beside kernels of the numbers: the same function, compiled for all sizes
// and recorded with these, turn by turn in one run. And what binding adds to a call. With a word,
// the kernels of that name at all sizes; with two, at one size: bench-symbolic softmax 7x33

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>

#include "blocks.h"
#include "lazuli/lazuli.h"

namespace {

using lazuli::Dim;
using lazuli::Function;
using lazuli::Shape;
using lazuli::Tensor;
using Tensors = std::vector<Tensor>;

double seconds_of(const auto& body) {
    const auto start = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double>& values) {
    std::nth_element(values.begin(),
                     values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

/// Medians of both, turn by turn.
struct Both {
    double numbers;
    double variables;
};
Both measured(double budget, const auto& numbers, const auto& variables) {
    numbers();
    variables();
    lazuli::finish_compiling();
    numbers();
    const double once = std::max(seconds_of(variables), 1e-7);
    // Short runs are measured several at a time.
    const int batch = static_cast<int>(std::clamp(2e-5 / once, 1.0, 100.0));
    const int turns = static_cast<int>(std::clamp(budget / (2 * once * batch), 9.0, 401.0));
    std::vector<double> a;
    std::vector<double> b;
    for (int i = 0; i < turns; ++i) {
        a.push_back(seconds_of([&] {
                        for (int k = 0; k < batch; ++k) numbers();
                    }) /
                    batch);
        b.push_back(seconds_of([&] {
                        for (int k = 0; k < batch; ++k) variables();
                    }) /
                    batch);
    }
    return {median(a), median(b)};
}

struct Bench {
    const char* name;
    std::function<Tensor(const Tensor&)> of;
};

std::vector<Bench> benches() {
    using namespace lazuli;
    return {
        {"chain", [](const Tensor& x) { return relu(x * 2 + 1) * x - 3; }},
        {"tanh chain", [](const Tensor& x) { return tanh(x * 0.5F) * 2 + tanh(x); }},
        {"sum of rows", [](const Tensor& x) { return x.sum({1}); }},
        {"sum of columns", [](const Tensor& x) { return x.sum({0}); }},
        {"softmax", [](const Tensor& x) { return softmax(x, -1); }},
        {"softmax first", [](const Tensor& x) { return softmax(x, 0); }},
        {"rms norm", [](const Tensor& x) { return rms_norm(x, ones({x.shape().dim(1)})); }},
        {"transpose", [](const Tensor& x) { return x.permute({1, 0}) + 1; }},
    };
}

}  // namespace

int main(int argc, char** argv) {
    using namespace lazuli;
    // What is compared is plans for all sizes with plans of the numbers.
    set_generalising(false);
    set_specialising(false);
    const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
    const std::string_view only = argc > 1 && !quick ? argv[1] : "";
    const std::string_view only_size = argc > 2 ? argv[2] : "";
    const std::pair<std::int64_t, std::int64_t> sizes[] = {{1, 1000},    {7, 33},     {64, 64},
                                                           {100, 257},   {512, 512},  {777, 1031},
                                                           {2048, 2048}, {4099, 4097}};
    const Dim rows = dim("rows", 1, 1 << 20);
    const Dim columns = dim("columns", 1, 1 << 20);
    fmt::print("{:<16} {:>12} {:>12} {:>12} {:>8}\n", "kernel", "shape", "numbers us",
               "variables us", "speed");
    double least = 1e9;
    double logs = 0;
    int count = 0;
    for (const Bench& c : benches()) {
        if (!only.empty() && only != c.name) continue;
        const Function f = compile(c.of, placeholder(f32, {rows, columns}));
        for (const auto& [m, n] : sizes) {
            const std::string size = fmt::format("{}x{}", m, n);
            if ((quick && m * n > 30'000) || (!only_size.empty() && only_size != size)) continue;
            const Tensor x = blocks::Weights(1)({m, n}).eval();
            const Both both =
                measured(quick ? 0.01 : 0.4, [&] { c.of(x).eval(); }, [&] { (void)f(x); });
            const double speed = both.numbers / both.variables;
            least = std::min(least, speed);
            logs += std::log(speed);
            ++count;
            fmt::print("{:<16} {:>12} {:>12.2f} {:>12.2f} {:>8.3f}\n", c.name, size,
                       1e6 * both.numbers, 1e6 * both.variables, speed);
        }
    }
    if (count > 0)
        fmt::print(
            "speed with variables: {:.3f} of that with numbers (geometric mean of {}), least "
            "{:.3f}\n\n",
            std::exp(logs / count), count, least);
    if (!only.empty() && only != "call") return 0;

    // A hundred kernels that take no time: what is left is the call.
    const auto steps = [](const Tensor& x) {
        Tensor y = x;
        for (int i = 0; i < 100; ++i) y = (y - y.max({1}, true)) * 1.5F;
        return y;
    };
    const Function f = compile(steps, placeholder(f32, {rows, columns}));
    const Tensor x = blocks::Weights(1)({3, 5}).eval();
    const Function g = compile(steps, placeholder(f32, {3, 5}));
    const Both calls = measured(quick ? 0.02 : 1, [&] { (void)g(x); }, [&] { (void)f(x); });
    fmt::print("a call of {} kernels: {:.2f} us with numbers, {:.2f} us bound: {:+.2f} us\n",
               f.explain({x}).kernels.size(), 1e6 * calls.numbers, 1e6 * calls.variables,
               1e6 * (calls.variables - calls.numbers));
    const Both recorded = measured(quick ? 0.02 : 1, [&] { steps(x).eval(); }, [&] { (void)f(x); });
    fmt::print("recorded and evaluated with numbers: {:.2f} us\n", 1e6 * recorded.numbers);
    std::int64_t next = 100;
    const double anew = seconds_of([&] { (void)f(blocks::Weights(1)({2, ++next})); });
    fmt::print("a call at sizes it did not see before: {:.2f} us\n", 1e6 * anew);
}
