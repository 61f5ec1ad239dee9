#include "lazuli/scalar.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <utility>

#include "base/convert.h"
#include "lazuli/error.h"

namespace lazuli {

std::int64_t Scalar::to_int() const {
    return kind_ == Kind::boolean || kind_ == Kind::integer ? i_ : saturate<std::int64_t>(re_);
}

double Scalar::to_double() const {
    if (kind_ == Kind::floating || kind_ == Kind::complex) return re_;
    return unsigned_ ? static_cast<double>(static_cast<std::uint64_t>(i_))
                     : static_cast<double>(i_);
}

std::pair<std::uint64_t, std::uint64_t> Scalar::bits() const {
    if (kind_ == Kind::boolean || kind_ == Kind::integer)
        return {static_cast<std::uint64_t>(i_), 0};
    return {std::bit_cast<std::uint64_t>(re_), std::bit_cast<std::uint64_t>(im_)};
}

Scalar Scalar::from_bits(Kind kind, bool large_unsigned, std::uint64_t a, std::uint64_t b) {
    Scalar s;
    s.kind_ = kind;
    if (kind == Kind::boolean || kind == Kind::integer) {
        s.i_ = static_cast<std::int64_t>(a);
        s.unsigned_ = large_unsigned && kind == Kind::integer && s.i_ < 0;
        if (kind == Kind::boolean) s.i_ = s.i_ != 0 ? 1 : 0;
    } else {
        s.re_ = std::bit_cast<double>(a);
        s.im_ = kind == Kind::complex ? std::bit_cast<double>(b) : 0.0;
    }
    return s;
}

bool Scalar::operator==(const Scalar& other) const {
    if (kind_ != other.kind_ || unsigned_ != other.unsigned_) return false;
    const auto same = [](double x, double y) {
        return (std::isnan(x) && std::isnan(y)) ||
               std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
    };
    if (kind_ == Kind::boolean || kind_ == Kind::integer) return i_ == other.i_;
    return same(re_, other.re_) && same(im_, other.im_);
}

namespace {

std::string real_text(double v) {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    std::string text = fmt::format("{}", v);  // shortest text that reads back as the same double
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    return text;
}

}  // namespace

std::string Scalar::str() const {
    switch (kind_) {
        case Kind::boolean: return i_ != 0 ? "true" : "false";
        case Kind::integer:
            return unsigned_ ? fmt::format("{}", static_cast<std::uint64_t>(i_))
                             : fmt::format("{}", i_);
        case Kind::floating: return real_text(re_);
        case Kind::complex: {
            const std::string im = real_text(im_);
            return fmt::format("({}{}{}j)", real_text(re_), im.front() == '-' ? "" : "+", im);
        }
    }
    __builtin_unreachable();
}

void store_scalar(const Scalar& value, DType dtype, void* out) {
    dispatch(dtype, [&]<class T>() {
        T element{};
        switch (value.kind()) {
            case Kind::boolean: element = convert<T>(value.to_int() != 0); break;
            case Kind::integer:
                element = value.is_large_unsigned()
                              ? convert<T>(static_cast<std::uint64_t>(value.to_int()))
                              : convert<T>(value.to_int());
                break;
            case Kind::floating: element = convert<T>(value.to_double()); break;
            case Kind::complex: element = convert<T>(value.to_complex()); break;
        }
        std::memcpy(out, &element, sizeof(T));
    });
}

Scalar load_scalar(DType dtype, const void* in) {
    return dispatch(dtype, [&]<class T>() {
        T element;
        std::memcpy(&element, in, sizeof(T));
        return Scalar(element);
    });
}

Scalar Scalar::as(DType dtype) const {
    alignas(16) unsigned char element[16];
    store_scalar(*this, dtype, element);
    return load_scalar(dtype, element);
}

DType Scalar::default_dtype() const {
    switch (kind_) {
        case Kind::boolean: return DType::boolean;
        case Kind::integer:
            if (unsigned_) return u64;
            return i_ >= INT32_MIN && i_ <= INT32_MAX ? i32 : i64;
        case Kind::floating: return f32;
        case Kind::complex: return c64;
    }
    __builtin_unreachable();
}

DType promote_weak(std::string_view op, DType tensor, const Scalar& scalar) {
    const Kind tensor_kind = kind(tensor);
    if (scalar.kind() > tensor_kind) {
        if (scalar.kind() == Kind::complex && tensor_kind == Kind::floating)
            return tensor == f64 ? c128 : c64;
        return scalar.default_dtype();
    }
    if (tensor_kind == Kind::integer && scalar.kind() == Kind::integer &&
        !(scalar.as(tensor) == scalar)) {
        throw ArgumentError(
            fmt::format("{}: the integer {} does not fit {}; cast the tensor, or use scalar()", op,
                        scalar.str(), name(tensor)));
    }
    return tensor;
}

}  // namespace lazuli
