#include "lazuli/conformance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "frontend/bundle.h"
#include "frontend/record.h"
#include "lazuli/eager.h"
#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/graph.h"
#include "lazuli/op.h"
#include "lazuli/ops.h"
#include "ops/threefry.h"

namespace lazuli::conformance {

int Report::total() const {
    int sum = 0;
    for (const auto& [op, types] : checks) {
        for (const auto& [dtype, count] : types) sum += count;
    }
    return sum;
}

namespace {

std::string table_head(std::string_view first) {
    std::string out(first);
    for (const DTypeInfo& type : kDTypes) out += fmt::format("{:>6}", type.name);
    return out + '\n';
}

std::string table_cells(const std::map<DType, int>& types) {
    std::string out;
    for (int i = 0; i < kDTypeCount; ++i) {
        const auto it = types.find(static_cast<DType>(i));
        out += it == types.end() ? fmt::format("{:>6}", "-") : fmt::format("{:>6}", it->second);
    }
    return out + '\n';
}

}  // namespace

std::string Report::table() const {
    std::string out = table_head(fmt::format("{:22}", "op"));
    for (const auto& [op, types] : checks) out += fmt::format("{:22}", op) + table_cells(types);
    return out;
}

std::string table(const std::map<std::string, Report>& reports) {
    std::string out = table_head(fmt::format("{:22}{:12}", "op", "backend"));
    std::map<std::string, std::map<std::string, std::map<DType, int>>> by_op;
    for (const auto& [backend, report] : reports) {
        for (const auto& [op, types] : report.checks) by_op[op][backend] = types;
    }
    for (const auto& [op, backends] : by_op) {
        std::string_view name = op;
        for (const auto& [backend, types] : backends) {
            out += fmt::format("{:22}{:12}", name, backend) + table_cells(types);
            name = "";
        }
    }
    return out;
}

// ---- drawing operands

namespace {

double epsilon_of(DType dtype) {
    switch (real_part(dtype)) {
        case DType::f16: return 0x1p-10;
        case DType::bf16: return 0x1p-7;
        case DType::f32: return 0x1p-23;
        default: return 0x1p-52;
    }
}

std::vector<Scalar> edges_of(DType dtype) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    if (dtype == DType::boolean) return {false, true};
    if (is_integer(dtype)) {
        const auto bits = static_cast<int>(8 * size_of(dtype));
        const auto highest = info(dtype).is_signed ? (std::uint64_t{1} << (bits - 1)) - 1
                                                   : ~std::uint64_t{0} >> (64 - bits);
        std::vector<Scalar> edges{0, 1, highest};
        if (info(dtype).is_signed)
            edges.insert(edges.end(), {Scalar(-1), Scalar(static_cast<std::int64_t>(~highest))});
        return edges;
    }
    const double largest = dtype == f16              ? 65504.0
                           : dtype == bf16           ? 0x1.fep127
                           : real_part(dtype) == f32 ? 0x1.fffffep127
                                                     : std::numeric_limits<double>::max();
    const double smallest = dtype == f16              ? 0x1p-24
                            : dtype == bf16           ? 0x1p-133
                            : real_part(dtype) == f32 ? 0x1p-149
                                                      : std::numeric_limits<double>::denorm_min();
    return {0.0, -0.0, 1.0, -1.0, inf, -inf, std::nan(""), largest, -largest, smallest, -smallest};
}

}  // namespace

Tensor draw(const TensorSpec& spec, double low, double high, bool edges, std::uint64_t seed) {
    const std::vector<Scalar> special = edges ? edges_of(spec.dtype) : std::vector<Scalar>{};
    const std::size_t size = size_of(spec.dtype);
    const std::int64_t count = spec.shape.numel();
    if (is_integer(spec.dtype) && !info(spec.dtype).is_signed) low = std::max(low, 0.0);
    std::vector<unsigned char> bytes(static_cast<std::size_t>(count) * size);
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint64_t bits = ops::threefry(seed, static_cast<std::uint64_t>(i));
        const auto at = [&](std::uint64_t b) {
            return low + (high - low) * std::ldexp(static_cast<double>(b), -32);
        };
        Scalar value(at(bits & 0xffffffff));
        // Two operands that are both special come together in every combination before long: their
        // periods differ by the seed.
        if (!special.empty() && (bits >> 32) % 3 != 0)
            value = special[(bits >> 40) % special.size()];
        if (is_complex(spec.dtype))
            value = Scalar(std::complex<double>(value.to_double(), at(bits >> 32)));
        if (spec.dtype == DType::boolean && special.empty()) value = Scalar((bits & 1) != 0);
        if (is_integer(spec.dtype) && special.empty())
            value = Scalar(static_cast<std::int64_t>(std::floor(at(bits & 0xffffffff))));
        store_scalar(value, spec.dtype, bytes.data() + static_cast<std::size_t>(i) * size);
    }
    // The bytes must stay as long as the tensor does.
    auto* kept = new std::vector<unsigned char>(std::move(bytes));
    return lift(kept->data(), spec.dtype, spec.shape, {}, [kept] { delete kept; });
}

