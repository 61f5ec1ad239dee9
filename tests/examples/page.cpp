// The examples as a page for people. The code is shown as it is written in its file, with its
// comments; which piece of the file an example is, is told by its tokens.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "example.h"

namespace examples {

namespace {

constexpr std::size_t kColumns = 92;

/// Reads code: walks over text without stumbling over strings and comments.
class Reader {
   public:
    explicit Reader(std::string_view text) : text_(text) {}
    bool done() const { return at_ >= text_.size(); }
    std::size_t at() const { return at_; }
    /// The next character, string or comment.
    std::string_view next() {
        const std::size_t start = at_;
        if (text_.substr(at_).starts_with("//")) {
            at_ = std::min(text_.find('\n', at_), text_.size());
        } else if (text_.substr(at_).starts_with("/*")) {
            at_ = std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 2;
        } else if (text_[at_] == '"') {
            ++at_;
            while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
            ++at_;
        } else {
            ++at_;
        }
        at_ = std::min(at_, text_.size());
        return text_.substr(start, at_ - start);
    }

   private:
    std::string_view text_;
    std::size_t at_ = 0;
};

bool is_comment(std::string_view piece) {
    return piece.starts_with("//") || piece.starts_with("/*");
}

/// The code without blanks and comments: equal for what is written and what the compiler saw.
std::string squeezed(std::string_view code) {
    std::string out;
    for (Reader reader(code); !reader.done();) {
        const std::string_view piece = reader.next();
        if (!is_comment(piece) && std::isspace(static_cast<unsigned char>(piece[0])) == 0)
            out += piece;
    }
    return out;
}

/// A piece of code in a file, and the column it starts at.
struct Written {
    std::string code;
    std::size_t column = 0;
};

/// The code of every LAZULI_EXAMPLE of a file, by itself squeezed.
std::map<std::string, Written> examples_in(const std::filesystem::path& path) {
    std::ifstream in(LAZULI_EXAMPLES / path.filename());
    std::stringstream all;
    all << in.rdbuf();
    const std::string text = all.str();
    std::map<std::string, Written> out;
    constexpr std::string_view kMacro = "LAZULI_EXAMPLE(";
    for (std::size_t at = text.find(kMacro); at != std::string::npos;
         at = text.find(kMacro, at + 1)) {
        const std::size_t open = at + kMacro.size();
        Reader reader(std::string_view(text).substr(open));
        int depth = 1;
        int commas = 0;
        std::size_t start = 0;
        while (depth > 0 && !reader.done()) {
            const std::string_view piece = reader.next();
            if (piece == "(" || piece == "{" || piece == "[") ++depth;
            if (piece == ")" || piece == "}" || piece == "]") --depth;
            if (piece == "," && depth == 1 && ++commas == 2) start = reader.at();
        }
        const std::size_t first = text.find_first_not_of(" \n", open + start);
        const std::size_t line = text.rfind('\n', first) + 1;
        const std::string code = text.substr(first, open + reader.at() - 1 - first);
        out[squeezed(code)] = {code, first - line};
    }
    return out;
}

std::size_t indentation(const std::string& line) {
    return std::min(line.find_first_not_of(' '), line.size());
}

void shift_left(std::string& line, std::size_t columns) {
    line.erase(0, std::min(columns, indentation(line)));
}

/// The code as lines that start at the margin. Of a function of several statements they are the
/// lines of its body, and what it returns stands as the last of them.
std::vector<std::string> lines_of(const Written& written) {
    std::string code = written.code;
    std::size_t column = written.column;
    if (constexpr std::string_view kPrinted = "printed([] { "; code.starts_with(kPrinted))
        return {code.substr(kPrinted.size(), code.size() - kPrinted.size() - 3)};
    const bool is_function = code.starts_with("[] {") && code.ends_with('}');
    if (is_function) {
        code = code.substr(4, code.size() - 5);
        column = 0;
    }
    std::vector<std::string> lines;
    std::stringstream in(code);
    for (std::string line; std::getline(in, line);) {
        if (line.find_first_not_of(' ') == std::string::npos) continue;
        if (lines.empty() && (!is_function || code.front() != '\n'))
            line.erase(0, indentation(line));
        lines.push_back(line);
    }
    if (is_function) {
        column = indentation(lines.front());
        shift_left(lines.front(), column);
    }
    for (std::size_t i = 1; i < lines.size(); ++i) shift_left(lines[i], column);
    for (std::size_t i = lines.size(); is_function && i-- > 0;) {
        if (!lines[i].starts_with("return ")) continue;
        lines[i].erase(0, 7);
        // What was aligned with something behind `return` moves with it.
        for (std::size_t k = i + 1; k < lines.size(); ++k) {
            if (indentation(lines[k]) >= 7)
                shift_left(lines[k], indentation(lines[k]) == 7 ? 3 : 7);
        }
        const std::size_t end = lines.back().find_last_of(';');
        if (end != std::string::npos) lines.back().erase(end, 1);
        break;
    }
    while (lines.back().ends_with(' ')) lines.back().pop_back();
    return lines;
}

std::string code_block(const Example& example, const Written& written) {
    const std::vector<std::string> lines = lines_of(written);
    std::string out = "```cpp\n" + fmt::format("{}\n", fmt::join(lines, "\n"));
    const bool beside = example.wanted.find('\n') == std::string::npos &&
                        lines.back().find("//") == std::string::npos &&
                        lines.back().size() + 6 + example.wanted.size() <= kColumns;
    if (beside && !example.wanted.empty()) {
        out.pop_back();
        out += "  // " + example.wanted + "\n";
    } else if (!example.wanted.empty()) {
        std::stringstream in(example.wanted);
        for (std::string line; std::getline(in, line);) out += "// " + line + "\n";
    }
    return out + "```\n";
}

/// The op that a function records, by whose doc the page says what it does.
const lazuli::OpDef* op_of(std::string_view name) {
    if (name.starts_with("linalg::")) name.remove_prefix(8);
    const std::optional<lazuli::OpId> id = lazuli::find_op(name);
    return id ? &lazuli::op_def(*id) : nullptr;
}

/// As the heading of that title is linked to.
std::string anchor_of(std::string_view title) {
    std::string out;
    for (const char c : title) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        if (c == ' ' || c == '-') out += '-';
    }
    return out;
}

}  // namespace

