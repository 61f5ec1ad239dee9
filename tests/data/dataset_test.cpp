// Examples from memory and files.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>
#include <numeric>

#include "data/utf8.h"
#include "folder.h"
#include "frontend/record.h"
#include "lazuli/data.h"
#include "lazuli/factories.h"
#include "lazuli/index.h"
#include "lazuli/io.h"
#include "lazuli/ops.h"
#include "long_option.h"
#include "messages.h"
#include "random.h"
#include "runtime/values.h"

namespace lazuli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::Folder;
using tests::message_of;
using tests::write_text;

std::string bytes_of(const Tensor& tensor) {
    tensor.eval();
    std::string out(static_cast<std::size_t>(tensor.spec().nbytes()), '\0');
    runtime::download(*frontend::node_of(tensor), out.data());
    return out;
}

/// Elements of any bits.
Tensor drawn(tests::Random& random, DType dtype, const Shape& shape) {
    const TensorSpec spec{dtype, shape};
    std::string bytes(static_cast<std::size_t>(spec.nbytes()), '\0');
    for (char& byte : bytes)
        byte = static_cast<char>(dtype == DType::boolean ? random.below(2) : random.next());
    return frontend::make_data(spec, bytes.data());
}

/// The rows of a tensor one by one, the plain way.
std::string rows_of(const Tensor& tensor, const std::vector<std::int64_t>& rows) {
    std::string out;
    for (const std::int64_t row : rows) out += bytes_of(tensor[row].contiguous());
    return out;
}

std::vector<std::int64_t> some(tests::Random& random, std::int64_t size) {
    std::vector<std::int64_t> out(random.below(10));
    for (std::int64_t& example : out) example = random.between(0, size - 1);
    if (random.one_in(3)) std::iota(out.begin(), out.end(), 0);  // rows that lie together
    for (std::int64_t& example : out) example %= size;
    return out;
}

void expect_rows(const Dataset& data, const std::vector<Tensor>& columns, tests::Random& random) {
    ASSERT_EQ(data.size(), columns[0].size(0));
    for (int round = 0; round < 5; ++round) {
        const auto examples = some(random, data.size());
        const Batch batch = data.batch(examples);
        ASSERT_EQ(batch.size(), columns.size());
        for (std::size_t i = 0; i < columns.size(); ++i) {
            EXPECT_EQ(batch[i].dtype(), columns[i].dtype());
            EXPECT_EQ(batch[i].size(0), std::ssize(examples));
            EXPECT_EQ(batch[i].rank(), columns[i].rank());
            EXPECT_TRUE(batch[i].is_materialized());
            EXPECT_TRUE(bytes_of(batch[i]) == rows_of(columns[i], examples))
                << columns[i].spec().str();
        }
    }
}

// ---- rows

TEST(Arrays, GiveTheRowsOfTensors) {
    const Tensor x = {{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}};
    const Dataset data = Dataset::arrays({x, Tensor{7, 8, 9}});
    EXPECT_EQ(data.size(), 3);
    EXPECT_THAT(data.specs(), ElementsAre(TensorSpec{f32, {2}}, TensorSpec{i32, {}}));
    const Batch batch = data.batch({2, 0, 2});
    EXPECT_EQ(batch[0].spec(), (TensorSpec{f32, {3, 2}}));
    EXPECT_THAT(batch[0].to_vector<float>(), ElementsAre(5, 6, 1, 2, 5, 6));
    EXPECT_THAT(batch[1].to_vector<std::int32_t>(), ElementsAre(9, 7, 9));
    EXPECT_EQ(data.batch({})[0].spec(), (TensorSpec{f32, {0, 2}}));
}

