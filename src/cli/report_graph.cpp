// A plan as a picture: operations, kernels as boxes around them, laid out by Graphviz.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "cli/report.h"

namespace lazuli::cli {

namespace {

/// Above so many operations a picture of kernels alone says more.
constexpr std::size_t kMostOperations = 1500;

std::string dot_text(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

class Drawing {
   public:
    Drawing(const Program& program, const nlohmann::ordered_json& kernels)
        : program_(program), kernels_(kernels), kernel_of_(program.size(), -1) {
        for (std::size_t k = 0; k < kernels.size(); ++k) {
            for (const auto& member : kernels[k]["members"]) {
                const auto number = member.get<std::size_t>();
                if (number < kernel_of_.size()) kernel_of_[number] = static_cast<int>(k);
            }
        }
    }

    std::string dot() {
        out_ =
            "digraph plan {\nbgcolor=transparent; rankdir=TB; nodesep=0.2; ranksep=0.3; "
            "compound=true;\nnode [shape=box style=rounded fontsize=11 height=0.3 "
            "margin=\"0.08,0.03\"];\n"
            "edge [arrowsize=0.6 fontsize=9];\n";
        const bool whole = program_.size() <= kMostOperations;
        for (std::size_t k = 0; k < kernels_.size(); ++k) whole ? draw_kernel(k) : draw_box(k);
        for (std::size_t i = 0; i < program_.size(); ++i) draw_edges(i, whole);
        for (std::size_t r = 0; r < program_.results().size(); ++r) {
            const ProgramResult& result = program_.results()[r];
            out_ += fmt::format("r{} [shape=ellipse label={}];\n", r, dot_text(result.name));
            edge(source(result.value, whole), fmt::format("r{}", r));
        }
        return out_ + "}\n";
    }

   private:
    std::string label(std::size_t operation) const {
        const Operation op = program_.operation(operation);
        return dot_text(fmt::format("{} {}", op.def().name, op.spec().str()));
    }
    std::string title(std::size_t k) const {
        return dot_text(fmt::format("{} {}", k, kernels_[k]["name"].get<std::string>()));
    }
    void draw_kernel(std::size_t k) {
        out_ += fmt::format(
            "subgraph cluster_{0} {{ id=\"kernel{0}\" label={1} fontsize=11 labeljust=l;\n", k,
            title(k));
        for (std::size_t i = 0; i < program_.size(); ++i) {
            if (kernel_of_[i] == static_cast<int>(k))
                out_ += fmt::format("o{} [label={}];\n", i, label(i));
        }
        out_ += "}\n";
    }
    void draw_box(std::size_t k) { out_ += fmt::format("k{} [label={}];\n", k, title(k)); }

    /// The node that a value comes from; parameters are drawn when they are first read.
    std::string source(ValueRef v, bool whole) {
        if (v.is_param()) {
            const std::string name = fmt::format("p{}", v.index());
            if (drawn_.size() <= v.index()) drawn_.resize(v.index() + 1, false);
            if (!drawn_[v.index()]) {
                drawn_[v.index()] = true;
                const Param& param = program_.params()[v.index()];
                out_ += fmt::format("{} [shape=ellipse label={}];\n", name,
                                    dot_text(param.name + " " + param.spec.str()));
            }
            return name;
        }
        if (whole) return fmt::format("o{}", v.index());
        return fmt::format("k{}", kernel_of_[v.index()]);
    }
    void draw_edges(std::size_t i, bool whole) {
        if (kernel_of_[i] < 0) return;
        const std::string to = whole ? fmt::format("o{}", i) : fmt::format("k{}", kernel_of_[i]);
        const Operation operation = program_.operation(i);
        for (std::size_t k = 0; k < operation.input_count(); ++k) {
            const ValueRef v = operation.input(k);
            if (!v.is_param() && kernel_of_[v.index()] < 0) continue;
            const std::string from = source(v, whole);
            if (from != to) edge(from, to);
        }
    }
    void edge(const std::string& from, const std::string& to) {
        out_ += fmt::format("{} -> {};\n", from, to);
    }

    const Program& program_;
    const nlohmann::ordered_json& kernels_;
    std::vector<int> kernel_of_;
    std::vector<bool> drawn_;  // parameters
    std::string out_;
};

}  // namespace

std::string graph_of(const Program& program, const nlohmann::ordered_json& kernels) {
    return Drawing(program, kernels).dot();
}

std::string laid_out(const std::string& dot) {
    namespace fs = std::filesystem;
    const fs::path file = fs::temp_directory_path() / fmt::format("lazuli-graph-{}.dot", getpid());
    std::ofstream(file) << dot;
    std::string svg;
    // Clusters by the hundred make some layouts slow: those are not waited for.
    const std::string command = fmt::format("timeout 60 dot -Tsvg '{}' 2>/dev/null", file.string());
    if (std::FILE* pipe = popen(command.c_str(), "r")) {
        char buffer[65536];
        for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
            svg.append(buffer, n);
        if (pclose(pipe) != 0) svg.clear();
    }
    fs::remove(file);
    const std::size_t begin = svg.find("<svg");
    return begin == std::string::npos ? std::string() : svg.substr(begin);
}

}  // namespace lazuli::cli
