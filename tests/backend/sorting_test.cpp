// Sorting, scanning, and picking and putting by position: edge cases by name, and long lines, which
// other kernels take than short ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

class Sorting : public testing::TestWithParam<const char*> {
   protected:
    Tensor put(const Tensor& x) const { return x.to(Device(GetParam())); }
};
INSTANTIATE_TEST_SUITE_P(Devices, Sorting, testing::Values("reference", "cpu"));

std::vector<float> floats(const Tensor& x) { return x.to_vector<float>(); }
std::vector<std::int64_t> ints(const Tensor& x) { return x.to_vector<std::int64_t>(); }

/// Text that tells -0 from 0, and one NaN from no other.
std::string text(const Tensor& x) {
    std::string out;
    for (const float v : floats(x)) {
        out += out.empty() ? "" : " ";
        if (std::isnan(v)) {
            out += "nan";
        } else if (std::isinf(v)) {
            out += v < 0 ? "-inf" : "inf";
        } else {
            out += (std::signbit(v) ? "-" : "") + std::to_string(static_cast<int>(std::fabs(v)));
        }
    }
    return out;
}

template <class E, class F>
std::string message_of(F&& f) {
    try {
        f();
    } catch (const E& e) {
        return e.what();
    }
    return "nothing was thrown";
}

TEST_P(Sorting, NanInfinityAndZeros) {
    const Tensor x = put(Tensor{0.0F, kNan, -0.0F, kInf, 3.0F, -kInf, -0.0F, -5.0F, kNan, 0.0F});
    EXPECT_EQ(text(x.sort()), "-inf -5 0 -0 -0 0 3 inf nan nan");
    EXPECT_EQ(text(x.sort(0, true)), "nan nan inf 3 0 -0 -0 0 -5 -inf");
    EXPECT_THAT(ints(x.argsort()), ElementsAre(5, 7, 0, 2, 6, 9, 4, 3, 1, 8));
    EXPECT_THAT(ints(x.argsort(-1, true)), ElementsAre(1, 8, 3, 4, 0, 2, 6, 9, 7, 5));
    EXPECT_THAT(ints(x.argtopk(5)), ElementsAre(1, 8, 3, 4, 0));
    EXPECT_THAT(ints(x.argtopk(4, 0, false)), ElementsAre(5, 7, 0, 2));
    EXPECT_EQ(text(topk(x, 3).values), "nan nan inf");
}

TEST_P(Sorting, SizesZeroAndOneRankZeroAndBadAxes) {
    EXPECT_THAT(floats(put(zeros({0})).sort()), IsEmpty());
    EXPECT_EQ(put(zeros({3, 0})).argsort(0).shape(), (Shape{3, 0}));
    EXPECT_THAT(floats(put(Tensor{7.0F}).sort()), ElementsAre(7));
    EXPECT_THAT(ints(put(Tensor{7.0F}).argsort()), ElementsAre(0));
    EXPECT_EQ(put(zeros({2, 3})).argtopk(0).shape(), (Shape{2, 0}));
    const Tensor number = put(Tensor(1.0F));
    EXPECT_THROW((void)number.sort(), IndexError);
    EXPECT_THROW((void)number.argtopk(1), IndexError);
    EXPECT_THROW((void)number.cumsum(), IndexError);
    EXPECT_THROW((void)put(zeros({2})).sort(1), IndexError);
    EXPECT_THROW((void)put(zeros({2})).cummax(-2), IndexError);
    EXPECT_EQ(message_of<ShapeError>([&] { (void)put(zeros({2, 3})).argtopk(4); }),
              "argtopk: k 4 is more than the 3 elements of axis 1 of f32[2, 3]");
    EXPECT_THROW((void)put(zeros({2, 3})).argtopk(-1), ArgumentError);
    EXPECT_THROW((void)put(zeros({2}, c64)).sort(), DTypeError);
}

TEST_P(Sorting, Searching) {
    const Tensor x = put(Tensor{-kInf, -1.0F, 0.0F, 2.0F, 2.0F, kInf, kNan});
    const Tensor v = put(Tensor{2.0F, -0.0F, kNan, -kInf, 9.0F});
    EXPECT_THAT(ints(x.searchsorted(v)), ElementsAre(3, 2, 6, 0, 5));
    EXPECT_THAT(ints(x.searchsorted(v, Side::right)), ElementsAre(5, 3, 7, 1, 5));
    EXPECT_THAT(ints(put(zeros({0})).searchsorted(v)), ElementsAre(0, 0, 0, 0, 0));
    EXPECT_EQ(x.searchsorted(put(zeros({0, 2}))).shape(), (Shape{0, 2}));
    EXPECT_EQ(x.searchsorted(2.0).item<std::int64_t>(), 3);
    EXPECT_THAT(message_of<ShapeError>([&] { (void)put(zeros({2, 2})).searchsorted(v); }),
                HasSubstr("f32[2, 2] is searched for f32[5]"));
}

