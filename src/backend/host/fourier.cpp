// Fourier transforms in n log n steps, for any n. A length whose prime factors are small is
// transformed factor by factor, from one array to another so that nothing has to be put in order
// (Stockham); another length as a product of polynomials (Bluestein), whose length is a power of
// two. Lines are shared out among threads; how a line is computed depends on its length alone.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>
#include <vector>

#include "backend/host/families.h"
#include "runtime/pool.h"

namespace lazuli::backend::host {

namespace {

/// A complex number whose product is four multiplications: NaN needs no more care here.
template <class R>
struct Number {
    R re, im;
};
template <class R>
Number<R> operator+(Number<R> a, Number<R> b) {
    return {a.re + b.re, a.im + b.im};
}
template <class R>
Number<R> operator-(Number<R> a, Number<R> b) {
    return {a.re - b.re, a.im - b.im};
}
template <class R>
Number<R> operator*(Number<R> a, Number<R> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class R>
Number<R> operator*(Number<R> a, R b) {
    return {a.re * b, a.im * b};
}
/// Times -i.
template <class R>
Number<R> turned(Number<R> a) {
    return {a.im, -a.re};
}
template <class R>
Number<R> conjugate(Number<R> a) {
    return {a.re, -a.im};
}

/// exp(-2 pi i k / n).
template <class R>
Number<R> root(std::int64_t k, std::int64_t n) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n);
    return {static_cast<R>(std::cos(angle)), static_cast<R>(-std::sin(angle))};
}

constexpr std::int64_t kLargestFactor = 31;

/// The factors a length is transformed by; empty where one of them is too large.
std::vector<int> factors_of(std::int64_t n) {
    std::vector<int> out;
    for (const int factor : {4, 2, 3, 5}) {
        for (; n % factor == 0; n /= factor) out.push_back(factor);
    }
    for (int factor = 7; factor <= kLargestFactor; factor += 2) {
        for (; n % factor == 0; n /= factor) out.push_back(factor);
    }
    return n == 1 ? out : std::vector<int>{};
}

/// One pass over a line: `count` transforms of `factor` elements, each `step` times side by side.
template <class R>
struct Pass {
    int factor;
    std::int64_t count;
    std::int64_t step;
    std::vector<Number<R>> turns;  // factor - 1 for each of `count`
    std::vector<Number<R>> roots;  // of 1, for factors without code of their own
};

/// The factor's transform of a[0 .. Factor), in place.
template <int Factor, class R>
void transform_few(Number<R>* a) {
    if constexpr (Factor == 2) {
        const Number<R> x = a[0];
        a[0] = x + a[1];
        a[1] = x - a[1];
    } else if constexpr (Factor == 3) {
        constexpr R half_root3 = static_cast<R>(0.86602540378443864676);
        const Number<R> sum = a[1] + a[2];
        const Number<R> difference = turned(a[1] - a[2]) * half_root3;
        const Number<R> middle = a[0] - sum * R(0.5);
        a[0] = a[0] + sum;
        a[1] = middle + difference;
        a[2] = middle - difference;
    } else if constexpr (Factor == 4) {
        const Number<R> even_sum = a[0] + a[2];
        const Number<R> even_difference = a[0] - a[2];
        const Number<R> odd_sum = a[1] + a[3];
        const Number<R> odd_difference = turned(a[1] - a[3]);
        a[0] = even_sum + odd_sum;
        a[1] = even_difference + odd_difference;
        a[2] = even_sum - odd_sum;
        a[3] = even_difference - odd_difference;
    } else {
        static_assert(Factor == 5);
        constexpr R c1 = static_cast<R>(0.30901699437494742410);  // cos(2 pi / 5)
        constexpr R c2 = static_cast<R>(-0.80901699437494742410);
        constexpr R s1 = static_cast<R>(0.95105651629515357212);  // sin(2 pi / 5)
        constexpr R s2 = static_cast<R>(0.58778525229247312917);
        const Number<R> near = a[1] + a[4];
        const Number<R> near_difference = a[1] - a[4];
        const Number<R> far = a[2] + a[3];
        const Number<R> far_difference = a[2] - a[3];
        const Number<R> first = a[0] + near * c1 + far * c2;
        const Number<R> second = a[0] + near * c2 + far * c1;
        const Number<R> first_side = turned(near_difference * s1 + far_difference * s2);
        const Number<R> second_side = turned(near_difference * s2 - far_difference * s1);
        a[0] = a[0] + near + far;
        a[1] = first + first_side;
        a[4] = first - first_side;
        a[2] = second + second_side;
        a[3] = second - second_side;
    }
}

template <int Factor, class R>
void run_pass(const Pass<R>& pass, const Number<R>* x, Number<R>* y) {
    const std::int64_t step = pass.step;
    for (std::int64_t p = 0; p < pass.count; ++p) {
        const Number<R>* turns = pass.turns.data() + p * (Factor - 1);
        for (std::int64_t q = 0; q < step; ++q) {
            Number<R> a[Factor];
            for (int j = 0; j < Factor; ++j) a[j] = x[q + step * (p + pass.count * j)];
            transform_few<Factor>(a);
            y[q + step * Factor * p] = a[0];
            for (int k = 1; k < Factor; ++k) y[q + step * (Factor * p + k)] = a[k] * turns[k - 1];
        }
    }
}

template <class R>
void run_any_pass(const Pass<R>& pass, const Number<R>* x, Number<R>* y) {
    const int factor = pass.factor;
    const std::int64_t step = pass.step;
    for (std::int64_t p = 0; p < pass.count; ++p) {
        for (std::int64_t q = 0; q < step; ++q) {
            for (int k = 0; k < factor; ++k) {
                Number<R> sum = x[q + step * p];
                for (int j = 1; j < factor; ++j)
                    sum = sum + x[q + step * (p + pass.count * j)] *
                                    pass.roots[static_cast<std::size_t>(j * k % factor)];
                if (k > 0)
                    sum = sum * pass.turns[static_cast<std::size_t>(p * (factor - 1) + k - 1)];
                y[q + step * (factor * p + k)] = sum;
            }
        }
    }
}

/// How lines of one length are transformed.
template <class R>
class Plan {
   public:
    explicit Plan(std::int64_t n) : n_(n) {
        const std::vector<int> factors = factors_of(n);
        if (factors.empty() && n > 1) {
            plan_product();
            return;
        }
        std::int64_t rest = n;
        std::int64_t step = 1;
        for (const int factor : factors) {
            Pass<R> pass{factor, rest / factor, step, {}, {}};
            for (std::int64_t p = 0; p < pass.count; ++p) {
                for (int k = 1; k < factor; ++k) pass.turns.push_back(root<R>(p * k, rest));
            }
            for (int k = 0; k < factor; ++k) pass.roots.push_back(root<R>(k, factor));
            passes_.push_back(std::move(pass));
            rest /= factor;
            step *= factor;
        }
    }

