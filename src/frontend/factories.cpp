#include "lazuli/factories.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/env.h"
#include "frontend/record.h"
#include "ir/engine.h"
#include "lazuli/error.h"
#include "lazuli/ops.h"
#include "ops/threefry.h"

namespace lazuli {

namespace {

Device device_of(const Make& make) {
    if (make.device) return *make.device;
    return ir::find_engine() != nullptr ? ir::engine().default_device() : Device();
}

void check_sizes(std::string_view op, const Shape& shape) {
    for (int i = 0; i < shape.rank(); ++i) {
        if (shape.dim(i).bounds().low < 0)
            throw ShapeError(fmt::format("{}: negative size in {}", op, shape.str()), "sizes >= 0",
                             shape.str());
    }
}

/// ShapeError where there are too many bytes to count. How many a variable size makes is known
/// later.
void check_bytes(const TensorSpec& spec) {
    if (spec.shape.is_concrete()) (void)spec.nbytes();
}

/// Throws where a number cannot be an element: a complex one of a real type, an integer that is too
/// large for a type of integers.
void check_holds(std::string_view op, DType dtype, const Scalar& value) {
    if (value.kind() == Kind::complex && !is_complex(dtype)) {
        throw DTypeError(
            fmt::format("{}: {} is a complex number and no {}", op, value.str(), name(dtype)));
    }
    if (value.kind() == Kind::integer && is_integer(dtype) && !(value.as(dtype) == value)) {
        throw ArgumentError(
            fmt::format("{}: the integer {} does not fit {}", op, value.str(), name(dtype)));
    }
}

/// iota on the device that was asked for.
Tensor positions(const Shape& shape, int axis, DType dtype, const Make& make) {
    static const frontend::OpRef op("iota");
    AttrWords words;
    words.integer(axis);
    return frontend::make_node(op, {dtype, shape}, device_of(make), {}, words.words());
}

}  // namespace

Tensor full(Shape shape, Scalar value, Make make) {
    static const frontend::OpRef constant("constant");
    check_sizes("full", shape);
    const DType dtype = make.dtype.value_or(value.default_dtype());
    check_holds("full", dtype, value);
    const Scalar element = value.as(dtype);
    TensorSpec spec{dtype, std::move(shape)};
    check_bytes(spec);
    if (!is_constant_class(element)) {
        Tensor one = frontend::make_scalar(element, dtype, device_of(make));
        return spec.shape.rank() == 0 ? one : broadcast_to(std::move(one), spec.shape);
    }
    AttrWords words;
    words.scalar(element);
    return frontend::make_node(constant, std::move(spec), device_of(make), {}, words.words());
}

Tensor zeros(Shape shape, Make make) {
    make.dtype = make.dtype.value_or(f32);
    return full(std::move(shape), 0, make);
}
Tensor ones(Shape shape, Make make) {
    make.dtype = make.dtype.value_or(f32);
    return full(std::move(shape), 1, make);
}
Tensor empty(Shape shape, Make make) { return zeros(std::move(shape), make); }
Tensor full_like(const Tensor& like, Scalar value) {
    return full(like.shape(), value, Make(like.dtype(), like.device()));
}
Tensor zeros_like(const Tensor& like) { return full_like(like, 0); }
Tensor ones_like(const Tensor& like) { return full_like(like, 1); }
Tensor empty_like(const Tensor& like) { return full_like(like, 0); }

namespace {

/// Positions along the columns, and those along the rows moved by `k`. Beyond the sizes it makes no
/// difference how far; where they are numbers, sums stay within 64 bits by that.
std::pair<Tensor, Tensor> columns_and_rows(std::string_view op, Dim rows, Dim columns,
                                           std::int64_t k, const Make& make) {
    if (columns.bounds().high < 0) columns = rows;
    const Shape shape{rows, columns};
    check_sizes(op, shape);
    check_bytes({i64, shape});
    const std::int64_t low = rows.is_concrete() ? -rows.value() : -rows.bounds().high;
    const std::int64_t high = columns.bounds().high;
    return {positions(shape, 1, i64, make),
            positions(shape, 0, i64, make) + std::clamp(k, low, high)};
}

}  // namespace

Tensor eye(Dim rows, Dim columns, std::int64_t k, Make make) {
    const auto [column, row] = columns_and_rows("eye", rows, columns, k, make);
    return (column == row).cast(make.dtype.value_or(f32));
}

Tensor tri(Dim rows, Dim columns, std::int64_t k, Make make) {
    const auto [column, row] = columns_and_rows("tri", rows, columns, k, make);
    return (column <= row).cast(make.dtype.value_or(f32));
}

Tensor arange(Scalar start, Scalar stop, Scalar step, Make make) {
    const auto is_int = [](const Scalar& s) { return s.kind() <= Kind::integer; };
    for (const Scalar& s : {start, stop, step}) {
        if (s.kind() == Kind::complex)
            throw ArgumentError(fmt::format("arange: {} is complex", s.str()));
    }
    const bool integral = is_int(start) && is_int(stop) && is_int(step);
    const double span = (stop.to_double() - start.to_double()) / step.to_double();
    if (!std::isfinite(span) || step.to_double() == 0) {
        throw ArgumentError(fmt::format("arange: from {} to {} in steps of {} has no end",
                                        start.str(), stop.str(), step.str()));
    }
    std::int64_t count = 0;
    if (integral) {  // exact, where a double would round
        const auto exact = [](const Scalar& s) {
            return s.is_large_unsigned()
                       ? static_cast<__int128>(static_cast<std::uint64_t>(s.to_int()))
                       : static_cast<__int128>(s.to_int());
        };
        const __int128 wide = exact(stop) - exact(start);
        const __int128 by = exact(step);
        const __int128 steps = by > 0 ? (wide + by - 1) / by : (wide + by + 1) / by;
        const bool any = (by > 0) == (wide > 0) && wide != 0;
        if (any && steps > (std::int64_t{1} << 60)) {
            throw ArgumentError(
                fmt::format("arange: from {} to {} in steps of {} are too many numbers",
                            start.str(), stop.str(), step.str()));
        }
        count = any ? static_cast<std::int64_t>(steps) : 0;
    } else if (span > 0) {
        if (span >= 0x1p62) throw ArgumentError(fmt::format("arange: {} steps are too many", span));
        count = static_cast<std::int64_t>(std::ceil(span));
    }
    const DType dtype = make.dtype.value_or(integral ? i64 : f32);
    const DType wide = integral ? i64 : f64;
    const Tensor at = positions({count}, 0, wide, make);
    const auto number = [&](const Scalar& s) {
        return frontend::make_scalar(s, wide, device_of(make));
    };
    return (at * number(step) + number(start)).cast(dtype);
}

Tensor arange(Scalar stop, Make make) { return arange(0, stop, 1, make); }

namespace {

Tensor linspace_f64(double start, double stop, std::int64_t count, const Make& make) {
    if (count < 0) throw ArgumentError(fmt::format("linspace: {} numbers", count));
    const Tensor at = positions({count}, 0, f64, make);
    const auto number = [&](double v) { return frontend::make_scalar(v, f64, device_of(make)); };
    const double step = count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0;
    // The last number is stop itself, not what rounding makes of it.
    const Tensor even = at * number(step) + number(start);
    return count > 1 ? select(at == number(static_cast<double>(count - 1)), number(stop), even)
                     : even;
}

}  // namespace

Tensor linspace(double start, double stop, std::int64_t count, Make make) {
    return linspace_f64(start, stop, count, make).cast(make.dtype.value_or(f32));
}

Tensor logspace(double start, double stop, std::int64_t count, double base, Make make) {
    const Tensor exponents = linspace_f64(start, stop, count, make);
    return pow(frontend::make_scalar(base, f64, device_of(make)), exponents)
        .cast(make.dtype.value_or(f32));
}

Tensor scalar(Scalar value, Make make) {
    static const frontend::OpRef parameter("scalar");
    const DType dtype = make.dtype.value_or(value.default_dtype());
    AttrWords words;
    words.scalar(value.as(dtype));
    return frontend::make_node(parameter, {dtype, {}}, device_of(make), {}, words.words());
}

Tensor tensor(std::initializer_list<double> values, DType dtype) {
    return Tensor::from(std::span<const double>(values.begin(), values.size()),
                        {static_cast<std::int64_t>(values.size())})
        .cast(dtype);
}

// ---- random

namespace {

struct Seed {
    std::atomic<std::uint64_t> seed;
    std::atomic<std::uint64_t> drawn{0};
};

Seed& implicit_seed() {
    static Seed& s = *new Seed{static_cast<std::uint64_t>(env::integer(env::Var::seed))};
    return s;
}

thread_local SeedScope* innermost_seed = nullptr;

}  // namespace

std::uint64_t draw_number() {
    if (innermost_seed != nullptr)
        return ops::threefry(innermost_seed->seed_, innermost_seed->drawn_++);
    Seed& s = implicit_seed();
    const std::uint64_t number = s.drawn.fetch_add(1);
    return ops::threefry(s.seed.load(), number);
}

SeedScope::SeedScope(std::uint64_t seed) : seed_(seed), outer_(innermost_seed) {
    innermost_seed = this;
}
SeedScope::~SeedScope() { innermost_seed = outer_; }

Tensor next_key() { return scalar(draw_number(), u64); }

namespace {

Tensor next_key(const Make& make) { return scalar(draw_number(), Make(u64, device_of(make))); }

}  // namespace

Tensor key(std::uint64_t seed) { return scalar(seed, u64); }

void manual_seed(std::uint64_t seed) {
    implicit_seed().seed.store(seed);
    implicit_seed().drawn.store(0);
}

Tensor rand(const Tensor& key, Shape shape, Make make) {
    return key.random_uniform(std::move(shape), make.dtype.value_or(f32));
}
Tensor rand(Shape shape, Make make) { return rand(next_key(make), std::move(shape), make); }
Tensor randn(const Tensor& key, Shape shape, Make make) {
    return key.random_normal(std::move(shape), make.dtype.value_or(f32));
}
Tensor randn(Shape shape, Make make) { return randn(next_key(make), std::move(shape), make); }

Tensor randint(const Tensor& key, std::int64_t low, std::int64_t high, Shape shape, Make make) {
    if (low >= high)
        throw ArgumentError(
            fmt::format("randint: there is no integer from {} to below {}", low, high));
    const auto range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    if (range > (std::uint64_t{1} << 53))
        throw ArgumentError(
            fmt::format("randint: from {} to {} is more than 2^53 integers", low, high));
    // A fraction of 53 bits times the range: each integer's share is within 2^-53 of equal.
    const Tensor fraction = key.random_uniform(std::move(shape), f64);
    const Tensor offset =
        (fraction * frontend::make_scalar(static_cast<double>(range), f64, key.device())).cast(i64);
    return (offset + frontend::make_scalar(low, i64, key.device())).cast(make.dtype.value_or(i64));
}
Tensor randint(std::int64_t low, std::int64_t high, Shape shape, Make make) {
    return randint(next_key(make), low, high, std::move(shape), make);
}

}  // namespace lazuli
