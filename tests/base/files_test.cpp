#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "base/open_file.h"
#include "folder.h"
#include "lazuli/error.h"

namespace lazuli {
namespace {

using testing::HasSubstr;
using tests::FileSizeLimit;
using tests::Folder;
using tests::read_text;
using tests::write_text;

/// The message of the FileError that `body` throws.
std::string message_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const FileError& e) {
        return e.what();
    }
    return "no FileError";
}

void replace(const std::string& path, std::string_view text) {
    AtomicFile file(path, text.size());
    file.write(text);
    file.commit();
}

TEST(AtomicFile, ReplacesAFileAndLeavesNothingElse) {
    const Folder folder;
    const std::string path = folder / "a";
    replace(path, "first");
    EXPECT_EQ(read_text(path), "first");
    replace(path, "second, and longer");
    EXPECT_EQ(read_text(path), "second, and longer");
    replace(path, "");
    EXPECT_EQ(read_text(path), "");
    EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicFile, IsNotThereBeforeItIsCommitted) {
    const Folder folder;
    const std::string path = folder / "a";
    write_text(path, "old");
    {
        AtomicFile file(path, 3);
        file.write("new");
        EXPECT_EQ(read_text(path), "old");
        EXPECT_EQ(folder.count(), 2);
    }
    EXPECT_EQ(read_text(path), "old");
    EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicFile, MayBeLongerOrShorterThanWasSaid) {
    const Folder folder;
    const std::string path = folder / "a";
    for (const std::size_t said : {0, 3, 100'000}) {
        AtomicFile file(path, said);
        file.write("four");
        file.commit();
        EXPECT_EQ(read_text(path), "four");
    }
}

TEST(AtomicFile, FollowsALinkAndKeepsPermissions) {
    const Folder folder;
    const std::string path = folder / "a";
    const std::string link = folder / "link";
    write_text(path, "old");
    std::filesystem::permissions(path, std::filesystem::perms(0640));
    std::filesystem::create_symlink("a", link);
    replace(link, "new");
    EXPECT_EQ(read_text(path), "new");
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    struct stat found = {};
    ASSERT_EQ(::stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777, 0640U);
}

TEST(AtomicFile, TakesANameAsLongAsThereMayBe) {
    const Folder folder;
    const std::string path = folder / std::string(255, 'n');
    replace(path, "new");
    EXPECT_EQ(read_text(path), "new");
}

TEST(AtomicFile, PassesOverWhatAKilledProcessLeft) {
    const Folder folder;
    const std::string path = folder / "a";
    for (int i = 0; i < 1000; ++i)
        write_text(fmt::format("{}.{}-{}.tmp", path, ::getpid(), i), "left over");
    replace(path, "new");
    EXPECT_EQ(read_text(path), "new");
    EXPECT_EQ(folder.count(), 1001);
    EXPECT_EQ(read_text(fmt::format("{}.{}-999.tmp", path, ::getpid())), "left over");
}

TEST(AtomicFile, RefusesWhatIsNoFile) {
    const Folder folder;
    EXPECT_THAT(message_of([&] { replace(folder.path(), "new"); }),
                HasSubstr("it is no regular file"));
    EXPECT_THAT(message_of([] { replace("/dev/null", "new"); }),
                HasSubstr("/dev/null: cannot be written: it is no regular file"));
    EXPECT_THAT(message_of([&] { replace(folder / "nowhere/a", "new"); }),
                HasSubstr("no file can be made in its folder: No such file or directory"));
    EXPECT_EQ(folder.count(), 0);
}

TEST(AtomicFile, SaysWhereThereIsNoRoom) {
    const Folder folder;
    const std::string path = folder / "a";
    write_text(path, "old");
    const std::string text(100'000, 'x');
    for (const std::size_t said : {std::size_t{0}, text.size()}) {
        const FileSizeLimit limit(10'000);
        const auto write = [&] {
            AtomicFile file(path, said);
            file.write(text);
            file.commit();
        };
        EXPECT_THAT(message_of(write),
                    HasSubstr("a: cannot be written: File too large: 100000 bytes are needed"));
    }
    EXPECT_EQ(read_text(path), "old");
    EXPECT_EQ(folder.count(), 1);
}

TEST(MappedFile, ShowsAFileForAsLongAsItLives) {
    const Folder folder;
    const std::string path = folder / "a";
    write_text(path, "content");
    const MappedFile file(path);
    replace(path, "another");
    std::filesystem::remove(path);
    const std::span<const std::byte> bytes = file.bytes();
    EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
              "content");
}

TEST(MappedFile, MayBeEmpty) {
    const Folder folder;
    write_text(folder / "a", "");
    EXPECT_TRUE(MappedFile(folder / "a").bytes().empty());
}

TEST(MappedFile, RefusesWhatIsNoFile) {
    const Folder folder;
    const auto open = [](const std::string& path) {
        return message_of([&] { const MappedFile file(path); });
    };
    EXPECT_THAT(open(folder / "a"), HasSubstr("a: cannot be read: No such file or directory"));
    EXPECT_THAT(open(folder.path()), HasSubstr("it is no regular file"));
    EXPECT_THAT(open("/dev/null"), HasSubstr("it is no regular file"));
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    EXPECT_THAT(open(folder / "pipe"), HasSubstr("it is no regular file"));
}

TEST(OpenFile, ReadsAtAnyPlace) {
    const Folder folder;
    const std::string path = folder / "a";
    write_text(path, "content");
    const OpenFile file(path);
    replace(path, "another");  // not for who has it
    EXPECT_EQ(file.size(), 7U);
    std::string text(4, ' ');
    file.read(3, text.data(), text.size());
    EXPECT_EQ(text, "tent");
    file.read(7, nullptr, 0);
}

TEST(OpenFile, SaysWhatIsMissing) {
    const Folder folder;
    const std::string path = folder / "a";
    write_text(path, "content");
    const OpenFile file(path);
    std::filesystem::resize_file(path, 5);
    std::string text(6, ' ');
    EXPECT_THAT(message_of([&] { file.read(1, text.data(), text.size()); }),
                HasSubstr("a: is cut off: bytes 1 to 7 were wanted, and it ends at 5 "
                          "(it had 7 when it was opened)"));
    EXPECT_THAT(message_of([&] { const OpenFile none(folder / "b"); }),
                HasSubstr("b: cannot be read: No such file or directory"));
}

}  // namespace
}  // namespace lazuli
