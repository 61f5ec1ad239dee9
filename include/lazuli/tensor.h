#pragma once

/// @file
/// The tensor: a handle on a recorded operation or a value, one pointer wide.

#include <algorithm>
#include <complex>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lazuli/arguments.h"
#include "lazuli/detail/ref.h"
#include "lazuli/device.h"
#include "lazuli/dtype.h"
#include "lazuli/explanation.h"
#include "lazuli/program.h"
#include "lazuli/scalar.h"
#include "lazuli/shape.h"

namespace lazuli {

class Index;
class Operand;

/// How a tensor is printed.
struct PrintOptions {
    bool eval = false;     ///< Evaluate it and show its values; else say what it is.
    int precision = 8;     ///< Digits behind the point, at most.
    int threshold = 1000;  ///< A tensor of more elements shows only its edges.
    int edge = 3;          ///< How many elements an edge has.
};

/// What becomes of a frozen tensor's own memory when products have it packed.
enum class Unpacked : std::uint8_t {
    keep,     ///< It stays: there are two copies.
    release,  ///< It is given back, and what is packed is unpacked where somebody reads it.
};

/// A tensor. Copying one copies a reference; an operation on it records a node and returns at once.
/// Any thread may record, and any thread may evaluate. Two handles may be used by two threads at
/// once; one handle may not.
class Tensor {
   public:
    /// No tensor; using it is an ArgumentError.
    Tensor() noexcept : node_(nullptr) {}
    /// A tensor of rank 0. Integers are i32 (i64 where they do not fit), reals f32, complex numbers
    /// c64.
    template <Element T>
    explicit Tensor(T value) : Tensor(from_scalar(Scalar(value))) {}
    /// A vector. `double` literals make f32, the default float; give a dtype to `tensor()` for
    /// another type.
    template <Element T>
    Tensor(std::initializer_list<T> values)
        : Tensor(from_list<T>({values.begin(), values.size()}, {length(values)})) {}
    /// A matrix; rows have equal lengths.
    template <Element T>
    Tensor(std::initializer_list<std::initializer_list<T>> rows) : Tensor(from_nested<T>(rows)) {}
    /// A tensor of rank 3.
    template <Element T>
    Tensor(std::initializer_list<std::initializer_list<std::initializer_list<T>>> blocks)
        : Tensor(from_nested<T>(blocks)) {}

