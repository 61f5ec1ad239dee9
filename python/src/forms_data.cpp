// Functions of sorting and scanning whose arguments or results numpy orders otherwise than C++
// does.

#include <vector>

#include "convert.h"
#include "function.h"

namespace lazuli::python {

namespace {

using Objects = PyObject* const*;

Tensor first(const Function& self, Objects o) { return to_tensor({self.name, "x"}, o[0]); }

Asker asker(const Function& self, std::size_t i) { return {self.name, self.params[i].name}; }

PyObject* tuple_of(std::vector<Tensor> tensors) {
    nb::object out = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
    if (!out.is_valid()) throw nb::python_error();
    for (std::size_t i = 0; i < tensors.size(); ++i)
        PyTuple_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i), wrap(std::move(tensors[i])));
    return out.release().ptr();
}

/// What evaluates lets other threads of Python run.
template <class F>
auto without_lock(F&& f) {
    const nb::gil_scoped_release released;
    return f();
}

/// No axis is all elements as one; a type is the one to compute in.
template <Tensor (*Scan)(const Operand&, Axis, bool)>
PyObject* scan(const Function& self, Objects o) {
    Tensor x = first(self, o);
    if (o[2] != Py_None) x = x.cast(to_dtype(asker(self, 2), o[2]));
    const bool reverse = to_bool(asker(self, 3), o[3]);
    Tensor out = o[1] == Py_None ? Scan(x.reshape({x.numel()}), 0, reverse)
                                 : Scan(x, to_integer(asker(self, 1), o[1]), reverse);
    if (o[2] != Py_None) out = out.cast(to_dtype(asker(self, 2), o[2]));
    return wrap(std::move(out));
}

PyObject* topk(const Function& self, Objects o) {
    TopK found = lazuli::topk(first(self, o), to_integer(asker(self, 1), o[1]),
                              to_integer(asker(self, 2), o[2]), to_bool(asker(self, 3), o[3]));
    return tuple_of({std::move(found.values), std::move(found.indices)});
}

PyObject* nonzero(const Function& self, Objects o) {
    const Tensor x = first(self, o);
    return tuple_of(without_lock([&] { return lazuli::nonzero(x); }));
}

PyObject* flatnonzero(const Function& self, Objects o) {
    const Tensor x = first(self, o);
    return wrap(without_lock([&] { return lazuli::nonzero(x.reshape({x.numel()}))[0]; }));
}

PyObject* argwhere(const Function& self, Objects o) {
    const Tensor x = first(self, o);
    return wrap(without_lock([&] {
        if (x.rank() > 0) return lazuli::stack(lazuli::nonzero(x), 1);
        // A number has no positions: a row of none where it is not 0.
        return lazuli::zeros({lazuli::nonzero(x.reshape({1}))[0].numel(), 0}, {i64, {}});
    }));
}

/// A shape with the sizes of two along all axes but one; where these do not go together, as it is.
Shape repeated_along_others(const Shape& shape, const Shape& other, int axis) {
    Shape out = shape;
    for (int d = 0; d < shape.rank(); ++d) {
        if (d != axis && shape[d] == 1) out[d] = other[d];
    }
    return out;
}

PyObject* take_along_axis(const Function& self, Objects o) {
    Tensor x = first(self, o);
    Tensor indices = to_tensor(asker(self, 1), o[1]);
    const std::int64_t axis = to_integer(asker(self, 2), o[2]);
    if (x.rank() == indices.rank()) {
        const auto at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
        const Shape shape = x.shape();
        x = x.broadcast_to(repeated_along_others(shape, indices.shape(), at));
        indices = indices.broadcast_to(repeated_along_others(indices.shape(), shape, at));
    }
    return wrap(lazuli::take_along_axis(x, indices, axis));
}

/// As numpy's, which has at least one dimension.
PyObject* ascontiguousarray(const Function& self, Objects o) {
    const Tensor x = first(self, o);
    return wrap(x.rank() == 0 ? x.reshape({1}) : x.contiguous());
}

PyObject* unique(const Function& self, Objects o) {
    const Tensor x = first(self, o);
    const bool inverse = to_bool(asker(self, 1), o[1]);
    const bool counts = to_bool(asker(self, 2), o[2]);
    Unique found = without_lock([&] { return lazuli::unique(x); });
    if (!inverse && !counts) return wrap(std::move(found.values));
    std::vector<Tensor> out{std::move(found.values)};
    if (inverse) out.push_back(std::move(found.inverse));
    if (counts) out.push_back(std::move(found.counts));
    return tuple_of(std::move(out));
}

}  // namespace

void bind_data_forms(nb::module_& m) {
    const auto both = Place::both;
    define(m, both, "cumsum(x, axis=None, dtype=None, reverse=False)",
           "Sums along an axis up to each position, or from each position on; of all elements as "
           "one axis where none is given.",
           scan<lazuli::cumsum>);
    define(m, both, "cumprod(x, axis=None, dtype=None, reverse=False)",
           "Products along an axis up to each position, or from each position on; of all elements "
           "as one axis where none is given.",
           scan<lazuli::cumprod>);
    define(m, both, "topk(x, k, axis=-1, largest=True)",
           "The largest elements along an axis, or the smallest, and their positions.", topk);
    define(m, both, "nonzero(x)",
           "Positions of the elements that are not 0, a tensor a dimension. Evaluates.", nonzero);
    define(m, both, "flatnonzero(x)",
           "Positions of the elements that are not 0, counted row-major. Evaluates.", flatnonzero);
    define(m, both, "argwhere(x)",
           "Positions of the elements that are not 0, a row each. Evaluates.", argwhere);
    define(
        m, both, "take_along_axis(x, indices, axis=-1)",
        "Elements along an axis, at positions for each; other axes are repeated as they must be.",
        take_along_axis);
    define(m, Place::module, "ascontiguousarray(x)",
           "The same elements row-major without gaps, with at least one dimension.",
           ascontiguousarray);
    define(m, both, "unique(x, return_inverse=False, return_counts=False)",
           "The different elements, ascending; with the position of each element's value, and how "
           "often each is there. Evaluates.",
           unique);
}

}  // namespace lazuli::python
