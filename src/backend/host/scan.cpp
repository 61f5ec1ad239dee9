// Scans on all threads. A line is cut into blocks of a fixed size; the blocks are reduced, what
// stands before each is summed up, and each is scanned from there. Eight blocks are scanned side
// by side, since a step of one waits for the step before it.

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "backend/host/families.h"
#include "backend/host/share.h"
#include "ops/eval.h"
#include "ops/lines.h"

namespace lazuli::backend::host {

namespace {

using ops::Compute;
using ops::Lines;

constexpr std::int64_t kBlock = 1024;
constexpr std::int64_t kWide = 64;  // neighbouring lines that are scanned at once
constexpr int kSide = 8;            // blocks that are scanned side by side
constexpr std::int64_t kPiece = std::int64_t{1} << 16;  // elements that make a piece of work

// How a scan goes on. `kSplits`: whether blocks may be reduced first; for products of floats they
// may not, since a block's product may overflow where the line's does not.

template <class T>
struct Sum {
    static constexpr bool kWhole = std::is_integral_v<T>;
    using Total = std::conditional_t<kWhole, std::uint64_t, Compute<T>>;
    using Out = std::conditional_t<kWhole, std::uint64_t, T>;
    static constexpr bool kSplits = true;
    static Total start() {
        // -0 and not 0, beside which -0 would be lost.
        if constexpr (kWhole)
            return 0;
        else if constexpr (is_complex_v<T>)
            return {-0.0, -0.0};
        else
            return -0.0;
    }
    static Total join(Total a, Total b) { return a + b; }
};

template <class T>
struct Product : Sum<T> {
    using Total = typename Sum<T>::Total;
    static constexpr bool kSplits = std::is_integral_v<T>;
    static Total start() { return Total{1}; }
    static Total join(Total a, Total b) { return a * b; }
};

template <class T, bool Largest>
struct Choice {
    // Holds every element exactly. Not bool, of which vectors have no addresses.
    using Total = std::conditional_t<std::is_same_v<T, bool>, unsigned char, Compute<T>>;
    using Out = T;
    static constexpr bool kSplits = true;
    static Total start() {
        if constexpr (is_real_float_v<T>) {
            return Largest ? -std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::infinity();
        } else {
            return Largest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
        }
    }
    static Total join(Total a, Total b) {
        if constexpr (is_real_float_v<T>) {
            if (std::isnan(a)) return a;
            const bool zeros = a == 0 && b == 0 && std::signbit(Largest ? a : b);
            return zeros || std::isnan(b) || (Largest ? a < b : b < a) ? b : a;
        } else {
            return (Largest ? a < b : b < a) ? b : a;
        }
    }
};

template <class T>
using Largest = Choice<T, true>;
template <class T>
using Smallest = Choice<T, false>;

template <class T, class S>
class Scan {
    using Total = typename S::Total;
    using Out = typename S::Out;

   public:
    explicit Scan(const EvalArgs& args)
        : in_(args.inputs[0].as<T>()),
          out_(args.result<Out>()),
          lines_(ops::lines_of(args.spec->shape, args.attrs.integer(0))),
          reverse_(args.attrs.boolean(1)),
          step_(reverse_ ? -lines_.inner : lines_.inner) {
        const bool split =
            S::kSplits && lines_.size > kBlock && (lines_.inner == 1 || lines_.count() < 4096);
        block_ = split ? kBlock : lines_.size;
        blocks_ = (lines_.size + block_ - 1) / block_;
        chunks_ = (lines_.inner + kWide - 1) / kWide;
    }

    void run() {
        if (blocks_ > 1) {
            before_.assign(static_cast<std::size_t>(lines_.count() * blocks_), S::start());
            share(units(), grain(), [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t u = begin; u < end; ++u) reduce(unit(u));
            });
            if (may_overflow()) {
                blocks_ = 1;
                block_ = lines_.size;
            } else {
                sum_up();
            }
        }
        const std::int64_t grain = this->grain();
        share(units(), lines_.inner > 1 ? std::max<std::int64_t>(1, grain / kSide) : grain,
              [&](std::int64_t begin, std::int64_t end) {
                  if (lines_.inner > 1) {
                      for (std::int64_t u = begin; u < end; ++u) scan_wide(unit(u));
                      return;
                  }
                  std::int64_t u = begin;
                  for (; u + kSide <= end && all_full(u); u += kSide) scan_side_by_side(u);
                  for (; u < end; ++u) scan_wide(unit(u));
              });
    }

   private:
    /// A unit is a block of a chunk of neighbouring lines.
    std::int64_t units() const { return lines_.outer * blocks_ * chunks_; }
    std::int64_t grain() const {
        const std::int64_t elements = block_ * std::min(lines_.inner, kWide);
        return (std::max<std::int64_t>(1, kPiece / elements) + kSide - 1) / kSide * kSide;
    }

    /// Whether a block's total left the numbers: that of the line before it may lead back, where
    /// totals are no wider than elements.
    bool may_overflow() const {
        if constexpr (std::is_same_v<Total, T> && !std::is_integral_v<T>) {
            return std::any_of(before_.begin(), before_.end(),
                               [](const Total& t) { return !std::isfinite(std::abs(t)); });
        }
        return false;
    }

