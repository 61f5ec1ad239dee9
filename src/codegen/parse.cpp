// Text -> kernel: a line a statement, blocks in braces.

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <map>

#include "codegen/kernel.h"
#include "ir/text.h"
#include "lazuli/error.h"

namespace lazuli::codegen {

namespace {

class Parser {
   public:
    explicit Parser(std::string_view text) : text_(text) {}

    Kernel run() {
        expect("kernel");
        kernel_.name = word("a name");
        expect("(");
        if (!take(")")) {
            do {
                buffer();
            } while (take(","));
            expect(")");
        }
        sizes();
        kernel_.body = block();
        skip();
        if (at_ != text_.size()) fail("text after the kernel's end");
        kernel_.verify();
        return std::move(kernel_);
    }

   private:
    static constexpr int kMaxDepth = 64;

    [[noreturn]] void fail(const std::string& what) const {
        int line = 1;
        int column = 1;
        for (std::size_t i = 0; i < at_ && i < text_.size(); ++i) {
            column = text_[i] == '\n' ? 1 : column + 1;
            line += text_[i] == '\n' ? 1 : 0;
        }
        throw ParseError(what, line, column);
    }
    void skip() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
            ++at_;
    }
    bool take(std::string_view token) {
        skip();
        if (text_.substr(at_, token.size()) != token) return false;
        // A word must end where it ends.
        const bool is_word = std::isalpha(static_cast<unsigned char>(token.back())) != 0;
        if (is_word && at_ + token.size() < text_.size() && is_name(text_[at_ + token.size()]))
            return false;
        at_ += token.size();
        return true;
    }
    void expect(std::string_view token) {
        if (!take(token)) fail(fmt::format("'{}' expected", token));
    }
    static bool is_name(char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    }
    std::string word(const char* what) {
        skip();
        const std::size_t start = at_;
        while (at_ < text_.size() && is_name(text_[at_])) ++at_;
        if (at_ == start) fail(fmt::format("{} expected", what));
        return std::string(text_.substr(start, at_ - start));
    }
    template <class T>
    T integer() {
        skip();
        T out = 0;
        const auto [end, error] =
            std::from_chars(text_.data() + at_, text_.data() + text_.size(), out);
        if (error != std::errc{}) fail("an integer expected");
        at_ = static_cast<std::size_t>(end - text_.data());
        return out;
    }
    ValueId value() {
        expect("%");
        const auto id = integer<ValueId>();
        if (id >= kMaxValues) fail("a value's number is too large");
        return id;
    }
    std::vector<ValueId> values() {
        std::vector<ValueId> out{value()};
        while (take(",")) out.push_back(value());
        return out;
    }
    DType dtype() {
        const std::string text = word("an element type");
        const auto found = parse_dtype(text);
        if (!found) fail(fmt::format("'{}' is no element type", text));
        return *found;
    }
    DType typed() {
        expect(":");
        return dtype();
    }
    /// The text up to one of these, as an expression.
    Expr expression(std::initializer_list<std::string_view> ends) {
        skip();
        int open = 0;
        std::size_t end = at_;
        for (; end < text_.size() && text_[end] != '\n'; ++end) {
            if (open == 0) {
                bool found = false;
                for (const std::string_view e : ends)
                    found = found || text_.substr(end, e.size()) == e;
                if (found) break;
            }
            if (text_[end] == '(') ++open;
            if (text_[end] == ')') --open;
        }
        std::string_view text = text_.substr(at_, end - at_);
        while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
        try {
            const Expr out =
                kernel_.context->parse(text, [this](std::string_view name) -> std::optional<Expr> {
                    const auto found = variables_.find(std::string(name));
                    return found == variables_.end() ? std::nullopt : std::optional(found->second);
                });
            at_ = end;
            return out;
        } catch (const ParseError& e) {
            at_ += static_cast<std::size_t>(e.column) - 1;
            fail(std::string(e.what()).substr(std::string_view(e.what()).find(": ") + 2));
        }
    }
    Scalar number(std::string_view stops) {
        skip();
        const std::size_t start = at_;
        int open = 0;  // complex numbers have parentheses of their own
        for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
            if (open == 0 && stops.find(text_[at_]) != std::string_view::npos) break;
            if (text_[at_] == '(') ++open;
            if (text_[at_] == ')') --open;
        }
        std::string_view text = text_.substr(start, at_ - start);
        while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
        const auto found = ir::parse_scalar(text);
        if (!found) {
            at_ = start;
            fail("a number expected");
        }
        return *found;
    }
    void buffer() {
        const std::string name = word("a buffer's name");
        expect(":");
        KernelBuffer b{name, dtype(), kernel_.context->constant(0)};
        expect("[");
        elements_.push_back(at_);
        while (at_ < text_.size() && text_[at_] != ']' && text_[at_] != '\n') ++at_;
        expect("]");
        b.written = take("out");
        if (!b.written) b.written = b.scratch = take("tmp");
        kernel_.buffers.push_back(std::move(b));
    }
    /// The variables, and then what the buffers say in them.
    void sizes() {
        if (take("where")) {
            do {
                const auto low = integer<std::int64_t>();
                expect("<=");
                const std::string name = word("a variable");
                expect("<=");
                const auto high = integer<std::int64_t>();
                if (low >= high) fail(fmt::format("{} has no choice", name));
                const Expr variable = kernel_.context->variable(name, low, high);
                if (!variables_.emplace(name, variable).second)
                    fail(fmt::format("{} stands twice", name));
                kernel_.variables.push_back(variable);
            } while (take(","));
        }
        const std::size_t behind = at_;
        for (std::size_t i = 0; i < elements_.size(); ++i) {
            at_ = elements_[i];
            kernel_.buffers[i].elements = expression({"]"});
        }
        at_ = behind;
    }
    std::size_t buffer_named() {
        skip();
        const std::size_t start = at_;
        const std::string name = word("a buffer");
        for (std::size_t i = 0; i < kernel_.buffers.size(); ++i) {
            if (kernel_.buffers[i].name == name) return i;
        }
        at_ = start;
        fail(fmt::format("'{}' is no buffer", name));
    }
    /// A counted variable with its size; it has a value from here to the end of the block.
    Count count() {
        const std::string name = word("a variable");
        expect("<");
        const Expr size = expression({",", " lanes", " {", " to"});
        const bool number = std::isdigit(static_cast<unsigned char>(name[0])) != 0;
        if (size.bounds().high < 1) fail("a loop of no steps");
        const Expr variable =
            number ? kernel_.context->constant(0) : kernel_.context->counter(name, size);
        if (!number) variables_.insert_or_assign(name, variable);
        return {variable, size};
    }
    std::vector<Count> counts() {
        std::vector<Count> out{count()};
        while (take(",")) out.push_back(count());
        return out;
    }
    Block block() {
        if (++depth_ > kMaxDepth) fail("nested too deeply");
        const auto variables = variables_;
        expect("{");
        Block out;
        while (!take("}")) {
            if (take("yield")) {
                yielded_ = values();
                expect("}");
                break;
            }
            out.push_back(statement());
        }
        variables_ = variables;
        --depth_;
        return out;
    }
    void condition(Statement& s) {
        if (take("where")) s.valid = expression({" else", " :", "\n"});
    }
    Statement statement() {
        Statement s{.kind = StatementKind::serial};
        const bool parallel = take("parallel");
        if (parallel || take("serial")) {
            if (parallel) s.kind = StatementKind::parallel;
            const auto variables = variables_;
            s.counts = counts();
            s.body = block();
            variables_ = variables;
            return s;
        }
        if (take("bind")) {
            s.kind = StatementKind::bind;
            s.counts = {count()};
            expect("to");
            s.operands = {value()};
            return s;
        }
        if (take("store")) {
            s.kind = StatementKind::store;
            s.buffer = buffer_named();
            expect("[");
            s.index = expression({"]"});
            expect("]");
            expect("=");
            s.operands = {value()};
            condition(s);
            return s;
        }
        s.results = values();
        expect("=");
        if (take("load")) {
            s.kind = StatementKind::load;
            s.buffer = buffer_named();
            expect("[");
            s.index = expression({"]"});
            expect("]");
            condition(s);
            if (s.valid) {
                expect("else");
                s.fill = number(":");
            }
            s.dtype = typed();
        } else if (take("constant")) {
            s.kind = StatementKind::constant;
            s.fill = number(":");
            s.dtype = typed();
        } else if (take("position")) {
            s.kind = StatementKind::position;
            s.index = expression({" :"});
            s.dtype = typed();
        } else if (take("reduce")) {
            reduce(s);
        } else {
            apply(s);
        }
        return s;
    }
    void reduce(Statement& s) {
        s.kind = StatementKind::reduce;
        const auto variables = variables_;
        s.counts = counts();
        expect("lanes");
        s.lanes = integer<int>();
        expect("(");
        do {
            Accumulator a{
                .combine = require_op(word("an op")), .dtype = dtype(), .init = 0, .from = 0};
            expect("from");
            a.init = number(",)");
            s.accumulators.push_back(a);
        } while (take(","));
        expect(")");
        yielded_.clear();
        s.body = block();
        if (yielded_.size() != s.accumulators.size())
            fail("one value to yield for each accumulator");
        for (std::size_t i = 0; i < yielded_.size(); ++i) s.accumulators[i].from = yielded_[i];
        s.dtype = s.accumulators[0].dtype;
        variables_ = variables;
    }
    void apply(Statement& s) {
        s.kind = StatementKind::apply;
        skip();
        const std::size_t start = at_;
        const std::string name = word("an operation");
        const auto op = find_op(name);
        if (!op) {
            at_ = start;
            fail(fmt::format("there is no op named '{}'", name));
        }
        s.op = *op;
        expect("(");
        s.operands = values();
        expect(")");
        AttrWords words;
        for (const AttrDef& attr : op_def(*op).attrs) {
            expect(attr.name);
            expect("=");
            switch (attr.kind) {
                case AttrKind::boolean: words.boolean(number(" :").to_int() != 0); break;
                case AttrKind::integer: words.integer(integer<std::int64_t>()); break;
                case AttrKind::real: words.real(number(" :").to_double()); break;
                case AttrKind::scalar: words.scalar(number(" :")); break;
                case AttrKind::choice: words.append(name, attr, word("a name")); break;
                case AttrKind::axes:
                case AttrKind::ints:
                case AttrKind::text:
                case AttrKind::program:
                case AttrKind::view: fail(fmt::format("{} is no function of elements", name));
            }
        }
        s.words.assign(words.words().begin(), words.words().end());
        s.dtype = typed();
    }

    static constexpr ValueId kMaxValues = 1 << 24;
    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
    Kernel kernel_;
    std::vector<std::size_t> elements_;  // where each buffer says how many it has
    std::map<std::string, Expr> variables_;
    std::vector<ValueId> yielded_;
};

}  // namespace

Kernel Kernel::parse(std::string_view text) { return Parser(text).run(); }

}  // namespace lazuli::codegen
