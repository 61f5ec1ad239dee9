#include "base/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "lazuli/error.h"

namespace lazuli {

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
    const auto fail = [&](int error) {
        throw FileError(path_,
                        fmt::format("cannot be read: {}", std::generic_category().message(error)));
    };
    int file = -1;
    do {  // a pipe of that name must not make us wait for a writer
        file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    } while (file < 0 && errno == EINTR);
    if (file < 0) fail(errno);
    struct stat found = {};
    const bool is_known = ::fstat(file, &found) == 0;
    if (!is_known || !S_ISREG(found.st_mode)) {
        ::close(file);
        throw FileError(path_, "cannot be read: it is no regular file");
    }
    const auto size = static_cast<std::size_t>(found.st_size);
    void* mapped = nullptr;  // an empty file cannot be mapped
    if (size > 0) mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    const int error = errno;
    ::close(file);
    if (mapped == MAP_FAILED) fail(error);
    bytes_ = {static_cast<const std::byte*>(mapped), size};
}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace lazuli
