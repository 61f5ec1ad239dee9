// Products of matrices and what is built of them.

#include <fmt/format.h>

#include <vector>

#include "cli/bench.h"

namespace lazuli::bench {

namespace {

struct Product {
    std::int64_t m, n, k;
    DType dtype;
    bool fused = false;       // with bias and gelu
    bool transposed = false;  // the second operand lies column by column
};

double count(std::initializer_list<std::int64_t> sizes) {
    double out = 1;
    for (const std::int64_t size : sizes) out *= static_cast<double>(size);
    return out;
}

Tensor drawn_bytes(std::uint64_t seed, const Shape& shape) {
    return ((drawn(seed, shape, f32) * 30.0).round().cast(i8)).eval();
}

Work product_work(const Product& p) {
    const Tensor a = drawn(5, {p.m, p.k}, p.dtype);
    const Tensor held = drawn(6, p.transposed ? Shape{p.n, p.k} : Shape{p.k, p.n}, p.dtype);
    const Tensor b = p.transposed ? held.permute({1, 0}) : held;
    const Tensor bias = drawn(7, {p.n}, p.dtype);
    Work out{
        .run =
            [=] {
                (void)(p.fused ? a.matmul_bias(b, bias, Activation::gelu) : a.matmul(b)).eval();
            },
        .flops = 2 * count({p.m, p.n, p.k}),
        .factors = p.dtype};
    if (p.fused) out.outputs = count({p.m, p.n});
    // A few rows: reading the matrix is the work.
    if (p.m <= 8) out.streams = {1, 0, count({p.k, p.n}) * static_cast<double>(size_of(p.dtype))};
    return out;
}

Case product_case(const std::string& name, const std::string& about, const Product& p,
                  const std::string& beside = "") {
    return {name, about, [=] { return product_work(p); }, beside};
}

Group squares(const Setup& setup, DType dtype) {
    Group out{fmt::format("products, {}", name(dtype)), {}};
    for (std::int64_t n : {512, 1024, 2048, 4096}) {
        if (setup.quick) n /= 8;
        const std::string bare = fmt::format("matmul/{}/{}", name(dtype), n);
        out.cases.push_back(product_case(bare, "a @ b, square", {n, n, n, dtype}));
        out.cases.push_back(product_case(fmt::format("matmul_bias_gelu/{}/{}", name(dtype), n),
                                         "gelu(a @ b + bias), square", {n, n, n, dtype, true},
                                         bare));
    }
    const std::int64_t n = setup.quick ? 128 : 1024;
    out.cases.push_back(product_case(fmt::format("matmul_nt/{}/{}", name(dtype), n), "a @ b.T",
                                     {n, n, n, dtype, false, true}));
    return out;
}

/// Bytes, summed up in i32 and scaled: what a quantised layer does.
Group bytes(const Setup& setup) {
    Group out{"products of bytes, i8", {}};
    for (std::int64_t n : {512, 1024, 2048, 4096}) {
        if (setup.quick) n /= 8;
        out.cases.push_back({fmt::format("matmul/i8/{}", n), "a @ b in i32, square", [=] {
                                 const Tensor a = drawn_bytes(5, {n, n});
                                 const Tensor b = drawn_bytes(6, {n, n});
                                 return Work{
                                     .run = [=] { (void)a.cast(i32).matmul(b.cast(i32)).eval(); },
                                     .flops = 2 * count({n, n, n})};
                             }});
    }
    const std::int64_t n = setup.quick ? 256 : 4096;
    out.cases.push_back(
        {fmt::format("gemv/i8/{}", sizes_text({1, n, n})), "one row by a matrix, scaled to f32",
         [=] {
             const Tensor a = drawn_bytes(5, {1, n});
             const Tensor b = drawn_bytes(6, {n, n});
             const double size = count({n, n});
             return Work{
                 .run = [=] { (void)(a.cast(i32).matmul(b.cast(i32)).cast(f32) * 0.01).eval(); },
                 .streams = {1, 0, size},
                 .flops = 2 * size,
                 .factors = i8};
         }});
    return out;
}

Group rows_by_matrix(const Setup& setup, DType dtype) {
    const std::int64_t n = setup.quick ? 256 : 4096;
    Group out{fmt::format("a few rows by a matrix, {}", name(dtype)), {}};
    for (std::int64_t m = 1; m <= 8; ++m)
        out.cases.push_back(
            product_case(fmt::format("gemv/{}/{}", name(dtype), sizes_text({m, n, n})),
                         fmt::format("{} rows by {} x {}", m, n, n), {m, n, n, dtype}));
    out.cases.push_back(product_case(
        fmt::format("gemv_nt/{}/{}", name(dtype), sizes_text({1, n, n})),
        "one row by a matrix that lies column by column", {1, n, n, dtype, false, true}));
    return out;
}

// ---- convolutions

struct Convolution {
    std::int64_t in, out, size, window;
};

// The shapes of ResNet-50 behind its first layer, one of each kind and stage.
constexpr Convolution kResNet[] = {
    {64, 64, 56, 3},    {128, 128, 28, 3},  {256, 256, 14, 3}, {512, 512, 7, 3},
    {64, 256, 56, 1},   {256, 64, 56, 1},   {128, 512, 28, 1}, {512, 128, 28, 1},
    {256, 1024, 14, 1}, {1024, 256, 14, 1}, {512, 2048, 7, 1}, {2048, 512, 7, 1},
};

Group convolutions(const Setup& setup, std::int64_t images) {
    Group out{fmt::format("convolutions of ResNet-50, f32, a batch of {}", images), {}};
    for (const Convolution& c : kResNet) {
        if (setup.quick && c.size > 7) continue;
        const std::string name = fmt::format("conv{0}x{0}/f32/{1}x{2}x{3}x{3}to{4}", c.window,
                                             images, c.in, c.size, c.out);
        out.cases.push_back(
            {name, "images x channels x height x width to channels", [c, images] {
                 const Tensor x = drawn(8, {images, c.in, c.size, c.size}, f32);
                 const Tensor w = drawn(9, {c.out, c.in, c.window, c.window}, f32);
                 const std::int64_t around = c.window / 2;
                 return Work{
                     .run = [=] { (void)x.convolution(w, {1, 1}, {around, around}).eval(); },
                     .flops = 2 * count({images, c.out, c.size, c.size, c.in, c.window, c.window})};
             }});
    }
    return out;
}

// ---- composites of products

Group composites(const Setup& setup) {
    Group out{"LoRA and attention, f32", {}};
    const std::int64_t rows = 128;
    const std::int64_t width = 512;
    const std::int64_t rank = 8;
    const std::string lora = fmt::format("lora/f32/{}x{}r{}", rows, width, rank);
    out.cases.push_back({lora, "x @ w + (x @ a) @ b", [=] {
                             const Tensor x = drawn(10, {rows, width}, f32);
                             const Tensor w = drawn(11, {width, width}, f32);
                             const Tensor a = drawn(12, {width, rank}, f32);
                             const Tensor b = drawn(13, {rank, width}, f32);
                             return Work{.run = [=] { (void)x.lora(w, a, b, 0.5).eval(); },
                                         .flops = 2 * count({rows, width, width + 2 * rank})};
                         }});
    const std::int64_t heads = 8;
    const std::int64_t length = setup.quick ? 64 : 1024;
    const std::int64_t depth = 64;
    for (const bool causal : {false, true})
        out.cases.push_back(
            {fmt::format("attention{}/f32/{}", causal ? "_causal" : "",
                         sizes_text({heads, length, depth})),
             causal ? "heads x length x depth, each query sees the keys up to its own"
                    : "heads x length x depth",
             [=] {
                 const Shape shape{heads, length, depth};
                 const Tensor q = drawn(14, shape, f32);
                 const Tensor k = drawn(15, shape, f32);
                 const Tensor v = drawn(16, shape, f32);
                 return Work{.run = [=] { (void)q.attention(k, v, Tensor(), 0, causal).eval(); },
                             .flops = 4 * count({heads, length, length, depth}) / (causal ? 2 : 1)};
             }});
    return out;
}

}  // namespace

std::vector<Group> product_groups(const Setup& setup) {
    std::vector<Group> out;
    for (const DType dtype : {f32, bf16}) out.push_back(squares(setup, dtype));
    out.push_back(bytes(setup));
    for (const DType dtype : {f32, bf16}) out.push_back(rows_by_matrix(setup, dtype));
    for (const std::int64_t images : {1, 8}) {
        if (!setup.quick || images == 1) out.push_back(convolutions(setup, images));
    }
    out.push_back(composites(setup));
    return out;
}

}  // namespace lazuli::bench
