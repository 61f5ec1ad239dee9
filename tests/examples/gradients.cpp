#include "example.h"

// Derivatives of functions, and gradients that tensors keep.

namespace examples {

namespace {

void of_functions(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(grad, "[2, 4, 6]", [] {
        const Tensor x = {1.0, 2.0, 3.0};
        return grad([](const Tensor& t) { return sum(t * t); })(x);
    });
    LAZULI_EXAMPLE(grad, "12", [] {  // derivatives of derivatives
        const auto slope = grad([](const Tensor& t) { return t * t * t; });
        return grad([&](const Tensor& t) { return slope(t); })(Tensor(2.0));
    });
    LAZULI_EXAMPLE(value_and_grad, "11, [[3, 4], [1, 2]], [[3, 8]]", [] {
        const Tensor x = {1.0, 2.0};
        const Tensor y = {3.0, 4.0};
        const auto f = [](const Tensor& a, const Tensor& b) {
            const Tensor products = a * b;
            return std::vector{sum(products), products};  // the number, and what is handed on
        };
        const auto [value, gradients, aux] = value_and_grad(f)(x, y);
        return std::tuple(value, gradients, aux);
    });
    LAZULI_EXAMPLE(value_and_grad_of, "9, [[3, 3]]", [] {
        const std::vector<Tensor> arguments = {{1.0, 2.0}, Tensor(3.0)};
        const TensorFunction f = [](const std::vector<Tensor>& t) {
            return std::vector{sum(t[0] * t[1])};
        };
        const int chosen[] = {0};
        const ValueAndGrad made = value_and_grad_of(f, arguments, chosen);
        return std::pair(made.value, made.gradients);
    });
    LAZULI_EXAMPLE(vjp, "[[1, 4]], [[20, 400]]", [] {
        const Tensor x = {1.0, 2.0};
        const Vjp made =
            vjp([](const std::vector<Tensor>& t) { return std::vector{t[0] * t[0]}; }, {x});
        const Tensor weights = {10.0, 100.0};
        return std::pair(made.results, made.pull({weights}));
    });
    LAZULI_EXAMPLE(jvp, "[[1, 4]], [[2, 0]]", [] {
        const Tensor x = {1.0, 2.0};
        const Tensor along = {1.0, 0.0};
        const Jvp made = jvp([](const std::vector<Tensor>& t) { return std::vector{t[0] * t[0]}; },
                             {x}, {along});
        return std::pair(made.results, made.tangents);
    });
    LAZULI_EXAMPLE(checkpoint, "[-1.6829, -1.8186]", [] {
        const Tensor x = {1.0, 2.0};
        const auto f = checkpoint([](const Tensor& t) { return cos(t) * 2.0; });
        return grad([&](const Tensor& t) { return sum(f(t)); })(x);
    });
    LAZULI_EXAMPLE(custom_gradient, "[5, 5]", [] {
        const TensorFunction f = [](const std::vector<Tensor>& t) {
            return std::vector{round(t[0])};
        };
        const BackwardFunction back = [](const auto&, const auto&, const auto& cotangents) {
            return std::vector{cotangents[0]};  // as if it had not been rounded
        };
        const Tensor x = {1.25, 2.75};
        return grad([&](const Tensor& t) { return sum(custom_gradient(f, back, {t})[0] * 5.0); })(
            x);
    });
    LAZULI_EXAMPLE(identity, "true, false", [] {
        const Tensor x = {1.0, 2.0};
        return std::pair(x.reshape({2}).id() == x.id(), identity(x).id() == x.id());
    });
    LAZULI_EXAMPLE(stop_gradient, "[1, 2]", [] {
        const Tensor x = {1.0, 2.0};
        return grad([](const Tensor& t) { return sum(t * stop_gradient(t)); })(x);
    });
}

void that_tensors_keep(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((Tensor::set_requires_grad, Tensor::backward, Tensor::grad), "[2, 4, 6]", [] {
        Tensor x = {1.0, 2.0, 3.0};
        x.set_requires_grad();
        sum(x * x).backward();
        return x.grad();
    });
    LAZULI_EXAMPLE(Tensor::zero_grad, "[4, 8], false", [] {
        Tensor x = {1.0, 2.0};
        x.set_requires_grad();
        sum(x * x).backward();
        sum(x * x).backward();  // is added to it
        const Tensor both = x.grad();
        x.zero_grad();
        return std::pair(both, x.grad().defined());
    });
    LAZULI_EXAMPLE(Tensor::requires_grad, "true, true, false", [] {
        Tensor x = {1.0, 2.0};
        x.set_requires_grad();
        return std::tuple(x.requires_grad(), (x + 1).requires_grad(), (x > 1).requires_grad());
    });
    LAZULI_EXAMPLE(Tensor::set_requires_grad,
                   "Tensor(op=tanh, shape=[2], dtype=f32, lazy, "
                   "requires_grad=true)",
                   [] {
                       Tensor x = {1.0, 2.0};
                       return tanh(x.set_requires_grad()).str();
                   });
    LAZULI_EXAMPLE(vmap, "[5, 11]", [] {
        const Tensor xs = {{1.0, 2.0}, {3.0, 4.0}};
        const Tensor w = {1.0, 2.0};  // the same for all
        return vmap([](const Tensor& x, const Tensor& y) { return sum(x * y); }, {0, std::nullopt})(
            xs, w);
    });
    LAZULI_EXAMPLE(vmap_of, "[[2, 7]]", [] {
        const Tensor xs = {{1.0, 2.0}, {3.0, 4.0}};
        const auto less_one = [](const std::vector<Tensor>& x) {
            return std::vector{x[0][0] * x[0][1] - 1.0};
        };
        return vmap_of(less_one, {xs}, {1});
    });
    LAZULI_EXAMPLE(mapped_of, "[2, 12], [5], true, false", [] {
        const Tensor xs = {{1.0, 2.0}, {3.0, 4.0}};
        const Tensor five = {5.0};
        const auto both = [&](const std::vector<Tensor>& x) {
            return std::vector{x[0][0] * x[0][1], five};
        };
        const Mapped made = mapped_of(both, {xs});
        return std::tuple(made.results[0], made.results[1], bool(made.many[0]),
                          bool(made.many[1]));  // the second is the same for all
    });
    LAZULI_EXAMPLE(NoGradScope, "false", [] {
        Tensor x = {1.0, 2.0};
        x.set_requires_grad();
        const NoGradScope scope;
        return (x * 2).requires_grad();
    });
}

/// What the gradients of an op of one's own are written with.
void of_ops(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(Value::defined, "false, true", [] {
        ProgramBuilder builder;
        const Value none;
        const Value x = builder.param("x", {f32, {3}});
        return std::pair(none.defined(), x.defined());
    });
    LAZULI_EXAMPLE(GradientArgs::cotangent, "[2, 2, 2]", [] {
        register_op({
            .name = "example_twice",
            .doc = "Each element and itself again.",
            .dtypes = {f32},
            .infer = [](const InferArgs& args) { return *args.inputs[0]; },
            .evaluate =
                [](const EvalArgs& args) {
                    const float* x = args.inputs[0].as<float>();
                    for (std::int64_t i = 0; i < args.spec->shape.numel(); ++i)
                        args.result<float>()[i] = x[i] + x[i];
                },
            .gradient =
                [](const GradientArgs& g) {
                    const Value both[] = {g.cotangent(), g.cotangent()};
                    return std::vector{g.builder.op("add", both)};
                },
        });
        const auto total = [](const Tensor& t) {
            const std::vector<Tensor> inputs = {t};
            return sum(call("example_twice", inputs));
        };
        return grad(total)(Tensor{1.0, 2.0, 3.0});
    });
}

}  // namespace

Examples gradients() {
    Examples examples;
    of_functions(examples);
    that_tensors_keep(examples);
    of_ops(examples);
    return examples;
}

}  // namespace examples
