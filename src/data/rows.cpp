#include "data/rows.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "data/column.h"
#include "frontend/record.h"
#include "lazuli/error.h"
#include "runtime/values.h"

namespace lazuli::data {

namespace {

/// A row of that, as a tensor of its own.
TensorSpec row_of(const TensorSpec& spec) {
    TensorSpec row{spec.dtype, {}};
    for (int d = 1; d < spec.shape.rank(); ++d) row.shape.push_back(spec.shape[d]);
    return row;
}

std::size_t row_bytes(const TensorSpec& spec) {
    return static_cast<std::size_t>(row_of(spec).nbytes());
}

/// Whether the elements lie the same way whichever index runs fastest.
bool is_without_order(const Shape& shape) {
    int longer = 0;
    for (const std::int64_t size : shape) longer += size != 1 ? 1 : 0;
    return longer <= 1;
}

}  // namespace

TensorRows::TensorRows(const Tensor& given) : tensor(given) {
    tensor.eval();
    const ir::Node& node = *frontend::node_of(tensor);
    const Binding binding = runtime::bind(node, tensor.device());
    if (binding.dense && Reading(*binding.buffer).data() != nullptr) {
        buffer = binding.buffer;
        offset = static_cast<std::size_t>(binding.offset);
        return;
    }
    buffer = allocate_host(tensor.device(), static_cast<std::size_t>(tensor.spec().nbytes()));
    runtime::download(node, buffer->host_mutable());
}

void TensorRows::read(std::int64_t first, std::byte* out, std::size_t bytes) const {
    if (bytes == 0) return;
    const Reading reading(*buffer);
    const auto skipped = offset + static_cast<std::size_t>(first) * row_bytes(spec());
    std::memcpy(out, static_cast<const std::byte*>(reading.data()) + skipped, bytes);
}

NpyRows::NpyRows(const std::string& path)
    : file(std::make_shared<const OpenFile>(path)), header(frontend::read_npy_header(*file)) {
    if (header.spec.shape.rank() == 0)
        throw FileError(path, fmt::format("{} has no rows", header.spec.str()));
    if (header.fortran && !is_without_order(header.spec.shape)) {
        throw FileError(path, fmt::format("{} is in Fortran order, whose rows lie scattered; "
                                          "Dataset::arrays takes what load_npy makes of it",
                                          header.spec.str()));
    }
}

void NpyRows::read(std::int64_t first, std::byte* out, std::size_t bytes) const {
    file->read(header.begin + static_cast<std::uint64_t>(first) * row_bytes(spec()), out, bytes);
    frontend::make_native(header, {reinterpret_cast<unsigned char*>(out), bytes});
}

Rows::Rows(std::vector<Source> columns)
    : columns_(std::make_shared<const std::vector<Source>>(std::move(columns))),
      count_(std::visit([](const auto& rows) { return rows.spec().shape[0]; }, columns_->at(0))) {}

Rows Rows::of_tensors(const std::vector<Tensor>& tensors) {
    if (tensors.empty()) throw ArgumentError("Dataset::arrays: there are no columns");
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const TensorSpec& first = tensors[0].spec();
        const TensorSpec& spec = tensors[i].spec();
        if (spec.shape.rank() == 0) {
            throw ShapeError(
                fmt::format("Dataset::arrays: column {} is {} and has no rows", i, spec.str()),
                "[examples, ...]", spec.shape.str());
        }
        if (spec.shape[0] != first.shape[0]) {
            throw ShapeError(
                fmt::format("Dataset::arrays: columns have different numbers of rows: column 0 is "
                            "{}, column {} is {} ({} vs {})",
                            first.str(), i, spec.str(), first.shape[0], spec.shape[0]),
                first.shape.str(), spec.shape.str());
        }
    }
    std::vector<Source> columns;
    for (const Tensor& tensor : tensors) columns.emplace_back(TensorRows(tensor));
    return Rows(std::move(columns));
}

Rows Rows::of_files(const std::vector<std::string>& paths) {
    if (paths.empty()) throw ArgumentError("Dataset::npy: there are no files");
    std::vector<Source> columns;
    for (const std::string& path : paths) {
        const auto& added = std::get<NpyRows>(columns.emplace_back(NpyRows(path)));
        const auto& first = std::get<NpyRows>(columns[0]);
        const std::int64_t rows = added.spec().shape[0];
        if (rows != first.spec().shape[0]) {
            throw FileError(path, fmt::format("{} has another number of rows than {} of {} ({} vs "
                                              "{})",
                                              added.spec().str(), first.spec().str(), paths[0],
                                              rows, first.spec().shape[0]));
        }
    }
    return Rows(std::move(columns));
}

std::vector<TensorSpec> Rows::specs() const {
    std::vector<TensorSpec> out;
    for (const Source& column : *columns_)
        out.push_back(std::visit([](const auto& rows) { return row_of(rows.spec()); }, column));
    return out;
}

Batch Rows::batch(std::span<const std::int64_t> examples) const {
    const auto fill = [&](const auto& rows) {
        Column column(row_of(rows.spec()), static_cast<std::int64_t>(examples.size()));
        const std::size_t bytes = row_bytes(rows.spec());
        std::size_t end = 0;
        for (std::size_t begin = 0; begin < examples.size(); begin = end) {
            // Rows that lie one behind the other are read at once.
            for (end = begin + 1; end < examples.size() && examples[end] == examples[end - 1] + 1;)
                ++end;
            rows.read(first_ + examples[begin], column.elements() + begin * bytes,
                      (end - begin) * bytes);
        }
        return column.done();
    };
    Batch out;
    for (const Source& column : *columns_) out.push_back(std::visit(fill, column));
    return out;
}

std::pair<Rows, Rows> Rows::split(double fraction) const {
    Rows before = *this;
    Rows behind = *this;
    before.count_ = std::llround(fraction * static_cast<double>(count_));
    behind.count_ = count_ - before.count_;
    behind.first_ = first_ + before.count_;
    return {std::move(before), std::move(behind)};
}

}  // namespace lazuli::data