TEST(Arrays, OfEveryTypeAndHoweverTheyLie) {
    tests::Random random(tests::seed);
    for (int i = 0; i < kDTypeCount; ++i) {
        const Tensor x = drawn(random, static_cast<DType>(i), {6, 3, 2});
        const std::vector<Tensor> columns = {
            x,
            x.permute({1, 0, 2}).permute({1, 2, 0}),
            drawn(random, static_cast<DType>(i), {9})(slice(2, 8)),
            drawn(random, static_cast<DType>(i), {3, 6}).transpose(),
            x.flip({0}),
            x(ellipsis, slice(0, 0))};
        expect_rows(Dataset::arrays(columns), columns, random);
    }
    const std::vector<Tensor> lazy = {zeros({4, 2}), arange(4), ones({4, 3}) + 1.0};
    expect_rows(Dataset::arrays(lazy), lazy, random);
}

TEST(Arrays, StayAsTheyWere) {
    Tensor x = ones({1000});
    x.eval();
    const Dataset data = Dataset::arrays({x});
    Tensor y = std::move(x) + 1.0;  // which would take the memory of x, if it could
    x = Tensor();
    y.eval();
    EXPECT_THAT(data.batch({999})[0].to_vector<float>(), ElementsAre(1));
}

TEST(Arrays, SayWhatIsWrong) {
    EXPECT_THAT(message_of([] { Dataset::arrays({}); }), HasSubstr("there are no columns"));
    EXPECT_THAT(message_of([] { Dataset::arrays({ones({3, 2}), Tensor{1, 2}}); }),
                HasSubstr("columns have different numbers of rows: column 0 is f32[3, 2], column 1 "
                          "is i32[2] (3 vs 2)"));
    EXPECT_THAT(message_of([] { Dataset::arrays({Tensor(7)}); }),
                HasSubstr("column 0 is i32[] and has no rows"));
    EXPECT_THROW(Dataset::arrays({Tensor()}), ArgumentError);
    const Dataset data = Dataset::arrays({ones({3})});
    EXPECT_THAT(message_of([&] { data.batch({0, 3}); }),
                HasSubstr("Dataset::batch: there is no example 3, they are 0 to 2"));
    EXPECT_THROW(data.batch({-1}), IndexError);
    EXPECT_THROW(data.vocabulary(), ArgumentError);
}

TEST(Npy, GivesTheRowsOfFiles) {
    tests::Random random(tests::seed);
    const Folder folder;
    std::vector<Tensor> columns;
    std::vector<std::string> paths;
    for (int i = 0; i < kDTypeCount; ++i) {
        for (const Shape& shape : {Shape{7}, Shape{7, 3}, Shape{7, 2, 0}, Shape{7, 1, 5}}) {
            columns.push_back(drawn(random, static_cast<DType>(i), shape));
            paths.push_back(folder / fmt::format("{}.npy", paths.size()));
            save_npy(paths.back(), columns.back());
        }
    }
    expect_rows(Dataset::npy(paths), columns, random);
}

/// A .npy file as numpy writes it.
void write_npy(const std::string& path, const std::string& dictionary, std::string_view elements) {
    const std::string text = dictionary + "\n";
    std::string file = "\x93NUMPY";
    file += {1, 0, static_cast<char>(text.size()), 0};
    write_text(path, file + text + std::string(elements));
}

