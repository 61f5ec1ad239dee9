#include "ops/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lazuli/error.h"
#include "lazuli/program.h"
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

namespace {

/// The bytes that one result takes in a bundle.
Dim room_of(const TensorSpec& spec) {
    const Dim bytes = spec.shape.count() * static_cast<std::int64_t>(size_of(spec.dtype));
    return (bytes + (kBundleAlign - 1)) / kBundleAlign * kBundleAlign;
}

}  // namespace

std::vector<Dim> bundle_offsets(std::span<const TensorSpec> results) {
    std::vector<Dim> out;
    Dim bytes = 0;
    for (const TensorSpec& spec : results) {
        out.push_back(bytes);
        bytes = bytes + room_of(spec);
    }
    return out;
}

TensorSpec bundle_spec(std::span<const TensorSpec> results) {
    if (std::ranges::all_of(results,
                            [](const TensorSpec& spec) { return spec.shape.is_concrete(); }))
        return {DType::u8, Shape{bundle_layout(results).bytes}};
    Dim bytes = 0;
    for (const TensorSpec& spec : results) bytes = bytes + room_of(spec);
    return {DType::u8, Shape{bytes}};
}

namespace {

std::vector<TensorSpec> results_of(const EvalArgs& args) {
    std::vector<const TensorSpec*> inputs;
    for (const HostArray& input : args.inputs) inputs.push_back(input.spec);
    return args.op.results({args.op, inputs, args.attrs});
}

}  // namespace

BundleLayout bundle_layout(const EvalArgs& args) { return bundle_layout(results_of(args)); }

void clear_gaps(const EvalArgs& args) {
    if (args.op.results == nullptr) return;
    const std::vector<TensorSpec> results = results_of(args);
    const BundleLayout layout = bundle_layout(results);
    for (std::size_t i = 0; i < results.size(); ++i) {
        const std::int64_t from = layout.offsets[i] + results[i].nbytes();
        const std::int64_t to = i + 1 < results.size() ? layout.offsets[i + 1] : layout.bytes;
        std::fill_n(args.result<char>() + from, to - from, char{0});
    }
}

namespace {

TensorSpec infer_part(const InferArgs& args) {
    const Dim offset = args.attrs.size(0);
    const TensorSpec& bundle = *args.inputs[0];
    if (at_least(offset, 0) != Truth::yes) {
        throw ArgumentError(
            fmt::format("part: the offset {} must be at least 0 ({} of the bundle "
                        "{})",
                        offset.str(), args.wanted->str(), bundle.str()));
    }
    const bool numbers =
        bundle.shape.is_concrete() && args.wanted->shape.is_concrete() && offset.is_concrete();
    // Of expressions the whole room is looked for: it stands in the bundle's size as it is.
    if (bundle.shape.rank() != 1 ||
        (numbers ? args.wanted->nbytes() > bundle.shape[0] - offset.value()
                 : at_least(bundle.shape.dim(0) - offset, room_of(*args.wanted)) != Truth::yes)) {
        throw ShapeError(fmt::format("part: no {} at byte {} of the bundle {}", args.wanted->str(),
                                     offset.str(), bundle.str()),
                         args.wanted->str(), bundle.str());
    }
    if (equal(offset % kBundleAlign, 0) != Truth::yes) {
        throw ArgumentError(
            fmt::format("part: the offset {} must be a multiple of {} ({} of the bundle {})",
                        offset.str(), kBundleAlign, args.wanted->str(), bundle.str()));
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

std::vector<TensorSpec> bundle_results(const InferArgs& args) {
    std::vector<TensorSpec> out;
    for (const TensorSpec* input : args.inputs) out.push_back(*input);
    return out;
}
TensorSpec infer_bundle(const InferArgs& args) { return bundle_spec(bundle_results(args)); }

void evaluate_bundle(const EvalArgs& args) {
    const BundleLayout layout = bundle_layout(args);
    for (std::size_t i = 0; i < args.inputs.size(); ++i) {
        const auto bytes = static_cast<std::size_t>(args.inputs[i].spec->nbytes());
        if (bytes > 0) std::memcpy(bundle_part<char>(args, layout, i), args.inputs[i].data, bytes);
    }
}

std::vector<Value> bundle_gradient(const GradientArgs& g) {
    return {g.cotangents.begin(), g.cotangents.end()};
}

}  // namespace

std::vector<OpDef> bundles() {
    return {
        {
            .name = "bundle",
            .doc = "Several values as the bytes in which an op with many results keeps them.",
            .edge = "Bytes are taken as they are.",
            .min_inputs = 0,
            .max_inputs = -1,
            .infer = infer_bundle,
            .results = bundle_results,
            .evaluate = evaluate_bundle,
            .gradient = bundle_gradient,
            .cases = {{{{2, 3}, {4}}, {}}, {{{}, {0, 2}, {3}}, {}}},
        },
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
