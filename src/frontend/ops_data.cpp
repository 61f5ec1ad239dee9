// Sorting, and picking and putting by position: ops whose arguments need more work, and functions
// whose result depends on values, so that they evaluate.

#include <fmt/format.h>

#include <algorithm>

#include "frontend/record.h"
#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/ops.h"
#include "ops/lines.h"

namespace lazuli {

using frontend::Call;
using frontend::OpRef;

namespace {

const TensorSpec& spec_of(std::string_view op, const Operand& x) {
    if (x.is_scalar()) throw ArgumentError(fmt::format("{}: a tensor is needed, not a number", op));
    if (x.node() == nullptr)
        throw ArgumentError(fmt::format("{}: an operand is an empty Tensor", op));
    return static_cast<const ir::Node*>(x.node())->spec;
}

}  // namespace

Tensor searchsorted(const Operand& x, const Operand& values, Side side) {
    static const OpRef op("searchsorted");
    Call call(op);
    call.arg(x).arg(values);
    call.words().integer(static_cast<std::int64_t>(side));
    return call.done();
}

Tensor scatter(const Operand& x, const Operand& indices, const Operand& updates, Axis axis,
               Scatter mode) {
    static const OpRef op("scatter");
    const TensorSpec& into = spec_of("scatter", x);
    const TensorSpec& positions = spec_of("scatter", indices);
    const auto record = [&](const Operand& put) {
        Call call(op);
        call.arg(x).arg(put).arg(indices);
        call.words().integer(ensure_axis("scatter", axis, into.shape));
        call.words().integer(static_cast<std::int64_t>(mode));
        return call.done();
    };
    if (!updates.is_scalar()) return record(updates);
    // A number is put everywhere.
    const Device device = static_cast<const ir::Node*>(x.node())->device;
    const Tensor number = frontend::make_scalar(updates.scalar(), into.dtype, device);
    const Tensor all = number.broadcast_to(positions.shape);
    const Operand put(all);
    return record(put);
}

Tensor dynamic_slice(const Operand& x, const Operand& starts, const Ints& sizes) {
    static const OpRef op("dynamic_slice");
    Call call(op);
    call.arg(x).arg(starts);
    call.words().ints(sizes.dims());
    return call.done();
}

Tensor blit(const Operand& x, const Operand& y, const Ints& starts, const Ints& steps) {
    static const OpRef op("blit");
    const Shape& shape = spec_of("blit", x).shape;
    // Positions are counted from the front; that there is one a dimension, and that none lies
    // before the first, is the record's to check.
    Ints from = starts;
    for (int i = 0; i < std::min(from.rank(), shape.rank()); ++i) {
        if (from[i] < 0 && from[i] >= -shape[i]) from[i] += shape[i];
    }
    Call call(op);
    call.arg(x).arg(y);
    call.words().ints(from.dims());
    call.words().ints((steps.empty() ? Shape::filled(shape.rank(), 1) : steps).dims());
    return call.done();
}

Tensor stack(std::span<const Tensor> tensors, Axis axis) {
    static const OpRef op("stack");
    if (tensors.empty()) throw ArgumentError("stack: no tensors given");
    const Shape& first = frontend::require_node("stack", tensors[0]).spec.shape;
    AttrWords words;
    words.integer(ops::ensure_new_axis("stack", axis, first));
    return frontend::record_list(op, tensors, words.words(), nullptr);
}

Tensor einsum(std::string_view subscripts, std::span<const Tensor> tensors) {
    static const OpRef op("einsum");
    if (tensors.empty()) throw ArgumentError("einsum: no tensors given");
    AttrWords words;
    words.text(subscripts);
    return frontend::record_list(op, tensors, words.words(), nullptr);
}

TopK topk(const Tensor& x, std::int64_t k, Axis axis, bool largest) {
    Tensor indices = x.argtopk(k, axis, largest);
    return {x.take_along_axis(indices, axis), std::move(indices)};
}

namespace {

/// Positions, row-major, of the elements that hold.
std::vector<std::int64_t> positions_of(const Tensor& mask) {
    const Tensor there = mask.contiguous().to(Device());
    there.eval();
    // As bytes: memory that was lent may hold truth values other than 0 and 1.
    const auto* data = reinterpret_cast<const unsigned char*>(there.data<bool>());
    const std::int64_t count = there.numel();
    const auto holds = [](unsigned char byte) { return byte != 0; };
    std::vector<std::int64_t> out(
        static_cast<std::size_t>(std::count_if(data, data + count, holds)) + 1);
    std::int64_t* to = out.data();
    for (std::int64_t i = 0; i < count; ++i) {
        *to = i;
        to += holds(data[i]) ? 1 : 0;
    }
    out.pop_back();
    return out;
}

}  // namespace

std::vector<Tensor> nonzero(const Tensor& x) {
    if (x.rank() == 0)
        throw ArgumentError(
            fmt::format("nonzero: {} has no dimensions to count along", x.spec().str()));
    const std::vector<std::int64_t> flat = positions_of(x.dtype() == DType::boolean ? x : ne(x, 0));
    const Ints strides = dense_strides(x.shape());
    std::vector<Tensor> out;
    std::vector<std::int64_t> along(flat.size());
    for (int d = 0; d < x.rank(); ++d) {
        for (std::size_t i = 0; i < flat.size(); ++i)
            along[i] = flat[i] / strides[d] % x.shape()[d];
        out.push_back(Tensor::from(along).to(x.device()));
    }
    return out;
}

Unique unique(const Tensor& x) {
    if (is_complex(x.dtype()))
        throw DTypeError(fmt::format("unique: {} has no order", x.spec().str()));
    const std::int64_t count = x.numel();
    const Tensor flat = x.reshape({count});
    const Tensor sorted = flat.sort().eval();
    if (count == 0) {
        const Tensor none = Tensor::from(std::vector<std::int64_t>{}).to(x.device());
        return {sorted, none.reshape(x.shape()), none};
    }
    const Tensor before = sorted.slice({0}, {count - 1});
    const Tensor behind = sorted.slice({1}, {count});
    // NaNs, which are last, are one value.
    Tensor differs = before != behind;
    if (is_floating(x.dtype())) differs = differs.logical_and(before == before);
    std::vector<std::int64_t> begins = positions_of(differs);
    for (std::int64_t& at : begins) ++at;
    begins.insert(begins.begin(), 0);
    const Tensor first = Tensor::from(begins).to(x.device());
    begins.erase(begins.begin());
    begins.push_back(count);
    const Tensor end = Tensor::from(begins).to(x.device());
    Tensor values = sorted.gather(first, 0).eval();
    return {values, searchsorted(values, flat).reshape(x.shape()), end - first};
}

}  // namespace lazuli
