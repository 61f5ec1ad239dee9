#include <fmt/format.h>

#include <optional>
#include <variant>

#include "data/characters.h"
#include "data/rows.h"
#include "data/windows.h"
#include "lazuli/error.h"

namespace lazuli {

struct Dataset::State {
    std::variant<data::Rows, data::Windows> source;
    std::optional<Vocabulary> vocabulary = {};

    /// What a function says of the source, whichever it is.
    template <class Function>
    auto ask(const Function& function) const {
        return std::visit(function, source);
    }
};

namespace {

std::string read_all(const std::string& path) {
    const OpenFile file(path);
    std::string text(file.size(), ' ');
    file.read(0, text.data(), text.size());
    return text;
}

data::Fail file_error(const std::string& path) {
    return [path](const std::string& what) { throw FileError(path, what); };
}

data::Windows text_windows(const std::string& path, std::string_view text, std::int64_t context,
                           const std::u32string& characters) {
    return {
        std::make_shared<const data::Numbers>(data::numbers_of(text, characters, file_error(path))),
        context, path};
}

}  // namespace

Dataset Dataset::arrays(const std::vector<Tensor>& columns) {
    return Dataset(std::make_shared<const State>(State{data::Rows::of_tensors(columns)}));
}

Dataset Dataset::npy(const std::vector<std::string>& paths) {
    return Dataset(std::make_shared<const State>(State{data::Rows::of_files(paths)}));
}

Dataset Dataset::bytes(const std::string& path, std::int64_t context) {
    return Dataset(std::make_shared<const State>(
        State{data::Windows(std::make_shared<const OpenFile>(path), context)}));
}

Dataset Dataset::text(const std::string& path, std::int64_t context) {
    const std::string text = read_all(path);
    const Vocabulary vocabulary(data::distinct_characters(text, file_error(path)));
    return Dataset(std::make_shared<const State>(
        State{text_windows(path, text, context, *vocabulary.characters_), vocabulary}));
}

Dataset Dataset::text(const std::string& path, std::int64_t context, const Vocabulary& vocabulary) {
    return Dataset(std::make_shared<const State>(
        State{text_windows(path, read_all(path), context, *vocabulary.characters_), vocabulary}));
}

std::int64_t Dataset::size() const {
    return state_->ask([](const auto& source) { return source.size(); });
}

std::vector<TensorSpec> Dataset::specs() const {
    return state_->ask([](const auto& source) { return source.specs(); });
}

const Vocabulary& Dataset::vocabulary() const {
    if (!state_->vocabulary)
        throw ArgumentError("Dataset::vocabulary: only Dataset::text has a vocabulary");
    return *state_->vocabulary;
}

Batch Dataset::batch(std::span<const std::int64_t> examples) const {
    const std::int64_t count = size();
    for (const std::int64_t example : examples) {
        if (example < 0 || example >= count) {
            throw IndexError(fmt::format("Dataset::batch: there is no example {}, they are 0 to {}",
                                         example, count - 1));
        }
    }
    return state_->ask([&](const auto& source) { return source.batch(examples); });
}

std::pair<Dataset, Dataset> Dataset::split(double fraction) const {
    if (!(fraction > 0 && fraction < 1)) {
        throw ArgumentError(
            fmt::format("Dataset::split: a fraction lies between 0 and 1, not {}", fraction));
    }
    return state_->ask([&](const auto& source) {
        auto [before, behind] = source.split(fraction);
        if (before.size() < 1 || behind.size() < 1) {
            throw ArgumentError(
                fmt::format("Dataset::split: a part of {} examples at {} leaves {} and {} examples",
                            size(), fraction, before.size(), behind.size()));
        }
        return std::pair(
            Dataset(std::make_shared<const State>(State{std::move(before), state_->vocabulary})),
            Dataset(std::make_shared<const State>(State{std::move(behind), state_->vocabulary})));
    });
}

}  // namespace lazuli
