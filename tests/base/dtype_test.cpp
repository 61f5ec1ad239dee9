#include "lazuli/dtype.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lazuli/error.h"
#include "lazuli/scalar.h"

namespace lazuli {
namespace {

TEST(DType, NamesParseBack) {
    for (int i = 0; i < kDTypeCount; ++i) {
        const auto dtype = static_cast<DType>(i);
        EXPECT_EQ(parse_dtype(name(dtype)), dtype);
    }
    EXPECT_EQ(parse_dtype("f8"), std::nullopt);
}

// The table of the Python array API standard, written out; "-" where it defines nothing and we
// refuse.
TEST(DType, PromotionIsTheArrayApiTable) {
    struct Row {
        DType a, b;
        std::optional<DType> both;
    };
    const Row rows[] = {
        {i8, i8, i8},
        {i8, i16, i16},
        {i8, i32, i32},
        {i8, i64, i64},
        {i16, i32, i32},
        {i16, i64, i64},
        {i32, i64, i64},
        {u8, u16, u16},
        {u8, u32, u32},
        {u8, u64, u64},
        {u16, u32, u32},
        {u32, u64, u64},
        {u8, i8, i16},
        {u8, i16, i16},
        {u8, i32, i32},
        {u8, i64, i64},
        {u16, i8, i32},
        {u16, i16, i32},
        {u16, i32, i32},
        {u16, i64, i64},
        {u32, i8, i64},
        {u32, i16, i64},
        {u32, i32, i64},
        {u32, i64, i64},
        {u64, i8, {}},
        {u64, i64, {}},
        {f32, f64, f64},
        {f32, c64, c64},
        {f32, c128, c128},
        {f64, c64, c128},
        {f64, c128, c128},
        {c64, c128, c128},
        // where the standard is silent
        {DType::boolean, i8, i8},
        {DType::boolean, f16, f16},
        {i64, f16, f16},
        {i64, f32, f32},
        {u64, bf16, bf16},
        {i32, c64, c64},
        {f16, bf16, f32},
        {f16, f32, f32},
        {bf16, f64, f64},
        {f16, c64, c64},
    };
    for (const Row& row : rows) {
        EXPECT_EQ(promote(row.a, row.b), row.both) << name(row.a) << " " << name(row.b);
        EXPECT_EQ(promote(row.b, row.a), row.both) << name(row.b) << " " << name(row.a);
    }
}

TEST(DType, PromotionIsCommutativeAndIdempotent) {
    for (int a = 0; a < kDTypeCount; ++a) {
        EXPECT_EQ(promote(static_cast<DType>(a), static_cast<DType>(a)), static_cast<DType>(a));
        for (int b = 0; b < kDTypeCount; ++b) {
            EXPECT_EQ(promote(static_cast<DType>(a), static_cast<DType>(b)),
                      promote(static_cast<DType>(b), static_cast<DType>(a)));
        }
    }
}

TEST(Scalar, IsWeakBesideATensor) {
    EXPECT_EQ(promote_weak("mul", f16, 2.0), f16);
    EXPECT_EQ(promote_weak("mul", i32, 2), i32);
    EXPECT_EQ(promote_weak("mul", i32, 2.0), f32);
    EXPECT_EQ(promote_weak("mul", f64, std::complex<double>(0, 1)), c128);
    EXPECT_EQ(promote_weak("mul", bf16, std::complex<float>(0, 1)), c64);
    EXPECT_EQ(promote_weak("mul", DType::boolean, 3), i32);
    EXPECT_EQ(promote_weak("mul", u8, 255), u8);
    EXPECT_THROW(promote_weak("mul", u8, 256), ArgumentError);
    EXPECT_THROW(promote_weak("mul", u8, -1), ArgumentError);
    EXPECT_THROW(promote_weak("mul", i64, UINT64_MAX), ArgumentError);
}

TEST(Scalar, TextReadsBack) {
    EXPECT_EQ(Scalar(true).str(), "true");
    EXPECT_EQ(Scalar(-3).str(), "-3");
    EXPECT_EQ(Scalar(UINT64_MAX).str(), "18446744073709551615");
    EXPECT_EQ(Scalar(1.0).str(), "1.0");
    EXPECT_EQ(Scalar(-0.0).str(), "-0.0");
    EXPECT_EQ(Scalar(0.1F).str(), "0.10000000149011612");
    EXPECT_EQ(Scalar(std::nan("")).str(), "nan");
    EXPECT_EQ(Scalar(-HUGE_VAL).str(), "-inf");
    EXPECT_EQ(Scalar(std::complex<double>(1, -2)).str(), "(1.0-2.0j)");
}

TEST(Scalar, ConvertsAsCastSays) {
    EXPECT_EQ(Scalar(300).as(u8), Scalar(44));  // wraps
    EXPECT_EQ(Scalar(-1).as(u16), Scalar(65535));
    EXPECT_EQ(Scalar(300.7).as(u8), Scalar(255));  // saturates
    EXPECT_EQ(Scalar(-3.9).as(i32), Scalar(-3));   // truncates
    EXPECT_EQ(Scalar(std::nan("")).as(i64), Scalar(0));
    EXPECT_EQ(Scalar(1e300).as(i64), Scalar(INT64_MAX));
    EXPECT_EQ(Scalar(1e300).as(u64), Scalar(UINT64_MAX));
    EXPECT_EQ(Scalar(0.1).as(DType::boolean), Scalar(true));
    EXPECT_EQ(Scalar(2049).as(f16), Scalar(2048.0));  // ties to even
    EXPECT_EQ(Scalar(70000).as(f16), Scalar(HUGE_VAL));
    // 2^63 + 2^52 + 1 lies just above a tie of bf16's grid around 2^63: rounding by way of double
    // alone would lose the 1.
    EXPECT_EQ(Scalar((std::uint64_t{1} << 63) + (std::uint64_t{1} << 55) + 1).as(bf16),
              Scalar(0x1p63 + 0x1p56));
    EXPECT_EQ(Scalar((std::uint64_t{1} << 63) + (std::uint64_t{1} << 55)).as(bf16), Scalar(0x1p63));
}

}  // namespace
}  // namespace lazuli
