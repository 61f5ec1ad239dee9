#include <fmt/format.h>

#include <cstring>

#include "codegen/kernel.h"
#include "lazuli/error.h"

namespace lazuli::codegen {

namespace {

struct alignas(16) Element {
    unsigned char bytes[16] = {};
};

/// One run of a kernel: the values and variables as they stand.
class Run {
   public:
    Run(const Kernel& kernel, std::span<const std::int64_t> sizes) : kernel_(kernel) {
        for (std::size_t i = 0; i < sizes.size(); ++i)
            variables_.push_back({kernel.variables[i].node(), sizes[i]});
    }

    /// The memory of all buffers, with some for those of scratch that are not given.
    void take(std::span<void* const> given) {
        buffers_.assign(given.begin(), given.end());
        for (std::size_t i = given.size(); i < kernel_.buffers.size(); ++i) {
            const KernelBuffer& buffer = kernel_.buffers[i];
            if (!buffer.scratch) break;
            const std::size_t bytes =
                static_cast<std::size_t>(number(buffer.elements)) * size_of(buffer.dtype);
            buffers_.push_back(scratch_.emplace_back(bytes / sizeof(Element) + 1).data());
        }
        if (buffers_.size() != kernel_.buffers.size())
            throw ArgumentError(fmt::format("{}: {} buffers given for {}", kernel_.name,
                                            given.size(), kernel_.buffers.size()));
    }

    void block(const Block& statements) {
        for (const Statement& s : statements) statement(s);
    }

   private:
    struct Held {
        DType dtype = DType::f32;
        Element element;
    };
    struct Variable {
        const symbolic::Node* node;
        std::int64_t value;
    };

    std::int64_t number(const Expr& expr) const {
        return expr.evaluate([this](Expr variable) {
            for (std::size_t i = variables_.size(); i-- > 0;) {
                if (variables_[i].node == variable.node()) return variables_[i].value;
            }
            throw InternalError(fmt::format("{}: {} has no value", kernel_.name, variable.name()));
        });
    }
    bool holds(const Statement& s) const { return !s.valid || number(*s.valid) != 0; }

    Held& value(ValueId id) {
        if (id >= values_.size()) values_.resize(id + 1);
        return values_[id];
    }

    void set(const Statement& s, const void* bytes) {
        Held& held = value(s.results[0]);
        held.dtype = s.dtype;
        std::memcpy(held.element.bytes, bytes, size_of(s.dtype));
    }
    void set(const Statement& s, const Scalar& scalar) {
        Held& held = value(s.results[0]);
        held.dtype = s.dtype;
        store_scalar(scalar, s.dtype, held.element.bytes);
    }

    /// The op's record on single elements.
    static void apply(OpId op, std::span<const std::uint64_t> words, std::span<const Held> operands,
                      DType dtype, Element& out) {
        const OpDef& def = op_def(op);
        TensorSpec specs[4];
        HostArray arrays[4];
        for (std::size_t i = 0; i < operands.size(); ++i) {
            specs[i].dtype = operands[i].dtype;
            arrays[i] = {operands[i].element.bytes, &specs[i]};
        }
        const TensorSpec result{dtype, {}};
        def.evaluate({def, Attrs(def, words), {arrays, operands.size()}, &result, out.bytes});
    }

