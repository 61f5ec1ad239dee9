// Seconds that evaluations take where nobody watches, a line each: bench/untraced.py runs this
// beside a build that cannot watch at all.

#include <fmt/format.h>

#include <chrono>

#include "lazuli/lazuli.h"

namespace {

using lazuli::Tensor;

double seconds_of(int times, const auto& body) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
}

void report(const char* name, int times, const auto& body) {
    for (int i = 0; i < times / 4; ++i) body();
    fmt::print("{} {:.4g}\n", name, seconds_of(times, body));
}

}  // namespace

int main() {
    const Tensor small = lazuli::ones({16}).eval();
    report("add_16", 60'000, [&] { (small + small).eval(); });
    const Tensor matrix = lazuli::ones({8, 8}).eval();
    report("products_100", 600, [&] {
        Tensor x = matrix;
        for (int i = 0; i < 100; ++i) x = lazuli::matmul(x, matrix) * 0.125;
        x.eval();
    });
    const Tensor large = lazuli::ones({1024, 1024}).eval();
    report("softmax_1M", 60, [&] { lazuli::softmax(large, -1).eval(); });
}
