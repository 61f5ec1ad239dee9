// Programs drawn at random whose sizes are expressions, on backends that have kernels: bound to
// some sizes, a plan for all of them gives the bits of a plan for these.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "drawn.h"
#include "ir/layout.h"
#include "lazuli/lazuli.h"
#include "runtime/planning.h"
#include "symbolic_run.h"

namespace lazuli {
namespace {

using tests::Bytes;

class SymbolicRandom : public testing::TestWithParam<const char*> {
   protected:
    // Machine code is what is compared, and not what runs until it is there.
    void SetUp() override { set_quick_start(false); }
    void TearDown() override { set_quick_start(before_); }
    bool before_ = quick_start();
};

INSTANTIATE_TEST_SUITE_P(Devices, SymbolicRandom, testing::Values("interpreter", "cpu"),
                         [](const auto& device) { return std::string(device.param); });

std::vector<Bytes> results_of(Backend& backend, const void* prepared, const Program& program,
                              const std::vector<Bytes>& operands) {
    std::vector<Binding> bindings;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const BufferPtr buffer = backend.allocate(operands[i].size());
        backend.copy_in(*buffer, operands[i].data(), operands[i].size());
        bindings.push_back({buffer, 0, ir::dense_byte_strides(program.params()[i].spec), true});
    }
    std::vector<Bytes> out;
    for (const BufferPtr& made : backend.run(prepared, bindings)) {
        out.emplace_back(made->bytes());
        backend.copy_out(out.back().data(), *made, made->bytes());
    }
    return out;
}

TEST_P(SymbolicRandom, BoundPlansGiveTheBitsOfTheNumbers) {
    const char* is_long = std::getenv("LAZULI_LONG");
    const bool all = is_long != nullptr && *is_long == '1';
    const bool compiles = std::string_view(GetParam()) == "cpu";
    const std::uint64_t programs = all ? (compiles ? 1000 : 3000) : compiles ? 40 : 200;
    Backend& backend = backend_of(Device(GetParam()));
    int bound = 0;
    int own = 0;
    double most = 0;  // memory, of what a plan for the sizes takes
    int above = 0;    // bindings at which it is more than it should be
    std::map<std::string, int> refused;
    for (std::uint64_t seed = 0; seed < programs; ++seed) {
        const Program program = tests::Drawn(seed).build();
        SCOPED_TRACE(fmt::format("seed {}\n{}", seed, program.str()));
        const Program expanded = plan::expand(program, runtime::expand_options(backend));
        std::shared_ptr<const void> open;
        try {
            open = backend.prepare_open(expanded);
        } catch (const Error& error) {
            ++refused[error.what()];
            continue;
        }
        const std::pair<std::int64_t, std::int64_t> sizes[] = {{1, 2}, {1, 7},  {2, 2},  {3, 5},
                                                               {5, 4}, {17, 3}, {40, 2}, {33, 30}};
        for (const auto& [b, t] : sizes) {
            if (b * t > 200 && !compiles) continue;
            const tests::Bindings values{{"drawn_b", b}, {"drawn_t", t}};
            const std::shared_ptr<const void> prepared = backend.bind(open.get(), values);
            if (prepared == nullptr) {
                ++own;
                continue;
            }
            ++bound;
            const Program numbers = tests::instance_of(expanded, values);
            const auto operands = tests::draw(numbers, {}, seed);
            const auto made = results_of(backend, prepared.get(), numbers, operands);
            const std::shared_ptr<const void> alone = backend.prepare(numbers);
            const auto plain = results_of(backend, alone.get(), numbers, operands);
            ASSERT_EQ(made, plain) << "at " << b << ", " << t;
            const auto bytes = [&](const std::shared_ptr<const void>& plan) {
                return static_cast<double>(backend.info(plan.get(), false).arena_bytes);
            };
            const double share = bytes(prepared) / std::max(1.0, bytes(alone));
            most = std::max(most, share);
            above += share > 1.05 ? 1 : 0;
        }
    }
    int refusals = 0;
    for (const auto& [why, count] : refused) refusals += count;
    fmt::print(
        "{} programs, {} bindings, {} of them with plans of their own; {} programs refused; memory "
        "at most {:.3f} of what plans of the numbers take, above 1.05 at {}\n",
        programs, bound + own, own, refusals, most, above);
    for (const auto& [why, count] : refused) fmt::print("  {} x {}\n", count, why);
    EXPECT_GT(bound, 100);
}

}  // namespace
}  // namespace lazuli
