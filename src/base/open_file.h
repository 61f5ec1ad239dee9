#pragma once

// A file that is read at any place of it, by any thread.

#include <cstddef>
#include <cstdint>
#include <string>

namespace lazuli {

/// A regular file, open for reading for as long as this lives. A file that is replaced by another
/// of its name stays as it was for who has it open. One that somebody cuts off in place gives an
/// error where the missing part is read, and not the end of the process, as `MappedFile` does: it
/// is the better one for what is copied anyway.
class OpenFile {
   public:
    /// FileError where it is missing, or no regular file.
    explicit OpenFile(std::string path);
    ~OpenFile();
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;

    const std::string& path() const { return path_; }
    /// How many bytes it had when it was opened.
    std::uint64_t size() const { return size_; }
    int descriptor() const { return file_; }
    /// Copies bytes from a place in it; FileError where there are fewer, or the disk fails.
    void read(std::uint64_t from, void* out, std::size_t bytes) const;

   private:
    std::string path_;
    std::uint64_t size_ = 0;
    int file_ = -1;
};

}  // namespace lazuli
