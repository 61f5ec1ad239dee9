// What is saved comes back, and how it lies in memory.

#include "lazuli/safetensors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "folder.h"
#include "frontend/record.h"
#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/index.h"
#include "lazuli/memory.h"
#include "lazuli/ops.h"
#include "runtime/values.h"

namespace lazuli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::Folder;
using tests::read_text;
using tests::write_text;

std::string bytes_of(const Tensor& tensor) {
    tensor.eval();
    std::string out(static_cast<std::size_t>(tensor.spec().nbytes()), '\0');
    runtime::download(*frontend::node_of(tensor), out.data());
    return out;
}

void expect_same(const Tensor& got, const Tensor& want) {
    EXPECT_EQ(got.spec(), want.spec());
    EXPECT_TRUE(bytes_of(got) == bytes_of(want)) << want.spec().str();
}

/// Saves tensors, and says what the file has under each name.
void expect_round_trip(const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata = {}) {
    const Folder folder;
    const std::string path = folder / "a.safetensors";
    save_safetensors(path, tensors, metadata);
    EXPECT_EQ(folder.count(), 1);
    const SafetensorsFile file = SafetensorsFile::open(path);
    EXPECT_EQ(file.path(), path);
    EXPECT_EQ(file.metadata(), metadata);
    EXPECT_EQ(file.names().size(), tensors.size());
    for (const auto& [name, tensor] : tensors) {
        SCOPED_TRACE(name);
        ASSERT_TRUE(file.contains(name));
        EXPECT_EQ(file.spec(name), tensor.spec());
        expect_same(file.tensor(name), tensor);
    }
    const NamedTensors all = file.tensors();
    ASSERT_EQ(all.size(), tensors.size());
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].first, file.names()[i]);
}

/// Elements of any bits.
Tensor drawn(DType dtype, const Shape& shape) {
    static std::mt19937 random(7);
    const TensorSpec spec{dtype, shape};
    std::string bytes(static_cast<std::size_t>(spec.nbytes()), '\0');
    for (char& byte : bytes)
        byte = static_cast<char>(dtype == DType::boolean ? random() % 2 : random());
    return frontend::make_data(spec, bytes.data());
}

TEST(Safetensors, EveryTypeComesBack) {
    NamedTensors tensors;
    for (int i = 0; i < kDTypeCount; ++i) {
        const auto dtype = static_cast<DType>(i);
        if (dtype == c128) continue;
        tensors.emplace_back(fmt::format("{} matrix", name(dtype)), drawn(dtype, {5, 7}));
        tensors.emplace_back(fmt::format("{} number", name(dtype)), drawn(dtype, {}));
        tensors.emplace_back(fmt::format("{} nothing", name(dtype)), drawn(dtype, {3, 0, 2}));
    }
    expect_round_trip(tensors);
}

TEST(Safetensors, AnyRankComesBack) {
    NamedTensors tensors;
    Shape shape;
    for (int rank = 0; rank <= 12; ++rank) {
        tensors.emplace_back(fmt::format("rank {}", rank), drawn(f32, shape));
        shape.push_back(rank % 3 == 0 ? 2 : 1);
    }
    expect_round_trip(tensors);
}

TEST(Safetensors, ViewsComeBackAsTheyAreSeen) {
    const Tensor base = drawn(f32, {6, 8});
    const Tensor line = drawn(i16, {9});
    expect_round_trip({{"transposed", base.transpose()},
                       {"rows", base.slice({1, 0}, {4, 8}, {1, 1})},
                       {"every other", base.slice({0, 1}, {6, 8}, {2, 3})},
                       {"turned", line.flip({0})},
                       {"padded", line.pad({2}, {3})},
                       {"repeated", broadcast_to(line, {4, 9})},
                       {"a number repeated", broadcast_to(scalar(2.5), {3, 3})},
                       {"a constant", zeros({2, 2})},
                       {"a number", scalar(7)},
                       {"a number of a constant class", Tensor(1.0F)},
                       {"computed", base + 1}});
}

TEST(Safetensors, LentMemoryWithStridesIsWrittenRowMajor) {
    const std::vector<float> values{1, 2, 3, 4, 5, 6};
    expect_round_trip({{"columns", lift(values.data(), f32, {2, 3}, {4, 8})},
                       {"backwards", lift(values.data() + 5, f32, {6}, {-4})}});
}

