#pragma once

/// @file
/// Conformance: every op, in every type of its record, on a backend, compared with the reference
/// backend. For those who add ops or backends of their own, and for ours.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lazuli/device.h"
#include "lazuli/dtype.h"
#include "lazuli/tensor.h"

namespace lazuli::conformance {

/// What is checked.
struct Options {
    std::string backend = "reference";  ///< The device.
    std::string op = "";                ///< One op, or all.
    bool layouts = false;               ///< Whether operands are views of memory as well.
    std::uint64_t seed = 1;             ///< Of the drawn operands.
};

/// What came out.
struct Report {
    std::map<std::string, std::map<DType, int>>
        checks;  ///< By op and type: how many elements and properties were compared.
    std::vector<std::string> failures;  ///< One line each: op, type, case, both values.
    /// Evaluations that ran on the reference backend because the backend lacks an op: these compare
    /// nothing.
    std::uint64_t fallbacks = 0;
    /// All checks.
    int total() const;
    /// A table: ops down, types across.
    std::string table() const;
};

/// Reports of several backends, by name, in one table: ops and backends down, types across.
std::string table(const std::map<std::string, Report>& reports);

/// For each op and type: operands from the record's sample range and the edge values of the type,
/// on the shapes of the record's cases (or, for elementwise ops, equal, broadcast, rank 0, size 1
/// and empty ones). Each result on `backend`, lazily and eagerly, is compared with the reference
/// backend within the record's tolerance; its spec with what inference says; its program with
/// itself after printing and parsing in all three formats.
Report run(const Options& options = {});

/// A dense tensor of elements drawn from [low, high], with the edge values of the type first where
/// `edges`.
Tensor draw(const TensorSpec& spec, double low, double high, bool edges, std::uint64_t seed);

/// Matrices with `more`, times their size, on their diagonals: such as can be inverted.
Tensor with_diagonal(const Tensor& x, double more);

/// Whether two elements agree: equal, both NaN, or within `ulps` epsilons of the type times
/// |expected| plus `absolute`.
bool close(const Scalar& actual, const Scalar& expected, DType dtype, double ulps, double absolute);

}  // namespace lazuli::conformance
