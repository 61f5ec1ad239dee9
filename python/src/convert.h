#pragma once

// From Python's objects to arguments. Every function throws an error that names `op` where the
// object is not what is asked for.

#include <optional>
#include <span>
#include <string_view>

#include "common.h"

namespace lazuli::python {

/// Who asks, for messages.
struct Asker {
    std::string_view op;
    std::string_view param;
};

/// The number, where the object is one of Python's or numpy's.
std::optional<Scalar> find_number(PyObject* object);
Scalar to_number(const Asker& asker, PyObject* object);
bool to_bool(const Asker& asker, PyObject* object);
std::int64_t to_integer(const Asker& asker, PyObject* object);
double to_real(const Asker& asker, PyObject* object);
/// One integer or several; None is none. Sizes may be expressions: whoever reads one as a number
/// gets an error that names it.
Ints to_ints(const Asker& asker, PyObject* object);
/// None, one axis or several.
Axes to_axes(const Asker& asker, PyObject* object);
/// A type of ours, a name of ours or numpy's, a type of numpy's or one of Python's.
DType to_dtype(const Asker& asker, PyObject* object);
std::optional<DType> find_dtype(PyObject* object);
std::string to_text(const Asker& asker, PyObject* object);
/// Anything that can be called.
nb::object to_function(const Asker& asker, PyObject* object);
/// A list or tuple of what a sequence has.
nb::object to_list(const Asker& asker, PyObject* object);
/// An attribute of an operation on these operands, whose shapes say what axes there are.
Attribute to_attribute(const Asker& asker, const AttrDef& attr, PyObject* object,
                       std::span<const Tensor> inputs);
/// TypeError that says what is wanted and what was given.
[[noreturn]] void refuse(const Asker& asker, std::string_view wanted, PyObject* object);
Device to_device(PyObject* object);
/// Tensors, and lists of them.
void collect_tensors(std::string_view asker, PyObject* object, std::vector<Tensor>& out);

/// numpy's name of a type: `float32`.
std::string numpy_name(DType dtype);
/// The Python object of a type.
nb::object dtype_object(DType dtype);
/// The number as one of Python's.
PyObject* number_object(const Scalar& value);
/// The sizes as a tuple of integers, and of `Dim`s where they are expressions.
nb::tuple tuple_of(const Shape& shape);
/// The size, where the object is an integer or a `Dim`.
std::optional<Dim> find_dim(PyObject* object);
/// A size as an integer, or as a `Dim`.
nb::object dim_object(Dim size);
/// Values of variables: a dict by their names.
std::vector<SizeBinding> to_bindings(const Asker& asker, nb::handle values);

/// Whether an operator takes the object beside a tensor.
bool is_operand(PyObject* object);

/// How `array` takes what it is given.
struct ArrayOptions {
    std::optional<DType> dtype = {};
    bool copy = true;  // else the memory is lent, or an ArgumentError
};
/// A tensor of anything that has elements.
Tensor to_tensor(const Asker& asker, PyObject* object, const ArrayOptions& options = {});

/// An operand of an operation: a tensor, a number, or what can be made a tensor.
class OperandArgument {
   public:
    OperandArgument(const Asker& asker, PyObject* object)
        : operand_(is_tensor(object) ? Operand(tensor_of(object)) : convert(asker, object)) {}
    OperandArgument(const OperandArgument&) = delete;
    OperandArgument& operator=(const OperandArgument&) = delete;
    operator const Operand&() const { return operand_; }

   private:
    Operand convert(const Asker& asker, PyObject* object) {
        if (const auto number = find_number(object)) return Operand(*number);
        made_ = to_tensor(asker, object);
        return Operand(made_);
    }
    Tensor made_;  // before the operand that refers to it
    Operand operand_;
};

}  // namespace lazuli::python
