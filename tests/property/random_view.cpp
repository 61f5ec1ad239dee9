#include "random_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "lazuli/error.h"

namespace lazuli::tests {

namespace {

constexpr std::int64_t kMaxElements = 600;

std::string list(const std::vector<Dim>& dims) {
    std::string out;
    for (const Dim dim : dims) out += (out.empty() ? "" : ",") + dim.str();
    return out;
}

template <class T>
std::vector<T> numbers(const std::vector<Dim>& dims) {
    std::vector<T> out;
    for (const Dim dim : dims) out.push_back(static_cast<T>(dim.value()));
    return out;
}

std::vector<DimRange> pairs(const Movement& movement) {
    std::vector<DimRange> out;
    for (std::size_t i = 0; i < movement.first.size(); ++i)
        out.push_back({movement.first[i], movement.second[i]});
    return out;
}

std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> out(shape.size());
    std::int64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
        out[i] = stride;
        stride *= shape[i];
    }
    return out;
}

/// Calls `visit(position, number)` for all positions in row-major order.
template <class Visit>
void for_each_position(const std::vector<std::int64_t>& shape, const Visit& visit) {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
    std::vector<std::int64_t> position(shape.size(), 0);
    for (std::size_t number = 0;; ++number) {
        visit(position, number);
        std::size_t d = shape.size();
        while (d > 0 && ++position[d - 1] == shape[d - 1]) position[--d] = 0;
        if (d == 0) return;
    }
}

/// Windows of `size` along the first dimension, one a position: [n, ...] to [n - size + 1, ...,
/// size].
View window_view(const Dims& shape, Dim size) {
    View view = View::contiguous(shape);
    const Dim stride = shape[0] == Dim(1) ? Dim(0) : view.strides[0];
    view.shape[0] = shape[0] - size + 1;
    view.shape.push_back(size);
    view.strides.push_back(stride);
    return view;
}

}  // namespace

std::string Movement::str() const {
    static constexpr const char* kNames[] = {"reshape", "permute", "expand", "pad",
                                             "shrink",  "flip",    "stride", "window"};
    return fmt::format("{}[{}{}]", kNames[static_cast<std::size_t>(kind)], list(first),
                       second.empty() ? "" : " ; " + list(second));
}

ShapeTracker apply(const ShapeTracker& tracker, const Movement& movement) {
    switch (movement.kind) {
        case Movement::Kind::reshape: return tracker.reshape(movement.first);
        case Movement::Kind::permute: return tracker.permute(numbers<int>(movement.first));
        case Movement::Kind::expand: return tracker.expand(movement.first);
        case Movement::Kind::pad: return tracker.pad(pairs(movement));
        case Movement::Kind::shrink: return tracker.shrink(pairs(movement));
        case Movement::Kind::flip: return tracker.flip(numbers<int>(movement.first));
        case Movement::Kind::stride: return tracker.stride(numbers<std::int64_t>(movement.first));
        case Movement::Kind::window:
            return tracker.strided(window_view(tracker.shape(), movement.first[0]));
    }
    __builtin_unreachable();
}

IndexArray IndexArray::counting(std::vector<std::int64_t> shape) {
    IndexArray out{std::move(shape), {}};
    for (std::int64_t i = 0; i < out.numel(); ++i) out.index.push_back(i);
    return out;
}

std::int64_t IndexArray::numel() const {
    std::int64_t out = 1;
    for (const std::int64_t size : shape) out *= size;
    return out;
}

IndexArray IndexArray::moved(const Movement& movement, const Bindings& bindings) const {
    std::vector<std::int64_t> a;
    std::vector<std::int64_t> b;
    for (const Dim dim : movement.first) a.push_back(dim.evaluate(bindings));
    for (const Dim dim : movement.second) b.push_back(dim.evaluate(bindings));
    IndexArray out{shape, {}};
    const std::size_t rank = shape.size();
    using Kind = Movement::Kind;
    switch (movement.kind) {
        case Kind::reshape:
        case Kind::expand: out.shape = a; break;
        case Kind::permute:
            for (std::size_t i = 0; i < rank; ++i)
                out.shape[i] = shape[static_cast<std::size_t>(a[i])];
            break;
        case Kind::pad:
            for (std::size_t i = 0; i < rank; ++i) out.shape[i] = shape[i] + a[i] + b[i];
            break;
        case Kind::shrink:
            for (std::size_t i = 0; i < rank; ++i) out.shape[i] = b[i] - a[i];
            break;
        case Kind::flip: break;
        case Kind::stride:
            for (std::size_t i = 0; i < rank; ++i) {
                const std::int64_t step = a[i] < 0 ? -a[i] : a[i];
                out.shape[i] = (shape[i] + step - 1) / step;
            }
            break;
        case Kind::window:
            out.shape[0] = shape[0] - a[0] + 1;
            out.shape.push_back(a[0]);
            break;
    }
    if (movement.kind == Kind::reshape) {
        out.index = index;
        return out;
    }
    const std::vector<std::int64_t> strides = row_major(shape);
    for_each_position(out.shape, [&](const std::vector<std::int64_t>& at, std::size_t) {
        std::vector<std::int64_t> from(rank);
        for (std::size_t i = 0; i < rank; ++i) {
            switch (movement.kind) {
                case Kind::reshape: break;
                case Kind::expand: from[i] = shape[i] == 1 ? 0 : at[i]; break;
                case Kind::permute: from[static_cast<std::size_t>(a[i])] = at[i]; break;
                case Kind::pad: from[i] = at[i] - a[i]; break;
                case Kind::shrink: from[i] = at[i] + a[i]; break;
                case Kind::flip:
                    from[i] = std::find(a.begin(), a.end(), static_cast<std::int64_t>(i)) != a.end()
                                  ? shape[i] - 1 - at[i]
                                  : at[i];
                    break;
                case Kind::stride:
                    from[i] = a[i] > 0 ? at[i] * a[i] : shape[i] - 1 + at[i] * a[i];
                    break;
                case Kind::window: from[i] = i == 0 ? at[0] + at[rank] : at[i]; break;
            }
        }
        std::int64_t number = 0;
        bool inside = true;
        for (std::size_t i = 0; i < rank; ++i) {
            inside = inside && from[i] >= 0 && from[i] < shape[i];
            number += from[i] * strides[i];
        }
        out.index.push_back(inside ? index[static_cast<std::size_t>(number)] : -1);
    });
    return out;
}

