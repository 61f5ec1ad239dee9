#include "base/env.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "lazuli/error.h"

namespace lazuli::env {
namespace {

TEST(Env, TableIsInTheOrderOfTheEnumeration) {
    int index = 0;
    for (const VarInfo& info : all()) {
        EXPECT_EQ(static_cast<int>(info.var), index++);
        EXPECT_TRUE(info.name.starts_with("LAZULI_"));
        EXPECT_FALSE(info.doc.empty());
    }
}

TEST(Env, ReadsWhatIsSet) {
    setenv("LAZULI_SEED", "12", 1);
    EXPECT_EQ(integer(Var::seed), 12);
    setenv("LAZULI_SEED", "twelve", 1);
    EXPECT_THROW(integer(Var::seed), ArgumentError);
    setenv("LAZULI_SEED", "-1", 1);
    EXPECT_THROW(integer(Var::seed), ArgumentError);
    unsetenv("LAZULI_SEED");
    EXPECT_EQ(integer(Var::seed), 0);
    EXPECT_FALSE(flag(Var::print_eval));
    setenv("LAZULI_PRINT_EVAL", "1", 1);
    EXPECT_TRUE(flag(Var::print_eval));
    unsetenv("LAZULI_PRINT_EVAL");
}

}  // namespace
}  // namespace lazuli::env
