// Headers that are wrong in every way.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "folder.h"
#include "frontend/record.h"
#include "lazuli/error.h"
#include "lazuli/ops.h"
#include "lazuli/safetensors.h"
#include "long_option.h"
#include "runtime/values.h"

namespace lazuli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using tests::Folder;
using tests::write_text;

std::string length_of(std::uint64_t length) {
    std::string out;
    for (int i = 0; i < 8; ++i) out += static_cast<char>(length >> (8 * i));
    return out;
}

/// A file with this header and so many bytes behind it.
std::string file_of(const std::string& header, std::size_t data = 0) {
    return length_of(header.size()) + header + std::string(data, '\x01');
}

/// What opening a file of these bytes says.
std::string said_of(const std::string& bytes) {
    const Folder folder;
    const std::string path = folder / "bad";
    write_text(path, bytes);
    try {
        (void)SafetensorsFile::open(path);
    } catch (const FileError& e) {
        EXPECT_EQ(e.path, path);
        EXPECT_THAT(e.what(), HasSubstr(path));
        return e.what();
    }
    return "nothing";
}

/// The same of a header with one tensor, of which one part is not what it should be.
std::string said_of_tensor(const std::string& parts, std::size_t data = 8) {
    const std::string said = said_of(file_of(fmt::format(R"({{"w":{{{}}}}})", parts), data));
    EXPECT_THAT(said, testing::AnyOf(HasSubstr("tensor 'w'"), "nothing"));
    return said;
}

std::string tensor(std::string_view name, std::uint64_t begin, std::uint64_t end) {
    return fmt::format(R"("{}":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}})", name,
                       end - begin, begin, end);
}

TEST(SafetensorsHeader, OfNothing) {
    EXPECT_EQ(said_of(file_of("{}")), "nothing");
    EXPECT_EQ(said_of(file_of("{}   \n ")), "nothing");
    EXPECT_EQ(said_of(file_of(R"({"__metadata__":{}})")), "nothing");
}

TEST(SafetensorsHeader, ThatIsCutOff) {
    EXPECT_THAT(said_of(""), HasSubstr("it has 0 bytes"));
    EXPECT_THAT(said_of("1234567"), HasSubstr("it has 7 bytes"));
    EXPECT_THAT(said_of(length_of(0)), HasSubstr("does not begin with '{'"));
    EXPECT_THAT(said_of(length_of(3) + "{}"), HasSubstr("its header has 3 bytes, and the file 10"));
    EXPECT_THAT(said_of(length_of(100'000'001) + "{}"),
                HasSubstr("a header of 100000001 bytes is beyond the limit of 100000000"));
    EXPECT_THAT(said_of(length_of(UINT64_MAX) + "{}"),
                HasSubstr("a header of 18446744073709551615 bytes is beyond"));
    const std::string whole = file_of("{" + tensor("w", 0, 8) + "}", 8);
    EXPECT_EQ(said_of(whole), "nothing");
    for (std::size_t i = 0; i < whole.size(); ++i)
        EXPECT_NE(said_of(whole.substr(0, i)), "nothing") << i;
}

TEST(SafetensorsHeader, ThatIsNotJson) {
    for (const char* text :
         {"{", "{]", "{\"a\"}", "{\"a\":}", "{,}", "{} {}", "{}x", "{\"a", "{'a':1}",
          "{\"\xff\":1}", "{\"\\x\":1}", "{//\n}", "{\"a\":.5}", "{\"a\":nul}"}) {
        EXPECT_THAT(said_of(file_of(text)), HasSubstr("the header is not JSON")) << text;
    }
    EXPECT_THAT(said_of(file_of(std::string("{}\0more", 7))), HasSubstr("byte 10 is 0"));
    for (const char* text : {"[]", "1", "null", "\"a\"", " {}", "\xef\xbb\xbf{}"})
        EXPECT_THAT(said_of(file_of(text)), HasSubstr("does not begin with '{'")) << text;
}

