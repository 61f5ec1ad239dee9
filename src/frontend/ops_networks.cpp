// Ops of networks whose arguments need more work than the general body does: lists that may be left
// out, results whose shape the arguments say.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "frontend/bundle.h"
#include "frontend/record.h"
#include "lazuli/error.h"
#include "lazuli/ops.h"
#include "lazuli/rwkv7.h"
#include "ops/time_mix_v7.h"

namespace lazuli {

using frontend::Call;
using frontend::OpRef;

namespace {

/// Type and shape of an operand that must be a tensor.
const TensorSpec& spec_of(std::string_view op, const Operand& x) {
    if (x.is_scalar()) throw ArgumentError(fmt::format("{}: a tensor is needed, not a number", op));
    if (x.node() == nullptr)
        throw ArgumentError(fmt::format("{}: an operand is an empty Tensor", op));
    return static_cast<const ir::Node*>(x.node())->spec;
}

/// The number of dimensions behind images and channels.
int spatial(std::string_view op, const Operand& x) {
    return std::max(spec_of(op, x).shape.rank() - 2, 0);
}

Ints or_filled(const Ints& given, int count, std::int64_t value) {
    return given.empty() ? Shape::filled(count, value) : given;
}

/// Padding of one entry a dimension is that of both ends.
Ints both_ends(const Ints& padding, int dims) {
    Ints both = or_filled(padding, 2 * dims, 0);
    if (padding.rank() == dims) {
        for (int d = 0; d < dims; ++d) both.push_back(padding[d]);
    }
    return both;
}

void append_pool(Call& call, int dims, const Ints& window, const Ints& strides,
                 const Ints& padding) {
    call.words().ints(window.dims());
    call.words().ints(strides.empty() ? window.dims() : strides.dims());
    call.words().ints(both_ends(padding, dims).dims());
}

}  // namespace

Tensor one_hot(const Operand& x, std::int64_t classes, DType dtype) {
    static const OpRef op("one_hot");
    Shape shape = spec_of("one_hot", x).shape;
    if (classes < 0) {
        throw ArgumentError(
            fmt::format("one_hot: {} classes for {}", classes, spec_of("one_hot", x).str()));
    }
    shape.push_back(classes);
    Call call(op);
    call.arg(x).arg(shape).arg(dtype);
    return call.done();
}

Tensor dropout(const Operand& x, double p, const Operand& key) {
    static const OpRef op("dropout");
    Call call(op);
    call.arg(x).arg(key).arg(p);
    return call.done();
}

Tensor max_pool(const Operand& x, const Ints& window, const Ints& strides, const Ints& padding) {
    static const OpRef op("max_pool");
    Call call(op);
    call.arg(x);
    append_pool(call, spatial("max_pool", x), window, strides, padding);
    return call.done();
}

Tensor avg_pool(const Operand& x, const Ints& window, const Ints& strides, const Ints& padding,
                bool count_padding) {
    static const OpRef op("avg_pool");
    Call call(op);
    call.arg(x);
    append_pool(call, spatial("avg_pool", x), window, strides, padding);
    call.words().boolean(count_padding);
    return call.done();
}

Tensor interpolate(const Operand& x, const Ints& sizes, bool linear) {
    static const OpRef op("interpolate");
    Call call(op);
    call.arg(x);
    call.words().ints(sizes.dims());
    call.words().boolean(linear);
    return call.done();
}

Tensor convolution_transpose(const Operand& x, const Operand& weight, const Ints& strides,
                             const Ints& padding, const Ints& output_padding, const Ints& dilation,
                             std::int64_t groups) {
    static const OpRef op("convolution_transpose");
    const int dims = spatial("convolution_transpose", x);
    Call call(op);
    call.arg(x).arg(weight);
    call.words().ints(or_filled(strides, dims, 1).dims());
    call.words().ints(both_ends(padding, dims).dims());
    call.words().ints(or_filled(output_padding, dims, 0).dims());
    call.words().ints(or_filled(dilation, dims, 1).dims());
    call.words().integer(groups);
    return call.done();
}

Tensor attention_general(const Operand& x, const Operand& keys, const Operand& values,
                         const Tensor& mask, const Tensor& slopes, double scale, bool causal,
                         std::int64_t window, double softcap) {
    static const OpRef op("attention_general");
    // A mask of truth values says what may be seen; it has no say in the result's type.
    Tensor added = mask;
    if (mask.defined() && mask.dtype() == DType::boolean) {
        const DType type = spec_of("attention_general", x).dtype;
        const double hidden = -std::numeric_limits<double>::infinity();
        added = select(mask, 0.0, hidden).cast(is_floating(type) ? type : DType::f32);
    }
    const Operand masked(added);
    const Operand lowered(slopes);
    Call call(op);
    call.arg(x).arg(keys).arg(values);
    if (mask.defined()) call.arg(masked);
    if (slopes.defined()) call.arg(lowered);
    call.words().real(scale);
    call.words().boolean(causal);
    call.words().integer(window);
    call.words().real(softcap);
    call.words().boolean(mask.defined());
    return call.done();
}

TimeMix time_mix_v7(const Tensor& r, const Tensor& w, const Tensor& kvakk, const Tensor& state,
                    const Tensor& runs) {
    static const OpRef op("time_mix_v7");
    const Operand operands[] = {Operand(r), Operand(w), Operand(kvakk), Operand(state),
                                Operand(runs)};
    Call call(op);
    const TensorSpec* specs[5];
    for (std::size_t i = 0; i < 5; ++i) {
        specs[i] = &spec_of("time_mix_v7", operands[i]);
        call.arg(operands[i]);
    }
    const std::vector<TensorSpec> results = ops::time_mix_results(specs);
    std::vector<Tensor> parts = frontend::unbundle(call.done(), results);
    return {.output = std::move(parts[0]), .state = std::move(parts[1])};
}

}  // namespace lazuli
