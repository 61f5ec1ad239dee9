// Kernels as machine code against the kernel interpreter: the same bits.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>

#include "backend/cpu/compiler.h"
#include "codegen/in_place.h"
#include "codegen/lower.h"
#include "codegen/phases.h"
#include "codegen/spell.h"
#include "generator.h"
#include "ir/engine.h"
#include "long_option.h"
#include "optimize/pipeline.h"
#include "plan/expand.h"
#include "plan/steps.h"

namespace lazuli::tests {
namespace {

using Bytes = std::vector<unsigned char>;

/// Whether the elements are the same bits, or both NaN.
void expect_same_bits(const Bytes& got, const Bytes& want, DType dtype, const std::string& text) {
    const std::size_t size = size_of(dtype);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t at = 0; at < want.size(); at += size) {
        if (std::memcmp(&want[at], &got[at], size) == 0) continue;
        const Scalar a = load_scalar(dtype, &got[at]);
        const Scalar b = load_scalar(dtype, &want[at]);
        if (std::isnan(a.to_double()) && std::isnan(b.to_double())) continue;
        FAIL() << "element " << at / size << ": " << a.str() << " and not " << b.str() << "\n"
               << text;
    }
}

void run(const cpu::Compiled& compiled, std::span<void* const> buffers, bool& failed) {
    std::int64_t values[64] = {};
    std::int64_t status[3] = {};
    for (std::size_t i = 0; i < compiled.code()->phases(); ++i) {
        const LazuliPhase phase = compiled.code()->phase(i, codegen::Form::usual);
        // In two pieces, as two threads would, at some place on a cache line.
        const std::int64_t steps = compiled.only_extents().parts[i].steps;
        const std::int64_t middle = steps > 128 ? steps / 128 * 64 : steps / 2;
        if (middle > 0) phase(buffers.data(), 0, middle, values, status);
        phase(buffers.data(), middle, steps, values, status);
    }
    failed = status[0] != 0;
}

std::size_t bytes_of(const codegen::KernelBuffer& buffer) {
    return static_cast<std::size_t>(buffer.elements.constant().value()) * size_of(buffer.dtype);
}

/// Memory of its own for each buffer of a kernel, but for an output that lies where an operand
/// does.
class Buffers {
   public:
    Buffers(const codegen::Kernel& kernel, std::span<void* const> operands,
            const codegen::InPlace& pair) {
        for (std::size_t k = 0; k < kernel.buffers.size(); ++k) {
            const codegen::KernelBuffer& buffer = kernel.buffers[k];
            const std::size_t bytes = bytes_of(buffer);
            own_.emplace_back(bytes, 0xa5);
            if (!buffer.written && !buffer.scratch && bytes > 0)
                std::memcpy(own_.back().data(), operands[k], bytes);
        }
        for (Bytes& bytes : own_) addresses.push_back(bytes.data());
        addresses[pair.written] = addresses[pair.read];
    }
    std::vector<void*> addresses;

