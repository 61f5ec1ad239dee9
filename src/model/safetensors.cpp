#include "lazuli/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <unordered_map>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "frontend/record.h"
#include "lazuli/error.h"
#include "lazuli/ops.h"
#include "model/safetensors_header.h"
#include "runtime/values.h"

namespace lazuli {

static_assert(std::endian::native == std::endian::little, "as the numbers in the files are");

struct SafetensorsFile::State {
    explicit State(const std::string& path)
        : file(std::make_shared<MappedFile>(path)),
          header(model::read_header(path, file->bytes())) {
        for (std::size_t i = 0; i < header.entries.size(); ++i) {
            names.push_back(header.entries[i].name);
            places.emplace(header.entries[i].name, i);
        }
    }
    const model::SafetensorsEntry& entry(std::string_view name) const {
        const auto it = places.find(name);
        if (it == places.end())
            throw ArgumentError(
                fmt::format("{}: there is no tensor named '{}'", file->path(), name));
        return header.entries[it->second];
    }

    std::shared_ptr<const MappedFile> file;
    model::SafetensorsHeader header;
    std::vector<std::string> names;
    std::unordered_map<std::string_view, std::size_t> places;  // by names of the header
};

SafetensorsFile SafetensorsFile::open(const std::string& path) {
    return SafetensorsFile(std::make_shared<const State>(path));
}

const std::string& SafetensorsFile::path() const { return state_->file->path(); }
const std::vector<std::string>& SafetensorsFile::names() const { return state_->names; }
bool SafetensorsFile::contains(std::string_view name) const {
    return state_->places.contains(name);
}
const TensorSpec& SafetensorsFile::spec(std::string_view name) const {
    return state_->entry(name).spec;
}
const std::map<std::string, std::string>& SafetensorsFile::metadata() const {
    return state_->header.metadata;
}

Tensor SafetensorsFile::tensor(std::string_view name) const {
    const auto& [_, spec, begin, end] = state_->entry(name);
    const std::byte* data = state_->file->bytes().data() + begin;
    const auto over_file = [&](DType dtype) {
        return lift(data, dtype, spec.shape, {}, [file = state_->file] {});
    };
    if (spec.dtype == DType::boolean && begin != end) return over_file(u8) != 0;
    if (begin % size_of(spec.dtype) != 0) return frontend::make_data(spec, data);
    return over_file(spec.dtype);
}

NamedTensors SafetensorsFile::tensors() const {
    NamedTensors out;
    for (const std::string& name : names()) out.emplace_back(name, tensor(name));
    return out;
}

namespace {

/// Writes the elements of an evaluated tensor from where they lie, if they lie row-major there.
void write_elements(AtomicFile& file, const Tensor& tensor) {
    const auto bytes = static_cast<std::size_t>(tensor.spec().nbytes());
    if (bytes == 0) return;
    const ir::Node& node = *frontend::node_of(tensor);
    if (!node.is_view() && !runtime::is_number(node) && node.value->binding.dense) {
        const Binding& binding = node.value->binding;
        const Reading reading(*binding.buffer);
        if (const void* data = reading.data(); data != nullptr) {
            file.write(static_cast<const std::byte*>(data) + binding.offset, bytes);
            return;
        }
    }
    const BufferPtr copy = allocate_host(tensor.device(), bytes);  // within the memory limit
    runtime::download(node, copy->host_mutable());
    file.write(copy->host_data(), bytes);
}

}  // namespace

void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata) {
    std::vector<const std::pair<std::string, Tensor>*> order;
    for (const auto& named : tensors) {
        if (!named.second.defined())
            throw ArgumentError(fmt::format("save_safetensors: '{}' is no tensor", named.first));
        order.push_back(&named);
    }
    std::ranges::stable_sort(order, std::greater{},
                             [](const auto* named) { return size_of(named->second.dtype()); });
    std::vector<std::pair<std::string, TensorSpec>> specs;
    std::vector<Tensor> values;
    std::uint64_t data_bytes = 0;
    for (const auto* named : order) {
        specs.emplace_back(named->first, named->second.spec());
        values.push_back(named->second);
        data_bytes += static_cast<std::uint64_t>(named->second.spec().nbytes());
    }
    const std::string header = model::write_header(specs, metadata);
    eval(values);

    AtomicFile file(path, header.size() + data_bytes);
    file.write(header);
    for (const Tensor& value : values) write_elements(file, value);
    file.commit();
}

}  // namespace lazuli
