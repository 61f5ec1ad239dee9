#include "ops/table.h"

#include "ir/op_table.h"

void lazuli_install_ops() {
    using namespace lazuli::ops;
    for (const auto family : {leaves, elementwise, functions, rounding, bits, comparison, reduction,
                              movement, contraction, convolution, indexing, random, composites,
                              attention, bundles, scan, sorting, placing, custom}) {
        for (lazuli::OpDef& record : family()) lazuli::register_op(std::move(record));
    }
}
