#include <cmath>

#include "example.h"

// What networks are made of.

namespace examples {

namespace {

void activations(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(relu, "[0, 0, 2]", relu(Tensor{-1.0, 0.0, 2.0}));
    LAZULI_EXAMPLE(gelu, "[0, 0.84134, 10]", gelu(Tensor{0.0, 1.0, 10.0}));
    LAZULI_EXAMPLE(silu, "[0, 0.73106, 100]", silu(Tensor{0.0, 1.0, 100.0}));
    LAZULI_EXAMPLE(softplus, "[0.69315, 100]", softplus(Tensor{0.0, 100.0}));
    LAZULI_EXAMPLE(mish, "[0, 0.8651, 100]", mish(Tensor{0.0, 1.0, 100.0}));
    LAZULI_EXAMPLE(elu, "[-1, 0, 2]", elu(Tensor{-100.0, 0.0, 2.0}));
    LAZULI_EXAMPLE(leaky_relu, "[-1, 5]", leaky_relu(Tensor{-10.0, 5.0}, 0.1));
    LAZULI_EXAMPLE(squared_relu, "[0, 9]", squared_relu(Tensor{-2.0, 3.0}));
    LAZULI_EXAMPLE(glu, "[3, 8]", glu(Tensor{6.0, 8.0, 0.0, 100.0}));
    LAZULI_EXAMPLE(swiglu, "[0, 200]", swiglu(Tensor{0.0, 100.0}, Tensor{5.0, 2.0}));
    LAZULI_EXAMPLE(
        add_activate, "[3, 2]",
        add_activate(Tensor{-1.0, 2.0}, Tensor{3.0, -5.0}, Activation::relu, Activation::relu));
    LAZULI_EXAMPLE(softmax, "[0.125, 0.25, 0.625]",
                   softmax(Tensor{std::log(1.0), std::log(2.0), std::log(5.0)}));
    LAZULI_EXAMPLE(log_softmax, "[0.25, 0.75]", exp(log_softmax(Tensor{0.0, std::log(3.0)})));
}

void norms(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(
        layer_norm, "[[90, 110], [90, 110]]",
        layer_norm(Tensor{{1.0, 3.0}, {10.0, 30.0}}, Tensor{10.0, 10.0}, Tensor{100.0, 100.0}, 0));
    LAZULI_EXAMPLE(rms_norm, "[2, 14]", rms_norm(Tensor{1.0, 7.0}, Tensor{10.0, 10.0}, 0));
    LAZULI_EXAMPLE(l2_norm, "[[0.6, 0.8], [0, 1]]", l2_norm(Tensor{{3.0, 4.0}, {0.0, 7.0}}));
    LAZULI_EXAMPLE(group_norm, "[-1, 1, -1, 1]", [] {
        const Tensor image = Tensor({1.0, 3.0, 10.0, 30.0}).reshape({1, 4, 1});
        return group_norm(image, ones({4}), zeros({4}), 2, 0).flatten();
    });
    LAZULI_EXAMPLE(batch_norm, "[[[0, 1], [0, 1]]]",
                   batch_norm(Tensor{{{1.0, 2.0}, {10.0, 20.0}}}, Tensor{1.0, 10.0},
                              Tensor{1.0, 100.0}, ones({2}), zeros({2}), 0));
}

void products(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(matmul, "[[7, 10], [15, 22]]",
                   matmul(Tensor{{1.0, 2.0}, {3.0, 4.0}}, Tensor{{1.0, 2.0}, {3.0, 4.0}}));
    LAZULI_EXAMPLE(
        einsum, "[[7, 10], [15, 22]]",
        einsum("ij,jk->ik", {Tensor{{1.0, 2.0}, {3.0, 4.0}}, Tensor{{1.0, 2.0}, {3.0, 4.0}}}));
    LAZULI_EXAMPLE(einsum, "[1, 4]", einsum("ii->i", {Tensor{{1.0, 2.0}, {3.0, 4.0}}}));
    LAZULI_EXAMPLE(matmul, "[0, 7]",
                   matmul(Tensor{{1.0, -2.0}, {3.0, 2.0}}, Tensor{1.0, 2.0}, Activation::relu));
    LAZULI_EXAMPLE(
        matmul_bias, "[[13, 24]]",
        matmul_bias(Tensor{{1.0, 2.0}}, Tensor{{1.0, 2.0}, {1.0, 1.0}}, Tensor{10.0, 20.0}));
    LAZULI_EXAMPLE(lora, "[[16, 32]]", [] {
        const Tensor x = {{1.0, 2.0}};
        const Tensor down = {{1.0}, {1.0}};  // x @ down is 3
        const Tensor up = {{10.0, 20.0}};
        return lora(x, eye(2), down, up, 0.5);
    });
    LAZULI_EXAMPLE(dot_general, "[5, 25]", [] {
        const Tensor rows = {{1.0, 2.0}, {3.0, 4.0}};
        return dot_general(rows, rows, 1, 1, 0, 0);
    });
}

void windows(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(convolution, "[[[6, 9, 12]]]",
                   convolution(Tensor{{{1.0, 2.0, 3.0, 4.0, 5.0}}}, ones({1, 1, 3})));
    LAZULI_EXAMPLE(convolution, "[[[3, 9, 9]]]",
                   convolution(Tensor{{{1.0, 2.0, 3.0, 4.0, 5.0}}}, ones({1, 1, 3}), {2}, {1}));
    LAZULI_EXAMPLE(convolution_transpose, "[[[1, 2, 10, 20]]]",
                   convolution_transpose(Tensor{{{1.0, 10.0}}}, Tensor{{{1.0, 2.0}}}, {2}));
    LAZULI_EXAMPLE(max_pool, "[[[5, 8]]]", max_pool(Tensor{{{1.0, 5.0, 2.0, 8.0}}}, {2}));
    LAZULI_EXAMPLE(avg_pool, "[[[3, 5]]]", avg_pool(Tensor{{{1.0, 5.0, 2.0, 8.0}}}, {2}));
    LAZULI_EXAMPLE(interpolate, "[[[1, 1, 2, 2]]]", interpolate(Tensor{{{1.0, 2.0}}}, {4}));
    LAZULI_EXAMPLE(interpolate, "[[[1, 1.25, 1.75, 2]]]",
                   interpolate(Tensor{{{1.0, 2.0}}}, {4}, true));
}

void tokens(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(rope, "[[1, 0], [0.5, 0.86603]]",
                   rope(Tensor{{1.0, 0.0}, {1.0, 0.0}}, Tensor{0.0, M_PI / 3}));
    LAZULI_EXAMPLE(attention, "[[1, 2]]", [] {
        const Tensor query = {{100.0, 0.0}};  // like the first key
        const Tensor keys = {{1.0, 0.0}, {0.0, 1.0}};
        const Tensor values = {{1.0, 2.0}, {3.0, 4.0}};
        return attention(query, keys, values);
    });
    LAZULI_EXAMPLE(attention, "[[2], [3], [4]]", [] {
        const Tensor same = zeros({3, 1});  // sees all keys alike, up to its own place
        const Tensor values = {{2.0}, {4.0}, {6.0}};
        return attention(same, same, values, {}, 0, true);
    });
    LAZULI_EXAMPLE(attention_general, "[[[2], [3], [5]], [[2], [3], [5]]]", [] {
        const Tensor queries = zeros({2, 3, 1});  // two heads share one head of keys
        const Tensor keys = zeros({1, 3, 1});
        const Tensor values = {{{2.0}, {4.0}, {6.0}}};
        return attention_general(queries, keys, values, {}, {}, 0, true, 2);
    });
    LAZULI_EXAMPLE(cross_entropy, "0.75", [] {
        const Tensor logits = {{0.0, std::log(3.0)}, {std::log(3.0), 0.0}};
        const Tensor targets = {1, 0};
        return exp(-cross_entropy(logits, targets));
    });
}

}  // namespace

Examples networks() {
    Examples out;
    products(out);
    activations(out);
    norms(out);
    windows(out);
    tokens(out);
    return out;
}

}  // namespace examples
