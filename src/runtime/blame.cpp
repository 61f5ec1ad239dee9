#include "runtime/blame.h"

#include <algorithm>

#include "ir/op_table.h"
#include "lazuli/error.h"
#include "plan/expand.h"
#include "runtime/stepwise.h"

namespace lazuli::runtime {

namespace {

bool can_be_tried(const Program& program, std::span<const Binding> params) {
    for (std::size_t i = 0; i < program.size(); ++i) {
        const Operation operation = program.operation(i);
        if (ir::calls_user(operation.def(), operation.attrs())) return false;
    }
    return std::all_of(params.begin(), params.end(), [](const Binding& binding) {
        return binding.buffer->address() != nullptr || binding.buffer->bytes() == 0;
    });
}

BufferPtr compute(const Program& program, const Operation& operation,
                  std::span<const Binding> inputs) {
    Backend& reference = backend_of(Device());
    try {
        const Program expanded = plan::expand(alone(program, operation), {});
        return reference.run(reference.prepare(expanded).get(), inputs)[0];
    } catch (const ExecutionError& e) {
        if (!operation.def().is_composite()) throw;
        throw ExecutionError(std::string(operation.def().name), e.reason);
    }
}

}  // namespace

void blame(const Program& program, std::span<const Binding> params) {
    if (!can_be_tried(program, params)) return;
    (void)run_stepwise(
        program, params,
        [&](std::size_t, const Operation& operation, std::span<const Binding> inputs) {
            return compute(program, operation, inputs);
        });
}

}  // namespace lazuli::runtime
