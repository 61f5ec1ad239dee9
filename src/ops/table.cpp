#include "ops/table.h"

#include "ir/op_table.h"

void lazuli_install_ops() {
    using namespace lazuli::ops;
    for (const auto family : {leaves,
                              elementwise,
                              functions,
                              rounding,
                              bits,
                              comparison,
                              reduction,
                              movement,
                              contraction,
                              convolution,
                              indexing,
                              random,
                              composites,
                              attention,
                              bundles,
                              custom,
                              activations,
                              norms,
                              losses,
                              at_positions,
                              pooling,
                              convolution_transpose,
                              attention_general,
                              rwkv7,
                              time_mix_v7}) {
        for (lazuli::OpDef& record : family()) lazuli::register_op(std::move(record));
    }
}
