// Parts of complex numbers.

#include <complex>

#include "ops/eval.h"
#include "ops/gradient.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

TensorSpec infer_part(const InferArgs& args) {
    return {real_part(args.inputs[0]->dtype), args.inputs[0]->shape};
}

/// As the elements are: nothing is computed, so that NaN keeps its bits.
template <class F>
void each(const EvalArgs& args, F f) {
    const std::int64_t count = args.spec->shape.numel();
    dispatch(args.inputs[0].spec->dtype, [&]<class T>() {
        const T* in = args.inputs[0].as<T>();
        auto* out = args.result<decltype(f(T{}))>();
        for (std::int64_t i = 0; i < count; ++i) out[i] = f(in[i]);
    });
}

void evaluate_real(const EvalArgs& args) {
    each(args, []<class T>(T v) {
        if constexpr (is_complex_v<T>)
            return v.real();
        else
            return v;
    });
}
void evaluate_imag(const EvalArgs& args) {
    each(args, []<class T>(T v) {
        if constexpr (is_complex_v<T>)
            return v.imag();
        else
            return T{};
    });
}
void evaluate_conj(const EvalArgs& args) {
    each(args, []<class T>(T v) {
        if constexpr (is_complex_v<T>)
            return T(v.real(), -v.imag());
        else
            return v;
    });
}

// Kernels of complex numbers are computed by the evaluations.
std::optional<Term> expand_same(std::span<const Term> x) {
    if (is_complex(x[0].dtype)) return std::nullopt;
    return x[0];
}
std::optional<Term> expand_imag(std::span<const Term> x) {
    if (is_complex(x[0].dtype)) return std::nullopt;
    return number(x[0], Scalar(0).as(x[0].dtype));
}

Gradients real_gradient(const GradientArgs& g) { return {narrowed(g.cotangent(), g[0].dtype())}; }
Gradients imag_gradient(const GradientArgs& g) {
    if (!is_complex(g[0].dtype())) return {{}};
    const Value flow = cast(g.cotangent(), g[0].dtype());
    return {flow * constant_like(flow, Scalar(std::complex<double>(0, 1)))};
}
Gradients conj_gradient(const GradientArgs& g) { return {conjugate(g.cotangent())}; }

}  // namespace

std::vector<OpDef> complex_parts() {
    return {
        {
            .name = "real",
            .doc = "Real part of each element; a real element itself.",
            .edge = "NaN and infinities in the imaginary part have no influence; -0 stays -0.",
            .traits = Trait::elementwise,
            .dtypes = kAllTypes,
            .infer = infer_part,
            .evaluate = evaluate_real,
            .expand = expand_same,
            .gradient = real_gradient,
        },
        {
            .name = "imag",
            .doc = "Imaginary part of each element; 0 of a real element.",
            .edge = "0 of a real NaN and infinity too; -0 stays -0.",
            .traits = Trait::elementwise,
            .dtypes = kAllTypes,
            .infer = infer_part,
            .evaluate = evaluate_imag,
            .expand = expand_imag,
            .gradient = imag_gradient,
        },
        {
            .name = "conj",
            .doc = "Each element with the sign of its imaginary part changed; a real element "
                   "itself.",
            .edge = "The sign of an imaginary part that is 0 or NaN changes too.",
            .traits = Trait::elementwise | Trait::same_type | Trait::promotes,
            .dtypes = kNumeric,
            .evaluate = evaluate_conj,
            .expand = expand_same,
            .gradient = conj_gradient,
        },
    };
}

}  // namespace lazuli::ops
