#include <filesystem>
#include <fstream>

#include "example.h"

// Examples to learn from.

namespace examples {

namespace {

/// A file that goes with the example.
class TextFile {
   public:
    explicit TextFile(const char* text)
        : path_(std::filesystem::temp_directory_path() / "lazuli-example.txt") {
        std::ofstream(path_, std::ios::binary) << text;
    }
    ~TextFile() { std::filesystem::remove(path_); }
    TextFile(const TextFile&) = delete;
    TextFile& operator=(const TextFile&) = delete;
    std::string path() const { return path_; }

   private:
    std::filesystem::path path_;
};

}  // namespace

Examples datasets() {
    using namespace lazuli;
    Examples examples;
    LAZULI_EXAMPLE((Dataset::arrays, Dataset::size, Dataset::batch),
                   "3, [[[5, 6], [1, 2]], [30, 10]]", [] {
                       const Tensor x = {{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}};
                       const Dataset data = Dataset::arrays({x, Tensor{10, 20, 30}});
                       return std::pair(data.size(), data.batch({2, 0}));
                   });
    LAZULI_EXAMPLE((Dataset::npy, Dataset::specs), "[f32[2]], [[[3, 4]]]", [] {
        const std::string path = std::filesystem::temp_directory_path() / "lazuli-example.npy";
        save_npy(path, Tensor{{1.0, 2.0}, {3.0, 4.0}});
        const Dataset data = Dataset::npy({path});
        std::filesystem::remove(path);  // whoever has it open keeps it
        return std::pair(data.specs(), data.batch({1}));
    });
    LAZULI_EXAMPLE(Dataset::bytes, "3, [[[98, 99]], [[99, 100]]]", [] {
        const TextFile file("abcde");  // one with that text
        const Dataset data = Dataset::bytes(file.path(), /*context=*/2);
        return std::pair(data.size(), data.batch({1}));  // inputs, and targets one further
    });
    LAZULI_EXAMPLE((Dataset::text, Dataset::vocabulary), "3, abn, ana", [] {
        const TextFile file("banana");  // one with that text
        const Dataset data = Dataset::text(file.path(), /*context=*/3);
        const Batch batch = data.batch({1});
        const auto inputs = batch[0].to_vector<std::int32_t>();
        return std::tuple(data.size(), data.vocabulary().characters(),
                          data.vocabulary().decode(inputs));
    });
    LAZULI_EXAMPLE((Vocabulary, Vocabulary::size, Vocabulary::characters, Vocabulary::encode,
                    Vocabulary::decode),
                   "4, ehlo, [1, 3, 2, 0], hole", [] {
                       const Vocabulary vocabulary("hello");
                       const std::vector<std::int32_t> numbers = vocabulary.encode("hole");
                       return std::tuple(vocabulary.size(), vocabulary.characters(), numbers,
                                         vocabulary.decode(numbers));
                   });
    LAZULI_EXAMPLE(Dataset::split, "8, 2, [[8, 9]]", [] {
        const auto [training, validation] = Dataset::arrays({arange(10)}).split(0.8);
        return std::tuple(training.size(), validation.size(), validation.batch({0, 1}));
    });
    LAZULI_EXAMPLE((Batches, Batches::examples, Batches::per_epoch, Batches::epoch, Batches::at),
                   "10, 2, 1, [9, 0, 2, 5]", [] {
                       const Batches order(10, {.size = 4, .key = key(7)});
                       return std::tuple(order.examples(), order.per_epoch(), order.epoch(3),
                                         order.at(3));  // any step, at any time
                   });
    LAZULI_EXAMPLE(
        (Loader, Loader::next, Loader::step, Loader::waited), "[0, 1], [2, 3], 2, true", [] {
            const Dataset data = Dataset::arrays({arange(100)});
            Loader loader(data, Batches(data.size(), {.size = 2}), {.ahead = 4});
            const Batch first = loader.next();
            const Batch second = loader.next();
            return std::tuple(first[0], second[0], loader.step(), loader.waited().times <= 2);
        });
    LAZULI_EXAMPLE(Loader, "[0, 1, 4, 9]", [] {
        const Dataset data = Dataset::arrays({arange(100)});
        const Batches order(data.size(), {.size = 4});
        Loader loader([=](std::int64_t step) -> Batch {  // on another thread
            const Tensor x = data.batch(order.at(step))[0];
            return {x * x};
        });
        return loader.next()[0];
    });
    return examples;
}

}  // namespace examples
