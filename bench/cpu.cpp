// What the CPU backend makes of the machine: kernels on 4096 x 8192 beside what a copy achieves,
// and products of matrices beside what multiplying registers achieves.
//
//   bench-cpu [--dtype f32|bf16] [--rows N] [--columns N] [--filter TEXT] [--products] [--json]

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lazuli/lazuli.h"
#include "runtime/pool.h"

namespace {

using namespace lazuli;

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

struct Times {
    double median = 0;
    double least = 0;
};

/// Seconds an evaluation takes, plans found and buffers used before.
Times time_of(const std::function<Tensor()>& make, int repetitions) {
    for (int i = 0; i < 2; ++i) (void)make().eval();
    std::vector<double> seconds;
    for (int i = 0; i < repetitions; ++i) {
        const double start = now();
        (void)make().eval();
        seconds.push_back(now() - start);
    }
    std::sort(seconds.begin(), seconds.end());
    return {seconds[seconds.size() / 2], seconds[0]};
}

/// The operands of one size.
struct Operands {
    Operands(std::int64_t rows, std::int64_t columns, DType dtype) : rows(rows), columns(columns) {
        const auto drawn = [&](std::uint64_t k, Shape shape) {
            return key(k).random_uniform(shape).cast(dtype).eval();
        };
        // One row and one column of random numbers: drawing all of them takes longer than all else.
        const Tensor down = drawn(1, {rows, 1});
        const Tensor across = drawn(2, {1, columns});
        x = (down + across).eval();
        y = (down * across).eval();
        weight = drawn(3, {columns});
        bias = drawn(4, {columns});
    }
    double elements() const { return static_cast<double>(rows) * static_cast<double>(columns); }
    std::int64_t rows;
    std::int64_t columns;
    Tensor x, y, weight, bias;
};

struct Row {
    const char* name;
    double moved;  // elements read and written, as multiples of the operand's
    std::function<Tensor(const Operands&)> make;
};

Tensor chain(const Operands& o, bool with_tanh) {
    Tensor z = o.x;
    for (int i = 0; i < 10; ++i) {
        z = z * o.y + 0.5;
        if (with_tanh) z = z.tanh();
        z = z - o.y;
    }
    return z;
}

const Row kRows[] = {
    {"copy", 2, [](const Operands& o) { return o.x.abs(); }},
    {"add", 3, [](const Operands& o) { return o.x + o.y; }},
    {"read (max)", 1, [](const Operands& o) { return o.x.max(); }},
    {"10 x tanh(x*y+0.5)-y", 3, [](const Operands& o) { return chain(o, true); }},
    {"10 x (x*y+0.5)-y", 3, [](const Operands& o) { return chain(o, false); }},
    {"sum((x-y)^2)", 2,
     [](const Operands& o) {
         const Tensor d = o.x - o.y;
         return (d * d).sum();
     }},
    {"softmax", 2, [](const Operands& o) { return o.x.softmax(); }},
    {"rms_norm", 2, [](const Operands& o) { return o.x.rms_norm(o.weight); }},
    {"layer_norm", 2, [](const Operands& o) { return o.x.layer_norm(o.weight, o.bias); }},
    {"softmax, first axis", 2, [](const Operands& o) { return o.x.softmax(0); }},
    {"transposed add", 3,
     [](const Operands& o) { return o.x.reshape({o.columns, o.rows}).permute({1, 0}) + o.y; }},
};

// ---- products

typedef float Vector __attribute__((vector_size(64)));

/// As many multiplications and additions as fit between two points in time, none waiting for
/// another.
__attribute__((target("avx512f"))) float fma_loop_512(std::int64_t rounds) {
    const Vector factor = Vector{} + 1.0000001F;
    // All different: equal sums would be computed once.
    Vector a = factor, b = a + 1, c = b + 1, d = c + 1, e = d + 1, f = e + 1, g = f + 1, h = g + 1,
           i = h + 1, j = i + 1, k = j + 1, l = k + 1;
    for (std::int64_t n = 0; n < rounds; ++n) {
        a = a * factor + factor, b = b * factor + factor, c = c * factor + factor;
        d = d * factor + factor, e = e * factor + factor, f = f * factor + factor;
        g = g * factor + factor, h = h * factor + factor, i = i * factor + factor;
        j = j * factor + factor, k = k * factor + factor, l = l * factor + factor;
        asm volatile("" ::: "memory");
    }
    const Vector all = a + b + c + d + e + f + g + h + i + j + k + l;
    return all[0];
}

/// Floating-point operations a second of all threads; 0 where the processor has no AVX-512.
double fma_peak() {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") == 0) return 0;
    constexpr std::int64_t kRounds = 20'000'000;
    double best = 0;
    for (int repetition = 0; repetition < 3; ++repetition) {
        const double start = now();
        std::vector<std::thread> threads;
        const int count = runtime::thread_count();
        for (int i = 0; i < count; ++i)
            threads.emplace_back([] {
                volatile float kept = fma_loop_512(kRounds);
                (void)kept;
            });
        for (std::thread& thread : threads) thread.join();
        best = std::max(best, 2.0 * 16 * 12 * kRounds * count / (now() - start));
    }
    return best;
}

struct ProductRow {
    std::string name;
    std::int64_t m, n, k;
    bool fused = false;       // with bias and gelu
    bool transposed = false;  // the second operand lies column by column
};

void run_products(DType dtype, bool json, std::string& list) {
    const double peak = fma_peak();
    if (!json)
        fmt::print(
            "\nproducts of {}; registers alone: {:.0f} GFLOP/s\n{:<28} {:>10} {:>10} {:>10} "
            "{:>10}\n",
            name(dtype), peak / 1e9, "", "median ms", "GFLOP/s", "GB/s", "of peak");
    std::vector<ProductRow> rows;
    for (const std::int64_t n : {512, 1024, 2048, 4096})
        rows.push_back({fmt::format("matmul {}", n), n, n, n});
    rows.push_back({"matmul 1024 + bias, gelu", 1024, 1024, 1024, true});
    rows.push_back({"matmul 1024, transposed", 1024, 1024, 1024, false, true});
    rows.push_back({"1 row x 4096 x 4096", 1, 4096, 4096});
    rows.push_back({"1 row x 4096 x 4096, tr.", 1, 4096, 4096, false, true});
    for (const ProductRow& row : rows) {
        const Tensor a = key(5).random_uniform({row.m, row.k}).cast(dtype).eval();
        const Shape shape = row.transposed ? Shape{row.n, row.k} : Shape{row.k, row.n};
        const Tensor held = key(6).random_uniform(shape).cast(dtype).eval();
        const Tensor b = row.transposed ? held.permute({1, 0}) : held;
        const Tensor bias = key(7).random_uniform({row.n}).cast(dtype).eval();
        const Times times = time_of(
            [&] { return row.fused ? a.matmul_bias(b, bias, Activation::gelu) : a.matmul(b); },
            row.k * row.n * row.m > (std::int64_t{1} << 33) ? 5 : 21);
        const auto mnk = static_cast<double>(row.m) * static_cast<double>(row.n * row.k);
        const double bytes = static_cast<double>(size_of(dtype)) *
                             static_cast<double>(row.m * row.k + row.k * row.n + row.m * row.n);
        if (json) {
            list += fmt::format(
                ",\n {{\"name\": \"{}\", \"median_us\": {:.1f}, \"min_us\": {:.1f}, "
                "\"gb_s\": {:.2f}, \"gflop_s\": {:.1f}, \"share_of_limit\": {:.3f}}}",
                row.name, 1e6 * times.median, 1e6 * times.least, bytes / times.least / 1e9,
                2 * mnk / times.least / 1e9, peak > 0 ? 2 * mnk / times.least / peak : 0);
        } else {
            fmt::print("{:<28} {:>10.3f} {:>10.1f} {:>10.1f} {:>9.0f}%\n", row.name,
                       1e3 * times.median, 2 * mnk / times.least / 1e9, bytes / times.least / 1e9,
                       peak > 0 ? 200 * mnk / times.least / peak : 0);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::int64_t rows = 4096;
    std::int64_t columns = 8192;
    DType dtype = f32;
    std::string filter;
    bool json = false;
    bool products = false;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        const auto next = [&]() -> std::string { return i + 1 < argc ? argv[++i] : ""; };
        if (word == "--rows") {
            rows = std::stoll(next());
        } else if (word == "--columns") {
            columns = std::stoll(next());
        } else if (word == "--dtype") {
            dtype = next() == "bf16" ? bf16 : f32;
        } else if (word == "--filter") {
            filter = next();
        } else if (word == "--products") {
            products = true;
        } else if (word == "--json") {
            json = true;
        } else {
            fmt::print(stderr, "bench-cpu: {}?\n", word);
            return 2;
        }
    }
    set_default_device(Device("cpu"));
    const Operands large(rows, columns, dtype);
    const auto size = static_cast<double>(size_of(dtype));
    if (!json)
        fmt::print("{} [{}, {}]\n{:<24} {:>10} {:>10} {:>8} {:>10}\n", name(dtype), rows, columns,
                   "", "median ms", "least ms", "GB/s", "of limit");
    std::string list;
    double copy_speed = 0;  // bytes a second
    for (const Row& row : kRows) {
        if (!filter.empty() && std::string_view(row.name).find(filter) == std::string_view::npos &&
            std::string_view(row.name) != "copy")
            continue;
        if (isatty(STDERR_FILENO) != 0 && !json) fmt::print(stderr, "{} ...\r", row.name);
        const Times times = time_of([&] { return row.make(large); }, 9);
        const double bytes = row.moved * large.elements() * size;
        if (std::string_view(row.name) == "copy") copy_speed = bytes / times.least;
        const double limit = bytes / copy_speed;
        if (json) {
            list += fmt::format(
                "{}{{\"name\": \"{}\", \"median_us\": {:.1f}, \"min_us\": {:.1f}, \"gb_s\": "
                "{:.2f}, "
                "\"share_of_limit\": {:.3f}}}",
                list.empty() ? "" : ",\n ", row.name, 1e6 * times.median, 1e6 * times.least,
                bytes / times.least / 1e9, limit / times.least);
        } else {
            fmt::print("{:<24} {:>10.2f} {:>10.2f} {:>8.1f} {:>9.0f}%\n", row.name,
                       1e3 * times.median, 1e3 * times.least, bytes / times.least / 1e9,
                       100 * limit / times.least);
        }
    }
    if (!json) fmt::print("of limit: the same bytes at the speed of the copy in this run\n");
    if (products) run_products(dtype, json, list);
    if (json) fmt::print("[{}]\n", list);
}