int print_page() {
    std::string page =
        "# Examples\n\n"
        "Every public function with an example that is run as a test. Printed by "
        "`test-examples --markdown`; do not edit.\n\n"
        "The code stands behind `#include <lazuli/lazuli.h>` and `using namespace lazuli;`. The "
        "last "
        "comment is what the last line gives: a tensor as nested lists of its values, reals with "
        "five digits, several values one after the other. Every function whose first argument is a "
        "tensor and that is in [ops.md](ops.md) is a method too: `sum(x)` is `x.sum()`. That page "
        "says what each operation means at the edges.\n\n";
    const auto out = std::back_inserter(page);
    for (const Subject& subject : subjects())
        fmt::format_to(out, "- [{}](#{}): {}\n", subject.title, anchor_of(subject.title),
                       subject.about);
    std::map<std::string, std::map<std::string, Written>> files;
    for (const Subject& subject : subjects()) {
        fmt::format_to(out, "\n## {}\n\n{}\n", subject.title, subject.about);
        std::vector<std::string> before;
        for (const Example& example : subject.examples()) {
            if (!files.contains(example.file)) files[example.file] = examples_in(example.file);
            const auto& written = files[example.file];
            const auto found = written.find(squeezed(example.code));
            if (found == written.end()) {
                fmt::print(stderr, "{}: the example of {} is not found there: {}\n", example.file,
                           fmt::join(example.names, ", "), example.code);
                return 1;
            }
            if (example.names != before) {
                fmt::format_to(out, "\n### {}\n", fmt::join(example.names, ", "));
                const lazuli::OpDef* op = op_of(example.names.front());
                if (op != nullptr && example.names.size() == 1)
                    fmt::format_to(out, "\n{}\n", op->doc);
            }
            fmt::format_to(out, "\n{}", code_block(example, found->second));
            before = example.names;
        }
    }
    page += "\n## Operations without a function\n\n| op | what stands for it |\n|---|---|\n";
    for (const WithoutFunction& op : ops_without_function())
        fmt::format_to(out, "| `{}` | {} |\n", op.name, op.reason);
    fmt::print("{}", page);
    return 0;
}

}  // namespace examples
