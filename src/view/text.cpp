// Trackers as chains of movements, and back.
//
// A tracker does not remember the movements that made it. `describe` finds some: what a view does
// is taken apart from the reader's side (padding, repeats, new dimensions of size 1, order,
// direction), until what is left are dimensions of the array below, or of a reshape of it. Whatever
// is found is applied again and compared before it is believed.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "lazuli/error.h"
#include "symbolic/variables.h"
#include "view/view.h"

namespace lazuli {

namespace {

std::string list(std::span<const Dim> dims) {
    std::string out;
    for (const Dim dim : dims) out += (out.empty() ? "" : ",") + dim.str();
    return out;
}

template <class Ints>
std::string numbers(const Ints& values) {
    return fmt::format("{}", fmt::join(values, ","));
}

std::string pairs(std::span<const DimRange> ranges) {
    std::string out;
    for (const DimRange& range : ranges)
        out += fmt::format("{}({},{})", out.empty() ? "" : ",", range.begin.str(), range.end.str());
    return out;
}

/// Movements under construction: text, and what they do.
class Chain {
   public:
    explicit Chain(std::span<const Dim> base) : tracker_(base) {}
    const ShapeTracker& tracker() const { return tracker_; }
    const std::string& text() const { return text_; }

    void reshape(std::span<const Dim> shape) {
        if (std::ranges::equal(shape, tracker_.shape())) return;
        add(fmt::format("reshape[{}]", list(shape)), tracker_.reshape(shape));
    }
    void permute(const std::vector<int>& axes) {
        if (std::is_sorted(axes.begin(), axes.end())) return;
        add(fmt::format("permute({})", numbers(axes)), tracker_.permute(axes));
    }
    void shrink(const DimRanges& ranges) {
        bool whole = true;
        for (std::size_t i = 0; i < ranges.size(); ++i)
            whole = whole && ranges[i] == DimRange{0, tracker_.shape()[i]};
        if (!whole) add(fmt::format("shrink[{}]", pairs(ranges)), tracker_.shrink(ranges));
    }
    void stride(const std::vector<std::int64_t>& steps) {
        if (std::all_of(steps.begin(), steps.end(), [](std::int64_t s) { return s == 1; })) return;
        add(fmt::format("stride({})", numbers(steps)), tracker_.stride(steps));
    }
    void flip(const std::vector<int>& axes) {
        if (!axes.empty()) add(fmt::format("flip({})", numbers(axes)), tracker_.flip(axes));
    }
    void expand(std::span<const Dim> shape) {
        if (std::ranges::equal(shape, tracker_.shape())) return;
        add(fmt::format("expand[{}]", list(shape)), tracker_.expand(shape));
    }
    void pad(const DimRanges& amounts) {
        const bool none = std::all_of(amounts.begin(), amounts.end(), [](const DimRange& range) {
            return range == DimRange{0, 0};
        });
        if (!none) add(fmt::format("pad[{}]", pairs(amounts)), tracker_.pad(amounts));
    }
    void strided(const View& view) {
        std::string step = fmt::format("strided[{}]({})", list(view.shape), list(view.strides));
        if (view.offset != Dim(0)) {
            const bool number = view.offset.is_concrete();
            step += fmt::format(fmt::runtime(number ? "+{}" : "+({})"), view.offset.str());
        }
        if (!view.mask.empty()) step += fmt::format(" in [{}]", pairs(view.mask));
        add(step, tracker_.strided(view));
    }
    void append(const Chain& other) {
        if (!other.text_.empty()) add(other.text_, tracker_.compose(other.tracker_));
    }