Tensor with_diagonal(const Tensor& x, double more) {
    const int rank = x.rank();
    const std::int64_t rows = x.shape()[rank - 2];
    const std::int64_t columns = x.shape()[rank - 1];
    const double added = more * static_cast<double>(std::max(rows, columns));
    Tensor out = x + eye(rows, columns, 0, {x.dtype(), x.device()}) * added;
    out.eval();
    return out;
}

bool close(const Scalar& actual, const Scalar& expected, DType dtype, double ulps,
           double absolute) {
    if (actual == expected) return true;
    if (kind(dtype) < Kind::floating) return false;
    const auto part = [&](double a, double b) {
        if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
        if (a == b) return ulps > 0 || std::signbit(a) == std::signbit(b);
        if (std::isinf(a) || std::isinf(b)) return false;
        return std::fabs(a - b) <= absolute + ulps * epsilon_of(dtype) * std::fabs(b);
    };
    return part(actual.to_double(), expected.to_double()) &&
           part(actual.to_complex().imag(), expected.to_complex().imag());
}

// ---- running

namespace {

struct Call {
    std::vector<TensorSpec> inputs;
    std::vector<Attribute> attrs;
    std::optional<TensorSpec> wanted;
    DType deciding;
    DType result = deciding;  // the result's type
};

/// Shapes for elementwise ops of this many operands.
std::vector<std::vector<Shape>> elementwise_shapes(int operands) {
    if (operands == 1) return {{{40}}, {{3, 4}}, {{}}, {{1, 1}}, {{0, 3}}, {{1, 2, 1, 2, 1, 2, 2}}};
    std::vector<std::vector<Shape>> out{
        {{120}, {120}}, {{2, 3, 1}, {3, 4}}, {{}, {5}},    {{2, 2}, {}},
        {{}, {}},       {{0, 3}, {1, 3}},    {{1}, {1, 1}}};
    if (operands == 3) {
        for (auto& shapes : out) shapes.insert(shapes.begin(), shapes.back());
    }
    return out;
}

/// The types of all operands where the deciding one, the last, is `dtype`: the same, but for a
/// condition and for what is picked from by positions.
std::vector<std::vector<DType>> operand_types(const OpDef& def, std::size_t count, DType dtype) {
    std::vector<DType> types(count, dtype);
    if (has(def.traits, Trait::predicated) && count > 0) types[0] = DType::boolean;
    if (has(def.traits, Trait::random) && count > 1) {
        types[0] = u64;  // a key
        return {types};
    }
    if (has(def.traits, Trait::promotes) || has(def.traits, Trait::elementwise) || count < 2)
        return {types};
    // Ops that do not bring their operands to one type: either they take equal types, or the first
    // is free.
    std::vector<std::vector<DType>> out{types};
    for (const DType first : {f32, i64, DType::boolean, c128, bf16}) {
        types[0] = first;
        out.push_back(types);
        // Updates have the type of what they are put into; positions come last.
        if (count < 3) continue;
        std::vector<DType> put(count, first);
        put.back() = dtype;
        out.push_back(std::move(put));
    }
    return out;
}

std::vector<Call> calls_of(const OpDef& def, DType dtype) {
    std::vector<Case> cases = def.cases;
    if (cases.empty() && has(def.traits, Trait::elementwise) && def.attrs.empty()) {
        for (auto& shapes : elementwise_shapes(def.min_inputs))
            cases.push_back({std::move(shapes), {}, std::nullopt});
    }
    if (def.name == "constant") {
        for (const Scalar& value : edges_of(dtype))
            cases.push_back({{}, {value.as(dtype)}, Shape{2, 3}});
    }
    std::vector<Call> out;
    for (const Case& c : cases) {
        if (!c.types.empty() && c.types.back() != dtype) continue;
        const auto choices = c.types.empty() ? operand_types(def, c.inputs.size(), dtype)
                                             : std::vector<std::vector<DType>>{c.types};
        for (const auto& types : choices) {
            Call call{{}, c.attrs, std::nullopt, dtype};
            for (std::size_t i = 0; i < c.inputs.size(); ++i)
                call.inputs.push_back({types[i], c.inputs[i]});
            if (!has(def.traits, Trait::shaped)) {
                out.push_back(call);
                continue;
            }
            const Shape shape = c.result ? *c.result : c.inputs[0];
            for (int t = 0; t < kDTypeCount; ++t) {
                call.wanted = TensorSpec{static_cast<DType>(t), shape};
                out.push_back(call);
            }
        }
    }
    return out;
}

class Runner {
   public:
    Runner(const Options& options, Report& report)
        : options_(options), device_(options.backend), report_(report) {}