    /// Another reference to the same tensor.
    Tensor(const Tensor& other) noexcept : node_(other.node_) {
        if (node_ != nullptr) ir::retain(node_);
    }
    /// Hands the reference over.
    Tensor(Tensor&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    /// Another reference to the same tensor.
    Tensor& operator=(const Tensor& other) noexcept {
        Tensor(other).swap(*this);
        return *this;
    }
    /// Hands the reference over.
    Tensor& operator=(Tensor&& other) noexcept {
        Tensor(std::move(other)).swap(*this);
        return *this;
    }
    ~Tensor() {
        if (node_ != nullptr) ir::release(node_);
    }
    /// Exchanges two handles.
    void swap(Tensor& other) noexcept { std::swap(node_, other.node_); }

    /// A tensor with a copy of the values, row-major, of the C++ type's element type.
    template <Element T>
    static Tensor from(std::span<const T> values, Shape shape) {
        return from_memory(values.data(), values.size(), dtype_of<T>(), std::move(shape));
    }
    /// A vector with a copy of the values.
    template <Element T>
    static Tensor from(const std::vector<T>& values) {
        return from(std::span<const T>(values), Shape{static_cast<std::int64_t>(values.size())});
    }
    /// A tensor with a copy of the values.
    template <Element T>
    static Tensor from(const std::vector<T>& values, Shape shape) {
        return from(std::span<const T>(values), std::move(shape));
    }

    // ---- what it is; none of these compute

    /// Whether there is a tensor at all.
    bool defined() const { return node_ != nullptr; }
    /// Type and shape.
    const TensorSpec& spec() const;
    /// The sizes.
    const Shape& shape() const { return spec().shape; }
    /// The size of an axis.
    std::int64_t size(Axis axis) const {
        return shape()[static_cast<int>(ensure_axis("size", axis, shape()))];
    }
    /// The number of dimensions.
    int rank() const { return shape().rank(); }
    /// The number of elements.
    std::int64_t numel() const { return shape().numel(); }
    /// The element type.
    DType dtype() const { return spec().dtype; }
    /// Where it lives.
    Device device() const;
    /// A number no other tensor of this process has or had.
    std::uint64_t id() const;
    /// The op that made it: `add`, or `data` for a tensor made of values.
    std::string_view op() const;
    /// Whether its values are there.
    bool is_materialized() const;
    /// How many unevaluated operations it stands on, itself included.
    std::size_t graph_size() const;
    /// Evaluates it, and says that it is used again and again, as weights are: products keep it
    /// packed, at the cost of a second copy. A view freezes what it is a view of. Where `unpacked`
    /// says so, the first copy is given back to the system once a product has the second, and made
    /// anew where somebody reads it.
    const Tensor& freeze(Unpacked unpacked = Unpacked::keep) const;
    /// Names it, for programs and printing. The name is no part of a program's identity.
    Tensor& name(std::string name);
    /// Its name, or nothing.
    std::string name() const;

    /// Whether it is a view: movements of another tensor, which nothing was copied for.
    bool is_view() const;
    /// How its elements are found in those of the tensor it is a view of; all of itself where it is
    /// none.
    ShapeTracker view() const;

    /// What evaluating it would do: the kernels, what is fused in each and why not more, the bytes
    /// they read and write, and whether the plan is there already. Computes nothing.
    std::string explain() const;
    /// The same as figures.
    Explanation explanation() const;

    // ---- gradients: lazuli/grad.h has more

    /// Says that gradients of it are wanted, or not any more: it is a value of its own from here
    /// on, which does not know where it came from. DTypeError for integers and truth values.
    Tensor& set_requires_grad(bool wanted = true);
    /// Whether gradients of it, or of what it is computed from, are wanted.
    bool requires_grad() const;
    /// Adds to `grad()` of every tensor that it is computed from and that wants one how much this
    /// one changes with it. It is one number, or `cotangent` weighs its elements.
    void backward(const Tensor& cotangent = {}) const;
    /// What `backward` added up; an empty tensor where there is nothing.
    Tensor grad() const;
    /// Forgets what `backward` added up.
    void zero_grad() const;

    // ---- values; all of these evaluate

    /// Computes it and what it needs, unless that was done.
    const Tensor& eval() const;
    /// The tensor on another device; itself where it is there already.
    Tensor to(Device device) const;
    /// The only element, converted to `T` as `cast` does.
    template <Element T>
    T item() const {
        T value{};
        read_item(dtype_of<T>(), &value);
        return value;
    }
    /// The elements, row-major, in the host's memory. Valid while the tensor lives.
    template <Element T>
    const T* data() const {
        return static_cast<const T*>(read_data(dtype_of<T>()));
    }
    /// A copy of the elements, row-major; `T` is the element type.
    template <Element T>
    std::vector<T> to_vector() const {
        wait_for("to_vector");
        const auto count = static_cast<std::size_t>(numel());
        std::vector<T> out(count);
        if constexpr (std::is_same_v<T, bool>) {  // whose vector has no array inside
            const auto plain = std::make_unique<bool[]>(count);
            read_dense(dtype_of<T>(), plain.get());
            std::copy_n(plain.get(), count, out.begin());
        } else {
            read_dense(dtype_of<T>(), out.data());
        }
        return out;
    }
    /// Whether the only element is not zero.
    explicit operator bool() const;

    // ---- printing

    /// As text. Without `eval`: `Tensor(op=add, shape=[2, 3], dtype=f32, lazy)`, and
    /// `requires_grad=true` behind that where it is so.
    std::string str(const PrintOptions& options = {}) const;

    // ---- movement that needs no attributes of its own

    /// The last dimensions in reverse order: a matrix transposed.
    Tensor transpose() const;
    /// Two axes exchanged.
    Tensor transpose(Axis a, Axis b) const;
    /// One axis moved to another place; the others keep their order.
    Tensor move_axis(Axis from, Axis to) const;
    /// Without the given axes, which must have size 1; without all that have where none are given.
    Tensor squeeze(Axes axes = {}) const;
    /// With a new axis of size 1.
    Tensor unsqueeze(Axis axis) const;
    /// With the axes from `first` to `last` joined.
    Tensor flatten(Axis first = 0, Axis last = -1) const;
    /// Parts of so many positions along an axis; the last may be shorter.
    std::vector<Tensor> split(std::int64_t size, Axis axis = 0) const;

    // ---- indexing: lazuli/index.h

    /// The elements an index picks, as in numpy: `x(0, slice(1, {}, 2), ellipsis)`.
    template <class... Indices>
    Tensor operator()(Indices&&... indices) const;
    /// The elements an index of one entry picks.
    template <class I>
        requires std::constructible_from<Index, I>
    Tensor operator[](I&& index) const;

    // ---- every op as a method
#define LAZULI_DEFAULT(...) = __VA_ARGS__
#define LAZULI_OPERAND const Operand&
#define LAZULI_OP(name, params, args) Tensor name params const;
#define LAZULI_OP_OWN(name, params, args) Tensor name params const;
#include "lazuli/ops.inc"
#undef LAZULI_DEFAULT
#undef LAZULI_OPERAND
#undef LAZULI_OP
#undef LAZULI_OP_OWN

    /// For the engine: takes over a reference.
    static Tensor adopt(ir::NodeHeader* node) {
        Tensor t;
        t.node_ = node;
        return t;
    }
    /// For the engine: the node, or null.
    ir::NodeHeader* node() const { return node_; }

   private:
    friend class Operand;
    static std::int64_t length(const auto& list) { return static_cast<std::int64_t>(list.size()); }
    static Tensor from_scalar(const Scalar& value);
    static Tensor from_memory(const void* data, std::size_t count, DType dtype, Shape shape);
    [[noreturn]] static void ragged(std::int64_t expected, std::int64_t actual);

    template <class T>
    static Tensor from_list(std::span<const T> values, Shape shape) {
        if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>>) {
            using Narrow =
                std::conditional_t<std::is_same_v<T, double>, float, std::complex<float>>;
            std::vector<Narrow> narrow;
            for (const T& v : values) narrow.push_back(static_cast<Narrow>(v));
            return from_memory(narrow.data(), narrow.size(), dtype_of<Narrow>(), std::move(shape));
        } else {
            return from_memory(values.data(), values.size(), dtype_of<T>(), std::move(shape));
        }
    }
    // bool is collected in bytes: std::vector<bool> has no array inside.
    template <class T>
    using Stored = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;
    template <class T>
    static void flatten(const std::initializer_list<T>& list, int level, Shape& shape,
                        std::vector<Stored<T>>& out) {
        note_size(shape, level, length(list));
        out.insert(out.end(), list.begin(), list.end());
    }
    template <class T, class Leaf>
    static void flatten(const std::initializer_list<std::initializer_list<T>>& list, int level,
                        Shape& shape, std::vector<Leaf>& out) {
        note_size(shape, level, length(list));
        for (const auto& row : list) flatten(row, level + 1, shape, out);
    }
    static void note_size(Shape& shape, int level, std::int64_t size) {
        if (shape.rank() <= level) shape.push_back(size);
        if (shape[level] != size) ragged(shape[level], size);
    }
    template <class T, class List>
    static Tensor from_nested(const List& list) {
        Shape shape;
        std::vector<Stored<T>> values;
        flatten(list, 0, shape, values);
        const auto* data = reinterpret_cast<const T*>(values.data());
        return from_list<T>({data, values.size()}, shape);
    }

