#include "codegen/in_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lazuli::codegen {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<InPlace> pairs_of(const char* text) { return find_in_place(Kernel::parse(text)); }

TEST(InPlace, ElementByElement) {
    EXPECT_THAT(pairs_of("kernel k(in0: f32[24], in1: f32[24], out0: f32[24] out) {\n"
                         "  parallel i0 < 24 {\n"
                         "    %0 = load in0[i0] : f32\n"
                         "    %1 = load in1[i0] : f32\n"
                         "    %2 = add(%0, %1) : f32\n"
                         "    store out0[i0] = %2\n"
                         "  }\n"
                         "}\n"),
                ElementsAre(InPlace{0, 2}, InPlace{1, 2}));
}

TEST(InPlace, NotWhereElementsMoveOrAreRepeated) {
    EXPECT_THAT(pairs_of("kernel k(in0: f32[24], in1: f32[24], out0: f32[24] out) {\n"
                         "  parallel i0 < 24 {\n"
                         "    %0 = load in0[-i0 + 23] : f32\n"
                         "    %1 = load in1[i0] : f32\n"
                         "    %2 = load in1[0] : f32\n"
                         "    %3 = add(%0, %1) : f32\n"
                         "    %4 = add(%3, %2) : f32\n"
                         "    store out0[i0] = %4\n"
                         "  }\n"
                         "}\n"),
                IsEmpty());
}

TEST(InPlace, NotWhereTheSizesDiffer) {
    EXPECT_THAT(pairs_of("kernel k(in0: f32[24], out0: f64[24] out) {\n"
                         "  parallel i0 < 24 {\n"
                         "    %0 = load in0[i0] : f32\n"
                         "    %1 = cast(%0) : f64\n"
                         "    store out0[i0] = %1\n"
                         "  }\n"
                         "}\n"),
                IsEmpty());
}

TEST(InPlace, ARowThatWasReadIsWritten) {
    EXPECT_THAT(pairs_of("kernel k(in0: f32[24], out0: f32[24] out) {\n"
                         "  parallel i0 < 4 {\n"
                         "    %1 = reduce i1 < 6 lanes 8 (maximum f32 from -inf) {\n"
                         "      %0 = load in0[6*i0 + i1] : f32\n"
                         "      yield %0\n"
                         "    }\n"
                         "    serial i2 < 6 {\n"
                         "      %2 = load in0[6*i0 + i2] : f32\n"
                         "      %3 = sub(%2, %1) : f32\n"
                         "      store out0[6*i0 + i2] = %3\n"
                         "    }\n"
                         "  }\n"
                         "}\n"),
                ElementsAre(InPlace{0, 1}));
}

TEST(InPlace, NotWhereAStepReadsWhatAnotherWrites) {
    // Every row reads the whole operand before it writes its own part.
    EXPECT_THAT(pairs_of("kernel k(in0: f32[24], out0: f32[24] out) {\n"
                         "  parallel i0 < 4 {\n"
                         "    %1 = reduce i1 < 24 lanes 8 (maximum f32 from -inf) {\n"
                         "      %0 = load in0[i1] : f32\n"
                         "      yield %0\n"
                         "    }\n"
                         "    serial i2 < 6 {\n"
                         "      store out0[6*i0 + i2] = %1\n"
                         "    }\n"
                         "  }\n"
                         "}\n"),
                IsEmpty());
}

TEST(InPlace, NotWhatIsLoadedOutsideOfLoops) {
    // Each phase loads it anew: the second would see what the first stored.
    EXPECT_THAT(
        pairs_of("kernel k(in0: f32[1], in1: f32[24], out0: f32[1] out, out1: f32[1] out) {\n"
                 "  %0 = load in0[0] : f32\n"
                 "  store out0[0] = %0\n"
                 "  %2 = reduce i0 < 24 lanes 8 (add f32 from 0.0) {\n"
                 "    %1 = load in1[i0] : f32\n"
                 "    yield %1\n"
                 "  }\n"
                 "  %3 = div(%2, %0) : f32\n"
                 "  store out1[0] = %3\n"
                 "}\n"),
        IsEmpty());
}

TEST(InPlace, NotWhatIsReadOnceMore) {
    EXPECT_THAT(pairs_of("kernel k(in0: f32[24], out0: f32[24] out, out1: f32[24] out) {\n"
                         "  parallel i0 < 24 {\n"
                         "    %0 = load in0[i0] : f32\n"
                         "    store out0[i0] = %0\n"
                         "  }\n"
                         "  parallel i1 < 24 {\n"
                         "    %1 = load in0[i1] : f32\n"
                         "    store out1[i1] = %1\n"
                         "  }\n"
                         "}\n"),
                ElementsAre(InPlace{0, 2}));
}

}  // namespace
}  // namespace lazuli::codegen
