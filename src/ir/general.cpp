#include "ir/general.h"

#include <algorithm>

#include "base/hash.h"
#include "ir/generaliser.h"
#include "ir/recording.h"
#include "ir/sizes.h"

namespace lazuli::ir {

Recording::Recording(const Words& words)
    : program(words.program.begin(), words.program.end()),
      rest(words.rest.begin(), words.rest.end()),
      params(words.params) {}

bool operator==(const Words& a, const Words& b) {
    return a.params == b.params && std::ranges::equal(a.program, b.program) &&
           std::ranges::equal(a.rest, b.rest);
}

namespace {

/// Calls `word` with all that is no number.
template <class Call>
void visit_form(const Words& words, const Call& word) {
    const std::size_t results = visit_params(words, [&](std::size_t at) { word(words.rest[at]); });
    std::ranges::for_each(words.rest.subspan(results), word);
    std::vector<std::uint64_t> attrs;
    visit_operations(words, [&](std::size_t at, const Layout& op) {
        std::ranges::for_each(words.program.subspan(at, op.shape - at), word);
        const auto own = words.program.subspan(op.attrs, op.next - op.attrs);
        attrs.assign(own.begin(), own.end());
        visit_numbers(def_of(words.program[at]), std::span(attrs),
                      [](std::uint64_t& number) { number = 0; });
        std::ranges::for_each(attrs, word);
    });
}

/// Calls `size` with each size of a parameter or a result.
template <class Call>
void visit_sizes(const Words& words, const Call& size) {
    visit_params(words, [&](std::size_t at) {
        const auto rank = static_cast<std::size_t>(header_rank(words.rest[at]));
        std::ranges::for_each(words.rest.subspan(at + 1, rank), size);
    });
    visit_operations(words, [&](std::size_t, const Layout& op) {
        std::ranges::for_each(words.program.subspan(op.shape, op.attrs - op.shape), size);
    });
}

}  // namespace

bool same_form(const Words& a, const Words& b) {
    if (a.program.size() != b.program.size() || a.rest.size() != b.rest.size() ||
        a.params != b.params)
        return false;
    std::vector<std::uint64_t> form;
    visit_form(a, [&](std::uint64_t word) { form.push_back(word); });
    std::size_t count = 0;
    bool same = true;
    visit_form(b, [&](std::uint64_t word) {
        same = same && count < form.size() && form[count] == word;
        ++count;
    });
    return same && count == form.size();
}

FormHash form_hash(const Words& words) {
    FormHash out;
    visit_form(words, [&](std::uint64_t word) { out.form = hash_mix(out.form, word); });
    out.ones = out.form;
    visit_sizes(words, [&](std::uint64_t size) {
        out.ones = hash_mix(out.ones, std::min<std::uint64_t>(size, 2));
    });
    return out;
}

std::vector<std::int64_t> numbers_of(const Words& words) {
    std::vector<std::int64_t> out;
    const auto add = [&](std::uint64_t word) { out.push_back(static_cast<std::int64_t>(word)); };
    visit_sizes(words, add);
    visit_operations(words, [&](std::size_t at, const Layout& op) {
        visit_numbers(def_of(words.program[at]),
                      words.program.subspan(op.attrs, op.next - op.attrs), add);
    });
    return out;
}

bool is_instance(const Program& program, const Words& words) {
    if (!std::ranges::equal(program.words(), words.program) ||
        program.params().size() != words.params)
        return false;
    bool same = true;
    std::size_t param = 0;
    const std::size_t results = visit_params(words, [&](std::size_t at) {
        const TensorSpec& spec = program.params()[param++].spec;
        const auto rank = static_cast<std::size_t>(header_rank(words.rest[at]));
        const auto is_size = [](std::int64_t a, std::uint64_t b) {
            return a == static_cast<std::int64_t>(b);
        };
        same = same && words.rest[at] == header_word(0, spec.dtype, spec.shape.rank(), 0, 0) &&
               std::ranges::equal(spec.shape.raw(), words.rest.subspan(at + 1, rank), is_size);
    });
    return same && std::ranges::equal(program.results(), words.rest.subspan(results),
                                      [](const ProgramResult& result, std::uint64_t raw) {
                                          return result.value.raw == raw;
                                      });
}

std::optional<General> General::of(std::span<const Words> recordings,
                                   const std::function<bool(const General&)>& accept) {
    std::size_t budget = 50'000;  // operations, some ten microseconds each
    for (const bool divides : {false, true}) {
        for (const bool fits_params : {false, true}) {
            for (const int starts_late : {0, 1, 2}) {
                for (const bool ends_early : {false, true}) {
                    auto out = Generaliser(recordings,
                                           {fits_params, divides, starts_late, ends_early}, budget)
                                   .run();
                    if (out && accept(*out)) return out;
                }
            }
        }
    }
    return std::nullopt;
}

std::optional<std::vector<SizeBinding>> General::values_in(const Words& words) const {
    std::vector<SizeBinding> out;
    for (const Source& source : sources_) {
        const auto number =
            static_cast<std::int64_t>((source.in_rest ? words.rest : words.program)[source.at]);
        const Bounds bounds = source.variable.bounds();
        const std::int64_t value = number / source.step;
        if (number % source.step != 0 || value < bounds.low || value > bounds.high)
            return std::nullopt;
        out.emplace_back(source.variable.str(), value);
    }
    return out;
}

}  // namespace lazuli::ir
