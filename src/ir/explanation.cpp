// The text of an explanation. It stands here, and not where explanations are made, because reading
// one is the frontend's.

#include "lazuli/explanation.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/text.h"

namespace lazuli {

std::string ir::bytes_text(std::int64_t bytes) {
    if (bytes < 10'000) return fmt::format("{} B", bytes);
    if (bytes < 10'000'000) return fmt::format("{:.1f} KB", static_cast<double>(bytes) / 1e3);
    if (bytes < 10'000'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
    return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

std::string Explanation::str() const {
    if (operations == 0) return "nothing to compute: its values are there\n";
    using ir::bytes_text;
    struct Row {
        std::string name, read, written, what;
    };
    std::vector<Row> rows{{"kernel", "reads", "writes", "operations"}};
    std::string stored;
    for (const KernelExplanation& kernel : kernels) {
        rows.push_back({kernel.name, bytes_text(kernel.bytes_read),
                        bytes_text(kernel.bytes_written),
                        kernel.operations + (kernel.how.empty() ? "" : ": " + kernel.how)});
        if (!kernel.ends.empty()) stored += fmt::format("{} {}\n", kernel.name, kernel.ends);
    }
    std::string out = cache.empty() ? "" : fmt::format("cache: {}\n", cache);
    out += fmt::format("{} operations in {} kernel{}; {} read, {} written\n", operations,
                       kernels.size(), kernels.size() == 1 ? "" : "s", bytes_text(bytes_read),
                       bytes_text(bytes_written));
    if (arena_bytes > 0)
        out += fmt::format("memory to compute in: {}{}; a buffer an operation would be {}\n",
                           bytes_text(arena_bytes),
                           arena_bytes == alive_bytes
                               ? ", all of it alive at once"
                               : fmt::format(", {} alive at once", bytes_text(alive_bytes)),
                           bytes_text(unplanned_bytes));
    std::size_t widths[3] = {0, 0, 0};
    for (const Row& row : rows) {
        widths[0] = std::max(widths[0], row.name.size());
        widths[1] = std::max(widths[1], row.read.size());
        widths[2] = std::max(widths[2], row.written.size());
    }
    for (const Row& row : rows)
        out += fmt::format("  {:<{}}  {:>{}}  {:>{}}  {}\n", row.name, widths[0], row.read,
                           widths[1], row.written, widths[2], row.what);
    return out + stored;
}

}  // namespace lazuli
