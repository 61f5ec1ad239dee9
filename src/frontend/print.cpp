// Tensors as text: what they are, or their values laid out as numpy does.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "base/convert.h"
#include "base/env.h"
#include "frontend/record.h"
#include "ir/engine.h"
#include "lazuli/tensor.h"

namespace lazuli {

namespace {

/// A real number's text, split at the point: digits before it, digits behind it, exponent.
struct NumberText {
    std::string whole;
    std::string fraction;
    std::string exponent;
};

/// The text of the elements of one tensor, chosen by looking at all that will be shown.
class Formatter {
   public:
    Formatter(DType dtype, int precision) : dtype_(dtype), precision_(precision) {}

    void note(const Scalar& value) {
        values_.push_back(value);
        if (value.kind() < Kind::floating) return;
        const auto part = [&](double v) {
            if (!std::isfinite(v) || v == 0) return;
            largest_ = std::max(largest_, std::fabs(v));
            smallest_ = std::min(smallest_, std::fabs(v));
        };
        part(value.to_double());
        if (value.kind() == Kind::complex) part(value.to_complex().imag());
    }

    void settle() {
        // numpy's rule for when an exponent is needed
        scientific_ = largest_ >= 1e8 || (largest_ > 0 && smallest_ < 1e-4) ||
                      (largest_ > 0 && largest_ / smallest_ > 1000);
        if (kind(dtype_) < Kind::floating) scientific_ = false;
        for (const Scalar& value : values_) {
            if (value.kind() < Kind::floating) continue;
            note_widths(value.to_double(), 0);
            if (value.kind() == Kind::complex) note_widths(std::fabs(value.to_complex().imag()), 1);
        }
        for (const Scalar& value : values_) width_ = std::max(width_, plain(value).size());
    }

    std::string text(const Scalar& value) const {
        return fmt::format("{:>{}}", plain(value), width_);
    }

   private:
    struct Widths {
        std::size_t whole = 0;
        std::size_t fraction = 0;
    };

    /// The digits of a finite number: as few as tell it from its neighbours of the type, and at
    /// most `precision_` behind the point.
    NumberText split(double v) const {
        const int digits = unique_digits(v);
        std::string text =
            scientific_
                ? fmt::format("{:.{}e}", v, std::min(digits - 1, precision_))
                : fmt::format("{:.{}f}", v, std::min(fraction_digits(v, digits), precision_));
        NumberText out;
        if (const std::size_t e = text.find('e'); e != std::string::npos) {
            out.exponent = text.substr(e);
            text.resize(e);
        }
        const std::size_t point = text.find('.');
        out.whole = text.substr(0, point);
        out.fraction = point == std::string::npos ? "" : text.substr(point + 1);
        while (!out.fraction.empty() && out.fraction.back() == '0') out.fraction.pop_back();
        return out;
    }

    /// Significant digits of the shortest text that reads back as the same element.
    int unique_digits(double v) const {
        if (v == 0) return 1;
        for (int digits = 1; digits < 17; ++digits) {
            const std::string text = fmt::format("{:.{}e}", v, digits - 1);
            double back = 0;  // text beyond the type's range does not read back
            if (std::from_chars(text.data(), text.data() + text.size(), back).ec != std::errc{})
                continue;
            if (Scalar(back).as(real_part(dtype_)) == Scalar(v).as(real_part(dtype_)))
                return digits;
        }
        return 17;
    }
    static int fraction_digits(double v, int significant) {
        if (v == 0) return 0;
        const int exponent = static_cast<int>(std::floor(std::log10(std::fabs(v))));
        return std::max(0, significant - 1 - exponent);
    }

    void note_widths(double v, int part) {
        if (!std::isfinite(v)) return;
        const NumberText t = split(v);
        widths_[part].whole = std::max(widths_[part].whole, t.whole.size());
        widths_[part].fraction = std::max(widths_[part].fraction, t.fraction.size());
    }

    std::string real(double v, int part) const {
        const Widths& w = widths_[part];
        const std::size_t full = w.whole + 1 + w.fraction + (scientific_ ? 4 : 0);
        if (!std::isfinite(v))
            return fmt::format("{:>{}}", std::isnan(v) ? "nan" : v < 0 ? "-inf" : "inf", full);
        const NumberText t = split(v);
        // Scientific notation fills with zeros, positional notation with blanks.
        const std::string filled =
            t.fraction + std::string(w.fraction - t.fraction.size(), scientific_ ? '0' : ' ');
        return fmt::format("{:>{}}.{}{}", t.whole, w.whole, filled, t.exponent);
    }

    std::string plain(const Scalar& value) const {
        switch (value.kind()) {
            case Kind::boolean: return value.to_int() != 0 ? " True" : "False";
            case Kind::integer: return value.str();
            case Kind::floating: return real(value.to_double(), 0);
            case Kind::complex: {
                const double im = value.to_complex().imag();
                std::string imaginary = real(std::fabs(im), 1);
                const std::size_t used = imaginary.find_last_not_of(' ') + 1;
                imaginary.insert(used, "j");
                const std::size_t first = imaginary.find_first_not_of(' ');
                return real(value.to_double(), 0) +
                       (std::signbit(im) && !std::isnan(im) ? "-" : "+") + imaginary.substr(first);
            }
        }
        __builtin_unreachable();
    }

