// .npy files: a header, then the elements.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <vector>

#include "frontend/npy_header.h"
#include "frontend/record.h"
#include "ir/engine.h"
#include "ir/layout.h"
#include "lazuli/error.h"
#include "lazuli/io.h"

namespace lazuli {

namespace {

/// Elements whose first index runs fastest, as rows.
std::vector<unsigned char> rows_of(const TensorSpec& spec, const std::vector<unsigned char>& data) {
    Ints strides;
    std::uint64_t step = size_of(spec.dtype);
    for (const std::int64_t dim : spec.shape) {
        strides.push_back(static_cast<std::int64_t>(step));
        step *= static_cast<std::uint64_t>(dim);
    }
    std::vector<unsigned char> rows(data.size());
    ir::copy_dense(data.data(), strides, spec, rows.data());
    return rows;
}

}  // namespace

Tensor load_npy(const std::string& path) {
    const OpenFile file(path);
    const frontend::NpyHeader header = frontend::read_npy_header(file);
    std::vector<unsigned char> data(static_cast<std::size_t>(header.spec.nbytes()));
    file.read(header.begin, data.data(), data.size());
    frontend::make_native(header, data);
    if (header.fortran) data = rows_of(header.spec, data);
    return frontend::make_data(header.spec, data.data());
}

void save_npy(const std::string& path, const Tensor& tensor) {
    tensor.eval();
    const TensorSpec& spec = tensor.spec();
    std::vector<unsigned char> data(static_cast<std::size_t>(spec.nbytes()));
    ir::engine().download(*frontend::node_of(tensor), data.data());
    std::string text =
        fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}",
                    size_of(spec.dtype) == 1 ? '|' : '<', frontend::npy_code(spec.dtype),
                    fmt::join(spec.shape.dims(), ", "), spec.shape.rank() == 1 ? "," : "");
    using frontend::kNpyMagic;
    constexpr std::size_t kAlign = 64;
    const std::size_t prefix = kNpyMagic.size() + 4;
    text.append((kAlign - (prefix + text.size() + 1) % kAlign) % kAlign, ' ');
    text += '\n';
    std::ofstream out(path, std::ios::binary);
    if (!out) throw FileError(path, "cannot be written");
    out.write(kNpyMagic.data(), kNpyMagic.size());
    const char version_and_length[4] = {1, 0, static_cast<char>(text.size() & 0xff),
                                        static_cast<char>(text.size() >> 8)};
    out.write(version_and_length, 4);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    out.write(reinterpret_cast<const char*>(data.data()),
              static_cast<std::streamsize>(data.size()));
    out.close();
    if (!out) throw FileError(path, "could not be written to its end");
}

}  // namespace lazuli
