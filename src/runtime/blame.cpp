#include "runtime/blame.h"

#include <algorithm>
#include <vector>

#include "ir/layout.h"
#include "ir/op_table.h"
#include "lazuli/error.h"
#include "plan/expand.h"
#include "runtime/engine.h"

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

/// A program of one operation.
Program alone(const Program& program, const Operation& operation) {
    ProgramBuilder builder;
    std::vector<Value> inputs;
    for (std::size_t k = 0; k < operation.input_count(); ++k)
        inputs.push_back(builder.param("", program.spec(operation.input(k))));
    const TensorSpec spec = operation.spec();
    builder.result(builder.op(operation.op(), inputs, operation.attrs().words(), &spec));
    return builder.build();
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
    std::vector<std::size_t> last(program.size(), 0);  // who reads each value last
    for (std::size_t i = 0; i < program.size(); ++i) {
        const Operation operation = program.operation(i);
        for (std::size_t k = 0; k < operation.input_count(); ++k) {
            if (!operation.input(k).is_param()) last[operation.input(k).index()] = i;
        }
    }
    std::vector<Binding> values(program.size());
    for (std::size_t i = 0; i < program.size(); ++i) {
        const Operation operation = program.operation(i);
        std::vector<Binding> inputs;
        for (std::size_t k = 0; k < operation.input_count(); ++k) {
            const ValueRef v = operation.input(k);
            inputs.push_back(v.is_param() ? params[v.index()] : values[v.index()]);
        }
        const BufferPtr made = compute(program, operation, inputs);
        values[i] = {made, 0, ir::dense_byte_strides(operation.spec()), true};
        for (std::size_t k = 0; k < operation.input_count(); ++k) {
            const ValueRef v = operation.input(k);
            if (!v.is_param() && last[v.index()] == i) values[v.index()] = {};
        }
    }
}

}  // namespace lazuli::runtime
