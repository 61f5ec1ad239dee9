// Random programs computed by kernels, in the kernel interpreter, against the reference backend.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "codegen/lower.h"
#include "generator.h"
#include "ir/engine.h"
#include "ir/op_table.h"
#include "long_option.h"
#include "ops/gradient.h"
#include "ops/reverse.h"
#include "optimize/pipeline.h"
#include "plan/expand.h"
#include "plan/group.h"

namespace lazuli::tests {
namespace {

using Bytes = std::vector<unsigned char>;

enum class Fusion { none, single_use, planned };

/// Groups for a test: each operation alone, or with all that only it uses.
std::vector<codegen::Group> groups_of(const Program& program, Fusion fusion) {
    if (fusion == Fusion::planned) {
        std::vector<codegen::Group> planned;
        for (const plan::Grouped& grouped : plan::group(program)) planned.push_back(grouped.group);
        return planned;
    }
    const std::size_t count = program.size();
    std::vector<std::set<std::size_t>> users(count);
    std::vector<bool> stored(count, fusion == Fusion::none);
    for (std::size_t i = 0; i < count; ++i) {
        const Operation operation = program.operation(i);
        if (!codegen::is_lowered(operation)) stored[i] = true;
        for (std::size_t k = 0; k < operation.input_count(); ++k) {
            const ValueRef v = operation.input(k);
            if (v.is_param()) continue;
            users[v.index()].insert(i);
            if (!codegen::is_lowered(operation)) stored[v.index()] = true;
        }
    }
    for (const ProgramResult& result : program.results()) {
        if (!result.value.is_param()) stored[result.value.index()] = true;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (users[i].size() != 1) stored[i] = true;
        // A reduction within a reduction is computed again and again: the real grouping knows when.
        const Lowering how = program.operation(i).def().lowering;
        if (how == Lowering::reduction || how == Lowering::contraction) stored[i] = true;
    }
    std::vector<codegen::Group> out;
    for (std::size_t i = 0; i < count; ++i) {
        if (!stored[i]) continue;
        codegen::Group group{{}, {ValueRef::op(i)}};
        std::vector<std::size_t> open{i};
        std::set<std::uint32_t> members;
        while (!open.empty()) {
            const std::size_t at = open.back();
            open.pop_back();
            if (!members.insert(static_cast<std::uint32_t>(at)).second) continue;
            for (std::size_t k = 0; k < program.operation(at).input_count(); ++k) {
                const ValueRef v = program.operation(at).input(k);
                if (!v.is_param() && !stored[v.index()]) open.push_back(v.index());
            }
        }
        group.operations.assign(members.begin(), members.end());
        out.push_back(std::move(group));
    }
    return out;
}

/// The program's results by kernels; counts them.
std::vector<Bytes> run(const Program& program, const std::vector<Tensor>& params, Fusion fusion,
                       int lanes, std::size_t& kernels) {
    std::vector<Bytes> param_bytes;
    for (const Tensor& param : params) {
        Bytes bytes(static_cast<std::size_t>(param.spec().nbytes()));
        const Tensor dense = param.contiguous();
        dense.eval();
        ir::engine().download(*static_cast<ir::Node*>(dense.node()), bytes.data());
        param_bytes.push_back(std::move(bytes));
    }
    std::vector<Bytes> values(program.size());
    const auto bytes_of = [&](ValueRef v) -> Bytes& {
        return v.is_param() ? param_bytes[v.index()] : values[v.index()];
    };
    for (const codegen::Group& group : groups_of(program, fusion)) {
        const std::size_t root = group.outputs[0].index();
        const Operation operation = program.operation(root);
        const TensorSpec spec = operation.spec();
        for (const ValueRef output : group.outputs)
            values[output.index()].resize(static_cast<std::size_t>(program.spec(output).nbytes()));
        if (!codegen::is_lowered(operation)) {
            std::vector<TensorSpec> specs;
            for (std::size_t k = 0; k < operation.input_count(); ++k)
                specs.push_back(program.spec(operation.input(k)));
            std::vector<HostArray> inputs;
            for (std::size_t k = 0; k < operation.input_count(); ++k)
                inputs.push_back({bytes_of(operation.input(k)).data(), &specs[k]});
            operation.def().evaluate(
                {operation.def(), operation.attrs(), inputs, &spec, values[root].data()});
            continue;
        }
        const codegen::Lowered lowered =
            codegen::lower(program, group, fmt::format("k{}", kernels++), {.lanes = lanes});
        lowered.kernel.verify();
        const std::string text = lowered.kernel.str();
        try {
            EXPECT_EQ(codegen::Kernel::parse(text).str(), text);
        } catch (const Error& e) {
            ADD_FAILURE() << e.what() << "\n" << text;
        }
        std::vector<void*> buffers;
        for (const ValueRef v : lowered.buffers) buffers.push_back(bytes_of(v).data());
        codegen::interpret(lowered.kernel, buffers);
    }
    std::vector<Bytes> results;
    for (const ProgramResult& result : program.results()) results.push_back(bytes_of(result.value));
    return results;
}

double tolerance_of(DType dtype) {
    switch (dtype) {
        case DType::f16: return 2e-3;
        case DType::bf16: return 2e-2;
        case DType::f32:
        case DType::c64: return 2e-6;
        default: return 1e-12;
    }
}

bool close(const Scalar& a, const Scalar& b, DType dtype, double depth) {
    if (a == b) return true;
    const double x = a.to_double();
    const double y = b.to_double();
    if (std::isnan(x) && std::isnan(y)) return true;
    const double relative = tolerance_of(dtype) * depth;
    return std::abs(x - y) <= relative * std::abs(y) + 1e-6 * depth;
}

/// Whether a small difference of floats may become a large one.
bool has_jumps(const Program& program) {
    static const std::set<std::string_view> jumps{"eq",
                                                  "ne",
                                                  "lt",
                                                  "le",
                                                  "gt",
                                                  "ge",
                                                  "argmax",
                                                  "argmin",
                                                  "any",
                                                  "all",
                                                  "count_nonzero",
                                                  "nextafter",
                                                  "random_categorical",
                                                  "argsort",
                                                  "argtopk",
                                                  "searchsorted"};
    for (std::size_t i = 0; i < program.size(); ++i) {
        const Operation operation = program.operation(i);
        if (jumps.contains(operation.def().name)) return true;
        if (operation.def().name == "cast" && kind(operation.spec().dtype) < Kind::floating)
            return true;
    }
    return false;
}

/// Whether no operand is so large that sums lose the small ones beside it.
bool are_tame(const std::vector<Tensor>& operands) {
    for (const Tensor& operand : operands) {
        if (kind(operand.dtype()) < Kind::floating) continue;
        for (const float v : operand.cast(f32).to_vector<float>()) {
            if (!(std::abs(v) <= 1e3F)) return false;
        }
    }
    return true;
}

/// The reference backend's results of a program, to the bit but for the kind of NaN.
void expect_same(const Program& program, const Program& changed,
                 const std::vector<Tensor>& operands, std::string_view pass) {
    const std::vector<Tensor> before = record(program, operands);
    const std::vector<Tensor> after = record(changed, operands);
    eval(std::span<const Tensor>(before));
    eval(std::span<const Tensor>(after));
    for (std::size_t r = 0; r < before.size(); ++r) {
        const TensorSpec spec = before[r].spec();
        ASSERT_EQ(spec, after[r].spec());
        const std::size_t size = size_of(spec.dtype);
        Bytes want(static_cast<std::size_t>(spec.nbytes()));
        Bytes got(want.size());
        ir::engine().download(*static_cast<ir::Node*>(before[r].node()), want.data());
        ir::engine().download(*static_cast<ir::Node*>(after[r].node()), got.data());
        for (std::size_t at = 0; at < want.size(); at += size) {
            if (std::memcmp(&want[at], &got[at], size) == 0) continue;
            const Scalar a = load_scalar(spec.dtype, &got[at]);
            const Scalar b = load_scalar(spec.dtype, &want[at]);
            const bool nans = std::isnan(a.to_double()) && std::isnan(b.to_double());
            ASSERT_TRUE(nans) << pass << ": result " << r << " element " << at / size << " is "
                              << a.str() << " and not " << b.str();
        }
    }
}

TEST(Passes, ChangeNoBit) {
    const int programs = tests::count(1'000, 100'000);
    std::size_t before = 0;
    std::size_t after = 0;
    for (int i = 0; i < programs; ++i) {
        const std::uint64_t seed = tests::seed + static_cast<std::uint64_t>(i);
        ProgramGenerator generator(seed);
        Random random(~seed);
        const Program drawn = generator.program(static_cast<int>(1 + random.below(30)));
        const std::vector<Tensor> operands = generator.operands(drawn);
        const Program program = plan::expand(drawn, {});
        SCOPED_TRACE(
            fmt::format("seed {}\n{}", seed, program.size() < 60 ? program.str() : "(long)"));
        for (const std::string_view pass : pass_names()) {
            const Program changed = optimize::run_pass(pass, program);
            changed.verify();
            expect_same(program, changed, operands, pass);
        }
        const Program all = optimize::optimize(program, {.verify = true});
        expect_same(program, all, operands, "all passes");
        before += program.size();
        after += all.size();
    }
    fmt::print("passes: {} programs, {} operations before and {} behind all passes\n", programs,
               before, after);
}

/// A program as the body of a loop that stacks the first so many of its results.
Program as_body(const Program& program, std::size_t results) {
    ProgramBuilder builder;
    (void)builder.param("step", {i64, {}});
    std::vector<Value> params;
    for (const Param& param : program.params())
        params.push_back(builder.param(param.name, param.spec));
    const std::vector<Value> values = ops::inlined(builder, program, params);
    for (std::size_t i = 0; i < results; ++i)
        builder.result(ops::value_in(program.results()[i].value, params, values));
    return builder.build();
}

/// Two loops over a program: one stacks its first results, the other all of them.
Program in_loops(const Program& program, std::size_t first, bool small_before) {
    constexpr std::int64_t kTrips = 2;
    ProgramBuilder builder;
    std::vector<Value> params;
    for (const Param& param : program.params())
        params.push_back(builder.param(param.name, param.spec));
    for (const bool small : {small_before, !small_before}) {
        const std::size_t count = small ? first : program.results().size();
        AttrWords words;
        words.program(as_body(program, count));
        for (const std::int64_t number : {std::int64_t{0}, std::int64_t{0}, kTrips})
            words.integer(number);
        words.boolean(false);
        const Value bundle = builder.op(require_op("loop"), params, words.words());
        std::vector<TensorSpec> specs;
        for (std::size_t i = 0; i < count; ++i) {
            const TensorSpec one = program.spec(program.results()[i].value);
            TensorSpec& stacked = specs.emplace_back(TensorSpec{one.dtype, {kTrips}});
            for (int d = 0; d < one.shape.rank(); ++d) stacked.shape.push_back(one.shape.dim(d));
        }
        for (std::size_t i = 0; i < count; ++i) builder.result(ops::part_of(bundle, specs, i));
    }
    return builder.build();
}

TEST(Passes, LoopsThatCoverOthersChangeNoBit) {
    const int programs = tests::count(200, 20'000);
    int merged = 0;
    for (int i = 0; i < programs; ++i) {
        const std::uint64_t seed = tests::seed + static_cast<std::uint64_t>(i);
        ProgramGenerator generator(seed);
        Random random(~seed);
        const Program body = generator.program(static_cast<int>(1 + random.below(15)));
        if (body.results().size() < 2) continue;
        const std::size_t first = 1 + random.below(body.results().size() - 1);
        const Program program = in_loops(body, first, random.below(2) == 0);
        SCOPED_TRACE(
            fmt::format("seed {}\n{}", seed, program.size() < 60 ? program.str() : "(long)"));
        const Program changed = optimize::run_pass("merge_loops", program);
        changed.verify();
        // Functions of the user's are called as often as they were asked for.
        const Operation loop = program.operation(0);
        const bool calls_user = ir::calls_user(loop.def(), loop.attrs());
        EXPECT_EQ(changed.size() + (calls_user ? 0 : 1), program.size());
        expect_same(program, changed, generator.operands(body), "merge_loops");
        ++merged;
    }
    fmt::print("passes: {} pairs of loops\n", merged);
    EXPECT_GT(merged, programs / 4);
}

TEST(Kernels, ComputeWhatTheReferenceDoes) {
    const int programs = tests::count(1'000, 100'000);
    std::size_t kernels = 0;
    std::size_t elements = 0;
    std::size_t exact = 0;
    for (int i = 0; i < programs; ++i) {
        const std::uint64_t seed = tests::seed + static_cast<std::uint64_t>(i);
        ProgramGenerator generator(seed);
        Random random(~seed);
        const Program drawn = generator.program(static_cast<int>(1 + random.below(30)));
        const std::vector<Tensor> operands = generator.operands(drawn);
        const Program program = plan::expand(drawn, {});
        const Program optimized = optimize::optimize(program);
        SCOPED_TRACE(
            fmt::format("seed {}\n{}", seed, program.size() < 60 ? program.str() : "(long)"));
        std::vector<Tensor> expected;
        try {
            expected = record(drawn, operands);
            eval(std::span<const Tensor>(expected));
        } catch (const ExecutionError&) {
            continue;
        }
        struct Way {
            Fusion fusion;
            int lanes;
        };
        for (const Way way : {Way{Fusion::none, 1}, Way{Fusion::single_use, 1},
                              Way{Fusion::planned, 1}, Way{Fusion::planned, 8}}) {
            // Another order of a sum may turn a comparison, and decides what is left of numbers
            // that cancel: then results differ as they may.
            if (way.lanes > 1 && (has_jumps(program) || !are_tame(operands))) continue;
            const std::vector<Bytes> results =
                run(way.fusion == Fusion::planned ? optimized : program, operands, way.fusion,
                    way.lanes, kernels);
            for (std::size_t r = 0; r < results.size(); ++r) {
                const TensorSpec spec = expected[r].spec();
                Bytes want(static_cast<std::size_t>(spec.nbytes()));
                ir::engine().download(*static_cast<ir::Node*>(expected[r].node()), want.data());
                ASSERT_EQ(want.size(), results[r].size());
                const std::size_t size = size_of(spec.dtype);
                for (std::size_t at = 0; at < want.size(); at += size) {
                    ++elements;
                    if (std::memcmp(&want[at], &results[r][at], size) == 0) {
                        ++exact;
                        continue;
                    }
                    const Scalar a = load_scalar(spec.dtype, &results[r][at]);
                    const Scalar b = load_scalar(spec.dtype, &want[at]);
                    const double depth = way.lanes > 1 ? static_cast<double>(program.size()) : 0;
                    ASSERT_TRUE(close(a, b, spec.dtype, depth))
                        << "lanes " << way.lanes
                        << (way.fusion == Fusion::none      ? " unfused"
                            : way.fusion == Fusion::planned ? " planned"
                                                            : " fused")
                        << " result " << r << " element " << at / size << ": " << a.str()
                        << " and not " << b.str();
                }
            }
        }
    }
    fmt::print("kernels: {} programs, {} kernels, {} elements, {} of them the same bits\n",
               programs, kernels, elements, exact);
}

}  // namespace
}  // namespace lazuli::tests
