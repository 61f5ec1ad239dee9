// Expressions as text, and back.

#include <fmt/format.h>

#include <charconv>

#include "symbolic/build.h"
#include "symbolic/interval.h"

namespace lazuli {

namespace symbolic {

namespace {

/// How tightly an operation binds, loosest first.
enum class Binding { conjunction, comparison, sum, product, single };

Binding binding_of(const Node* node) {
    switch (node->kind) {
        case Kind::constant: return node->value < 0 ? Binding::sum : Binding::single;
        case Kind::variable:
        case Kind::minimum:
        case Kind::maximum: return Binding::single;
        case Kind::product:
        case Kind::quotient:
        case Kind::remainder: return Binding::product;
        case Kind::sum:
            return node->count == 1 && node->value == 0 && (*node)[0].coef > 0 ? Binding::product
                                                                               : Binding::sum;
        case Kind::nonneg: return Binding::comparison;
        case Kind::all: return Binding::conjunction;
    }
    __builtin_unreachable();
}

std::string text_of(const Node* node);

std::string text_of(const Node* node, Binding at_least) {
    return binding_of(node) < at_least ? "(" + text_of(node) + ")" : text_of(node);
}

/// A factor: quotients and remainders are set apart, since they do not commute with products.
std::string factor_text(const Node* node) {
    return text_of(node, node->is(Kind::product) ? Binding::product : Binding::single);
}

/// Adds `coef * node` to a text that may be empty.
void append_term(std::string& out, std::int64_t coef, const Node* node) {
    const bool negative = coef < 0;
    if (!out.empty()) out += negative ? " - " : " + ";
    if (out.empty() && negative) out += "-";
    const std::uint64_t size =
        negative ? -static_cast<std::uint64_t>(coef) : static_cast<std::uint64_t>(coef);
    if (node == nullptr) {
        out += fmt::format("{}", size);
    } else if (size == 1) {
        // A minus before a quotient would bind to its dividend.
        out += text_of(node, negative && out == "-" ? Binding::single : Binding::product);
    } else {
        out += fmt::format("{}*{}", size, factor_text(node));
    }
}

std::string sum_text(std::int64_t value, std::span<const Term> terms) {
    std::string out;
    for (const Term& term : terms) append_term(out, term.coef, term.node);
    if (value != 0 || terms.empty()) append_term(out, value, nullptr);
    return out;
}

/// d >= 0 with its negative terms on the other side.
std::string comparison_text(const Node* d) {
    Term single{};
    Terms left;
    Terms right;
    for (Term term : terms_of(d, single)) {
        if (term.coef > 0) {
            left.push_back(term);
        } else {
            right.push_back({-term.coef, term.node});
        }
    }
    const std::int64_t c = constant_part(d);
    const bool constant_left = c > 0 || left.empty();
    return sum_text(constant_left ? c : 0, left) + " >= " + sum_text(constant_left ? 0 : -c, right);
}

std::string list_text(const Node* node, std::string_view between, Binding at_least) {
    std::string out;
    for (const Term& term : *node) {
        if (!out.empty()) out += between;
        out += text_of(term.node, at_least);
    }
    return out;
}

std::string text_of(const Node* node) {
    switch (node->kind) {
        case Kind::constant: return fmt::format("{}", node->value);
        case Kind::variable: return *node->name;
        case Kind::product: {
            std::string out;
            for (const Term& term : *node) out += (out.empty() ? "" : "*") + factor_text(term.node);
            return out;
        }
        case Kind::quotient:
        case Kind::remainder:
            return text_of((*node)[0].node, Binding::product) +
                   (node->is(Kind::quotient) ? " / " : " % ") +
                   text_of((*node)[1].node, Binding::single);
        case Kind::minimum: return "min(" + list_text(node, ", ", Binding::conjunction) + ")";
        case Kind::maximum: return "max(" + list_text(node, ", ", Binding::conjunction) + ")";
        case Kind::nonneg: return comparison_text((*node)[0].node);
        case Kind::all: return list_text(node, " and ", Binding::comparison);
        case Kind::sum: return sum_text(node->value, {node->begin(), node->end()});
    }
    __builtin_unreachable();
}

class Parser {
   public:
    Parser(Interner& in, std::string_view text,
           const std::function<std::optional<Expr>(std::string_view)>& named)
        : in_(in), text_(text), named_(named) {}

    const Node* whole() {
        const Node* out = conjunction();
        skip();
        if (at_ != text_.size()) fail("an operator expected");
        return out;
    }

   private:
    static constexpr int kMaxDepth = 200;

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

    const Node* conjunction() {
        if (++depth_ > kMaxDepth) fail("nested too deeply");
        const Node* out = comparison();
        while (take("and ")) out = all(in_, out, comparison());
        --depth_;
        return out;
    }
    const Node* comparison() {
        const Node* out = addition();
        if (!take(">=")) return out;
        return nonneg(in_, add(in_, out, addition(), -1));
    }
    const Node* addition() {
        const Node* out = take("-") ? scale(in_, multiplication(), -1) : multiplication();
        for (;;) {
            if (take("+")) {
                out = add(in_, out, multiplication());
            } else if (take("-")) {
                out = add(in_, out, multiplication(), -1);
            } else {
                return out;
            }
        }
    }
    const Node* multiplication() {
        const Node* out = single();
        for (;;) {
            if (take("*")) {
                out = multiply(in_, out, single());
            } else if (take("/")) {
                out = quotient(in_, out, single());
            } else if (take("%")) {
                out = remainder(in_, out, single());
            } else {
                return out;
            }
        }
    }
    const Node* single() {
        skip();
        if (take("(")) {
            const Node* out = conjunction();
            expect(")");
            return out;
        }
        if (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') return number();
        const std::size_t from = at_;
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                      text_[at_] == '_' || text_[at_] == '.'))
            ++at_;
        const std::string_view word = text_.substr(from, at_ - from);
        if (word.empty()) fail("a number, a name or '(' expected");
        if ((word == "min" || word == "max") && take("(")) {
            const Kind kind = word == "min" ? Kind::minimum : Kind::maximum;
            const Node* out = conjunction();
            while (take(",")) out = extreme(in_, kind, out, conjunction());
            expect(")");
            return out;
        }
        const auto found = named_(word);
        if (!found) {
            at_ = from;
            fail(fmt::format("'{}' is no variable", word));
        }
        return import_into(in_, found->node());
    }
    const Node* number() {
        std::int64_t value = 0;
        const auto [end, error] =
            std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error != std::errc{} || !is_finite(value)) fail("the number does not fit 64 bits");
        at_ = static_cast<std::size_t>(end - text_.data());
        return constant(in_, value);
    }

    Interner& in_;
    std::string_view text_;
    const std::function<std::optional<Expr>(std::string_view)>& named_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace

}  // namespace symbolic

std::string Expr::str() const { return symbolic::text_of(node_); }

Expr ExprContext::parse(std::string_view text,
                        const std::function<std::optional<Expr>(std::string_view)>& named) {
    return Expr(symbolic::Parser(*interner_, text, named).whole());
}

}  // namespace lazuli
