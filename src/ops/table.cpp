#include "ops/table.h"

#include "ir/op_table.h"

void lazuli_install_ops() {
    using namespace lazuli::ops;
    constexpr std::vector<lazuli::OpDef> (*kFamilies[])() = {
        leaves,                 //
        elementwise,            //
        functions,              //
        rounding,               //
        bits,                   //
        comparison,             //
        reduction,              //
        movement,               //
        contraction,            //
        convolution,            //
        einsum,                 //
        indexing,               //
        random,                 //
        composites,             //
        attention,              //
        bundles,                //
        control,                //
        differentiation,        //
        linalg_factor,          //
        linalg_spectral,        //
        linalg_solve,           //
        fourier,                //
        scan,                   //
        sorting,                //
        placing,                //
        custom,                 //
        elementwise_more,       //
        complex_parts,          //
        statistics,             //
        distributions,          //
        activations,            //
        norms,                  //
        losses,                 //
        at_positions,           //
        pooling,                //
        convolution_transpose,  //
        attention_general,      //
        rwkv7,                  //
        time_mix_v7,            //
        time_mix_v7_grad,       //
    };
    for (const auto family : kFamilies) {
        for (lazuli::OpDef& record : family()) lazuli::register_op(std::move(record));
    }
}
