#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lazuli/train.h"

namespace lazuli::train {

namespace {

constexpr double kWidth = 760;
constexpr double kHeight = 420;
constexpr double kLeft = 64;
constexpr double kRight = 20;
constexpr double kTop = 44;
constexpr double kBottom = 48;
constexpr const char* kColours[] = {"#2563eb", "#dc2626", "#059669", "#9333ea"};

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else
            out += c;
    }
    return out;
}

/// From a range of numbers to a range of the picture.
struct Scale {
    double low;
    double high;
    double from;
    double to;
    double operator()(double value) const {
        return from + (value - low) / (high - low) * (to - from);
    }
};

/// A round distance between marks: 1, 2 or 5 times a power of ten, for about five marks.
double distance_of_marks(double low, double high) {
    const double rough = (high - low) / 5;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (rough <= factor * power) return factor * power;
    return 10 * power;
}

/// The range of finite values, widened where it is a point.
std::pair<double, double> range_of(const std::vector<Curve>& curves, bool of_steps) {
    double low = INFINITY;
    double high = -INFINITY;
    for (const Curve& curve : curves) {
        for (const auto& [step, value] : curve.points) {
            const double number = of_steps ? static_cast<double>(step) : value;
            if (!std::isfinite(number)) continue;
            low = std::min(low, number);
            high = std::max(high, number);
        }
    }
    if (low > high) return {0, 1};
    if (low == high) return {low - 0.5, high + 0.5};
    return {low, high};
}

std::string line_of(const Curve& curve, const Scale& x, const Scale& y, const char* colour) {
    std::string out;
    std::string path;
    for (const auto& [step, value] : curve.points) {
        if (!std::isfinite(value)) {  // a gap
            path.clear();
            continue;
        }
        const double at_x = x(static_cast<double>(step));
        const double at_y = y(value);
        if (path.empty()) out += out.empty() ? "M" : " M";
        out += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " L", at_x, at_y);
        path = "on";
    }
    std::string dots;
    if (curve.points.size() <= 40) {  // single values are seen as well
        for (const auto& [step, value] : curve.points) {
            if (std::isfinite(value))
                dots += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="2.5" fill="{}"/>)",
                                    x(static_cast<double>(step)), y(value), colour);
        }
    }
    return fmt::format(R"(<path d="{}" fill="none" stroke="{}" stroke-width="1.6"/>{})"
                       "\n",
                       out, colour, dots);
}

}  // namespace

std::string curves_svg(const std::string& title, const std::vector<Curve>& curves) {
    const auto [first, last] = range_of(curves, true);
    const auto [low, high] = range_of(curves, false);
    const double room = (high - low) * 0.04;
    const Scale x{first, last, kLeft, kWidth - kRight};
    const Scale y{low - room, high + room, kHeight - kBottom, kTop};
    std::string out = fmt::format(
        R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" font-family="sans-serif" font-size="12">)"
        "\n"
        R"(<rect width="100%" height="100%" fill="white"/>)"
        "\n"
        R"(<text x="{2}" y="24" font-size="15" font-weight="600">{3}</text>)"
        "\n",
        kWidth, kHeight, kLeft, escaped(title));
    const double rows = distance_of_marks(y.low, y.high);
    for (double mark = std::ceil(y.low / rows) * rows; mark <= y.high; mark += rows) {
        out += fmt::format(
            R"(<line x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}" stroke="#e5e7eb"/><text x="{3}" y="{4:.1f}" text-anchor="end" fill="#4b5563">{5:.4g}</text>)"
            "\n",
            kLeft, kWidth - kRight, y(mark), kLeft - 8, y(mark) + 4,
            std::abs(mark) < rows / 1e6 ? 0.0 : mark);
    }
    const double columns = std::max(1.0, distance_of_marks(x.low, x.high));
    for (double mark = std::ceil(x.low / columns) * columns; mark <= x.high; mark += columns) {
        out += fmt::format(
            R"(<text x="{:.1f}" y="{}" text-anchor="middle" fill="#4b5563">{:.0f}</text>)"
            "\n",
            x(mark), kHeight - kBottom + 18, mark);
    }
    out += fmt::format(
        R"(<line x1="{0}" x2="{1}" y1="{2}" y2="{2}" stroke="#9ca3af"/><text x="{3}" y="{4}" text-anchor="middle" fill="#4b5563">step</text>)"
        "\n",
        kLeft, kWidth - kRight, kHeight - kBottom, (kLeft + kWidth - kRight) / 2, kHeight - 10);
    double legend = kWidth - kRight;
    for (std::size_t i = curves.size(); i-- > 0;) {
        const char* colour = kColours[i % std::size(kColours)];
        legend -= 26 + 7 * static_cast<double>(curves[i].name.size());
        out += line_of(curves[i], x, y, colour);
        out += fmt::format(
            R"(<rect x="{:.0f}" y="14" width="12" height="12" fill="{}"/><text x="{:.0f}" y="24">{}</text>)"
            "\n",
            legend, colour, legend + 17, escaped(curves[i].name));
    }
    return out + "</svg>\n";
}

}  // namespace lazuli::train
