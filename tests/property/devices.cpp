// Random programs over the whole op table, on the device cpu and on the reference backend.
//
// Sums in another order differ in their last bits, and a comparison or a factorisation may make
// much of that. So the program is cut where that could happen: what reads a sum, a product, a
// factorisation or the like gets the reference's value of it, on both devices. All else is the same
// to the bit, and what is cut is compared within its record's tolerance.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "generator.h"
#include "lazuli/conformance.h"
#include "lazuli/lazuli.h"
#include "long_option.h"

namespace lazuli::tests {
namespace {

/// The program with other results, and with some operands taken from outside.
struct Cut {
    Program program;
    std::vector<std::size_t> given;    // operations whose values are further parameters
    std::vector<std::size_t> results;  // operations whose values are its results
};

bool is_bundle(const Operation& operation) { return operation.def().results != nullptr; }

/// The op of several results that an operation takes one out of; itself where it does not.
std::size_t origin(const Program& program, std::size_t i) {
    const Operation operation = program.operation(i);
    if (operation.def().name != "part" || operation.input(0).is_param()) return i;
    const std::size_t from = operation.input(0).index();
    return is_bundle(program.operation(from)) ? from : i;
}

/// Whether devices may differ in the last bits of the operation's value, given the same operands.
bool may_differ(const Program& program, std::size_t i) {
    const Operation operation = program.operation(origin(program, i));
    const OpDef& def = operation.def();
    if (is_bundle(operation)) return true;
    // Bytes of a float on its way to be another number.
    if (def.name == "part") return false;
    if (kind(operation.spec().dtype) < Kind::floating || def.move != nullptr) return false;
    // Narrow floats are rounded where they are stored, and not from op to op.
    const DType dtype = operation.spec().dtype;
    if (dtype == f16 || dtype == bf16) return true;
    // Functions that a device makes of its own instructions are as near as their records say.
    return !has(def.traits, Trait::elementwise) || def.is_composite() || def.tolerance.ulps > 0;
}

Cut rebuild(const Program& program, bool cut, const std::vector<bool>& wanted) {
    ProgramBuilder builder;
    std::vector<Value> params;
    for (const Param& param : program.params())
        params.push_back(builder.param(param.name, param.spec));
    Cut out;
    std::vector<std::optional<Value>> outside(program.size());
    std::vector<Value> values;
    for (std::size_t i = 0; i < program.size(); ++i) {
        const Operation operation = program.operation(i);
        std::vector<Value> inputs;
        for (std::size_t k = 0; k < operation.input_count(); ++k) {
            const ValueRef v = operation.input(k);
            if (v.is_param()) {
                inputs.push_back(params[v.index()]);
                continue;
            }
            const Operation made = program.operation(v.index());
            if (!cut || is_bundle(made) || !may_differ(program, v.index())) {
                inputs.push_back(values[v.index()]);
                continue;
            }
            if (!outside[v.index()]) {
                outside[v.index()] = builder.param("", made.spec());
                out.given.push_back(v.index());
            }
            inputs.push_back(*outside[v.index()]);
        }
        const TensorSpec spec = operation.spec();
        values.push_back(builder.op(operation.op(), inputs, operation.attrs().words(), &spec));
        if (wanted[i]) out.results.push_back(i);
    }
    for (const std::size_t i : out.results) builder.result(values[i]);
    out.program = builder.build();
    return out;
}

/// The largest number among the operands, of those that are finite; infinity where one is not.
double largest(const Program& program, std::size_t i, const std::vector<Tensor>& operands,
               const std::vector<Tensor>& values) {
    const Operation operation = program.operation(origin(program, i));
    double out = 1;
    for (std::size_t k = 0; k < operation.input_count(); ++k) {
        const ValueRef v = operation.input(k);
        const Tensor& t = v.is_param() ? operands[v.index()] : values[v.index()];
        for (const double x : (is_complex(t.dtype()) ? t.abs() : t).cast(f64).to_vector<double>())
            out = std::max(
                out, std::isfinite(x) ? std::abs(x) : std::numeric_limits<double>::infinity());
    }
    return out;
}

std::vector<Scalar> elements(const Tensor& t) {
    std::vector<Scalar> out;
    if (is_complex(t.dtype())) {
        for (const auto& v : t.cast(c128).to_vector<std::complex<double>>()) out.emplace_back(v);
    } else if (kind(t.dtype()) == Kind::floating) {
        for (const double v : t.cast(f64).to_vector<double>()) out.emplace_back(v);
    } else {
        // All integers, modulo 2^64.
        for (const std::int64_t v : t.cast(i64).to_vector<std::int64_t>()) out.emplace_back(v);
    }
    return out;
}

double epsilon(DType dtype) {
    switch (dtype) {
        case DType::f16: return 0x1p-10;
        case DType::bf16: return 0x1p-7;
        case DType::f32:
        case DType::c64: return 0x1p-23;
        default: return 0x1p-52;
    }
}

class Devices : public testing::Test {
   protected:
    void check(std::uint64_t seed) {
        ProgramGenerator generator(seed, Drawn::all);
        Random random(~seed);
        const Program drawn = generator.program(static_cast<int>(1 + random.below(16)));
        const std::vector<Tensor> operands = on(Device(), generator.operands(drawn));
        SCOPED_TRACE(fmt::format("seed {}\n{}", seed, drawn.size() < 60 ? drawn.str() : "(long)"));
        std::vector<bool> all(drawn.size());
        std::vector<bool> read(drawn.size());
        for (std::size_t i = 0; i < drawn.size(); ++i) {
            const Operation operation = drawn.operation(i);
            all[i] = true;
            for (std::size_t k = 0; k < operation.input_count(); ++k) {
                if (!operation.input(k).is_param()) read[operation.input(k).index()] = true;
            }
        }
        std::vector<Tensor> values;
        try {
            values = record(rebuild(drawn, false, all).program, operands);
            eval(std::span<const Tensor>(values));
        } catch (const ExecutionError&) {
            // Bad data: the other device says so as well.
            EXPECT_THROW(
                {
                    const auto there =
                        record(rebuild(drawn, false, all).program, on(cpu, operands));
                    eval(std::span<const Tensor>(there));
                },
                ExecutionError);
            ++refused;
            return;
        }
        std::vector<bool> wanted(drawn.size());
        for (std::size_t i = 0; i < drawn.size(); ++i)
            wanted[i] = !is_bundle(drawn.operation(i)) && (!read[i] || may_differ(drawn, i));
        const Cut cut = rebuild(drawn, true, wanted);
        std::vector<Tensor> given = on(cpu, operands);
        for (const std::size_t i : cut.given) given.push_back(values[i].to(cpu));
        const std::vector<Tensor> got = record(cut.program, given);
        eval(std::span<const Tensor>(got));
        for (std::size_t r = 0; r < got.size(); ++r) {
            const std::size_t i = cut.results[r];
            compare(drawn, i, got[r], values[i], operands, values);
            if (HasFatalFailure()) return;
        }
    }

