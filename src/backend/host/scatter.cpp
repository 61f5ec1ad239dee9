// Scatter on all threads. Updates are brought together by where they go, in their order; then each
// stretch of the result, which fits the cache, takes its own. Where whole rows go to one position
// each, the rows are brought together.

#include "backend/host/scatter.h"

#include <atomic>
#include <bit>
#include <optional>
#include <span>

#include "backend/host/families.h"
#include "backend/host/keys.h"
#include "backend/host/radix.h"
#include "ops/eval.h"
#include "ops/lines.h"

namespace lazuli::backend::host {

namespace {

using ops::Lines;

constexpr int kStretchBits = 17;  // elements of a stretch, at most, where there are not many
constexpr int kDigitBits = 11;    // stretches, at most

/// An update's bits and where in the result they go. Results of more elements than 32 bits count
/// are left to the reference.
template <class Bits>
struct Update {
    std::uint32_t to;
    Bits bits;
};

struct Pair {
    std::uint64_t a, b;
};

/// The updates by stretches of the result.
template <class Bits>
struct Distributed {
    Room<Update<Bits>> room;
    std::vector<std::int64_t> begins;  // of each stretch's updates
    std::int64_t stretch;              // elements
};

template <class Bits, class Index>
Distributed<Bits> distribute(const EvalArgs& args) {
    using Record = Update<Bits>;
    const std::int64_t axis = args.attrs.integer(0);
    const Lines to = ops::lines_of(args.spec->shape, axis);
    const Lines from = ops::lines_of(args.inputs[1].spec->shape, axis);
    const Bits* values = args.inputs[1].as<Bits>();
    const Index* positions = args.inputs[2].as<Index>();
    const std::int64_t count = args.inputs[1].spec->shape.numel();
    const std::int64_t size = args.spec->shape.numel();
    const bool single = to.count() == 1;

    const auto width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size - 1)));
    const int shift = std::max(std::clamp(width - 2, 0, kStretchBits), width - kDigitBits);
    const std::int64_t stretch = std::int64_t{1} << shift;

    FirstOutside outside;
    static_assert(sizeof(Record) == (sizeof(Bits) <= 4 ? 8 : sizeof(Bits) + 8),
                  "what ops::scatter_room plans for");
    Room<Record> room(count);
    Record* const sorted = room.data();
    const auto load = [&](std::int64_t i) {
        std::int64_t at = ops::counted_position(positions[i], to.size);
        if (at < 0) [[unlikely]] {
            outside.found(i);
            at = 0;
        }
        if (!single) at = (i / from.inner / from.size * to.size + at) * to.inner + i % from.inner;
        return Record{static_cast<decltype(Record::to)>(at), values[i]};
    };
    std::vector<std::int64_t> begins = radix_pass(
        count, (size + stretch - 1) / stretch, load,
        [&](const Record& r) { return static_cast<std::int64_t>(r.to >> shift); },
        [&](std::int64_t at, const Record& r) { sorted[at] = r; },
        [&] { outside.check(args, args.inputs[2], axis); });
    return {std::move(room), std::move(begins), stretch};
}

/// Calls f(first, end, begin of its updates, their end) for the stretches, on all threads.
template <class Bits, class F>
void for_each_stretch(const Distributed<Bits>& d, std::int64_t size, const F& f) {
    const auto stretches = static_cast<std::int64_t>(d.begins.size()) - 1;
    share(stretches, std::max<std::int64_t>(1, kLongLine / d.stretch),
          [&](std::int64_t first, std::int64_t last) {
              for (std::int64_t s = first; s < last; ++s) {
                  const Update<Bits>* updates = d.room.data();
                  f(s * d.stretch, std::min(size, (s + 1) * d.stretch),
                    updates + d.begins[static_cast<std::size_t>(s)],
                    updates + d.begins[static_cast<std::size_t>(s) + 1]);
              }
          });
}

template <class Bits>
void set(const EvalArgs& args, const Distributed<Bits>& d) {
    const Bits* x = args.inputs[0].as<Bits>();
    Bits* const out = args.result<Bits>();
    for_each_stretch(
        d, args.spec->shape.numel(),
        [&](std::int64_t first, std::int64_t end, const Update<Bits>* u, const Update<Bits>* last) {
            std::copy(x + first, x + end, out + first);
            for (; u < last; ++u) out[u->to] = u->bits;
        });
}

