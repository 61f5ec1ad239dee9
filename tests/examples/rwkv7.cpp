#include "example.h"

// The pieces of an RWKV-7 layer. A run of tokens is a line of [state, first token, tokens].

namespace examples {

Examples rwkv7() {
    using namespace lazuli;
    Examples examples;
    LAZULI_EXAMPLE(token_shift, "[[5.5], [1.5], [3]]", [] {
        const Tensor tokens = {{1.0}, {2.0}, {4.0}};
        const Tensor state = {{10.0}};
        return token_shift(tokens, state, Tensor{0.5}, Tensor{{0, 0, 3}});
    });
    LAZULI_EXAMPLE(shift_state, "[[2], [4], [30]]", [] {
        const Tensor tokens = {{1.0}, {2.0}, {4.0}};
        const Tensor states = {{10.0}, {20.0}, {30.0}};
        return shift_state(tokens, states, Tensor{{0, 0, 2}, {1, 2, 1}});
    });
    LAZULI_EXAMPLE(channel_mix_v7, "[[1], [4], [16]]", [] {
        const Tensor tokens = {{1.0}, {2.0}, {4.0}};
        const Tensor state = {{10.0}};
        const Tensor key = {{1.0}, {-1.0}};  // x and -x, of which relu keeps the first
        const Tensor value = {{1.0, 1.0}};
        return channel_mix_v7(tokens, state, Tensor{0.0}, key, value, Tensor{{0, 0, 3}});
    });
    LAZULI_EXAMPLE(control_k_v7, "[1, 4]",
                   control_k_v7(Tensor{2.0, 4.0}, Tensor{0.5, 1.0}, Tensor{1.0, 1.0}));
    LAZULI_EXAMPLE(
        pack_kvakk, "[[1, 2], [3, 4], [5, 6], [7, 8]]",
        pack_kvakk(Tensor{1.0, 2.0}, Tensor{3.0, 4.0}, Tensor{5.0, 6.0}, Tensor{7.0, 8.0}));
    LAZULI_EXAMPLE(time_first_v7, "[[[11, 110]]]", [] {
        const Tensor r = {{{1.0, 2.0}}};
        const Tensor k = {{{3.0, 4.0}}};  // r * k sums to 11
        const Tensor v = {{{1.0, 10.0}}};
        return time_first_v7(zeros({1, 1, 2}), r, k, v, ones({1, 2}));
    });
    LAZULI_EXAMPLE(time_mix_v7, "[5, 7]", [] {
        const Tensor k = {{{1.0, 0.0}}, {{0.0, 1.0}}};  // two tokens of one head
        const Tensor v = {{{5.0, 7.0}}, {{1.0, 2.0}}};
        const Tensor r = {{{0.0, 0.0}}, {{1.0, 0.0}}};  // the second asks for the first one's key
        const Tensor nothing = zeros({2, 1, 2});
        const Tensor kvakk = pack_kvakk(k, v, nothing, nothing);
        const Tensor decay = ones({2, 1, 2});
        const Tensor state = zeros({1, 1, 2, 2});
        const TimeMix mixed = time_mix_v7(r, decay, kvakk, state, Tensor{{0, 0, 2}});
        return mixed.output(1, 0);
    });
    return examples;
}

}  // namespace examples