TEST_P(Sorting, Scans) {
    const Tensor x = put(Tensor{1.0F, kNan, -2.0F});
    EXPECT_EQ(text(x.cumsum()), "1 nan nan");
    EXPECT_EQ(text(x.cumprod(0, true)), "nan nan -2");
    EXPECT_EQ(text(x.cummax()), "1 nan nan");
    EXPECT_EQ(text(x.cummin(0, true)), "nan nan -2");
    const Tensor infinite = put(Tensor{kInf, 1.0F, -kInf, 1.0F});
    EXPECT_EQ(text(infinite.cumsum()), "inf inf nan nan");
    EXPECT_EQ(text(infinite.cummin()), "inf 1 -inf -inf");
    const Tensor zero = put(Tensor{-0.0F, 0.0F, -0.0F});
    EXPECT_EQ(text(zero.cummax()), "-0 0 0");
    EXPECT_EQ(text(zero.cummin()), "-0 -0 -0");
    EXPECT_EQ(text(zero.cumsum()), "-0 0 0");
    EXPECT_EQ(put(zeros({0, 2})).cumsum(0).shape(), (Shape{0, 2}));
    const Tensor small = put(tensor({100, 100, 100}, i8));
    EXPECT_EQ(small.cumsum().dtype(), i64);
    EXPECT_THAT(ints(small.cumsum()), ElementsAre(100, 200, 300));
    EXPECT_EQ(put(tensor({200, 100}, u8)).cumprod().dtype(), u64);
    EXPECT_EQ(small.cummax().dtype(), i8);
    // Narrow floats are summed wider than they are: 256 + 1 is no bf16.
    EXPECT_EQ(put(ones({300}, bf16)).cumsum().slice({299}, {300}).item<double>(), 300);
}

TEST_P(Sorting, TakingAlongAnAxis) {
    const Tensor x = put(Tensor{{1.0F, 2.0F}, {3.0F, 4.0F}, {5.0F, 6.0F}});
    EXPECT_THAT(floats(x.take_along_axis(put(Tensor{{2, -3}}), 0)), ElementsAre(5, 2));
    EXPECT_THAT(floats(x.take_along_axis(put(Tensor{{1}, {0}, {-1}}))), ElementsAre(2, 3, 6));
    EXPECT_EQ(x.take_along_axis(put(zeros({0, 2}, i64)), 0).shape(), (Shape{0, 2}));
    EXPECT_THAT(
        message_of<ExecutionError>([&] { x.take_along_axis(put(Tensor{{0, 3}}), 0).eval(); }),
        HasSubstr("index 3 at position 1 is out of range for axis 0 of [3, 2]"));
    EXPECT_THROW((void)x.take_along_axis(put(Tensor{{0}}), 0), ShapeError);
    EXPECT_THROW((void)x.take_along_axis(put(Tensor{{0, 0}}), 2), IndexError);
    EXPECT_THROW((void)x.take_along_axis(put(Tensor{{0.0F, 0.0F}}), 0), DTypeError);
}

