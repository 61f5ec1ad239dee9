#include "names.h"

namespace lazuli::python {

namespace {

constexpr Alias kAliases[] = {
    {"subtract", "sub"},
    {"multiply", "mul"},
    {"divide", "div"},
    {"true_divide", "div"},
    {"power", "pow"},
    {"negative", "neg"},
    {"absolute", "abs"},
    {"equal", "eq"},
    {"not_equal", "ne"},
    {"less", "lt"},
    {"less_equal", "le"},
    {"greater", "gt"},
    {"greater_equal", "ge"},
    {"where", "select"},
    {"astype", "cast"},
    {"permute_dims", "permute"},
    {"amax", "max"},
    {"amin", "min"},
    {"ldexp", "scale2"},
    {"left_shift", "shift_left"},
    {"right_shift", "shift_right"},
    {"bitwise_left_shift", "shift_left"},
    {"bitwise_right_shift", "shift_right"},
    // Ops that a table may have under either name.
    {"arcsin", "asin"},
    {"arccos", "acos"},
    {"arctan", "atan"},
    {"arctan2", "atan2"},
    {"arcsinh", "asinh"},
    {"arccosh", "acosh"},
    {"arctanh", "atanh"},
    {"asin", "arcsin"},
    {"acos", "arccos"},
    {"atan", "arctan"},
    {"atan2", "arctan2"},
    {"asinh", "arcsinh"},
    {"acosh", "arccosh"},
    {"atanh", "arctanh"},
    {"floor_divide", "floor_div"},
    {"floor_divide", "floordiv"},
    {"remainder", "rem"},
    {"mod", "rem"},
    {"invert", "bitwise_not"},
    {"bitwise_not", "invert"},
    {"bitwise_invert", "bitwise_not"},
    {"conjugate", "conj"},
    {"conj", "conjugate"},
    {"rint", "round"},
    {"around", "round"},
    {"product", "prod"},
    {"cumulative_sum", "cumsum"},
    {"cumulative_prod", "cumprod"},
    {"floor_div", "floor_divide"},
    {"bitwise_count", "popcount"},
};

struct Renamed {
    std::string_view op;  // empty: any
    std::string_view param;
    std::string_view name;
};

constexpr Renamed kRenamed[] = {
    {"tile", "counts", "reps"},
    {"diagonal", "first", "axis1"},
    {"diagonal", "second", "axis2"},
    {"", "axes", "axis"},
};

}  // namespace

std::span<const Alias> aliases() { return kAliases; }

std::string python_name(std::string_view op, std::string_view param) {
    for (const Renamed& r : kRenamed) {
        if (param == r.param && (r.op.empty() || r.op == op)) return std::string(r.name);
    }
    return std::string(param);
}

}  // namespace lazuli::python
