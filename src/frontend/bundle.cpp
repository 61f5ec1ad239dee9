#include "frontend/bundle.h"

#include "frontend/record.h"
#include "ops/bundle.h"

namespace lazuli::frontend {

std::vector<Tensor> unbundle(const Tensor& bundle, std::span<const TensorSpec> results) {
    static const OpRef op("part");
    const std::vector<Dim> offsets = ops::bundle_offsets(results);
    std::vector<Tensor> out;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const Operand whole(bundle);
        Call call(op);
        call.arg(whole).arg(offsets[i].raw()).arg(results[i].shape).arg(results[i].dtype);
        out.push_back(call.done());
    }
    return out;
}

}  // namespace lazuli::frontend