TEST(Safetensors, ManyTensorsComeBack) {
    NamedTensors tensors;
    for (int i = 0; i < 2000; ++i) {
        tensors.emplace_back(fmt::format("layers.{}.weight", i),
                             Tensor::from(std::vector<std::int32_t>{i, -i, 2 * i}));
    }
    expect_round_trip(tensors);
}

TEST(Safetensors, NothingComesBack) {
    expect_round_trip({});
    expect_round_trip({}, {{"only", "metadata"}});
}

TEST(Safetensors, AnyTextIsANameOrMetadata) {
    const std::map<std::string, std::string> texts{
        {"format", "pt"},
        {"", ""},
        {"schlüssel", "größe: 3 µm"},
        {"名前", "瑠璃 🔷"},
        {"escaped", "\"\\/\b\f\n\r\t\x01\x7f"},
        {std::string("zero\0", 5), std::string(3, '\0')}};
    NamedTensors tensors;
    for (const auto& [key, value] : texts)
        if (!key.empty()) tensors.emplace_back(key, drawn(u8, {3}));
    expect_round_trip(tensors, texts);
}

TEST(Safetensors, LargerElementsComeFirstAndAllAreAligned) {
    const Folder folder;
    const std::string path = folder / "a";
    save_safetensors(path, {{"byte", drawn(u8, {3})},
                            {"short", drawn(bf16, {3})},
                            {"long", drawn(i64, {3})},
                            {"float", drawn(f32, {3})},
                            {"another byte", drawn(i8, {1})},
                            {"complex", drawn(c64, {1})}});
    const SafetensorsFile file = SafetensorsFile::open(path);
    EXPECT_THAT(file.names(),
                ElementsAre("long", "complex", "float", "short", "byte", "another byte"));
    const auto* first = file.tensor("long").data<std::int64_t>();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
    EXPECT_EQ(static_cast<const void*>(file.tensor("float").data<float>()), first + 4);
}

TEST(Safetensors, FilesOfOthersAreReadWhereTheyLie) {
    const Folder folder;
    const std::string path = folder / "a";
    std::string header =
        R"({"b":{"data_offsets":[4,8],"shape":[],"dtype":"F32"},"__metadata__":{"format":"pt"},)"
        R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";
    // Behind a header of 161 bytes numbers are not aligned.
    for (const std::size_t length : {160, 161}) {
        header.resize(length, ' ');
        std::string text(8, '\0');
        text[0] = static_cast<char>(length);
        text += header + std::string("\1\2\3\4", 4) + std::string("\0\0\x20\x40", 4);
        write_text(path, text);
        const SafetensorsFile file = SafetensorsFile::open(path);
        EXPECT_THAT(file.names(), ElementsAre("a", "b"));
        EXPECT_THAT(file.tensor("a").to_vector<std::uint8_t>(), ElementsAre(1, 2, 3, 4));
        EXPECT_EQ(file.tensor("b").item<float>(), 2.5F);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.tensor("b").data<float>()) % 4, 0U);
        EXPECT_EQ(file.metadata().at("format"), "pt");
    }
}

TEST(Safetensors, AnyByteThatIsNotZeroIsTrue) {
    const Folder folder;
    const std::string path = folder / "a";
    save_safetensors(path, {{"a", Tensor::from(std::vector<std::uint8_t>{0, 1, 2, 255})}});
    std::string text = read_text(path);
    text.replace(text.find("\"U8\""), 4, "\"BOOL\"");  // two of the padding go for it
    text.erase(text.find("  "), 2);
    write_text(path, text);
    const Tensor a = SafetensorsFile::open(path).tensor("a");
    EXPECT_EQ(a.dtype(), DType::boolean);
    EXPECT_EQ(bytes_of(a), std::string("\0\1\1\1", 4));
    EXPECT_EQ(a.cast(i32).sum().item<int>(), 3);
}

TEST(Safetensors, TensorsShareTheFileAndKeepIt) {
    const Folder folder;
    const std::string path = folder / "a.safetensors";
    const Tensor want = drawn(f32, {1000});
    save_safetensors(path, {{"a", want}, {"b", want + 1}});
    const auto is_mapped = [&] {
        return read_text("/proc/self/maps").find(path) != std::string::npos;
    };
    const std::uint64_t before = memory_stats().bytes;
    Tensor a = SafetensorsFile::open(path).tensor("a");
    EXPECT_EQ(memory_stats().bytes, before);
    EXPECT_EQ(a.op(), "data");
    EXPECT_TRUE(is_mapped());
    std::filesystem::remove(path);
    EXPECT_EQ(bytes_of(a), bytes_of(want));
    expect_same((a + 1).eval(), (want + 1).eval());
    a = Tensor();
    EXPECT_FALSE(is_mapped());
}

