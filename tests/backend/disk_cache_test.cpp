#include "backend/cpu/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace lazuli::cpu {
namespace {

namespace fs = std::filesystem;

class DiskCacheTest : public testing::Test {
   protected:
    DiskCacheTest() {
        char name[] = "/tmp/lazuli-test-XXXXXX";
        root_ = mkdtemp(name);
        folder_ = root_ + "/a/b";
    }
    ~DiskCacheTest() override {
        std::error_code error;
        fs::permissions(root_, fs::perms::owner_all, error);
        fs::remove_all(root_, error);
    }
    fs::path only_file() const { return fs::directory_iterator(folder_)->path(); }

    std::string root_;
    std::string folder_;
    const std::vector<char> object_{'c', 'o', 'd', 'e', '\0', 'x'};
};

TEST_F(DiskCacheTest, KeepsWhatItIsGiven) {
    const DiskCache cache(folder_);
    EXPECT_EQ(cache.find("key"), std::nullopt);
    cache.keep("key", object_);
    EXPECT_EQ(cache.find("key"), object_);
    EXPECT_EQ(cache.find("another"), std::nullopt);
    struct stat info{};
    ASSERT_EQ(stat(folder_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0700U);
    const std::vector<char> other{'y'};
    cache.keep("key", other);
    EXPECT_EQ(cache.find("key"), other);
}

TEST_F(DiskCacheTest, IgnoresWhatIsCutOffOrChanged) {
    const DiskCache cache(folder_);
    cache.keep("key", object_);
    std::string whole;
    {
        std::ifstream in(only_file(), std::ios::binary);
        whole.assign(std::istreambuf_iterator<char>(in), {});
    }
    const auto write = [&](const std::string& bytes) {
        std::ofstream(only_file(), std::ios::binary) << bytes;
    };
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        write(whole.substr(0, bytes));
        EXPECT_EQ(cache.find("key"), std::nullopt) << bytes;
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 0x20);
        write(changed);
        EXPECT_EQ(cache.find("key"), std::nullopt) << at;
    }
    write(whole + "x");
    EXPECT_EQ(cache.find("key"), std::nullopt);
    cache.keep("key", object_);
    EXPECT_EQ(cache.find("key"), object_) << "rebuilt";
}

TEST_F(DiskCacheTest, DoesWithoutAFolder) {
    const DiskCache none("");
    none.keep("key", object_);
    EXPECT_EQ(none.find("key"), std::nullopt);
    const DiskCache impossible("/proc/lazuli/cache");
    impossible.keep("key", object_);
    EXPECT_EQ(impossible.find("key"), std::nullopt);
}

TEST_F(DiskCacheTest, DoesNotTrustAFolderThatOthersMayWrite) {
    const DiskCache cache(folder_);
    cache.keep("key", object_);
    ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
    EXPECT_EQ(cache.find("key"), std::nullopt);
    ASSERT_EQ(chmod(folder_.c_str(), 0500), 0);
    EXPECT_EQ(cache.find("key"), object_) << "a folder that is read only still serves";
    cache.keep("other", object_);
}

}  // namespace
}  // namespace lazuli::cpu