    /// Numbers of room that `run` needs.
    std::int64_t room() const { return inner_ != nullptr ? inner_->n_ + inner_->room() : n_; }

    /// Transforms n numbers in place.
    void run(Number<R>* x, Number<R>* room) const {
        if (inner_ != nullptr) {
            run_product(x, room);
            return;
        }
        Number<R>* from = x;
        Number<R>* to = room;
        for (const Pass<R>& pass : passes_) {
            switch (pass.factor) {
                case 2: run_pass<2>(pass, from, to); break;
                case 3: run_pass<3>(pass, from, to); break;
                case 4: run_pass<4>(pass, from, to); break;
                case 5: run_pass<5>(pass, from, to); break;
                default: run_any_pass(pass, from, to); break;
            }
            std::swap(from, to);
        }
        if (from != x) std::copy(from, from + n_, x);
    }

   private:
    // j k = (j^2 + k^2 - (k - j)^2) / 2 makes the transform a convolution with exp(pi i j^2 / n).
    void plan_product() {
        std::int64_t length = 1;
        while (length < 2 * n_ - 1) length *= 2;
        inner_ = std::make_unique<Plan>(length);
        for (std::int64_t j = 0; j < n_; ++j) chirp_.push_back(root<R>(j * j % (2 * n_), 2 * n_));
        kernel_.assign(static_cast<std::size_t>(length), {0, 0});
        const R scale = R(1) / static_cast<R>(length);
        for (std::int64_t j = 0; j < n_; ++j) {
            const Number<R> value = conjugate(chirp_[static_cast<std::size_t>(j)]) * scale;
            kernel_[static_cast<std::size_t>(j)] = value;
            kernel_[static_cast<std::size_t>(j == 0 ? 0 : length - j)] = value;
        }
        std::vector<Number<R>> room(static_cast<std::size_t>(inner_->room()));
        inner_->run(kernel_.data(), room.data());
    }

