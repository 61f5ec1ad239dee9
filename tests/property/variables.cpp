// Kernels with variables: interpreted and compiled once, they give at every size the bits of the
// same kernel with that size in its text.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <set>

#include "backend/cpu/contraction.h"
#include "base/env.h"
#include "codegen/collapse.h"
#include "codegen/kernel.h"
#include "codegen/phases.h"
#include "lazuli/backend.h"
#include "lazuli/compile.h"
#include "lazuli/error.h"
#include "long_option.h"
#include "random.h"

namespace lazuli::tests {
namespace {

using Bytes = std::vector<unsigned char>;
using Sizes = std::vector<std::int64_t>;

constexpr const char* kOneSize[] = {
    R"(kernel elementwise(in0: f32[n], in1: f32[n], out0: f32[n] out) where 1 <= n <= 1000000 {
  parallel i < n {
    %0 = load in0[i] : f32
    %1 = load in1[i] : f32
    %2 = mul(%0, %1) : f32
    %3 = abs(%2) : f32
    %4 = sqrt(%3) : f32
    %5 = add(%4, %0) : f32
    store out0[i] = %5
  }
})",
    R"(kernel narrow(in0: bf16[n], in1: i8[n], out0: bf16[n] out, out1: i64[n] out) where 1 <= n <= 5000 {
  parallel i < n {
    %0 = load in0[i] : bf16
    %1 = load in1[i] : i8
    %2 = cast(%0) : f32
    %3 = cast(%1) : f32
    %4 = add(%2, %3) : f32
    %5 = cast(%4) : bf16
    store out0[i] = %5
    %6 = cast(%4) : i64
    store out1[i] = %6
  }
})",
    // Few steps at most: vectors are shorter.
    R"(kernel few(in0: f32[n], out0: f32[n] out) where 1 <= n <= 7 {
  parallel i < n {
    %0 = load in0[i] : f32
    %1 = neg(%0) : f32
    store out0[i] = %1
  }
})",
    R"(kernel sums_of_five(in0: f32[5*n], out0: f32[n] out) where 1 <= n <= 5000 {
  parallel i < n {
    %1 = reduce k < 5 lanes 8 (add f32 from 0.0) {
      %0 = load in0[5*i + k] : f32
      yield %0
    }
    store out0[i] = %1
  }
})",
    R"(kernel sum_in_parts(in0: f32[n], out0: f32[n] out, out1: f32[1] out, tmp0: f64[(n + 255) / 256] tmp) where 1 <= n <= 1000000 {
  parallel r0 < (n + 255) / 256 {
    %1 = reduce r1 < min(256, n - 256*r0) lanes 64 (add f64 from 0.0) {
      %0 = load in0[256*r0 + r1] : f32
      yield %0
    }
    store tmp0[r0] = %1
  }
  %3 = reduce r2 < (n + 255) / 256 lanes 64 (add f64 from 0.0) {
    %2 = load tmp0[r2] : f64
    yield %2
  }
  %4 = cast(%3) : f32
  store out1[0] = %4
  %5 = position n : f32
  %6 = div(%4, %5) : f32
  parallel i < n {
    %7 = load in0[i] : f32
    %8 = sub(%7, %6) : f32
    store out0[i] = %8
  }
})",
    R"(kernel strided(in0: f32[3*n], in1: f32[n], out0: f32[n] out, out1: f32[2*n] out) where 1 <= n <= 5000 {
  parallel i < n {
    %0 = load in0[3*i + 1] : f32
    %1 = load in1[n - i - 1] : f32
    %2 = sub(%0, %1) : f32
    store out0[i] = %2
    store out1[2*i] = %2
    store out1[2*i + 1] = %0
  }
})",
    R"(kernel padded(in0: f32[n], in1: f32[n], out0: f32[n + 5] out) where 1 <= n <= 5000 {
  parallel i < n + 5 {
    %0 = load in0[i - 2] where i >= 2 and n + 1 - i >= 0 else -1.5 : f32
    %1 = load in1[0] where n - 17 >= 0 else 2.0 : f32
    %2 = mul(%0, %1) : f32
    store out0[i] = %2
  }
})",
    R"(kernel masked_store(in0: f32[n], out0: f32[n] out) where 1 <= n <= 5000 {
  parallel i < n {
    %0 = load in0[i] : f32
    store out0[i] = %0 where i % 3 >= 1
  }
  parallel i1 < n {
    %1 = constant 7.0 : f32
    store out0[i1] = %1 where -(i1 % 3) >= 0
  }
})",
    R"(kernel differences(in0: f32[n], out0: f32[n - 1] out, out1: f32[1] out) where 1 <= n <= 5000 {
  parallel i < n - 1 {
    %0 = load in0[i] : f32
    %1 = load in0[i + 1] : f32
    %2 = sub(%1, %0) : f32
    store out0[i] = %2
  }
  %4 = reduce k < n - 1 lanes 64 (maximum f32 from -inf) {
    %3 = load in0[k + 1] : f32
    yield %3
  }
  store out1[0] = %4
})",
    R"(kernel square(in0: f32[n], out0: i64[n*n] out) where 1 <= n <= 100 {
  parallel i < n {
    serial k < n {
      %0 = load in0[i] : f32
      %1 = load in0[k] : f32
      %2 = lt(%0, %1) : bool
      %3 = position i*n + k + n / 3 % 5 : i64
      %4 = position max(i, k) : i64
      %5 = select(%2, %3, %4) : i64
      store out0[n*i + k] = %5
    }
  }
})",
    R"(kernel picked(in0: i32[n], in1: f32[n], out0: f32[n] out) where 1 <= n <= 5000 {
  parallel i < n {
    %0 = load in0[i] : i32
    bind g < n to %0
    %1 = load in1[g] : f32
    store out0[i] = %1
  }
})",
};