TEST(SafetensorsHeader, ThatNestsDeeply) {
    for (const std::size_t depth : {1, 2, 1000, 1'000'000}) {
        for (const char* open : {"[", R"({"a":)"}) {
            std::string nested;
            for (std::size_t i = 0; i < depth; ++i) nested += open;
            const std::string all[] = {
                R"({"w":[)" + nested, R"({"w":{"dtype":)" + nested, R"({"w":{"shape":[)" + nested,
                R"({"w":{"data_offsets":[)" + nested, R"({"__metadata__":{"a":)" + nested};
            for (const std::string& text : all)
                EXPECT_THAT(said_of(file_of(text)), HasSubstr(" and not ")) << text.substr(0, 50);
        }
    }
}

TEST(SafetensorsHeader, WithSomethingTwice) {
    EXPECT_THAT(said_of(file_of("{" + tensor("a", 0, 4) + "," + tensor("a", 4, 8) + "}", 8)),
                HasSubstr("'a' comes twice"));
    EXPECT_THAT(said_of(file_of(R"({"__metadata__":{},"__metadata__":{}})")),
                HasSubstr("'__metadata__' comes twice"));
    EXPECT_THAT(said_of(file_of(R"({"__metadata__":{"k":"1","k":"2"}})")),
                AllOf(HasSubstr("__metadata__: "), HasSubstr("'k' comes twice")));
    EXPECT_THAT(said_of_tensor(R"("dtype":"U8","dtype":"U8","shape":[8],"data_offsets":[0,8])"),
                HasSubstr("'dtype' comes twice"));
    EXPECT_THAT(said_of_tensor(R"("dtype":"U8","shape":[8],"shape":[],"data_offsets":[0,8])"),
                HasSubstr("'shape' comes twice"));
}

TEST(SafetensorsHeader, WithSomethingMissingOrStrange) {
    EXPECT_THAT(said_of_tensor(""), HasSubstr("it has no dtype"));
    EXPECT_THAT(said_of_tensor(R"("shape":[8],"data_offsets":[0,8])"),
                HasSubstr("it has no dtype"));
    EXPECT_THAT(said_of_tensor(R"("dtype":"U8","data_offsets":[0,8])"),
                HasSubstr("it has no shape"));
    EXPECT_THAT(said_of_tensor(R"("dtype":"U8","shape":[8])"), HasSubstr("it has no data_offsets"));
    EXPECT_THAT(said_of_tensor(R"("dtype":"U8","shape":[8],"data_offsets":[0,8],"strides":[1])"),
                HasSubstr("'strides' is nothing that a tensor has"));
}

TEST(SafetensorsHeader, WithTheWrongKind) {
    const char* const values[] = {
        "null", "true", "1",  "-1",     "1.5",     "1e300", "99999999999999999999",
        "[]",   "[[]]", "{}", "\"U8\"", "[\"8\"]", "[-1]",  "[null]"};
    for (const std::string value : values) {
        SCOPED_TRACE(value);
        if (value != "\"U8\"") {
            EXPECT_THAT(said_of_tensor("\"dtype\":" + value), HasSubstr("'dtype' is"));
            EXPECT_THAT(said_of(file_of(R"({"__metadata__":{"k":)" + value + "}}")),
                        HasSubstr("__metadata__: 'k' is"));
        }
        if (value != "[]") {
            EXPECT_THAT(said_of_tensor("\"shape\":" + value), HasSubstr("'shape' is"));
            EXPECT_THAT(said_of_tensor("\"data_offsets\":" + value),
                        HasSubstr("'data_offsets' is"));
        }
        if (value != "{}") {
            EXPECT_THAT(said_of(file_of(R"({"w":)" + value + "}")), HasSubstr("'w' is"));
            EXPECT_THAT(said_of(file_of(R"({"__metadata__":)" + value + "}")),
                        HasSubstr("'__metadata__' is"));
        }
    }
}