    void run_product(Number<R>* x, Number<R>* room) const {
        const auto n = static_cast<std::size_t>(n_);
        const auto length = static_cast<std::size_t>(inner_->n_);
        Number<R>* wide = room;
        for (std::size_t j = 0; j < n; ++j) wide[j] = x[j] * chirp_[j];
        std::fill(wide + n, wide + length, Number<R>{0, 0});
        inner_->run(wide, room + length);
        // The inverse is the transform of the conjugates, conjugated.
        for (std::size_t j = 0; j < length; ++j) wide[j] = conjugate(wide[j] * kernel_[j]);
        inner_->run(wide, room + length);
        for (std::size_t j = 0; j < n; ++j) x[j] = conjugate(wide[j]) * chirp_[j];
    }

    std::int64_t n_;
    std::vector<Pass<R>> passes_;
    std::unique_ptr<Plan> inner_;    // for lengths with a large prime factor
    std::vector<Number<R>> chirp_;   // exp(-pi i j^2 / n)
    std::vector<Number<R>> kernel_;  // the transform of its conjugate
};

/// Plans are kept: making one takes longer than a transform.
template <class R>
std::shared_ptr<const Plan<R>> plan_of(std::int64_t n) {
    constexpr std::size_t kKept = 32;
    static std::mutex mutex;
    static auto& plans = *new std::map<std::int64_t, std::shared_ptr<const Plan<R>>>;
    {
        const std::scoped_lock lock(mutex);
        if (const auto at = plans.find(n); at != plans.end()) return at->second;
    }
    auto made = std::make_shared<const Plan<R>>(n);
    const std::scoped_lock lock(mutex);
    if (plans.size() >= kKept) plans.clear();
    return plans.emplace(n, std::move(made)).first->second;
}

/// Lines along an axis: line (o, i) starts at o * length * inner + i, its elements are `inner`
/// apart.
struct Lines {
    std::int64_t outer = 1;
    std::int64_t inner = 1;
    Lines(const Shape& shape, int axis) {
        for (int i = 0; i < axis; ++i) outer *= shape[i];
        for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
    }
};

// Lines that lie side by side are taken this many at a time, so that memory is read in order.
constexpr std::int64_t kTogether = 8;

/// Transforms all lines: `Line` has `size` numbers of a line on its way, and `load`, `store`.
/// `made` is the number of elements of a line of the result.
template <class R, class Line>
void transform_lines(const EvalArgs& args, const Line& line) {
    const auto axis = static_cast<int>(args.attrs.integer(0));
    const Lines lines(args.spec->shape, axis);
    const std::int64_t blocks = (lines.inner + kTogether - 1) / kTogether;
    if (args.spec->shape.numel() == 0) return;
    struct Call {
        const EvalArgs& args;
        const Line& line;
        const Lines& lines;
        std::int64_t blocks, given, made;
        std::shared_ptr<const Plan<R>> plan;
    } call{args,
           line,
           lines,
           blocks,
           args.inputs[0].spec->shape[axis],
           args.spec->shape[axis],
           plan_of<R>(line.size)};
    const std::int64_t together = std::min(kTogether, lines.inner);
    const std::int64_t grain = std::max<std::int64_t>(1, 16384 / (together * line.size));
    runtime::share_out(
        lines.outer * blocks, grain,
        [](void* data, std::int64_t begin, std::int64_t end) {
            const Call& c = *static_cast<Call*>(data);
            const std::int64_t width = std::min(kTogether, c.lines.inner);
            std::vector<Number<R>> rows(static_cast<std::size_t>(width * c.line.size));
            std::vector<Number<R>> room(static_cast<std::size_t>(c.plan->room()));
            for (std::int64_t at = begin; at < end; ++at) {
                const std::int64_t first = at % c.blocks * kTogether;
                const std::int64_t outer = at / c.blocks;
                const std::int64_t count = std::min(kTogether, c.lines.inner - first);
                const std::int64_t from = outer * c.given * c.lines.inner + first;
                const std::int64_t to = outer * c.made * c.lines.inner + first;
                c.line.load(c.args, from, c.lines.inner, count, rows.data());
                for (std::int64_t i = 0; i < count; ++i)
                    c.plan->run(rows.data() + i * c.line.size, room.data());
                c.line.store(c.args, to, c.lines.inner, count, rows.data());
            }
        },
        &call);
}

/// From complex numbers to complex numbers. The inverse exchanges real and imaginary parts before
/// and behind the transform.
template <class R>
struct ComplexLine {
    std::int64_t size;
    std::int64_t given;  // elements that there are
    bool inverse;
    R scale;

