#include "backend/cpu/disk_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/env.h"
#include "base/hash.h"

namespace lazuli::cpu {

namespace {

namespace fs = std::filesystem;

struct Header {
    char magic[8] = {'L', 'Z', 'O', 'B', 'J', '0', '0', '1'};
    std::uint64_t key_bytes = 0;
    std::uint64_t object_bytes = 0;
    std::uint64_t checksum = 0;  // of key and object
};

constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;  // of all files together

std::uint64_t checksum_of(std::string_view key, std::string_view object) {
    return hash_mix(hash_text(key), hash_text(object));
}

/// Whether nobody else may have put files there.
bool is_ours(const std::string& folder) {
    struct stat info{};
    return stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

class File {
   public:
    File(const std::string& path, const char* mode) : file_(std::fopen(path.c_str(), mode)) {}
    ~File() {
        if (file_ != nullptr) std::fclose(file_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    explicit operator bool() const { return file_ != nullptr; }
    bool read(void* to, std::size_t bytes) {
        return bytes == 0 || std::fread(to, 1, bytes, file_) == bytes;
    }
    bool write(const void* from, std::size_t bytes) {
        return bytes == 0 || std::fwrite(from, 1, bytes, file_) == bytes;
    }
    bool at_end() { return std::fgetc(file_) == EOF; }
    bool close() { return std::fclose(std::exchange(file_, nullptr)) == 0; }

   private:
    std::FILE* file_;
};

std::string folder_of_process() {
    if (env::text(env::Var::cache) == "0") return "";
    const std::string given = env::text(env::Var::cache_dir);
    if (!given.empty()) return given;
    const char* base = std::getenv("XDG_CACHE_HOME");
    if (base != nullptr && *base == '/') return std::string(base) + "/lazuli";
    const char* home = std::getenv("HOME");
    return home != nullptr && *home == '/' ? std::string(home) + "/.cache/lazuli" : "";
}

}  // namespace

DiskCache& DiskCache::of_process() {
    static DiskCache& cache = *new DiskCache(folder_of_process());
    return cache;
}

std::string DiskCache::path_of(std::string_view key) const {
    return fmt::format("{}/{:016x}{:016x}.kernel", folder_, hash_text(key),
                       hash_mix(hash_text(key), key.size()));
}

std::optional<std::vector<char>> DiskCache::find(std::string_view key) const {
    if (folder_.empty() || !is_ours(folder_)) return std::nullopt;
    File file(path_of(key), "rb");
    Header header;
    const Header expected;
    if (!file || !file.read(&header, sizeof header) ||
        std::memcmp(header.magic, expected.magic, sizeof header.magic) != 0 ||
        header.key_bytes != key.size() || header.object_bytes > kMostBytes)
        return std::nullopt;
    std::string known(header.key_bytes, '\0');
    std::vector<char> object(header.object_bytes);
    if (!file.read(known.data(), known.size()) || !file.read(object.data(), object.size()) ||
        !file.at_end() || known != key ||
        header.checksum != checksum_of(known, {object.data(), object.size()}))
        return std::nullopt;
    return object;
}

void DiskCache::keep(std::string_view key, const std::vector<char>& object) const {
    if (folder_.empty()) return;
    std::error_code error;
    if (!fs::exists(folder_, error)) {
        fs::create_directories(fs::path(folder_).parent_path(), error);
        if (mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) return;
    }
    if (!is_ours(folder_)) return;
    static std::atomic<std::uint64_t> number{0};
    const std::string path = path_of(key);
    // Written beside its place and put there at once: readers see all of it or nothing.
    const std::string draft = fmt::format("{}.{}.{}.draft", path, getpid(), number.fetch_add(1));
    {
        Header header;
        header.key_bytes = key.size();
        header.object_bytes = object.size();
        header.checksum = checksum_of(key, {object.data(), object.size()});
        File file(draft, "wb");
        const bool written = file && file.write(&header, sizeof header) &&
                             file.write(key.data(), key.size()) &&
                             file.write(object.data(), object.size()) && file.close();
        if (!written) {
            std::remove(draft.c_str());
            return;
        }
    }
    if (std::rename(draft.c_str(), path.c_str()) != 0) std::remove(draft.c_str());
    if (number.load() % 64 == 1) drop_old_files();
}

void DiskCache::drop_old_files() const {
    struct Entry {
        fs::path path;
        fs::file_time_type time;
        std::uint64_t bytes;
    };
    std::vector<Entry> entries;
    std::uint64_t total = 0;
    std::error_code error;
    for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
        if (at->path().extension() != ".kernel") continue;
        const std::uint64_t bytes = at->file_size(error);
        if (error) continue;
        entries.push_back({at->path(), at->last_write_time(error), bytes});
        total += bytes;
    }
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.time < b.time; });
    for (const Entry& entry : entries) {
        if (total <= kMostBytes) break;
        fs::remove(entry.path, error);
        total -= entry.bytes;
    }
}

}  // namespace lazuli::cpu