bool is_one_view(const IndexArray& array) {
    const std::size_t rank = array.shape.size();
    if (array.numel() == 0) return true;
    if (rank == 0) return array.index[0] >= 0;  // there is no mask of rank 0
    std::vector<std::int64_t> low(rank, INT64_MAX);
    std::vector<std::int64_t> high(rank, -1);
    std::int64_t valid = 0;
    for_each_position(array.shape, [&](const std::vector<std::int64_t>& at, std::size_t number) {
        if (array.index[number] < 0) return;
        ++valid;
        for (std::size_t i = 0; i < rank; ++i) {
            low[i] = std::min(low[i], at[i]);
            high[i] = std::max(high[i], at[i]);
        }
    });
    if (valid == 0) return true;
    std::int64_t box = 1;
    for (std::size_t i = 0; i < rank; ++i) box *= high[i] - low[i] + 1;
    if (box != valid) return false;
    const std::vector<std::int64_t> weights = row_major(array.shape);
    const auto value = [&](const std::vector<std::int64_t>& at) {
        std::int64_t number = 0;
        for (std::size_t i = 0; i < rank; ++i) number += at[i] * weights[i];
        return array.index[static_cast<std::size_t>(number)];
    };
    std::vector<std::int64_t> strides(rank, 0);
    for (std::size_t i = 0; i < rank; ++i) {
        if (high[i] == low[i]) continue;
        std::vector<std::int64_t> next = low;
        ++next[i];
        strides[i] = value(next) - value(low);
    }
    bool affine = true;
    for_each_position(array.shape, [&](const std::vector<std::int64_t>& at, std::size_t number) {
        if (array.index[number] < 0) return;
        std::int64_t wanted = value(low);
        for (std::size_t i = 0; i < rank; ++i) wanted += strides[i] * (at[i] - low[i]);
        affine = affine && wanted == array.index[number];
    });
    return affine;
}

std::string DrawnChain::str() const {
    std::string out = fmt::format("[{}]", list(base));
    for (const Movement& movement : movements) out += " > " + movement.str();
    return out;
}

namespace {

const std::vector<Dim>& variables() {
    static const std::vector<Dim> all{dim("b", 1, 4), dim("t", 1, 5), dim("n", 2, 3)};
    return all;
}

std::int64_t draw_size(Random& random) {
    return random.one_in(40) ? 0 : random.one_in(4) ? 1 : random.between(2, 5);
}

/// A reshape that cuts and joins dimensions.
std::vector<Dim> draw_reshape(Random& random, const Dims& shape, bool symbolic) {
    std::vector<Dim> sizes(shape.begin(), shape.end());
    for (int i = static_cast<int>(random.below(4)); i >= 0; --i) {
        if (!sizes.empty() && random.one_in(2)) {  // cut
            const std::size_t at = random.below(sizes.size());
            const Dim by = symbolic && random.one_in(4) ? variables()[random.below(3)]
                                                        : Dim(random.between(1, 4));
            if (sizes.size() < 5 && by != Dim(0) && sizes[at] % by == Dim(0)) {
                const Dim rest = sizes[at] / by;
                sizes[at] = random.one_in(2) ? rest : by;
                sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(at),
                             sizes[at] == rest ? by : rest);
            }
        } else if (sizes.size() > 1) {  // join
            const std::size_t at = random.below(sizes.size() - 1);
            sizes[at] = sizes[at] * sizes[at + 1];
            sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        } else if (sizes.size() == 1 && sizes[0] == Dim(1) && random.one_in(3)) {
            sizes.clear();
        }
        if (sizes.size() < 5 && random.one_in(5))
            sizes.insert(
                sizes.begin() + static_cast<std::ptrdiff_t>(random.below(sizes.size() + 1)),
                Dim(1));
    }
    return sizes;
}