    void wait_for(std::string_view reason) const;
    void read_item(DType dtype, void* out) const;
    const void* read_data(DType dtype) const;
    void read_dense(DType dtype, void* out) const;

    ir::NodeHeader* node_;
};

static_assert(sizeof(Tensor) == sizeof(void*), "a tensor is one pointer wide");

/// An argument of an operation: a tensor that is borrowed, a tensor that is handed over
/// (`std::move`), or a weak scalar. A tensor is handed over when the operation is recorded; where
/// that throws, the caller still has it.
class Operand {
   public:
    /// A tensor, borrowed.
    Operand(const Tensor& tensor) : node_(tensor.node_), source_(nullptr), is_scalar_(false) {}
    /// A tensor, handed over.
    Operand(Tensor&& tensor) noexcept : node_(tensor.node_), source_(&tensor), is_scalar_(false) {}
    /// A number; it takes the element type of the tensors beside it unless its kind is higher.
    template <class T>
        requires(std::integral<T> || std::floating_point<T> || Element<T>)
    Operand(T value) : scalar_(value), source_(nullptr), is_scalar_(true) {}
    /// A number.
    Operand(const Scalar& value) : scalar_(value), source_(nullptr), is_scalar_(true) {}

    /// Whether it is a number.
    bool is_scalar() const { return is_scalar_; }
    /// The number.
    const Scalar& scalar() const { return scalar_; }
    /// The node; null for an empty tensor.
    ir::NodeHeader* node() const { return node_; }
    /// A reference of one's own to the node.
    ir::NodeHeader* take() const {
        // A tensor that stands twice in one call is handed over once.
        if (source_ != nullptr && source_->node_ == node_) {
            source_->node_ = nullptr;
        } else {
            ir::retain(node_);
        }
        return node_;
    }

   private:
    union {
        ir::NodeHeader* node_;
        Scalar scalar_;
    };
    Tensor* source_;
    bool is_scalar_;
};

/// Evaluates several tensors together: what they share is computed once.
void eval(std::span<const Tensor> tensors);
/// Evaluates several tensors together.
template <std::derived_from<Tensor>... Ts>
void eval(const Tensor& first, const Ts&... rest) {
    const Tensor all[] = {first, rest...};
    eval(std::span<const Tensor>(all));
}
/// What evaluating several tensors together would do; computes nothing.
Explanation explain(std::span<const Tensor> tensors);
/// Prints it to standard output.
void print(const Tensor& tensor, const PrintOptions& options = {});
/// Writes it as `str` does; evaluates only where LAZULI_PRINT_EVAL=1.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

/// The program that computes the targets from materialised tensors.
Program capture(std::span<const Tensor> targets);
/// The program that computes one target.
Program capture(const Tensor& target);

/// A tensor over memory of the user's own: nothing is copied, and nothing is ever written to it.
/// `strides` are in bytes and may be negative or zero; none means dense row-major. `release` is
/// called when the last reference is gone.
Tensor lift(const void* data, DType dtype, Shape shape, Ints strides = {},
            std::function<void()> release = {});
/// A tensor over elements of the user's own.
template <Element T>
Tensor lift(std::span<const T> values, Shape shape) {
    return lift(values.data(), dtype_of<T>(), std::move(shape));
}

}  // namespace lazuli
