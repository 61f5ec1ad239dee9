// Sums of products by labels of axes. A call becomes diagonals, sums and products of two: the pair
// whose product is the smallest first.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lazuli/error.h"
#include "ops/build.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

/// What is written: a label for each axis of each operand and of the result. Axes that three points
/// stand for have labels of their own, which nobody can write.
struct Subscripts {
    std::vector<std::string> operands;
    std::string result;
    std::map<char, Dim> sizes;
};

[[noreturn]] void refuse(const InferArgs& args, const std::string& why) {
    throw ArgumentError(
        fmt::format("einsum: '{}' of {}: {}", args.attrs.text(0), operands_text(args), why));
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr int kMostPoints = 31;
/// The label of an axis that points stand for, counted from the last.
char point_label(int from_last) { return static_cast<char>(kMostPoints - from_last); }

/// The labels of one operand or of the result; `points` is how many axes three points stand for.
std::string labels_of(const InferArgs& args, std::string_view text, int points) {
    std::string out;
    bool had_points = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_letter(text[i])) {
            out += text[i];
        } else if (text.substr(i, 3) == "..." && !had_points) {
            for (int k = points; k-- > 0;) out += point_label(k);
            had_points = true;
            i += 2;
        } else {
            refuse(args, fmt::format("axes are letters or '...', and there is '{}'", text));
        }
    }
    return out;
}

/// Where nothing is said of the result: axes of points, then labels that stand once, by alphabet.
std::string implicit_result(const std::vector<std::string>& operands, int points) {
    std::map<char, int> times;
    for (const std::string& labels : operands) {
        for (const char label : labels) ++times[label];
    }
    std::string out;
    for (int k = points; k-- > 0;) out += point_label(k);
    for (const auto& [label, count] : times) {
        if (is_letter(label) && count == 1) out += label;
    }
    return out;
}

void note_sizes(const InferArgs& args, Subscripts& s) {
    for (std::size_t i = 0; i < s.operands.size(); ++i) {
        const Shape& shape = args.inputs[i]->shape;
        for (int d = 0; d < shape.rank(); ++d) {
            const char label = s.operands[i][static_cast<std::size_t>(d)];
            const Dim size = shape.dim(d);
            const auto [at, is_new] = s.sizes.emplace(label, size);
            if (is_new || size == Dim(1) || equal(at->second, size) == Truth::yes) continue;
            if (at->second != Dim(1)) {
                throw ShapeError(
                    fmt::format("einsum: '{}' of {}: axes {} have the sizes {} and {}",
                                args.attrs.text(0), operands_text(args),
                                is_letter(label) ? fmt::format("'{}'", label) : "of '...'",
                                at->second.str(), size.str()),
                    at->second.str(), shape.str());
            }
            at->second = size;
        }
    }
}

/// Axes of one operand that have one label have one size.
void check_diagonals(const InferArgs& args, std::size_t operand, const std::string& labels) {
    const Shape& shape = args.inputs[operand]->shape;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const std::size_t first = labels.find(labels[i]);
        const Dim size = shape.dim(static_cast<int>(first));
        const Dim other = shape.dim(static_cast<int>(i));
        if (equal(size, other) == Truth::yes) continue;
        throw ShapeError(fmt::format("einsum: '{}' of {}: no diagonal of axes '{}', whose sizes "
                                     "are {} and {}",
                                     args.attrs.text(0), operands_text(args), labels[i], size.str(),
                                     other.str()),
                         size.str(), shape.str());
    }
}

Subscripts parse(const InferArgs& args) {
    std::string text;
    for (const char c : args.attrs.text(0)) {
        if (c != ' ') text += c;
    }
    const std::size_t arrow = text.find("->");
    std::vector<std::string_view> parts;
    std::string_view left = std::string_view(text).substr(0, arrow);
    for (;;) {
        const std::size_t comma = left.find(',');
        parts.push_back(left.substr(0, comma));
        if (comma == std::string_view::npos) break;
        left.remove_prefix(comma + 1);
    }
    if (parts.size() != args.inputs.size())
        refuse(args, fmt::format("it is about {} operands", parts.size()));
    Subscripts out;
    int most_points = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const int rank = args.inputs[i]->shape.rank();
        const int letters =
            static_cast<int>(std::count_if(parts[i].begin(), parts[i].end(), is_letter));
        const bool has_points = parts[i].find("...") != std::string_view::npos;
        if (letters > rank || (letters < rank && !has_points))
            refuse(args, fmt::format("{} has {} axes, and '{}' names {}", args.inputs[i]->str(),
                                     rank, parts[i], letters));
        most_points = std::max(most_points, rank - letters);
        if (rank - letters > kMostPoints) refuse(args, "'...' stands for too many axes");
        out.operands.push_back(labels_of(args, parts[i], rank - letters));
        check_diagonals(args, i, out.operands.back());
    }
    note_sizes(args, out);
    out.result = arrow == std::string::npos
                     ? implicit_result(out.operands, most_points)
                     : labels_of(args, std::string_view(text).substr(arrow + 2), most_points);
    for (std::size_t i = 0; i < out.result.size(); ++i) {
        const char label = out.result[i];
        if (!out.sizes.contains(label))
            refuse(args, fmt::format("no operand has the result's axis '{}'", label));
        if (out.result.find(label, i + 1) != std::string::npos)
            refuse(args, fmt::format("the result has the axis '{}' twice", label));
    }
    return out;
}

