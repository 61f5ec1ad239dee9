// Properties of random programs of up to 200 ops.

#include <fmt/format.h>

#include <cstring>
#include <set>

#include "long_option.h"
#include "property/generator.h"

namespace lazuli {
namespace {

using tests::ProgramGenerator;
using tests::Random;

/// The elements' bytes; every NaN counts as the same, since its payload is no part of a value.
std::string bits_of(const Tensor& tensor) {
    const TensorSpec& spec = tensor.spec();
    tensor.eval();
    std::string out;
    const auto read = [&]<class T>(T) {
        const auto values = tensor.to_vector<T>();
        for (const auto& v : values) out += Scalar(static_cast<T>(v)).str() + ",";
    };
    switch (spec.dtype) {
        case DType::boolean: read(bool{}); break;
        case DType::i8: read(std::int8_t{}); break;
        case DType::i16: read(std::int16_t{}); break;
        case DType::i32: read(std::int32_t{}); break;
        case DType::i64: read(std::int64_t{}); break;
        case DType::u8: read(std::uint8_t{}); break;
        case DType::u16: read(std::uint16_t{}); break;
        case DType::u32: read(std::uint32_t{}); break;
        case DType::u64: read(std::uint64_t{}); break;
        case DType::f16: read(Half{}); break;
        case DType::bf16: read(BFloat16{}); break;
        case DType::f32: read(float{}); break;
        case DType::f64: read(double{}); break;
        case DType::c64: read(std::complex<float>{}); break;
        case DType::c128: read(std::complex<double>{}); break;
    }
    return out;
}

/// How many operations a program's results need, counted from the back.
/// Movements are recorded as one view however many there are, or none where they undo each other;
/// `contiguous` of what is no view is nothing.
bool is_kept_as_view(const OpDef& def) { return def.move != nullptr || def.name == "contiguous"; }

std::size_t computing(const Program& program) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < program.size(); ++i)
        count += is_kept_as_view(program.operation(i).def()) ? 0 : 1;
    return count;
}

std::size_t needed(const Program& program, std::size_t target) {
    std::set<std::size_t> open{target};
    std::size_t count = 0;
    while (!open.empty()) {
        const std::size_t i = *open.rbegin();
        open.erase(i);
        if (!is_kept_as_view(program.operation(i).def())) ++count;
        for (std::size_t k = 0; k < program.operation(i).input_count(); ++k) {
            if (!program.operation(i).input(k).is_param())
                open.insert(program.operation(i).input(k).index());
        }
    }
    return count;
}

bool has_narrow_floats(const Program& program) {
    const auto narrow = [](DType dtype) { return dtype == f16 || dtype == bf16; };
    for (std::size_t i = 0; i < program.size(); ++i) {
        if (narrow(program.operation(i).spec().dtype)) return true;
    }
    return false;
}