TEST(SafetensorsHeader, WithATypeThatIsNotThere) {
    for (const char* type : {"F8_E4M3", "F8_E5M2", "F4", "f32", "C128", "", "U8 "}) {
        EXPECT_THAT(
            said_of_tensor(fmt::format(R"("dtype":"{}","shape":[8],"data_offsets":[0,8])", type)),
            HasSubstr(fmt::format("its type '{}' is none that Lazuli has (BOOL, U8", type)));
    }
}

TEST(SafetensorsHeader, WithSizesThatDoNotFit) {
    const auto said = [](std::string_view shape, std::string_view offsets) {
        return said_of_tensor(
            fmt::format(R"("dtype":"F32","shape":{},"data_offsets":{})", shape, offsets));
    };
    EXPECT_EQ(said("[2]", "[0,8]"), "nothing");
    EXPECT_EQ(said("[2,1,1]", "[0,8]"), "nothing");
    EXPECT_THAT(said("[3]", "[0,8]"), HasSubstr("f32[3] needs 12 bytes, and bytes 0 to 8 are 8"));
    EXPECT_THAT(said("[]", "[0,8]"), HasSubstr("f32[] needs 4 bytes, and bytes 0 to 8 are 8"));
    EXPECT_THAT(said("[0]", "[0,8]"), HasSubstr("f32[0] needs 0 bytes, and bytes 0 to 8 are 8"));
    EXPECT_THAT(said("[-2]", "[0,8]"), HasSubstr("in 'shape' is the number -2"));
    EXPECT_THAT(said("[9223372036854775808]", "[0,8]"),
                HasSubstr("the size 9223372036854775808 is beyond 2^63 - 1"));
    EXPECT_THAT(said("[36893488147419103232]", "[0,8]"),
                HasSubstr("in 'shape' is the number 36893488147419103232"));
    EXPECT_THAT(said("[4611686018427387904,4]", "[0,8]"),
                HasSubstr("make more than 2^63 - 1 bytes"));
    EXPECT_THAT(said("[4294967296,4294967296,2]", "[0,8]"),
                HasSubstr("make more than 2^63 - 1 bytes"));
    EXPECT_THAT(said("[4611686018427387905]", "[0,4]"), HasSubstr("make more than 2^63 - 1 bytes"));
    EXPECT_THAT(said("[0,4294967296,4294967296,2]", "[0,0]"),
                HasSubstr("make more than 2^63 - 1 bytes"));
    EXPECT_THAT(said("[0,4294967296]", "[0,8]"), HasSubstr("needs 0 bytes"));
    std::string many = "[1";
    for (int i = 1; i < 64; ++i) many += ",1";
    EXPECT_THAT(said(many + "]", "[0,8]"), HasSubstr("needs 4 bytes"));
    EXPECT_THAT(said(many + ",1]", "[0,8]"), HasSubstr("its shape has more than 64 sizes"));
}

TEST(SafetensorsHeader, WithOffsetsThatDoNotFit) {
    const auto said = [](std::string_view offsets) {
        return said_of_tensor(
            fmt::format(R"("dtype":"U8","shape":[8],"data_offsets":{})", offsets));
    };
    EXPECT_EQ(said("[0,8]"), "nothing");
    EXPECT_THAT(said("[]"), HasSubstr("data_offsets has 0 numbers and not two"));
    EXPECT_THAT(said("[0]"), HasSubstr("data_offsets has 1 numbers and not two"));
    EXPECT_THAT(said("[0,4,8]"), HasSubstr("data_offsets has more than two numbers"));
    EXPECT_THAT(said("[8,0]"), HasSubstr("its bytes end at 0, before they begin at 8"));
    EXPECT_THAT(said("[0,9]"),
                HasSubstr("its bytes 0 to 9 are not in the file, which has 8 behind the header"));
    EXPECT_THAT(said("[1,9]"), HasSubstr("its bytes 1 to 9 are not in the file"));
    EXPECT_THAT(said("[-8,0]"), HasSubstr("in 'data_offsets' is the number -8"));
    EXPECT_THAT(said("[18446744073709551608,18446744073709551615]"),
                HasSubstr("are not in the file"));
    EXPECT_THAT(said("[0,18446744073709551624]"),
                HasSubstr("in 'data_offsets' is the number 18446744073709551624"));
    EXPECT_THAT(said("[0,7]"), HasSubstr("u8[8] needs 8 bytes, and bytes 0 to 7 are 7"));
}

