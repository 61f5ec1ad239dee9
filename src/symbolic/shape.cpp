#include "lazuli/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "lazuli/error.h"

namespace lazuli {

std::int64_t detail::read_unusual_slot(std::int64_t raw) {
    // Positions may be any number; few of them look like an expression.
    return is_expression(raw) ? Dim::from_raw(raw).value() : raw;
}

void Shape::resize_slow(int rank) {
    if (rank < 0 || rank > kMaxRank) {
        throw ShapeError(fmt::format("rank {} is not between 0 and {}", rank, kMaxRank),
                         fmt::format("rank <= {}", kMaxRank), fmt::format("rank {}", rank));
    }
    std::int64_t kept[kMaxRank] = {};
    std::copy_n(slots(), std::min(rank, rank_), kept);
    if (rank_ > kInline) delete[] heap_;
    rank_ = 0;  // the old storage is gone: nothing to free if the allocation below throws
    if (rank > kInline) heap_ = new std::int64_t[static_cast<std::size_t>(rank)];
    rank_ = rank;
    std::copy_n(kept, rank, slots());
}

void Shape::copy_slow(const Shape& other) { assign_slow(other.raw()); }

void Shape::assign_slow(std::span<const std::int64_t> dims) {
    resize(dims.size() > kMaxRank ? kMaxRank + 1
                                  : static_cast<int>(dims.size()));  // one too many throws
    std::copy(dims.begin(), dims.end(), slots());
}

std::int64_t Shape::numel() const {
    std::int64_t product = 1;
    bool overflow = false;
    for (const std::int64_t dim : *this) {
        if (dim == 0) return 0;
        overflow |= __builtin_mul_overflow(product, dim, &product);
    }
    if (overflow) {
        throw ShapeError(fmt::format("{} has more than 2^63 - 1 elements", str()),
                         "fewer than 2^63 elements", str());
    }
    return product;
}

Dim Shape::count() const {
    Dim product = 1;
    for (int i = 0; i < rank_; ++i) product = product * dim(i);
    return product;
}

std::string Shape::str() const {
    std::string out;
    for (int i = 0; i < rank_; ++i) {
        const std::int64_t slot = slots()[i];
        out += i == 0 ? "" : ", ";
        out += detail::is_expression(slot) ? dim(i).str() : fmt::format("{}", slot);
    }
    return "[" + out + "]";
}

std::int64_t TensorSpec::nbytes() const {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(shape.numel(), static_cast<std::int64_t>(size_of(dtype)), &bytes)) {
        throw ShapeError(fmt::format("{} has more than 2^63 - 1 bytes", str()),
                         "fewer than 2^63 bytes", shape.str());
    }
    return bytes;
}

std::string TensorSpec::str() const { return fmt::format("{}{}", name(dtype), shape.str()); }

Ints dense_strides(const Shape& shape) {
    Ints strides;
    strides.resize(shape.rank());
    std::uint64_t step = 1;  // wraps where an empty tensor has huge sizes: nobody walks it
    for (int i = shape.rank() - 1; i >= 0; --i) {
        strides[i] = static_cast<std::int64_t>(step);
        step *= static_cast<std::uint64_t>(std::max<std::int64_t>(shape[i], 1));
    }
    return strides;
}

Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b) {
    const int rank = std::max(a.rank(), b.rank());
    Shape out;
    out.resize(rank);
    for (int i = 0; i < rank; ++i) {
        const int ia = i - (rank - a.rank());
        const int ib = i - (rank - b.rank());
        const Dim da = ia < 0 ? Dim(1) : a.dim(ia);
        const Dim db = ib < 0 ? Dim(1) : b.dim(ib);
        if (da == Dim(1) || db == Dim(1)) {
            out.set(i, da == Dim(1) ? db : da);
            continue;
        }
        if (!(da == db) && equal(da, db) != Truth::yes) {
            const bool may_be = equal(da, db) == Truth::depends;
            throw ShapeError(
                fmt::format("{}: shapes do not broadcast: {} and {} (dimension {}: {} {} {})", op,
                            a.str(), b.str(), i, da.str(), may_be ? "need not be" : "vs", db.str()),
                a.str(), b.str());
        }
        out.set(i, da.is_concrete() ? da : db);
    }
    return out;
}

}  // namespace lazuli
