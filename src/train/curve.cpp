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
constexpr double kTop = 62;
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

/// The marks of an axis: multiples of their distance. They are counted, since adding a small one to
/// a large number may change nothing.
std::vector<double> marks_of(const Scale& scale, double between) {
    std::vector<double> out;
    const double first = std::ceil(scale.low / between);
    for (int i = 0; (first + i) * between <= scale.high; ++i) out.push_back((first + i) * between);
    return out;
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

/// The points of a curve in the picture, as a path; values that are not finite are gaps.
std::string path_of(const Curve& curve, const Scale& x, const Scale& y) {
    std::string out;
    bool on = false;
    for (const auto& [step, value] : curve.points) {
        const bool seen = std::isfinite(value);
        if (seen)
            out += fmt::format("{}{:.1f},{:.1f} ", on ? "L" : "M", x(static_cast<double>(step)),
                               y(value));
        on = seen;
    }
    return out;
}

/// Means of each value and those around it. Near the first there are fewer, equally many on either
/// side: that is where curves fall.
Curve smoothed(const Curve& curve) {
    const std::size_t count = curve.points.size();
    Curve out = curve;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t reach = std::min(count / 40, i);
        const std::size_t end = std::min(i + reach + 1, count);
        double sum = 0;
        for (std::size_t k = i - reach; k < end; ++k) sum += curve.points[k].second;
        out.points[i].second = sum / static_cast<double>(end - (i - reach));
    }
    return out;
}

/// A curve of few points has dots, so that single values are seen; one of many is drawn pale, with
/// its smoothed self upon it.
std::string line_of(const Curve& curve, const Scale& x, const Scale& y, const char* colour) {
    constexpr std::size_t kFew = 40;
    constexpr std::size_t kMany = 120;
    const bool many = curve.points.size() >= kMany;
    std::string out =
        fmt::format(R"(<path d="{}" fill="none" stroke="{}" stroke-width="{}" opacity="{}"/>)"
                    "\n",
                    path_of(curve, x, y), colour, many ? 1.0 : 1.8, many ? 0.35 : 1.0);
    if (many)
        out += fmt::format(R"(<path d="{}" fill="none" stroke="{}" stroke-width="1.8"/>)"
                           "\n",
                           path_of(smoothed(curve), x, y), colour);
    if (curve.points.size() > kFew) return out;
    for (const auto& [step, value] : curve.points) {
        if (std::isfinite(value))
            out += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="2.8" fill="{}"/>)"
                               "\n",
                               x(static_cast<double>(step)), y(value), colour);
    }
    return out;
}

std::string rows_of(const Scale& y) {
    std::string out;
    const double between = distance_of_marks(y.low, y.high);
    for (const double mark : marks_of(y, between)) {
        out += fmt::format(
            R"(<line x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}" stroke="#e5e7eb"/><text x="{3}" y="{4:.1f}" text-anchor="end" fill="#4b5563">{5:.4g}</text>)"
            "\n",
            kLeft, kWidth - kRight, y(mark), kLeft - 8, y(mark) + 4,
            std::abs(mark) < between / 1e6 ? 0.0 : mark);
    }
    return out;
}

std::string columns_of(const Scale& x) {
    constexpr double kFloor = kHeight - kBottom;
    std::string out = fmt::format(
        R"(<line x1="{0}" x2="{1}" y1="{2}" y2="{2}" stroke="#9ca3af"/><text x="{3}" y="{4}" text-anchor="middle" fill="#4b5563">step</text>)"
        "\n",
        kLeft, kWidth - kRight, kFloor, (kLeft + kWidth - kRight) / 2, kHeight - 10);
    const double between = std::max(1.0, distance_of_marks(x.low, x.high));
    for (const double mark : marks_of(x, between)) {
        out += fmt::format(
            R"(<line x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}" stroke="#9ca3af"/><text x="{0:.1f}" y="{3}" text-anchor="middle" fill="#4b5563">{4:.0f}</text>)"
            "\n",
            x(mark), kFloor, kFloor + 5, kFloor + 19, mark);
    }
    return out;
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
    out += rows_of(y) + columns_of(x);
    double legend = kLeft;
    for (std::size_t i = 0; i < curves.size(); ++i) {
        const char* colour = kColours[i % std::size(kColours)];
        out += line_of(curves[i], x, y, colour);
        out += fmt::format(
            R"(<rect x="{:.0f}" y="36" width="11" height="11" rx="2" fill="{}"/><text x="{:.0f}" y="46">{}</text>)"
            "\n",
            legend, colour, legend + 16, escaped(curves[i].name));
        legend += 40 + 6.5 * static_cast<double>(curves[i].name.size());
    }
    return out + "</svg>\n";
}

}  // namespace lazuli::train