TensorSpec infer_einsum(const InferArgs& args) {
    check_one_type(args, 0, args.inputs.size());
    const Subscripts s = parse(args);
    TensorSpec out{args.inputs[0]->dtype, {}};
    for (const char label : s.result) out.shape.push_back(s.sizes.at(label));
    return out;
}

/// A value on its way to the result, a label for each axis.
struct Term {
    Value value;
    std::string labels;
};

int axis_of_label(const Term& term, char label) {
    const std::size_t at = term.labels.find(label);
    return at == std::string::npos ? -1 : static_cast<int>(at);
}

/// Without axes of size 1 whose label is larger elsewhere, and with each label once.
Term simplified(const Subscripts& s, Term term) {
    Shape kept;
    std::string labels;
    const Shape shape = term.value.shape();
    for (int d = 0; d < shape.rank(); ++d) {
        const char label = term.labels[static_cast<std::size_t>(d)];
        if (shape.dim(d) == Dim(1) && s.sizes.at(label) != Dim(1)) continue;
        kept.push_back(shape.dim(d));
        labels += label;
    }
    Term out{kept.rank() == shape.rank() ? term.value : reshape(term.value, kept), labels};
    for (std::size_t i = 0; i < out.labels.size(); ++i) {
        for (std::size_t j; (j = out.labels.find(out.labels[i], i + 1)) != std::string::npos;) {
            const char label = out.labels[i];
            // The diagonal is the last axis.
            out.value =
                diagonal(out.value, 0, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
            out.labels.erase(j, 1);
            out.labels.erase(i, 1);
            out.labels += label;
            i = 0;
        }
    }
    return out;
}

/// Summed over the labels that nobody else has.
Term without_own(Term term, const std::string& wanted) {
    Ints axes;
    std::string labels;
    for (std::size_t i = 0; i < term.labels.size(); ++i) {
        if (wanted.find(term.labels[i]) == std::string::npos) {
            axes.push_back(static_cast<std::int64_t>(i));
        } else {
            labels += term.labels[i];
        }
    }
    if (axes.empty()) return term;
    const DType dtype = term.value.dtype();
    return {narrowed(sum(widened(term.value), Axes(axes), false), dtype), labels};
}

/// The product of two, summed over the labels that only they have.
Term multiplied(const Term& a, const Term& b, const std::string& wanted) {
    Ints contract[2];
    Ints batch[2];
    std::string labels;
    std::string own[2];
    for (const char label : a.labels) {
        const int other = axis_of_label(b, label);
        const bool is_wanted = wanted.find(label) != std::string::npos;
        if (other < 0) {
            own[0] += label;
            continue;
        }
        (is_wanted ? batch : contract)[0].push_back(axis_of_label(a, label));
        (is_wanted ? batch : contract)[1].push_back(other);
        if (is_wanted) labels += label;
    }
    for (const char label : b.labels) {
        if (axis_of_label(a, label) < 0) own[1] += label;
    }
    const Value operands[] = {a.value, b.value};
    const Attribute attrs[] = {contract[0], contract[1], batch[0], batch[1]};
    return {a.value.builder().op("dot_general", operands, attrs), labels + own[0] + own[1]};
}

/// All labels of the other terms and of the result.
std::string labels_beside(const std::vector<Term>& terms, std::size_t i, std::size_t j,
                          const std::string& result) {
    std::string out = result;
    for (std::size_t k = 0; k < terms.size(); ++k) {
        if (k != i && k != j) out += terms[k].labels;
    }
    return out;
}

/// How many elements the product of two has: as a real number, or with variables.
struct ProductSize {
    double number = 1;
    Dim variable = 1;
    Dim all() const { return variable * static_cast<std::int64_t>(std::min(number, 0x1p50)); }
};

/// Whether the first is the smaller; ShapeError where that depends.
bool is_below(const InferArgs& args, const ProductSize& a, const ProductSize& b) {
    if (detail::are_numbers(a.variable, b.variable)) return a.number < b.number;
    const Truth below = less(a.all(), b.all());
    if (below != Truth::depends) return below == Truth::yes;
    throw ShapeError(
        fmt::format("einsum: '{}' of {}: which product is the smallest and comes first needs "
                    "numbers: one of {} elements or one of {}",
                    args.attrs.text(0), operands_text(args), a.all().str(), b.all().str()),
        "numbers", a.all().str());
}

ProductSize product_size(const Subscripts& s, const Term& a, const Term& b,
                         const std::string& wanted) {
    ProductSize out;
    std::string seen;
    for (const char label : a.labels + b.labels) {
        if (seen.find(label) != std::string::npos || wanted.find(label) == std::string::npos)
            continue;
        seen += label;
        const Dim size = s.sizes.at(label);
        if (size.is_concrete()) {
            out.number *= static_cast<double>(size.value());
        } else {
            out.variable = out.variable * size;
        }
    }
    return out;
}

Value build_einsum(ProgramBuilder&, Inputs in, const InferArgs& args) {
    const Subscripts s = parse(args);
    std::vector<Term> terms;
    for (std::size_t i = 0; i < in.size(); ++i)
        terms.push_back(simplified(s, {in[i], s.operands[i]}));
    while (terms.size() > 1) {
        std::size_t pair[2] = {0, 1};
        std::optional<ProductSize> least;
        for (std::size_t i = 0; i < terms.size(); ++i) {
            for (std::size_t j = i + 1; j < terms.size(); ++j) {
                const ProductSize size =
                    product_size(s, terms[i], terms[j], labels_beside(terms, i, j, s.result));
                if (least && !is_below(args, size, *least)) continue;
                least = size;
                pair[0] = i;
                pair[1] = j;
            }
        }
        const std::string wanted = labels_beside(terms, pair[0], pair[1], s.result);
        const Term a = without_own(terms[pair[0]], wanted + terms[pair[1]].labels);
        const Term b = without_own(terms[pair[1]], wanted + terms[pair[0]].labels);
        terms[pair[0]] = multiplied(a, b, wanted);
        terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(pair[1]));
    }
    const Term last = without_own(terms[0], s.result);
    Ints order;
    for (const char label : s.result) order.push_back(axis_of_label(last, label));
    return permute(last.value, Axes(order));
}

}  // namespace

