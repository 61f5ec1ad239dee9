// Text -> program. Recursive descent without recursion: the grammar is flat.
//
//   program    = "program" "(" [param {"," param}] ")" ["where" bounds {"," bounds}]
//                "{" {operation} "return" [result {"," result}] "}"
//   param      = name ":" spec
//   bounds     = integer "<=" name "<=" integer
//   operation  = "%"name "=" name "(" [value {"," value}] ")" {name "=" attribute} ":" spec
//   result     = value ["as" name]
//   value      = name | "%"name
//   spec       = dtype "[" [size {"," size}] "]"
//   size       = integer | expression over the names that have bounds
//   attribute  = "true" | "false" | number | "[" sizes "]" | quoted text
//   a view has no name before it: movement {">" movement} ["filled" number]
//
// Values may have any name; a named value that is returned gives its name to the result. `//`
// starts a comment.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "ir/placement.h"
#include "ir/text.h"
#include "lazuli/error.h"
#include "lazuli/program.h"
#include "symbolic/variables.h"

namespace lazuli {

namespace {

class Parser {
   public:
    explicit Parser(std::string_view text, std::size_t at = 0, int depth = 0)
        : text_(text), at_(at), depth_(depth) {}

    Program program() {
        Program out = nested();
        skip();
        if (at_ != text_.size()) fail("text after the program's end");
        return out;
    }
    /// A program that more text may follow.
    Program nested() {
        expect_word("program");
        expect('(');
        const std::size_t after_bounds = bounds();
        if (!accept(')')) {
            do {
                const std::string name = word("a parameter's name");
                expect(':');
                const Value value = builder_.param(name, spec());
                if (!values_.emplace(name, value).second)
                    fail(fmt::format("the parameter '{}' stands twice", name));
            } while (accept(','));
            expect(')');
        }
        at_ = std::max(at_, after_bounds);
        expect('{');
        while (peek() == '%') operation();
        expect_word("return");
        if (peek() != '}') {
            do {
                result();
            } while (accept(','));
        }
        expect('}');
        return builder_.build();
    }

   private:
    [[noreturn]] void fail(const std::string& what) const {
        int line = 1;
        int column = 1;
        for (std::size_t i = 0; i < at_ && i < text_.size(); ++i) {
            ++column;
            if (text_[i] == '\n') {
                ++line;
                column = 1;
            }
        }
        throw ParseError(what, line, column);
    }

