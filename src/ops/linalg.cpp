#include "ops/linalg.h"

#include <fmt/format.h>

namespace lazuli::ops {

LinearBatches linear_batches(std::string_view op) {
    constexpr std::pair<std::string_view, LinearBatches> all[] = {
        {"cholesky", cholesky_batches}, {"qr", qr_batches},
        {"svd", svd_batches},           {"eigh", eigh_batches},
        {"solve", solve_batches},       {"triangular_solve", triangular_batches},
        {"inv", inv_batches},           {"det", det_batches},
        {"lstsq", lstsq_batches},
    };
    for (const auto& [name, batches] : all) {
        if (name == op) return batches;
    }
    return nullptr;
}

std::int64_t batch_count(const Shape& shape) {
    std::int64_t out = 1;
    for (int i = 0; i < shape.rank() - 2; ++i) out *= shape[i];
    return out;
}

void require_matrix(const InferArgs& args, int operand) {
    const Shape& shape = args.inputs[static_cast<std::size_t>(operand)]->shape;
    if (shape.rank() >= 2) return;
    throw ShapeError(
        fmt::format("{}: a matrix or a batch of them is needed, not {}", args.op.name, shape.str()),
        "[..., rows, columns]", shape.str());
}

void require_square(const InferArgs& args, int operand) {
    require_matrix(args, operand);
    const Shape& shape = args.inputs[static_cast<std::size_t>(operand)]->shape;
    const int rank = shape.rank();
    if (equal(shape.dim(rank - 1), shape.dim(rank - 2)) == Truth::yes) return;
    throw ShapeError(
        fmt::format("{}: a square matrix is needed, not {} ({} rows, {} columns)", args.op.name,
                    shape.str(), shape.dim(rank - 2).str(), shape.dim(rank - 1).str()),
        "[..., n, n]", shape.str());
}

void require_system(const InferArgs& args) {
    const TensorSpec& a = *args.inputs[0];
    const TensorSpec& b = *args.inputs[1];
    require_matrix(args, 0);
    require_matrix(args, 1);
    if (a.dtype != b.dtype) {
        throw DTypeError(fmt::format("{}: operands have different types: {} and {}", args.op.name,
                                     a.str(), b.str()));
    }
    const int rank = a.shape.rank();
    bool fits = b.shape.rank() == rank;
    for (int i = 0; fits && i < rank - 1; ++i)
        fits = equal(a.shape.dim(i), b.shape.dim(i)) == Truth::yes;
    if (fits) return;
    throw ShapeError(fmt::format("{}: the matrix and the right-hand side differ in batch or rows: "
                                 "{} and {}",
                                 args.op.name, a.shape.str(), b.shape.str()),
                     a.shape.str(), b.shape.str());
}

Shape with_matrix(const Shape& shape, Dim rows, Dim columns) {
    Shape out = shape;
    out.set(shape.rank() - 2, rows);
    out.set(shape.rank() - 1, columns);
    return out;
}

Shape with_vector(const Shape& shape, Dim size) {
    Shape out;
    for (int i = 0; i < shape.rank() - 2; ++i) out.push_back(shape.dim(i));
    out.push_back(size);
    return out;
}

void fail_at(const EvalArgs& args, std::int64_t batch, const std::string& why) {
    const Shape& shape = args.inputs[0].spec->shape;
    if (shape.rank() == 2)
        throw ExecutionError(std::string(args.op.name),
                             fmt::format("the matrix {} {}", shape.str(), why));
    // Where in the batch, one number a dimension.
    std::vector<std::int64_t> at;
    for (int i = shape.rank() - 3; i >= 0; --i) {
        at.insert(at.begin(), batch % shape[i]);
        batch /= shape[i];
    }
    throw ExecutionError(std::string(args.op.name), fmt::format("matrix {} of the batch {} {}",
                                                                Shape(at).str(), shape.str(), why));
}

}  // namespace lazuli::ops