Movement draw_movement(Random& random, const Dims& shape, bool symbolic) {
    using Kind = Movement::Kind;
    const std::size_t rank = shape.size();
    const auto amount = [&](std::int64_t low, std::int64_t high) -> Dim {
        if (symbolic && random.one_in(5)) return variables()[random.below(3)];
        return random.between(low, high);
    };
    Movement out{Kind::flip, {}, {}};
    switch (random.below(rank == 0 ? 1 : 11)) {
        case 0:
        case 1:
        case 8:
        case 9:
            out.kind = Kind::reshape;
            out.first = draw_reshape(random, shape, symbolic);
            break;
        case 2: {
            out.kind = Kind::permute;
            for (std::size_t i = 0; i < rank; ++i) out.first.emplace_back(static_cast<int>(i));
            for (std::size_t i = rank; i > 1; --i)
                std::swap(out.first[i - 1], out.first[random.below(i)]);
            break;
        }
        case 3:
            out.kind = Kind::expand;
            for (const Dim size : shape)
                out.first.push_back(size == Dim(1) && !random.one_in(3) ? amount(0, 4) : size);
            break;
        case 4:
            out.kind = Kind::pad;
            for (std::size_t i = 0; i < rank; ++i) {
                out.first.push_back(random.one_in(2) ? Dim(0) : amount(-1, 2));
                out.second.push_back(random.one_in(2) ? Dim(0) : amount(-1, 2));
            }
            break;
        case 5:
            out.kind = Kind::shrink;
            for (const Dim size : shape) {
                if (random.one_in(2)) {
                    out.first.emplace_back(0);
                    out.second.push_back(size);
                } else if (size.is_concrete()) {
                    const std::int64_t begin = random.between(0, size.value());
                    out.first.emplace_back(begin);
                    out.second.emplace_back(random.between(begin, size.value()));
                } else {
                    const std::int64_t begin = random.between(0, 1);
                    out.first.emplace_back(begin);
                    out.second.push_back(size - random.between(0, 1));
                }
            }
            break;
        case 6:
            out.kind = Kind::flip;
            for (std::size_t i = 0; i < rank; ++i) {
                if (random.one_in(2)) out.first.emplace_back(static_cast<int>(i));
            }
            break;
        case 7:
            out.kind = Kind::stride;
            for (std::size_t i = 0; i < rank; ++i) {
                const std::int64_t step = random.one_in(2) ? 1 : random.between(1, 3);
                out.first.emplace_back(random.one_in(4) ? -step : step);
            }
            break;
        default:
            if (rank == 5 || shape[0].bounds().low < 1) break;
            out.kind = Kind::window;
            out.first.emplace_back(
                random.between(1, std::min<std::int64_t>(shape[0].bounds().low, 3)));
            break;
    }
    return out;
}

std::int64_t elements_at_most(std::span<const Dim> shape) {
    static const Bindings largest{{"b", 4}, {"t", 5}, {"n", 3}};
    std::int64_t count = 1;
    for (const Dim size : shape) count *= size.evaluate(largest);
    return count;
}

ShapeTracker draw_movements(Random& random, DrawnChain& chain, bool symbolic) {
    ShapeTracker tracker(chain.base);
    const std::size_t length = 1 + random.below(8);
    for (int tries = 0; tries < 24 && chain.movements.size() < length; ++tries) {
        const Movement next = draw_movement(random, tracker.shape(), symbolic);
        try {
            const ShapeTracker moved = apply(tracker, next);
            if (elements_at_most(moved.shape()) > kMaxElements || moved.rank() > 5) continue;
            tracker = moved;
            chain.movements.push_back(next);
        } catch (const Error&) {
            // Not possible here, or not sure to be: the tests of single movements look at that.
        }
    }
    return tracker;
}

}  // namespace

DrawnChain draw_chain(Random& random, bool symbolic) {
    DrawnChain out;
    const std::size_t rank = random.one_in(30) ? 0 : 1 + random.below(4);
    for (std::size_t i = 0; i < rank; ++i) {
        Dim size = draw_size(random);
        if (symbolic && random.one_in(2)) {
            size = variables()[random.below(3)];
            if (random.one_in(4)) size = size * random.between(2, 3);
            if (random.one_in(6)) size = size + 1;
        }
        out.base.push_back(size);
    }
    if (elements_at_most(out.base) > kMaxElements) out.base.resize(2);
    (void)draw_movements(random, out, symbolic);
    return out;
}

ShapeTracker draw_tracker(Random& random, const std::vector<Dim>& base, bool symbolic) {
    DrawnChain chain{base, {}};
    return draw_movements(random, chain, symbolic);
}

Bindings draw_bindings(Random& random) {
    return {{"b", random.between(1, 4)}, {"t", random.between(1, 5)}, {"n", random.between(2, 3)}};
}

}  // namespace lazuli::tests
