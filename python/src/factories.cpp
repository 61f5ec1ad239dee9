// Tensors made of nothing: see lazuli/factories.h.

#include <fmt/format.h>

#include "convert.h"
#include "function.h"

namespace lazuli::python {

namespace {

using Objects = PyObject* const*;

Asker asker(const Function& self, int i) {
    return {self.name, self.params[static_cast<std::size_t>(i)].name};
}

/// The arguments `dtype` and `device`, which are the last two.
Make make_of(const Function& self, Objects o) {
    const auto count = static_cast<int>(self.params.size());
    Make out;
    if (o[count - 2] != Py_None) out.dtype = to_dtype(asker(self, count - 2), o[count - 2]);
    if (o[count - 1] != Py_None) out.device = to_device(o[count - 1]);
    return out;
}

template <Tensor (*F)(Shape, Make)>
PyObject* shaped(const Function& self, Objects o) {
    return wrap(F(to_ints(asker(self, 0), o[0]), make_of(self, o)));
}

template <Tensor (*F)(const Tensor&)>
PyObject* alike(const Function& self, Objects o) {
    Tensor out = F(to_tensor(asker(self, 0), o[0]));
    if (o[1] == Py_None) return wrap(std::move(out));
    return wrap(out.cast(to_dtype(asker(self, 1), o[1])));
}

PyObject* full_of(const Function& self, Objects o) {
    return wrap(
        full(to_ints(asker(self, 0), o[0]), to_number(asker(self, 1), o[1]), make_of(self, o)));
}

PyObject* full_alike(const Function& self, Objects o) {
    const Tensor like = to_tensor(asker(self, 0), o[0]);
    const Scalar value = to_number(asker(self, 1), o[1]);
    if (o[2] == Py_None) return wrap(full_like(like, value));
    return wrap(full(like.shape(), value, Make(to_dtype(asker(self, 2), o[2]), like.device())));
}

Dim to_dim(const Asker& asker, PyObject* object) {
    const auto size = PyFloat_Check(object) ? std::nullopt : find_dim(object);
    if (!size) refuse(asker, "an integer or a Dim", object);
    return *size;
}

/// The numbers from an integer on to a size that varies.
Tensor arange_to(const Function& self, Dim start, Dim stop, std::int64_t step, const Make& make) {
    if (step < 1)
        throw ArgumentError(fmt::format("{}: steps of {} to the size {} are not above 0", self.name,
                                        step, stop.str()));
    const Dim span = stop - start;
    const Dim count = at_least(span, 0) == Truth::yes ? span : max(span, 0);
    const Shape shape{(count + step - 1) / step};
    Tensor out = iota(shape, 0, DType::i64);
    if (make.device) out = out.to(*make.device);
    if (step != 1) out = out * step;
    if (!(start == Dim(0))) out = out + start.value();
    return make.dtype.value_or(DType::i64) == DType::i64 ? out : out.cast(*make.dtype);
}

PyObject* arange_of(const Function& self, Objects o) {
    const bool one = o[1] == Py_None;
    if (is_dim(o[one ? 0 : 1])) {
        return wrap(arange_to(self, one ? Dim(0) : to_dim(asker(self, 0), o[0]),
                              to_dim(asker(self, one ? 0 : 1), o[one ? 0 : 1]),
                              to_integer(asker(self, 2), o[2]), make_of(self, o)));
    }
    const Scalar first = to_number(asker(self, 0), o[0]);
    if (one)
        return wrap(arange(Scalar(0), first, to_number(asker(self, 2), o[2]), make_of(self, o)));
    return wrap(arange(first, to_number(asker(self, 1), o[1]), to_number(asker(self, 2), o[2]),
                       make_of(self, o)));
}

template <Tensor (*F)(Dim, Dim, std::int64_t, Make)>
PyObject* square_of(const Function& self, Objects o) {
    const Dim columns = o[1] == Py_None ? Dim(-1) : to_dim(asker(self, 1), o[1]);
    return wrap(F(to_dim(asker(self, 0), o[0]), columns, to_integer(asker(self, 2), o[2]),
                  make_of(self, o)));
}

PyObject* linspace_of(const Function& self, Objects o) {
    return wrap(linspace(to_real(asker(self, 0), o[0]), to_real(asker(self, 1), o[1]),
                         to_integer(asker(self, 2), o[2]), make_of(self, o)));
}

PyObject* logspace_of(const Function& self, Objects o) {
    return wrap(logspace(to_real(asker(self, 0), o[0]), to_real(asker(self, 1), o[1]),
                         to_integer(asker(self, 2), o[2]), to_real(asker(self, 3), o[3]),
                         make_of(self, o)));
}

PyObject* scalar_of(const Function& self, Objects o) {
    return wrap(scalar(to_number(asker(self, 0), o[0]), make_of(self, o)));
}

PyObject* key_of(const Function& self, Objects o) {
    return wrap(key(static_cast<std::uint64_t>(to_number(asker(self, 0), o[0]).to_int())));
}

PyObject* seed(const Function& self, Objects o) {
    manual_seed(static_cast<std::uint64_t>(to_number(asker(self, 0), o[0]).to_int()));
    Py_RETURN_NONE;
}

template <Tensor (*F)(Shape, Make), Tensor (*Keyed)(const Tensor&, Shape, Make)>
PyObject* random(const Function& self, Objects o) {
    const Ints shape = to_ints(asker(self, 0), o[0]);
    if (o[1] == Py_None) return wrap(F(shape, make_of(self, o)));
    return wrap(Keyed(to_tensor(asker(self, 1), o[1]), shape, make_of(self, o)));
}

PyObject* randint_of(const Function& self, Objects o) {
    const std::int64_t low = to_integer(asker(self, 0), o[0]);
    const std::int64_t high = to_integer(asker(self, 1), o[1]);
    const Ints shape = to_ints(asker(self, 2), o[2]);
    if (o[3] == Py_None) return wrap(randint(low, high, shape, make_of(self, o)));
    return wrap(randint(to_tensor(asker(self, 3), o[3]), low, high, shape, make_of(self, o)));
}

}  // namespace

void bind_factories(nb::module_& m) {
    const auto def = [&](const char* signature, const char* doc,
                         PyObject* (*invoke)(const Function&, Objects)) {
        define(m, Place::module, signature, doc, invoke).records = true;
    };
    def("zeros(shape, dtype=None, device=None)", "All elements 0; float32.", shaped<zeros>);
    def("ones(shape, dtype=None, device=None)", "All elements 1; float32.", shaped<ones>);
    def("empty(shape, dtype=None, device=None)", "Elements of any value; float32.", shaped<empty>);
    def("full(shape, fill_value, dtype=None, device=None)", "All elements have one value.",
        full_of);
    def("zeros_like(x, dtype=None)", "Zeros with the shape and type of another tensor.",
        alike<zeros_like>);
    def("ones_like(x, dtype=None)", "Ones with the shape and type of another tensor.",
        alike<ones_like>);
    def("empty_like(x, dtype=None)", "As `empty`, with the shape and type of another tensor.",
        alike<empty_like>);
    def("full_like(x, fill_value, dtype=None)",
        "One value everywhere, with the shape and type of another tensor.", full_alike);
    def("eye(N, M=None, k=0, dtype=None, device=None)",
        "Ones on the k-th diagonal, zeros elsewhere; float32.", square_of<eye>);
    def("tri(N, M=None, k=0, dtype=None, device=None)",
        "Ones up to the k-th diagonal, zeros above; float32.", square_of<tri>);
    def("arange(start, stop=None, step=1, dtype=None, device=None)",
        "start, start + step, ... below stop, or 0, 1, ... below the only number given; int64 "
        "where "
        "all are integers, else float32.",
        arange_of);
    def("linspace(start, stop, num=50, dtype=None, device=None)",
        "Evenly spaced numbers from start to stop, both included; float32.", linspace_of);
    def("logspace(start, stop, num=50, base=10.0, dtype=None, device=None)",
        "base to the power of evenly spaced numbers; float32.", logspace_of);
    def("scalar(value, dtype=None, device=None)",
        "A number that programs get as a parameter: changing it never plans anew.", scalar_of);
    def("key(seed)", "A key for random tensors: equal seeds give equal numbers.", key_of);
    def("manual_seed(seed)", "Sets the seed of the random tensors made without a key.", seed);
    def("rand(shape, *, key=None, dtype=None, device=None)", "Uniform in [0, 1); float32.",
        random<rand, rand>);
    def("randn(shape, *, key=None, dtype=None, device=None)",
        "Normal with mean 0 and deviation 1; float32.", random<randn, randn>);
    def("randint(low, high, shape, *, key=None, dtype=None, device=None)",
        "Integers from low to below high; int64.", randint_of);
}

}  // namespace lazuli::python