TEST_P(Sorting, Scattering) {
    const Tensor x = put(Tensor{1.0F, 2.0F, 3.0F});
    const Tensor at = put(Tensor{0, 2, 0, -1});
    const Tensor u = put(Tensor{10.0F, 20.0F, 30.0F, 40.0F});
    EXPECT_THAT(floats(x.scatter(at, u)), ElementsAre(30, 2, 40));
    EXPECT_THAT(floats(x.scatter(at, u, 0, Scatter::add)), ElementsAre(41, 2, 63));
    EXPECT_THAT(floats(x.scatter(at, u, 0, Scatter::mul)), ElementsAre(300, 2, 2400));
    EXPECT_THAT(floats(x.scatter(at, u, 0, Scatter::max)), ElementsAre(30, 2, 40));
    EXPECT_THAT(floats(x.scatter(at, u, 0, Scatter::min)), ElementsAre(1, 2, 3));
    EXPECT_THAT(floats(x.scatter(at, 0.5, 0, Scatter::add)), ElementsAre(2, 2, 4));
    const Tensor nan = put(Tensor{kNan, 0.0F, -0.0F});
    const Tensor three = put(Tensor{0, 1, 2});
    const Tensor into = put(Tensor{1.0F, -0.0F, 0.0F});
    EXPECT_EQ(text(into.scatter(three, nan, 0, Scatter::max)), "nan 0 0");
    EXPECT_EQ(text(into.scatter(three, nan, 0, Scatter::min)), "nan -0 -0");
    const Tensor none = put(zeros({0}, i64));
    EXPECT_THAT(floats(x.scatter(none, put(zeros({0})))), ElementsAre(1, 2, 3));
    EXPECT_THAT(message_of<ExecutionError>([&] { x.scatter(put(Tensor{1, -4}), 1.0).eval(); }),
                HasSubstr("index -4 at position 1 is out of range for axis 0 of [3]"));
    EXPECT_THAT(
        message_of<ExecutionError>([&] { put(zeros({0})).scatter(put(Tensor{0}), 1.0).eval(); }),
        HasSubstr("out of range for axis 0 of [0]"));
    EXPECT_THROW((void)x.scatter(at, put(Tensor{1.0F})), ShapeError);
    EXPECT_THROW((void)x.scatter(at, put(Tensor{1, 2, 3, 4})), DTypeError);
    EXPECT_THROW((void)put(Tensor(1.0F)).scatter(at, u), IndexError);
    const Tensor complex = put(zeros({3}, c64));
    EXPECT_THROW((void)complex.scatter(at, put(zeros({4}, c64)), 0, Scatter::max), DTypeError);
}

TEST_P(Sorting, Boxes) {
    const Tensor x = put(arange(12).cast(f32).reshape({3, 4}));
    EXPECT_THAT(floats(x.dynamic_slice(put(Tensor{1, 2}), {2, 2})), ElementsAre(6, 7, 10, 11));
    // Far outside: brought to where the whole box lies inside.
    EXPECT_THAT(floats(x.dynamic_slice(put(Tensor{9, -9}), {2, 2})), ElementsAre(4, 5, 8, 9));
    EXPECT_THAT(floats(x.dynamic_slice(put(Tensor{-1, -1}), {1, 1})), ElementsAre(11));
    EXPECT_EQ(x.dynamic_slice(put(Tensor{0, 0}), {0, 2}).shape(), (Shape{0, 2}));
    EXPECT_THROW((void)x.dynamic_slice(put(Tensor{0, 0}), {4, 1}), ShapeError);
    EXPECT_THROW((void)x.dynamic_slice(put(Tensor{0}), {1, 1}), ShapeError);
    const Tensor far = put(Tensor::from(std::vector<std::uint64_t>{~std::uint64_t{0}, 0}));
    EXPECT_THAT(floats(x.dynamic_slice(far, {1, 1})), ElementsAre(8));
    const Tensor box = put(Tensor{{-1.0F, -2.0F}});
    EXPECT_THAT(floats(x.dynamic_update_slice(box, put(Tensor{9, 1}))),
                ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, -1, -2, 11));
    const Tensor number = put(Tensor(3.0F));
    const Tensor nowhere = put(zeros({0}, i64));
    EXPECT_EQ(number.dynamic_slice(nowhere, {}).item<float>(), 3);
    EXPECT_EQ(number.dynamic_update_slice(put(Tensor(4.0F)), nowhere).item<float>(), 4);
    EXPECT_THROW((void)x.dynamic_update_slice(put(Tensor{{1, 2}}), put(Tensor{0, 0})), DTypeError);
}