    DType dtype_;
    int precision_;
    bool scientific_ = false;
    double largest_ = 0;
    double smallest_ = std::numeric_limits<double>::infinity();
    Widths widths_[2];
    std::size_t width_ = 0;
    std::vector<Scalar> values_;
};

class Layout {
   public:
    Layout(const TensorSpec& spec, const unsigned char* data, const PrintOptions& options)
        : spec_(spec),
          data_(data),
          options_(options),
          strides_(dense_strides(spec.shape)),
          format_(spec.dtype, options.precision) {
        summary_ = spec.shape.numel() > options.threshold;
    }

    std::string text() {
        if (spec_.shape.rank() == 0) {
            return single(element(0));
        }
        if (spec_.shape.numel() == 0) return "[]";
        walk(0, 0, [&](std::int64_t at) { format_.note(element(at)); });
        format_.settle();
        std::string out;
        write(0, 0, out);
        return out;
    }

   private:
    /// The only element of a tensor of rank 0, with no layout to fit.
    std::string single(const Scalar& value) const {
        if (spec_.dtype == DType::boolean) return value.to_int() != 0 ? "True" : "False";
        if (!is_floating(spec_.dtype)) return value.str();
        const double v = value.to_double();
        std::string text =
            spec_.dtype == f64 ? fmt::format("{}", v) : fmt::format("{}", static_cast<float>(v));
        if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
        return text;
    }

    Scalar element(std::int64_t at) const {
        return load_scalar(spec_.dtype,
                           data_ + static_cast<std::size_t>(at) * size_of(spec_.dtype));
    }

    /// The positions of dimension `d` that are shown; -1 stands for the gap.
    std::vector<std::int64_t> shown(int d) const {
        const std::int64_t size = spec_.shape[d];
        std::vector<std::int64_t> out;
        for (std::int64_t i = 0; i < size; ++i) {
            if (summary_ && size > 2 * options_.edge && i >= options_.edge &&
                i < size - options_.edge) {
                if (i == options_.edge) out.push_back(-1);
                continue;
            }
            out.push_back(i);
        }
        return out;
    }

    template <class F>
    void walk(int d, std::int64_t base, F&& f) const {
        for (const std::int64_t i : shown(d)) {
            if (i < 0) continue;
            const std::int64_t at = base + i * strides_[d];
            if (d + 1 == spec_.shape.rank()) {
                f(at);
            } else {
                walk(d + 1, at, f);
            }
        }
    }

    void write(int d, std::int64_t base, std::string& out) const {
        const bool last = d + 1 == spec_.shape.rank();
        const std::string indent(static_cast<std::size_t>(d) + 1, ' ');
        out += '[';
        bool first = true;
        std::size_t line = static_cast<std::size_t>(d) + 1;
        for (const std::int64_t i : shown(d)) {
            if (last) {
                const std::string item =
                    i < 0 ? "..." : format_.text(element(base + i * strides_[d]));
                constexpr std::size_t kLine = 75;
                if (!first && line + 1 + item.size() > kLine) {
                    while (out.back() == ' ') out.pop_back();
                    out += '\n' + indent;
                    line = indent.size();
                } else if (!first) {
                    out += ' ';
                    ++line;
                }
                out += item;
                line += item.size();
            } else {
                if (!first)
                    out += std::string(static_cast<std::size_t>(spec_.shape.rank() - d - 1), '\n') +
                           indent;
                if (i < 0) {
                    out += "...";
                } else {
                    write(d + 1, base + i * strides_[d], out);
                }
            }
            first = false;
        }
        out += ']';
    }

    const TensorSpec& spec_;
    const unsigned char* data_;
    const PrintOptions& options_;
    Ints strides_;
    Formatter format_;
    bool summary_ = false;
};

const char* state_text(const ir::Node& node) {
    switch (node.state.load(std::memory_order_acquire)) {
        case ir::State::lazy: return "lazy";
        case ir::State::in_flight: return "in flight";
        case ir::State::available: return "available";
        case ir::State::failed: return "failed";
    }
    __builtin_unreachable();
}

}  // namespace

std::string Tensor::str(const PrintOptions& options) const {
    if (!defined()) return "Tensor()";
    if (!options.eval) {
        const ir::Node& node = *frontend::node_of(*this);
        return fmt::format("Tensor(op={}, shape={}, dtype={}, {}{})", op(), shape().str(),
                           lazuli::name(dtype()), state_text(node),
                           node.has_flag(ir::kGradFlag) ? ", requires_grad=true" : "");
    }
    eval();
    std::vector<unsigned char> bytes(static_cast<std::size_t>(spec().nbytes()));
    ir::engine().download(*frontend::node_of(*this), bytes.data());
    return Layout(spec(), bytes.data(), options).text();
}

void print(const Tensor& tensor, const PrintOptions& options) {
    const std::string text = tensor.str({options.eval || env::flag(env::Var::print_eval),
                                         options.precision, options.threshold, options.edge});
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fputc('\n', stdout);
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
    return out << tensor.str({.eval = env::flag(env::Var::print_eval)});
}

}  // namespace lazuli
