// The bodies of the ops in ops.inc: operands and attributes are handed to the recorder in order.

#include "lazuli/ops.h"

#include "frontend/record.h"

namespace lazuli {

namespace {

using frontend::Call;
using frontend::OpRef;

Tensor record(const OpRef& op, const Operand& x) { return frontend::record_unary(op, x); }
Tensor record(const OpRef& op, const Operand& x, const Operand& y) {
    return frontend::record_binary(op, x, y);
}
template <class... Args>
Tensor record(const OpRef& op, const Operand& x, Args&... args) {
    Call call(op);
    call.arg(x);
    (call.arg(args), ...);
    return call.done();
}

}  // namespace

#define LAZULI_OPERAND const Operand&
#define LAZULI_DEFAULT(...)
#define LAZULI_PARAMS(...) (const Operand& x __VA_OPT__(, ) __VA_ARGS__)
#define LAZULI_ARGS(...) __VA_OPT__(, ) __VA_ARGS__
#define LAZULI_METHOD(name, params, args) \
    Tensor Tensor::name params const { return lazuli::name(*this LAZULI_ARGS args); }
#define LAZULI_OP(name, params, args)          \
    Tensor name LAZULI_PARAMS params {         \
        static const OpRef op(#name);          \
        return record(op, x LAZULI_ARGS args); \
    }                                          \
    LAZULI_METHOD(name, params, args)
#define LAZULI_OP_OWN(name, params, args) LAZULI_METHOD(name, params, args)
#include "lazuli/ops.inc"

}  // namespace lazuli