constexpr const char* kTwoSizes[] = {
    R"(kernel broadcast(in0: f32[n*t], in1: f32[t], in2: f32[n], out0: f32[n*t] out) where 1 <= n <= 5000, 1 <= t <= 5000 {
  parallel i < n {
    serial k < t {
      %0 = load in0[t*i + k] : f32
      %1 = load in1[k] : f32
      %2 = load in2[i] : f32
      %3 = add(%0, %1) : f32
      %4 = mul(%3, %2) : f32
      store out0[t*i + k] = %4
    }
  }
})",
    R"(kernel matrices(in0: f32[n*t], in1: f32[n*t], out0: f32[n*t] out) where 1 <= n <= 5000, 1 <= t <= 5000 {
  parallel i < n {
    serial k < t {
      %0 = load in0[t*i + k] : f32
      %1 = load in1[t*i + k] : f32
      %2 = add(%0, %1) : f32
      store out0[t*i + k] = %2
    }
  }
})",
    R"(kernel transposed(in0: f32[n*t], out0: f32[n*t] out) where 1 <= n <= 5000, 1 <= t <= 5000 {
  parallel i < n {
    serial k < t {
      %0 = load in0[n*k + i] : f32
      store out0[t*i + k] = %0
    }
  }
})",
    R"(kernel row_sums(in0: f32[n*t], out0: f32[n] out) where 1 <= n <= 5000, 1 <= t <= 5000 {
  parallel i < n {
    %1 = reduce k < t lanes 64 (add f64 from 0.0) {
      %0 = load in0[t*i + k] : f32
      yield %0
    }
    %2 = cast(%1) : f32
    store out0[i] = %2
  }
})",
    R"(kernel column_sums(in0: f32[n*t], out0: f32[t] out) where 1 <= n <= 5000, 1 <= t <= 5000 {
  parallel k < t {
    %1 = reduce i < n lanes 64 (add f64 from 0.0) {
      %0 = load in0[t*i + k] : f32
      yield %0
    }
    %2 = cast(%1) : f32
    store out0[k] = %2
  }
})",
    R"(kernel all_sums(in0: f32[n*t], out0: f32[1] out, out1: f32[1] out) where 1 <= n <= 5000, 1 <= t <= 5000 {
  %1, %2 = reduce i < n, k < t lanes 64 (add f32 from 0.0, minimum f32 from inf) {
    %0 = load in0[t*i + k] : f32
    yield %0, %0
  }
  store out0[0] = %1
  store out1[0] = %2
})",
    R"(kernel middle_sums(in0: f32[3*n*t], out0: f32[3*t] out) where 1 <= n <= 5000, 1 <= t <= 5000 {
  parallel a < 3 {
    serial k < t {
      %1 = reduce i < n lanes 64 (add f32 from 0.0) {
        %0 = load in0[n*t*a + t*i + k] : f32
        yield %0
      }
      store out0[t*a + k] = %1
    }
  }
})",
    R"(kernel normalised(in0: f32[n*t], out0: f32[n*t] out) where 1 <= n <= 5000, 1 <= t <= 5000 {
  parallel i < n {
    %1 = reduce k < t lanes 64 (maximum f32 from -inf) {
      %0 = load in0[t*i + k] : f32
      yield %0
    }
    %5 = reduce k1 < t lanes 64 (add f64 from 0.0) {
      %2 = load in0[t*i + k1] : f32
      %3 = sub(%2, %1) : f32
      %4 = mul(%3, %3) : f32
      yield %4
    }
    %6 = position t : f64
    %7 = div(%5, %6) : f64
    %8 = cast(%7) : f32
    serial k2 < t {
      %9 = load in0[t*i + k2] : f32
      %10 = sub(%9, %1) : f32
      %11 = div(%10, %8) : f32
      store out0[t*i + k2] = %11
    }
  }
})",
    R"(kernel divided(in0: f32[n], in1: f32[t], out0: f32[n*t] out) where 1 <= n <= 5000, 1 <= t <= 5000 {
  parallel c < n*t {
    %0 = load in0[c / t] : f32
    %1 = load in1[c % t] : f32
    %2 = mul(%0, %1) : f32
    store out0[c] = %2
  }
})",
    R"(kernel counts(in0: f32[n*t], in1: f32[t], out0: i64[n] out) where 1 <= n <= 5000, 1 <= t <= 5000 {
  parallel i < n {
    %3 = reduce k < t lanes 64 (add i64 from 0) {
      %0 = load in0[t*i + k] : f32
      %1 = load in1[k - 1] where k >= 1 and t - k - 3 >= 0 else 0.25 : f32
      %2 = lt(%0, %1) : bool
      yield %2
    }
    store out0[i] = %3
  }
})",
    R"(kernel sums_of_sums(in0: f32[n*t], out0: f32[1] out) where 1 <= n <= 5000, 1 <= t <= 5000 {
  %3 = reduce i < n lanes 64 (add f64 from 0.0) {
    %1 = reduce k < t lanes 16 (add f64 from 0.0) {
      %0 = load in0[t*i + k] : f32
      yield %0
    }
    %2 = abs(%1) : f64
    yield %2
  }
  %5 = cast(%3) : f32
  store out0[0] = %5
})",
    // Every step stores to one place: the last one stays.
    R"(kernel last(in0: f32[n*t], out0: f32[n] out) where 1 <= n <= 5000, 1 <= t <= 5000 {
  parallel i < n {
    serial k < t {
      %0 = load in0[t*i + k] : f32
      store out0[i] = %0
    }
  }
})",
};

