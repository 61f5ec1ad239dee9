// Functions whose arguments numpy orders or reads otherwise than C++ does: each is spelled in ops.

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "convert.h"
#include "function.h"

namespace lazuli::python {

namespace {

using Objects = PyObject* const*;

Tensor first(const Function& self, Objects o) { return to_tensor({self.name, "x"}, o[0]); }

Asker asker(const Function& self, std::size_t i) { return {self.name, self.params[i].name}; }

/// All elements as one axis.
Tensor flat(const Tensor& x) { return x.reshape(Shape{x.shape().count()}); }

std::vector<Tensor> several(const Function& self, PyObject* object) {
    const nb::object list = to_list({self.name, "arrays"}, object);
    std::vector<Tensor> out;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.ptr()); ++i) {
        PyObject* item = PySequence_Fast_GET_ITEM(list.ptr(), i);
        out.push_back(is_tensor(item) ? tensor_of(item)
                                      : to_tensor({self.name, fmt::format("arrays[{}]", i)}, item));
    }
    if (out.empty()) throw ArgumentError(fmt::format("{}: no tensors given", self.name));
    return out;
}

PyObject* list_of(std::vector<Tensor> tensors) {
    nb::list out;
    for (Tensor& tensor : tensors) out.append(nb::steal(wrap(std::move(tensor))));
    return out.release().ptr();
}

PyObject* transpose(const Function& self, Objects o) {
    const Tensor x = first(self, o);
    const Axes axes = to_axes(asker(self, 1), o[1]);
    return wrap(axes.given ? x.permute(axes) : x.transpose());
}

PyObject* swapaxes(const Function& self, Objects o) {
    return wrap(first(self, o).transpose(to_integer(asker(self, 1), o[1]),
                                         to_integer(asker(self, 2), o[2])));
}

PyObject* moveaxis(const Function& self, Objects o) {
    const Tensor x = first(self, o);
    const Ints from = ensure_axes(self.name, Axes(to_ints(asker(self, 1), o[1])), x.shape());
    const Ints to = ensure_axes(self.name, Axes(to_ints(asker(self, 2), o[2])), x.shape());
    if (from.rank() != to.rank())
        throw ArgumentError(fmt::format("moveaxis: {} axes {} move to {} places {}", from.rank(),
                                        from.str(), to.rank(), to.str()));
    Ints order = Shape::filled(x.rank(), -1);
    for (int i = 0; i < from.rank(); ++i) order[static_cast<int>(to[i])] = from[i];
    int next = 0;
    for (std::int64_t& axis : order) {
        if (axis >= 0) continue;
        while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
        axis = next++;
    }
    return wrap(x.permute(Axes(order)));
}

PyObject* expand_dims(const Function& self, Objects o) {
    const Tensor x = first(self, o);
    const Ints axes = to_ints(asker(self, 1), o[1]);
    // Axes are those of the result.
    const Ints at = ensure_axes(self.name, Axes(axes), Shape::filled(x.rank() + axes.rank(), 1));
    Shape shape;
    int next = 0;
    for (int i = 0; i < x.rank() + at.rank(); ++i) {
        const bool is_new = std::find(at.begin(), at.end(), i) != at.end();
        shape.push_back(is_new ? Dim(1) : x.shape().dim(next++));
    }
    return wrap(x.reshape(shape));
}

PyObject* squeeze(const Function& self, Objects o) {
    return wrap(first(self, o).squeeze(to_axes(asker(self, 1), o[1])));
}

PyObject* ravel(const Function& self, Objects o) {
    const Tensor x = first(self, o);
    return wrap(flat(x));
}

PyObject* concatenate(const Function& self, Objects o) {
    std::vector<Tensor> tensors = several(self, o[0]);
    if (o[1] != Py_None) return wrap(concat(tensors, to_integer(asker(self, 1), o[1])));
    for (Tensor& x : tensors) x = flat(x);
    return wrap(concat(tensors, 0));
}

PyObject* stack(const Function& self, Objects o) {
    std::vector<Tensor> tensors = several(self, o[0]);
    const std::int64_t axis = to_integer(asker(self, 1), o[1]);
    return wrap(lazuli::stack(tensors, axis));
}