    void check(OpId id, DType dtype) {
        const OpDef& def = op_def(id);
        bool first = true;
        for (Call& call : calls_of(def, dtype)) {
            TensorSpec spec;
            try {
                spec = infer(id, call.inputs, call.attrs, call.wanted ? &*call.wanted : nullptr);
            } catch (const Error&) {
                continue;  // types or a result the op does not take; that it refuses is tested
                           // elsewhere
            }
            call.result = spec.dtype;
            for (const bool edges : {false, true}) {
                // Not positions, which must be valid, and not keys.
                const bool takes_edges =
                    has(def.traits, Trait::elementwise) || has(def.traits, Trait::promotes) ||
                    (call.inputs.size() == 1 && !has(def.traits, Trait::random));
                if (edges && (!takes_edges || call.inputs.empty() || !def.sample.edges)) continue;
                compare(def, call, spec, edges, Layout::dense);
                if (options_.layouts && first) {
                    for (const Layout layout :
                         {Layout::strided, Layout::broadcast, Layout::padded, Layout::flipped})
                        compare(def, call, spec, edges, layout);
                }
            }
            first = first && call.inputs.empty();
        }
    }

   private:
    void fail(const OpDef& def, const Call& call, const std::string& what) {
        std::string operands;
        for (const TensorSpec& spec : call.inputs)
            operands += (operands.empty() ? "" : ", ") + spec.str();
        report_.failures.push_back(
            fmt::format("{}({}) on {}: {}", def.name, operands, options_.backend, what));
    }
    void count(const OpDef& def, const Call& call, int checks) {
        report_.checks[std::string(def.name)][call.deciding] += checks;
    }

    Tensor make(const OpDef& def, const Call& call, const std::vector<Tensor>& operands,
                Device device) {
        AttrWords words;
        for (std::size_t i = 0; i < call.attrs.size(); ++i) {
            words.append(def.name, def.attrs[i], call.attrs[i]);
        }
        return frontend::record_list(frontend::OpRef(def.name), operands, words.words(),
                                     call.wanted ? &*call.wanted : nullptr, device);
    }

    /// How an operand lies in memory: as a view of something drawn.
    enum class Layout : std::uint8_t { dense, strided, broadcast, padded, flipped };

    /// What is drawn so that `moved` makes an operand of this spec of it.
    static TensorSpec base_of(TensorSpec spec, Layout layout) {
        if (spec.shape.rank() == 0) return spec;
        const int last = spec.shape.rank() - 1;
        if (layout == Layout::strided) spec.shape[last] *= 2;
        if (layout == Layout::broadcast) spec.shape[0] = std::min<std::int64_t>(spec.shape[0], 1);
        if (layout == Layout::padded && spec.shape[last] > 0) --spec.shape[last];
        return spec;
    }
    static Tensor moved(const Tensor& base, const TensorSpec& spec, Layout layout) {
        if (spec.shape.rank() == 0) return base;
        const int rank = spec.shape.rank();
        Ints zeros = Shape::filled(rank, 0);
        Ints ends = base.shape();
        Ints steps = Shape::filled(rank, 1);
        switch (layout) {
            case Layout::dense: return base;
            case Layout::strided: steps[rank - 1] = 2; return base.slice(zeros, ends, steps);
            case Layout::broadcast: return base.broadcast_to(spec.shape);
            case Layout::padded: {
                Ints before = zeros;
                before[rank - 1] = spec.shape[rank - 1] - base.shape()[rank - 1];
                return base.pad(before, zeros, 1);
            }
            case Layout::flipped: return base.flip();
        }
        __builtin_unreachable();
    }