    struct Unit {
        std::int64_t first;   // where its first element lies, in the order of the scan
        std::int64_t length;  // along the axis
        std::int64_t width;   // neighbouring lines
        std::int64_t total;   // where the first line's total stands in before_
    };
    Unit unit(std::int64_t u) const {
        const std::int64_t chunk = u % chunks_ * kWide;
        const std::int64_t block = u / chunks_ % blocks_;
        const std::int64_t outer = u / chunks_ / blocks_;
        const std::int64_t from = block * block_;
        const std::int64_t position = reverse_ ? lines_.size - 1 - from : from;
        return {(outer * lines_.size + position) * lines_.inner + chunk,
                std::min(block_, lines_.size - from), std::min(kWide, lines_.inner - chunk),
                (outer * blocks_ + block) * lines_.inner + chunk};
    }
    Total* before(const Unit& u) { return before_.data() + u.total; }

    /// The total of a block, in place of what stands before it.
    void reduce(const Unit& u) {
        if (lines_.inner > 1) {
            Total* total = before(u);
            for (std::int64_t k = 0; k < u.length; ++k) {
                const T* from = in_ + u.first + k * step_;
                for (std::int64_t j = 0; j < u.width; ++j)
                    total[j] = S::join(total[j], static_cast<Total>(from[j]));
            }
            return;
        }
        Total part[kSide];
        for (Total& t : part) t = S::start();
        // Elements next to each other, whatever the direction: in its own order, each part.
        const T* from = in_ + (reverse_ ? u.first - u.length + 1 : u.first);
        std::int64_t k = 0;
        for (; k + kSide <= u.length; k += kSide) {
            for (int j = 0; j < kSide; ++j)
                part[j] = S::join(part[j], static_cast<Total>(from[k + j]));
        }
        for (; k < u.length; ++k) part[0] = S::join(part[0], static_cast<Total>(from[k]));
        for (int half = kSide / 2; half > 0; half /= 2) {
            for (int j = 0; j < half; ++j) part[j] = S::join(part[j], part[j + half]);
        }
        *before(u) = part[0];
    }

    void sum_up() {
        for (std::int64_t outer = 0; outer < lines_.outer; ++outer) {
            for (std::int64_t j = 0; j < lines_.inner; ++j) {
                Total so_far = S::start();
                for (std::int64_t block = 0; block < blocks_; ++block) {
                    Total& here = before_[static_cast<std::size_t>(
                        (outer * blocks_ + block) * lines_.inner + j)];
                    so_far = S::join(std::exchange(here, so_far), so_far);
                }
            }
        }
    }

    bool all_full(std::int64_t u) const {
        return blocks_ == 1 || u % blocks_ + kSide < blocks_;  // the last of a line may be short
    }

    void scan_wide(const Unit& u) {
        Total total[kWide];
        for (std::int64_t j = 0; j < u.width; ++j)
            total[j] = blocks_ > 1 ? before(u)[j] : static_cast<Total>(in_[u.first + j]);
        // The first element of a line stands as it is: a complex 1 times infinity does not.
        if (blocks_ == 1) {
            for (std::int64_t j = 0; j < u.width; ++j) out_[u.first + j] = convert<Out>(total[j]);
        }
        for (std::int64_t k = blocks_ == 1 ? 1 : 0; k < u.length; ++k) {
            const std::int64_t at = u.first + k * step_;
            for (std::int64_t j = 0; j < u.width; ++j) {
                total[j] = S::join(total[j], static_cast<Total>(in_[at + j]));
                out_[at + j] = convert<Out>(total[j]);
            }
        }
    }

    void scan_side_by_side(std::int64_t first) {
        Total total[kSide];
        const T* in[kSide];
        Out* out[kSide];
        std::int64_t length = 0;
        for (int j = 0; j < kSide; ++j) {
            const Unit u = unit(first + j);
            total[j] = blocks_ > 1 ? *before(u) : static_cast<Total>(in_[u.first]);
            in[j] = in_ + u.first;
            out[j] = out_ + u.first;
            length = u.length;
            if (blocks_ == 1) *out[j] = convert<Out>(total[j]);
        }
        for (std::int64_t k = blocks_ == 1 ? 1 : 0; k < length; ++k) {
            const std::int64_t at = reverse_ ? -k : k;
#pragma GCC unroll 8
            for (int j = 0; j < kSide; ++j) {
                total[j] = S::join(total[j], static_cast<Total>(in[j][at]));
                out[j][at] = convert<Out>(total[j]);
            }
        }
    }

    const T* in_;
    Out* out_;
    Lines lines_;
    bool reverse_;
    std::int64_t step_;
    std::int64_t block_;
    std::int64_t blocks_;
    std::int64_t chunks_;
    std::vector<Total> before_;  // each block: its total, then what stands before it
};

template <template <class> class S, bool Ordered>
void scan_with(const EvalArgs& args) {
    if (args.spec->shape.numel() == 0) return;
    dispatch(args.inputs[0].spec->dtype, [&]<class T>() {
        if constexpr (!Ordered || !is_complex_v<T>) Scan<T, S<T>>(args).run();
    });
}

}  // namespace

Family scans() {
    return {{"cumsum", scan_with<Sum, false>},
            {"cumprod", scan_with<Product, false>},
            {"cummax", scan_with<Largest, true>},
            {"cummin", scan_with<Smallest, true>}};
}

}  // namespace lazuli::backend::host
