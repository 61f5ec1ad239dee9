#include "ops/linalg_gradient.h"

#include <complex>

#include "ops/bundle.h"

namespace lazuli::ops {

Value turned_over(const Value& x) {
    const int rank = x.shape().rank();
    Ints order;
    for (int i = 0; i < rank - 2; ++i) order.push_back(i);
    order.push_back(rank - 1);
    order.push_back(rank - 2);
    return permute(x, Axes(order));
}

Value on_diagonal(ProgramBuilder& builder, Dim rows, Dim columns) {
    const Shape shape{rows, columns};
    return eq(positions(builder, shape, 0, i64), positions(builder, shape, 1, i64));
}

Value diagonal_of(const Value& x) { return diagonal(x, 0, -2, -1); }

Value diagonal_matrix(const Value& x) {
    const int last = x.shape().rank() - 1;
    const Dim n = x.shape().dim(last);
    return select(on_diagonal(x.builder(), n, n), with_axis(x, last + 1),
                  constant_like(x, Scalar(0).as(x.dtype())));
}

Value lower_half(const Value& x) { return (tril(x) + tril(x, -1)) * 0.5; }

Value with_columns_times(const Value& x, const Value& numbers) {
    return x * narrowed(with_axis(numbers, numbers.shape().rank() - 1), x.dtype());
}

Value with_rows_times(const Value& x, const Value& numbers) {
    return x * narrowed(with_axis(numbers, numbers.shape().rank()), x.dtype());
}

Value times_i(const Value& x, DType dtype) {
    const Value wide = cast(x, dtype);
    return wide * constant_like(wide, Scalar(std::complex<double>(0, 1)));
}

Value triangular_solve(const Value& a, const Value& b, const Triangle& triangle) {
    return call("triangular_solve", a, b, triangle.lower, triangle.transposed,
                triangle.unit_diagonal);
}

Value over_adjoint(const Value& x, const Value& upper) {
    return turned_over(triangular_solve(conjugate(upper), turned_over(x), {.lower = false}));
}

std::vector<Value> results_of(std::string_view op, const Value& x) {
    const OpDef& def = op_def(require_op(op));
    const TensorSpec spec = x.spec();
    const TensorSpec* const inputs[] = {&spec};
    const std::vector<TensorSpec> results = def.results({def, inputs, {}});
    const std::vector<Dim> offsets = bundle_offsets(results);
    const Value bundle = call(op, x);
    std::vector<Value> out;
    for (std::size_t i = 0; i < results.size(); ++i) {
        AttrWords words;
        words.integer(offsets[i].raw());
        out.push_back(x.builder().op(require_op("part"), {&bundle, 1}, words.words(), &results[i]));
    }
    return out;
}

Value to_lower(const Value& x) { return lower_half(x + adjoint(x)); }

Value over_differences(const Value& numbers, const Value& factors) {
    const int last = numbers.shape().rank() - 1;
    const Dim n = numbers.shape().dim(last);
    const Value gaps = (with_axis(numbers, last) - with_axis(numbers, last + 1)) * factors;
    const Value same = on_diagonal(numbers.builder(), n, n);
    // Nothing is divided by a number's difference to itself, so that nothing infinite flows back.
    return select(same, constant_like(gaps, 0),
                  reciprocal(select(same, constant_like(gaps, 1), gaps)));
}

namespace {

/// The element of each column that is real and positive: the first whose modulus is at least 0.9 of
/// the largest, as phase_of says.
Value turned_elements(const Value& columns) {
    const Value size = abs(columns);
    const Value is_large = ge(size, max(size, -2, true) * 0.9);
    const Value count = cumsum(cast(is_large, i64), -2, false);
    return logical_and(is_large, eq(count, constant_like(count, 1)));
}

}  // namespace

Value before_turning(const Value& cotangent, const Value& columns, const Value& turning) {
    const Value where = turned_elements(columns);
    const Value length = real(columns);
    const Value each = with_axis(turning, turning.shape().rank() - 1) /
                       select(where, length, constant_like(length, 1));
    return cotangent + times_i(select(where, each, constant_like(each, 0)), cotangent.dtype());
}

}  // namespace lazuli::ops
