// Plans and their cache, as a user sees them.

#include <gtest/gtest.h>

#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

/// The reasons of the misses that `act` causes, by name, in their order: `shape, dtype`.
template <class Do>
std::string misses(const Do& act) {
    const CacheStats before = cache_stats();
    act();
    const CacheStats after = cache_stats();
    std::string out;
    for (std::size_t i = 0; i < kMissNames.size(); ++i) {
        for (std::uint64_t n = before.missed[i]; n < after.missed[i]; ++n)
            out += (out.empty() ? "" : ", ") + std::string(kMissNames[i]);
    }
    return out;
}

/// In memory of its own.
Tensor filled(const Shape& shape, double value, DType dtype = f32) {
    return full(shape, value, dtype).contiguous().eval();
}

Tensor work(const Tensor& x) { return ((x * x).tanh() - x).sqrt().eval(); }

/// Puts the default device back at the end.
class OnDevice {
   public:
    explicit OnDevice(const char* name) : before_(default_device()) {
        set_default_device(Device(name));
    }
    ~OnDevice() { set_default_device(before_); }

   private:
    Device before_;
};

TEST(Plans, AMissSaysWhatIsNew) {
    const OnDevice device("interpreter");
    const Tensor x = filled({3, 4}, 0.5);
    const auto run = [](const Tensor& t) { return [t] { (void)work(t); }; };
    EXPECT_EQ(misses(run(x)), "new op");
    EXPECT_EQ(misses(run(x)), "");
    EXPECT_EQ(misses(run(filled({3, 4}, 0.75))), "") << "another buffer";
    EXPECT_EQ(misses(run(filled({5, 4}, 0.5))), "shape");
    EXPECT_EQ(misses(run(filled({4}, 0.5))), "shape") << "another rank";
    const Tensor doubles = filled({4}, 0.5, f64);
    EXPECT_EQ(misses(run(doubles)), "dtype");
    EXPECT_EQ(misses(run(x)), "") << "still there";
    const Tensor square = filled({4, 4}, 0.5);
    const auto through_view = [&](const Tensor& view) {
        return misses([&] { (void)(view.exp() * 3.5).tanh().eval(); });
    };
    EXPECT_EQ(through_view(square.permute({1, 0})), "new op");
    EXPECT_EQ(through_view(square.flip(0)), "layout");
    {
        const OnDevice other("reference");
        EXPECT_EQ(misses(run(filled({4}, 0.5, f64))), "device");
    }
    clear_caches();
    EXPECT_EQ(misses(run(x)), "evicted");
    EXPECT_NE(describe(cache_stats()).find("evicted"), std::string::npos);
}

TEST(Plans, PassesAndPoliciesArePartOfTheKey) {
    const OnDevice device("interpreter");
    const Tensor x = filled({3, 4}, 0.5);
    const auto run = [&] { (void)(x.log() * 1).softmax().eval(); };
    EXPECT_EQ(misses(run), "new op");
    EXPECT_TRUE(pass_enabled("algebra"));
    set_pass_enabled("algebra", false);
    EXPECT_FALSE(pass_enabled("algebra"));
    EXPECT_EQ(misses(run), "policy");
    set_pass_enabled("algebra", true);
    EXPECT_EQ(misses(run), "");
    EXPECT_THROW(set_pass_enabled("alchemy", false), ArgumentError);
}

TEST(Plans, NodesAddedLaterBelongToNewTargetsOnly) {
    const OnDevice device("interpreter");
    const Tensor x = filled({3, 4}, 0.5);
    const auto make = [&] { return (x * 2.5).sigmoid(); };
    (void)make().eval();
    const Tensor old_target = make();
    const Tensor new_target = old_target.exp() + 1;  // recorded after the plan was cached
    EXPECT_EQ(misses([&] { (void)old_target.eval(); }), "") << "the old target still hits";
    const Tensor again = make();
    const Tensor longer = again.exp() + 1;
    EXPECT_EQ(misses([&] { (void)longer.eval(); }), "new op");
    EXPECT_TRUE(longer.explain().starts_with("nothing to compute"));
    EXPECT_FLOAT_EQ((new_target - longer).abs().max().item<float>(), 0);
}

}  // namespace
}  // namespace lazuli