TEST(Safetensors, OnlyWhatIsTouchedIsRead) {
    const Folder folder;
    const std::string path = folder / "a.safetensors";
    constexpr std::int64_t kCount = std::int64_t{1}
                                    << 28;  // a gigabyte, of which the disk has none
    const std::string head = fmt::format(
        R"({{"w":{{"dtype":"F32","shape":[{}],"data_offsets":[0,{}]}}}})", kCount, 4 * kCount);
    std::string text(8, '\0');
    text[0] = static_cast<char>(120);
    text += head + std::string(120 - head.size(), ' ');
    write_text(path, text);
    std::filesystem::resize_file(path, 128 + 4 * kCount);
    const auto resident = [] {
        long total = 0;
        long pages = 0;
        std::sscanf(read_text("/proc/self/statm").c_str(), "%ld %ld", &total, &pages);
        return pages * 4096;
    };
    const long before = resident();
    const Tensor w = SafetensorsFile::open(path).tensor("w");
    EXPECT_EQ(w.slice({kCount - 5}, {kCount}, {1}).sum().item<float>(), 0);
    EXPECT_LT(resident() - before, 64 << 20);
}

TEST(Safetensors, AFileCanBeSavedOverItself) {
    const Folder folder;
    const std::string path = folder / "a.safetensors";
    const Tensor want = drawn(f32, {300, 300});
    save_safetensors(path, {{"a", want}});
    for (int i = 0; i < 3; ++i) {
        const SafetensorsFile file = SafetensorsFile::open(path);
        const Tensor a = file.tensor("a");
        save_safetensors(path, {{"other", a.transpose()}, {"a", a}});
        expect_same(a, want);
    }
    expect_same(SafetensorsFile::open(path).tensor("a"), want);
}

TEST(Safetensors, WeightsThatWereReleasedAreSaved) {
    const Folder folder;
    const Tensor w = rand({256, 256}).eval();
    const std::string want = bytes_of(w);
    w.freeze(Unpacked::release);
    matmul(rand({256, 256}), w).eval();
    save_safetensors(folder / "a", {{"w", w}});
    EXPECT_TRUE(bytes_of(SafetensorsFile::open(folder / "a").tensor("w")) == want);
}

TEST(Safetensors, BadCallsAreRefusedBeforeAnythingIsWritten) {
    const Folder folder;
    const std::string path = folder / "a";
    save_safetensors(path, {{"old", drawn(f32, {2})}});
    const std::string before = read_text(path);
    const Tensor x = zeros({2});
    const auto message = [&](const NamedTensors& tensors,
                             const std::map<std::string, std::string>& metadata = {}) {
        try {
            save_safetensors(path, tensors, metadata);
        } catch (const Error& e) {
            return std::string(e.what());
        }
        return std::string("no error");
    };
    EXPECT_THAT(message({{"", x}}), HasSubstr("'' cannot be the name of a tensor"));
    EXPECT_THAT(message({{"__metadata__", x}}),
                HasSubstr("'__metadata__' cannot be the name of a tensor"));
    EXPECT_THAT(message({{"x", x}, {"y", x}, {"x", x}}), HasSubstr("the name 'x' comes twice"));
    EXPECT_THAT(message({{"x", Tensor()}}), HasSubstr("'x' is no tensor"));
    EXPECT_THAT(message({{"x", zeros({2}, c128)}}),
                HasSubstr("tensor 'x' is c128[2], which safetensors files do not have"));
    EXPECT_THAT(message({{"\xff", x}}), HasSubstr("is not UTF-8"));
    EXPECT_THAT(message({{"x", x}}, {{"key", "\xc3"}}), HasSubstr("is not UTF-8"));
    EXPECT_THAT(message({{"x", x}}, {{"\xc3", "value"}}), HasSubstr("is not UTF-8"));
    EXPECT_THAT(message({{"x", gather(x, Tensor{7})}}), HasSubstr("index 7"));
    EXPECT_EQ(read_text(path), before);
    EXPECT_EQ(folder.count(), 1);

    const SafetensorsFile file = SafetensorsFile::open(path);
    EXPECT_FALSE(file.contains("x"));
    EXPECT_THROW(file.spec("x"), ArgumentError);
    EXPECT_THROW(file.tensor("x"), ArgumentError);
    EXPECT_THROW(SafetensorsFile::open(folder / "b"), FileError);
}

}  // namespace
}  // namespace lazuli