TEST_P(Sorting, BlitAndStack) {
    const Tensor x = put(zeros({2, 5}));
    const Tensor y = put(Tensor{{1.0F, 2.0F}, {3.0F, 4.0F}});
    EXPECT_THAT(floats(x.blit(y, {0, 1}, {1, 3})), ElementsAre(0, 1, 0, 0, 2, 0, 3, 0, 0, 4));
    EXPECT_THAT(floats(x.blit(y, {-1, -1}, {-1, -2})), ElementsAre(0, 0, 4, 0, 3, 0, 0, 2, 0, 1));
    EXPECT_THAT(floats(x.blit(put(zeros({0, 2})), {0, 0})), testing::Each(0));
    EXPECT_EQ(put(Tensor(1.0F)).blit(put(Tensor(kNan)), {}).to_vector<float>().size(), 1U);
    EXPECT_THAT(message_of<ShapeError>([&] { (void)x.blit(y, {0, 2}, {1, 3}); }),
                HasSubstr("blit: f32[2, 2] does not fit into f32[2, 5]"));
    EXPECT_THROW((void)x.blit(y, {0, 0}, {0, 1}), ArgumentError);
    EXPECT_THROW((void)x.blit(y, {-3, 0}), ShapeError);
    const Tensor one = put(Tensor{1.0F, 2.0F});
    const Tensor two = put(Tensor{3.0F, 4.0F});
    EXPECT_THAT(floats(stack({one, two})), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(floats(stack({one, two}, -1)), ElementsAre(1, 3, 2, 4));
    EXPECT_EQ(stack({put(Tensor(1.0F)), put(Tensor(2.0F))}).shape(), (Shape{2}));
    EXPECT_THROW((void)stack({one, two}, 2), IndexError);
    EXPECT_THROW((void)stack({one, put(zeros({3}))}), ShapeError);
    EXPECT_THROW((void)stack({}), ArgumentError);
}

TEST_P(Sorting, NonzeroAndUnique) {
    const Tensor x = put(Tensor{{0.0F, kNan, -0.0F}, {2.0F, 0.0F, kInf}});
    const std::vector<Tensor> at = nonzero(x);
    ASSERT_EQ(at.size(), 2U);
    EXPECT_THAT(ints(at[0]), ElementsAre(0, 1, 1));
    EXPECT_THAT(ints(at[1]), ElementsAre(1, 0, 2));
    EXPECT_THAT(ints(nonzero(put(zeros({0})))[0]), IsEmpty());
    EXPECT_THROW((void)nonzero(put(Tensor(1.0F))), ArgumentError);
    const Unique found = unique(put(Tensor{3.0F, kNan, -0.0F, 3.0F, 0.0F, kNan, -kInf}));
    EXPECT_EQ(text(found.values), "-inf -0 3 nan");
    EXPECT_THAT(ints(found.inverse), ElementsAre(2, 3, 1, 2, 1, 3, 0));
    EXPECT_THAT(ints(found.counts), ElementsAre(1, 2, 2, 2));
    EXPECT_EQ(unique(x).inverse.shape(), (Shape{2, 3}));
    EXPECT_EQ(unique(put(Tensor(5.0F))).values.shape(), (Shape{1}));
    EXPECT_EQ(unique(put(zeros({0, 3}))).inverse.shape(), (Shape{0, 3}));
    EXPECT_THAT(ints(unique(put(zeros({0, 3}))).counts), IsEmpty());
    EXPECT_THROW((void)unique(put(zeros({2}, c64))), DTypeError);
}

/// Numbers from low to below high, whole ones for integers; with `edges` also those that floats
/// have beside.
Tensor draw(const TensorSpec& spec, double low, double high, bool edges, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> between(
        kind(spec.dtype) == Kind::integer && !info(spec.dtype).is_signed ? 0 : low, high);
    const double special[] = {0.0, -0.0, 1.0, kInf, -kInf, kNan};
    std::vector<double> out(static_cast<std::size_t>(spec.shape.numel()));
    for (double& v : out) {
        v = between(random);
        if (!is_floating(spec.dtype)) v = std::floor(v);
        if (spec.dtype == DType::boolean) v = v < 0 ? 0 : 1;
        if (edges && is_floating(spec.dtype) && random() % 3 == 0) v = special[random() % 6];
    }
    return Tensor::from(out, spec.shape).to(Device("reference")).cast(spec.dtype).eval();
}

/// Long lines, in several blocks, digits and chunks, on the cpu and the reference: the same bits,
/// but for sums of floats.
class Long : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, Long,
                         testing::Values(DType::boolean, i8, u16, i32, i64, u64, f16, bf16, f32,
                                         f64),
                         [](const auto& type) { return std::string(name(type.param)); });

void expect_same(const Tensor& got, const Tensor& want, double tolerance = 0) {
    ASSERT_EQ(got.spec(), want.spec());
    const std::vector<double> a = got.cast(f64).to_vector<double>();
    const std::vector<double> b = want.cast(f64).to_vector<double>();
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (std::isnan(a[i]) && std::isnan(b[i])) continue;
        if (a[i] == b[i] && std::signbit(a[i]) == std::signbit(b[i])) continue;
        ASSERT_LE(std::fabs(a[i] - b[i]), tolerance * std::fabs(b[i])) << "element " << i;
    }
}

