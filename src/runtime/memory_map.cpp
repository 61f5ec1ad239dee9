// The memory of a plan as a picture: kernels from left to right, addresses from below.

#include <fmt/format.h>

#include <algorithm>

#include "ir/text.h"
#include "runtime/trace.h"

namespace lazuli::trace {

namespace {

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '&': out += "&amp;"; break;
            default: out += c;
        }
    }
    return out;
}

}  // namespace

std::string memory_map(const PreparedInfo& info) {
    constexpr double kWidth = 960;
    constexpr double kHeight = 320;
    constexpr double kLeft = 70;
    constexpr double kTop = 10;
    const double steps = static_cast<double>(std::max<std::size_t>(info.kernels.size(), 1));
    const double bytes = static_cast<double>(std::max<std::int64_t>(info.arena_bytes, 1));
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" "
        "font-family=\"sans-serif\" "
        "font-size=\"11\">\n<title>{} to compute in, {} alive at once</title>\n"
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n",
        kLeft + kWidth + 10, kTop + kHeight + 30, ir::bytes_text(info.arena_bytes),
        ir::bytes_text(info.alive_bytes), kLeft, kTop, kWidth, kHeight);
    for (const ValueInfo& value : info.values) {
        if (value.offset < 0) continue;
        const double x = kLeft + kWidth * static_cast<double>(value.first) / steps;
        const double width = kWidth * static_cast<double>(value.last - value.first + 1) / steps;
        const double height = kHeight * static_cast<double>(value.bytes) / bytes;
        const double y =
            kTop + kHeight - kHeight * static_cast<double>(value.offset) / bytes - height;
        // Neighbours differ, and a value has the same colour in every picture.
        const unsigned hue = value.operation * 137U % 360U;
        out += fmt::format(
            "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
            "fill=\"hsl({},55%,60%)\" "
            "stroke=\"#333\" stroke-width=\"0.4\"><title>{} of {}, {}, at {}, kernels {} to {}"
            "</title></rect>\n",
            x, y, width, std::max(height, 0.5), hue, escaped(value.text), escaped(value.op),
            ir::bytes_text(value.bytes), value.offset, value.first, value.last);
    }
    out += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#888\">{}</text>\n"
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#888\">0</text>\n"
        "<text x=\"{}\" y=\"{}\" fill=\"#888\">kernel 0</text>\n"
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#888\">kernel {}</text>\n</svg>\n",
        kLeft - 6, kTop + 10, ir::bytes_text(info.arena_bytes), kLeft - 6, kTop + kHeight, kLeft,
        kTop + kHeight + 18, kLeft + kWidth, kTop + kHeight + 18, info.kernels.size() - 1);
    return out;
}

}  // namespace lazuli::trace
