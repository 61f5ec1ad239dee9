// Kernels run at once, interpreted, and by their machine code when it is there: the same bits.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

class QuickStart : public testing::Test {
   protected:
    void SetUp() override {
#ifndef LAZULI_HAS_JIT
        GTEST_SKIP() << "built without a compiler of kernels";
#endif
        set_default_device(Device("cpu"));
    }
    void TearDown() override {
        set_quick_start(true);
        set_default_device(Device());
    }

    /// Work that no other test has a kernel of: `salt` says which.
    static Tensor work(int salt) {
        Tensor z = Tensor::from(std::vector<float>{0.5F, -1.25F, 3.0F, 100.0F, -0.0F, 7.5F});
        for (int i = 0; i < salt; ++i) z = (z * 0.37 + 1.5).tanh() / 3.0;
        return z;
    }
    static std::vector<float> values(const Tensor& t) {
        t.eval();
        return {t.data<float>(), t.data<float>() + t.numel()};
    }
    /// How the one kernel of a plan that is there runs.
    static std::string way_of(const Tensor& t) {
        const Explanation all = t.explanation();
        return all.kernels.size() == 1 ? all.kernels[0].how : all.str();
    }
};

TEST_F(QuickStart, CodeTakesOverWithTheSameBits) {
    // Many kernels wait for their code; on a busy machine that of a single one may be there before
    // anybody looks.
    int salt = 20;
    std::vector<float> first;
    do {
        first = values(work(++salt));
    } while (way_of(work(salt)) != "interpreted until its code is there" && salt < 200);
    EXPECT_LT(salt, 200);
    finish_compiling();
    const Tensor again = work(salt);
    EXPECT_EQ(way_of(again), "machine code");
    const std::vector<float> second = values(again);
    ASSERT_EQ(first.size(), second.size());
    EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)), 0);
}

TEST_F(QuickStart, SwitchedOffTheFirstRunIsCompiled) {
    set_quick_start(false);
    EXPECT_FALSE(quick_start());
    (void)values(work(4));
    EXPECT_EQ(way_of(work(4)), "machine code");
}

TEST_F(QuickStart, LargeKernelsWaitForTheirCode) {
    const auto large = [] { return ones({600, 600}) * 3.25 + 1.125; };
    large().eval();
    EXPECT_EQ(way_of(large()), "machine code");
}

TEST_F(QuickStart, AForkedProcessMakesItsOwn) {
    // Several kernels are under way when the process is forked.
    for (int salt = 5; salt < 12; ++salt) (void)values(work(salt));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const std::vector<float> before = values(work(11));
        (void)values(work(13));
        finish_compiling();
        const Tensor again = work(11);
        const bool ready = way_of(again) == "machine code";
        _exit(ready && values(again) == before ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    finish_compiling();
}

}  // namespace
}  // namespace lazuli
