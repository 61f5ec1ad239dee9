// Every op x type against the reference backend, and the reference backend against formulas in long
// double. numpy comes in through oracle.py.

#include <fmt/format.h>

#include <cmath>

#include "lazuli/lazuli.h"
#include "long_option.h"

namespace lazuli {
namespace {

/// All backends' checks; kernels see operands as views of memory as well.
const std::map<std::string, conformance::Report>& reports() {
    static const std::map<std::string, conformance::Report> made = [] {
        std::map<std::string, conformance::Report> out;
        for (const char* backend : {"reference", "interpreter", "cpu"}) {
            // What the interpreter touches, the programs of test-property show.
            if (tests::kSanitized && std::string_view(backend) == "interpreter") continue;
            out[backend] = conformance::run({.backend = backend,
                                             .layouts = std::string_view(backend) != "reference",
                                             .seed = tests::seed});
        }
        return out;
    }();
    return made;
}

TEST(Conformance, EveryOpInEveryTypeOnEveryBackend) {
    for (const auto& [backend, report] : reports()) {
        for (const std::string& failure : report.failures) ADD_FAILURE() << failure;
        EXPECT_EQ(report.fallbacks, 0U) << backend << " left ops to the reference backend";
        fmt::print("conformance: {} checks on {}\n", report.total(), backend);
    }
    fmt::print("checks of each op, backend and type\n{}\n", conformance::table(reports()));
}

TEST(Conformance, OtherOperandsOnTheReferenceBackend) {
    int total = 0;
    for (int i = 0; i < tests::count(0, 50); ++i) {
        const conformance::Report report =
            conformance::run({.seed = tests::seed + 1000 * static_cast<std::uint64_t>(i + 1)});
        total += report.total();
        for (const std::string& failure : report.failures) ADD_FAILURE() << failure;
        if (!report.failures.empty()) break;
    }
    if (total > 0) fmt::print("conformance: {} checks with other operands\n", total);
}

TEST(Conformance, NoOpIsLeftOut) {
    for (const auto& [backend, report] : reports()) {
        for (int i = 0; i < op_count(); ++i) {
            const OpDef& def = op_def(static_cast<OpId>(i));
            // An argument has no value, and custom calls are tested with functions to call.
            if (has(def.traits, Trait::leaf) || def.name == "custom_call" || def.name == "argument")
                continue;
            ASSERT_TRUE(report.checks.contains(std::string(def.name))) << def.name;
            // Bodies say which types they take.
            const bool has_body = !def.attrs.empty() && def.attrs[0].kind == AttrKind::program;
            for (int t = 0; t < kDTypeCount && !has_body; ++t) {
                const auto dtype = static_cast<DType>(t);
                if (!def.dtypes.contains(dtype)) continue;
                EXPECT_GT(report.checks.at(std::string(def.name)).count(dtype), 0U)
                    << def.name << " " << name(dtype) << " on " << backend;
            }
        }
    }
}

TEST(Conformance, AFloatOpTakesAllFourFloats) {
    for (int i = 0; i < op_count(); ++i) {
        const OpDef& def = op_def(static_cast<OpId>(i));
        // Factorisations and transforms are of no use in two bytes.
        if (has(def.traits, Trait::sensitive)) continue;
        int floats = 0;
        for (const DType t : {f16, bf16, f32, f64}) floats += def.dtypes.contains(t) ? 1 : 0;
        EXPECT_TRUE(floats == 0 || floats == 4) << def.name;
    }
}

// One-argument functions against long double, which has 11 more bits than f64.
TEST(Conformance, FunctionsAgreeWithLongDouble) {
    struct Row {
        const char* op;
        long double (*exact)(long double);
        double low;
        double high;
    };
    const Row rows[] = {
        {"exp", std::exp, -80, 80},   {"log", std::log, 1e-30, 1e30},
        {"sqrt", std::sqrt, 0, 1e30}, {"tanh", std::tanh, -12, 12},
        {"erf", std::erf, -6, 6},     {"neg", [](long double x) { return -x; }, -1e30, 1e30},
    };
    int checks = 0;
    const int count = tests::count(20'000, 5'000'000);
    for (const Row& row : rows) {
        const Tensor x =
            conformance::draw({f64, {count}}, row.low, row.high, false, tests::seed).to(Device());
        const Tensor y = call(row.op, {&x, 1});
        const auto in = x.to_vector<double>();
        const auto out = y.to_vector<double>();
        for (std::size_t i = 0; i < in.size(); ++i) {
            const long double exact = row.exact(static_cast<long double>(in[i]));
            const long double error = std::fabs(static_cast<long double>(out[i]) - exact);
            ASSERT_LE(error, 2 * 0x1p-52L * std::fabs(exact)) << row.op << " of " << in[i];
            ++checks;
        }
        const Tensor x32 = x.cast(f32);
        const auto in32 = x32.to_vector<float>();
        const auto out32 = call(row.op, {&x32, 1}).to_vector<float>();
        for (std::size_t i = 0; i < in32.size(); ++i) {
            // Computed in f64 and rounded: half a unit of f32, and no more than f64's own error
            // besides.
            const long double exact = row.exact(static_cast<long double>(in32[i]));
            ASSERT_LE(std::fabs(static_cast<long double>(out32[i]) - exact),
                      (0x1p-24L + 0x1p-51L) * std::fabs(exact) + 0x1p-150L)
                << row.op << " of " << in32[i];
            ++checks;
        }
    }
    fmt::print("long double: {} checks\n", checks);
}

// All 65,536 values of each 16-bit type, and all pairs of 4,000 of them for the arithmetic that
// must be rounded once.
TEST(Conformance, NarrowFloatsRoundOnce) {
    std::vector<std::uint16_t> bits(65536);
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
    for (const DType dtype : {f16, bf16}) {
        const Tensor all = lift(bits.data(), dtype, {65536});
        const auto wide = all.cast(f64).to_vector<double>();
        const Tensor back = all.cast(f64).cast(dtype);
        std::vector<std::uint16_t> again(65536);
        const auto* raw = dtype == f16 ? static_cast<const void*>(back.data<Half>())
                                       : static_cast<const void*>(back.data<BFloat16>());
        std::memcpy(again.data(), raw, 2 * again.size());
        for (std::size_t i = 0; i < bits.size(); ++i) {
            if (std::isnan(wide[i])) {
                EXPECT_TRUE(std::isnan(static_cast<double>(dtype == f16 ? back.data<Half>()[i]
                                                                        : Half(wide[i]))) ||
                            dtype == bf16);
            } else {
                ASSERT_EQ(again[i], bits[i]) << name(dtype) << " " << i;
            }
        }
        // Halfway between neighbours goes to the even one, just beyond to the nearer one.
        for (std::size_t i = 0; i + 1 < 0x7c00; ++i) {
            const auto value = [&](std::size_t k) {
                return dtype == f16
                           ? static_cast<double>(std::bit_cast<Half>(static_cast<std::uint16_t>(k)))
                           : static_cast<double>(
                                 std::bit_cast<BFloat16>(static_cast<std::uint16_t>(k)));
            };
            if (std::isinf(value(i + 1))) break;
            const double middle = (value(i) + value(i + 1)) / 2;
            const auto rounded = [&](double v) {
                return dtype == f16 ? Half(v).bits : BFloat16(v).bits;
            };
            ASSERT_EQ(rounded(middle), i % 2 == 0 ? i : i + 1) << name(dtype) << " " << i;
            ASSERT_EQ(rounded(std::nextafter(middle, 1e300)), i + 1) << name(dtype) << " " << i;
            ASSERT_EQ(rounded(std::nextafter(middle, 0.0)), i) << name(dtype) << " " << i;
        }
    }
}

}  // namespace
}  // namespace lazuli
