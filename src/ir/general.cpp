#include "ir/general.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "base/hash.h"
#include "ir/encoding.h"
#include "ir/sizes.h"
#include "lazuli/error.h"

namespace lazuli::ir {

namespace {

/// Where the words of an operation are.
struct Layout {
    std::size_t shape = 0;
    std::size_t attrs = 0;
    std::size_t next = 0;

    Layout(std::uint64_t header, std::size_t at)
        : shape(at + 1 + input_words(header_inputs(header))),
          attrs(shape + static_cast<std::size_t>(header_rank(header))),
          next(at + operation_length(header)) {}
};

const OpDef& def_of(std::uint64_t header) { return op_def(static_cast<OpId>(header_op(header))); }

/// Calls `param` with the place of each parameter's header in the rest; returns where the results
/// begin.
template <class Call>
std::size_t visit_params(const Words& words, const Call& param) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < words.params; ++i) {
        param(at);
        at += 1 + static_cast<std::size_t>(header_rank(words.rest[at]));
    }
    return at;
}

/// Calls `operation` with the place of each operation's header and where its words are.
template <class Call>
void visit_operations(const Words& words, const Call& operation) {
    for (std::size_t at = 0; at < words.program.size();) {
        const Layout layout(words.program[at], at);
        operation(at, layout);
        at = layout.next;
    }
}

}  // namespace

Recording::Recording(const Words& words)
    : program(words.program.begin(), words.program.end()),
      rest(words.rest.begin(), words.rest.end()),
      params(words.params) {}