PyObject* einsum(const Function& self, Objects o) {
    const std::string subscripts = to_text(asker(self, 0), o[0]);
    // Operands one by one are a tuple here; where one is asked for, a tuple is its elements.
    const bool one = subscripts.find(',') == std::string::npos;
    const std::vector<Tensor> tensors = PyTuple_Check(o[1]) != 0 && !one
                                            ? several(self, o[1])
                                            : std::vector{to_tensor(asker(self, 1), o[1])};
    return wrap(lazuli::einsum(subscripts, tensors));
}

PyObject* split(const Function& self, Objects o) {
    const Tensor x = first(self, o);
    const int axis =
        static_cast<int>(ensure_axis(self.name, to_integer(asker(self, 2), o[2]), x.shape()));
    const Dim size = x.shape().dim(axis);
    std::vector<Dim> bounds{0};
    if (PyIndex_Check(o[1]) != 0) {
        const std::int64_t parts = to_integer(asker(self, 1), o[1]);
        if (parts < 1 || equal(size % parts, 0) != Truth::yes)
            throw ArgumentError(fmt::format("split: axis {} of {} is not {} equal parts", axis,
                                            x.shape().str(), parts));
        for (std::int64_t i = 1; i <= parts; ++i) bounds.push_back(Dim(i) * (size / parts));
    } else {
        const Ints at = to_ints(asker(self, 1), o[1]);
        for (int i = 0; i < at.rank(); ++i) {
            const Dim from_front = less(at.dim(i), 0) == Truth::yes ? at.dim(i) + size : at.dim(i);
            bounds.push_back(max(Dim(0), min(from_front, size)));
        }
        bounds.push_back(size);
    }
    std::vector<Tensor> parts;
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
        std::vector<Index> index(static_cast<std::size_t>(axis), Index(Slice{}));
        index.emplace_back(Slice{bounds[i].raw(), bounds[i + 1].raw(), {}});
        parts.push_back(at(x, index));
    }
    return list_of(std::move(parts));
}

/// Widths before and behind each axis.
struct Widths {
    Ints before, after;
    explicit Widths(int rank) : before(Shape::filled(rank, 0)), after(before) {}

    /// One number or two for the axes from .. to.
    void set(int from, int to, const Ints& pair) {
        if (pair.rank() < 1 || pair.rank() > 2)
            throw ArgumentError(
                fmt::format("pad: {} are not the widths before and behind an axis", pair.str()));
        for (int i = from; i < to; ++i) {
            before[i] = pair[0];
            after[i] = pair[pair.rank() - 1];
        }
    }
};

/// Whether widths are given axis by axis.
bool is_nested(PyObject* widths) {
    if (PyUnicode_Check(widths) || PySequence_Check(widths) == 0) return false;
    const Py_ssize_t size = PySequence_Size(widths);
    if (size < 0) PyErr_Clear();  // an array of one number has no length
    if (size < 1) return false;
    const nb::object item = nb::steal(PySequence_GetItem(widths, 0));
    if (!item.is_valid()) throw nb::python_error();
    return PyIndex_Check(item.ptr()) == 0 || is_tensor(item.ptr());
}

Widths widths_of(const Asker& asker, PyObject* object, const Shape& shape) {
    Widths out(shape.rank());
    if (!is_nested(object)) {
        out.set(0, shape.rank(), to_ints(asker, object));
        return out;
    }
    const Py_ssize_t pairs = PySequence_Size(object);
    if (pairs != 1 && pairs != shape.rank())
        throw ShapeError(fmt::format("pad: {} pairs of widths for {}", pairs, shape.str()),
                         fmt::format("{} pairs", shape.rank()), fmt::format("{} pairs", pairs));
    for (Py_ssize_t i = 0; i < pairs; ++i) {
        const nb::object item = nb::steal(PySequence_GetItem(object, i));
        if (!item.is_valid()) throw nb::python_error();
        const int axis = static_cast<int>(i);
        out.set(axis, pairs == 1 ? shape.rank() : axis + 1, to_ints(asker, item.ptr()));
    }
    return out;
}

