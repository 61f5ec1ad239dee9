#pragma once

/// @file
/// Data for training: examples from memory and files, their order, and a thread that has the next
/// batches ready.
///
///     const auto [training, validation] = Dataset::text("input.txt", 128).split(0.9);
///     const Batches order(training.size(), {.size = 32, .key = key(7)});
///     Loader loader(training, order);
///     for (int step = 0; step < 1000; ++step) {
///         const Batch batch = loader.next();
///         learn(batch[0], batch[1]);  // inputs and targets, i32[32, 128]
///     }

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lazuli/tensor.h"

namespace lazuli {

/// Some examples: a tensor a column, such as inputs and targets, each [examples, ...].
using Batch = std::vector<Tensor>;

/// The characters of a text, each with a number: its place among them in the order of Unicode.
/// Copying this copies a reference.
class Vocabulary {
   public:
    /// The characters of a text in UTF-8; ArgumentError where it is none, with the place.
    explicit Vocabulary(std::string_view text);

    /// How many there are.
    std::int64_t size() const;
    /// All of them in their order, in UTF-8. A vocabulary made of that is this one again.
    std::string characters() const;
    /// The numbers of a text's characters; ArgumentError for one that is not here, with its place.
    std::vector<std::int32_t> encode(std::string_view text) const;
    /// The text of numbers, in UTF-8; IndexError for one that no character has.
    std::string decode(std::span<const std::int32_t> numbers) const;

   private:
    friend class Dataset;
    explicit Vocabulary(std::u32string characters)
        : characters_(std::make_shared<const std::u32string>(std::move(characters))) {}
    std::shared_ptr<const std::u32string> characters_;
};

/// Examples that can be asked for by their number. Files stay on the disk, and only what a batch
/// asks for is read. Copying this copies a reference; any threads may use it at once.
///
/// A file may be replaced by another of its name meanwhile: whoever has it open keeps the old one.
/// Where it is cut off in place, `batch` throws FileError.
class Dataset {
   public:
    /// Rows of tensors, which are evaluated: example i has row i of each. ShapeError where they do
    /// not have equally many, and for one of rank 0.
    static Dataset arrays(const std::vector<Tensor>& columns);
    /// Rows of .npy files, of all types that `load_npy` reads: example i has row i of each.
    /// FileError where one is not such a file, is in Fortran order (whose rows lie scattered:
    /// `arrays` takes what `load_npy` makes of it), has no rows, or another number of them.
    static Dataset npy(const std::vector<std::string>& paths);
    /// Bytes of a file, as numbers: example i has the `context` bytes from position i on, and the
    /// `context` bytes from position i + 1 on, both i32. FileError where the file has no more than
    /// `context` bytes.
    static Dataset bytes(const std::string& path, std::int64_t context);
    /// The same for the characters of a file in UTF-8, as numbers in the vocabulary that they make.
    /// The numbers are kept in memory, with one, two or four bytes each. FileError where the file
    /// is not UTF-8, with the place.
    static Dataset text(const std::string& path, std::int64_t context);
    /// The same with the vocabulary of another text. FileError for a character that is not in it,
    /// with its place.
    static Dataset text(const std::string& path, std::int64_t context,
                        const Vocabulary& vocabulary);

    /// How many examples there are.
    std::int64_t size() const;
    /// Type and shape of each column of one example.
    std::vector<TensorSpec> specs() const;
    /// The characters of a text; ArgumentError for another dataset.
    const Vocabulary& vocabulary() const;
    /// Examples by their numbers, in that order, as tensors on the default device. IndexError for a
    /// number that none has.
    Batch batch(std::span<const std::int64_t> examples) const;
    /// Examples by their numbers.
    Batch batch(std::initializer_list<std::int64_t> examples) const {
        return batch(std::span(examples.begin(), examples.size()));
    }
    /// The first part and the rest, for training and validation: `fraction` of the rows, or of the
    /// bytes or characters, lie in the first. No byte or character is in examples of both.
    /// ArgumentError where one part would have no example.
    std::pair<Dataset, Dataset> split(double fraction) const;

   private:
    struct State;
    explicit Dataset(std::shared_ptr<const State> state) : state_(std::move(state)) {}
    std::shared_ptr<const State> state_;
};

/// How examples are put into batches.
struct BatchOptions {
    std::int64_t size = 32;  ///< Examples a batch.
    Tensor key = {};         ///< Shuffles them, as `key(7)`; without one they come in their order.
    bool keep_rest = false;  ///< An epoch ends with a smaller batch; else what is left is left out.
};

/// Which examples are in the batch of a step, for steps 0, 1, ... without end. In an epoch each
/// example comes once, and the next one has another order, which depends on the key, the number of
/// examples and the number of the epoch alone, on every machine. Any step can be asked for at any
/// time, so that work that was broken off goes on with the batches it would have had. Nothing is
/// kept: an order of billions takes no memory.
class Batches {
   public:
    /// Batches of so many examples. ArgumentError where there would be none, and for what is no
    /// key.
    explicit Batches(std::int64_t examples, const BatchOptions& options = {});

    /// How many examples there are.
    std::int64_t examples() const { return examples_; }
    /// How many batches an epoch has.
    std::int64_t per_epoch() const;
    /// The epoch of a step; IndexError for a negative one.
    std::int64_t epoch(std::int64_t step) const;
    /// The examples of a step, by their numbers; IndexError for a negative one.
    std::vector<std::int64_t> at(std::int64_t step) const;

   private:
    std::int64_t examples_;
    std::int64_t size_;
    std::uint64_t key_ = 0;
    bool shuffled_;
    bool keep_rest_;
};

/// How a loader runs.
struct LoaderOptions {
    std::int64_t first = 0;  ///< The step that `next` begins with.
    std::int64_t ahead = 3;  ///< Batches that are made before somebody asks for them, at most.
};

/// How often and how long `Loader::next` had to wait for a batch that was not ready.
struct Waited {
    std::int64_t times = 0;               ///< Of so many calls the batch was not ready.
    std::chrono::nanoseconds total = {};  ///< All of them together.
};

/// Makes the batches of steps on a thread of its own, ahead of who asks for them. It may be
/// destroyed at any moment when nobody is in `next`; a batch that is being made is waited for. A
/// process that is forked from the one that made it cannot use it: every function throws Error.
class Loader {
   public:
    /// The batches of a dataset in an order; ArgumentError where that is the order of another
    /// number of examples.
    Loader(Dataset data, Batches batches, const LoaderOptions& options = {});
    /// What a function makes of the number of a step, such as a batch that is changed at random. It
    /// is called on the thread of this loader alone, and its results are evaluated there.
    explicit Loader(std::function<Batch(std::int64_t step)> make,
                    const LoaderOptions& options = {});
    ~Loader();
    /// Hands the thread over; the other has none.
    Loader(Loader&& other) noexcept;
    /// Hands the thread over; the other has none.
    Loader& operator=(Loader&& other) noexcept;

    /// The batch of the next step; waits where it is not ready. Throws what making it threw, and
    /// from then on always. Any thread may call it; each gets batches of its own.
    Batch next();
    /// The step that `next` gives next, as `LoaderOptions::first` takes it to go on from here.
    std::int64_t step() const;
    /// How often and how long `next` waited. The first batch is seldom ready.
    Waited waited() const;

   private:
    struct State;
    State& live(std::string_view asked) const;
    std::unique_ptr<State> state_;
};

}  // namespace lazuli
