// Kernels whose shapes fill vectors and tiles, as machine code and interpreted: the same bits.

#include <gtest/gtest.h>

#include <cstring>

#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

using Make = std::function<Tensor(const Tensor& x, const Tensor& y)>;

struct Work {
    const char* name;
    Make make;
};

const Work kWork[] = {
    {"chain", [](const Tensor& x, const Tensor& y) { return (x * y + 0.5).tanh() - y; }},
    {"transposed add",
     [](const Tensor& x, const Tensor& y) {
         return x.permute({1, 0}) + y.permute({1, 0}).contiguous();
     }},
    {"transposed copy",
     [](const Tensor& x, const Tensor&) { return x.permute({1, 0}).contiguous(); }},
    {"flipped and transposed",
     [](const Tensor& x, const Tensor& y) {
         return x.flip(0).permute({1, 0}).exp() + y.permute({1, 0}).flip(1);
     }},
    {"softmax", [](const Tensor& x, const Tensor&) { return x.softmax(); }},
    {"softmax of the first axis", [](const Tensor& x, const Tensor&) { return x.softmax(0); }},
    {"norm of rows",
     [](const Tensor& x, const Tensor& y) {
         return (x - x.mean(1, true)) / (y.mean(1, true) + 1.0);
     }},
    {"norm of columns",
     [](const Tensor& x, const Tensor& y) { return x / (y.sum(0, true) + 1.0); }},
    {"sum of all", [](const Tensor& x, const Tensor& y) { return (x - y).abs().sum(); }},
    {"sum of all, spread", [](const Tensor& x, const Tensor&) { return x / x.sum(); }},
    {"padded", [](const Tensor& x,
                  const Tensor& y) { return x.pad({1, 2}, {3, 4}, 2.5) * y.pad({1, 2}, {3, 4}); }},
    {"every second",
     [](const Tensor& x, const Tensor& y) {
         return x.slice({0, 0}, {INT32_MAX, INT32_MAX}, {1, 2}) +
                y.slice({0, 0}, {INT32_MAX, INT32_MAX}, {1, 2});
     }},
    {"reshaped across rows",
     [](const Tensor& x, const Tensor& y) {
         return x.reshape({-1}).exp() - y.permute({1, 0}).reshape({-1});
     }},
    {"three axes",
     [](const Tensor& x, const Tensor& y) {
         const std::int64_t n = x.shape()[0];
         return x.reshape({n, 1, -1}) + y.reshape({1, n, -1}).slice({0, 0, 0}, {1, 5, INT32_MAX});
     }},
    {"joined", [](const Tensor& x, const Tensor& y) { return concat({x, y * 2, x}, 1); }},
    {"gathered",
     [](const Tensor& x, const Tensor& y) { return x.gather((y * 3).cast(i32), 0).max(2); }},
};

/// The bytes of what `work` computes on a device.
std::vector<unsigned char> bytes_on(const char* device, const Work& work, DType dtype,
                                    Shape shape) {
    const auto drawn = [&](std::uint64_t k) {
        return key(k).random_uniform(shape).to(Device()).cast(f64).cast(dtype).eval().to(
            Device(device));
    };
    const Tensor result = work.make(drawn(1), drawn(2)).contiguous().to(Device()).eval();
    std::vector<unsigned char> out(static_cast<std::size_t>(result.spec().nbytes()));
    const Tensor bytes = result.dtype() == f32   ? result.bitcast(u32)
                         : result.dtype() == f64 ? result.bitcast(u64)
                                                 : result.bitcast(u16);
    if (bytes.dtype() == u32) std::memcpy(out.data(), bytes.data<std::uint32_t>(), out.size());
    if (bytes.dtype() == u64) std::memcpy(out.data(), bytes.data<std::uint64_t>(), out.size());
    if (bytes.dtype() == u16) std::memcpy(out.data(), bytes.data<std::uint16_t>(), out.size());
    return out;
}

TEST(CompiledKernels, GiveTheSameBitsAsInterpretedOnes) {
    for (const Work& work : kWork) {
        for (const DType dtype : {f32, bf16, f64}) {
            for (const Shape& shape :
                 {Shape{7, 5}, Shape{70, 130}, Shape{128, 64}, Shape{33, 300}}) {
                SCOPED_TRACE(std::string(work.name) + " " + std::string(name(dtype)) + shape.str());
                if (std::string_view(work.name) == "three axes" && shape[0] < 5) continue;
                EXPECT_EQ(bytes_on("cpu", work, dtype, shape),
                          bytes_on("interpreter", work, dtype, shape));
            }
        }
    }
}

TEST(CompiledKernels, LongSumsGiveTheSameBits) {
    const Work sum{"sum", [](const Tensor& x, const Tensor& y) { return (x * y).sum() + x.max(); }};
    for (const Shape& shape : {Shape{100'003}, Shape{3, 40'000}, Shape{300, 300}, Shape{50'001, 3},
                               Shape{1, 70'000}, Shape{4, 5, 6'000}, Shape{20, 1, 5'000}})
        EXPECT_EQ(bytes_on("cpu", sum, f32, shape), bytes_on("interpreter", sum, f32, shape))
            << shape.str();
}

}  // namespace
}  // namespace lazuli
