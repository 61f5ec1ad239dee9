#include <cmath>

#include "example.h"

// Random numbers: shares, bounds and sameness, which a reader can check where the numbers are not.

namespace examples {

Examples random_numbers() {
    using namespace lazuli;
    Examples examples;
    LAZULI_EXAMPLE(key, "true", all(rand(key(7), {100}) == rand(key(7), {100})));
    LAZULI_EXAMPLE(key, "false", any(rand(key(7), {100}) == rand(key(8), {100})));
    LAZULI_EXAMPLE(manual_seed, "true", [] {
        manual_seed(7);
        const Tensor first = rand({100});
        manual_seed(7);
        return all(rand({100}) == first);
    });
    LAZULI_EXAMPLE(SeedScope, "true", [] {
        const auto draw = [] {
            const SeedScope seed(7);  // for what this thread draws, as long as it lives
            return rand({100});
        };
        return all(draw() == draw());
    });
    LAZULI_EXAMPLE(next_key, "false", all(rand(next_key(), {100}) == rand(next_key(), {100})));
    LAZULI_EXAMPLE(rand, "true, true, 0.5", [] {
        const Tensor x = rand(key(7), {100000});
        return std::tuple(min(x) >= 0, max(x) < 1, round(mean(x) * 100) / 100);
    });
    LAZULI_EXAMPLE(randn, "true, 1", [] {
        const Tensor x = randn(key(7), {100000});
        return std::pair(abs(mean(x)) < 0.01, round(x.std() * 100) / 100);
    });
    LAZULI_EXAMPLE(randint, "[1, 2, 3, 4, 5, 6]", [] {
        const Tensor dice = randint(key(7), 1, 7, {1000});
        return unique(dice).values;
    });
    LAZULI_EXAMPLE(random_bits, "0.5", [] {
        const Tensor bits = random_bits(key(7), {100000}, u8);
        return round(mean(bitwise_and(bits, 1)) * 100) / 100;  // the share of odd ones
    });
    LAZULI_EXAMPLE(random_uniform, "0.25", [] {
        const Tensor x = random_uniform(key(7), {100000});
        return round(mean((x < 0.25).cast(f32)) * 100) / 100;
    });
    LAZULI_EXAMPLE(random_normal, "0.68", [] {
        const Tensor x = random_normal(key(7), {100000});
        return round(mean((abs(x) < 1).cast(f32)) * 100) / 100;  // within one deviation
    });
    LAZULI_EXAMPLE(random_bernoulli, "0.25", [] {
        const Tensor x = random_bernoulli(key(7), 0.25, {100000});
        return round(mean(x.cast(f32)) * 100) / 100;
    });
    LAZULI_EXAMPLE(random_gumbel, "0.37", [] {
        const Tensor x = random_gumbel(key(7), {100000});
        return round(mean((x < 0).cast(f32)) * 100) / 100;  // 1 / e of them are negative
    });
    LAZULI_EXAMPLE(random_categorical, "0.75", [] {
        const Tensor logits = Tensor({0.0, std::log(3.0)}).broadcast_to({100000, 2});
        const Tensor drawn = random_categorical(key(7), logits);
        return round(mean(drawn) * 100) / 100;  // the share of position 1
    });
    LAZULI_EXAMPLE(random_permutation, "[0, 1, 2, 3, 4]", sort(random_permutation(key(7), 5)));
    LAZULI_EXAMPLE(dropout, "[0, 2], 0.5", [] {
        const Tensor x = dropout(ones({100000}), 0.5, key(7));
        return std::pair(unique(x).values, round(mean((x == 0).cast(f32)) * 100) / 100);
    });
    return examples;
}

}  // namespace examples
