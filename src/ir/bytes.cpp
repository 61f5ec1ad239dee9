// Program <-> compact bytes: the magic, a version, then numbers of variable length (seven bits a
// byte, signed ones zigzag). Operations are named once in a table, so the bytes do not depend on
// the order of a process's op table. Where sizes are expressions the version is 2: the variables
// follow the table, and each size says whether it is a number or text.

#include <fmt/format.h>

#include <map>

#include "ir/placement.h"
#include "lazuli/error.h"
#include "lazuli/program.h"
#include "symbolic/variables.h"

namespace lazuli {

namespace {

constexpr std::string_view kMagic = "LZIR";
constexpr std::uint64_t kVersion = 1;
constexpr std::uint64_t kSizesVersion = 2;

class Writer {
   public:
    explicit Writer(bool has_expressions) : has_expressions_(has_expressions) {
        number(has_expressions ? kSizesVersion : kVersion);
    }
    std::string out{kMagic};
    void number(std::uint64_t v) {
        while (v >= 0x80) {
            out += static_cast<char>(v | 0x80);
            v >>= 7;
        }
        out += static_cast<char>(v);
    }
    void integer(std::int64_t v) {
        number((static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63));
    }
    void raw64(std::uint64_t v) {
        for (int i = 0; i < 8; ++i) out += static_cast<char>(v >> (8 * i));
    }
    void text(std::string_view v) {
        number(v.size());
        out += v;
    }
    void list(const Ints& v) {
        number(v.size());
        for (const std::int64_t slot : v.raw()) size(slot);
    }
    /// A number or an expression.
    void size(std::int64_t slot) {
        const bool is_text = detail::is_expression(slot);
        if (has_expressions_) number(is_text ? 1 : 0);
        if (is_text) {
            text(Dim::from_raw(slot).str());
        } else {
            integer(slot);
        }
    }
    void spec(const TensorSpec& v) {
        number(static_cast<std::uint64_t>(v.dtype));
        list(v.shape);
    }
    void scalar(const Scalar& v) {
        const auto [a, b] = v.bits();
        number(static_cast<std::uint64_t>(v.kind()) | (v.is_large_unsigned() ? 4U : 0U));
        raw64(a);
        raw64(b);
    }
    void attribute(const Attribute& value, const Shape& base) {
        if (const auto* boolean = std::get_if<bool>(&value)) number(*boolean ? 1 : 0);
        if (const auto* i = std::get_if<std::int64_t>(&value)) size(*i);
        if (const auto* real = std::get_if<double>(&value)) raw64(Scalar(*real).bits().first);
        if (const auto* number = std::get_if<Scalar>(&value)) scalar(*number);
        if (const auto* ints = std::get_if<Ints>(&value)) list(*ints);
        if (const auto* string = std::get_if<std::string>(&value)) text(*string);
        if (const auto* placement = std::get_if<Placement>(&value))
            text(ir::placement_text(*placement, base));
    }

   private:
    bool has_expressions_;
};

class Reader {
   public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}
    [[noreturn]] void fail(std::string_view what) const {
        throw ArgumentError(fmt::format("program bytes: {} (at byte {})", what, at_));
    }
    std::uint64_t number() {
        std::uint64_t v = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const std::uint8_t byte = next();
            if (shift == 63 && byte > 1) fail("a number is too long");
            v |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
            if (byte < 0x80) return v;
        }
        fail("a number is too long");
    }
    std::int64_t integer() {
        const std::uint64_t v = number();
        return static_cast<std::int64_t>((v >> 1) ^ (~(v & 1) + 1));
    }
    std::uint64_t raw64() {
        std::uint64_t v = 0;
        for (int i = 0; i < 8; ++i) v |= static_cast<std::uint64_t>(next()) << (8 * i);
        return v;
    }
    /// A count of things that take at least one byte each.
    std::size_t count() {
        const std::uint64_t v = number();
        if (v > bytes_.size() - at_) fail("a count is larger than the file");
        return v;
    }
    std::string text() {
        const std::size_t n = count();
        std::string out(bytes_.substr(at_, n));
        at_ += n;
        return out;
    }
    Ints list() {
        const std::size_t n = count();
        if (n > static_cast<std::size_t>(Shape::kMaxRank)) fail("a list is too long");
        Ints out;
        for (std::size_t i = 0; i < n; ++i) out.push_back(size());
        return out;
    }
    /// A number or an expression.
    std::int64_t size() {
        if (has_expressions_ && number() != 0) return variables_.parse(text()).raw();
        return integer();
    }
    TensorSpec spec() {
        const std::uint64_t dtype = number();
        if (dtype >= kDTypeCount) fail("no such element type");
        return {static_cast<DType>(dtype), list()};
    }
    Scalar scalar() {
        const std::uint64_t kind = number();
        if (kind > 7) fail("no such kind of number");
        const std::uint64_t a = raw64();
        const std::uint64_t b = raw64();
        return Scalar::from_bits(static_cast<Kind>(kind & 3), (kind & 4) != 0, a, b);
    }
    Attribute attribute(AttrKind kind, const Shape& base) {
        switch (kind) {
            case AttrKind::boolean: return number() != 0;
            case AttrKind::integer: return size();
            case AttrKind::real:
                return Scalar::from_bits(Kind::floating, false, raw64(), 0).to_double();
            case AttrKind::scalar: return scalar();
            case AttrKind::axes:
            case AttrKind::ints: return list();
            case AttrKind::choice:
            case AttrKind::program:
            case AttrKind::text: return text();
            case AttrKind::view: return ir::parse_placement(text(), base, variables_.all());
        }
        __builtin_unreachable();
    }
    bool done() const { return at_ == bytes_.size(); }
    void magic() {
        if (!bytes_.starts_with(kMagic)) fail("not a Lazuli program");
        at_ = kMagic.size();
        const std::uint64_t version = number();
        if (version != kVersion && version != kSizesVersion) {
            fail(fmt::format("version {} is none of {} and {}, those this build reads", version,
                             kVersion, kSizesVersion));
        }
        has_expressions_ = version == kSizesVersion;
    }
    /// What the sizes are made of.
    void variables() {
        if (!has_expressions_) return;
        for (std::size_t left = count(); left > 0; --left) {
            const std::string name = text();
            const std::int64_t low = integer();
            variables_.declare(name, low, integer());
        }
    }

