#include "base/open_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "lazuli/error.h"

namespace lazuli {

namespace {

std::string reason(int error) {
    return fmt::format("cannot be read: {}", std::generic_category().message(error));
}

}  // namespace

OpenFile::OpenFile(std::string path) : path_(std::move(path)) {
    do {  // a pipe of that name must not make us wait for a writer
        file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    } while (file_ < 0 && errno == EINTR);
    if (file_ < 0) throw FileError(path_, reason(errno));
    struct stat found = {};
    if (::fstat(file_, &found) != 0 || !S_ISREG(found.st_mode)) {
        ::close(file_);
        throw FileError(path_, "cannot be read: it is no regular file");
    }
    size_ = static_cast<std::uint64_t>(found.st_size);
}

OpenFile::~OpenFile() { ::close(file_); }

void OpenFile::read(std::uint64_t from, void* out, std::size_t bytes) const {
    std::size_t done = 0;
    while (done < bytes) {
        const ssize_t got = ::pread(file_, static_cast<std::byte*>(out) + done, bytes - done,
                                    static_cast<off_t>(from + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw FileError(path_, reason(errno));
        if (got == 0) {
            throw FileError(path_, fmt::format("is cut off: bytes {} to {} were wanted, and it "
                                               "ends at {} (it had {} when it was opened)",
                                               from, from + bytes, from + done, size_));
        }
        done += static_cast<std::size_t>(got);
    }
}

}  // namespace lazuli
