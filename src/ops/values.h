#pragma once

// The public ops once more, for values under construction: with these, composites are written like
// formulas.

#include <string_view>

#include "lazuli/arguments.h"
#include "lazuli/program.h"

namespace lazuli::ops {

/// Appends an op whose arguments stand in the order of its operands, then its attributes. A Shape
/// or DType is the result asked for.
class ValueCall {
   public:
    ValueCall(std::string_view op, const Value& first);
    ValueCall& arg(const Value& v);
    ValueCall& arg(Axis v);
    ValueCall& arg(const Axes& v);
    ValueCall& arg(bool v);
    ValueCall& arg(std::int64_t v);
    ValueCall& arg(double v);
    ValueCall& arg(Activation v);
    ValueCall& arg(const Shape& v);
    ValueCall& arg(DType v);
    Value done();

   private:
    const OpDef* def_;
    OpId id_;
    std::vector<Value> inputs_;
    AttrWords words_;
    TensorSpec wanted_;
};

template <class... Args>
Value call(std::string_view op, const Value& x, const Args&... args) {
    ValueCall c(op, x);
    (c.arg(args), ...);
    return c.done();
}

#define LAZULI_DEFAULT(...) = __VA_ARGS__
#define LAZULI_OPERAND const Value&
#define LAZULI_PARAMS(...) (const Value& x __VA_OPT__(, ) __VA_ARGS__)
#define LAZULI_ARGS(...) __VA_OPT__(, ) __VA_ARGS__
#define LAZULI_OP(name, params, args) \
    inline Value name LAZULI_PARAMS params { return call(#name, x LAZULI_ARGS args); }
#define LAZULI_OP_OWN(name, params, args)
#include "lazuli/ops.inc"
#undef LAZULI_DEFAULT
#undef LAZULI_OPERAND
#undef LAZULI_PARAMS
#undef LAZULI_ARGS
#undef LAZULI_OP
#undef LAZULI_OP_OWN

/// A constant beside `like`: of its type, rank 0.
Value constant_like(const Value& like, const Scalar& value);

inline Value operator+(const Value& x, const Value& y) { return add(x, y); }
inline Value operator-(const Value& x, const Value& y) { return sub(x, y); }
inline Value operator*(const Value& x, const Value& y) { return mul(x, y); }
inline Value operator/(const Value& x, const Value& y) { return div(x, y); }
inline Value operator-(const Value& x) { return neg(x); }
inline Value operator+(const Value& x, double y) { return add(x, constant_like(x, y)); }
inline Value operator-(const Value& x, double y) { return sub(x, constant_like(x, y)); }
inline Value operator-(double x, const Value& y) { return sub(constant_like(y, x), y); }
inline Value operator*(const Value& x, double y) { return mul(x, constant_like(x, y)); }
inline Value operator/(const Value& x, double y) { return div(x, constant_like(x, y)); }
inline Value operator/(double x, const Value& y) { return div(constant_like(y, x), y); }

/// A contraction; the axes are those of the operands, from 0.
Value dot_general(const Value& x, const Value& y, const Ints& lhs_contract,
                  const Ints& rhs_contract, const Ints& lhs_batch, const Ints& rhs_batch);

/// What scores of attention are multiplied by: the number given, where it is not 0.
double attention_scale(double given, std::int64_t length);

}  // namespace lazuli::ops
