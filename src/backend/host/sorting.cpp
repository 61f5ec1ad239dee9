// Sorting by radix, and searching, on all threads.

#include <algorithm>
#include <cmath>

#include "backend/host/families.h"
#include "backend/host/keys.h"
#include "backend/host/radix.h"
#include "backend/host/topk.h"
#include "ops/lines.h"

namespace lazuli::backend::host {

namespace {

using ops::Lines;

constexpr std::int64_t kShortLine = 1024;  // below it comparing is faster than counting digits

/// Calls f(line) for all of them: on all threads at once where there are many or they are short,
/// else one after the other, each on all threads.
template <class F>
void for_each_line(const Lines& lines, const F& f) {
    if (lines.size >= kLongLine && lines.count() < 4 * runtime::thread_count()) {
        for (std::int64_t i = 0; i < lines.count(); ++i) f(i);
        return;
    }
    const std::int64_t grain = std::max<std::int64_t>(1, kLongLine / lines.size);
    share(lines.count(), grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) f(i);
    });
}

// ---- sort

/// Keys tell -0 from 0. Where a line has both they come out as they went in, since they are equal.
template <class T>
void restore_zeros(const T* in, T* out, const Lines& lines, const Keys<T>& keys) {
    const auto minus = keys.template encode<false>(static_cast<T>(-0.0));
    const auto plus = keys.template encode<false>(static_cast<T>(0.0));
    const auto find = [&](const auto& stands_before) {
        std::int64_t low = 0;
        for (std::int64_t high = lines.size; low < high;) {
            const std::int64_t middle = low + (high - low) / 2;
            const bool up = stands_before(keys.template encode<false>(out[middle * lines.inner]));
            (up ? low : high) = up ? middle + 1 : middle;
        }
        return low;
    };
    const auto first = std::min(minus, plus);
    const auto second = std::max(minus, plus);
    const std::int64_t begin = find([&](auto key) { return key < first; });
    const std::int64_t middle = find([&](auto key) { return key <= first; });
    const std::int64_t end = find([&](auto key) { return key <= second; });
    if (begin == middle || middle == end) return;
    std::int64_t at = begin;
    for (std::int64_t i = 0; at < end; ++i) {
        const T v = in[i * lines.inner];
        if (static_cast<double>(v) == 0) out[at++ * lines.inner] = v;
    }
}

template <class T>
void sort_line(const T* in, T* out, const Lines& lines, const Keys<T>& keys) {
    using Key = KeyOf<T>;
    const auto load = [&](std::int64_t i) {
        return keys.template encode<false>(in[i * lines.inner]);
    };
    const auto store = [&](std::int64_t at, Key key) { out[at * lines.inner] = keys.decode(key); };
    if (lines.size < kShortLine) {
        Key local[kShortLine];
        for (std::int64_t i = 0; i < lines.size; ++i) local[i] = load(i);
        std::sort(local, local + lines.size);
        for (std::int64_t i = 0; i < lines.size; ++i) store(i, local[i]);
    } else {
        const Room<Key> b(lines.size);
        // Where the line is all of the result, what is half sorted can lie there.
        const Room<Key> a(lines.inner == 1 ? 0 : lines.size);
        Key* const first = lines.inner == 1 ? reinterpret_cast<Key*>(out) : a.data();
        radix_sort(lines.size, first, b.data(), load, [](Key key) { return key; }, store);
    }
    if constexpr (is_real_float_v<T>) restore_zeros(in, out, lines, keys);
}

void sort(const EvalArgs& args) {
    if (args.spec->shape.numel() == 0) return;
    const Lines lines = ops::lines_of(args.spec->shape, args.attrs.integer(0));
    dispatch(args.spec->dtype, [&]<class T>() {
        if constexpr (!is_complex_v<T>) {
            const Keys<T> keys(args.attrs.boolean(1));
            for_each_line(lines, [&](std::int64_t i) {
                sort_line(args.inputs[0].as<T>() + lines.begin(i),
                          args.result<T>() + lines.begin(i), lines, keys);
            });
        }
    });
}

// ---- argsort

template <class Key, class Position>
struct Placed {
    Key key;
    Position at;
};

template <class T, class Position>
void argsort_line(const T* in, std::int64_t* out, const Lines& lines, const Keys<T>& keys) {
    using Record = Placed<KeyOf<T>, Position>;
    const auto load = [&](std::int64_t i) {
        return Record{keys.template encode<true>(in[i * lines.inner]), static_cast<Position>(i)};
    };
    const auto store = [&](std::int64_t at, const Record& r) {
        out[at * lines.inner] = static_cast<std::int64_t>(r.at);
    };
    if (lines.size < kShortLine) {
        Record local[kShortLine];
        for (std::int64_t i = 0; i < lines.size; ++i) local[i] = load(i);
        std::sort(local, local + lines.size, [](const Record& a, const Record& b) {
            return a.key != b.key ? a.key < b.key : a.at < b.at;
        });
        for (std::int64_t i = 0; i < lines.size; ++i) store(i, local[i]);
        return;
    }
    const Room<Record> a(lines.size);
    const Room<Record> b(lines.size);
    radix_sort(lines.size, a.data(), b.data(), load, [](const Record& r) { return r.key; }, store);
}

void argsort(const EvalArgs& args) {
    if (args.spec->shape.numel() == 0) return;
    const Lines lines = ops::lines_of(args.spec->shape, args.attrs.integer(0));
    dispatch(args.inputs[0].spec->dtype, [&]<class T>() {
        if constexpr (!is_complex_v<T>) {
            const Keys<T> keys(args.attrs.boolean(1));
            for_each_line(lines, [&](std::int64_t i) {
                const T* in = args.inputs[0].as<T>() + lines.begin(i);
                std::int64_t* out = args.result<std::int64_t>() + lines.begin(i);
                if (lines.size <= INT64_C(0xffffffff)) {
                    argsort_line<T, std::uint32_t>(in, out, lines, keys);
                } else {
                    argsort_line<T, std::uint64_t>(in, out, lines, keys);
                }
            });
        }
    });
}

// ---- searchsorted

template <class T, bool Right>
void search(const EvalArgs& args) {
    const T* sequence = args.inputs[0].as<T>();
    const T* values = args.inputs[1].as<T>();
    const std::int64_t size = args.inputs[0].spec->shape[0];
    auto* out = args.result<std::int64_t>();
    const Keys<T> keys(false);
    share(args.spec->shape.numel(), 4096, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const KeyOf<T> value = keys.template encode<true>(values[i]);
            std::int64_t low = 0;
            for (std::int64_t high = size; low < high;) {
                const std::int64_t middle = low + (high - low) / 2;
                const KeyOf<T> there = keys.template encode<true>(sequence[middle]);
                const bool up = Right ? there <= value : there < value;
                low = up ? middle + 1 : low;
                high = up ? high : middle;
            }
            out[i] = low;
        }
    });
}

void searchsorted(const EvalArgs& args) {
    dispatch(args.inputs[0].spec->dtype, [&]<class T>() {
        if constexpr (!is_complex_v<T>)
            args.attrs.integer(0) == 1 ? search<T, true>(args) : search<T, false>(args);
    });
}

}  // namespace

Family sorting() {
    return {
        {"sort", sort}, {"argsort", argsort}, {"argtopk", argtopk}, {"searchsorted", searchsorted}};
}

}  // namespace lazuli::backend::host