    void skip() {
        while (at_ < text_.size()) {
            if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
                ++at_;
            } else if (text_.substr(at_, 2) == "//") {
                while (at_ < text_.size() && text_[at_] != '\n') ++at_;
            } else {
                break;
            }
        }
    }
    char peek() {
        skip();
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    bool accept(char c) {
        if (peek() != c) return false;
        ++at_;
        return true;
    }
    void expect(char c) {
        if (!accept(c)) fail(fmt::format("'{}' expected", c));
    }
    std::string word(const char* what) {
        skip();
        const std::size_t start = at_;
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                      text_[at_] == '_' || text_[at_] == '.')) {
            ++at_;
        }
        if (at_ == start) fail(fmt::format("{} expected", what));
        return std::string(text_.substr(start, at_ - start));
    }
    void expect_word(const char* expected) {
        skip();
        const std::size_t start = at_;
        if (word(expected) != expected) {
            at_ = start;
            fail(fmt::format("'{}' expected", expected));
        }
    }
    std::int64_t integer() {
        skip();
        std::int64_t v = 0;
        const auto [end, error] =
            std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
        if (error != std::errc{}) fail("an integer expected");
        at_ = static_cast<std::size_t>(end - text_.data());
        return v;
    }
    /// Reads what the sizes are made of, which stands behind the parameters that use it. Returns
    /// where it ends, and stays where it is.
    std::size_t bounds() {
        const std::size_t start = at_;
        for (int depth = 1; depth > 0 && at_ < text_.size(); ++at_) {
            skip();
            if (at_ == text_.size()) break;
            depth += text_[at_] == '(' ? 1 : text_[at_] == ')' ? -1 : 0;
        }
        if (peek() == 'w') {
            expect_word("where");
            do {
                const std::int64_t low = integer();
                expect_sign("<=");
                skip();
                const std::size_t name_start = at_;
                const std::string name = word("a size's name");
                expect_sign("<=");
                try {
                    variables_.declare(name, low, integer());
                } catch (const ArgumentError& error) {
                    at_ = name_start;
                    fail(error.what());
                }
            } while (accept(','));
        }
        return std::exchange(at_, start);
    }
    void expect_sign(std::string_view sign) {
        skip();
        if (text_.substr(at_, sign.size()) != sign) fail(fmt::format("'{}' expected", sign));
        at_ += sign.size();
    }
    /// A number, or an expression over the variables.
    Dim size() {
        skip();
        const std::string_view text = text_.substr(at_, symbolic::size_length(text_.substr(at_)));
        if (variables_.all().empty() ||
            text.find_first_not_of("-0123456789 ") == std::string_view::npos)
            return Dim::from_raw(integer());
        try {
            const Dim out = variables_.parse(text);
            at_ += text.size();
            return out;
        } catch (const ParseError& error) {
            at_ += static_cast<std::size_t>(error.column) - 1;
            fail(error.reason);
        }
    }
    Ints sizes() {
        Ints out;
        expect('[');
        if (accept(']')) return out;
        do {
            if (out.rank() == Shape::kMaxRank)
                fail(fmt::format("a list of more than {} integers", Shape::kMaxRank));
            out.push_back(size());
        } while (accept(','));
        expect(']');
        return out;
    }
    TensorSpec spec() {
        skip();
        const std::size_t start = at_;
        const std::string text = word("an element type");
        const auto dtype = parse_dtype(text);
        if (!dtype) {
            at_ = start;
            fail(fmt::format("'{}' is no element type", text));
        }
        return {*dtype, sizes()};
    }
    std::string value_name() {
        return accept('%') ? "%" + word("a value's name") : word("a value");
    }
    Value value() {
        skip();
        const std::size_t start = at_;
        const std::string name = value_name();
        const auto it = values_.find(name);
        if (it == values_.end()) {
            at_ = start;
            fail(fmt::format("'{}' is no earlier value", name));
        }
        return it->second;
    }
    std::string quoted() {
        expect('"');
        std::string out;
        while (at_ < text_.size() && text_[at_] != '"') {
            if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
                ++at_;
                out += text_[at_] == 'n' ? '\n' : text_[at_];
            } else {
                out += text_[at_];
            }
            ++at_;
        }
        if (at_ == text_.size()) fail("a closing '\"' expected");
        ++at_;
        return out;
    }
    Scalar number() {
        skip();
        const std::size_t start = at_;
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) == 0 &&
               text_[at_] != ':')
            ++at_;
        const auto v = ir::parse_scalar(text_.substr(start, at_ - start));
        if (!v) {
            at_ = start;
            fail("a number expected");
        }
        return *v;
    }
    /// Movements end where the type begins; `base` is the shape they start from.
    Placement placement(const Shape& base) {
        skip();
        const std::size_t start = at_;
        at_ = std::min(text_.find_first_of(":\n", at_), text_.size());
        std::string_view text = text_.substr(start, at_ - start);
        while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
        try {
            return ir::parse_placement(text, base, variables_.all());
        } catch (const ParseError& e) {
            at_ = start + static_cast<std::size_t>(e.column) - 1;
            fail(e.reason);
        }
    }
    Attribute attribute(AttrKind kind, const Shape& base) {
        switch (kind) {
            case AttrKind::boolean: {
                const Scalar v = number();
                if (v.kind() != Kind::boolean) fail("true or false expected");
                return v.to_int() != 0;
            }
            case AttrKind::integer: {
                if (!accept('(')) return integer();
                const Dim out = size();
                expect(')');
                return out.raw();
            }
            case AttrKind::real: return number().to_double();
            case AttrKind::scalar: return number();
            case AttrKind::axes:
            case AttrKind::ints: return sizes();
            case AttrKind::text: return quoted();
            case AttrKind::choice: return word("a name");
            case AttrKind::view: return placement(base);
            case AttrKind::program: return body().str();
        }
        __builtin_unreachable();
    }
    Program body() {
        constexpr int kDeepest = 64;
        if (depth_ == kDeepest) fail(fmt::format("bodies are nested more than {} deep", kDeepest));
        Parser inner(text_, at_, depth_ + 1);
        Program out = inner.nested();
        at_ = inner.at_;
        return out;
    }
    void operation() {
        skip();
        const std::size_t start = at_;
        const std::string target = value_name();
        expect('=');
        skip();
        const std::size_t op_start = at_;
        const std::string name = word("an operation's name");
        const auto id = find_op(name);
        if (!id) {
            at_ = op_start;
            fail(fmt::format("there is no op named '{}'", name));
        }
        const OpDef& def = op_def(*id);
        std::vector<Value> inputs;
        expect('(');
        if (!accept(')')) {
            do {
                inputs.push_back(value());
            } while (accept(','));
            expect(')');
        }
        AttrWords words;
        const Shape base = inputs.empty() ? Shape() : inputs[0].shape();
        for (const AttrDef& attr : def.attrs) {
            if (attr.kind == AttrKind::view) {
                words.placement(placement(base));
                continue;
            }
            skip();
            const std::size_t attr_start = at_;
            if (peek() == ':' || word("an attribute") != attr.name) {
                at_ = attr_start;
                fail(fmt::format("{}: the attribute '{}' expected", def.name, attr.name));
            }
            expect('=');
            if (attr.kind == AttrKind::program) {
                words.program(body());
            } else {
                words.append(def.name, attr, attribute(attr.kind, base));
            }
        }
        expect(':');
        const TensorSpec stated = spec();
        const Value v = builder_.op(*id, inputs, words.words(), &stated);
        if (!(v.spec() == stated)) {
            at_ = start;
            fail(fmt::format("{} is {} but the program says {}", def.name, v.spec().str(),
                             stated.str()));
        }
        if (!values_.emplace(target, v).second) {
            at_ = start;
            fail(fmt::format("'{}' stands twice", target));
        }
    }
    void result() {
        skip();
        const std::size_t start = at_;
        const Value v = value();
        std::string name(text_.substr(start, at_ - start));
        // %logits gives its name to the result; %3 and parameters do not
        name = name.size() > 1 && name[0] == '%' &&
                       std::isdigit(static_cast<unsigned char>(name[1])) == 0
                   ? name.substr(1)
                   : "";
        if (result_names_.contains(name)) name.clear();  // returned twice: the second is numbered
        skip();
        if (text_.substr(at_, 2) == "as") {
            expect_word("as");
            name = word("a result's name");
        }
        result_names_.insert(name);
        builder_.result(v, name);
    }

    std::string_view text_;
    std::size_t at_;
    int depth_;  // of bodies around this program
    symbolic::Variables variables_;
    ProgramBuilder builder_;
    std::map<std::string, Value> values_;
    std::set<std::string> result_names_;
};

}  // namespace

Program Program::parse(std::string_view text) { return Parser(text).program(); }

}  // namespace lazuli
