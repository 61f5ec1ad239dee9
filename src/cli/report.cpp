// `lazuli report`: a trace as one page.

#include "cli/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "cli/commands.h"
#include "cli/report_page.h"
#include "ir/placement.h"
#include "lazuli/lazuli.h"

namespace lazuli::cli {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// What keeps the page small: of a run of hours nobody looks at every kernel.
constexpr std::size_t kMostSpans = 20'000;
constexpr std::size_t kMostCode = 60'000;  // characters of one kernel
constexpr std::size_t kMostViews = 24;     // of one plan

Json parsed(const fs::path& path) {
    try {
        return Json::parse(read_file(path.string()));
    } catch (const nlohmann::json::exception& e) {
        throw FileError(path.string(), fmt::format("is no JSON: {}", e.what()));
    }
}

std::string shortened(std::string text) {
    if (text.size() <= kMostCode) return text;
    const std::size_t left_out = text.size() - kMostCode;
    text.resize(kMostCode);
    return text + fmt::format("\n... {} characters more\n", left_out);
}

std::string content(const fs::path& path) {
    return fs::exists(path) ? read_file(path.string()) : std::string();
}

/// Which element of its operand each of the first positions of a view reads; null in padding.
Json view_rows(const Operation& operation) {
    const Shape shape = operation.spec().shape;
    const Placement placement = ir::placement_of(operation.attrs().words(), shape);
    constexpr std::int64_t kMost = 8;
    const int rank = shape.rank();
    const std::int64_t columns = rank > 0 ? std::min(shape[rank - 1], kMost) : 1;
    const std::int64_t lines = rank > 1 ? std::min(shape[rank - 2], kMost) : 1;
    Json rows = Json::array();
    for (std::int64_t i = 0; i < lines; ++i) {
        Json row = Json::array();
        for (std::int64_t j = 0; j < columns; ++j) {
            std::vector<std::int64_t> at(static_cast<std::size_t>(rank), 0);
            if (rank > 0) at[static_cast<std::size_t>(rank - 1)] = j;
            if (rank > 1) at[static_cast<std::size_t>(rank - 2)] = i;
            const auto element = placement.tracker.at(at);
            row.push_back(element ? Json(*element) : Json());
        }
        rows.push_back(row);
    }
    return rows;
}

/// Each different view once.
Json views_of(const Program& program) {
    Json out = Json::array();
    std::set<std::string> seen;
    for (std::size_t i = 0; i < program.size() && out.size() < kMostViews; ++i) {
        const Operation operation = program.operation(i);
        if (operation.def().name != "view") continue;
        const TensorSpec base = program.spec(operation.input(0));
        const Placement placement =
            ir::placement_of(operation.attrs().words(), operation.spec().shape);
        const std::string text = fmt::format("{} -> {}: {}", base.str(), operation.spec().str(),
                                             ir::placement_text(placement, base.shape));
        if (!seen.insert(text).second) continue;
        out.push_back(
            {{"text", text}, {"elements", base.shape.numel()}, {"rows", view_rows(operation)}});
    }
    return out;
}

Json plan_of(const fs::path& folder, const Json& total) {
    Json out = parsed(folder / "plan.json");
    const Program optimized = Program::parse(read_file((folder / "optimized.ir").string()));
    out["name"] = folder.filename().string();
    out["program"] = content(folder / "program.ir");
    out["optimized"] = content(folder / "optimized.ir");
    out["runs"] = total.value("runs", 0);
    out["made"] = total.value("made", 0);
    out["us"] = total.value("us", 0.0);
    Json code = Json::object();
    for (std::size_t k = 0; k < out["kernels"].size(); ++k) {
        Json& kernel = out["kernels"][k];
        const std::string name = kernel["name"];
        kernel["number"] = k;
        const auto times = total.value("kernel_us", Json::array());
        kernel["us"] =
            k < times.size() ? times[k].get<double>() / std::max(1, total.value("runs", 1)) : 0;
        if (code.contains(name)) continue;
        code[name] = {{"ir", shortened(content(folder / "kernels" / (name + ".kernel")))},
                      {"assembly", shortened(content(folder / "kernels" / (name + ".s")))}};
    }
    out["code"] = code;
    out["last"] =
        out["kernels"].empty() ? "" : out["kernels"].back()["operations"].get<std::string>();
    for (Json& pass : out["passes"]) {
        pass["before"] = content(folder / pass["before"].get<std::string>());
        pass["after"] = content(folder / pass["after"].get<std::string>());
    }
    out["views"] = views_of(optimized);
    out["graph"] = laid_out(graph_of(optimized, out["kernels"]));
    return out;
}

/// [name, start, length, thread, category, plan, kernel], the longest where there are too many.
Json spans_of(const Json& timeline, const std::map<std::string, std::size_t>& plans) {
    struct Span {
        double start, length;
        Json json;
    };
    std::vector<Span> all;
    std::map<int, std::pair<int, int>>
        inside;  // of each thread: the plan that runs, and its kernel
    for (const Json& event : timeline["traceEvents"]) {
        if (event["ph"] != "X") continue;
        const std::string name = event["name"];
        const std::string category = event["cat"];
        const int thread = event["tid"];
        auto& [plan, kernel] = inside[thread];
        if (category == "evaluation") {
            const auto at = plans.find(name);
            plan = at == plans.end() ? -1 : static_cast<int>(at->second);
            kernel = 0;
        }
        Json json = Json::array(
            {name, event["ts"], event["dur"], thread, category, category == "wait" ? -1 : plan});
        if (category == "kernel") json.push_back(kernel++);
        all.push_back({event["ts"], event["dur"], std::move(json)});
    }
    if (all.size() > kMostSpans) {
        std::nth_element(all.begin(), all.begin() + kMostSpans, all.end(),
                         [](const Span& a, const Span& b) { return a.length > b.length; });
        all.resize(kMostSpans);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Span& a, const Span& b) { return a.start < b.start; });
    Json out = Json::array();
    for (Span& span : all) out.push_back(std::move(span.json));
    return out;
}

