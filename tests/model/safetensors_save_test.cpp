// Saving that is cut short, by a signal or by a disk that is full.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/mount.h>

#include <chrono>
#include <random>
#include <thread>

#include "child.h"
#include "endless_saving.h"
#include "folder.h"
#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/ops.h"
#include "long_option.h"

namespace lazuli {

namespace tests {

Content::Content(int which) : metadata{{"which", std::to_string(which)}} {
    const auto value = static_cast<float>(which + 1);
    for (int i = 0; i < 4; ++i) {
        const std::int64_t size = 300 + 100 * which;
        tensors.emplace_back(
            fmt::format("content {}, tensor {}", which, i),
            Tensor::from(std::vector<float>(static_cast<std::size_t>(size * size), value),
                         {size, size}));
    }
}

void Content::save(const std::string& path) const { save_safetensors(path, tensors, metadata); }

void save_forever(const std::string& path) {
    const Content contents[] = {Content(0), Content(1)};
    contents[0].save(path);
    fmt::print("saved\n");
    std::fflush(stdout);
    for (int i = 1;; i ^= 1) contents[i].save(path);
}

}  // namespace tests

namespace {

using testing::AllOf;
using testing::HasSubstr;
using tests::Content;
using tests::FileSizeLimit;
using tests::Folder;
using tests::read_text;

/// Which of the two contents a file has, all of it.
int content_of(const std::string& path) {
    const SafetensorsFile file = SafetensorsFile::open(path);
    const int which = std::stoi(file.metadata().at("which"));
    const Content want(which);
    EXPECT_EQ(file.metadata(), want.metadata);
    EXPECT_EQ(file.names().size(), want.tensors.size());
    for (const auto& [name, tensor] : want.tensors)
        EXPECT_TRUE(file.tensor(name).to_vector<float>() == tensor.to_vector<float>()) << name;
    return which;
}

TEST(SafetensorsSave, ThatIsKilledLeavesAWholeFile) {
    using Clock = std::chrono::steady_clock;
    const Folder folder;
    const std::string path = folder / "model.safetensors";
    const auto start = Clock::now();
    for (int i = 0; i < 4; ++i) Content(i % 2).save(path);
    const auto once =
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start) / 4;
    const int kills = tests::count(20, 200);
    std::mt19937_64 random(tests::seed);
    int found[2] = {};
    for (int i = 0; i < kills && !HasFailure(); ++i) {
        {
            tests::Child saving({tests::kSaveForever, path});
            saving.wait_for_output();
            std::this_thread::sleep_for(once * static_cast<int>(random() % 4000) / 1000);
        }
        ++found[content_of(path)];
    }
    const std::ptrdiff_t left = folder.count() - 1;
    fmt::print(
        "safetensors: {} kills while saving: {} times the one content, {} times the other, "
        "{} temporaries left\n",
        kills, found[0], found[1], left);
    // What was left over is in nobody's way.
    Content(0).save(path);
    EXPECT_EQ(content_of(path), 0);
    EXPECT_EQ(folder.count(), left + 1);
}

/// Saves a content that does not fit over one that does.
void expect_clear_failure(const std::string& folder, const std::string& reason) {
    const std::string path = folder + "/model.safetensors";
    const Tensor small = arange(100, f32).eval();
    save_safetensors(path, {{"x", small}});
    const std::string before = read_text(path);
    const Tensor large = (small.reshape({1, 100}) + zeros({5000, 100})).eval();
    const Tensor lazy = large.transpose() * 2;
    try {
        save_safetensors(path, {{"large", large}, {"view", large.transpose()}, {"lazy", lazy}});
        FAIL() << "it did fit";
    } catch (const FileError& e) {
        EXPECT_EQ(e.path, path);
        EXPECT_THAT(e.what(), AllOf(HasSubstr(path), HasSubstr(reason), HasSubstr("6000"),
                                    HasSubstr(" bytes are needed")));
    }
    EXPECT_EQ(read_text(path), before);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
    // What is in memory is as it was, and fits elsewhere.
    EXPECT_EQ(lazy.slice({99, 4999}, {100, 5000}).item<float>(), 198);
    EXPECT_EQ(SafetensorsFile::open(path).tensor("x").sum().item<float>(), 4950);
    save_safetensors(path, {{"x", small + 1}});
    EXPECT_EQ(SafetensorsFile::open(path).tensor("x").sum().item<float>(), 5050);
}

TEST(SafetensorsSave, BeyondTheSizeOfFilesSaysSo) {
    const Folder folder;
    const FileSizeLimit limit(1 << 20);
    expect_clear_failure(folder.path(), "File too large");
}

/// A disk of a megabyte, where one may be mounted.
class Disk {
   public:
    explicit Disk(std::string path) : path_(std::move(path)) {
        std::filesystem::create_directory(path_);
        mounted_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=1m") == 0;
    }
    ~Disk() {
        if (mounted_) ::umount(path_.c_str());
    }
    Disk(const Disk&) = delete;
    Disk& operator=(const Disk&) = delete;
    const std::string& path() const { return path_; }
    bool is_mounted() const { return mounted_; }

   private:
    std::string path_;
    bool mounted_ = false;
};

TEST(SafetensorsSave, OnAFullDiskSaysSo) {
    const Folder folder;
    const Disk disk(folder / "disk");
    if (!disk.is_mounted())
        GTEST_SKIP() << "no disk may be mounted here; the limit of sizes is tested instead";
    expect_clear_failure(disk.path(), "No space left on device");
}

}  // namespace
}  // namespace lazuli
