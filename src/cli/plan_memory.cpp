// `lazuli plan-memory`: the planner that plans use, for anyone's buffers.

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "cli/commands.h"
#include "ir/text.h"
#include "lazuli/error.h"
#include "plan/packing.h"

namespace lazuli::cli {

namespace {

/// Buffers as a file lists them.
struct Table {
    std::vector<std::string> ids;
    std::vector<plan::Lifetime> lifetimes;
};

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> cells_of(std::string_view line) {
    std::vector<std::string_view> out;
    for (;;) {
        const std::size_t comma = line.find(',');
        out.push_back(trimmed(line.substr(0, comma)));
        if (comma == std::string_view::npos) return out;
        line.remove_prefix(comma + 1);
    }
}

class Reader {
   public:
    explicit Reader(const std::string& path) : path_(path) {}

    Table read() {
        const std::string content = read_file(path_);
        std::string_view rest = content;
        if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
        while (!rest.empty()) {
            const std::size_t end = rest.find('\n');
            const std::string_view line = trimmed(rest.substr(0, end));
            rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
            ++line_;
            if (!line.empty()) add(cells_of(line));
        }
        if (columns_.empty()) refuse("a first line `id,lower,upper,size` is expected");
        return std::move(table_);
    }

   private:
    [[noreturn]] void refuse(const std::string& why) const {
        throw FileError(path_, fmt::format("line {}: {}", std::max(line_, 1), why));
    }

    void add(const std::vector<std::string_view>& cells) {
        if (columns_.empty()) return add_header(cells);
        if (cells.size() != width_)
            refuse(fmt::format("{} columns, where the first line has {}", cells.size(), width_));
        const std::string id(cells[columns_.at("id")]);
        if (!seen_.insert(id).second) refuse(fmt::format("id \"{}\" was there before", id));
        const plan::Lifetime lifetime{number(cells, "lower"), number(cells, "upper"),
                                      number(cells, "size")};
        if (lifetime.upper < lifetime.lower)
            refuse(fmt::format("buffer \"{}\" ends at {}, before it begins at {}", id,
                               lifetime.upper, lifetime.lower));
        if (lifetime.size < 0)
            refuse(fmt::format("buffer \"{}\" has a size of {}", id, lifetime.size));
        table_.ids.push_back(id);
        table_.lifetimes.push_back(lifetime);
    }

    void add_header(const std::vector<std::string_view>& cells) {
        width_ = cells.size();
        for (std::size_t i = 0; i < cells.size(); ++i) columns_.emplace(cells[i], i);
        for (const char* needed : {"id", "lower", "upper", "size"}) {
            if (!columns_.contains(needed))
                refuse(fmt::format("no column \"{}\"; `id,lower,upper,size` are needed", needed));
        }
    }

    std::int64_t number(const std::vector<std::string_view>& cells, const char* column) const {
        const std::string_view text = cells[columns_.at(column)];
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc{} || end != text.data() + text.size())
            refuse(fmt::format("{} \"{}\" is no whole number of 64 bits", column, text));
        return value;
    }

    const std::string& path_;
    int line_ = 0;
    std::size_t width_ = 0;
    std::map<std::string, std::size_t, std::less<>> columns_;
    std::set<std::string> seen_;
    Table table_;
};

std::string as_csv(const Table& table, const plan::Packing& packing) {
    std::string out = "id,lower,upper,size,offset\n";
    for (std::size_t i = 0; i < table.ids.size(); ++i) {
        const auto& [lower, upper, size] = table.lifetimes[i];
        out +=
            fmt::format("{},{},{},{},{}\n", table.ids[i], lower, upper, size, packing.offsets[i]);
    }
    return out;
}

std::string as_text(const Table& table, const plan::Packing& packing) {
    const auto over = [&](std::int64_t bytes) {
        if (packing.bound == 0 || bytes == packing.bound) return std::string();
        return fmt::format(", {:.2f} % above the lower bound",
                           100.0 * static_cast<double>(bytes - packing.bound) /
                               static_cast<double>(packing.bound));
    };
    return fmt::format(
        "buffers      {}\npeak         {} bytes{}{}\nlower bound  {} bytes alive at once\n"
        "greedy       {} bytes{}\nmethod       {}\ntime         {:.3f} s\n",
        table.ids.size(), packing.peak, over(packing.peak),
        packing.is_optimal() ? ", which is optimal" : "", packing.bound, packing.greedy_peak,
        over(packing.greedy_peak), packing.method, packing.seconds);
}

}  // namespace

int plan_memory(const PlanMemoryOptions& options) {
    constexpr int kBadInput = 2;
    constexpr int kDoesNotFit = 3;
    try {
        if (options.capacity && *options.capacity < 0)
            throw ArgumentError(fmt::format("--capacity {}: negative", *options.capacity));
        if (!(options.seconds >= 0))
            throw ArgumentError(fmt::format("--seconds {}: negative", options.seconds));
        if (options.alignment < 1)
            throw ArgumentError(fmt::format("--alignment {}: below 1", options.alignment));
        const Table table = Reader(options.file).read();
        const plan::Packing packing = plan::pack(table.lifetimes, {.alignment = options.alignment,
                                                                   .seconds = options.seconds,
                                                                   .capacity = options.capacity});
        fmt::print("{}", as_text(table, packing));
        if (options.capacity && packing.peak > *options.capacity) {
            const bool never = packing.bound > *options.capacity;
            fmt::print("capacity     {} bytes: {}\n", *options.capacity,
                       never ? "too small, more is alive at once" : "no packing was found");
            return kDoesNotFit;
        }
        if (options.capacity) fmt::print("capacity     {} bytes: fits\n", *options.capacity);
        const std::string csv = as_csv(table, packing);
        if (options.output.empty()) {
            fmt::print("\n{}", csv);
            return 0;
        }
        std::ofstream out(options.output, std::ios::binary);
        out << csv;
        out.close();
        if (!out) throw FileError(options.output, "cannot be written");
        return 0;
    } catch (const Error& e) {
        fmt::print(stderr, "lazuli plan-memory: {}\n", e.what());
        return kBadInput;
    }
}

}  // namespace lazuli::cli
