#include "ops/values.h"

#include <algorithm>

namespace lazuli::ops {

ValueCall::ValueCall(std::string_view op, const Value& first)
    : id_(require_op(op)), inputs_{first}, wanted_(first.spec()) {
    def_ = &op_def(id_);
}
ValueCall& ValueCall::arg(const Value& v) {
    inputs_.push_back(v);
    return *this;
}
ValueCall& ValueCall::arg(Axis v) {
    words_.integer(ensure_axis(def_->name, v, inputs_[0].shape()));
    return *this;
}
ValueCall& ValueCall::arg(const Axes& v) {
    Ints axes = ensure_axes(def_->name, v, inputs_[0].shape());
    if (!has(def_->traits, Trait::movement)) std::sort(axes.begin(), axes.end());
    words_.axes(axes.dims());
    return *this;
}
ValueCall& ValueCall::arg(bool v) {
    words_.boolean(v);
    return *this;
}
ValueCall& ValueCall::arg(std::int64_t v) {
    words_.integer(v);
    return *this;
}
ValueCall& ValueCall::arg(double v) {
    words_.real(v);
    return *this;
}
ValueCall& ValueCall::arg(Activation v) {
    words_.integer(static_cast<std::int64_t>(v));
    return *this;
}
ValueCall& ValueCall::arg(const Shape& v) {
    wanted_.shape = v;
    return *this;
}
ValueCall& ValueCall::arg(DType v) {
    wanted_.dtype = v;
    return *this;
}
Value ValueCall::done() { return inputs_[0].builder().op(id_, inputs_, words_.words(), &wanted_); }

Value constant_like(const Value& like, const Scalar& value) {
    return like.builder().constant(value, {like.dtype(), {}});
}

Value dot_general(const Value& x, const Value& y, const Ints& lhs_contract,
                  const Ints& rhs_contract, const Ints& lhs_batch, const Ints& rhs_batch) {
    const Value inputs[] = {x, y};
    const Attribute attrs[] = {lhs_contract, rhs_contract, lhs_batch, rhs_batch};
    return x.builder().op("dot_general", inputs, attrs);
}

}  // namespace lazuli::ops
