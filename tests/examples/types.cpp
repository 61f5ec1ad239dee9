#include "example.h"

// Element types, numbers, shapes, axes, checks and errors.

namespace examples {

namespace {

void element_types(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(info, "bf16, 2, true", [] {
        const DTypeInfo& row = info(bf16);
        return std::tuple(row.name, row.size, row.is_signed);
    });
    LAZULI_EXAMPLE(name, "bool", name(DType::boolean));
    LAZULI_EXAMPLE(size_of, "16", size_of(c128));
    LAZULI_EXAMPLE(kind, "floating, integer", std::pair(kind(f16), kind(u8)));
    LAZULI_EXAMPLE(is_floating, "true, false", std::pair(is_floating(bf16), is_floating(c64)));
    LAZULI_EXAMPLE(is_integer, "true, false",
                   std::pair(is_integer(u8), is_integer(DType::boolean)));
    LAZULI_EXAMPLE(is_complex, "true, false", std::pair(is_complex(c64), is_complex(f64)));
    LAZULI_EXAMPLE(parse_dtype, "f16, none", std::pair(parse_dtype("f16"), parse_dtype("f17")));
    LAZULI_EXAMPLE(dtype_of, "f32, u8", std::pair(dtype_of<float>(), dtype_of<std::uint8_t>()));
    LAZULI_EXAMPLE(real_part, "f32, i8", std::pair(real_part(c64), real_part(i8)));
    LAZULI_EXAMPLE(promote, "f32, i16, none",
                   std::tuple(promote(f16, bf16), promote(i8, u8), promote(u64, i64)));
    LAZULI_EXAMPLE((DTypeSet, DTypeSet::contains, operator|), "true, true, false", [] {
        const DTypeSet set = DTypeSet{f32, f64} | kIntegers;
        return std::tuple(set.contains(f32), set.contains(u8), set.contains(f16));
    });
    LAZULI_EXAMPLE((Half, operator float), "15361, 1.001", [] {
        const Half h(1.001);  // the nearest of the numbers 1, 1 + 2^-10, ...
        return std::pair(h.bits, static_cast<float>(h));
    });
    LAZULI_EXAMPLE((BFloat16, operator double), "16256, 1", [] {
        const BFloat16 b(1.001);  // the nearest of the numbers 1, 1 + 2^-7, ...
        return std::pair(b.bits, static_cast<double>(b));
    });
}

void numbers(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((Scalar, Scalar::kind), "boolean, integer, floating, complex", [] {
        return std::tuple(Scalar(true).kind(), Scalar(2).kind(), Scalar(2.0).kind(),
                          Scalar(std::complex<double>(1, 2)).kind());
    });
    LAZULI_EXAMPLE(Scalar::is_large_unsigned, "false, true", [] {
        return std::pair(Scalar(std::uint64_t{1}).is_large_unsigned(),
                         Scalar(std::uint64_t{1} << 63).is_large_unsigned());
    });
    LAZULI_EXAMPLE(Scalar::to_int, "2, -2", std::pair(Scalar(2.9).to_int(), Scalar(-2.9).to_int()));
    LAZULI_EXAMPLE(Scalar::to_double, "7, 1", [] {
        return std::pair(Scalar(7).to_double(), Scalar(std::complex<double>(1, 2)).to_double());
    });
    LAZULI_EXAMPLE(Scalar::to_complex, "7+0j", Scalar(7).to_complex());
    LAZULI_EXAMPLE((Scalar::bits, Scalar::from_bits), "2.5", [] {
        const Scalar value = 2.5;
        const auto [first, second] = value.bits();
        return Scalar::from_bits(value.kind(), false, first, second);
    });
    LAZULI_EXAMPLE(Scalar::str, "true, 2, 0.5, (1.0+2.0j)", [] {
        return std::tuple(Scalar(true).str(), Scalar(2).str(), Scalar(0.5).str(),
                          Scalar(std::complex<double>(1, 2)).str());
    });
    LAZULI_EXAMPLE(Scalar::as, "44, 127, true", [] {
        return std::tuple(Scalar(300).as(u8), Scalar(300.5).as(i8), Scalar(0.5).as(DType::boolean));
    });
    LAZULI_EXAMPLE(Scalar::default_dtype, "i32, i64, f32", [] {
        return std::tuple(Scalar(7).default_dtype(), Scalar(std::int64_t{1} << 40).default_dtype(),
                          Scalar(0.5).default_dtype());
    });
    LAZULI_EXAMPLE((store_scalar, load_scalar), "2.5, 2.5", [] {
        float element = 0;
        store_scalar(2.5, f32, &element);
        return std::pair(element, load_scalar(f32, &element));
    });
    LAZULI_EXAMPLE(promote_weak, "f16, f32", [] {
        return std::pair(promote_weak("mul", f16, 2.0), promote_weak("mul", i32, 2.0));
    });
    LAZULI_EXAMPLE(
        promote_weak,
        "ArgumentError: add: the integer 300 does not fit u8; cast the tensor, or use scalar()",
        promote_weak("add", u8, 300));
}

void shapes(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((Shape, Shape::str), "[2, 3], []", std::pair(Shape{2, 3}.str(), Shape().str()));
    LAZULI_EXAMPLE(Shape::filled, "[5, 5, 5]", Shape::filled(3, 5));
    LAZULI_EXAMPLE((Shape::rank, Shape::size, Shape::empty, Shape::numel), "2, 2, false, 6", [] {
        const Shape shape = {2, 3};
        return std::tuple(shape.rank(), shape.size(), shape.empty(), shape.numel());
    });
    LAZULI_EXAMPLE((Shape::data, Shape::begin, Shape::end, Shape::dims), "[7, 3, 5], 105, 3", [] {
        Shape shape = {2, 3, 5};
        shape.data()[0] = 7;
        std::int64_t product = 1;
        for (const std::int64_t size : shape) product *= size;  // from begin() to end()
        return std::tuple(shape, product, shape.dims().size());
    });
    LAZULI_EXAMPLE((Shape::dim, Shape::set, Shape::is_concrete, Shape::count, Shape::raw),
                   "[rows, 4], 4*rows, false, true, true", [] {
                       Shape shape = {2, 4};
                       shape.set(0, dim("rows", 1, 64));
                       return std::tuple(shape, shape.count().str(), shape.is_concrete(),
                                         shape.dim(1) == Dim(4), shape.raw()[1] == 4);
                   });
    LAZULI_EXAMPLE((Shape::push_back, Shape::resize), "[2, 3, 5], [2]", [] {
        Shape longer = {2, 3};
        longer.push_back(5);
        Shape shorter = longer;
        shorter.resize(1);
        return std::pair(longer, shorter);
    });
    LAZULI_EXAMPLE((TensorSpec::nbytes, TensorSpec::str), "24, f32[2, 3]", [] {
        const TensorSpec spec = {f32, {2, 3}};
        return std::pair(spec.nbytes(), spec.str());
    });
    LAZULI_EXAMPLE(dense_strides, "[15, 5, 1]", dense_strides({2, 3, 5}));
    LAZULI_EXAMPLE(broadcast_shapes, "[2, 4, 3]", broadcast_shapes("add", {2, 1, 3}, {4, 1}));
    LAZULI_EXAMPLE(broadcast_shapes,
                   "ShapeError: add: shapes do not broadcast: [2, 3] and [4] (dimension 1: 3 vs 4)",
                   broadcast_shapes("add", {2, 3}, {4}));
    LAZULI_EXAMPLE((Axis, ensure_axis), "2", ensure_axis("sum", Axis(-1), {2, 3, 5}));
    LAZULI_EXAMPLE(ensure_axis, "IndexError: sum: axis 3 is out of range for [2, 3, 5] (rank 3)",
                   ensure_axis("sum", 3, {2, 3, 5}));
    LAZULI_EXAMPLE((Axes, ensure_axes), "[0, 2], [0, 1, 2]", [] {
        const Shape shape = {2, 3, 5};
        return std::pair(ensure_axes("sum", Axes{0, -1}, shape), ensure_axes("sum", Axes(), shape));
    });
}

void checks(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(
        ensure_same_device,
        "DeviceError: mix: operands live on different devices: f32[2] on reference, f32[2] "
        "on cpu",
        ensure_same_device("mix", zeros({2}, Device("reference")), zeros({2}, Device("cpu"))));
    LAZULI_EXAMPLE(ensure_same_dtype,
                   "DTypeError: mix: operands have different types: f32[2] and f64[2]",
                   ensure_same_dtype("mix", {f32, {2}}, {f64, {2}}));
    LAZULI_EXAMPLE(ensure_dtype,
                   "DTypeError: mix: does not take i32[2] (takes f16, bf16, f32, f64)",
                   ensure_dtype("mix", {i32, {2}}, kFloating));
    LAZULI_EXAMPLE(ensure_rank, "ShapeError: mix: expects rank 2 to 3, given f32[2] (rank 1)",
                   ensure_rank("mix", {f32, {2}}, 2, 3));
    LAZULI_EXAMPLE(ensure_shape, "ShapeError: mix: expects shape [-1, 4], given f32[2, 3]",
                   ensure_shape("mix", {f32, {2, 3}}, {-1, 4}));
    LAZULI_EXAMPLE(ensure_same_shape, "ShapeError: mix: shapes differ: f32[2, 3] and f32[3, 2]",
                   ensure_same_shape("mix", {f32, {2, 3}}, {f32, {3, 2}}));
}

void errors(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(ShapeError, "[2, 3], [4, 5]", [] {
        std::pair<std::string, std::string> shapes;
        try {
            matmul(zeros({2, 3}), zeros({4, 5}));
        } catch (const ShapeError& error) {
            shapes = {error.expected, error.actual};
        }
        return shapes;
    });
    LAZULI_EXAMPLE(ExecutionError, "gather", [] {
        std::string op;
        try {
            gather(Tensor{10, 20, 30}, Tensor{7}).eval();
        } catch (const ExecutionError& error) {
            op = error.op;
        }
        return op;
    });
    LAZULI_EXAMPLE(
        ExecutionError,
        "ExecutionError: gather: index 7 at position 0 is out of range for axis 0 of [3]",
        gather(Tensor{10, 20, 30}, Tensor{7}).eval());
    LAZULI_EXAMPLE(ParseError, "2, 3", [] {
        std::pair<int, int> place;
        try {
            Program::parse("program(x: f32[2]) {\n  ???\n}");
        } catch (const ParseError& error) {
            place = {error.line, error.column};
        }
        return place;
    });
    LAZULI_EXAMPLE(FileError, "/nowhere/x.npy", [] {
        std::string path;
        try {
            load_npy("/nowhere/x.npy");
        } catch (const FileError& error) {
            path = error.path;
        }
        return path;
    });
    LAZULI_EXAMPLE(OutOfMemory, "true", [] {
        bool beyond = false;
        try {
            (zeros({std::int64_t{1} << 50}) + 1).eval();
        } catch (const OutOfMemory& error) {
            beyond = error.demand > error.limit;
        }
        return beyond;
    });
    LAZULI_EXAMPLE(InternalError, "true", [] {
        const InternalError error("a promise was broken");
        return std::string(error.what()).find("types.cpp") != std::string::npos;
    });
}

}  // namespace

Examples types() {
    Examples out;
    element_types(out);
    numbers(out);
    shapes(out);
    checks(out);
    errors(out);
    return out;
}

}  // namespace examples