TEST(Npy, TakesTheOtherByteOrder) {
    const Folder folder;
    const std::string path = folder / "a.npy";
    using namespace std::string_view_literals;
    write_npy(path, "{'descr': '>i2', 'fortran_order': False, 'shape': (2, 2), }",
              "\0\1\1\0\0\2\0\3"sv);
    const Batch batch = Dataset::npy({path}).batch({1, 0});
    EXPECT_THAT(batch[0].to_vector<std::int16_t>(), ElementsAre(2, 3, 1, 256));
    EXPECT_THAT(load_npy(path).to_vector<std::int16_t>(), ElementsAre(1, 256, 2, 3));
    write_npy(path, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", "\0\2\1"sv);
    EXPECT_EQ(bytes_of(Dataset::npy({path}).batch({1, 0, 2})[0]), "\1\0\1"sv);
}

TEST(Npy, SaysWhatIsWrong) {
    const Folder folder;
    const std::string path = folder / "a.npy";
    const auto open = [&] { return message_of([&] { Dataset::npy({path}); }); };
    EXPECT_THAT(message_of([] { Dataset::npy({}); }), HasSubstr("there are no files"));
    EXPECT_THAT(open(), HasSubstr("a.npy: cannot be read: No such file or directory"));
    write_text(path, "");
    EXPECT_THAT(open(), HasSubstr("a.npy: is no .npy file"));
    write_text(path, "not such a file");
    EXPECT_THAT(open(), HasSubstr("a.npy: is no .npy file"));
    write_npy(path, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "1234");
    EXPECT_THAT(open(), HasSubstr("f32[2] needs 8 bytes, the file has 4"));
    write_npy(path, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "1234");
    EXPECT_THAT(open(), HasSubstr("f32[] has no rows"));
    write_npy(path, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }", "1234");
    EXPECT_THAT(open(), HasSubstr("u8[2, 2] is in Fortran order"));
    write_npy(path, "{'descr': '|u1', 'fortran_order': True, 'shape': (1, 4, 1), }", "1234");
    EXPECT_EQ(bytes_of(Dataset::npy({path}).batch({0})[0]), "1234");
    save_npy(folder / "b.npy", ones({2, 3}));
    EXPECT_THAT(message_of([&] { Dataset::npy({path, folder / "b.npy"}); }),
                testing::AllOf(HasSubstr("b.npy: f32[2, 3] has another number of rows than "
                                         "u8[1, 4, 1] of "),
                               HasSubstr("a.npy (2 vs 1)")));
}

TEST(Npy, MayBeReplacedButNotCutOff) {
    const Folder folder;
    const std::string path = folder / "a.npy";
    save_npy(path, arange(100));
    const Dataset data = Dataset::npy({path});
    std::filesystem::copy(path, folder / "b.npy");
    std::filesystem::rename(folder / "b.npy", path);
    const Dataset replaced = Dataset::npy({path});
    std::filesystem::resize_file(path, 200);
    EXPECT_THAT(data.batch({99})[0].to_vector<std::int64_t>(), ElementsAre(99));
    EXPECT_THAT(replaced.batch({0})[0].to_vector<std::int64_t>(), ElementsAre(0));
    EXPECT_THAT(message_of([&] { replaced.batch({0, 99}); }), HasSubstr("a.npy: is cut off"));
}

// ---- windows

TEST(Bytes, AreWindowsAndTheSameOneFurther) {
    const Folder folder;
    write_text(folder / "a", "hello\xff");
    const Dataset data = Dataset::bytes(folder / "a", 3);
    EXPECT_EQ(data.size(), 3);
    EXPECT_THAT(data.specs(), ElementsAre(TensorSpec{i32, {3}}, TensorSpec{i32, {3}}));
    const Batch batch = data.batch({2, 0});
    EXPECT_EQ(batch[0].spec(), (TensorSpec{i32, {2, 3}}));
    EXPECT_THAT(batch[0].to_vector<std::int32_t>(), ElementsAre('l', 'l', 'o', 'h', 'e', 'l'));
    EXPECT_THAT(batch[1].to_vector<std::int32_t>(), ElementsAre('l', 'o', 255, 'e', 'l', 'l'));
}

TEST(Bytes, SayWhatIsWrong) {
    const Folder folder;
    write_text(folder / "a", "abc");
    EXPECT_EQ(Dataset::bytes(folder / "a", 2).size(), 1);
    EXPECT_THAT(message_of([&] { Dataset::bytes(folder / "a", 3); }),
                HasSubstr("a: has 3 bytes, and a window of 3 and the one behind it need 4"));
    EXPECT_THAT(message_of([&] { Dataset::bytes(folder / "a", 0); }),
                HasSubstr("a: windows of 0 bytes"));
    EXPECT_THROW(Dataset::bytes(folder / "b", 1), FileError);
    const Dataset data = Dataset::bytes(folder / "a", 1);
    std::filesystem::resize_file(folder / "a", 1);
    EXPECT_THAT(message_of([&] { data.batch({0}); }),
                HasSubstr("a: is cut off: bytes 0 to 2 were wanted, and it ends at 1"));
}

TEST(Text, HasNumbersInItsVocabulary) {
    const Folder folder;
    write_text(folder / "a", "naïve 😀né");
    const Dataset data = Dataset::text(folder / "a", 4);
    EXPECT_EQ(data.vocabulary().characters(), " aenvéï😀");
    EXPECT_EQ(data.vocabulary().size(), 8);
    EXPECT_EQ(data.size(), 5);
    const Batch batch = data.batch({0, 4});
    EXPECT_EQ(data.vocabulary().decode(batch[0].to_vector<std::int32_t>()), "naïve 😀n");
    EXPECT_EQ(data.vocabulary().decode(batch[1].to_vector<std::int32_t>()), "aïve 😀né");
}

TEST(Text, TakesTheVocabularyOfAnother) {
    const Folder folder;
    write_text(folder / "a", "cab");
    const Vocabulary vocabulary("abcd");
    const Dataset data = Dataset::text(folder / "a", 2, vocabulary);
    EXPECT_THAT(data.batch({0})[0].to_vector<std::int32_t>(), ElementsAre(2, 0));
    EXPECT_EQ(data.vocabulary().size(), 4);
    write_text(folder / "a", "caéb");
    EXPECT_THAT(message_of([&] { Dataset::text(folder / "a", 2, vocabulary); }),
                HasSubstr("a: has 'é' (U+00E9) at byte 2, which is not in the vocabulary of 4"));
}

TEST(Text, OfManyCharacters) {
    const Folder folder;
    for (const char32_t last : {U'\x00ff', U'\x0100', U'\x4000', U'\x12000'}) {
        std::string text;
        for (char32_t c = 0; c <= last; ++c) {
            if (c < 0xd800 || c >= 0xe000) data::put_character(text, c);
        }
        write_text(folder / "a", text);
        const Dataset data = Dataset::text(folder / "a", 1);
        const std::int64_t count = data.vocabulary().size();
        EXPECT_EQ(data.size(), count - 1);
        EXPECT_EQ(data.vocabulary().characters(), text);
        const Batch batch = data.batch({0, count - 2});
        EXPECT_THAT(batch[0].to_vector<std::int32_t>(), ElementsAre(0, count - 2));
        EXPECT_THAT(batch[1].to_vector<std::int32_t>(), ElementsAre(1, count - 1));
    }
}

TEST(Text, SaysWhereItIsNotUtf8) {
    const Folder folder;
    const auto open = [&](std::string_view text) {
        write_text(folder / "a", text);
        return message_of([&] { Dataset::text(folder / "a", 1); });
    };
    EXPECT_THAT(open("abc\xff"), HasSubstr("a: is not UTF-8 at byte 3 (0xff)"));
    EXPECT_THAT(open("é\x80"), HasSubstr("at byte 2 (0x80)"));      // no first byte
    EXPECT_THAT(open("a\xc3"), HasSubstr("at byte 1 (0xc3)"));      // cut off
    EXPECT_THAT(open("a\xc3z"), HasSubstr("at byte 1 (0xc3)"));     // broken off
    EXPECT_THAT(open("a\xc0\x80"), HasSubstr("at byte 1 (0xc0)"));  // longer than needed
    EXPECT_THAT(open("a\xe0\x80\x80"), HasSubstr("at byte 1 (0xe0)"));
    EXPECT_THAT(open("a\xed\xa0\x80"), HasSubstr("at byte 1 (0xed)"));      // half of a pair
    EXPECT_THAT(open("a\xf4\x90\x80\x80"), HasSubstr("at byte 1 (0xf4)"));  // beyond all
    EXPECT_THAT(open("é"), HasSubstr("a: has 1 characters"));
    EXPECT_THAT(open(""), HasSubstr("a: has 0 characters"));
}

TEST(VocabularyTest, EncodesAndDecodes) {
    const Vocabulary vocabulary("hello");
    EXPECT_EQ(vocabulary.characters(), "ehlo");
    EXPECT_THAT(vocabulary.encode("hole"), ElementsAre(1, 3, 2, 0));
    EXPECT_EQ(vocabulary.decode(std::vector<std::int32_t>{1, 3, 2, 0}), "hole");
    EXPECT_EQ(Vocabulary(vocabulary.characters()).characters(), "ehlo");
    EXPECT_THAT(message_of([&] { (void)vocabulary.encode("he\n"); }),
                HasSubstr("Vocabulary: the text has U+000A at byte 2, which is not in the "
                          "vocabulary of 4 characters"));
    EXPECT_THAT(message_of([&] { (void)vocabulary.encode("h\xff"); }),
                HasSubstr("Vocabulary: the text is not UTF-8 at byte 1 (0xff)"));
    EXPECT_THROW(Vocabulary("\xff"), ArgumentError);
    EXPECT_THROW((void)vocabulary.decode(std::vector<std::int32_t>{4}), IndexError);
    EXPECT_THROW((void)vocabulary.decode(std::vector<std::int32_t>{-1}), IndexError);
}

// ---- parts

TEST(Split, OfRows) {
    const auto [training, validation] = Dataset::arrays({arange(10)}).split(0.7);
    EXPECT_EQ(training.size(), 7);
    EXPECT_EQ(validation.size(), 3);
    EXPECT_THAT(training.batch({0, 6})[0].to_vector<std::int64_t>(), ElementsAre(0, 6));
    EXPECT_THAT(validation.batch({0, 2})[0].to_vector<std::int64_t>(), ElementsAre(7, 9));
    EXPECT_THROW(training.batch({7}), IndexError);
    const auto [third, fourth] = validation.split(0.5);
    EXPECT_THAT(fourth.batch({0})[0].to_vector<std::int64_t>(), ElementsAre(9));
    EXPECT_EQ(third.size() + fourth.size(), 3);
}

TEST(Split, OfWindowsSharesNothing) {
    const Folder folder;
    std::string text;
    for (int i = 0; i < 100; ++i) text += static_cast<char>(i);
    write_text(folder / "a", text);
    for (const Dataset& data : {Dataset::bytes(folder / "a", 4), Dataset::text(folder / "a", 4)}) {
        const auto [training, validation] = data.split(0.8);
        EXPECT_EQ(training.size(), 76);
        EXPECT_EQ(validation.size(), 16);
        EXPECT_THAT(training.batch({75})[1].to_vector<std::int32_t>(), ElementsAre(76, 77, 78, 79));
        EXPECT_THAT(validation.batch({0})[0].to_vector<std::int32_t>(),
                    ElementsAre(80, 81, 82, 83));
        EXPECT_THAT(validation.batch({15})[1].to_vector<std::int32_t>(),
                    ElementsAre(96, 97, 98, 99));
    }
    EXPECT_EQ(Dataset::text(folder / "a", 4).split(0.5).second.vocabulary().size(), 100);
}

TEST(Split, SaysWhatIsWrong) {
    const Dataset data = Dataset::arrays({ones({3})});
    for (const double fraction : {0.0, 1.0, -1.0, 2.0, std::numeric_limits<double>::quiet_NaN()})
        EXPECT_THROW(data.split(fraction), ArgumentError) << fraction;
    EXPECT_THAT(message_of([&] { data.split(0.1); }),
                HasSubstr("Dataset::split: a part of 3 examples at 0.1 leaves 0 and 3 examples"));
    const Folder folder;
    write_text(folder / "a", "0123456789");
    EXPECT_THAT(message_of([&] { Dataset::bytes(folder / "a", 5).split(0.5); }),
                HasSubstr("5 examples at 0.5 leaves 0 and 0 examples"));
}

}  // namespace
}  // namespace lazuli