std::vector<OpDef> einsum() {
    const auto labelled = [](std::vector<Shape> inputs, const char* subscripts) {
        return Case{std::move(inputs), {std::string(subscripts)}};
    };
    return {
        {
            .name = "einsum",
            .doc = "Sums of products of elements, by labels: 'ij,jk->ik' is a product of matrices. "
                   "A letter stands for an axis of an operand; axes that the result does not have "
                   "are summed over. '...' stands for all axes that have no letter.",
            .edge =
                "Axes of one label have one size, or 1. A label that an operand has twice takes "
                "its diagonal. Without '->' the result has the labels that stand once, by "
                "alphabet. Integers wrap.",
            .min_inputs = 1,
            .max_inputs = -1,
            .traits = Trait::promotes,
            .dtypes = kNumeric,
            .attrs = {{"subscripts", AttrKind::text}},
            .infer = infer_einsum,
            .implementations = {{.name = "pairs", .build = build_einsum}},
            .tolerance = {.ulps = 64, .absolute = 1e-5},
            .sample = {.low = -2, .high = 2},
            .cases = {labelled({{3, 4}, {4, 5}}, "ij,jk->ik"),
                      labelled({{3, 4}, {4, 5}, {5, 2}}, "ij,jk,kl"),
                      labelled({{2, 3, 4}, {2, 4, 5}}, "...ij,...jk->...ik"),
                      labelled({{3, 3}}, "ii"), labelled({{3, 3, 2}}, "iij->ji"),
                      labelled({{2, 3}}, "ij->j"), labelled({{3}, {4}}, "i, j -> ij"),
                      labelled({{2, 3, 1}, {4}}, "a...b,b->...a"), labelled({{}, {2}}, ",i->i"),
                      labelled({{0, 3}, {3, 2}}, "ij,jk->k")},
        },
    };
}

}  // namespace lazuli::ops
