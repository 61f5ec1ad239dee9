#include "backend/cpu/dnn.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/dnn_library.h"
#include "base/hash.h"
#include "lazuli/backend.h"
#include "runtime/pool.h"

namespace lazuli::cpu {

namespace {

// Channels of the result that one part makes, at least: enough work to be worth a layout of its
// own.
constexpr std::int64_t kChannels = 32;
constexpr std::int64_t kParts = 4;

}  // namespace

/// Parts are pieces of the channels made, of one image each; all images have the same parts.
struct DnnConvolution::Impl {
    struct Part {
        void* convolution = nullptr;
        LazuliDnnNeeds needs{};
        std::int64_t first = 0;  // channel made, over all groups
    };
    std::vector<Part> parts;
    std::int64_t operand_size = 4;  // of an element
    std::int64_t result_size = 4;
    std::int64_t images = 0;
    std::int64_t image_step = 0;    // elements from one to the next
    std::int64_t result_step = 0;   // the same of results
    std::int64_t weight_step = 0;   // from one channel made to the next
    std::int64_t places = 0;        // of one channel
    std::size_t image_bytes = 0;    // as the library wants it; the same for all parts
    std::size_t weights_bytes = 0;  // of all parts
    std::size_t part_bytes = 0;     // of results and scratch of a part
    std::uint64_t form = 0;         // what decides how weights are laid out