    /// A composite of narrow floats rounds after each of its steps on one backend and at its end on
    /// another: both the steps in f32, rounded at the end, and the plain steps are right.
    std::vector<Scalar> wide_values(const OpDef& def, Call call, std::vector<Tensor> operands) {
        const auto narrow = [](DType dtype) { return dtype == f16 || dtype == bf16; };
        const DType result = call.result;
        if (!def.is_composite() || !narrow(result)) return {};
        for (std::size_t i = 0; i < operands.size(); ++i) {
            if (narrow(operands[i].dtype())) operands[i] = operands[i].cast(f32);
        }
        if (call.wanted) call.wanted->dtype = f32;
        return values(make(def, call, operands, Device()).cast(result));
    }

    /// How large the terms are that an op adds up, for edge values, whose sums depend on the order:
    /// the largest number and its negative leave what was added before them, or nothing. A product
    /// is as large on its way as its factors above 1 make it.
    std::vector<Scalar> term_sizes(const OpDef& def, const Call& call,
                                   const std::vector<Tensor>& operands) {
        const bool multiplies = def.reduction.combine == "mul";
        const bool adds = multiplies || def.lowering == Lowering::contraction ||
                          def.lowering == Lowering::convolution || def.reduction.combine == "add" ||
                          (def.is_composite() && !has(def.traits, Trait::elementwise));
        if (!adds || kind(call.deciding) < Kind::floating) return {};
        std::vector<Tensor> sizes;
        for (const Tensor& operand : operands)
            sizes.push_back(kind(operand.dtype()) < Kind::floating
                                ? operand
                                : operand.abs().cast(operand.dtype()));
        if (multiplies) sizes[0] = sizes[0].abs().maximum(1).cast(sizes[0].dtype());
        return values(make(def, call, sizes, Device()));
    }

    void compare(const OpDef& def, const Call& call, const TensorSpec& spec, bool edges,
                 Layout layout) {
        std::vector<Tensor> plain;
        std::vector<Tensor> there;
        for (std::size_t i = 0; i < call.inputs.size(); ++i) {
            const Tensor base = draw(base_of(call.inputs[i], layout), def.sample.low,
                                     def.sample.high, edges, options_.seed + ++drawn_)
                                    .to(Device());
            plain.push_back(moved(base, call.inputs[i], layout));
            there.push_back(moved(base.to(device_), call.inputs[i], layout));
            if (i == 0 && def.sample.diagonal != 0) {
                plain.back() = with_diagonal(plain.back(), def.sample.diagonal);
                there.back() = plain.back().to(device_);
            }
        }
        try {
            const Tensor expected = make(def, call, plain, Device());
            const Tensor lazy = make(def, call, there, device_);
            const Program program = capture(lazy);
            if (!(lazy.spec() == spec))
                fail(def, call,
                     fmt::format("inference says {}, the tensor is {}", spec.str(),
                                 lazy.spec().str()));
            if (!(Program::parse(program.str()) == program) ||
                !(Program::from_json(program.json()) == program) ||
                !(Program::from_bytes(program.bytes()) == program)) {
                fail(def, call, "a format does not give the program back");
            }
            Tensor eager;
            {
                const eager::Scope scope;
                eager = make(def, call, there, device_);
            }
            count(def, call, 5);
            if (def.results != nullptr) {
                compare_bundles(def, call, lazy, eager, expected);
                return;
            }
            compare_elements(def, call, values(lazy), values(eager), {0, 0}, "eager");
            compare_elements(def, call, values(lazy), values(expected),
                             {def.tolerance.ulps, def.tolerance.absolute}, "reference",
                             wide_values(def, call, plain),
                             edges ? term_sizes(def, call, plain) : std::vector<Scalar>{});
        } catch (const std::exception& e) {
            fail(def, call, fmt::format("threw: {}", e.what()));
        }
    }