/// Joins elements and updates in the type in which they are computed, and rounds once.
template <class T, Scatter Mode, class Bits>
void join(const EvalArgs& args, const Distributed<Bits>& d) {
    using Total = std::conditional_t<std::is_integral_v<T>, T, ops::Compute<T>>;
    const T* x = args.inputs[0].as<T>();
    T* const out = args.result<T>();
    for_each_stretch(
        d, args.spec->shape.numel(),
        [&](std::int64_t first, std::int64_t end, const Update<Bits>* u, const Update<Bits>* last) {
            const auto element = [](const Bits& bits) { return std::bit_cast<T>(bits); };
            if constexpr (std::is_same_v<Total, T>) {
                std::copy(x + first, x + end, out + first);
                for (; u < last; ++u)
                    out[u->to] = ops::scattered<T>(Mode, out[u->to], element(u->bits));
            } else {
                std::vector<Total> totals(static_cast<std::size_t>(end - first));
                for (std::int64_t i = first; i < end; ++i)
                    totals[static_cast<std::size_t>(i - first)] = static_cast<Total>(x[i]);
                Total* const here = totals.data();
                for (; u < last; ++u) {
                    Total& total = here[static_cast<std::int64_t>(u->to) - first];
                    total =
                        ops::scattered<Total>(Mode, total, static_cast<Total>(element(u->bits)));
                }
                for (std::int64_t i = first; i < end; ++i) out[i] = convert<T>(here[i - first]);
            }
        });
}

/// Calls f<Mode>() for a mode that joins what is there with updates.
template <class T, class F>
void with_mode(Scatter mode, const F& f) {
    switch (mode) {
        case Scatter::set: throw InternalError("scatter: set joins nothing");
        case Scatter::add: return f.template operator()<Scatter::add>();
        case Scatter::mul: return f.template operator()<Scatter::mul>();
        case Scatter::min:
            if constexpr (!is_complex_v<T>) f.template operator()<Scatter::min>();
            return;
        case Scatter::max:
            if constexpr (!is_complex_v<T>) f.template operator()<Scatter::max>();
            return;
    }
}

// ---- whole rows

constexpr std::int64_t kRow = 16;        // elements from which on rows are looked for
constexpr std::int64_t kTogether = 256;  // elements of a row that are summed up at once

/// Updates of which the elements side by side all go to one position, as in the gradient of an
/// embedding: rows of updates by the row of the result they go to, each in its order.
struct Rows {
    std::vector<std::int64_t> begins;  // of the updates of each row of the result
    std::vector<std::int64_t> updates;
    std::int64_t length;
};

template <class Index>
std::optional<Rows> find_rows(const EvalArgs& args) {
    const std::int64_t axis = args.attrs.integer(0);
    const Lines to = ops::lines_of(args.spec->shape, axis);
    const Lines from = ops::lines_of(args.inputs[1].spec->shape, axis);
    const std::int64_t length = from.inner;
    if (length < kRow) return std::nullopt;
    const Index* positions = args.inputs[2].as<Index>();
    const std::int64_t rows = args.inputs[1].spec->shape.numel() / length;
    const std::int64_t grain = std::max<std::int64_t>(1, kLongLine / length);

    std::atomic<bool> apart = false;
    FirstOutside outside;
    std::vector<std::int64_t> goes(static_cast<std::size_t>(rows));
    share(rows, grain, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last && !apart; ++row) {
            const Index* here = positions + row * length;
            bool same = true;
            for (std::int64_t i = 1; i < length; ++i) same &= here[i] == here[0];
            if (!same) apart = true;
            const std::int64_t at = ops::counted_position(here[0], to.size);
            if (at < 0) outside.found(row * length);
            goes[static_cast<std::size_t>(row)] = row / from.size * to.size + at;
        }
    });
    if (apart) return std::nullopt;
    outside.check(args, args.inputs[2], axis);

    const auto made = static_cast<std::size_t>(args.spec->shape.numel() / length);
    Rows out{std::vector<std::int64_t>(made + 1), std::vector<std::int64_t>(goes.size()), length};
    for (const std::int64_t to_row : goes) ++out.begins[static_cast<std::size_t>(to_row) + 1];
    for (std::size_t i = 0; i < made; ++i) out.begins[i + 1] += out.begins[i];
    std::vector<std::int64_t> next = out.begins;
    for (std::size_t row = 0; row < goes.size(); ++row) {
        auto& at = next[static_cast<std::size_t>(goes[row])];
        out.updates[static_cast<std::size_t>(at++)] = static_cast<std::int64_t>(row);
    }
    return out;
}

/// Calls f(row of the result, its updates) for all rows, on all threads.
template <class F>
void for_each_row(const Rows& rows, const F& f) {
    const auto count = static_cast<std::int64_t>(rows.begins.size()) - 1;
    share(count, std::max<std::int64_t>(1, kLongLine / rows.length),
          [&](std::int64_t first, std::int64_t last) {
              for (std::int64_t row = first; row < last; ++row) {
                  const auto begin = static_cast<std::size_t>(rows.begins[row]);
                  const auto end = static_cast<std::size_t>(rows.begins[row + 1]);
                  f(row, std::span(rows.updates).subspan(begin, end - begin));
              }
          });
}

