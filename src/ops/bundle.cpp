#include "ops/bundle.h"

#include <fmt/format.h>

#include <cstring>

#include "lazuli/error.h"
#include "ops/table.h"

namespace lazuli::ops {

BundleLayout bundle_layout(std::span<const TensorSpec> results) {
    BundleLayout out;
    for (const TensorSpec& spec : results) {
        out.offsets.push_back(out.bytes);
        const std::int64_t blocks =
            spec.nbytes() / kBundleAlign + (spec.nbytes() % kBundleAlign != 0);
        std::int64_t room = 0;
        if (__builtin_mul_overflow(blocks, kBundleAlign, &room) ||
            __builtin_add_overflow(out.bytes, room, &out.bytes)) {
            throw ShapeError(fmt::format("results of more than 2^63 bytes: {}", spec.str()),
                             "fewer bytes", spec.shape.str());
        }
    }
    return out;
}

TensorSpec bundle_spec(std::span<const TensorSpec> results) {
    return {DType::u8, Shape{bundle_layout(results).bytes}};
}

BundleLayout bundle_layout(const EvalArgs& args) {
    std::vector<const TensorSpec*> inputs;
    for (const HostArray& input : args.inputs) inputs.push_back(input.spec);
    return bundle_layout(args.op.results({args.op, inputs, args.attrs}));
}

namespace {

TensorSpec infer_part(const InferArgs& args) {
    const std::int64_t offset = args.attrs.integer(0);
    const TensorSpec& bundle = *args.inputs[0];
    if (offset < 0 || offset % kBundleAlign != 0 || bundle.dtype != DType::u8 ||
        bundle.shape.rank() != 1 || args.wanted->nbytes() > bundle.shape[0] - offset) {
        throw ShapeError(fmt::format("part: no {} at byte {} of the bundle {}", args.wanted->str(),
                                     offset, bundle.str()),
                         args.wanted->str(), bundle.str());
    }
    return *args.wanted;
}

void evaluate_part(const EvalArgs& args) {
    const auto bytes = static_cast<std::size_t>(args.spec->nbytes());
    const char* from = args.inputs[0].as<char>() + args.attrs.integer(0);
    if (args.spec->dtype == DType::boolean) {
        for (std::size_t i = 0; i < bytes; ++i) args.result<bool>()[i] = from[i] != 0;
    } else if (bytes > 0) {
        std::memcpy(args.out, from, bytes);
    }
}

}  // namespace

std::vector<OpDef> bundles() {
    return {
        {
            .name = "part",
            .doc = "One of several results, out of the bytes in which an op with many keeps them.",
            .edge = "Bytes are taken as they are; as truth values, all but 0 hold.",
            .traits = Trait::shaped,
            .dtypes = {DType::u8},
            .attrs = {{"offset", AttrKind::integer}},
            .infer = infer_part,
            .evaluate = evaluate_part,
            .cases = {{{{512}}, {std::int64_t{64}}, Shape{2, 3}},
                      {{{64}}, {std::int64_t{0}}, Shape{0}}},
        },
    };
}

}  // namespace lazuli::ops