PyObject* pad(const Function& self, Objects o) {
    const Tensor x = first(self, o);
    const std::string mode = to_text(asker(self, 2), o[2]);
    if (mode != "constant")
        throw ArgumentError(fmt::format("pad: there is no mode '{}' (there are: constant)", mode));
    const Scalar value = to_number(asker(self, 3), o[3]);
    const Widths widths = widths_of(asker(self, 1), o[1], x.shape());
    for (int i = 0; i < x.rank(); ++i) {
        if (widths.before[i] < 0 || widths.after[i] < 0)
            throw ArgumentError(
                fmt::format("pad: widths ({}, {}) of axis {} of {} must be at "
                            "least 0",
                            widths.before[i], widths.after[i], i, x.shape().str()));
    }
    return wrap(x.pad(widths.before, widths.after, value));
}

PyObject* roll(const Function& self, Objects o) {
    Tensor x = first(self, o);
    const Ints shifts = to_ints(asker(self, 1), o[1]);
    if (o[2] == Py_None) {
        const Shape shape = x.shape();
        x = flat(x);
        for (const std::int64_t shift : shifts) x = x.roll(shift, 0);
        return wrap(x.reshape(shape));
    }
    const Ints axes = to_ints(asker(self, 2), o[2]);
    if (shifts.rank() != axes.rank() && shifts.rank() != 1 && axes.rank() != 1)
        throw ArgumentError(fmt::format("roll: {} shifts for {} axes of {}", shifts.rank(),
                                        axes.rank(), x.shape().str()));
    for (int i = 0; i < std::max(shifts.rank(), axes.rank()); ++i)
        x = x.roll(shifts[shifts.rank() == 1 ? 0 : i], axes[axes.rank() == 1 ? 0 : i]);
    return wrap(std::move(x));
}

PyObject* repeat(const Function& self, Objects o) {
    const Tensor x = first(self, o);
    const std::int64_t count = to_integer(asker(self, 1), o[1]);
    if (o[2] == Py_None && count < 0)
        throw ArgumentError(
            fmt::format("repeat: the count {} must be at least 0 (all elements of "
                        "{})",
                        count, x.shape().str()));
    if (o[2] == Py_None) return wrap(flat(x).repeat(count, 0));
    return wrap(x.repeat(count, to_integer(asker(self, 2), o[2])));
}

PyObject* take(const Function& self, Objects o) {
    const Tensor x = first(self, o);
    const Tensor indices = to_tensor(asker(self, 1), o[1]);
    if (o[2] == Py_None) return wrap(flat(x).gather(indices, 0));
    return wrap(x.gather(indices, to_integer(asker(self, 2), o[2])));
}

PyObject* tile(const Function& self, Objects o) {
    Tensor x = first(self, o);
    Ints reps = to_ints(asker(self, 1), o[1]);
    // The shorter of the two is filled up with ones at the front.
    const auto fill = [](const Shape& s, int rank) {
        Shape out = Shape::filled(rank - s.rank(), 1);
        for (int i = 0; i < s.rank(); ++i) out.push_back(s.dim(i));
        return out;
    };
    const int rank = std::max(x.rank(), reps.rank());
    if (x.rank() < rank) x = x.reshape(fill(x.shape(), rank));
    return wrap(x.tile(fill(reps, rank)));
}

PyObject* time_mix(const Function& self, Objects o) {
    Tensor t[5];
    for (std::size_t i = 0; i < 5; ++i) t[i] = to_tensor(asker(self, i), o[i]);
    TimeMix made = time_mix_v7(t[0], t[1], t[2], t[3], t[4]);
    return nb::make_tuple(nb::steal(wrap(std::move(made.output))),
                          nb::steal(wrap(std::move(made.state))))
        .release()
        .ptr();
}

PyObject* clip(const Function& self, Objects o) {
    Tensor x = first(self, o);
    ensure_dtype(self.name, x.spec(), kReal | DTypeSet{DType::boolean});
    if (o[1] != Py_None) x = maximum(x, OperandArgument(asker(self, 1), o[1]));
    if (o[2] != Py_None) x = minimum(x, OperandArgument(asker(self, 2), o[2]));
    return wrap(std::move(x));
}

