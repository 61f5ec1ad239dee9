// Machine code from object files: what is broken is refused, and never run.

#include "backend/cpu/object.h"

#include <gtest/gtest.h>

#include <random>

#include "backend/cpu/compiler.h"
#include "lazuli/error.h"

namespace lazuli::cpu {
namespace {

TEST(Object, OfNoObjectIsRefused) {
    EXPECT_THROW(Object(std::span<const char>()), ArgumentError);
    const std::string text(4096, 'x');
    EXPECT_THROW(Object(std::span(text.data(), text.size())), ArgumentError);
}

#ifdef LAZULI_HAS_JIT
std::vector<char> some_object() {
    const codegen::Kernel kernel = codegen::Kernel::parse(
        "kernel k(in0: f64[100], out0: f64[100] out) {\n"
        "  parallel i0 < 100 {\n"
        "    %0 = load in0[i0] : f64\n"
        "    %1 = constant 0.3 : f64\n"
        "    %2 = fmod(%0, %1) : f64\n"
        "    store out0[i0] = %2\n"
        "  }\n"
        "}\n");
    return object_of(kernel);
}

TEST(Object, RunsAndCallsTheLibrary) {
    const std::vector<char> file = some_object();
    const Object object(file);
    EXPECT_EQ(object.find("phase7"), nullptr);
    const auto phase = reinterpret_cast<LazuliPhase>(object.find("phase0"));
    ASSERT_NE(phase, nullptr);
    std::vector<double> x(100);
    std::vector<double> y(100);
    for (std::size_t i = 0; i < 100; ++i) x[i] = 0.1 * static_cast<double>(i);
    void* buffers[] = {x.data(), y.data()};
    std::int64_t status[3] = {};
    phase(buffers, 0, 100, nullptr, status);
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(y[i], std::fmod(x[i], 0.3));
}

TEST(Object, CutOffOrChangedIsRefusedOrLoaded) {
    const std::vector<char> file = some_object();
    for (std::size_t bytes = 0; bytes < file.size(); bytes += 7) {
        try {
            const Object object(std::span(file.data(), bytes));
        } catch (const Error&) {
        }
    }
    std::mt19937 random(1);
    for (int i = 0; i < 2'000; ++i) {
        std::vector<char> changed = file;
        for (int k = 0; k < 4; ++k)
            changed[random() % changed.size()] = static_cast<char>(random());
        try {
            const Object object(changed);
        } catch (const Error&) {
        }
    }
}
#endif

}  // namespace
}  // namespace lazuli::cpu
