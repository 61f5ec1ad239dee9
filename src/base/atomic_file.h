#pragma once

// Files that are replaced as a whole: whoever opens the path, at whatever moment, finds all of the
// old content or all of the new, also where the process is killed or the power fails.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lazuli {

/// Writes to a temporary file beside the one that is meant, which `commit` replaces in one step.
/// Where anything fails, or `commit` is never called, the temporary is removed and what was there
/// before is as it was. Every function throws FileError.
class AtomicFile {
   public:
    /// Begins a file of so many bytes; a disk that has no room for them is noticed here, where the
    /// file system can tell. A link is followed. What exists keeps its permissions, and must be a
    /// regular file that may be written to.
    AtomicFile(std::string path, std::uint64_t bytes);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    /// Appends.
    void write(const void* data, std::size_t bytes);
    void write(std::string_view text) { write(text.data(), text.size()); }
    /// Puts the file at its path. It is on the disk when this returns.
    void commit();

   private:
    void create();
    void reserve();
    void remove_temporary() noexcept;
    [[noreturn]] void fail(const char* doing, int error) const;

    std::string path_;       // as it was given
    std::string target_;     // where that leads
    std::string folder_;     // of the target
    std::string temporary_;  // empty: there is none
    std::uint64_t bytes_;    // that are needed
    std::uint64_t written_ = 0;
    int file_ = -1;
};

}  // namespace lazuli