bool operator==(const Words& a, const Words& b) {
    return std::ranges::equal(a.program, b.program) && std::ranges::equal(a.rest, b.rest);
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
    std::size_t same = 0;
    visit_form(b, [&](std::uint64_t word) {
        if (same < form.size() && form[same] == word) ++same;
    });
    return same == form.size();
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

// ---- finding the program ----

namespace {

using Values = std::vector<std::int64_t>;  // of a number, one a recording

bool is_constant(const Values& values) {
    return std::ranges::adjacent_find(values, std::not_equal_to<>()) == values.end();
}

/// The same expression with a variable in the place of another.
Dim renamed(Dim size, Dim from, Dim to) {
    if (size.is_concrete()) return size;
    return Dim(size.expr().substitute([&](Expr variable) -> std::optional<Expr> {
        return Dim(variable) == from ? std::optional(to.expr()) : std::nullopt;
    }));
}

std::uint64_t renamed(std::uint64_t word, Dim from, Dim to) {
    const auto raw = static_cast<std::int64_t>(word);
    if (!detail::is_expression(raw)) return word;
    return static_cast<std::uint64_t>(renamed(Dim::from_raw(raw), from, to).raw());
}

}  // namespace

/// Builds the program anew, operation by operation, as inference says. Sizes of parameters that
/// differ become variables; other numbers that differ must be some simple function of these.
class Generaliser {
   public:
    /// What is tried where the plain way finds no program.
    struct Way {
        // Sizes of parameters that are functions of sizes before them are no variables. Plainly,
        // each that differs is one until two must be the same.
        bool fits_params = false;
        bool divides = false;      // variables count what divides all sizes seen
        bool starts_late = false;  // variables are not below what was seen: a window must fit
        bool ends_early = false;   // nor far above it: products of several must fit 64 bits
    };

    Generaliser(std::span<const Words> recordings, Way way) : recordings_(recordings), way_(way) {}

    std::optional<General> run() {
        while (true) {
            builder_ = std::make_unique<ProgramBuilder>();
            sources_.clear();
            known_.clear();
            bindings_.assign(recordings_.size(), {});
            site_count_ = 0;
            params_.clear();
            operations_.clear();
            joined_ = false;
            if (is_built()) break;
            if (!joined_) return std::nullopt;
        }
        General out;
        out.program_ = builder_->build();
        out.sources_ = std::move(sources_);
        for (const Words& words : recordings_) {
            const auto values = out.values_in(words);
            if (!values || !is_instance(out.program_.instantiate(*values), words))
                return std::nullopt;
        }
        return out;
    }

   private:
    static constexpr std::int64_t kHighest = std::int64_t{1} << 31;
    static constexpr std::size_t kNowhere = SIZE_MAX;

    // ---- numbers of the recordings

    Values at(bool in_rest, std::size_t place) const {
        Values out;
        for (const Words& words : recordings_)
            out.push_back(static_cast<std::int64_t>((in_rest ? words.rest : words.program)[place]));
        return out;
    }

    const Values& values_of(Dim size) {
        const auto [found, is_new] = known_.try_emplace(size.raw());
        if (is_new) {
            for (const auto& values : bindings_) found->second.push_back(size.evaluate(values));
        }
        return found->second;
    }

    // ---- variables

    Dim add_variable(const Values& values, General::Source source, std::size_t site,
                     std::int64_t high = kHighest) {
        source.step = way_.divides ? step_of(values) : 1;
        const std::int64_t low = way_.starts_late ? std::ranges::min(values) / source.step : 2;
        // A name stands for its bounds.
        if (way_.ends_early) high = std::min(high, 16 * std::ranges::max(values) / source.step);
        std::string name = fmt::format("_s{}", sources_.size());
        if (low != 2 || high != kHighest) name += fmt::format("_{}_{}", low, high);
        source.variable = dim(name, low, high);
        for (std::size_t i = 0; i < values.size(); ++i)
            bindings_[i].emplace_back(name, values[i] / source.step);
        sources_.push_back(source);
        site_of_[source.variable.raw()] = site;
        return source.variable * source.step;
    }

    /// What divides all values and leaves 2 of each at least.
    static std::int64_t step_of(const Values& values) {
        std::int64_t step = 0;
        for (const std::int64_t value : values) step = std::gcd(step, value);
        const std::int64_t least = std::ranges::min(values);
        for (std::int64_t part = 1; part <= step; ++part) {
            if (step % part == 0 && least / (step / part) >= 2) return step / part;
        }
        return 1;
    }

    Dim param_size(std::size_t place) {
        const Values values = at(true, place);
        if (is_constant(values)) return values[0];
        if (way_.fits_params) {
            if (const auto size = fitted(values, {})) return *size;
        }
        const std::size_t site = site_count_++;
        while (site >= same_as_.size()) same_as_.push_back(same_as_.size());
        for (const General::Source& source : sources_) {
            if (site_of_.at(source.variable.raw()) == same_as_[site])
                return source.variable * source.step;
        }
        return add_variable(values, {.in_rest = true, .at = place}, site);
    }

    // ---- numbers as functions of variables

    std::optional<Dim> scaled(const Values& values, Dim base) {
        const Values& of = values_of(base);
        if (of[0] == 0 || values[0] % of[0] != 0) return std::nullopt;
        const std::int64_t factor = values[0] / of[0];
        for (std::size_t i = 0; i < of.size(); ++i) {
            std::int64_t product = 0;
            if (__builtin_mul_overflow(of[i], factor, &product) || product != values[i])
                return std::nullopt;
        }
        return base * factor;
    }

    /// factor * base + something.
    std::optional<Dim> shifted(const Values& values, Dim base, bool may_scale) {
        const Values& of = values_of(base);
        std::size_t other = 1;
        while (other < of.size() && of[other] == of[0]) ++other;
        if (other == of.size()) return std::nullopt;
        const std::int64_t run = of[other] - of[0];
        const std::int64_t rise = values[other] - values[0];
        if (rise == 0 || rise % run != 0) return std::nullopt;
        const std::int64_t factor = rise / run;
        if (factor != 1 && !may_scale) return std::nullopt;
        const std::int64_t first = values[0] - factor * of[0];
        for (std::size_t i = 0; i < of.size(); ++i) {
            if (factor * of[i] + first != values[i]) return std::nullopt;
        }
        return base * factor + first;
    }

    /// (base + something) / divisor + something, as the sizes of slices with steps are.
    std::optional<Dim> divided(const Values& values, Dim base) {
        constexpr std::int64_t kMostDivisor = 8;
        const Values& of = values_of(base);
        for (std::int64_t divisor = 2; divisor <= kMostDivisor; ++divisor) {
            for (std::int64_t less = 0; less < divisor; ++less) {
                const std::int64_t first = rounds_up_ ? divisor - 1 - less : less;
                const std::int64_t last = values[0] - (of[0] + first) / divisor;
                bool same = true;
                for (std::size_t i = 0; i < of.size() && same; ++i)
                    same = of[i] >= 0 && (of[i] + first) / divisor + last == values[i];
                rounded_ = rounded_ || same;
                if (same) return (base + first) / divisor + last;
            }
        }
        return std::nullopt;
    }

    /// Sizes that are near and variables, and products of two of them.
    struct Terms {
        std::vector<Dim> bases;
        std::vector<Dim> products;
    };
    Terms terms_of(std::span<const Dim> near) const {
        constexpr std::size_t kMostBases = 12;
        Terms out;
        const auto add = [&](Dim size) {
            if (!size.is_concrete() && std::ranges::find(out.bases, size) == out.bases.end() &&
                out.bases.size() < kMostBases)
                out.bases.push_back(size);
        };
        std::ranges::for_each(near, add);
        for (const General::Source& source : sources_) add(source.variable);
        for (std::size_t i = 0; i < out.bases.size(); ++i) {
            for (std::size_t k = i; k < out.bases.size(); ++k)
                out.products.push_back(out.bases[i] * out.bases[k]);
        }
        return out;
    }

    /// The first of some terms with which `fit` finds something.
    template <class Fit>
    static std::optional<Dim> first_of(std::span<const Dim> terms, const Fit& fit) {
        for (const Dim term : terms) {
            if (const std::optional<Dim> size = fit(term)) return size;
        }
        return std::nullopt;
    }

    /// One of the terms, a multiple of one, or one with something added, with these values.
    std::optional<Dim> fitted_simply(const Values& values, const Terms& terms) {
        if (is_constant(values)) return Dim(values[0]);
        const auto same = [&](Dim term) {
            return values_of(term) == values ? std::optional(term) : std::nullopt;
        };
        const auto multiple = [&](Dim term) { return scaled(values, term); };
        std::optional<Dim> out = first_of(terms.bases, same);
        if (!out) out = first_of(terms.bases, multiple);
        if (!out) out = first_of(terms.products, multiple);
        if (!out)
            out = first_of(terms.bases, [&](Dim term) { return shifted(values, term, false); });
        return out;
    }

    /// A function of sizes that are near, or of variables, with these values: the simplest that is
    /// found.
    std::optional<Dim> fitted(const Values& values, std::span<const Dim> near) {
        const Terms terms = terms_of(near);
        if (const auto size = fitted_simply(values, terms)) return size;
        for (const Dim a : terms.bases) {
            for (const Dim b : terms.bases) {
                if (values_of(a + b) == values) return a + b;
            }
        }
        const auto any = [&](Dim term) { return shifted(values, term, true); };
        std::optional<Dim> out = first_of(terms.bases, any);
        if (!out) out = first_of(terms.products, any);
        for (std::size_t i = 0; i < terms.bases.size() && !out; ++i)
            out = first_of(terms.products,
                           [&](Dim term) { return scaled(values, term * terms.bases[i]); });
        if (!out) out = first_of(terms.bases, [&](Dim term) { return divided(values, term); });
        return out;
    }

    // ---- the program

    bool is_built() {
        try {
            return build();
        } catch (const OutOfMemory&) {
            throw;
        } catch (const Error&) {  // a size that may be below 0, or a number beyond 64 bits
            return false;
        }
    }

    bool build() {
        const Words& first = recordings_[0];
        const std::size_t results = visit_params(first, [&](std::size_t place) {
            const std::uint64_t header = first.rest[place];
            TensorSpec spec{dtype_of(header), {}};
            for (int i = 0; i < header_rank(header); ++i)
                spec.shape.push_back(param_size(place + 1 + static_cast<std::size_t>(i)));
            params_.push_back(builder_->param("", std::move(spec)));
        });
        bool is_whole = true;
        visit_operations(first, [&](std::size_t place, const Layout& layout) {
            is_whole = is_whole && add_operation(place, layout);
        });
        if (!is_whole) return false;
        for (const std::uint64_t raw : first.rest.subspan(results))
            builder_->result(value_at(static_cast<std::uint32_t>(raw)));
        return true;
    }

    static DType dtype_of(std::uint64_t header) { return static_cast<DType>(header >> 16 & 0xff); }

    const Value& value_at(std::uint32_t raw) const {
        const ValueRef ref{raw};
        return (ref.is_param() ? params_ : operations_)[ref.index()];
    }

    /// An operation under construction.
    struct Draft {
        OpId op = 0;
        std::vector<Value> inputs;
        TensorSpec wanted;
        std::vector<std::uint64_t> attrs;
        std::vector<Dim> near;  // sizes of operands and result
    };

    bool add_operation(std::size_t place, const Layout& layout) {
        const OpDef& def = def_of(recordings_[0].program[place]);
        // Quotients of the sizes that were seen may be the same rounded either way.
        for (const bool up : {true, false}) {
            rounds_up_ = up;
            rounded_ = false;
            Draft draft = draft_of(place, layout);
            if (!fit_attrs(def, layout, draft)) return false;
            try {
                const auto attrs = in_simplest_form(def, draft.attrs, draft.wanted.shape);
                operations_.push_back(builder_->op(draft.op, draft.inputs, attrs, &draft.wanted));
                return true;
            } catch (const OutOfMemory&) {
                throw;
            } catch (const Error&) {  // some sizes must be the same, or this needs numbers
                if (up && rounded_) continue;
                join_variables(def, draft);
                return false;
            }
        }
        return false;
    }

    Draft draft_of(std::size_t place, const Layout& layout) {
        const Words& first = recordings_[0];
        const std::uint64_t header = first.program[place];
        Draft out{static_cast<OpId>(header_op(header)), {}, {dtype_of(header), {}}, {}, {}};
        for (std::size_t i = 0; i < header_inputs(header); ++i) {
            const std::uint64_t word = first.program[place + 1 + i / 2];
            out.inputs.push_back(value_at(static_cast<std::uint32_t>(word >> (32 * (i % 2)))));
            const Shape& shape = out.inputs.back().shape();
            for (int d = 0; d < shape.rank(); ++d) out.near.push_back(shape.dim(d));
        }
        for (std::size_t at_word = layout.shape; at_word < layout.attrs; ++at_word) {
            const Values values = at(false, at_word);
            std::optional<Dim> size = fitted(values, out.near);
            if (const auto hint = hints_.find(at_word); hint != hints_.end()) {
                size = hint->second;
            } else if (!size && has(def_of(header).traits, Trait::shaped)) {
                size = chosen_size(values, at_word, out.near);
            }
            // What inference finds by itself need not be found here.
            out.near.push_back(size.value_or(values[0]));
            out.wanted.shape.push_back(out.near.back());
        }
        return out;
    }

    /// A variable for a size of a result: a slice takes as much as there is at most.
    Dim chosen_size(const Values& values, std::size_t place, std::span<const Dim> near) {
        std::int64_t highest = kHighest;
        for (const Dim size : near) {
            if (size.is_concrete() && size.value() >= std::ranges::max(values))
                highest = std::min(highest, size.value());
        }
        return add_variable(values, {.in_rest = false, .at = place}, kNowhere, highest);
    }

    /// Puts expressions into the places of numbers that differ; false where one is not found.
    bool fit_attrs(const OpDef& def, const Layout& layout, Draft& draft) {
        const auto own = recordings_[0].program.subspan(layout.attrs, layout.next - layout.attrs);
        draft.attrs.assign(own.begin(), own.end());
        const std::vector<View> views = views_of(def, draft.attrs);
        bool is_whole = true;
        const auto fit = [&](std::uint64_t& word, const Values& values, Dim added) {
            const auto size = fitted(values, draft.near);
            is_whole = is_whole && size.has_value();
            if (size) word = static_cast<std::uint64_t>((*size + added).raw());
        };
        visit_numbers(def, std::span(draft.attrs), [&](std::uint64_t& word) {
            const auto place = static_cast<std::size_t>(&word - draft.attrs.data());
            const Values values = at(false, layout.attrs + place);
            if (!is_constant(values) && !is_offset(views, place)) fit(word, values, 0);
        });
        for (const View& view : views) {
            std::uint64_t& word = draft.attrs[view.begin + view.words.offset];
            Values values = at(false, layout.attrs + view.begin + view.words.offset);
            if (is_constant(values) || !is_whole) continue;
            if (const auto simple = fitted_simply(values, terms_of(draft.near))) {
                word = static_cast<std::uint64_t>(simple->raw());
                continue;
            }
            const Dim begin = begin_of(view, draft, values);
            for (std::size_t i = 0; i < values.size(); ++i) values[i] -= values_of(begin)[i];
            fit(word, values, begin);
        }
        return is_whole;
    }

    struct View {
        std::size_t begin = 0;  // of its placement among the attributes
        ViewWords words;
    };
    static std::vector<View> views_of(const OpDef& def, std::span<const std::uint64_t> attrs) {
        std::vector<View> out;
        std::size_t place = 0;
        for (const AttrDef& attr : def.attrs) {
            const auto left = attrs.subspan(place);
            const std::size_t length = attr_length(attr.kind, left.data(), left.size());
            if (attr.kind == AttrKind::view) {
                for (const ViewWords& words : views_in(left.first(length)))
                    out.push_back({place, words});
            }
            place += length;
        }
        return out;
    }
    static bool is_offset(std::span<const View> views, std::size_t place) {
        return std::ranges::any_of(
            views, [&](const View& view) { return view.begin + view.words.offset == place; });
    }

    /// What is known of where a view begins: how far it reaches below along dimensions that run
    /// backwards, and as many steps along each dimension as all recordings have.
    Dim begin_of(const View& view, const Draft& draft, Values offsets) {
        const auto number = [&](std::size_t place) {
            return Dim::from_raw(static_cast<std::int64_t>(draft.attrs[view.begin + place]));
        };
        Dim out = 0;
        const auto add = [&](Dim known) {
            out = out + known;
            for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] -= values_of(known)[i];
        };
        std::vector<Dim> steps;
        for (std::size_t i = 0; i < view.words.rank; ++i) {
            const Dim stride = number(view.words.strides + i);
            const Dim size = view.words.shape == 0 ? draft.wanted.shape.dim(static_cast<int>(i))
                                                   : number(view.words.shape + i);
            if (stride.bounds().high < 0) add((size - 1) * stride * -1);
            steps.push_back(stride.bounds().high < 0 ? stride * -1 : stride);
        }
        std::ranges::sort(steps, [&](Dim a, Dim b) { return values_of(a)[0] > values_of(b)[0]; });
        for (const Dim step : steps) {
            Values counts;
            for (std::size_t i = 0; i < offsets.size(); ++i) {
                const std::int64_t length = values_of(step)[i];
                counts.push_back(length == 0 ? 0 : offsets[i] / length);
            }
            if (is_constant(counts) && counts[0] != 0) add(step * counts[0]);
        }
        return out;
    }

    // ---- variables that are one

    /// Whether an operation can be built where `from` is `to`.
    static bool fits(const OpDef& def, const Draft& draft, Dim from, Dim to) {
        const auto spec_of = [&](const TensorSpec& spec) {
            TensorSpec out{spec.dtype, {}};
            for (int d = 0; d < spec.shape.rank(); ++d)
                out.shape.push_back(renamed(spec.shape.dim(d), from, to));
            return out;
        };
        std::vector<TensorSpec> specs;
        for (const Value& input : draft.inputs) specs.push_back(spec_of(input.spec()));
        std::vector<const TensorSpec*> inputs;
        for (const TensorSpec& spec : specs) inputs.push_back(&spec);
        const TensorSpec wanted = spec_of(draft.wanted);
        std::vector<std::uint64_t> attrs = draft.attrs;
        visit_numbers(def, std::span(attrs),
                      [&](std::uint64_t& word) { word = renamed(word, from, to); });
        try {
            attrs = in_simplest_form(def, std::move(attrs), wanted.shape);
            (void)infer(InferArgs{def, inputs, Attrs(def, attrs), &wanted});
            return true;
        } catch (const OutOfMemory&) {
            throw;
        } catch (const Error&) {
            return false;
        }
    }

    /// Finds out which variables of an operation that cannot be built must be one: two that have
    /// always had the same value.
    void join_variables(const OpDef& def, const Draft& draft) {
        std::vector<Dim> variables;
        const auto add = [&](const Shape& shape) {
            for (int d = 0; d < shape.rank(); ++d) {
                if (shape.dim(d).is_concrete()) continue;
                for (const Expr& variable : shape.dim(d).expr().vars()) {
                    if (site_of_.at(Dim(variable).raw()) != kNowhere &&
                        std::ranges::find(variables, Dim(variable)) == variables.end())
                        variables.emplace_back(variable);
                }
            }
        };
        for (const Value& input : draft.inputs) add(input.shape());
        add(draft.wanted.shape);
        std::vector<std::pair<Dim, Dim>> pairs;
        for (std::size_t i = 0; i < variables.size(); ++i) {
            for (std::size_t k = i + 1; k < variables.size(); ++k) {
                if (values_of(variables[i]) == values_of(variables[k]))
                    pairs.emplace_back(variables[k], variables[i]);
            }
        }
        for (const auto& [from, to] : pairs) {
            if (fits(def, draft, from, to)) return join(from, to);
        }
        if (!pairs.empty()) {
            for (const auto& [from, to] : pairs) join(from, to);
            return;
        }
        find_hint(def, draft);
    }

    /// A size that the caller chose may be one that was not known yet.
    void find_hint(const OpDef& def, const Draft& draft) {
        for (const General::Source& source : sources_) {
            if (source.in_rest) continue;
            for (const Value& input : draft.inputs) {
                for (int d = 0; d < input.shape().rank(); ++d) {
                    const Dim size = input.shape().dim(d);
                    if (size.is_concrete() || values_of(size) != values_of(source.variable) ||
                        uses_chosen(size) || !fits(def, draft, source.variable, size))
                        continue;
                    hints_.emplace(source.at, size);
                    joined_ = true;
                    return;
                }
            }
        }
    }

    bool uses_chosen(Dim size) const {
        return std::ranges::any_of(size.expr().vars(), [&](const Expr& variable) {
            return site_of_.at(Dim(variable).raw()) == kNowhere;
        });
    }

    void join(Dim a, Dim b) {
        const std::size_t first = same_as_[site_of_.at(a.raw())];
        const std::size_t second = same_as_[site_of_.at(b.raw())];
        if (first == second) return;
        for (std::size_t& site : same_as_) {
            if (site == std::max(first, second)) site = std::min(first, second);
        }
        hints_.clear();  // variables have other numbers now
        joined_ = true;
    }

    const std::span<const Words> recordings_;
    const Way way_;
    // Sizes of parameters that differ, by their number: the first one that each is the same as.
    std::vector<std::size_t> same_as_;
    std::unordered_map<std::int64_t, std::size_t> site_of_;  // of a variable
    std::unordered_map<std::size_t, Dim>
        hints_;  // what a size is that the caller chose, by its word
    bool joined_ = false;

    bool rounds_up_ = true;
    bool rounded_ = false;  // some size was found by rounding

    // Of one round.
    std::unique_ptr<ProgramBuilder> builder_;
    std::vector<General::Source> sources_;
    std::vector<std::vector<SizeBinding>> bindings_;  // one a recording
    std::unordered_map<std::int64_t, Values> known_;
    std::size_t site_count_ = 0;
    std::vector<Value> params_;
    std::vector<Value> operations_;
};

std::optional<General> General::of(std::span<const Words> recordings,
                                   const std::function<bool(const General&)>& accept) {
    for (unsigned way = 0; way < 16; ++way) {
        const Generaliser::Way tried{.fits_params = (way & 4U) != 0,
                                     .divides = (way & 8U) != 0,
                                     .starts_late = (way & 2U) != 0,
                                     .ends_early = (way & 1U) != 0};
        auto out = Generaliser(recordings, tried).run();
        if (out && accept(*out)) return out;
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
