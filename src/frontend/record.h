#pragma once

// Recording: from an op and its arguments to a node.

#include <optional>
#include <span>

#include "ir/arena.h"
#include "ir/node.h"
#include "lazuli/tensor.h"

namespace lazuli::frontend {

/// An op of the table, looked up once.
struct OpRef {
    explicit OpRef(std::string_view name) : OpRef(require_op(name)) {}
    explicit OpRef(OpId number) : id(number), def(&op_def(number)), flags(ir::flags_of(*def)) {}
    OpId id;
    const OpDef* def;
    std::uint8_t flags;  // of its nodes
};

inline ir::Node* node_of(const Tensor& tensor) { return static_cast<ir::Node*>(tensor.node()); }
/// The node; ArgumentError naming `op` for an empty tensor.
ir::Node& require_node(std::string_view op, const Tensor& tensor);

/// A node whose values are there.
Tensor make_data(Binding binding, TensorSpec spec, Device device);
/// A new node. `inputs` are references handed over to it (also where this throws).
Tensor make_node(const OpRef& op, TensorSpec spec, Device device, std::span<ir::Node* const> inputs,
                 std::span<const std::uint64_t> words);

/// What follows the recording of a node in an unusual mode, or of one too deep: eager evaluation,
/// scopes, flushing.
void after_record(ir::Arena& arena, ir::Node& node);

/// An elementwise op on operands that need no promotion, no broadcast and no attributes; else the
/// general way.
Tensor record_unary(const OpRef& op, const Operand& x);
Tensor record_binary(const OpRef& op, const Operand& x, const Operand& y);

/// The type both are brought to; DTypeError naming the op where no type holds both.
DType joined_type(const OpDef& def, DType so_far, const TensorSpec& next);
/// The type an op that promotes brings its operands to (a condition takes no part); none where it
/// leaves them as they are.
std::optional<DType> promoted_type(const OpDef& def, std::span<const Tensor> operands);
/// The first operand that takes part in promotion.
inline std::size_t first_promoted(const OpDef& def) {
    return has(def.traits, Trait::predicated) ? 1 : 0;
}

/// The general way: operands and attributes in order, then promotion, inference, recording.
class Call {
   public:
    explicit Call(const OpRef& op) : op_(op) {}
    Call& arg(const Operand& v) {
        inputs_[check_room()] = &v;
        ++count_;
        return *this;
    }
    Call& arg(Axis v) {
        words_.integer(ensure_axis(op_.def->name, v, first_shape()));
        return *this;
    }
    Call& arg(const Axes& v);
    Call& arg(bool v) {
        words_.boolean(v);
        return *this;
    }
    Call& arg(std::int64_t v) {
        words_.integer(v);
        return *this;
    }
    Call& arg(double v) {
        words_.real(v);
        return *this;
    }
    Call& arg(Activation v) {
        words_.integer(static_cast<std::int64_t>(v));
        return *this;
    }
    Call& arg(const Shape& v) {
        wanted_.shape = v;
        shape_given_ = true;
        return *this;
    }
    Call& arg(DType v) {
        wanted_.dtype = v;
        dtype_given_ = true;
        return *this;
    }
    AttrWords& words() { return words_; }
    Tensor done();

   private:
    static constexpr int kMaxOperands = 6;
    int check_room() const {
        if (count_ == kMaxOperands) too_many();
        return count_;
    }
    [[noreturn]] static void too_many();
    /// Whether all operands are tensors of one type on one device that the op takes as they are.
    bool is_plain() const;
    Tensor done_plain();
    Tensor done_promoting();
    Tensor done_moving();
    TensorSpec infer_result(std::span<const TensorSpec* const> specs);
    const Shape& first_shape() const;

    const OpRef& op_;
    const Operand* inputs_[kMaxOperands];
    int count_ = 0;
    AttrWords words_;
    TensorSpec wanted_;
    bool shape_given_ = false;
    bool dtype_given_ = false;
};

/// The same for any number of tensors, with attributes in compact form. `home` is where an op
/// without operands lives; else the default device.
Tensor record_list(const OpRef& op, std::span<const Tensor> inputs,
                   std::span<const std::uint64_t> words, const TensorSpec* wanted,
                   std::optional<Device> home = {});

/// A tensor with a copy of dense host data, on the default device.
Tensor make_data(const TensorSpec& spec, const void* data);

/// A rank-0 tensor of this type: a constant where the value is one that rules may use, else a
/// parameter.
Tensor make_scalar(const Scalar& value, DType dtype, Device device);

}  // namespace lazuli::frontend
