#include "base/mapped_file.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <system_error>

#include "base/open_file.h"
#include "lazuli/error.h"

namespace lazuli {

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
    const OpenFile file(path_);  // a mapping does not need it any more
    const auto size = static_cast<std::size_t>(file.size());
    void* mapped = nullptr;  // an empty file cannot be mapped
    if (size > 0) mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
    if (mapped == MAP_FAILED) {
        throw FileError(path_,
                        fmt::format("cannot be read: {}", std::generic_category().message(errno)));
    }
    bytes_ = {static_cast<const std::byte*>(mapped), size};
}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace lazuli