   private:
    void add(const std::string& step, ShapeTracker next) {
        text_ += (text_.empty() ? "" : " > ") + step;
        tracker_ = std::move(next);
    }
    ShapeTracker tracker_;
    std::string text_;
};

/// A dimension of a view that is neither repeated nor of size 1, in its own direction.
struct Axis {
    std::size_t at;      // in the view
    std::int64_t count;  // of positions
    std::int64_t step;   // of the index, positive
    bool backwards;
};

/// The sizes of a row-major array of `elements` in which each axis runs along one dimension.
std::optional<std::vector<Dim>> sizes_for(std::vector<Axis> axes, std::int64_t elements) {
    std::sort(axes.begin(), axes.end(),
              [](const Axis& a, const Axis& b) { return a.step > b.step; });
    std::vector<Dim> out;
    std::int64_t above = elements;
    for (const Axis& axis : axes) {
        if (axis.step == 0 || above % axis.step != 0) return std::nullopt;
        out.emplace_back(above / axis.step);
        above = axis.step;
    }
    if (above != 1) out.emplace_back(above);
    return out;
}

/// The view as movements of a row-major array of these sizes, where each of its dimensions runs
/// along one of the array's.
std::optional<Chain> along_dimensions(const View& view, std::span<const Dim> base,
                                      std::span<const Dim> sizes) {
    Chain chain(base);
    chain.reshape(sizes);
    const View below = View::contiguous(sizes);
    const std::size_t rank = view.shape.size();

    DimRanges box;
    std::int64_t first = view.offset.value();
    std::vector<Axis> axes;
    for (std::size_t d = 0; d < rank; ++d) {
        const DimRange range = views::valid_range(view, d);
        box.push_back(range);
        const std::int64_t count = (range.end - range.begin).value();
        const std::int64_t stride = view.strides[d].value();
        first += range.begin.value() * stride;
        if (count < 2 || stride == 0) continue;
        if (stride < 0) first += stride * (count - 1);
        axes.push_back({d, count, stride < 0 ? -stride : stride, stride < 0});
    }

    // Each axis takes the first free dimension whose stride divides its step.
    std::vector<std::size_t> dimension_of(axes.size());
    std::vector<bool> taken(sizes.size(), false);
    DimRanges ranges;
    std::vector<std::int64_t> steps(sizes.size(), 1);
    std::int64_t rest = first;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
        const std::int64_t weight = sizes[k] == Dim(1) ? INT64_MAX : below.strides[k].value();
        const std::int64_t start = rest / weight;
        rest %= weight;
        ranges.push_back({start, start + 1});
    }
    for (std::size_t a = 0; a < axes.size(); ++a) {
        bool found = false;
        for (std::size_t k = 0; k < sizes.size() && !found; ++k) {
            if (taken[k] || sizes[k] == Dim(1)) continue;
            const std::int64_t weight = below.strides[k].value();
            if (axes[a].step % weight != 0) continue;
            const std::int64_t step = axes[a].step / weight;
            const Dim end = ranges[k].begin + (axes[a].count - 1) * step + 1;
            if (less(sizes[k], end) == Truth::yes) continue;
            ranges[k].end = end;
            steps[k] = step;
            dimension_of[a] = k;
            taken[k] = found = true;
        }
        if (!found) return std::nullopt;
    }
    for (std::size_t k = 0; k < sizes.size(); ++k) {
        if (!(at_least(ranges[k].begin, 0) == Truth::yes &&
              at_least(sizes[k], ranges[k].end) == Truth::yes))
            return std::nullopt;
    }
    chain.shrink(ranges);
    chain.stride(steps);

