// Attributes as words. A list of axes packs its length and seven axes into the first word and eight
// into each further one; a list of integers is its length and its values; a number is its kind and
// the bits of its parts; text is interned.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "ir/op_table.h"
#include "ir/placement.h"
#include "lazuli/error.h"
#include "lazuli/program.h"

namespace lazuli {

namespace {

constexpr std::uint64_t axes_length(std::uint64_t count) { return 1 + (count + 1) / 8; }

std::uint64_t axis_at(const std::uint64_t* words, std::uint64_t i) {
    const std::uint64_t byte = i + 1;
    return (words[byte / 8] >> (8 * (byte % 8))) & 0xff;
}

double canonical_nan(double v) {
    return std::isnan(v) ? std::numeric_limits<double>::quiet_NaN() : v;
}

struct Strings {
    std::shared_mutex mutex;
    std::deque<std::string> texts;
    std::unordered_map<std::string_view, std::uint64_t> numbers;
};

Strings& strings() {
    static Strings& s = *new Strings;
    return s;
}

}  // namespace

namespace ir {

std::uint64_t intern(std::string_view text) {
    Strings& s = strings();
    {
        const std::shared_lock lock(s.mutex);
        if (const auto it = s.numbers.find(text); it != s.numbers.end()) return it->second;
    }
    const std::unique_lock lock(s.mutex);
    if (const auto it = s.numbers.find(text); it != s.numbers.end()) return it->second;
    const std::string& kept = s.texts.emplace_back(text);
    return s.numbers.emplace(kept, s.texts.size() - 1).first->second;
}

const std::string& interned(std::uint64_t number) {
    Strings& s = strings();
    const std::shared_lock lock(s.mutex);
    return s.texts.at(number);
}

namespace {

/// Programs by the number of their text.
struct Programs {
    std::shared_mutex mutex;
    std::unordered_map<std::uint64_t, Program> all;
};

Programs& programs() {
    static Programs& p = *new Programs;
    return p;
}

}  // namespace

std::uint64_t intern_program(const Program& program) {
    const std::uint64_t number = intern(program.str());
    Programs& p = programs();
    const std::unique_lock lock(p.mutex);
    p.all.emplace(number, program);
    return number;
}

const Program& program_at(std::uint64_t number) {
    Programs& p = programs();
    const std::shared_lock lock(p.mutex);
    return p.all.at(number);  // elements of such a map stay where they are
}

bool is_program(std::uint64_t number) {
    Programs& p = programs();
    const std::shared_lock lock(p.mutex);
    return p.all.contains(number);
}

bool calls_user(const OpDef& def, const Attrs& attrs) {
    if (def.name == "custom_call") return true;
    for (std::size_t i = 0; i < def.attrs.size(); ++i) {
        if (def.attrs[i].kind != AttrKind::program) continue;
        const Program& body = attrs.program(static_cast<int>(i));
        for (std::size_t k = 0; k < body.size(); ++k) {
            const Operation operation = body.operation(k);
            if (calls_user(operation.def(), operation.attrs())) return true;
        }
    }
    return false;
}

bool is_interned(std::uint64_t number) {
    Strings& s = strings();
    const std::shared_lock lock(s.mutex);
    return number < s.texts.size();
}

std::size_t attr_length(AttrKind kind, const std::uint64_t* word, std::size_t left) {
    if (left == 0) return 0;
    std::size_t length = 1;
    switch (kind) {
        case AttrKind::boolean:
        case AttrKind::integer:
        case AttrKind::real:
        case AttrKind::choice:
        case AttrKind::program:
        case AttrKind::text: break;
        case AttrKind::scalar: length = 3; break;
        case AttrKind::axes: length = axes_length(word[0] & 0xff); break;
        case AttrKind::ints:
            if (word[0] > Shape::kMaxRank) return 0;
            length = 1 + word[0];
            break;
        case AttrKind::view: length = 1 + (word[0] & 0xffff); break;
    }
    return length <= left ? length : 0;
}

void check_attr_words(const OpDef& def, std::span<const std::uint64_t> words) {
    std::size_t at = 0;
    for (const AttrDef& attr : def.attrs) {
        const std::uint64_t* word = words.data() + at;
        const std::size_t length = attr_length(attr.kind, word, words.size() - at);
        const auto refuse = [&](std::string_view why) {
            throw ArgumentError(fmt::format("{}: attribute '{}' {}", def.name, attr.name, why));
        };
        if (length == 0) refuse("is cut off");
        if (attr.kind == AttrKind::boolean && word[0] > 1) refuse("is not true or false");
        if (attr.kind == AttrKind::scalar && ((word[0] & 0xff) > 3 || word[0] > 0x1ff))
            refuse("is of no known kind");
        if (attr.kind == AttrKind::choice && word[0] >= attr.choices.size())
            refuse("is none of its choices");
        if (attr.kind == AttrKind::text && !is_interned(word[0])) refuse("is no known text");
        if (attr.kind == AttrKind::program && !is_program(word[0])) refuse("is no known program");
        if (attr.kind == AttrKind::view) check_placement_words(def.name, {word, length});
        if (attr.kind == AttrKind::axes) {
            const std::uint64_t count = word[0] & 0xff;
            if (count > Shape::kMaxRank) refuse("has too many axes");
            for (std::uint64_t i = 0; i < count; ++i) {
                if (axis_at(word, i) >= Shape::kMaxRank) refuse("has an axis beyond 63");
            }
            const std::uint64_t used =
                (count + 1) % 8;  // the rest of the last word must be zero: one form a list
            if (used != 0 && (word[length - 1] >> (8 * used)) != 0) refuse("is malformed");
            if (used == 0 && word[length - 1] != 0) refuse("is malformed");
        }
        at += length;
    }
    if (at != words.size())
        throw ArgumentError(fmt::format("{}: has attributes beyond its list", def.name));
}

}  // namespace ir

const std::uint64_t* Attrs::word(int index) const {
    const std::uint64_t* at = words_.data();
    for (int i = 0; i < index; ++i) {
        at += ir::attr_length(def_->attrs[static_cast<std::size_t>(i)].kind, at, words_.size());
    }
    return at;
}

Dim Attrs::size(int index) const {
    const auto number = static_cast<std::int64_t>(*word(index));
    if (detail::is_expression(number)) return Dim::from_raw(number);
    if (Dim::from_raw(number).is_concrete()) return number;
    throw ArgumentError(fmt::format("{}: {} {} is no size", def_->name,
                                    def_->attrs[static_cast<std::size_t>(index)].name, number));
}

double Attrs::real(int index) const { return std::bit_cast<double>(*word(index)); }

Scalar Attrs::scalar(int index) const {
    const std::uint64_t* w = word(index);
    return Scalar::from_bits(static_cast<Kind>(w[0] & 0xff), (w[0] >> 8) != 0, w[1], w[2]);
}

Ints Attrs::list(int index) const {
    const std::uint64_t* w = word(index);
    Ints out;
    if (def_->attrs[static_cast<std::size_t>(index)].kind == AttrKind::axes) {
        const auto count = static_cast<int>(w[0] & 0xff);
        out.resize(count);
        for (int i = 0; i < count; ++i)
            out[i] = static_cast<std::int64_t>(axis_at(w, static_cast<std::uint64_t>(i)));
    } else {
        const auto count = static_cast<int>(w[0]);
        out.resize(count);
        std::copy_n(w + 1, count, out.data());
    }
    return out;
}

const std::string& Attrs::text(int index) const { return ir::interned(*word(index)); }

const Program& Attrs::program(int index) const { return ir::program_at(*word(index)); }

Attribute Attrs::get(int index, const Shape& result) const {
    switch (def_->attrs[static_cast<std::size_t>(index)].kind) {
        case AttrKind::boolean: return boolean(index);
        case AttrKind::integer: return static_cast<std::int64_t>(*word(index));
        case AttrKind::real: return real(index);
        case AttrKind::scalar: return scalar(index);
        case AttrKind::axes:
        case AttrKind::ints: return list(index);
        case AttrKind::text:
        case AttrKind::program: return text(index);
        case AttrKind::choice:
            return std::string(def_->attrs[static_cast<std::size_t>(index)].choices[*word(index)]);
        case AttrKind::view: return placement(index, result);
    }
    __builtin_unreachable();
}

void AttrWords::overflow() { throw ArgumentError("the attributes of one operation are too long"); }

void AttrWords::real(double v) { push(std::bit_cast<std::uint64_t>(canonical_nan(v))); }

void AttrWords::scalar(const Scalar& v) {
    auto [a, b] = v.bits();
    if (v.kind() >= Kind::floating) {
        a = std::bit_cast<std::uint64_t>(canonical_nan(std::bit_cast<double>(a)));
        b = std::bit_cast<std::uint64_t>(canonical_nan(std::bit_cast<double>(b)));
    }
    push(static_cast<std::uint64_t>(v.kind()) | (v.is_large_unsigned() ? 0x100U : 0U));
    push(a);
    push(b);
}

void AttrWords::axes(std::span<const std::int64_t> v) {
    if (v.size() > static_cast<std::size_t>(Shape::kMaxRank)) overflow();
    std::uint64_t word = v.size();
    std::uint64_t byte = 1;
    for (const std::int64_t axis : v) {
        if (axis < 0 || axis >= Shape::kMaxRank)
            throw IndexError(
                fmt::format("axis {} is not between 0 and {}", axis, Shape::kMaxRank - 1));
        word |= static_cast<std::uint64_t>(axis) << (8 * byte);
        if (++byte == 8) {
            push(word);
            word = byte = 0;
        }
    }
    push(word);
}

void AttrWords::ints(std::span<const std::int64_t> v) {
    if (v.size() > static_cast<std::size_t>(Shape::kMaxRank)) overflow();
    std::uint64_t* to = room(1 + static_cast<int>(v.size()));
    *to++ = v.size();
    for (const std::int64_t i : v) *to++ = static_cast<std::uint64_t>(i);
}

void AttrWords::text(std::string_view v) { push(ir::intern(v)); }

void AttrWords::program(const Program& v) { push(ir::intern_program(v)); }

void AttrWords::append(std::string_view op, const AttrDef& def, const Attribute& value) {
    const auto take = [&](auto&& set, const auto* v) {
        if (v == nullptr)
            throw ArgumentError(fmt::format("{}: attribute '{}' is of another kind", op, def.name));
        set(*v);
    };
    switch (def.kind) {
        case AttrKind::boolean: return take([&](bool v) { boolean(v); }, std::get_if<bool>(&value));
        case AttrKind::integer:
            return take([&](std::int64_t v) { integer(v); }, std::get_if<std::int64_t>(&value));
        case AttrKind::real: return take([&](double v) { real(v); }, std::get_if<double>(&value));
        case AttrKind::scalar:
            return take([&](const Scalar& v) { scalar(v); }, std::get_if<Scalar>(&value));
        case AttrKind::axes:
            return take([&](const Ints& v) { axes(v.dims()); }, std::get_if<Ints>(&value));
        case AttrKind::ints:
            return take([&](const Ints& v) { ints(v.raw()); }, std::get_if<Ints>(&value));
        case AttrKind::text:
            return take([&](const std::string& v) { text(v); }, std::get_if<std::string>(&value));
        case AttrKind::program:
            return take([&](const std::string& v) { program(Program::parse(v)); },
                        std::get_if<std::string>(&value));
        case AttrKind::choice:
            return take(
                [&](const std::string& v) {
                    const auto it = std::find(def.choices.begin(), def.choices.end(), v);
                    if (it == def.choices.end()) {
                        throw ArgumentError(fmt::format("{}: {} is one of {}, not '{}'", op,
                                                        def.name, fmt::join(def.choices, ", "), v));
                    }
                    push(static_cast<std::uint64_t>(it - def.choices.begin()));
                },
                std::get_if<std::string>(&value));
        case AttrKind::view:
            return take([&](const Placement& v) { placement(v); }, std::get_if<Placement>(&value));
    }
}

}  // namespace lazuli
