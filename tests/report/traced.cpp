// What is traced to be reported: a transformer, twice, and some work on a stream.

#include "graphs/graphs.h"

int main() {
    using namespace lazuli;
    for (int i = 0; i < 2; ++i) tests::transformer(12, 1, 16, 32, 4).eval();
    const Tensor y =
        (key(1).random_uniform({64, 64}).permute({1, 0}) * 1.0 + 2.0).pad({1, 0}, {1, 0}).sum(0);
    async_eval(y);
    (void)y.to_vector<float>();
}
