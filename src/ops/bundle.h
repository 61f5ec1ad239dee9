#pragma once

// Ops with several results. A node has one value, so such an op's value is a bundle: bytes in which
// its results lie one behind the other, each at a multiple of kBundleAlign. `part` takes one out.

#include <span>
#include <vector>

#include "lazuli/op.h"

namespace lazuli::ops {

inline constexpr std::int64_t kBundleAlign = 64;

struct BundleLayout {
    std::vector<std::int64_t> offsets;  // of each result, in bytes
    std::int64_t bytes = 0;             // in all
};
BundleLayout bundle_layout(std::span<const TensorSpec> results);

/// The offsets alone, which are expressions where sizes are.
std::vector<Dim> bundle_offsets(std::span<const TensorSpec> results);

/// The spec of a bundle of these results: bytes.
TensorSpec bundle_spec(std::span<const TensorSpec> results);

/// The layout of what an op is to fill in, whose record says what its results are.
BundleLayout bundle_layout(const EvalArgs& args);
/// Clears the bytes between results, so that equal results are equal bundles. For whoever runs ops;
/// nothing where the op has one result.
void clear_gaps(const EvalArgs& args);
/// Where one of these results is.
template <class T>
T* bundle_part(const EvalArgs& args, const BundleLayout& layout, std::size_t result) {
    return reinterpret_cast<T*>(args.result<unsigned char>() + layout.offsets[result]);
}

}  // namespace lazuli::ops
