#include "runtime/stepwise.h"

#include "ir/layout.h"

namespace lazuli::runtime {

Program alone(const Program& program, const Operation& operation) {
    ProgramBuilder builder;
    std::vector<Value> inputs;
    for (std::size_t k = 0; k < operation.input_count(); ++k)
        inputs.push_back(builder.param("", program.spec(operation.input(k))));
    const TensorSpec spec = operation.spec();
    builder.result(builder.op(operation.op(), inputs, operation.attrs().words(), &spec));
    return builder.build();
}

std::vector<Binding> run_stepwise(const Program& program, std::span<const Binding> params,
                                  const Step& step) {
    std::vector<std::size_t> last(program.size(), 0);  // who reads each value last
    const auto read = [&](ValueRef value, std::size_t reader) {
        if (!value.is_param()) last[value.index()] = reader;
    };
    for (std::size_t i = 0; i < program.size(); ++i) {
        const Operation operation = program.operation(i);
        for (std::size_t k = 0; k < operation.input_count(); ++k) read(operation.input(k), i);
    }
    for (const ProgramResult& result : program.results()) read(result.value, program.size());

    std::vector<Binding> values(program.size());
    const auto value_of = [&](ValueRef v) {
        return v.is_param() ? params[v.index()] : values[v.index()];
    };
    std::vector<Binding> inputs;
    for (std::size_t i = 0; i < program.size(); ++i) {
        const Operation operation = program.operation(i);
        inputs.clear();
        for (std::size_t k = 0; k < operation.input_count(); ++k) {
            inputs.push_back(value_of(operation.input(k)));
            inputs.back().given_away = nullptr;
        }
        values[i] = {step(i, operation, inputs), 0, ir::dense_byte_strides(operation.spec()), true};
        for (std::size_t k = 0; k < operation.input_count(); ++k) {
            const ValueRef v = operation.input(k);
            if (!v.is_param() && last[v.index()] == i) values[v.index()] = {};
        }
    }
    std::vector<Binding> results;
    for (const ProgramResult& result : program.results()) results.push_back(value_of(result.value));
    return results;
}

}  // namespace lazuli::runtime