TEST(SafetensorsHeader, WithTensorsThatOverlapOrLeaveBytesOut) {
    const auto said = [](const std::string& first, const std::string& second) {
        return said_of(file_of("{" + first + "," + second + "}", 16));
    };
    EXPECT_EQ(said(tensor("a", 0, 8), tensor("b", 8, 16)), "nothing");
    EXPECT_EQ(said(tensor("a", 8, 16), tensor("b", 0, 8)), "nothing");
    EXPECT_EQ(said(tensor("a", 0, 16), tensor("b", 16, 16)), "nothing");
    EXPECT_EQ(said(tensor("a", 0, 16), tensor("b", 0, 0)), "nothing");
    EXPECT_THAT(said(tensor("a", 0, 9), tensor("b", 8, 16)),
                HasSubstr("tensors 'a' (bytes 0 to 9) and 'b' (bytes 8 to 16) overlap"));
    EXPECT_THAT(said(tensor("a", 0, 16), tensor("b", 0, 16)), HasSubstr("overlap"));
    EXPECT_THAT(said(tensor("a", 0, 16), tensor("b", 4, 4)), HasSubstr("overlap"));
    EXPECT_THAT(said(tensor("a", 0, 6), tensor("b", 8, 16)),
                HasSubstr("2 bytes before tensor 'b' (bytes 8 to 16) belong to no tensor"));
    EXPECT_THAT(said(tensor("a", 1, 8), tensor("b", 8, 16)),
                HasSubstr("1 bytes before tensor 'a' (bytes 1 to 8) belong to no tensor"));
    EXPECT_THAT(said(tensor("a", 0, 8), tensor("b", 8, 15)),
                HasSubstr("the last 1 bytes belong to no tensor"));
    EXPECT_THAT(said_of(file_of("{}", 3)), HasSubstr("the last 3 bytes belong to no tensor"));
}

TEST(SafetensorsHeader, WithALongNameIsNotRepeatedInFull) {
    const std::string name(1'000'000, 'n');
    const std::string said = said_of(file_of("{\"" + name + "\":1}"));
    EXPECT_THAT(said, HasSubstr("(1000000 bytes)"));
    EXPECT_LT(said.size(), 500U);
}

// ---- mutations

class Mutations {
   public:
    explicit Mutations(std::uint64_t seed) : random_(seed) {}

    std::string draw() {
        std::string header;
        std::uint64_t at = 0;
        const std::size_t count = below(5);
        for (std::size_t i = 0; i < count; ++i) {
            const Type type = pick(kTypes);
            const std::size_t rows = below(4);
            const std::size_t columns = below(4);
            const std::uint64_t begin = at;
            at += type.size * rows * columns;
            header +=
                fmt::format(R"({}"t{}":{{"dtype":"{}","shape":[{},{}],"data_offsets":[{},{}]}})",
                            header.empty() ? "" : ",", i, type.name, rows, columns, begin, at);
        }
        if (below(3) == 0)
            header += std::string(header.empty() ? "" : ",") + R"("__metadata__":{"format":"pt"})";
        header = "{" + header + "}";
        const std::size_t changes = below(4);
        for (std::size_t i = 0; i < changes; ++i) change(header);
        std::string file = file_of(header, at);
        if (below(8) == 0) file[below(8)] ^= static_cast<char>(1U << below(8));
        if (below(16) == 0) file.resize(below(file.size() + 1));
        return file;
    }

