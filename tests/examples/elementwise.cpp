#include <cmath>
#include <limits>

#include "example.h"

// Functions of single elements.

namespace examples {

namespace {

void arithmetic(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(add, "[11, 22, 33]", add(Tensor{1.0, 2.0, 3.0}, Tensor{10.0, 20.0, 30.0}));
    LAZULI_EXAMPLE(sub, "[9, 18, 27]", sub(Tensor{10.0, 20.0, 30.0}, Tensor{1.0, 2.0, 3.0}));
    LAZULI_EXAMPLE(mul, "[[10, 20], [300, 400]]",
                   mul(Tensor{{1.0, 2.0}, {3.0, 4.0}}, Tensor{{10.0}, {100.0}}));
    LAZULI_EXAMPLE(div, "[0.5, 1, 1.5]", div(Tensor{1, 2, 3}, 2));
    LAZULI_EXAMPLE(pow, "[1, 8, 27]", pow(Tensor{1.0, 2.0, 3.0}, 3));
    LAZULI_EXAMPLE(maximum, "[3, 5, 3]", maximum(Tensor{1.0, 5.0, 2.0}, 3));
    LAZULI_EXAMPLE(minimum, "[1, 3, 2]", minimum(Tensor{1.0, 5.0, 2.0}, 3));
    LAZULI_EXAMPLE(neg, "[-1, 2, -3]", neg(Tensor{1, -2, 3}));
    LAZULI_EXAMPLE(abs, "[1, 2, 3]", abs(Tensor{1, -2, 3}));
    LAZULI_EXAMPLE(abs, "5", abs(Tensor(std::complex<double>(3, 4))));
    LAZULI_EXAMPLE(fma, "[12, 23, 34]",
                   fma(Tensor{1.0, 2.0, 3.0}, Tensor{10.0, 10.0, 10.0}, Tensor{2.0, 3.0, 4.0}));
    LAZULI_EXAMPLE(affine, "[12, 23, 34]",
                   affine(Tensor{1.0, 2.0, 3.0}, 10.0, Tensor{2.0, 3.0, 4.0}));
    LAZULI_EXAMPLE(copysign, "[-1, 2, -3]",
                   copysign(Tensor{1.0, -2.0, 3.0}, Tensor{-1.0, 1.0, -0.0}));
    LAZULI_EXAMPLE(scale2, "[6, 12, 24]", scale2(Tensor{3.0, 3.0, 3.0}, Tensor{1.0, 2.0, 3.0}));
    LAZULI_EXAMPLE(square, "[1, 4, 9]", square(Tensor{1, -2, 3}));
    LAZULI_EXAMPLE(reciprocal, "[1, 0.5, 0.25]", reciprocal(Tensor{1.0, 2.0, 4.0}));
    LAZULI_EXAMPLE(floor_divide, "[3, -4]", floor_divide(Tensor{7, -7}, 2));
    LAZULI_EXAMPLE(floor_div, "[3, -4]", floor_div(Tensor{7, -7}, 2));
    LAZULI_EXAMPLE(rem, "[1, 2]", rem(Tensor{7, -7}, 3));
    LAZULI_EXAMPLE(mod, "[1, 2]", mod(Tensor{7, -7}, 3));
    LAZULI_EXAMPLE(fmod, "[1, -1]", fmod(Tensor{7.0, -7.0}, 3));
    LAZULI_EXAMPLE(clamp, "[0, 0.5, 1]", clamp(Tensor{-3.0, 0.5, 7.0}, 0.0, 1.0));
    LAZULI_EXAMPLE(lerp, "[0, 2.5, 10]",
                   lerp(Tensor{0.0, 0.0, 0.0}, Tensor{10.0, 10.0, 10.0}, Tensor{0.0, 0.25, 1.0}));
    LAZULI_EXAMPLE(blend, "[7.5, 5]", blend(Tensor{10.0, 10.0}, 0.0, Tensor{0.75, 0.5}));
    LAZULI_EXAMPLE(hypot, "[5, 13]", hypot(Tensor{3.0, 5.0}, Tensor{4.0, 12.0}));
}

void functions(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(sqrt, "[1, 3, 12]", sqrt(Tensor{1.0, 9.0, 144.0}));
    LAZULI_EXAMPLE(cbrt, "[2, -3]", cbrt(Tensor{8.0, -27.0}));
    LAZULI_EXAMPLE(rsqrt, "[1, 0.5, 0.1]", rsqrt(Tensor{1.0, 4.0, 100.0}));
    LAZULI_EXAMPLE(exp, "[1, 2.7183, 7.3891]", exp(Tensor{0.0, 1.0, 2.0}));
    LAZULI_EXAMPLE(exp2, "[0.5, 1, 1024]", exp2(Tensor{-1.0, 0.0, 10.0}));
    LAZULI_EXAMPLE(expm1, "[0, 1e-10]", expm1(Tensor{0.0, 1e-10}));
    LAZULI_EXAMPLE(log, "[0, 1, 2]", log(exp(Tensor{0.0, 1.0, 2.0})));
    LAZULI_EXAMPLE(log2, "[-1, 0, 10]", log2(Tensor{0.5, 1.0, 1024.0}));
    LAZULI_EXAMPLE(log10, "[-2, 0, 3]", log10(Tensor{0.01, 1.0, 1000.0}));
    LAZULI_EXAMPLE(log1p, "[0, 1e-10]", log1p(Tensor{0.0, 1e-10}));
    LAZULI_EXAMPLE(logaddexp, "[0.69315, 1000.7]",
                   logaddexp(Tensor{0.0, 1000.0}, Tensor{0.0, 1000.0}));
    LAZULI_EXAMPLE(sin, "[0, 0.5, 1]", sin(Tensor{0.0, M_PI / 6, M_PI / 2}));
    LAZULI_EXAMPLE(cos, "[1, 0.5, -1]", cos(Tensor{0.0, M_PI / 3, M_PI}));
    LAZULI_EXAMPLE(tan, "[0, 1]", tan(Tensor{0.0, M_PI / 4}));
    LAZULI_EXAMPLE(asin, "[0, 30, 90]", asin(Tensor{0.0, 0.5, 1.0}) * (180 / M_PI));
    LAZULI_EXAMPLE(acos, "[90, 60, 0]", acos(Tensor{0.0, 0.5, 1.0}) * (180 / M_PI));
    LAZULI_EXAMPLE(atan, "[0, 45, -45]", atan(Tensor{0.0, 1.0, -1.0}) * (180 / M_PI));
    LAZULI_EXAMPLE(atan2, "[45, 135, -90]",
                   atan2(Tensor{1.0, 1.0, -1.0}, Tensor{1.0, -1.0, 0.0}) * (180 / M_PI));
    LAZULI_EXAMPLE(sinh, "[0, 0.75]", sinh(Tensor{0.0, std::log(2.0)}));
    LAZULI_EXAMPLE(cosh, "[1, 1.25]", cosh(Tensor{0.0, std::log(2.0)}));
    LAZULI_EXAMPLE(tanh, "[0, 0.6, 1]", tanh(Tensor{0.0, std::log(2.0), 100.0}));
    LAZULI_EXAMPLE(asinh, "[0, 2, -3]", asinh(sinh(Tensor{0.0, 2.0, -3.0})));
    LAZULI_EXAMPLE(acosh, "[0, 2, 3]", acosh(cosh(Tensor{0.0, 2.0, -3.0})));
    LAZULI_EXAMPLE(atanh, "[0, 0.5, -1]", atanh(tanh(Tensor{0.0, 0.5, -1.0})));
    LAZULI_EXAMPLE(sigmoid, "[0.5, 0.75, 0.25]",
                   sigmoid(Tensor{0.0, std::log(3.0), -std::log(3.0)}));
    LAZULI_EXAMPLE(erf, "[0, 0.8427, 1]", erf(Tensor{0.0, 1.0, 10.0}));
    LAZULI_EXAMPLE(erfc, "[1, 0.1573, 2.0885e-45]", erfc(tensor({0.0, 1.0, 10.0}, f64)));
    LAZULI_EXAMPLE(erfinv, "[0, 0.5, -1]", erfinv(erf(tensor({0.0, 0.5, -1.0}, f64))));
    LAZULI_EXAMPLE(digamma, "[-0.57722, 0.42278, 2.2518]", digamma(tensor({1.0, 2.0, 10.0}, f64)));
    LAZULI_EXAMPLE(lgamma, "[1, 24, 120]", exp(lgamma(tensor({1.0, 5.0, 6.0}, f64))));
    LAZULI_EXAMPLE(floor, "[1, -2]", floor(Tensor{1.5, -1.5}));
    LAZULI_EXAMPLE(ceil, "[2, -1]", ceil(Tensor{1.5, -1.5}));
    LAZULI_EXAMPLE(trunc, "[1, -1]", trunc(Tensor{1.5, -1.5}));
    LAZULI_EXAMPLE(round, "[0, 2, 2, 3]", round(Tensor{0.5, 1.5, 2.5, 2.6}));
    LAZULI_EXAMPLE(sign, "[-1, 0, 1]", sign(Tensor{-7, 0, 3}));
    LAZULI_EXAMPLE(nextafter, "[true, true]",
                   nextafter(Tensor{1.0, 1.0}, Tensor{2.0, 0.0}) ==
                       Tensor{1 + std::exp2(-23), 1 - std::exp2(-24)});
}

void bits_and_truth(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(shift_left, "[2, 4, 8]", shift_left(Tensor{1, 1, 1}, Tensor{1, 2, 3}));
    LAZULI_EXAMPLE(shift_right, "[8, 4, -1]", shift_right(Tensor{16, 16, -1}, Tensor{1, 2, 3}));
    LAZULI_EXAMPLE(bitwise_and, "[8, 2]", bitwise_and(Tensor{12, 3}, 10));
    LAZULI_EXAMPLE(bitwise_or, "[14, 11]", bitwise_or(Tensor{12, 3}, 10));
    LAZULI_EXAMPLE(bitwise_xor, "[6, 9]", bitwise_xor(Tensor{12, 3}, 10));
    LAZULI_EXAMPLE(bitwise_not, "[-1, -13]", bitwise_not(Tensor{0, 12}));
    LAZULI_EXAMPLE(popcount, "[0, 1, 3, 8]", popcount(Tensor{0, 8, 7, 255}));
    LAZULI_EXAMPLE(logical_and, "[true, false, false]",
                   logical_and(Tensor{true, true, false}, Tensor{true, false, false}));
    LAZULI_EXAMPLE(logical_or, "[true, true, false]",
                   logical_or(Tensor{true, true, false}, Tensor{true, false, false}));
    LAZULI_EXAMPLE(logical_xor, "[false, true, false]",
                   logical_xor(Tensor{true, true, false}, Tensor{true, false, false}));
    LAZULI_EXAMPLE(logical_not, "[false, true]", logical_not(Tensor{true, false}));
    LAZULI_EXAMPLE(isnan, "[false, true, false]", isnan(Tensor{1.0F, NAN, INFINITY}));
    LAZULI_EXAMPLE(isinf, "[false, false, true]", isinf(Tensor{1.0F, NAN, INFINITY}));
    LAZULI_EXAMPLE(isfinite, "[true, false, false]", isfinite(Tensor{1.0F, NAN, INFINITY}));
    LAZULI_EXAMPLE(fmax, "[1, 5]", fmax(Tensor{1.0, 5.0}, Tensor{NAN, 3.0F}));
    LAZULI_EXAMPLE(fmin, "[1, 3]", fmin(Tensor{1.0, 5.0}, Tensor{NAN, 3.0F}));
    LAZULI_EXAMPLE(eq, "[false, true, false]", eq(Tensor{1, 2, 3}, 2));
    LAZULI_EXAMPLE(ne, "[true, false, true]", ne(Tensor{1, 2, 3}, 2));
    LAZULI_EXAMPLE(lt, "[true, false, false]", lt(Tensor{1, 2, 3}, 2));
    LAZULI_EXAMPLE(le, "[true, true, false]", le(Tensor{1, 2, 3}, 2));
    LAZULI_EXAMPLE(gt, "[false, false, true]", gt(Tensor{1, 2, 3}, 2));
    LAZULI_EXAMPLE(ge, "[false, true, true]", ge(Tensor{1, 2, 3}, 2));
    LAZULI_EXAMPLE(select, "[1, 20, 3]",
                   select(Tensor{true, false, true}, Tensor{1, 2, 3}, Tensor{10, 20, 30}));
    LAZULI_EXAMPLE(where, "[0, 5, 0]", [] {
        const Tensor x = {-1.0, 5.0, -3.0};
        return where(x > 0, x, 0);
    });
}

void types_of_elements(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(cast, "[1, -2, 127]", cast(Tensor{1.9, -2.9, 1000.0}, i8));
    LAZULI_EXAMPLE(bitcast, "[1065353216, 0]", bitcast(Tensor{1.0, 0.0}, u32));
    LAZULI_EXAMPLE(real, "[1, 3]",
                   real(Tensor{std::complex<double>(1, 2), std::complex<double>(3, -4)}));
    LAZULI_EXAMPLE(imag, "[2, -4]",
                   imag(Tensor{std::complex<double>(1, 2), std::complex<double>(3, -4)}));
    LAZULI_EXAMPLE(conj, "[1-2j, 3+4j]",
                   conj(Tensor{std::complex<double>(1, 2), std::complex<double>(3, -4)}));
}

void operators(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(operator+, "[11, 12, 13]", Tensor{1, 2, 3} + 10);
    LAZULI_EXAMPLE(operator-, "[9, 8, 7]", 10 - Tensor{1, 2, 3});
    LAZULI_EXAMPLE(operator-, "[-1, -2, -3]", -Tensor{1, 2, 3});
    LAZULI_EXAMPLE(operator*, "[10, 40]", Tensor{1, 2} * Tensor{10, 20});
    LAZULI_EXAMPLE(operator/, "[0.5, 1]", Tensor{1, 2} / 2);
    LAZULI_EXAMPLE(operator==, "[false, true]", Tensor{1, 2} == 2);
    LAZULI_EXAMPLE(operator!=, "[true, false]", Tensor{1, 2} != 2);
    LAZULI_EXAMPLE(operator<, "[true, false]", Tensor{1, 2} < 2);
    LAZULI_EXAMPLE(operator<=, "[true, true]", Tensor{1, 2} <= 2);
    LAZULI_EXAMPLE(operator>, "[false, true]", Tensor{1, 2} > 1);
    LAZULI_EXAMPLE(operator>=, "[true, true]", Tensor{1, 2} >= 1);
    LAZULI_EXAMPLE((operator+=, operator-=, operator*=, operator/=), "[4, 9]", [] {
        Tensor x = {1.0, 2.0};
        x += 1;                 // [2, 3]
        x *= Tensor{4.0, 6.0};  // [8, 18]
        x -= 0;
        x /= 2;
        return x;
    });
}

}  // namespace

Examples elementwise() {
    Examples out;
    arithmetic(out);
    functions(out);
    bits_and_truth(out);
    types_of_elements(out);
    operators(out);
    return out;
}

}  // namespace examples
