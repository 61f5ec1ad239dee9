// Linear algebra: arguments as users have them become what the records take.

#include "lazuli/linalg.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/bundle.h"
#include "frontend/record.h"
#include "lazuli/error.h"
#include "ops/build.h"

namespace lazuli::linalg {

namespace {

using frontend::Call;
using frontend::OpRef;

/// A tensor of a type that linear algebra is done in.
Tensor numbers(std::string_view op, const Tensor& x) {
    const DType dtype = frontend::require_node(op, x).spec.dtype;
    return kind(dtype) < Kind::floating ? x.cast(f32) : x;
}

std::vector<Tensor> several(const OpRef& op, const Tensor& given) {
    const Tensor x = numbers(op.def->name, given);
    const TensorSpec spec = x.spec();
    const TensorSpec* inputs[] = {&spec};
    const Operand operand(x);
    Call call(op);
    const Tensor bundle = call.arg(operand).done();
    return frontend::unbundle(bundle, op.def->results({*op.def, inputs, {}}));
}

Shape with_batch(Shape batch, const Shape& shape) {
    for (int i = shape.rank() - 2; i < shape.rank(); ++i) batch.push_back(shape[i]);
    return batch;
}

/// Throws where the right-hand side has not as many rows as the matrix.
void check_rows(std::string_view op, const Shape& matrix, const Shape& side) {
    const std::int64_t rows = matrix[matrix.rank() - 2];
    const std::int64_t given = side[std::max(side.rank() - 2, 0)];
    if (rows == given) return;
    throw ShapeError(fmt::format("{}: the matrix and the right-hand side differ in rows: {} and {} "
                                 "({} vs {})",
                                 op, matrix.str(), side.str(), rows, given),
                     matrix.str(), side.str());
}

/// A matrix and a right-hand side whose batches are the same. A vector becomes a matrix of one
/// column.
struct System {
    Tensor a, b;
    bool vector;

    System(std::string_view op, const Tensor& matrix, const Tensor& side)
        : a(numbers(op, matrix)), b(numbers(op, side)), vector(b.rank() == 1) {
        const Shape& left = matrix.shape();
        const Shape& right = side.shape();
        if (left.rank() < 2 || right.rank() < 1) {
            throw ShapeError(
                fmt::format("{}: a matrix and a vector or matrix are needed, not {} and {}", op,
                            left.str(), right.str()),
                left.str(), right.str());
        }
        if (vector) b = b.unsqueeze(1);
        check_rows(op, left, right);
        const Shape* shapes[] = {&left, &right};
        const Shape joined = ops::joined_batches(op, shapes);
        if (joined == ops::batch_of(left) && joined == ops::batch_of(b.shape())) return;
        a = a.broadcast_to(with_batch(joined, a.shape()));
        b = b.broadcast_to(with_batch(joined, b.shape()));
    }
    Tensor done(const Tensor& x) const { return vector ? x.squeeze(Axes(-1)) : x; }
};

Tensor unary(const OpRef& op, const Tensor& x) {
    const Operand operand(x);
    Call call(op);
    return call.arg(operand).done();
}

}  // namespace

Tensor cholesky(const Tensor& x) {
    static const OpRef op("cholesky");
    return unary(op, x);
}

Qr qr(const Tensor& x) {
    static const OpRef op("qr");
    const auto parts = several(op, x);
    return {parts[0], parts[1]};
}

Svd svd(const Tensor& x) {
    static const OpRef op("svd");
    const auto parts = several(op, x);
    return {parts[0], parts[1], parts[2]};
}

Tensor svdvals(const Tensor& x) { return svd(x).s; }

Eigh eigh(const Tensor& x) {
    static const OpRef op("eigh");
    const auto parts = several(op, x);
    return {parts[0], parts[1]};
}

Tensor eigvalsh(const Tensor& x) { return eigh(x).values; }

Tensor solve(const Tensor& a, const Tensor& b) {
    static const OpRef op("solve");
    const System system("solve", a, b);
    const Operand left(system.a);
    const Operand right(system.b);
    Call call(op);
    return system.done(call.arg(left).arg(right).done());
}

Tensor triangular_solve(const Tensor& a, const Tensor& b, Triangular triangle) {
    static const OpRef op("triangular_solve");
    const System system("triangular_solve", a, b);
    const Operand left(system.a);
    const Operand right(system.b);
    Call call(op);
    call.arg(left).arg(right);
    call.arg(triangle.lower).arg(triangle.transposed).arg(triangle.unit_diagonal);
    return system.done(call.done());
}

Tensor inv(const Tensor& x) {
    static const OpRef op("inv");
    return unary(op, x);
}

Tensor det(const Tensor& x) {
    static const OpRef op("det");
    return unary(op, x);
}

Tensor lstsq(const Tensor& a, const Tensor& b, double rcond) {
    static const OpRef op("lstsq");
    const System system("lstsq", a, b);
    const Operand left(system.a);
    const Operand right(system.b);
    Call call(op);
    return system.done(call.arg(left).arg(right).arg(rcond).done());
}

}  // namespace lazuli::linalg
