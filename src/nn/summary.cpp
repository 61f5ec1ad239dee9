#include "nn/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ir/text.h"

namespace lazuli::nn {

namespace {

struct Row {
    std::string name;
    std::string kind;
    std::string shape;
    std::string count;
    std::string bytes;
};

/// 1234567 as 1,234,567.
std::string grouped(std::int64_t number) {
    std::string out = std::to_string(number);
    for (auto at = static_cast<std::int64_t>(out.size()) - 3; at > 0; at -= 3)
        out.insert(static_cast<std::size_t>(at), ",");
    return out;
}

std::int64_t bytes_of(const Tensor& tensor) {
    return tensor.numel() * static_cast<std::int64_t>(size_of(tensor.dtype()));
}

Row row_of(const std::string& name, std::string kind, const Tensor& tensor) {
    return {name, std::move(kind),
            fmt::format("{}{}", lazuli::name(tensor.dtype()), tensor.shape().str()),
            grouped(tensor.numel()), ir::bytes_text(bytes_of(tensor))};
}

}  // namespace

std::string summary_of(Module& module) {
    std::vector<Row> rows{{"name", "kind", "shape", "elements", "memory"}};
    std::int64_t elements = 0;
    std::int64_t trained = 0;
    std::int64_t bytes = 0;
    walk(module, {.parameter =
                      [&](const std::string& name, Parameter& parameter) {
                          rows.push_back(row_of(name, parameter.trainable ? "parameter" : "frozen",
                                                parameter));
                          elements += parameter.numel();
                          trained += parameter.trainable ? parameter.numel() : 0;
                          bytes += bytes_of(parameter);
                      },
                  .buffer =
                      [&](const std::string& name, Tensor& buffer) {
                          rows.push_back(row_of(name, "buffer", buffer));
                          bytes += bytes_of(buffer);
                      },
                  .module =
                      [&](const std::string& name, Module& part) {
                          rows.push_back({name.empty() ? "model" : name, part.kind(), "", "", ""});
                      }});
    std::size_t widths[5] = {};
    for (const Row& row : rows) {
        const std::string* cells[] = {&row.name, &row.kind, &row.shape, &row.count, &row.bytes};
        for (std::size_t i = 0; i < 5; ++i) widths[i] = std::max(widths[i], cells[i]->size());
    }
    std::string out;
    for (const Row& row : rows) {
        std::string line = fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>{}}  {:>{}}", row.name,
                                       widths[0], row.kind, widths[1], row.shape, widths[2],
                                       row.count, widths[3], row.bytes, widths[4]);
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    out += fmt::format("{} parameters, {} of them trained; {}\n", grouped(elements),
                       grouped(trained), ir::bytes_text(bytes));
    return out;
}

}  // namespace lazuli::nn