/// Elements of a buffer: numbers of all sizes, some -0; where integers are, indices that exist.
Bytes drawn(const codegen::KernelBuffer& buffer, std::int64_t elements, Random& random) {
    const std::size_t size = size_of(buffer.dtype);
    Bytes out(static_cast<std::size_t>(elements) * size, 0xa5);
    if (buffer.written) return out;
    for (std::int64_t i = 0; i < elements; ++i) {
        const double real = random.one_in(16)
                                ? -0.0
                                : static_cast<double>(random.between(-1'000'000, 1'000'000)) /
                                      (random.one_in(4) ? 7.0 : 70'000.0);
        const bool is_index = buffer.dtype == DType::i32;
        const Scalar value =
            is_index
                ? Scalar(random.between(-elements, elements - 1))
                : (buffer.dtype == DType::i8 ? Scalar(random.between(-128, 127)) : Scalar(real));
        store_scalar(value, buffer.dtype, &out[static_cast<std::size_t>(i) * size]);
    }
    return out;
}

/// The memory of one run.
class Memory {
   public:
    Memory(const codegen::Kernel& at_sizes, std::uint64_t seed) {
        Random random(seed);
        for (const codegen::KernelBuffer& buffer : at_sizes.buffers) {
            if (buffer.scratch) continue;
            bytes.push_back(drawn(buffer, buffer.elements.constant().value(), random));
        }
    }
    std::vector<void*> addresses() {
        std::vector<void*> out;
        for (Bytes& b : bytes) out.push_back(b.data());
        return out;
    }
    std::vector<Bytes> bytes;
};

/// What a run by code leaves, each phase in pieces of any length. `form` is one that serves at any
/// sizes, or none: the one that serves best.
std::vector<Bytes> in_pieces(const cpu::Compiled& compiled, const Sizes& sizes, Memory memory,
                             std::int64_t piece, std::optional<codegen::Form> form) {
    const cpu::Extents extents = compiled.extents().at(sizes);
    std::vector<void*> buffers = memory.addresses();
    std::vector<Bytes> scratch;
    for (const std::int64_t bytes : extents.scratch_bytes)
        buffers.push_back(scratch.emplace_back(static_cast<std::size_t>(bytes)).data());
    Sizes own = sizes;
    buffers.push_back(own.data());
    std::int64_t values[codegen::kPassedValues] = {};
    std::int64_t status[3] = {};
    for (std::size_t i = 0; i < extents.parts.size(); ++i) {
        const std::int64_t steps = extents.parts[i].steps;
        for (std::int64_t at = 0; at < steps; at += piece)
            compiled.code()->phase(i, form.value_or(extents.parts[i].form))(
                buffers.data(), at, std::min(at + piece, steps), values, status);
    }
    EXPECT_EQ(status[0], 0);
    return memory.bytes;
}

class Serving {
   public:
    explicit Serving(codegen::Kernel kernel)
        : kernel_(std::make_shared<const codegen::Kernel>(std::move(kernel))) {
        kernel_->verify();
        const std::string text = kernel_->str();
        EXPECT_EQ(codegen::Kernel::parse(text).str(), text);
#ifdef LAZULI_HAS_JIT
        const std::size_t before = cpu::codes_made();
        runnable_ = {kernel_, cpu::code_of(*kernel_), {}};
        EXPECT_NE(runnable_.code(), nullptr) << text;
        codes = cpu::codes_made() - before;
#else
        runnable_ = {kernel_, nullptr, {}};
#endif
    }

    /// At these sizes all ways give the same bits.
    void check(const Sizes& sizes, bool compiles_anew) {
        SCOPED_TRACE(fmt::format("{} at {}", kernel_->name, fmt::join(sizes, ", ")));
        auto fixed = std::make_shared<codegen::Kernel>(codegen::substitute(*kernel_, sizes));
        fixed->verify();
        EXPECT_EQ(codegen::Kernel::parse(fixed->str()).str(), fixed->str());
        const Memory start(*fixed, 17);
        Memory want = start;
        codegen::interpret(*fixed, want.addresses());
        const auto expect_same = [&](const std::vector<Bytes>& got, const char* how) {
            for (std::size_t i = 0; i < got.size(); ++i)
                ASSERT_TRUE(got[i] == want.bytes[i]) << how << ": buffer " << i << "\n"
                                                     << kernel_->str() << fixed->str();
        };
        Memory interpreted = start;
        codegen::interpret(*kernel_, interpreted.addresses(), sizes);
        expect_same(interpreted.bytes, "interpreted");
        const std::size_t before = cpu::codes_made();
        Memory launched = start;
        cpu::launch(runnable_, launched.addresses(), cpu::extents_at(runnable_, sizes));
        expect_same(launched.bytes, "launched");
        if (runnable_.compiled != nullptr) {
            for (const std::int64_t piece : {1, 37, 64, 100'000}) {
                using codegen::Form;
                const auto run = [&](std::optional<Form> form) {
                    return in_pieces(*runnable_.compiled, sizes, start, piece, form);
                };
                expect_same(run(Form::usual), "in pieces");
                expect_same(run(Form::turned), "in pieces, turned");
                expect_same(run(std::nullopt), "in pieces of the best form");
            }
            for (const auto& part : runnable_.compiled->extents().at(sizes).parts)
                forms.insert(part.form);
        }
        EXPECT_EQ(cpu::codes_made(), before);
        ++bindings;
        if (!compiles_anew || runnable_.compiled == nullptr) return;
        const cpu::Runnable anew{fixed, cpu::code_of(*fixed), {}};
        ASSERT_NE(anew.code(), nullptr);
        Memory compiled = start;
        cpu::launch(anew, compiled.addresses());
        expect_same(compiled.bytes, "compiled at these sizes");
    }

    std::size_t codes = 0;
    int bindings = 0;
    std::set<codegen::Form> forms;  // that served

   private:
    std::shared_ptr<const codegen::Kernel> kernel_;
    cpu::Runnable runnable_;
};

TEST(Compiled, OneKernelServesAllSizes) {
    set_quick_start(false);
    std::size_t kernels = 0;
    std::size_t codes = 0;
    int bindings = 0;
    std::set<codegen::Form> forms;
    const std::int64_t all[] = {1, 2, 3, 7, 15, 16, 17, 63, 64, 65, 100, 1000, 4097};
    const auto serve = [&](const char* text, bool collapsed, bool has_two) {
        codegen::Kernel kernel = codegen::Kernel::parse(text);
        if (collapsed) {
            const std::string before = kernel.str();
            codegen::collapse_loops(kernel);
            if (kernel.str() == before) return;
        }
        Serving serving(std::move(kernel));
        for (const std::int64_t n : all) {
            if (!has_two) {
                if (n <= codegen::Kernel::parse(text).variables[0].bounds().high)
                    serving.check({n}, true);
                continue;
            }
            for (const std::int64_t t : {1, 3, 17, 70}) {
                if (n * t > (kSanitized ? 2'000 : 70'000)) continue;
                // Compiling every pair would take most of the time and say little more.
                serving.check({n, t}, t == 17 || n == t);
                serving.check({t, n}, t == 3);
                if (testing::Test::HasFatalFailure()) return;
            }
        }
        ++kernels;
        codes += serving.codes;
        bindings += serving.bindings;
        forms.merge(serving.forms);
    };
    for (const char* text : kOneSize) serve(text, false, false);
    for (const char* text : kTwoSizes) {
        serve(text, false, true);
        serve(text, true, true);
    }
    set_quick_start(true);
    EXPECT_LE(codes, kernels) << "a kernel was compiled more than once";
#ifdef LAZULI_HAS_JIT
    using codegen::Form;
    EXPECT_EQ(forms, (std::set{Form::usual, Form::turned, Form::flat}));
#endif
    fmt::print("variables: {} kernels, compiled {} times, at {} bindings of sizes\n", kernels,
               codes, bindings);
}

constexpr const char* kLarge[] = {
    R"(kernel line(in0: f32[n], in1: f32[n], out0: f32[n] out) where 1 <= n <= 100000000 {
  parallel i < n {
    %0 = load in0[i] : f32
    %1 = load in1[i] : f32
    %2 = mul(%0, %1) : f32
    store out0[i] = %2
  }
})",
    R"(kernel rows(in0: f32[96*n], in1: f32[96], out0: f32[96*n] out, out1: f64[96*n] out) where 1 <= n <= 1000000 {
  parallel i < n {
    serial k < 96 {
      %0 = load in0[96*i + k] : f32
      %1 = load in1[k] : f32
      %2 = add(%0, %1) : f32
      store out0[96*i + k] = %2
      %3 = cast(%2) : f64
      store out1[96*i + k] = %3
    }
  }
})",
    // Rows that need not begin on a cache line.
    R"(kernel odd_rows(in0: f32[n*t], in1: f32[t], out0: f32[n*t] out) where 1 <= n <= 1000000, 1 <= t <= 500 {
  parallel i < n {
    serial k < t {
      %0 = load in0[t*i + k] : f32
      %1 = load in1[k] : f32
      %2 = add(%0, %1) : f32
      store out0[t*i + k] = %2
    }
  }
})",
    // Each row twice, the second time with what the first gave; elements of two sizes.
    R"(kernel less_sum(in0: f32[n*t], out0: f32[n*t] out, out1: bf16[n*t] out) where 1 <= n <= 1000000, 1 <= t <= 5000 {
  parallel i < n {
    %1 = reduce r < t lanes 64 (add f64 from 0.0) {
      %0 = load in0[t*i + r] : f32
      yield %0
    }
    %2 = cast(%1) : f32
    serial k < t {
      %3 = load in0[t*i + k] : f32
      %4 = sub(%3, %2) : f32
      store out0[t*i + k] = %4
      %5 = cast(%4) : bf16
      store out1[t*i + k] = %5
    }
  }
})",
    // Side by side along what is written, in rows further in.
    R"(kernel less_sum_of_columns(in0: f32[n*t], out0: f32[n*t] out) where 1 <= n <= 5000, 1 <= t <= 1000000 {
  parallel i < t {
    %1 = reduce r < n lanes 64 (add f64 from 0.0) {
      %0 = load in0[t*r + i] : f32
      yield %0
    }
    %2 = cast(%1) : f32
    serial k < n {
      %3 = load in0[t*k + i] : f32
      %4 = sub(%3, %2) : f32
      store out0[t*k + i] = %4
    }
  }
})",
    // Only what is read is large.
    R"(kernel columns(in0: f32[n*t], out0: f32[t] out) where 1 <= n <= 5000, 1 <= t <= 100000 {
  parallel i < t {
    %1 = reduce r < n lanes 64 (add f64 from 0.0) {
      %0 = load in0[t*r + i] : f32
      yield %0
    }
    %2 = cast(%1) : f32
    store out0[i] = %2
  }
})",
};