    void load(const EvalArgs& args, std::int64_t from, std::int64_t step, std::int64_t count,
              Number<R>* rows) const {
        const Number<R>* in = args.inputs[0].as<Number<R>>() + from;
        for (std::int64_t j = 0; j < size; ++j) {
            for (std::int64_t i = 0; i < count; ++i) {
                const Number<R> x = j < given ? in[j * step + i] : Number<R>{0, 0};
                rows[i * size + j] = inverse ? Number<R>{x.im, x.re} : x;
            }
        }
    }
    void store(const EvalArgs& args, std::int64_t to, std::int64_t step, std::int64_t count,
               const Number<R>* rows) const {
        Number<R>* out = args.result<Number<R>>() + to;
        for (std::int64_t j = 0; j < size; ++j) {
            for (std::int64_t i = 0; i < count; ++i) {
                const Number<R> x = rows[i * size + j] * scale;
                out[j * step + i] = inverse ? Number<R>{x.im, x.re} : x;
            }
        }
    }
};

/// From n reals to n / 2 + 1 frequencies. An even number of them is transformed as half as many
/// complex numbers: the transforms of the elements at even and at odd places are put together.
template <class R>
struct RealLine {
    std::int64_t n;
    std::int64_t given;  // elements that there are
    bool full;           // whether mirror images are wanted too
    R scale;
    std::int64_t size;                  // n / 2, or n where it is odd
    std::vector<Number<R>> turns = {};  // exp(-2 pi i k / n), where n is even

    RealLine(std::int64_t length, std::int64_t there, bool all, R factor)
        : n(length),
          given(there),
          full(all),
          scale(factor),
          size(length % 2 == 0 ? length / 2 : length) {
        for (std::int64_t k = 0; k <= size && size != n; ++k) turns.push_back(root<R>(k, n));
    }
    void load(const EvalArgs& args, std::int64_t from, std::int64_t step, std::int64_t count,
              Number<R>* rows) const {
        const R* in = args.inputs[0].as<R>() + from;
        const auto at = [&](std::int64_t j, std::int64_t i) {
            return j < given ? in[j * step + i] : R(0);
        };
        for (std::int64_t j = 0; j < size; ++j) {
            for (std::int64_t i = 0; i < count; ++i) {
                rows[i * size + j] =
                    size == n ? Number<R>{at(j, i), 0} : Number<R>{at(2 * j, i), at(2 * j + 1, i)};
            }
        }
    }
    void store(const EvalArgs& args, std::int64_t to, std::int64_t step, std::int64_t count,
               const Number<R>* rows) const {
        Number<R>* out = args.result<Number<R>>() + to;
        for (std::int64_t k = 0; k <= n / 2; ++k) {
            for (std::int64_t i = 0; i < count; ++i) {
                const Number<R>* z = rows + i * size;
                if (size == n) {
                    out[k * step + i] = z[k] * scale;
                    continue;
                }
                const Number<R> one = z[k == size ? 0 : k];
                const Number<R> other = conjugate(z[k == 0 ? 0 : size - k]);
                const Number<R> even = (one + other) * R(0.5);
                const Number<R> odd = turned(one - other) * R(0.5);
                out[k * step + i] = (even + odd * turns[static_cast<std::size_t>(k)]) * scale;
            }
        }
        // What mirrors itself is real.
        for (std::int64_t i = 0; i < count; ++i) {
            out[i].im = 0;
            if (n % 2 == 0) out[n / 2 * step + i].im = 0;
        }
        for (std::int64_t k = n / 2 + 1; full && k < n; ++k) {
            for (std::int64_t i = 0; i < count; ++i)
                out[k * step + i] = conjugate(out[(n - k) * step + i]);
        }
    }
};

/// From n / 2 + 1 frequencies to n reals: the same backwards.
template <class R>
struct InverseRealLine {
    std::int64_t n;
    std::int64_t given;  // frequencies that there are
    R scale;
    std::int64_t size;
    std::vector<Number<R>> turns = {};