   private:
    std::uint8_t next() {
        if (at_ >= bytes_.size()) fail("cut off");
        return static_cast<std::uint8_t>(bytes_[at_++]);
    }
    std::string_view bytes_;
    std::size_t at_ = 0;
    bool has_expressions_ = false;
    symbolic::Variables variables_;
};

// A value is written as 2 i for operation i and 2 i + 1 for parameter i.
std::uint64_t value_number(ValueRef v) { return 2 * v.index() + (v.is_param() ? 1 : 0); }

}  // namespace

std::string Program::bytes() const {
    const std::vector<Dim> variables = this->variables();
    Writer w(!variables.empty());
    std::map<OpId, std::uint64_t> ops;
    std::vector<OpId> order;
    for (std::size_t i = 0; i < size(); ++i) {
        if (ops.emplace(operation(i).op(), order.size()).second) order.push_back(operation(i).op());
    }
    w.number(order.size());
    for (const OpId op : order) w.text(op_def(op).name);
    if (!variables.empty()) w.number(variables.size());
    for (const Dim variable : variables) {
        w.text(variable.str());
        w.integer(variable.bounds().low);
        w.integer(variable.bounds().high);
    }
    w.number(params().size());
    for (const Param& param : params()) {
        w.text(param.name);
        w.spec(param.spec);
    }
    w.number(size());
    for (std::size_t i = 0; i < size(); ++i) {
        const Operation operation = this->operation(i);
        w.number(ops.at(operation.op()));
        w.number(operation.input_count());
        for (std::size_t k = 0; k < operation.input_count(); ++k)
            w.number(value_number(operation.input(k)));
        w.spec(operation.spec());
        const Attrs attrs = operation.attrs();
        for (std::size_t k = 0; k < operation.def().attrs.size(); ++k)
            w.attribute(attrs.get(static_cast<int>(k), operation.spec().shape),
                        operation.input_count() > 0 ? spec(operation.input(0)).shape : Shape());
    }
    w.number(results().size());
    for (const ProgramResult& result : results()) {
        w.text(result.name);
        w.number(value_number(result.value));
    }
    return w.out;
}

Program Program::from_bytes(std::string_view bytes) {
    Reader r(bytes);
    r.magic();
    std::vector<OpId> ops(r.count());
    for (OpId& op : ops) op = require_op(r.text());
    r.variables();
    ProgramBuilder builder;
    std::vector<Value> params(r.count());
    for (Value& param : params) {
        const std::string name = r.text();
        param = builder.param(name, r.spec());
    }
    std::vector<Value> values;
    const auto value = [&] {
        const std::uint64_t n = r.number();
        const std::vector<Value>& list = n % 2 == 1 ? params : values;
        if (n / 2 >= list.size()) r.fail("an operand is no earlier value");
        return list[n / 2];
    };
    const std::size_t count = r.count();
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t op = r.number();
        if (op >= ops.size()) r.fail("an operation is not in the table");
        const OpDef& def = op_def(ops[op]);
        std::vector<Value> inputs(r.count());
        for (Value& input : inputs) input = value();
        const TensorSpec stated = r.spec();
        const Shape base = inputs.empty() ? Shape() : inputs[0].shape();
        AttrWords words;
        for (const AttrDef& attr : def.attrs)
            words.append(def.name, attr, r.attribute(attr.kind, base));
        const Value v = builder.op(ops[op], inputs, words.words(), &stated);
        if (!(v.spec() == stated)) {
            r.fail(fmt::format("{} is {} but the program says {}", def.name, v.spec().str(),
                               stated.str()));
        }
        values.push_back(v);
    }
    const std::size_t results = r.count();
    for (std::size_t i = 0; i < results; ++i) {
        const std::string name = r.text();
        builder.result(value(), name);
    }
    if (!r.done()) r.fail("bytes after the program's end");
    return builder.build();
}

}  // namespace lazuli