/// numpy has two names for what is taken off the number of elements.
template <Tensor (*F)(const Operand&, const Axes&, bool, double)>
PyObject* spread(const Function& self, Objects o) {
    Tensor x = first(self, o);
    if (o[2] != Py_None) x = x.cast(to_dtype(asker(self, 2), o[2]));
    const std::size_t which = o[5] != Py_None ? 5 : 3;
    return wrap(F(x, to_axes(asker(self, 1), o[1]), to_bool(asker(self, 4), o[4]),
                  to_real(asker(self, which), o[which])));
}

PyObject* positions(const Function& self, Objects o) {
    return wrap(iota(to_ints(asker(self, 0), o[0]), to_integer(asker(self, 1), o[1]),
                     o[2] == Py_None ? DType::i64 : to_dtype(asker(self, 2), o[2])));
}

}  // namespace

void bind_forms(nb::module_& m) {
    const auto both = Place::both;
    const auto form = [&](Place place, const char* signature, const char* doc,
                          PyObject* (*invoke)(const Function&, Objects)) -> Function& {
        Function& function = define(m, place, signature, doc, invoke);
        function.records = true;
        return function;
    };
    form(both, "transpose(x, axes=None)",
         "The dimensions in another order; reversed where none is given.", transpose)
        .packs = true;
    form(both, "swapaxes(x, axis1, axis2)", "Two axes exchanged.", swapaxes);
    form(both, "moveaxis(x, source, destination)",
         "Axes moved to other places; the others keep their order.", moveaxis);
    form(both, "expand_dims(x, axis)", "With new axes of size 1.", expand_dims);
    form(both, "squeeze(x, axis=None)",
         "Without the given axes, which must have size 1; without all that have where none are "
         "given.",
         squeeze);
    form(both, "ravel(x)", "All elements as one axis.", ravel);
    form(both, "flatten(x)", "All elements as one axis.", ravel);
    form(Place::module, "concatenate(arrays, axis=0)", "Tensors joined along an axis.",
         concatenate);
    form(Place::module, "concat(arrays, axis=0)", "Tensors joined along an axis.", concatenate);
    form(Place::module, "stack(arrays, axis=0)", "Tensors joined along a new axis.", stack);
    form(Place::module, "einsum(subscripts, operands)",
         "Sums of products by a letter for each axis: einsum('ij,jk->ik', a, b).", einsum)
        .packs = true;
    form(both, "split(x, indices_or_sections, axis=0)",
         "Parts along an axis: so many equal ones, or those between the given positions.", split);
    form(both, "pad(x, pad_width, mode='constant', constant_values=0)",
         "With a number put before and behind each axis.", pad);
    form(both, "roll(x, shift, axis=None)",
         "Elements along axes moved on; what leaves at one end comes back at the other.", roll);
    form(both, "repeat(x, repeats, axis=None)",
         "Each element along an axis several times in a row.", repeat);
    form(both, "take(x, indices, axis=None)",
         "Elements along an axis, picked by positions; negative ones count from the end.", take);
    form(both, "tile(x, reps)",
         "The whole tensor side by side, so many times along each dimension.", tile);
    form(both, "var(x, axis=None, dtype=None, *, ddof=0, keepdims=False, correction=None)",
         "Variance over axes; ddof, or correction, is taken off the number of elements.",
         spread<lazuli::var>);
    form(both, "std(x, axis=None, dtype=None, *, ddof=0, keepdims=False, correction=None)",
         "Standard deviation over axes; ddof, or correction, is taken off the number of "
         "elements.",
         spread<lazuli::std>);
    form(Place::module, "iota(shape, axis=0, dtype=None)",
         "The position along an axis: 0, 1, 2, ...; int64.", positions);
    form(Place::module, "time_mix_v7(r, w, kvakk, state, runs)",
         "The recurrence of RWKV-7 over runs of tokens: the output, and the new state.", time_mix);
    if (!find_op("clip"))
        form(both, "clip(x, min=None, max=None)",
             "Elements brought between two bounds; None is no bound.", clip);
}

}  // namespace lazuli::python
