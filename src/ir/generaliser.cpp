#include "ir/generaliser.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/fitting_views.h"
#include "ir/sizes.h"
#include "lazuli/error.h"

namespace lazuli::ir {

namespace {

constexpr std::int64_t kHighest = std::int64_t{1} << 31;
constexpr std::size_t kNowhere = SIZE_MAX;

DType dtype_of(std::uint64_t header) { return static_cast<DType>(header >> 16 & 0xff); }

/// What divides all values and leaves 2 of each at least.
std::int64_t step_of(const NumberValues& values) {
    std::int64_t step = 0;
    for (const std::int64_t value : values) step = std::gcd(step, value);
    // Only where all are multiples of the least does that leave 1 of it.
    if (step < std::ranges::min(values)) return step;
    std::int64_t part = 2;
    while (step % part != 0 && part * part <= step) ++part;
    return step % part == 0 ? step / part : 1;
}

/// The same expression with another in the place of a variable.
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

void add_sizes(const Shape& shape, std::vector<Dim>& out) {
    for (int d = 0; d < shape.rank(); ++d) out.push_back(shape.dim(d));
}

void add_dense_strides(const Shape& shape, std::vector<Dim>& out) {
    Dim stride = 1;
    for (int d = shape.rank() - 1; d > 0; --d) {
        stride = stride * shape.dim(d);
        out.push_back(stride);
    }
}

/// What `make` makes; none where it throws, as where a size may be below 0, needs to be a number,
/// or leaves 64 bits.
template <class Make>
auto unless_refused(const Make& make) -> std::optional<decltype(make())> {
    try {
        return make();
    } catch (const OutOfMemory&) {
        throw;
    } catch (const Error&) {
        return std::nullopt;
    }
}

}  // namespace

struct Generaliser::View {
    std::size_t begin = 0;  // of its placement among the attributes
    ViewWords words;