   private:
    std::vector<Bytes> own_;
};

/// Runs the kernel once for each pair of buffers that may be one, interpreted and as machine code.
int check_in_place(const codegen::Kernel& kernel, std::span<void* const> operands,
                   const std::function<const Bytes&(std::size_t)>& wanted,
                   const cpu::Compiled* code) {
    const std::vector<codegen::InPlace> pairs = codegen::find_in_place(kernel);
    for (const codegen::InPlace& pair : pairs) {
        for (const bool compiled : {false, true}) {
            if (compiled && code == nullptr) continue;
            const Buffers buffers(kernel, operands, pair);
            bool failed = false;
            if (compiled) {
                run(*code, buffers.addresses, failed);
            } else {
                codegen::interpret(kernel, std::span(buffers.addresses).first(operands.size()));
            }
            for (std::size_t k = 0; k < operands.size(); ++k) {
                if (!kernel.buffers[k].written) continue;
                const Bytes& want = wanted(k);
                const auto* got = static_cast<const unsigned char*>(buffers.addresses[k]);
                expect_same_bits({got, got + want.size()}, want, kernel.buffers[k].dtype,
                                 fmt::format("buffer {} in the place of {}\n{}", pair.written,
                                             pair.read, kernel.str()));
            }
        }
    }
    return static_cast<int>(pairs.size());
}

TEST(Compiled, KernelsGiveTheSameBits) {
#ifndef LAZULI_HAS_JIT
    GTEST_SKIP() << "built without a compiler of kernels";
#endif
    // A tenth, as sanitizers see of other samples, would not show how often kernels run in place.
    const int programs = tests::long_run ? 20'000 : 150;
    std::size_t kernels = 0;
    std::size_t elements = 0;
    double seconds = 0;
    int in_place = 0;
    set_quick_start(false);
    for (int i = 0; i < programs; ++i) {
        const std::uint64_t seed = tests::seed + static_cast<std::uint64_t>(i);
        ProgramGenerator generator(seed);
        Random random(~seed);
        const Program drawn = generator.program(static_cast<int>(1 + random.below(30)));
        const std::vector<Tensor> operands = generator.operands(drawn);
        const plan::Steps steps = plan::make_steps(plan::expand(drawn, {}));
        const Program& program = steps.program;
        SCOPED_TRACE(fmt::format("seed {}", seed));
        std::vector<Bytes> params;
        for (const Tensor& operand : operands) {
            Bytes bytes(static_cast<std::size_t>(operand.spec().nbytes()));
            const Tensor dense = operand.contiguous();
            dense.eval();
            ir::engine().download(*static_cast<ir::Node*>(dense.node()), bytes.data());
            params.push_back(std::move(bytes));
        }
        std::vector<Bytes> values(program.size());
        const auto bytes_of = [&](ValueRef v) -> Bytes& {
            return v.is_param() ? params[v.index()] : values[v.index()];
        };
        for (const plan::Step& step : steps.all) {
            for (const ValueRef output : step.outputs)
                bytes_of(output).resize(static_cast<std::size_t>(program.spec(output).nbytes()));
            if (step.kernel == nullptr) {
                const Operation operation = program.operation(step.outputs[0].index());
                std::vector<TensorSpec> specs;
                for (std::size_t k = 0; k < operation.input_count(); ++k)
                    specs.push_back(program.spec(operation.input(k)));
                std::vector<HostArray> inputs;
                for (std::size_t k = 0; k < specs.size(); ++k)
                    inputs.push_back({bytes_of(operation.input(k)).data(), &specs[k]});
                const TensorSpec spec = operation.spec();
                try {
                    operation.def().evaluate({operation.def(), operation.attrs(), inputs, &spec,
                                              bytes_of(step.outputs[0]).data()});
                } catch (const ExecutionError&) {
                    break;
                }
                continue;
            }
            step.kernel->verify();
            const std::string text = step.kernel->str();
            ASSERT_EQ(codegen::Kernel::parse(text).str(), text);
            std::vector<void*> buffers;
            for (const ValueRef v : step.buffers) buffers.push_back(bytes_of(v).data());
            bool interpreter_failed = false;
            try {
                codegen::interpret(*step.kernel, buffers);
            } catch (const ExecutionError&) {
                interpreter_failed = true;
            }
            const std::vector<void*> given = buffers;
            const auto start = std::chrono::steady_clock::now();
            const auto compiled = cpu::code_of(*step.kernel);
            const cpu::Compiled* code =
                compiled == nullptr || compiled->code() == nullptr ? nullptr : compiled.get();
            seconds +=
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            ASSERT_TRUE(code != nullptr || !codegen::is_compilable(*step.kernel) ||
                        text.find("f16") != std::string::npos)
                << text;
            if (code != nullptr) {
                ++kernels;
                std::vector<Bytes> own;
                for (std::size_t k = 0; k < buffers.size(); ++k) {
                    if (!step.kernel->buffers[k].written) continue;
                    own.emplace_back(bytes_of(step.buffers[k]).size(), 0xa5);
                    buffers[k] = own.back().data();
                }
                std::vector<Bytes> scratch;
                for (std::size_t k = buffers.size(); k < step.kernel->buffers.size(); ++k) {
                    scratch.emplace_back(tests::bytes_of(step.kernel->buffers[k]));
                }
                for (Bytes& bytes : scratch) buffers.push_back(bytes.data());
                bool failed = false;
                run(*code, buffers, failed);
                ASSERT_EQ(failed, interpreter_failed) << text;
                std::size_t next = 0;
                for (std::size_t k = 0; k < step.buffers.size() && !failed; ++k) {
                    if (!step.kernel->buffers[k].written) continue;
                    const Bytes& want = bytes_of(step.buffers[k]);
                    elements += want.size() / size_of(step.kernel->buffers[k].dtype);
                    expect_same_bits(own[next++], want, step.kernel->buffers[k].dtype, text);
                    if (testing::Test::HasFatalFailure()) return;
                }
            }
            if (interpreter_failed) break;
            in_place += check_in_place(
                *step.kernel, given,
                [&](std::size_t k) -> const Bytes& { return bytes_of(step.buffers[k]); }, code);
            if (testing::Test::HasFatalFailure()) return;
        }
    }
    set_quick_start(true);
    EXPECT_GT(kernels, static_cast<std::size_t>(programs)) << "the compiler was not found";
    EXPECT_GT(in_place, programs / 8);
    fmt::print(
        "compiled: {} programs, {} kernels, {} elements, {} times in place, {:.1f} ms a kernel to "
        "compile\n",
        programs, kernels, elements, in_place,
        kernels == 0 ? 0 : 1e3 * seconds / static_cast<double>(kernels));
}

}  // namespace
}  // namespace lazuli::tests