    InverseRealLine(std::int64_t length, std::int64_t there, double factor)
        : n(length), given(there), size(length % 2 == 0 ? length / 2 : length) {
        // Half as many numbers are half the sum.
        scale = static_cast<R>(size == n ? factor : 2 * factor);
        for (std::int64_t k = 0; k <= size && size != n; ++k) turns.push_back(root<R>(k, n));
    }
    void load(const EvalArgs& args, std::int64_t from, std::int64_t step, std::int64_t count,
              Number<R>* rows) const {
        const Number<R>* in = args.inputs[0].as<Number<R>>() + from;
        const auto at = [&](std::int64_t k, std::int64_t i) {
            Number<R> x = k < given ? in[k * step + i] : Number<R>{0, 0};
            if (k == 0 || 2 * k == n) x.im = 0;
            return x;
        };
        for (std::int64_t k = 0; k < size; ++k) {
            for (std::int64_t i = 0; i < count; ++i) {
                Number<R> x;
                if (size == n) {
                    x = 2 * k <= n ? at(k, i) : conjugate(at(n - k, i));
                } else {
                    const Number<R> one = at(k, i);
                    const Number<R> other = conjugate(at(size - k, i));
                    const Number<R> odd =
                        (one - other) * conjugate(turns[static_cast<std::size_t>(k)]) * R(0.5);
                    const Number<R> even = (one + other) * R(0.5);
                    x = {even.re - odd.im, even.im + odd.re};  // even + i odd
                }
                rows[i * size + k] = {x.im, x.re};
            }
        }
    }
    void store(const EvalArgs& args, std::int64_t to, std::int64_t step, std::int64_t count,
               const Number<R>* rows) const {
        R* out = args.result<R>() + to;
        for (std::int64_t j = 0; j < size; ++j) {
            for (std::int64_t i = 0; i < count; ++i) {
                const Number<R> x = rows[i * size + j];  // parts exchanged
                if (size == n) {
                    out[j * step + i] = x.im * scale;
                } else {
                    out[2 * j * step + i] = x.im * scale;
                    out[(2 * j + 1) * step + i] = x.re * scale;
                }
            }
        }
    }
};

template <class F>
void by_precision(DType dtype, F&& f) {
    if (real_part(dtype) == f64) {
        f.template operator()<double>();
    } else {
        f.template operator()<float>();
    }
}

/// Elements along the axis that there are.
std::int64_t given(const EvalArgs& args) {
    return args.inputs[0].spec->shape[static_cast<int>(args.attrs.integer(0))];
}

void run_c2c(const EvalArgs& args) {
    by_precision(args.spec->dtype, [&]<class R>() {
        transform_lines<R>(args,
                           ComplexLine<R>{args.attrs.integer(1), given(args), args.attrs.boolean(2),
                                          static_cast<R>(args.attrs.real(3))});
    });
}

void run_r2c(const EvalArgs& args) {
    if (args.spec->shape.numel() == 0) return;  // before roots of a length that nobody asks for
    by_precision(args.spec->dtype, [&]<class R>() {
        transform_lines<R>(args,
                           RealLine<R>(args.attrs.integer(1), given(args), args.attrs.boolean(2),
                                       static_cast<R>(args.attrs.real(3))));
    });
}

void run_c2r(const EvalArgs& args) {
    if (args.spec->shape.numel() == 0) return;
    by_precision(args.spec->dtype, [&]<class R>() {
        transform_lines<R>(
            args, InverseRealLine<R>(args.attrs.integer(1), given(args), args.attrs.real(2)));
    });
}

}  // namespace

Family fourier() { return {{"fft_c2c", run_c2c}, {"fft_r2c", run_r2c}, {"fft_c2r", run_c2r}}; }

}  // namespace lazuli::backend::host
