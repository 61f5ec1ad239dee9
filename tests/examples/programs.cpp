#include "example.h"

// What a recorded graph becomes, and the records of operations.

namespace examples {

namespace {

void program(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((Program::parse, Program::str), "true", [] {
        const std::string text =
            "program(x: f32[3]) {\n"
            "  %0 = tanh(x) : f32[3]\n"
            "  %1 = sum(%0) axes=[0] keepdims=false : f32[]\n"
            "  return %1\n"
            "}\n";
        return Program::parse(text).str() == text;
    });
    LAZULI_EXAMPLE((Program::json, Program::from_json, Program::bytes, Program::from_bytes),
                   "true, true", [] {
                       const Program program = capture(Tensor({1.0, 2.0}).tanh());
                       return std::pair(Program::from_json(program.json()) == program,
                                        Program::from_bytes(program.bytes()) == program);
                   });
    LAZULI_EXAMPLE((Program, Program::size, Program::params, Program::results), "0, 2, 1, 1", [] {
        const Program program = capture(Tensor({1.0, 2.0}).tanh().exp());
        return std::tuple(Program().size(), program.size(), program.params().size(),
                          program.results().size());
    });
    LAZULI_EXAMPLE((Program::hash, Program::words), "true, true", [] {
        const Program a = Program::parse("program(x: f32[2]) { %0 = exp(x) : f32[2] return %0 }");
        const Program b = Program::parse("program(y: f32[2]) { %0 = exp(y) : f32[2] return %0 }");
        return std::pair(a.hash() == b.hash(), std::ranges::equal(a.words(), b.words()));
    });
    LAZULI_EXAMPLE((Program::operation, Program::spec), "exp, f32[2]", [] {
        const Program program = capture(Tensor({1.0, 2.0}).tanh().exp());
        return std::pair(program.operation(1).def().name, program.spec(ValueRef::op(1)));
    });
    LAZULI_EXAMPLE((Operation::op, Operation::def, Operation::dtype, Operation::spec),
                   "true, tanh, f32, f32[2]", [] {
                       const Program program = capture(Tensor({1.0, 2.0}).tanh());
                       const Operation operation = program.operation(0);
                       return std::tuple(operation.op() == require_op("tanh"), operation.def().name,
                                         operation.dtype(), operation.spec());
                   });
    LAZULI_EXAMPLE((Operation::input_count, Operation::input, Operation::attrs), "1, true, [0]",
                   [] {
                       const Program program = capture(Tensor({1.0, 2.0}).sum());
                       const Operation sum = program.operation(0);
                       return std::tuple(sum.input_count(), sum.input(0) == ValueRef::param(0),
                                         sum.attrs().list(0));
                   });
    LAZULI_EXAMPLE((ValueRef::op, ValueRef::param, ValueRef::is_param, ValueRef::index),
                   "false, true, 3", [] {
                       const ValueRef result = ValueRef::op(2);
                       const ValueRef param = ValueRef::param(3);
                       return std::tuple(result.is_param(), param.is_param(), param.index());
                   });
    LAZULI_EXAMPLE((ProgramBuilder, ProgramBuilder::param, ProgramBuilder::op,
                    ProgramBuilder::constant, ProgramBuilder::result, ProgramBuilder::build),
                   "program(x: f32[3]) {\n"
                   "  %0 = constant() value=2.0 : f32[]\n"
                   "  %1 = mul(x, %0) : f32[3]\n"
                   "  return %1 as twice\n"
                   "}",
                   [] {
                       ProgramBuilder builder;
                       const Value x = builder.param("x", {f32, {3}});
                       const Value factors[] = {x, builder.constant(2.0, {f32, {}})};
                       builder.result(builder.op("mul", factors), "twice");
                       return builder.build();
                   });
    LAZULI_EXAMPLE(
        (Value::builder, Value::ref, Value::spec, Value::shape, Value::dtype, ProgramBuilder::spec),
        "true, true, f32[3], [3], f32", [] {
            ProgramBuilder builder;
            const Value x = builder.param("x", {f32, {3}});
            const bool same = builder.spec(x.ref()) == x.spec();
            return std::tuple(&x.builder() == &builder, same, x.spec(), x.shape(), x.dtype());
        });
    LAZULI_EXAMPLE((ProgramBuilder::from_words, Program::verify), "true", [] {
        const Program program = capture(Tensor({1.0, 2.0}).tanh());
        const auto copy = [](auto span) { return std::vector(span.begin(), span.end()); };
        const Program again = ProgramBuilder::from_words(
            copy(program.params()), copy(program.words()), copy(program.results()));
        again.verify();
        return again == program;
    });
    LAZULI_EXAMPLE(is_constant_class, "true, true, false", [] {
        return std::tuple(is_constant_class(0), is_constant_class(0.5), is_constant_class(0.7));
    });
}

void records(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((find_op, require_op), "true, false", [] {
        return std::pair(find_op("tanh") == require_op("tanh"), find_op("tangent").has_value());
    });
    LAZULI_EXAMPLE(require_op, "ArgumentError: there is no op named 'tangent'",
                   require_op("tangent"));
    LAZULI_EXAMPLE((op_def, OpDef::is_composite),
                   "Exponentials along an axis, divided by their sum., true", [] {
                       const OpDef& softmax = op_def(require_op("softmax"));
                       return std::pair(softmax.doc, softmax.is_composite());
                   });
    LAZULI_EXAMPLE((op_count, has), "true", [] {
        int elementwise = 0;
        for (int i = 0; i < op_count(); ++i)
            elementwise += has(op_def(static_cast<OpId>(i)).traits, Trait::elementwise) ? 1 : 0;
        return elementwise > 50 && elementwise < op_count();
    });
    LAZULI_EXAMPLE(infer, "f32[2, 5]", [] {
        const std::vector<TensorSpec> inputs = {{f32, {2, 3}}, {f32, {3, 5}}};
        const std::vector<Attribute> attributes = {std::string("none")};
        return infer("matmul", inputs, attributes);
    });
    LAZULI_EXAMPLE((register_op, HostArray::as, EvalArgs::result), "[1, 4, 9]", [] {
        register_op({
            .name = "example_square",
            .doc = "Each element times itself.",
            .dtypes = {f32},
            .infer = [](const InferArgs& args) { return *args.inputs[0]; },
            .evaluate =
                [](const EvalArgs& args) {
                    const float* x = args.inputs[0].as<float>();
                    for (std::int64_t i = 0; i < args.spec->shape.numel(); ++i)
                        args.result<float>()[i] = x[i] * x[i];
                },
        });
        const std::vector<Tensor> inputs = {Tensor{1.0, 2.0, 3.0}};
        return call("example_square", inputs);
    });
    LAZULI_EXAMPLE(StridedView, "[2, 3], 6", [] {
        StridedView view({2, 3});  // rows of three out of rows of six
        view.strides[0] = 6;
        view.strides[1] = 1;
        return std::pair(view.shape, view.strides[0]);
    });
}

void attributes(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((AttrWords::axes, AttrWords::boolean, AttrWords::words, Attrs, Attrs::list,
                    Attrs::boolean, Attrs::words),
                   "[0, 2], true, true", [] {
                       AttrWords words;  // of sum: axes and keepdims
                       words.axes(Ints{0, 2});
                       words.boolean(true);
                       const Attrs attrs(op_def(require_op("sum")), words.words());
                       return std::tuple(attrs.list(0), attrs.boolean(1),
                                         attrs.words().size() == words.words().size());
                   });
    LAZULI_EXAMPLE((AttrWords::ints, AttrWords::scalar, Attrs::scalar), "[1], [2], 7", [] {
        AttrWords words;  // of pad: before, after and value
        words.ints(Ints{1});
        words.ints(Ints{2});
        words.scalar(7);
        const Attrs attrs(op_def(require_op("pad")), words.words());
        return std::tuple(attrs.list(0), attrs.list(1), attrs.scalar(2));
    });
    LAZULI_EXAMPLE((AttrWords::integer, Attrs::integer), "-1", [] {
        AttrWords words;  // of softmax: axis
        words.integer(-1);
        return Attrs(op_def(require_op("softmax")), words.words()).integer(0);
    });
    LAZULI_EXAMPLE((AttrWords::real, Attrs::real, Attrs::get), "0.5, 0.5", [] {
        AttrWords words;  // of layer_norm: eps
        words.real(0.5);
        const Attrs attrs(op_def(require_op("layer_norm")), words.words());
        return std::pair(attrs.real(0), std::get<double>(attrs.get(0, {})));
    });
    LAZULI_EXAMPLE((AttrWords::text, AttrWords::append, Attrs::text), "square, square", [] {
        const OpDef& def = op_def(require_op("custom_call"));  // target
        AttrWords words;
        words.text("square");
        AttrWords appended;
        appended.append("custom_call", def.attrs[0], std::string("square"));
        return std::pair(Attrs(def, words.words()).text(0), Attrs(def, appended.words()).text(0));
    });
    LAZULI_EXAMPLE((AttrWords::placement, Attrs::placement), "[3, 2], true", [] {
        const int turned[] = {1, 0};
        const Placement placement = {.tracker = ShapeTracker({2, 3}).permute(turned)};
        AttrWords words;  // of view, whose shape is the result's
        words.placement(placement);
        const Attrs attrs(op_def(require_op("view")), words.words());
        const Placement back = attrs.placement(0, {3, 2});
        return std::pair(back.tracker.shape(), back.tracker == placement.tracker);
    });
    LAZULI_EXAMPLE((AttrWords::program, Attrs::program), "true", [] {
        const Program body = capture(Tensor({1.0, 2.0}).tanh());
        AttrWords words;  // of loop: body, and numbers
        words.program(body);
        return Attrs(op_def(require_op("loop")), words.words()).program(0) == body;
    });
    LAZULI_EXAMPLE(AttrWords::room, "3, 7", [] {
        AttrWords words;
        std::uint64_t* room = words.room(3);
        for (std::uint64_t i = 0; i < 3; ++i) room[i] = 5 + i;
        return std::pair(words.words().size(), words.words()[2]);
    });
}

void terms(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((TermBuilder::apply, TermBuilder::constant, polynomial), "17", [] {
        struct Calculator : TermBuilder {
            Term apply(Primitive, DType, std::span<const Term> x) override {  // fma alone
                return put(values[x[0].id] * values[x[1].id] + values[x[2].id]);
            }
            Term constant(const Scalar& value, DType) override { return put(value.to_double()); }
            Term put(double value) {
                values.push_back(value);
                return {this, static_cast<std::uint32_t>(values.size() - 1), f64};
            }
            std::vector<double> values;
        };
        Calculator calculator;
        const Term x = calculator.put(2);
        const double coefficients[] = {1, 2, 3};  // 1 + 2 x + 3 x^2
        return calculator.values[polynomial(x, coefficients).id];
    });
    LAZULI_EXAMPLE((operator&, operator^, quotient, number), "5, 42, 3", [] {
        struct Calculator : TermBuilder {
            Term apply(Primitive primitive, DType, std::span<const Term> x) override {
                const std::int64_t a = values[x[0].id];
                const std::int64_t b = values[x[1].id];
                if (primitive == Primitive::bit_and) return put(a & b);
                if (primitive == Primitive::bit_xor) return put(a ^ b);
                return put(a / b);
            }
            Term constant(const Scalar& value, DType) override { return put(value.to_int()); }
            Term put(std::int64_t value) {
                values.push_back(value);
                return {this, static_cast<std::uint32_t>(values.size() - 1), i64};
            }
            std::vector<std::int64_t> values;
        };
        Calculator calculator;
        const Term x = calculator.put(37);  // 100101 in binary
        const Term low = x & 15;
        const Term flipped = x ^ 15;
        const Term tens = quotient(x, number(x, 10));
        const auto value = [&](Term term) { return calculator.values[term.id]; };
        return std::tuple(value(low), value(flipped), value(tens));
    });
}

}  // namespace

Examples programs() {
    Examples out;
    program(out);
    records(out);
    attributes(out);
    terms(out);
    return out;
}

}  // namespace examples
