#include "base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "lazuli/error.h"

namespace lazuli {

namespace {

/// What a system call gives, called again where a signal came between.
template <class Call>
auto uninterrupted(const Call& call) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
}

std::string reason(int error) { return std::generic_category().message(error); }

bool is_lack_of_room(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

/// Makes the names in a folder last. Not every file system can, and a folder that may be written
/// to need not be readable.
int sync_folder(const std::string& folder) {
    const int opened =
        uninterrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (opened < 0) return 0;
    const int error = uninterrupted([&] { return ::fsync(opened); }) == 0 ? 0 : errno;
    ::close(opened);
    return error == EINVAL || error == ENOTSUP || error == EROFS ? 0 : error;
}

}  // namespace

AtomicFile::AtomicFile(std::string path, std::uint64_t bytes)
    : path_(std::move(path)), bytes_(bytes) {
    std::error_code none;
    const std::filesystem::path real = std::filesystem::canonical(path_, none);
    target_ = none ? path_ : real.string();
    const std::filesystem::path parent = std::filesystem::path(target_).parent_path();
    folder_ = parent.empty() ? "." : parent.string();
    create();
    try {
        reserve();
    } catch (...) {
        remove_temporary();
        throw;
    }
}

AtomicFile::~AtomicFile() { remove_temporary(); }

void AtomicFile::create() {
    struct stat before = {};
    const bool replaces = ::stat(target_.c_str(), &before) == 0;
    if (replaces && !S_ISREG(before.st_mode))
        throw FileError(path_, "cannot be written: it is no regular file");
    if (replaces && ::access(target_.c_str(), W_OK) != 0) fail("it is protected", errno);

    // Cut short, because a name has at most 255 bytes.
    const std::string stem =
        std::filesystem::path(target_).filename().string().substr(0, std::size_t{200});
    static std::atomic<std::uint64_t> calls{0};
    do {  // a process that was killed may have left one of that name
        temporary_ = fmt::format("{}/{}.{}-{}.tmp", folder_, stem, ::getpid(), calls.fetch_add(1));
        file_ = uninterrupted([&] {
            return ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        });
    } while (file_ < 0 && errno == EEXIST);
    if (file_ < 0) {
        const int error = errno;
        temporary_.clear();
        fail("no file can be made in its folder", error);
    }
    if (replaces) (void)::fchmod(file_, before.st_mode & 07777);
}

void AtomicFile::reserve() {
    if (bytes_ == 0) return;
    const auto size = static_cast<off_t>(
        std::min<std::uint64_t>(bytes_, std::uint64_t{1} << 62));  // beyond any file system
    const int done =
        uninterrupted([&] { return ::fallocate(file_, FALLOC_FL_KEEP_SIZE, 0, size); });
    // Where a file system cannot reserve, writing tells.
    if (done != 0 && is_lack_of_room(errno)) fail("", errno);
}

void AtomicFile::write(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const char*>(data);
    bytes_ = std::max(bytes_, written_ + bytes);
    while (bytes > 0) {
        const ssize_t done = uninterrupted([&] { return ::write(file_, at, bytes); });
        if (done <= 0) fail("writing failed", done < 0 ? errno : EIO);
        at += done;
        bytes -= static_cast<std::size_t>(done);
        written_ += static_cast<std::uint64_t>(done);
    }
}

void AtomicFile::commit() {
    if (uninterrupted([&] { return ::fsync(file_); }) != 0)
        fail("it did not reach the disk", errno);
    // All is on the disk: nothing that closing may report is about the content.
    ::close(file_);
    file_ = -1;
    if (std::rename(temporary_.c_str(), target_.c_str()) != 0)
        fail("it could not be put in its place", errno);
    temporary_.clear();
    if (const int error = sync_folder(folder_); error != 0)
        throw FileError(path_, fmt::format("was written, but its name may not have reached the "
                                           "disk: {}",
                                           reason(error)));
}

void AtomicFile::remove_temporary() noexcept {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    temporary_.clear();
}

void AtomicFile::fail(const char* doing, int error) const {
    if (!is_lack_of_room(error))
        throw FileError(path_, fmt::format("cannot be written: {}: {}", doing, reason(error)));
    struct statvfs disk = {};
    const bool is_known = error == ENOSPC && ::statvfs(folder_.c_str(), &disk) == 0;
    // What this file has taken of the disk is given back.
    struct stat taken = {};
    if (file_ < 0 || ::fstat(file_, &taken) != 0) taken.st_blocks = 0;
    const std::uint64_t room = static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize +
                               static_cast<std::uint64_t>(taken.st_blocks) * 512;
    throw FileError(
        path_, fmt::format("cannot be written: {}: {} bytes are needed{}", reason(error), bytes_,
                           is_known ? fmt::format(", {} are free", room) : ""));
}

}  // namespace lazuli
