#pragma once

// Object files of kernels, kept from process to process. A key is everything that decides what the
// compiler makes: it is stored with the file and compared, the name is only its hash. Whatever is
// wrong with a file or the folder, the kernel is compiled as if there were none.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lazuli::cpu {

class DiskCache {
   public:
    /// Files in this folder, which is made when the first is written. Empty: nothing is kept.
    explicit DiskCache(std::string folder) : folder_(std::move(folder)) {}

    /// The folder that the environment says.
    static DiskCache& of_process();

    /// The file of this key, whole and unchanged, or none.
    std::optional<std::vector<char>> find(std::string_view key) const;
    /// Keeps a file. That it cannot be written is no error.
    void keep(std::string_view key, const std::vector<char>& object) const;

    const std::string& folder() const { return folder_; }

   private:
    std::string path_of(std::string_view key) const;
    void drop_old_files() const;

    std::string folder_;
};

}  // namespace lazuli::cpu