    ~Impl() {
        for (const Part& part : parts) dnn_library()->drop(part.convolution);
    }
};

DnnConvolution::~DnnConvolution() = default;

std::unique_ptr<DnnConvolution> DnnConvolution::make(const plan::Contraction& contraction,
                                                     DType dtype) {
    // Of bf16 our own kernel is the faster one (docs/decisions/0009).
    if (!contraction.windows || dtype == DType::bf16 || dnn_library() == nullptr) return nullptr;
    const auto types =
        dnn_types(contraction.right, contraction.left, dtype, contraction.depth.size);
    if (!types) return nullptr;
    const plan::Windows& w = *contraction.windows;
    const std::int64_t groups = contraction.batch[1].size;
    const std::int64_t made = contraction.rows.size;  // of a group
    const std::int64_t taps = w.window[0] * w.window[1] * w.window[2];
    const std::int64_t channels = contraction.depth.size / taps;
    // Weights must lie as rows of channels and taps.
    if (contraction.depth.left != 1 && contraction.depth.size > 1) return nullptr;
    std::unique_ptr<DnnConvolution> out(new DnnConvolution);
    out->impl_ = std::make_unique<Impl>();
    Impl& impl = *out->impl_;
    impl.operand_size = static_cast<std::int64_t>(size_of(contraction.right.dtype));
    impl.result_size = static_cast<std::int64_t>(size_of(dtype));
    impl.images = contraction.batch[0].size;
    impl.image_step = contraction.batch[0].right;
    impl.places = contraction.columns.size;
    impl.result_step = groups * made * impl.places;
    impl.weight_step = contraction.rows.left;
    // Dimensions that are there: three where the first has some extent, else two.
    const int from = w.sizes[0] > 1 || w.window[0] > 1 || w.places[0] > 1 ? 0 : 1;
    const int dims = plan::Windows::kDims - from;
    const auto fill = [&](LazuliDnnArray& array, std::initializer_list<std::int64_t> sizes,
                          std::initializer_list<std::int64_t> strides,
                          const std::int64_t* inner_sizes, const std::int64_t* inner_strides) {
        array.rank = static_cast<int>(sizes.size()) + dims;
        std::copy(sizes.begin(), sizes.end(), array.sizes);
        std::copy(strides.begin(), strides.end(), array.strides);
        std::copy_n(inner_sizes + from, dims, array.sizes + sizes.size());
        std::copy_n(inner_strides + from, dims, array.strides + sizes.size());
    };
    const std::int64_t tap_strides[] = {w.window[1] * w.window[2], w.window[2], 1};
    const std::int64_t place_strides[] = {w.places[1] * w.places[2], w.places[2], 1};
    // Groups stay together; else channels are cut so that there are a few parts in all.
    std::int64_t piece = made;
    if (groups == 1) {
        const std::int64_t wanted =
            std::clamp<std::int64_t>(kParts / std::max<std::int64_t>(impl.images, 1), 1, kParts);
        piece = std::max(kChannels, (made / wanted + 15) / 16 * 16);
    }
    for (std::int64_t first = 0; first < made; first += piece) {
        const std::int64_t here = std::min(piece, made - first);
        LazuliDnnConvolution c{};
        c.dims = dims;
        c.grouped = groups > 1 ? 1 : 0;
        c.x.type = types->left;
        c.w.type = types->right;
        c.y.type = types->result;
        fill(c.x, {1, groups * channels}, {impl.image_step, w.channel_stride}, w.sizes, w.strides);
        if (groups > 1) {
            fill(c.w, {groups, made, channels}, {made * impl.weight_step, impl.weight_step, taps},
                 w.window, tap_strides);
        } else {
            fill(c.w, {here, channels}, {impl.weight_step, taps}, w.window, tap_strides);
        }
        fill(c.y, {1, groups * here}, {impl.result_step, impl.places}, w.places, place_strides);
        for (int d = 0; d < dims; ++d) {
            const int at = from + d;
            c.strides[d] = w.steps[at];
            c.dilation[d] = w.dilation[at];
            c.before[d] = w.before[at];
            // What the library asks for: padding behind that makes the places come out.
            c.after[d] = (w.places[at] - 1) * w.steps[at] + (w.window[at] - 1) * w.dilation[at] +
                         1 - w.sizes[at] - w.before[at];
        }
        Impl::Part part;
        part.first = first;
        part.convolution = dnn_library()->convolution(&c, &part.needs);
        std::uint64_t words[sizeof c / sizeof(std::uint64_t)];
        static_assert(std::has_unique_object_representations_v<LazuliDnnConvolution>);
        std::memcpy(words, &c, sizeof c);
        for (const std::uint64_t word : words) impl.form = hash_mix(impl.form, word);
        if (part.convolution == nullptr) return nullptr;
        impl.parts.push_back(part);
        // Parts that want the image differently would each lay it out.
        if (dnn_library()->same_image(part.convolution, impl.parts[0].convolution) == 0)
            return nullptr;
        impl.image_bytes = part.needs.image_bytes;
        impl.weights_bytes += (part.needs.weight_bytes + 63) / 64 * 64;
        impl.part_bytes = std::max(impl.part_bytes, (part.needs.result_bytes + 63) / 64 * 64 +
                                                        (part.needs.scratch_bytes + 63) / 64 * 64);
    }
    return out;
}

void DnnConvolution::run(const void* image, const void* weights, Buffer* frozen,
                         void* result) const {
    const Impl& impl = *impl_;
    const auto count = static_cast<std::int64_t>(impl.parts.size());
    const auto room = [](std::size_t bytes) {
        return allocate_host(Device(), std::max<std::size_t>(bytes, 64));
    };
    const std::size_t image_room = (impl.image_bytes + 63) / 64 * 64;
    const BufferPtr images = room(image_room * static_cast<std::size_t>(impl.images));
    const bool keeps = frozen != nullptr && impl.weights_bytes > 0;
    const std::uint64_t key =
        keeps ? hash_mix(impl.form, reinterpret_cast<std::uintptr_t>(weights) -
                                        reinterpret_cast<std::uintptr_t>(frozen->host_data()))
              : 0;
    BufferPtr laid_out = keeps ? frozen->kept(key) : nullptr;
    const bool is_laid_out = laid_out != nullptr;
    if (!is_laid_out) laid_out = room(impl.weights_bytes);
    struct Call {
        const Impl& impl;
        bool is_laid_out;
        std::vector<LazuliDnnMemory> memory;  // a part of an image each
    } call{impl, is_laid_out, {}};
    for (std::int64_t i = 0; i < impl.images; ++i) {
        std::size_t at = 0;
        for (const Impl::Part& part : impl.parts) {
            LazuliDnnMemory m{};
            m.x = static_cast<const char*>(image) + i * impl.image_step * impl.operand_size;
            m.w = static_cast<const char*>(weights) +
                  part.first * impl.weight_step * impl.operand_size;
            m.y = static_cast<char*>(result) +
                  (i * impl.result_step + part.first * impl.places) * impl.result_size;
            m.image = static_cast<char*>(images->host_mutable()) +
                      static_cast<std::size_t>(i) * image_room;
            m.weights = static_cast<char*>(laid_out->host_mutable()) + at;
            at += (part.needs.weight_bytes + 63) / 64 * 64;
            call.memory.push_back(m);
        }
    }
    // First what all parts of an image and all images of a part share.
    runtime::share_out(
        impl.images + count, 1,
        [](void* data, std::int64_t begin, std::int64_t end) {
            const Call& c = *static_cast<Call*>(data);
            const std::size_t parts = c.impl.parts.size();
            for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
                if (i < parts) {
                    if (c.is_laid_out) continue;
                    dnn_library()->lay_out_weights(c.impl.parts[i].convolution, &c.memory[i]);
                } else {
                    dnn_library()->lay_out_image(c.impl.parts[0].convolution,
                                                 &c.memory[(i - parts) * parts]);
                }
            }
        },
        &call);
    if (keeps && !is_laid_out) frozen->keep(key, laid_out);
    runtime::share_out(
        impl.images * count, 1,
        [](void* data, std::int64_t begin, std::int64_t end) {
            const Call& c = *static_cast<Call*>(data);
            const BufferPtr own =
                allocate_host(Device(), std::max<std::size_t>(c.impl.part_bytes, 64));
            for (std::int64_t i = begin; i < end; ++i) {
                const auto at = static_cast<std::size_t>(i);
                const Impl::Part& part = c.impl.parts[at % c.impl.parts.size()];
                LazuliDnnMemory m = c.memory[at];
                m.result = own->host_mutable();
                m.scratch = static_cast<char*>(own->host_mutable()) +
                            (part.needs.result_bytes + 63) / 64 * 64;
                dnn_library()->convolve(part.convolution, &m);
            }
        },
        &call);
}

}  // namespace lazuli::cpu
