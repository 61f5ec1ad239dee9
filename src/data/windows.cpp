#include "data/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "data/column.h"
#include "lazuli/error.h"

namespace lazuli::data {

namespace {

void ensure_window(const std::string& path, std::int64_t count, std::int64_t context,
                   std::string_view what) {
    if (context < 1) throw ArgumentError(fmt::format("{}: windows of {} {}", path, context, what));
    if (count <= context) {
        throw FileError(path, fmt::format("has {} {}, and a window of {} and the one behind it "
                                          "need {}",
                                          count, what, context, context + 1));
    }
}

void read_numbers(const OpenFile& file, std::int64_t from, std::span<std::int32_t> out) {
    std::vector<std::uint8_t> bytes(out.size());
    file.read(static_cast<std::uint64_t>(from), bytes.data(), bytes.size());
    std::ranges::copy(bytes, out.begin());
}

void read_numbers(const Numbers& numbers, std::int64_t from, std::span<std::int32_t> out) {
    std::visit([&](const auto& all) { std::copy_n(all.begin() + from, out.size(), out.begin()); },
               numbers);
}

}  // namespace

Windows::Windows(std::shared_ptr<const OpenFile> file, std::int64_t context)
    : source_(file), count_(static_cast<std::int64_t>(file->size())), context_(context) {
    ensure_window(file->path(), count_, context, "bytes");
}

Windows::Windows(std::shared_ptr<const Numbers> numbers, std::int64_t context,
                 const std::string& path)
    : source_(numbers), context_(context) {
    count_ = std::visit([](const auto& all) { return std::ssize(all); }, *numbers);
    ensure_window(path, count_, context, "characters");
}

std::vector<TensorSpec> Windows::specs() const { return {2, TensorSpec{i32, {context_}}}; }

void Windows::read(std::int64_t from, std::span<std::int32_t> out) const {
    std::visit([&](const auto& source) { read_numbers(*source, first_ + from, out); }, source_);
}

Batch Windows::batch(std::span<const std::int64_t> examples) const {
    const auto length = static_cast<std::size_t>(context_);
    const std::size_t bytes = length * sizeof(std::int32_t);
    const auto count = static_cast<std::int64_t>(examples.size());
    Column inputs({i32, {context_}}, count);
    Column targets({i32, {context_}}, count);
    std::vector<std::int32_t> window(length + 1);
    for (std::size_t i = 0; i < examples.size(); ++i) {
        read(examples[i], window);
        std::memcpy(inputs.elements() + i * bytes, window.data(), bytes);
        std::memcpy(targets.elements() + i * bytes, window.data() + 1, bytes);
    }
    return {inputs.done(), targets.done()};
}

std::pair<Windows, Windows> Windows::split(double fraction) const {
    Windows before = *this;
    Windows behind = *this;
    before.count_ = std::llround(fraction * static_cast<double>(count_));
    behind.count_ = count_ - before.count_;
    behind.first_ = first_ + before.count_;
    return {std::move(before), std::move(behind)};
}

}  // namespace lazuli::data
