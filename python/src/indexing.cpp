// Indices of Python's: numbers, slices, None, ..., and lists of positions or truth values.

#include "indexing.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "convert.h"
#include "host_view.h"

namespace lazuli::python {

namespace {

Slice slice_of(PyObject* object) {
    const auto part = [](PyObject* bound) -> std::optional<std::int64_t> {
        if (bound == Py_None) return std::nullopt;
        if (is_dim(bound)) return dim_of(bound).raw();
        if (PyIndex_Check(bound) == 0) throw nb::type_error("slices are made of integers or None");
        const Py_ssize_t value = PyNumber_AsSsize_t(bound, nullptr);  // beyond the ends is cut
        if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
        return value;
    };
    const auto& slice = *reinterpret_cast<PySliceObject*>(object);
    return {part(slice.start), part(slice.stop), part(slice.step)};
}

/// An entry of an index, and the least and the largest of positions that Python gave as a list.
struct Entry {
    Index index;
    std::optional<std::pair<std::int64_t, std::int64_t>> range = {};
};

std::optional<std::pair<std::int64_t, std::int64_t>> range_of(const Tensor& positions) {
    if (!is_integer(positions.dtype()) || positions.numel() == 0) return std::nullopt;
    const HostView view = host_view(positions);
    std::pair<std::int64_t, std::int64_t> out{INT64_MAX, INT64_MIN};
    const auto size = size_of(positions.dtype());
    for (std::int64_t i = 0; i < positions.numel(); ++i) {
        const auto* at =
            static_cast<const unsigned char*>(view.data) + size * static_cast<std::size_t>(i);
        const std::int64_t value = load_scalar(positions.dtype(), at).to_int();
        out = {std::min(out.first, value), std::max(out.second, value)};
    }
    return out;
}

/// Positions that are known at the call are checked at the call, as numpy does; those of tensors
/// are when they are computed.
void check_ranges(const Tensor& x, std::span<const Entry> index) {
    const auto dimensions = [](const Entry& entry) {
        const auto& what = entry.index.what();
        if (const auto* tensor = std::get_if<Tensor>(&what))
            return tensor->dtype() == DType::boolean ? tensor->rank() : 1;
        return std::holds_alternative<Ellipsis>(what) || std::holds_alternative<NewAxis>(what) ? 0
                                                                                               : 1;
    };
    int used = 0;
    for (const Entry& entry : index) used += dimensions(entry);
    if (used > x.rank()) return;  // which `at` says
    int axis = 0;
    for (const Entry& entry : index) {
        if (std::holds_alternative<Ellipsis>(entry.index.what())) axis += x.rank() - used;
        if (entry.range && x.shape().dim(axis).is_concrete()) {
            const std::int64_t size = x.shape()[axis];
            const std::int64_t bad =
                entry.range->first < -size ? entry.range->first : entry.range->second;
            if (bad < -size || bad >= size)
                throw IndexError(fmt::format("index {} is out of bounds for axis {} of {}", bad,
                                             axis, x.spec().str()));
        }
        axis += dimensions(entry);
    }
}

Entry index_of(PyObject* object) {
    if (PyLong_Check(object) && !PyBool_Check(object))
        return {to_integer({"index", "position"}, object)};
    if (is_dim(object)) return {dim_of(object).raw()};
    if (PySlice_Check(object)) return {slice_of(object)};
    if (object == Py_None) return {newaxis};
    if (object == Py_Ellipsis) return {ellipsis};
    if (is_tensor(object)) return {tensor_of(object)};
    if (PyIndex_Check(object) != 0 && !PyObject_CheckBuffer(object) && !PyBool_Check(object))
        return {to_integer({"index", "position"}, object)};
    if (PyUnicode_Check(object) || PyFloat_Check(object))
        throw IndexError(
            fmt::format("index: a {} is no position; integers, slices, None, ..., "
                        "tensors of integers and masks are",
                        Py_TYPE(object)->tp_name));
    if ((PyList_Check(object) || PyTuple_Check(object)) && PyObject_Size(object) == 0)
        return {zeros({0}, DType::i64)};
    const Tensor positions = to_tensor({"index", "positions"}, object);
    // numpy's integers are arrays of rank 0
    if (positions.rank() == 0 && is_integer(positions.dtype()))
        return {positions.item<std::int64_t>()};
    return {positions, range_of(positions)};
}

}  // namespace

PyObject* subscript(PyObject* self, PyObject* key) noexcept {
    return guarded([&]() -> PyObject* {
        const Tensor& x = tensor_of(self);
        if (!PyTuple_Check(key)) {
            const Entry one = index_of(key);
            check_ranges(x, {&one, 1});
            return wrap(at(x, {&one.index, 1}));
        }
        std::vector<Entry> entries;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
            entries.push_back(index_of(PyTuple_GET_ITEM(key, i)));
        check_ranges(x, entries);
        std::vector<Index> index;
        for (Entry& entry : entries) index.push_back(std::move(entry.index));
        return wrap(at(x, index));
    });
}

}  // namespace lazuli::python
