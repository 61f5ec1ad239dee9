#include "codegen/kernel.h"

#include <gtest/gtest.h>

#include "codegen/lower.h"
#include "lazuli/error.h"
#include "lazuli/program.h"

namespace lazuli::codegen {
namespace {

template <class Do>
std::string message(const Do& act) {
    try {
        act();
    } catch (const Error& e) {
        return e.what();
    }
    return "nothing was thrown";
}

constexpr const char* kRowSums = R"(kernel row_sums(in0: f32[24], out0: f32[4] out) {
  parallel i0 < 4 {
    %1 = reduce i1 < 6 lanes 2 (add f64 from 0.0) {
      %0 = load in0[6*i0 + i1] : f32
      yield %0
    }
    %2 = cast(%1) : f32
    store out0[i0] = %2
  }
}
)";

TEST(Kernel, ReadsPrintsAndRuns) {
    const Kernel kernel = Kernel::parse(kRowSums);
    EXPECT_EQ(kernel.str(), kRowSums);
    std::vector<float> in(24);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
    std::vector<float> out(4);
    void* buffers[] = {in.data(), out.data()};
    interpret(kernel, buffers);
    EXPECT_EQ(out, (std::vector<float>{15, 51, 87, 123}));
}

TEST(Kernel, LanesStateTheOrder) {
    // Lane 0 adds 1e8 and -1e8, lane 1 adds 1 and 1: only in this order is the sum 2.
    const Kernel kernel = Kernel::parse(R"(kernel ordered(in0: f32[4], out0: f32[1] out) {
  %1 = reduce i0 < 4 lanes 2 (add f32 from 0.0) {
    %0 = load in0[i0] : f32
    yield %0
  }
  store out0[0] = %1
})");
    float in[] = {1e8F, 1, -1e8F, 1};
    float out[] = {0};
    void* buffers[] = {in, out};
    interpret(kernel, buffers);
    EXPECT_EQ(out[0], 2);
}

TEST(Kernel, IndicesMayBeLoadedAndPadded) {
    const Kernel kernel =
        Kernel::parse(R"(kernel picked(in0: i32[3], in1: f32[5], out0: f32[4] out) {
  parallel i0 < 4 {
    %0 = load in0[i0 - 1] where i0 >= 1 else 0 : i32
    bind g0 < 5 to %0
    %1 = load in1[g0] : f32
    store out0[i0] = %1
  }
})");
    std::int32_t where[] = {4, -1, 2};
    float in[] = {10, 11, 12, 13, 14};
    float out[4];
    void* buffers[] = {where, in, out};
    interpret(kernel, buffers);
    EXPECT_EQ(std::vector<float>(out, out + 4), (std::vector<float>{10, 14, 14, 12}));
    where[1] = 5;
    EXPECT_THROW(interpret(kernel, buffers), ExecutionError);
}

TEST(Kernel, TheVerifierSaysWhatIsWrong) {
    const auto parsed = [](std::string body) {
        return message([&] {
            (void)Kernel::parse("kernel k(in0: f32[4], out0: f32[4] out) {\n" + body + "\n}");
        });
    };
    EXPECT_EQ(parsed("store out0[0] = %3"), "malformed kernel k: %3 is used before it is there");
    EXPECT_EQ(parsed("%0 = load in0[4] : f32"),
              "malformed kernel k: in0[4] reaches 4 to 4 of 4 elements");
    EXPECT_EQ(parsed("%0 = load in0[0] : i32"), "malformed kernel k: a load of another type");
    EXPECT_EQ(parsed("%0 = constant 1.0 : f32\nstore in0[0] = %0"),
              "malformed kernel k: in0 is not to be written");
    EXPECT_EQ(parsed("%0 = constant 1.0 : f32\n%0 = constant 1.0 : f32"),
              "malformed kernel k: %0 stands twice");
    EXPECT_EQ(parsed("%0 = load in0[i] : f32"), "line 2, column 15: 'i' is no variable");
    EXPECT_EQ(parsed("%0 = turn(%0) : f32"), "line 2, column 6: there is no op named 'turn'");
}

}  // namespace
}  // namespace lazuli::codegen