    void statement(const Statement& s) {
        switch (s.kind) {
            case StatementKind::load: {
                if (!holds(s)) return set(s, s.fill);
                const auto* from = static_cast<const unsigned char*>(buffers_[s.buffer]);
                return set(s, from + static_cast<std::size_t>(number(*s.index)) * size_of(s.dtype));
            }
            case StatementKind::constant: return set(s, s.fill);
            case StatementKind::position: return set(s, Scalar(number(*s.index)));
            case StatementKind::apply: {
                Held operands[4];
                for (std::size_t i = 0; i < s.operands.size(); ++i)
                    operands[i] = value(s.operands[i]);
                Element out;
                apply(s.op, s.words, {operands, s.operands.size()}, s.dtype, out);
                return set(s, out.bytes);
            }
            case StatementKind::bind: {
                const Held& from = value(s.operands[0]);
                const std::int64_t size = number(s.counts[0].size);
                const Scalar given = load_scalar(from.dtype, from.element.bytes);
                const std::int64_t number = given.is_large_unsigned() ? size : given.to_int();
                const std::int64_t at = number < 0 ? number + size : number;
                if (at < 0 || at >= size)
                    throw ExecutionError("gather",
                                         fmt::format("index {} is out of range for an axis of {}",
                                                     given.str(), size));
                variables_.push_back({s.counts[0].variable.node(), at});
                return;
            }
            case StatementKind::store: {
                if (!holds(s)) return;
                const Held& from = value(s.operands[0]);
                auto* to = static_cast<unsigned char*>(buffers_[s.buffer]);
                const std::size_t size = size_of(kernel_.buffers[s.buffer].dtype);
                std::memcpy(to + static_cast<std::size_t>(number(*s.index)) * size,
                            from.element.bytes, size);
                return;
            }
            case StatementKind::parallel:
            case StatementKind::serial: return steps(s, [&](std::int64_t) { block(s.body); });
            case StatementKind::reduce: return reduce(s);
        }
    }

    /// Calls `step` with the last variable's value for all steps of a loop, that one fastest. What
    /// is bound within a step ends with it.
    template <class Step>
    void steps(const Statement& s, const Step& step) {
        std::vector<std::int64_t> sizes;
        for (const Count& c : s.counts) sizes.push_back(number(c.size));
        for (const std::int64_t size : sizes) {
            if (size <= 0) return;
        }
        const std::size_t first = variables_.size();
        for (const Count& c : s.counts) variables_.push_back({c.variable.node(), 0});
        const std::size_t inside = variables_.size();
        for (;;) {
            step(variables_[inside - 1].value);
            variables_.resize(inside);
            std::size_t d = sizes.size();
            while (d > 0 && ++variables_[first + d - 1].value == sizes[d - 1])
                variables_[first + --d].value = 0;
            if (d == 0) break;
        }
        variables_.resize(first);
    }

    void reduce(const Statement& s) {
        const auto lanes = static_cast<std::size_t>(s.lanes);
        std::vector<std::vector<Held>> partial;
        for (const Accumulator& a : s.accumulators) {
            Held init;
            init.dtype = a.dtype;
            store_scalar(a.init, a.dtype, init.element.bytes);
            partial.emplace_back(lanes, init);
        }
        const auto combine = [&](std::size_t k, Held& into, const Held& other) {
            const Held operands[] = {into, other};
            apply(s.accumulators[k].combine, {}, operands, s.accumulators[k].dtype, into.element);
        };
        steps(s, [&](std::int64_t last) {
            block(s.body);
            for (std::size_t k = 0; k < partial.size(); ++k) {
                const Held& from = value(s.accumulators[k].from);
                Held converted;
                converted.dtype = s.accumulators[k].dtype;
                store_scalar(load_scalar(from.dtype, from.element.bytes), converted.dtype,
                             converted.element.bytes);
                combine(k, partial[k][static_cast<std::size_t>(last) % lanes], converted);
            }
        });
        for (std::size_t k = 0; k < partial.size(); ++k) {
            for (std::size_t half = lanes / 2; half > 0; half /= 2) {
                for (std::size_t i = 0; i < half; ++i)
                    combine(k, partial[k][i], partial[k][i + half]);
            }
            value(s.results[k]) = partial[k][0];
        }
    }

    const Kernel& kernel_;
    std::vector<void*> buffers_;
    std::vector<std::vector<Element>> scratch_;
    std::vector<Held> values_;
    std::vector<Variable> variables_;
};

}  // namespace

void interpret(const Kernel& kernel, std::span<void* const> buffers,
               std::span<const std::int64_t> sizes) {
    kernel.check_sizes(sizes);
    Run run(kernel, sizes);
    run.take(buffers);
    run.block(kernel.body);
}

}  // namespace lazuli::codegen