   private:
    struct Type {
        const char* name;
        std::size_t size;
    };
    static constexpr Type kTypes[] = {{"BOOL", 1}, {"U8", 1},  {"BF16", 2}, {"I16", 2},
                                      {"F32", 4},  {"I64", 8}, {"C64", 8}};
    static constexpr const char* kPieces[] = {
        "[",   "]",    "{",       "}",     ",",      ":",    "\"",     "0", "-1",
        "1e9", "null", "\"F32\"", "\\u00", "\"t0\"", "\xff", "\"U8\"", " ", "true"};
    static constexpr const char* kNumbers[] = {"0",
                                               "1",
                                               "4",
                                               "-1",
                                               "2147483648",
                                               "4294967296",
                                               "4611686018427387904",
                                               "9223372036854775807",
                                               "9223372036854775808",
                                               "18446744073709551615",
                                               "18446744073709551616",
                                               "1e400"};

    std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
    template <class T, std::size_t N>
    const T& pick(const T (&all)[N]) {
        return all[below(N)];
    }

    void change(std::string& text) {
        const std::size_t at = below(text.size() + 1);
        const std::size_t length = std::min(below(20), text.size() - at);
        switch (below(8)) {
            case 0:
                if (at < text.size()) text[at] ^= static_cast<char>(1U << below(8));
                break;
            case 1: text.insert(at, pick(kPieces)); break;
            case 2: text.erase(at, length); break;
            case 3: text.insert(below(text.size() + 1), text.substr(at, length)); break;
            case 4: text.insert(at, std::string(below(5000), below(2) == 0 ? '[' : '{')); break;
            case 5: text += std::string(below(50), ' '); break;
            default: {  // another number: sizes and offsets that do not fit any more
                const std::size_t digit = text.find_first_of("0123456789", at);
                if (digit == std::string::npos) break;
                const std::size_t end =
                    std::min(text.find_first_not_of("0123456789", digit), text.size());
                text.replace(digit, end - digit, pick(kNumbers));
            }
        }
    }

    std::mt19937_64 random_;
};

/// Reads every byte of every tensor.
std::size_t read_all(const SafetensorsFile& file) {
    std::size_t bytes = 0;
    for (const auto& [name, tensor] : file.tensors()) {
        EXPECT_EQ(tensor.spec(), file.spec(name));
        tensor.eval();
        std::vector<char> out(static_cast<std::size_t>(tensor.spec().nbytes()));
        runtime::download(*frontend::node_of(tensor), out.data());
        bytes += out.size();
    }
    return bytes;
}

TEST(SafetensorsHeader, ThatIsMutatedIsRefusedOrMeansSomething) {
    const Folder folder;
    const std::string path = folder / "mutated";
    const int total = tests::count(2'000, 200'000);
    Mutations mutations(tests::seed);
    int valid = 0;
    for (int i = 0; i < total; ++i) {
        const std::string bytes = mutations.draw();
        std::filesystem::remove(
            path);  // a file that is cut off and filled again waits for the disk
        write_text(path, bytes);
        SCOPED_TRACE(fmt::format("seed {}, number {}: {}", tests::seed, i, bytes));
        try {
            const SafetensorsFile file = SafetensorsFile::open(path);
            const auto length =
                static_cast<unsigned char>(bytes[0]) + 256 * static_cast<unsigned char>(bytes[1]);
            EXPECT_EQ(read_all(file) + 8 + static_cast<std::size_t>(length), bytes.size());
            ++valid;
        } catch (const FileError& e) {
            EXPECT_EQ(e.path, path);
        } catch (const std::exception& e) {
            ADD_FAILURE() << e.what();
        }
        if (HasFailure()) break;
    }
    fmt::print("safetensors: {} mutated headers, of which {} were valid\n", total, valid);
    EXPECT_GT(valid, total / 20);
    EXPECT_LT(valid, total);
}

}  // namespace
}  // namespace lazuli