TEST(Compiled, LargeOutputsGoPastTheCacheWhateverTheirSize) {
#ifndef LAZULI_HAS_JIT
    GTEST_SKIP() << "built without a compiler of kernels";
#endif
    struct Case {
        const char* text;
        Sizes sizes;
        bool large;
    };
    const Case cases[] = {
        {kLarge[0], {4'194'303}, false},    {kLarge[0], {4'194'304}, true},
        {kLarge[0], {4'194'305}, true},     {kLarge[0], {5'000'011}, true},
        {kLarge[1], {43'690}, false},       {kLarge[1], {43'700}, true},
        {kLarge[1], {50'001}, true},        {kLarge[2], {60'000, 77}, true},
        {kLarge[2], {60'001, 96}, true},    {kLarge[2], {100'000, 50}, true},
        {kLarge[3], {4'001, 2112}, true},   {kLarge[3], {4'001, 2111}, true},
        {kLarge[3], {300'001, 32}, true},   {kLarge[3], {4'000, 2048}, false},
        {kLarge[4], {2'050, 2112}, true},   {kLarge[4], {2'050, 2111}, true},
        {kLarge[4], {40, 110'001}, true},   {kLarge[4], {5, 999'999}, true},
        {kLarge[5], {2'050, 2112}, true},   {kLarge[5], {4'999, 1'000}, true},
        {kLarge[5], {1'000, 1'000}, false},
    };
    set_quick_start(false);
    for (const auto& [text, sizes, large] : cases) {
        const auto kernel = std::make_shared<const codegen::Kernel>(codegen::Kernel::parse(text));
        const auto fixed =
            std::make_shared<const codegen::Kernel>(codegen::substitute(*kernel, sizes));
        SCOPED_TRACE(fmt::format("{} at {}", kernel->name, fmt::join(sizes, ", ")));
        const cpu::Runnable one{kernel, cpu::code_of(*kernel), {}};
        const cpu::Runnable other{fixed, cpu::code_of(*fixed), {}};
        const cpu::Extents extents = cpu::extents_at(one, sizes);
        EXPECT_EQ(extents.parts[0].form == codegen::Form::large, large);
        Random random(5);
        std::vector<BufferPtr> memory[2];
        std::vector<void*> addresses[2];
        for (const codegen::KernelBuffer& buffer : fixed->buffers) {
            const Bytes start = drawn(buffer, buffer.elements.constant().value(), random);
            for (std::size_t way = 0; way < 2; ++way) {
                memory[way].push_back(allocate_host(Device(), start.size()));
                addresses[way].push_back(memory[way].back()->host_mutable());
                std::memcpy(addresses[way].back(), start.data(), start.size());
            }
        }
        const auto expect_same = [&] {
            for (std::size_t i = 0; i < fixed->buffers.size(); ++i) {
                const auto elements =
                    static_cast<std::size_t>(fixed->buffers[i].elements.constant().value());
                EXPECT_EQ(std::memcmp(addresses[0][i], addresses[1][i],
                                      elements * size_of(fixed->buffers[i].dtype)),
                          0);
            }
        };
        cpu::launch(one, addresses[0], extents);
        cpu::launch(other, addresses[1]);
        expect_same();
        // In pieces that begin anywhere.
        for (std::size_t i = 0; i < fixed->buffers.size(); ++i) {
            if (fixed->buffers[i].written)
                std::memset(addresses[0][i], 0xee, memory[0][i]->bytes());
        }
        Sizes own = sizes;
        addresses[0].push_back(own.data());
        std::int64_t status[3] = {};
        const std::int64_t steps = extents.parts[0].steps;
        const std::int64_t piece = std::max<std::int64_t>(37, steps / 100);
        for (std::int64_t at = 0; at < steps; at += piece)
            one.code()->phase(0, codegen::Form::large)(
                addresses[0].data(), at, std::min(at + piece, steps), nullptr, status);
        expect_same();
    }
    set_quick_start(true);
}

TEST(Compiled, LargeBuffersAreReadAheadAndWrittenPastTheCache) {
#ifndef LAZULI_HAS_JIT
    GTEST_SKIP() << "built without a compiler of kernels";
#endif
    for (const char* text : kLarge) {
        const codegen::Kernel kernel = codegen::Kernel::parse(text);
        const std::string assembly = cpu::assembly_of(kernel);
        EXPECT_NE(assembly.find("prefetch"), std::string::npos) << kernel.name;
        const bool writes = kernel.name != "columns";
        // Two short registers are half a line.
        if (env::integer(env::Var::vector_width) == 128 && kernel.name == "less_sum_of_columns")
            continue;
        EXPECT_EQ(assembly.find("movnt") != std::string::npos, writes) << kernel.name;
    }
}

TEST(Compiled, SizesOutOfBoundsAreRefused) {
    const auto kernel =
        std::make_shared<const codegen::Kernel>(codegen::Kernel::parse(kTwoSizes[0]));
    const cpu::Runnable runnable{kernel, cpu::code_of(*kernel), {}};
    EXPECT_THROW(cpu::extents_at(runnable, Sizes{1}), ArgumentError);
    EXPECT_THROW(cpu::extents_at(runnable, Sizes{1, 5001}), ArgumentError);
    EXPECT_THROW(cpu::extents_at(runnable, Sizes{0, 1}), ArgumentError);
    EXPECT_THROW(cpu::launch(runnable, {}), ArgumentError);
}

}  // namespace
}  // namespace lazuli::tests
