#pragma once

// A file as memory: what nobody touches is never read from the disk.

#include <cstddef>
#include <span>
#include <string>

namespace lazuli {

/// The bytes of a file, to be read only, for as long as this lives. A file that is replaced by
/// another of its name stays as it was for who has it; one that somebody cuts off in place takes
/// the process with it when the missing part is touched.
class MappedFile {
   public:
    /// FileError where it is missing, no regular file, or cannot be mapped.
    explicit MappedFile(std::string path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    const std::string& path() const { return path_; }
    /// All of them. They start on a page.
    std::span<const std::byte> bytes() const { return bytes_; }

   private:
    std::string path_;
    std::span<const std::byte> bytes_;
};

}  // namespace lazuli
