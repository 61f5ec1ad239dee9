#pragma once

// Programs run as each op's record says, one op after the other, for tests of what is made of
// programs whose sizes are expressions.

#include <algorithm>
#include <string>
#include <vector>

#include "lazuli/error.h"
#include "lazuli/program.h"
#include "ops/bundle.h"
#include "random.h"
#include "symbolic_calls.h"

namespace lazuli::tests {

using Bytes = std::vector<unsigned char>;

/// Operands of a program, drawn from where an op's tests draw them.
inline std::vector<Bytes> draw(const Program& program, const Sample& sample, std::uint64_t seed) {
    Random random(seed);
    std::vector<Bytes> out;
    for (const Param& param : program.params()) {
        const DType dtype = param.spec.dtype;
        const std::size_t size = size_of(dtype);
        Bytes bytes(static_cast<std::size_t>(param.spec.nbytes()));
        for (std::size_t at = 0; at < bytes.size(); at += size) {
            const double share = static_cast<double>(random.below(1001)) / 1000;
            const double value = sample.low + share * (sample.high - sample.low);
            const Scalar drawn = kind(dtype) >= Kind::floating
                                     ? Scalar(value)
                                     : Scalar(static_cast<std::int64_t>(value));
            store_scalar(drawn.as(dtype), dtype, bytes.data() + at);
        }
        out.push_back(std::move(bytes));
    }
    return out;
}

/// What each op's record says, one after the other: the bytes of the results, or what was thrown.
inline std::vector<Bytes> run(const Program& program, const std::vector<Bytes>& operands,
                              std::string& thrown) {
    std::vector<Bytes> values;
    std::vector<TensorSpec> specs(program.size());
    const auto array = [&](ValueRef v) -> HostArray {
        if (v.is_param()) return {operands[v.index()].data(), &program.params()[v.index()].spec};
        return {values[v.index()].data(), &specs[v.index()]};
    };
    for (std::size_t i = 0; i < program.size(); ++i) {
        const Operation operation = program.operation(i);
        specs[i] = operation.spec();
        std::vector<HostArray> inputs;
        for (std::size_t k = 0; k < operation.input_count(); ++k)
            inputs.push_back(array(operation.input(k)));
        Bytes made(static_cast<std::size_t>(specs[i].nbytes()));
        const EvalArgs args{operation.def(), operation.attrs(), inputs, &specs[i], made.data()};
        try {
            ops::clear_gaps(args);
            args.op.evaluate(args);
        } catch (const ExecutionError& error) {
            thrown = error.what();
            return {};
        }
        values.push_back(std::move(made));
    }
    std::vector<Bytes> out;
    for (const ProgramResult& result : program.results()) {
        const HostArray from = array(result.value);
        const auto* data = static_cast<const unsigned char*>(from.data);
        out.emplace_back(data, data + from.spec->nbytes());
    }
    return out;
}

/// The program of the numbers, of which there may be more than it has variables.
inline Program instance_of(const Program& program, Bindings bindings) {
    const std::vector<Dim> variables = program.variables();
    std::erase_if(bindings, [&](const SizeBinding& binding) {
        return std::ranges::none_of(variables,
                                    [&](Dim known) { return known.str() == binding.first; });
    });
    return program.instantiate(bindings);
}

}  // namespace lazuli::tests