std::size_t lines_in(const fs::path& path) {
    const std::string text = content(path);
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

void report(const ReportOptions& options) {
    const fs::path folder = options.directory;
    if (!fs::exists(folder / "timeline.json"))
        throw FileError(options.directory, "is no trace: it has no timeline.json");
    const Json statistics = parsed(folder / "statistics.json");
    std::map<std::string, std::size_t> numbers;
    Json plans = Json::array();
    Json names = Json::array();
    for (const Json& total : statistics["plans"]) {
        const std::string name = total["plan"];
        if (!fs::exists(folder / name / "plan.json")) continue;
        numbers[name] = plans.size();
        plans.push_back(plan_of(folder / name, total));
        names.push_back(plans.back()["last"]);
        if (options.progress)
            fmt::print(stderr, "\rplan {} of {}", plans.size(), statistics["plans"].size());
    }
    if (options.progress && !plans.empty()) fmt::print(stderr, "\n");
    const Json data{{"statistics", statistics},
                    {"executions", lines_in(folder / "executions.jsonl")},
                    {"spans", spans_of(parsed(folder / "timeline.json"), numbers)},
                    {"names", names},
                    {"plans", plans}};
    // Nothing in a script may look like its end.
    std::string text = data.dump();
    for (std::size_t at = 0; (at = text.find("</", at)) != std::string::npos; at += 3)
        text.replace(at, 2, "<\\/");
    std::string page = kReportPage;
    const std::string_view mark = "@DATA@";
    page.replace(page.find(mark), mark.size(), text);
    const std::string path =
        options.output.empty() ? (folder / "report.html").string() : options.output;
    std::ofstream out(path, std::ios::binary);
    out << page;
    out.close();
    if (!out) throw FileError(path, "cannot be written");
    fmt::print("{}: {} plans, {:.2f} MB\n", path, plans.size(),
               static_cast<double>(page.size()) / 1e6);
}

}  // namespace lazuli::cli