    bool is_last() const { return words.shape == 0; }
    static std::vector<View> all(const OpDef& def, std::span<const std::uint64_t> attrs) {
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
};

// ---- the program

std::optional<General> Generaliser::run() {
    do {
        joined_ = false;
        ++round_;
        fitting_ = Fitting(recordings_.size());
        builder_ = std::make_unique<ProgramBuilder>();
        sources_.clear();
        site_of_.clear();
        site_count_ = 0;
        params_.clear();
        operations_.clear();
        if (is_built()) {
            General out;
            out.program_ = builder_->build();
            out.sources_ = std::move(sources_);
            const auto is_all = unless_refused([&] {
                return std::ranges::all_of(recordings_, [&](const Words& words) {
                    const auto values = out.values_in(words);
                    return values && is_instance(out.program_.instantiate(*values), words);
                });
            });
            return is_all.value_or(false) ? std::optional(std::move(out)) : std::nullopt;
        }
    } while (joined_);
    return std::nullopt;
}

NumberValues Generaliser::at(bool in_rest, std::size_t place) const {
    NumberValues out;
    for (const Words& words : recordings_)
        out.push_back(static_cast<std::int64_t>((in_rest ? words.rest : words.program)[place]));
    return out;
}

bool Generaliser::is_built() {
    return unless_refused([&] { return build(); }).value_or(false);
}

bool Generaliser::build() {
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

Dim Generaliser::param_size(std::size_t place) {
    const NumberValues values = at(true, place);
    if (is_constant(values)) return values[0];
    if (way_.fits_params) {
        if (const auto size = fitting_.anyhow(values, {})) return *size;
    }
    const std::size_t site = site_count_++;
    while (site >= same_as_.size()) same_as_.push_back(same_as_.size());
    for (const General::Source& source : sources_) {
        if (site_of_.at(source.variable.raw()) == same_as_[site])
            return source.variable * source.step;
    }
    return add_variable(values, {.in_rest = true, .at = place}, site, kHighest);
}

const Value& Generaliser::value_at(std::uint32_t raw) const {
    const ValueRef ref{raw};
    return (ref.is_param() ? params_ : operations_)[ref.index()];
}

bool Generaliser::add_operation(std::size_t place, const Layout& layout) {
    if (budget_ == 0) return false;
    --budget_;
    const OpDef& def = def_of(recordings_[0].program[place]);
    for (const bool up : {true, false}) {
        fitting_.round_up(up);
        (void)fitting_.took_quotient();
        Draft draft = draft_of(place, layout);
        if (!fit_attrs(def, layout, draft)) return false;
        const auto made = unless_refused([&] {
            const auto attrs = in_simplest_form(def, draft.attrs, draft.wanted.shape);
            return builder_->op(draft.op, draft.inputs, attrs, &draft.wanted);
        });
        if (made) {
            operations_.push_back(*made);
            return true;
        }
        if (up && fitting_.took_quotient()) continue;  // it may have been the other one
        join_variables(def, draft);
        return false;
    }
    return false;
}

Generaliser::Draft Generaliser::draft_of(std::size_t place, const Layout& layout) {
    const Words& first = recordings_[0];
    const std::uint64_t header = first.program[place];
    const OpDef& def = def_of(header);
    Draft out{static_cast<OpId>(header_op(header)), {}, {dtype_of(header), {}}, {}, {}};
    for (std::size_t i = 0; i < header_inputs(header); ++i) {
        const std::uint64_t word = first.program[place + 1 + i / 2];
        out.inputs.push_back(value_at(static_cast<std::uint32_t>(word >> (32 * (i % 2)))));
    }
    const auto own = first.program.subspan(layout.attrs, layout.next - layout.attrs);
    out.attrs.assign(own.begin(), own.end());
    const std::vector<View> views = View::all(def, out.attrs);
    add_near(layout, views, out);
    for (std::size_t axis = 0; layout.shape + axis < layout.attrs; ++axis) {
        const std::size_t word = layout.shape + axis;
        const NumberValues values = at(false, word);
        std::optional<Dim> size;
        if (const auto hint = hints_.find(word); hint != hints_.end()) size = hint->second;
        if (!size) size = sliced_size(out, layout, views, axis);
        if (!size) size = fitting_.anyhow(values, out.near);
        if (!size && has(def.traits, Trait::shaped))
            size = add_variable(values, {.in_rest = false, .at = word}, kNowhere,
                                most_of(out, layout, views, axis));
        // What inference finds by itself need not be found here.
        out.near.push_back(size.value_or(values[0]));
        out.wanted.shape.push_back(out.near.back());
    }
    return out;
}

/// Sizes that the numbers of an operation are most likely functions of.
void Generaliser::add_near(const Layout& layout, const std::vector<View>& views, Draft& draft) {
    for (const Value& input : draft.inputs) add_sizes(input.shape(), draft.near);
    // What has no operands is made for what was computed before.
    constexpr std::size_t kMostBefore = 4;
    const std::size_t before = draft.inputs.empty() ? std::min(kMostBefore, operations_.size()) : 0;
    for (std::size_t i = 1; i <= before; ++i)
        add_sizes(operations_[operations_.size() - i].shape(), draft.near);
    for (const View& view : views) {
        for (std::size_t i = 0; !view.is_last() && i < view.words.rank; ++i) {
            const std::size_t word = layout.attrs + view.begin + view.words.shape + i;
            if (const auto size = fitting_.anyhow(at(false, word), draft.near))
                draft.near.push_back(*size);
        }
    }
}

std::optional<Dim> Generaliser::sliced_size(const Draft& draft, const Layout& layout,
                                            const std::vector<View>& views, std::size_t axis) {
    const NumberValues sizes = at(false, layout.shape + axis);
    if (views.size() != 1 || is_constant(sizes)) return std::nullopt;
    const std::size_t begin = layout.attrs + views[0].begin;
    return ViewFitting(fitting_, draft.inputs[0].shape())
        .size(sizes, at(false, begin + views[0].words.strides + axis),
              at(false, begin + views[0].words.offset));
}

/// How large a size may be that the caller chose: a slice takes as much as there is at most.
std::int64_t Generaliser::most_of(const Draft& draft, const Layout& layout,
                                  const std::vector<View>& views, std::size_t axis) {
    if (views.size() != 1) return kHighest;
    const NumberValues strides =
        at(false, layout.attrs + views[0].begin + views[0].words.strides + axis);
    return ViewFitting(fitting_, draft.inputs[0].shape()).most(strides).value_or(kHighest);
}

/// Puts expressions into the places of numbers that differ; false where one is not found.
bool Generaliser::fit_attrs(const OpDef& def, const Layout& layout, Draft& draft) {
    const std::vector<View> views = View::all(def, draft.attrs);
    // Strides are mostly those of something dense.
    std::vector<Dim> near = draft.near;
    add_dense_strides(draft.wanted.shape, near);
    if (!draft.inputs.empty()) add_dense_strides(draft.inputs[0].shape(), near);
    const auto is_offset = [&](std::size_t place) {
        return std::ranges::any_of(
            views, [&](const View& view) { return view.begin + view.words.offset == place; });
    };
    bool is_whole = true;
    const auto put = [&](std::uint64_t& word, const std::optional<Dim>& size) {
        is_whole = is_whole && size.has_value();
        if (size) word = static_cast<std::uint64_t>(size->raw());
    };
    visit_numbers(def, std::span(draft.attrs), [&](std::uint64_t& word) {
        const auto place = static_cast<std::size_t>(&word - draft.attrs.data());
        const NumberValues values = at(false, layout.attrs + place);
        if (!is_constant(values) && !is_offset(place)) put(word, fitting_.anyhow(values, near));
    });
    for (const View& view : views) {
        if (is_whole)
            put(draft.attrs[view.begin + view.words.offset], offset_of(view, layout, draft, near));
    }
    return is_whole;
}

std::optional<Dim> Generaliser::offset_of(const View& view, const Layout& layout,
                                          const Draft& draft, std::span<const Dim> near) {
    const NumberValues values = at(false, layout.attrs + view.begin + view.words.offset);
    if (is_constant(values)) return Dim(values[0]);
    const auto number = [&](std::size_t place) {
        return Dim::from_raw(static_cast<std::int64_t>(draft.attrs[view.begin + place]));
    };
    std::vector<Dim> sizes;
    std::vector<Dim> strides;
    for (std::size_t i = 0; i < view.words.rank; ++i) {
        sizes.push_back(view.is_last() ? draft.wanted.shape.dim(static_cast<int>(i))
                                       : number(view.words.shape + i));
        strides.push_back(number(view.words.strides + i));
    }
    const bool is_first = View::all(op_def(draft.op), draft.attrs).size() == 1;
    return ViewFitting(fitting_, draft.inputs[0].shape())
        .offset(values, sizes, strides, near, is_first);
}

// ---- variables

Dim Generaliser::add_variable(const NumberValues& values, General::Source source, std::size_t site,
                              std::int64_t high) {
    source.step = way_.divides ? step_of(values) : 1;
    NumberValues counts = values;
    for (std::int64_t& count : counts) count /= source.step;
    const auto [least, most] = std::ranges::minmax(counts);
    std::int64_t low = 2;
    if (way_.starts_late > 0) low = way_.starts_late > 1 ? least : std::min<std::int64_t>(least, 4);
    high /= source.step;
    if (way_.ends_early) high = std::min(high, 16 * most);
    // A name stands for its bounds.
    std::string name = fmt::format("_s{}", sources_.size());
    if (low != 2 || high != kHighest) name += fmt::format("_{}_{}", low, high);
    source.variable = dim(name, low, high);
    fitting_.add_variable(source.variable, counts);
    sources_.push_back(source);
    site_of_[source.variable.raw()] = site;
    return source.variable * source.step;
}

namespace {

/// Whether two operands have these sizes equally far from their last axes.
bool is_same_axis(std::span<const Value> operands, Dim a, Dim b) {
    const auto has = [&](Dim size, int from_end) {
        return std::ranges::any_of(operands, [&](const Value& operand) {
            const int axis = operand.shape().rank() - from_end;
            return axis >= 0 && operand.shape().dim(axis) == size;
        });
    };
    for (int from_end = 1; from_end <= Shape::kMaxRank; ++from_end) {
        if (has(a, from_end) && has(b, from_end)) return true;
    }
    return false;
}

/// Whether an operation is accepted where `from` is `to`.
bool is_accepted(const OpDef& def, std::span<const Value> operands, const TensorSpec& wanted,
                 std::vector<std::uint64_t> attrs, Dim from, Dim to) {
    const auto spec_of = [&](const TensorSpec& spec) {
        TensorSpec out{spec.dtype, {}};
        for (int d = 0; d < spec.shape.rank(); ++d)
            out.shape.push_back(renamed(spec.shape.dim(d), from, to));
        return out;
    };
    std::vector<TensorSpec> specs;
    for (const Value& operand : operands) specs.push_back(spec_of(operand.spec()));
    std::vector<const TensorSpec*> inputs;
    for (const TensorSpec& spec : specs) inputs.push_back(&spec);
    const TensorSpec result = spec_of(wanted);
    visit_numbers(def, std::span(attrs),
                  [&](std::uint64_t& word) { word = renamed(word, from, to); });
    return unless_refused([&] {
               attrs = in_simplest_form(def, std::move(attrs), result.shape);
               return infer(InferArgs{def, inputs, Attrs(def, attrs), &result});
           })
        .has_value();
}

}  // namespace

/// Finds out which variables of an operation that was refused must be one: such that have always
/// had the same value.
void Generaliser::join_variables(const OpDef& def, const Draft& draft) {
    std::vector<Dim> sizes;
    for (const Value& input : draft.inputs) add_sizes(input.shape(), sizes);
    add_sizes(draft.wanted.shape, sizes);
    std::vector<Dim> variables;
    for (const Dim size : sizes) {
        if (size.is_concrete()) continue;
        for (const Expr& variable : size.expr().vars()) {
            if (site_of_.at(Dim(variable).raw()) != kNowhere &&
                std::ranges::find(variables, Dim(variable)) == variables.end())
                variables.emplace_back(variable);
        }
    }
    std::vector<std::pair<Dim, Dim>> pairs;
    for (std::size_t i = 0; i < variables.size(); ++i) {
        for (std::size_t k = i + 1; k < variables.size(); ++k) {
            if (fitting_.values_of(variables[i]) == fitting_.values_of(variables[k]))
                pairs.emplace_back(variables[k], variables[i]);
        }
    }
    // Every round builds all anew; where many must be one, guesses have to do.
    constexpr std::size_t kMostRounds = 16;
    if (round_ > kMostRounds && !pairs.empty()) return join_all_equal();
    for (const auto& [from, to] : pairs) {
        if (is_accepted(def, draft.inputs, draft.wanted, draft.attrs, from, to))
            return join(from, to);
    }
    // Several must be one. Those of the same axis first, as broadcasting counts axes.
    for (const auto& [from, to] : pairs) {
        if (is_same_axis(draft.inputs, from, to)) join(from, to);
    }
    if (joined_) return;
    for (const auto& [from, to] : pairs) join(from, to);
    if (!joined_) find_hint(def, draft);
}

void Generaliser::join(Dim a, Dim b) {
    const std::size_t first = same_as_[site_of_.at(a.raw())];
    const std::size_t second = same_as_[site_of_.at(b.raw())];
    if (first == second) return;
    for (std::size_t& site : same_as_) {
        if (site == std::max(first, second)) site = std::min(first, second);
    }
    hints_.clear();  // variables will have other names
    joined_ = true;
}

void Generaliser::join_all_equal() {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            const Dim a = sources_[i].variable;
            const Dim b = sources_[k].variable;
            if (sources_[i].in_rest && sources_[k].in_rest &&
                fitting_.values_of(a) == fitting_.values_of(b))
                join(a, b);
        }
    }
}

/// A size that the caller chose may be one that was not known yet.
void Generaliser::find_hint(const OpDef& def, const Draft& draft) {
    std::vector<Dim> sizes;
    for (const Value& input : draft.inputs) add_sizes(input.shape(), sizes);
    for (const General::Source& source : sources_) {
        if (source.in_rest) continue;
        for (const Dim size : sizes) {
            if (size.is_concrete() ||
                fitting_.values_of(size) != fitting_.values_of(source.variable) ||
                uses_chosen(size) ||
                !is_accepted(def, draft.inputs, draft.wanted, draft.attrs, source.variable, size))
                continue;
            hints_.emplace(source.at, size);
            joined_ = true;
            return;
        }
    }
}

bool Generaliser::uses_chosen(Dim size) const {
    return std::ranges::any_of(size.expr().vars(), [&](const Expr& variable) {
        return site_of_.at(Dim(variable).raw()) == kNowhere;
    });
}

}  // namespace lazuli::ir