    // Dimensions that only had one position go; the others come in the view's order.
    std::vector<int> order(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<std::size_t> rank_of(sizes.size(), SIZE_MAX);
    for (std::size_t a = 0; a < axes.size(); ++a) rank_of[dimension_of[a]] = a;
    std::vector<int> used;
    for (const std::size_t k : dimension_of) used.push_back(static_cast<int>(k));
    std::size_t next = 0;
    for (int& axis : order) {
        if (rank_of[static_cast<std::size_t>(axis)] != SIZE_MAX) axis = used[next++];
    }
    chain.permute(order);
    std::vector<Dim> inner;
    std::vector<Dim> expanded;
    DimRanges amounts;
    std::vector<int> flipped;
    for (std::size_t d = 0; d < rank; ++d) {
        const auto axis =
            std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.at == d; });
        inner.push_back(axis != axes.end() ? Dim(axis->count) : Dim(1));
        expanded.push_back(box[d].end - box[d].begin);
        amounts.push_back({box[d].begin, view.shape[d] - box[d].end});
        if (axis != axes.end() && axis->backwards) flipped.push_back(static_cast<int>(d));
    }
    chain.reshape(inner);
    chain.flip(flipped);
    chain.expand(expanded);
    chain.pad(amounts);
    if (chain.tracker() != ShapeTracker(view)) return std::nullopt;
    return chain;
}

bool is_concrete(const View& view) { return ShapeTracker(view).is_concrete(); }

Chain movements_of(const View& view, std::span<const Dim> base) {
    Chain chain(base);
    if (view.is_contiguous() && views::sure(equal(view.numel(), chain.tracker().top().numel()))) {
        chain.reshape(view.shape);
        return chain;
    }
    const bool numbers = is_concrete(view) && std::all_of(base.begin(), base.end(), [](Dim d) {
                             return d.is_concrete() && d.value() > 0;
                         });
    const bool empty = std::find(view.shape.begin(), view.shape.end(), Dim(0)) != view.shape.end();
    if (numbers && !empty && !views::hides_all(view)) {
        try {
            if (auto found = along_dimensions(view, base, base)) return *found;
            std::vector<Axis> axes;
            for (std::size_t d = 0; d < view.shape.size(); ++d) {
                const DimRange range = views::valid_range(view, d);
                const std::int64_t count = (range.end - range.begin).value();
                const std::int64_t stride = view.strides[d].value();
                if (count > 1 && stride != 0)
                    axes.push_back({d, count, stride < 0 ? -stride : stride, false});
            }
            if (const auto sizes = sizes_for(axes, chain.tracker().top().numel().value())) {
                if (auto found = along_dimensions(view, base, *sizes)) return *found;
            }
        } catch (const Error&) {
            // A movement on the way is not possible: it is said with strides.
        }
    }
    chain.strided(view);
    return chain;
}

}  // namespace

std::string describe(const ShapeTracker& tracker, std::span<const Dim> base) {
    std::string out;
    std::vector<Dim> from(base.begin(), base.end());
    const auto add = [&](const View& view) {
        const std::string text = movements_of(view, from).text();
        out += (out.empty() ? "" : " | ") + (text.empty() ? "same" : text);
        from.assign(view.shape.begin(), view.shape.end());
    };
    for (const View& view : tracker.below()) add(view);
    add(tracker.top());
    return out;
}

namespace {

class Parser {
   public:
    Parser(std::string_view text, std::span<const Dim> base, std::span<const Dim> variables)
        : text_(text), tracker_(base) {
        for (const Dim dim : variables) variables_.add(dim);
        for (const Dim dim : base) variables_.add(dim);
    }

    ShapeTracker parse() {
        std::vector<View> views;
        do {
            if (!take("same")) {
                do {
                    step();
                } while (take(">"));
            }
            views.insert(views.end(), tracker_.below().begin(), tracker_.below().end());
            views.push_back(tracker_.top());
            tracker_ = ShapeTracker(std::span<const Dim>(views.back().shape));
        } while (take("|"));
        skip();
        if (at_ != text_.size()) fail("'>', '|' or the end expected");
        return ShapeTracker::of_views(std::move(views));
    }

