#include "runtime/values.h"

#include <array>
#include <cstring>
#include <optional>

#include "ir/layout.h"
#include "ir/op_table.h"
#include "ir/placement.h"
#include "runtime/memory.h"

namespace lazuli::runtime {

using ir::Node;

void read_dense(const Binding& binding, const TensorSpec& spec, void* out) {
    const auto bytes = static_cast<std::size_t>(spec.nbytes());
    if (bytes == 0) return;
    const Reading reading(*binding.buffer);
    const auto* host = static_cast<const unsigned char*>(reading.data());
    if (host == nullptr) {  // only dense buffers live where the host cannot see them
        backend_of(binding.buffer->device()).copy_out(out, *binding.buffer, bytes);
        return;
    }
    host += binding.offset;
    if (binding.dense) {
        std::memcpy(out, host, bytes);
        return;
    }
    ir::copy_dense(host, binding.strides, spec, out);
}

namespace {

/// The elements that a view picks out of its base, dense at `out` in the host's memory.
void read_view(const Node& view, void* out) {
    const Node& base = *view.inputs_inline[0];
    const Placement placement = ir::placement_of(view.words(), view.spec.shape);
    // Views of views are there where their padding differs; a number has no buffer.
    const Binding* from = base.is_view() || is_number(base) ? nullptr : &base.value->binding;
    const unsigned char* host = nullptr;
    std::optional<Reading> reading;
    if (from != nullptr && from->dense) {
        const void* data = reading.emplace(*from->buffer).data();
        if (data != nullptr) host = static_cast<const unsigned char*>(data) + from->offset;
    }
    std::vector<unsigned char> copy;
    if (host == nullptr) {
        copy.resize(static_cast<std::size_t>(base.spec.nbytes()));
        download(base, copy.data());
        host = copy.data();
    }
    const View& top = placement.tracker.top();
    if (placement.tracker.size() == 1 && top.mask.empty()) {
        const auto element = static_cast<std::int64_t>(size_of(view.spec.dtype));
        Ints strides;
        for (const Dim stride : top.strides) strides.push_back(stride.value() * element);
        ir::copy_dense(host + top.offset.value() * element, strides, view.spec, out);
        return;
    }
    op_def(view.op).evaluate(
        {op_def(view.op), view.attrs(), std::array{HostArray{host, &base.spec}}, &view.spec, out});
}

}  // namespace

BufferPtr upload(Device device, const void* data, std::size_t bytes) {
    Backend& backend = backend_of(device);
    BufferPtr buffer = backend.allocate(bytes);
    if (bytes > 0) backend.copy_in(*buffer, data, bytes);
    note_growth();
    return buffer;
}

BufferPtr copied(const Binding& binding, const TensorSpec& spec, Device device) {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(spec.nbytes()));
    read_dense(binding, spec, bytes.data());
    return upload(device, bytes.data(), bytes.size());
}

bool is_number(const Node& node) {
    return has(op_def(node.op).traits, Trait::leaf) && node.word_count > 0;
}

namespace {

/// A view of values that are there: as it lies, where strides say that, or a copy of it.
Binding bind_view(const Node& view, Device device) {
    const Node& base = *view.inputs_inline[0];
    const Placement placement = ir::placement_of(view.words(), view.spec.shape);
    const View& top = placement.tracker.top();
    const bool is_strided = !base.is_view() && !is_number(base) && base.value->binding.dense &&
                            base.value->binding.buffer->device() == device &&
                            placement.tracker.size() == 1 && top.mask.empty();
    if (is_strided) {
        const auto element = static_cast<std::int64_t>(size_of(view.spec.dtype));
        Binding out = base.value->binding;
        out.offset += top.offset.value() * element;
        out.strides = Ints();
        for (const Dim stride : top.strides) out.strides.push_back(stride.value() * element);
        out.dense = top.is_contiguous();
        return out;
    }
    std::vector<unsigned char> bytes(static_cast<std::size_t>(view.spec.nbytes()));
    download(view, bytes.data());
    return {upload(device, bytes.data(), bytes.size()), 0, ir::dense_byte_strides(view.spec), true};
}

}  // namespace

Binding bind(const Node& node, Device device) {
    if (is_number(node)) {
        alignas(16) unsigned char element[16];
        store_scalar(node.attrs().scalar(0), node.spec.dtype, element);
        return {upload(device, element, size_of(node.spec.dtype)), 0, {}, true};
    }
    if (node.is_view()) return bind_view(node, device);
    const Binding& binding = node.value->binding;
    if (binding.buffer->device() == device) return binding;
    return {copied(binding, node.spec, device), 0, ir::dense_byte_strides(node.spec), true};
}

void download(const Node& node, void* out) {
    if (node.is_view()) return read_view(node, out);
    if (is_number(node)) return store_scalar(node.attrs().scalar(0), node.spec.dtype, out);
    read_dense(node.value->binding, node.spec, out);
}

}  // namespace lazuli::runtime