template <class T>
void set_rows(const EvalArgs& args, const Rows& rows) {
    for_each_row(rows, [&](std::int64_t row, std::span<const std::int64_t> updates) {
        const T* from = updates.empty() ? args.inputs[0].as<T>() + row * rows.length
                                        : args.inputs[1].as<T>() + updates.back() * rows.length;
        std::copy_n(from, rows.length, args.result<T>() + row * rows.length);
    });
}

template <class T, Scatter Mode>
void join_rows(const EvalArgs& args, const Rows& rows) {
    using Total = std::conditional_t<std::is_integral_v<T>, T, ops::Compute<T>>;
    const T* given = args.inputs[1].as<T>();
    for_each_row(rows, [&](std::int64_t row, std::span<const std::int64_t> updates) {
        for (std::int64_t first = 0; first < rows.length; first += kTogether) {
            const std::int64_t count = std::min(kTogether, rows.length - first);
            const T* x = args.inputs[0].as<T>() + row * rows.length + first;
            T* const out = args.result<T>() + row * rows.length + first;
            Total totals[kTogether];
            for (std::int64_t i = 0; i < count; ++i) totals[i] = static_cast<Total>(x[i]);
            for (const std::int64_t update : updates) {
                const T* from = given + update * rows.length + first;
                for (std::int64_t i = 0; i < count; ++i)
                    totals[i] =
                        ops::scattered<Total>(Mode, totals[i], static_cast<Total>(from[i]));
            }
            for (std::int64_t i = 0; i < count; ++i) out[i] = convert<T>(totals[i]);
        }
    });
}

template <class Bits>
void scatter_bits(const EvalArgs& args) {
    const Distributed<Bits> d = args.inputs[2].spec->dtype == i32
                                    ? distribute<Bits, std::int32_t>(args)
                                    : distribute<Bits, std::int64_t>(args);
    const auto mode = static_cast<Scatter>(args.attrs.integer(1));
    if (mode == Scatter::set) return set(args, d);
    dispatch(args.spec->dtype, [&]<class T>() {
        if constexpr (sizeof(T) == sizeof(Bits))
            with_mode<T>(mode, [&]<Scatter Mode> { join<T, Mode>(args, d); });
    });
}

void scatter_rows(const EvalArgs& args, const Rows& rows) {
    const auto mode = static_cast<Scatter>(args.attrs.integer(1));
    dispatch(args.spec->dtype, [&]<class T>() {
        if (mode == Scatter::set) return set_rows<T>(args, rows);
        with_mode<T>(mode, [&]<Scatter Mode> { join_rows<T, Mode>(args, rows); });
    });
}

void scatter_ready(const EvalArgs& args) {
    const auto rows = args.inputs[2].spec->dtype == i32 ? find_rows<std::int32_t>(args)
                                                        : find_rows<std::int64_t>(args);
    if (rows) return scatter_rows(args, *rows);
    switch (size_of(args.spec->dtype)) {
        case 1: return scatter_bits<std::uint8_t>(args);
        case 2: return scatter_bits<std::uint16_t>(args);
        case 4: return scatter_bits<std::uint32_t>(args);
        case 8: return scatter_bits<std::uint64_t>(args);
        default: return scatter_bits<Pair>(args);
    }
}

}  // namespace

void scatter(const EvalArgs& args) {
    if (args.spec->shape.numel() == 0) {
        // Nothing is there to be put anywhere: any position is outside.
        const std::int64_t axis = args.attrs.integer(0);
        (void)ops::read_positions(args, args.inputs[2], args.spec->shape[static_cast<int>(axis)],
                                  axis);
        return;
    }
    if (args.spec->shape.numel() > INT64_C(0xffffffff)) return args.op.evaluate(args);
    const DType given = args.inputs[2].spec->dtype;
    if (given == i32 || given == i64) return scatter_ready(args);
    // Few element types for positions keep the number of kernels small.
    const std::vector<std::int64_t> positions = ops::read_positions(
        args, args.inputs[2], args.spec->shape[static_cast<int>(args.attrs.integer(0))],
        args.attrs.integer(0));
    const TensorSpec spec{i64, args.inputs[2].spec->shape};
    const HostArray inputs[] = {args.inputs[0], args.inputs[1], {positions.data(), &spec}};
    scatter_ready({args.op, args.attrs, inputs, args.spec, args.out});
}

}  // namespace lazuli::backend::host