    /// Results of an op that has several, each as one of its own.
    void compare_bundles(const OpDef& def, const Call& call, const Tensor& lazy,
                         const Tensor& eager, const Tensor& expected) {
        std::vector<const TensorSpec*> inputs;
        for (const TensorSpec& input : call.inputs) inputs.push_back(&input);
        AttrWords words;
        for (std::size_t i = 0; i < call.attrs.size(); ++i)
            words.append(def.name, def.attrs[i], call.attrs[i]);
        const std::vector<TensorSpec> parts = def.results({def, inputs, Attrs(def, words.words())});
        const auto actual = frontend::unbundle(lazy, parts);
        const auto at_once = frontend::unbundle(eager, parts);
        const auto wanted = frontend::unbundle(expected, parts);
        Call part = call;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            part.result = parts[i].dtype;
            compare_elements(def, part, values(actual[i]), values(at_once[i]), {0, 0}, "eager");
            compare_elements(def, part, values(actual[i]), values(wanted[i]), def.tolerance,
                             "reference");
        }
    }

    static std::vector<Scalar> values(const Tensor& tensor) {
        std::vector<Scalar> out;
        const DType dtype = tensor.dtype();
        // A view has no value of its own: its backend makes one.
        const Tensor home = tensor.contiguous().to(Device());
        home.eval();
        const std::size_t count = static_cast<std::size_t>(home.numel());
        const auto read = [&]<class T>(const T* data) {
            for (std::size_t i = 0; i < count; ++i) out.emplace_back(data[i]);
        };
        switch (dtype) {
            case DType::boolean: read(home.data<bool>()); break;
            case DType::i8: read(home.data<std::int8_t>()); break;
            case DType::i16: read(home.data<std::int16_t>()); break;
            case DType::i32: read(home.data<std::int32_t>()); break;
            case DType::i64: read(home.data<std::int64_t>()); break;
            case DType::u8: read(home.data<std::uint8_t>()); break;
            case DType::u16: read(home.data<std::uint16_t>()); break;
            case DType::u32: read(home.data<std::uint32_t>()); break;
            case DType::u64: read(home.data<std::uint64_t>()); break;
            case DType::f16: read(home.data<Half>()); break;
            case DType::bf16: read(home.data<BFloat16>()); break;
            case DType::f32: read(home.data<float>()); break;
            case DType::f64: read(home.data<double>()); break;
            case DType::c64: read(home.data<std::complex<float>>()); break;
            case DType::c128: read(home.data<std::complex<double>>()); break;
        }
        return out;
    }

    void compare_elements(const OpDef& def, const Call& call, const std::vector<Scalar>& actual,
                          const std::vector<Scalar>& expected, Tolerance tolerance,
                          const char* with, const std::vector<Scalar>& or_else = {},
                          const std::vector<Scalar>& sizes = {}) {
        if (actual.size() != expected.size())
            return fail(
                def, call,
                fmt::format("{} elements against {} ({})", actual.size(), expected.size(), with));
        const DType dtype = call.result;
        for (std::size_t i = 0; i < actual.size(); ++i) {
            if (close(actual[i], expected[i], dtype, tolerance.ulps, tolerance.absolute)) continue;
            if (!sizes.empty() && (!std::isfinite(sizes[i].to_double()) ||
                                   close(actual[i], expected[i], dtype, tolerance.ulps,
                                         4 * epsilon_of(dtype) * sizes[i].to_double())))
                continue;
            if (!or_else.empty() &&
                close(actual[i], or_else[i], dtype, tolerance.ulps, tolerance.absolute))
                continue;
            return fail(def, call,
                        fmt::format("element {} is {}, {} says {}", i, actual[i].str(), with,
                                    expected[i].str()));
        }
        count(def, call, static_cast<int>(actual.size()));
    }

    const Options& options_;
    Device device_;
    Report& report_;
    std::uint64_t drawn_ = 0;
};

}  // namespace

Report run(const Options& options) {
    Report report;
    Runner runner(options, report);
    if (!options.op.empty()) (void)require_op(options.op);
    const std::uint64_t before = cache_stats().fallbacks;
    for (int i = 0; i < op_count(); ++i) {
        const auto id = static_cast<OpId>(i);
        const OpDef& def = op_def(id);
        if (has(def.traits, Trait::leaf) || (!options.op.empty() && def.name != options.op))
            continue;
        for (int t = 0; t < kDTypeCount; ++t) {
            if (def.dtypes.contains(static_cast<DType>(t))) runner.check(id, static_cast<DType>(t));
        }
    }
    report.fallbacks = cache_stats().fallbacks - before;
    return report;
}

}  // namespace lazuli::conformance