    void compare(const Program& program, std::size_t i, const Tensor& got, const Tensor& want,
                 const std::vector<Tensor>& operands, const std::vector<Tensor>& values) {
        const Operation operation = program.operation(i);
        ASSERT_EQ(got.spec(), want.spec());
        const bool differs = may_differ(program, i);
        const OpDef& def = program.operation(origin(program, i)).def();
        const std::vector<Scalar> a = elements(got.to(Device()));
        const std::vector<Scalar> b = elements(want);
        const DType dtype = want.dtype();
        std::optional<double> size;
        for (std::size_t at = 0; at < b.size(); ++at) {
            ++compared;
            const double ulps = differs ? def.tolerance.ulps : 0;
            if (conformance::close(a[at], b[at], dtype, ulps, differs ? def.tolerance.absolute : 0))
                continue;
            const bool sums = !has(def.traits, Trait::elementwise) || def.is_composite();
            if (differs && sums) {
                // Large terms may leave what was added before them, or nothing.
                if (!size) size = largest(program, i, operands, values);
                if (*size > 1e4) {
                    ++large;
                    continue;
                }
                const double room = 4096 * epsilon(dtype) * *size * *size;
                if (conformance::close(a[at], b[at], dtype, ulps, room)) {
                    ++roomy;
                    continue;
                }
            }
            FAIL() << fmt::format("operation {}, {}, element {}: {} and not {}", i,
                                  operation.def().name, at, a[at].str(), b[at].str());
        }
    }

    static std::vector<Tensor> on(Device device, const std::vector<Tensor>& tensors) {
        std::vector<Tensor> out;
        for (const Tensor& t : tensors) out.push_back(t.to(device));
        return out;
    }

    const Device cpu{"cpu"};
    std::size_t compared = 0;
    std::size_t roomy = 0;    // not in the tolerance, but as near as the operands allow
    std::size_t large = 0;    // not compared: operands so large that sums lose others
    std::size_t refused = 0;  // programs with bad data
};

TEST_F(Devices, ComputeTheSame) {
    const int programs = tests::count(300, 100'000);
    for (int i = 0; i < programs && !HasFailure(); ++i)
        check(tests::seed + static_cast<std::uint64_t>(i));
    fmt::print(
        "devices: {} programs ({} refused), {} elements, {} beyond the tolerance near large "
        "operands, {} among "
        "too large ones\n",
        programs, refused, compared, roomy, large);
    int least = std::numeric_limits<int>::max();
    std::string text;
    for (const auto& [name, times] : ProgramGenerator::histogram()) {
        text += fmt::format("  {} {}\n", name, times);
        least = std::min(least, times);
    }
    if (tests::long_run) fmt::print("{}", text);
    fmt::print("devices: {} ops, the rarest drawn {} times\n", ProgramGenerator::histogram().size(),
               least);
}

}  // namespace
}  // namespace lazuli::tests