   private:
    [[noreturn]] void fail(const std::string& what) const {
        throw ParseError(what, 1, static_cast<int>(at_) + 1);
    }
    void skip() {
        while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    }
    bool take(std::string_view token) {
        skip();
        if (text_.substr(at_, token.size()) != token) return false;
        at_ += token.size();
        return true;
    }
    void expect(std::string_view token) {
        if (!take(token)) fail(fmt::format("'{}' expected", token));
    }
    std::int64_t number() {
        skip();
        std::int64_t out = 0;
        const auto [end, error] =
            std::from_chars(text_.data() + at_, text_.data() + text_.size(), out);
        if (error != std::errc{}) fail("an integer expected");
        at_ = static_cast<std::size_t>(end - text_.data());
        return out;
    }
    /// A number, or an expression over the variables.
    Dim size() {
        skip();
        const std::string_view text = text_.substr(at_, symbolic::size_length(text_.substr(at_)));
        if (text.find_first_not_of("-0123456789 ") == std::string_view::npos) return number();
        try {
            const Dim out = variables_.parse(text);
            at_ += text.size();
            return out;
        } catch (const ParseError& error) {
            at_ += static_cast<std::size_t>(error.column) - 1;
            fail(error.reason);
        }
    }
    template <class T>
    std::vector<T> numbers(std::string_view open, std::string_view close) {
        std::vector<T> out;
        expect(open);
        if (take(close)) return out;
        do {
            if constexpr (std::is_same_v<T, Dim>) {
                out.push_back(size());
            } else {
                const std::int64_t value = number();
                if constexpr (std::is_same_v<T, int>) {
                    if (value < INT32_MIN || value > INT32_MAX) fail("an axis is out of range");
                }
                out.push_back(static_cast<T>(value));
            }
            if (out.size() > kMaxRank) fail(fmt::format("more than {} dimensions", kMaxRank));
        } while (take(","));
        expect(close);
        return out;
    }
    DimRanges pairs() {
        DimRanges out;
        expect("[");
        if (take("]")) return out;
        do {
            expect("(");
            const Dim first = size();
            expect(",");
            out.push_back({first, size()});
            expect(")");
            if (out.size() > kMaxRank) fail(fmt::format("more than {} dimensions", kMaxRank));
        } while (take(","));
        expect("]");
        return out;
    }
    void step() {
        if (take("reshape")) {
            tracker_ = tracker_.reshape(numbers<Dim>("[", "]"));
        } else if (take("permute")) {
            tracker_ = tracker_.permute(numbers<int>("(", ")"));
        } else if (take("expand")) {
            tracker_ = tracker_.expand(numbers<Dim>("[", "]"));
        } else if (take("pad")) {
            tracker_ = tracker_.pad(pairs());
        } else if (take("shrink")) {
            tracker_ = tracker_.shrink(pairs());
        } else if (take("flip")) {
            tracker_ = tracker_.flip(numbers<int>("(", ")"));
        } else if (take("strided")) {
            strided();
        } else if (take("stride")) {
            tracker_ = tracker_.stride(numbers<std::int64_t>("(", ")"));
        } else {
            fail(
                "a movement expected: reshape, permute, expand, pad, shrink, flip, stride, "
                "strided");
        }
    }
    void strided() {
        View view;
        for (const Dim size : numbers<Dim>("[", "]")) view.shape.push_back(size);
        for (const Dim stride : numbers<Dim>("(", ")")) view.strides.push_back(stride);
        if (take("+(")) {
            view.offset = size();
            expect(")");
        } else if (take("+")) {
            view.offset = number();
        }
        if (take("in")) view.mask = pairs();
        if (view.strides.size() != view.shape.size() ||
            (!view.mask.empty() && view.mask.size() != view.shape.size()))
            fail("one size, stride and range a dimension expected");
        views::ensure_fits("strided", view, tracker_.shape());
        tracker_ = tracker_.strided(std::move(view));
    }

    static constexpr std::size_t kMaxRank = 64;
    std::string_view text_;
    ShapeTracker tracker_;
    symbolic::Variables variables_;
    std::size_t at_ = 0;
};

}  // namespace

ShapeTracker parse_movements(std::string_view text, std::span<const Dim> base,
                             std::span<const Dim> variables) {
    return Parser(text, base, variables).parse();
}

}  // namespace lazuli