TEST(Property, RandomPrograms) {
    const int programs = tests::count(1500, 100'000);
    std::size_t ops = 0;
    for (int i = 0; i < programs; ++i) {
        const std::uint64_t seed = tests::seed + static_cast<std::uint64_t>(i);
        ProgramGenerator generator(seed);
        Random random(~seed);
        const Program program =
            generator.program(static_cast<int>(1 + random.below(random.one_in(4) ? 200 : 40)));
        ops += program.size();
        SCOPED_TRACE(
            fmt::format("seed {}\n{}", seed, program.size() < 30 ? program.str() : "(long)"));

        // The three formats give the program back, and it is well-formed.
        program.verify();
        ASSERT_EQ(Program::parse(program.str()), program);
        ASSERT_EQ(Program::from_json(program.json()), program);
        ASSERT_EQ(Program::from_bytes(program.bytes()), program);
        ASSERT_EQ(Program::parse(program.str()).str(), program.str());

        // Lazy and eager give the same bits.
        const std::vector<Tensor> operands = generator.operands(program);
        const std::vector<Tensor> lazy = record(program, operands);

        // A capture holds what its target needs and nothing else.
        for (std::size_t r = 0; r < lazy.size(); ++r) {
            const ValueRef value = program.results()[r].value;
            if (value.is_param()) continue;
            ASSERT_EQ(computing(capture(lazy[r])), needed(program, value.index()));
        }
        eval(std::span<const Tensor>(lazy));
        std::vector<Tensor> eager;
        {
            const eager::Scope scope;
            eager = record(program, operands);
        }
        // Kernels keep f16 and bf16 in f32 between operations, and round where they store: what is
        // fused shows there.
        if (!(default_device() == Device()) && has_narrow_floats(program)) continue;
        for (std::size_t r = 0; r < lazy.size(); ++r)
            ASSERT_EQ(bits_of(lazy[r]), bits_of(eager[r])) << "result " << r;
    }
    fmt::print("property: {} programs, {} operations\n", programs, ops);
    std::string line;
    for (const auto& [op, count] : ProgramGenerator::histogram()) {
        line += fmt::format("{:>16} {:>8}", op, count);
        if (line.size() > 90) {
            fmt::print("{}\n", line);
            line.clear();
        }
    }
    fmt::print("{}\n", line);
    for (int i = 0; i < op_count(); ++i) {
        const OpDef& def = op_def(static_cast<OpId>(i));
        if (has(def.traits, Trait::leaf) || has(def.traits, Trait::sensitive)) continue;
        // An argument has no value outside of a body, and a test of random numbers may never fail.
        if (def.name == "argument" || def.name == "while_loop") continue;
        EXPECT_GT(ProgramGenerator::histogram()[std::string(def.name)], programs / 100) << def.name;
    }
}

// A mutated program is refused with an error, or is a program; it never crashes.
std::string mutate(std::string text, Random& random) {
    // Often one, so that some of what comes out is still a program.
    const auto edits = random.one_in(2) ? 1 : 1 + random.below(4);
    constexpr std::string_view pieces[] = {
        "%0",  "f32",    "[",        "]",    "-1", "9223372036854775807",
        "add", "sum",    "axes=[0]", "(",    ")",  "nan",
        ":",   "return", "\"",       "c128", "0"};
    for (std::size_t i = 0; i < edits && !text.empty(); ++i) {
        const std::size_t at = random.below(text.size());
        switch (random.below(6)) {
            case 0: text[at] = static_cast<char>(random.next()); break;
            case 1: text.erase(at, 1 + random.below(8)); break;
            case 2: text.insert(at, pieces[random.below(std::size(pieces))]); break;
            case 3: text[at] = static_cast<char>(text[at] ^ (1 << random.below(8))); break;
            case 4: text.resize(at); break;
            default: {
                const std::size_t from = random.below(text.size());
                text.insert(at, text.substr(from, random.below(20)));
            }
        }
    }
    return text;
}

bool small(const Program& program) {
    std::int64_t elements = 0;
    const auto add = [&](const TensorSpec& spec) {
        elements += std::min<std::int64_t>(spec.shape.numel(), 1 << 20);
    };
    for (const Param& p : program.params()) add(p.spec);
    for (std::size_t i = 0; i < program.size(); ++i) add(program.operation(i).spec());
    return elements < (1 << 16);
}

TEST(Property, MutatedProgramsAreRefusedOrMeanSomething) {
    const int mutations = tests::count(20'000, 1'000'000);
    int accepted = 0;
    int ran = 0;
    for (int i = 0; i < mutations;) {
        const std::uint64_t seed = tests::seed + static_cast<std::uint64_t>(i);
        ProgramGenerator generator(seed);
        Random random(~seed);
        const Program program = generator.program(static_cast<int>(1 + random.below(8)));
        const std::string forms[] = {program.str(), program.bytes(), program.json()};
        for (int k = 0; k < 50 && i < mutations; ++k, ++i) {
            const std::size_t form = random.below(5) % 3;
            const std::string mutated = mutate(forms[form], random);
            try {
                const Program read = form == 0   ? Program::parse(mutated)
                                     : form == 1 ? Program::from_bytes(mutated)
                                                 : Program::from_json(mutated);
                ++accepted;
                read.verify();
                ASSERT_EQ(Program::parse(read.str()), read) << mutated;
                if (!small(read) || !random.one_in(4)) continue;
                const std::vector<Tensor> results = record(read, generator.operands(read));
                ++ran;
                eval(std::span<const Tensor>(results));
            } catch (const Error&) {
                // refused, or a value that cannot be computed (a position out of range): both say
                // so
            }
        }
    }
    fmt::print("mutations: {}, of which {} were programs and {} ran\n", mutations, accepted, ran);
    EXPECT_GT(accepted, mutations / 100);
    EXPECT_LT(accepted, mutations);
}

}  // namespace
}  // namespace lazuli