TEST_P(Long, LinesGiveWhatTheReferenceGives) {
    const Device cpu("cpu");
    std::uint64_t seed = 1;
    for (const auto& [shape, axis] : std::vector<std::pair<Shape, int>>{
             {{100'003}, 0}, {{5'003, 3}, 0}, {{2, 40'000}, 1}, {{40, 1'100}, 1}, {{70, 90}, 0}}) {
        for (const bool edges : {false, true}) {
            const Tensor x = draw({GetParam(), shape}, -100, 100, edges, ++seed);
            const Tensor y = x.to(cpu);
            SCOPED_TRACE(shape.str());
            for (const bool flag : {false, true}) {
                expect_same(y.sort(axis, flag), x.sort(axis, flag));
                expect_same(y.argsort(axis, flag), x.argsort(axis, flag));
                for (const int k : {1, 30, 60})
                    expect_same(y.argtopk(k, axis, flag), x.argtopk(k, axis, flag));
                expect_same(y.cummax(axis, flag), x.cummax(axis, flag));
                expect_same(y.cummin(axis, flag), x.cummin(axis, flag));
                if (edges && GetParam() == f64) continue;  // sums overflow on the way, or not
                expect_same(y.cumsum(axis, flag), x.cumsum(axis, flag), 1e-2);
                expect_same(y.cumprod(axis, flag), x.cumprod(axis, flag), 1e-6);
            }
        }
    }
}

// So many records are parted into stretches of keys first: spread ones, ones that are mostly equal,
// so that a stretch is long, and both far apart.
TEST_P(Long, ManyRecordsGiveWhatTheReferenceGives) {
    const Device cpu("cpu");
    const std::int64_t count = 300'001;
    const double wide = size_of(GetParam()) == 8 ? 9e15 : size_of(GetParam()) == 4 ? 2e9 : 120;
    const Tensor spread = draw({GetParam(), {count}}, -wide, wide, false, 1);
    const Tensor equal = draw({GetParam(), {count}}, -1, 2, false, 2);
    const Tensor edges = draw({GetParam(), {count}}, -wide, wide, true, 3);
    const Tensor one = draw({GetParam(), {count}}, 1, 1.5, false, 5);
    const Tensor rare =
        select(rem(iota({count}), 1000).to(Device("reference")) == 7, spread, equal).eval();
    for (const Tensor& x : {spread, equal, edges, one, rare}) {
        for (const bool descending : {false, true}) {
            expect_same(x.to(cpu).sort(0, descending), x.sort(0, descending));
            expect_same(x.to(cpu).argsort(0, descending), x.argsort(0, descending));
        }
    }
    // Lines that are not one behind the other.
    const Tensor two = draw({GetParam(), {270'000, 2}}, -wide, wide, false, 4);
    expect_same(two.to(cpu).sort(0), two.sort(0));
    expect_same(two.to(cpu).argsort(0), two.argsort(0));
}

TEST_P(Long, ScatterGivesWhatTheReferenceGives) {
    const Device cpu("cpu");
    for (const auto& [shape, put, axis] :
         std::vector<std::tuple<Shape, Shape, int>>{{{70'001}, {200'000}, 0},
                                                    {{10}, {100'000}, 0},
                                                    {{300, 7}, {9'000, 7}, 0},
                                                    {{5, 3'000}, {5, 20'000}, 1}}) {
        SCOPED_TRACE(shape.str());
        const auto size = static_cast<double>(shape[axis]);
        const Tensor x = draw({GetParam(), shape}, -9, 9, false, 1);
        const Tensor u = draw({GetParam(), put}, -9, 9, false, 2);
        for (const DType index : {i64, i32, u32}) {
            const Tensor at = draw({index, put}, -size, size, false, 3);
            for (const Scatter mode :
                 {Scatter::set, Scatter::add, Scatter::mul, Scatter::min, Scatter::max}) {
                expect_same(x.to(cpu).scatter(at.to(cpu), u.to(cpu), axis, mode),
                            x.scatter(at, u, axis, mode));
            }
        }
    }
}

TEST(LongUnique, AgreesWithCounting) {
    const Device cpu("cpu");
    const Tensor x = draw({i32, {50'000}}, -500, 500, false, 4).to(cpu);
    const Unique found = unique(x);
    EXPECT_EQ(found.values.numel(), 1000);
    EXPECT_EQ(found.counts.sum().item<std::int64_t>(), 50'000);
    EXPECT_TRUE(
        static_cast<bool>((found.values.gather(found.inverse) == x).cast(i32).sum() == 50'000));
}

}  // namespace
}  // namespace lazuli
