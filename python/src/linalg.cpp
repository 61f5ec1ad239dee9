// `lazuli.linalg` and `lazuli.fft`, under numpy's names.

#include <fmt/format.h>

#include <vector>

#include "convert.h"
#include "function.h"

namespace lazuli::python {

namespace {

using Objects = PyObject* const*;
using Invoke = PyObject* (*)(const Function&, Objects);

Asker asker(const Function& self, std::size_t i) { return {self.name, self.params[i].name}; }
Tensor tensor_at(const Function& self, Objects o, std::size_t i = 0) {
    return to_tensor(asker(self, i), o[i]);
}

/// A named tuple, as numpy's results of several tensors are.
struct Names {
    const char* type;
    const char* fields;
};
template <class... Parts>
PyObject* tuple_of(const Names& names, Parts&&... parts) {
    const nb::object make = nb::module_::import_("collections").attr("namedtuple");
    static auto& types = *new std::vector<std::pair<const char*, nb::object>>;
    for (const auto& [name, type] : types) {
        if (name == names.type)
            return type(nb::steal(wrap(std::forward<Parts>(parts)))...).release().ptr();
    }
    types.emplace_back(names.type, make(names.type, names.fields));
    return types.back().second(nb::steal(wrap(std::forward<Parts>(parts)))...).release().ptr();
}

constexpr Names kQr{"QRResult", "Q R"};
constexpr Names kSvd{"SVDResult", "U S Vh"};
constexpr Names kEigh{"EighResult", "eigenvalues eigenvectors"};

template <Tensor (*F)(const Tensor&)>
PyObject* one(const Function& self, Objects o) {
    return wrap(F(tensor_at(self, o)));
}

PyObject* qr(const Function& self, Objects o) {
    const std::string mode = to_text(asker(self, 1), o[1]);
    linalg::Qr out = linalg::qr(tensor_at(self, o));
    if (mode == "r") return wrap(std::move(out.r));
    if (mode != "reduced")
        throw ArgumentError(fmt::format("qr: there is no mode '{}' (there are: reduced, r)", mode));
    return tuple_of(kQr, std::move(out.q), std::move(out.r));
}

PyObject* svd(const Function& self, Objects o) {
    const Tensor x = tensor_at(self, o);
    if (!to_bool(asker(self, 2), o[2])) return wrap(linalg::svdvals(x));
    if (to_bool(asker(self, 1), o[1])) {
        const int rank = x.rank();
        if (rank >= 2 && x.shape()[rank - 1] != x.shape()[rank - 2])
            throw ArgumentError(
                fmt::format("svd: full_matrices=True is not there for {}; give full_matrices=False",
                            x.shape().str()));
    }
    linalg::Svd out = linalg::svd(x);
    return tuple_of(kSvd, std::move(out.u), std::move(out.s), std::move(out.vh));
}

PyObject* eigh(const Function& self, Objects o) {
    const Tensor x = tensor_at(self, o);
    linalg::Eigh out = linalg::eigh(x);
    return tuple_of(kEigh, std::move(out.values), std::move(out.vectors));
}

PyObject* solve(const Function& self, Objects o) {
    return wrap(linalg::solve(tensor_at(self, o, 0), tensor_at(self, o, 1)));
}

PyObject* triangular_solve(const Function& self, Objects o) {
    return wrap(linalg::triangular_solve(tensor_at(self, o, 0), tensor_at(self, o, 1),
                                         {.lower = to_bool(asker(self, 2), o[2]),
                                          .transposed = to_bool(asker(self, 3), o[3]),
                                          .unit_diagonal = to_bool(asker(self, 4), o[4])}));
}

PyObject* lstsq(const Function& self, Objects o) {
    return wrap(linalg::lstsq(tensor_at(self, o, 0), tensor_at(self, o, 1),
                              o[2] == Py_None ? -1.0 : to_real(asker(self, 2), o[2])));
}

// ---- transforms

fft::Norm norm_of(const Function& self, Objects o, std::size_t i) {
    if (o[i] == Py_None) return fft::Norm::backward;
    const std::string text = to_text(asker(self, i), o[i]);
    if (text == "backward") return fft::Norm::backward;
    if (text == "ortho") return fft::Norm::ortho;
    if (text == "forward") return fft::Norm::forward;
    throw ArgumentError(fmt::format(
        "{}: there is no norm '{}' (there are: backward, ortho, forward)", self.name, text));
}

std::int64_t length_of(const Function& self, Objects o, std::size_t i) {
    if (o[i] == Py_None) return -1;
    const std::int64_t n = to_integer(asker(self, i), o[i]);
    if (n < 1) throw ArgumentError(fmt::format("{}: n is {}; at least 1 is needed", self.name, n));
    return n;
}

template <Tensor (*F)(const Tensor&, fft::Options)>
PyObject* along_one(const Function& self, Objects o) {
    return wrap(F(tensor_at(self, o), {.n = length_of(self, o, 1),
                                       .axis = to_integer(asker(self, 2), o[2]),
                                       .norm = norm_of(self, o, 3)}));
}

/// None as axes: all of them, or the last two.
template <Tensor (*F)(const Tensor&, const fft::OptionsN&), bool Two = false>
PyObject* along_several(const Function& self, Objects o) {
    Axes axes = to_axes(asker(self, 2), o[2]);
    if (Two && !axes.given) axes = Axes{-2, -1};
    return wrap(
        F(tensor_at(self, o), {.sizes = o[1] == Py_None ? Ints() : to_ints(asker(self, 1), o[1]),
                               .axes = axes,
                               .norm = norm_of(self, o, 3)}));
}

PyObject* fftfreq(const Function& self, Objects o) {
    const std::int64_t n = to_integer(asker(self, 0), o[0]);
    const double spacing = to_real(asker(self, 1), o[1]);
    if (n < 1) throw ArgumentError(fmt::format("fftfreq: n is {}; at least 1 is needed", n));
    const Tensor counted = (arange(n) - n / 2).roll(-(n / 2), 0).cast(f32);
    return wrap(counted / (static_cast<double>(n) * spacing));
}

PyObject* rfftfreq(const Function& self, Objects o) {
    const std::int64_t n = to_integer(asker(self, 0), o[0]);
    const double spacing = to_real(asker(self, 1), o[1]);
    if (n < 1) throw ArgumentError(fmt::format("rfftfreq: n is {}; at least 1 is needed", n));
    return wrap(arange(n / 2 + 1).cast(f32) / (static_cast<double>(n) * spacing));
}

template <bool Back>
PyObject* shift(const Function& self, Objects o) {
    Tensor x = tensor_at(self, o);
    for (const std::int64_t axis :
         ensure_axes(self.name, to_axes(asker(self, 1), o[1]), x.shape())) {
        const std::int64_t n = x.shape()[static_cast<int>(axis)];
        x = x.roll(Back ? n - n / 2 : n / 2, axis);
    }
    return wrap(std::move(x));
}

}  // namespace

void bind_linalg(nb::module_& m) {
    nb::module_ linear = m.def_submodule(
        "linalg", "Linear algebra on the last two axes; all before them is a batch.");
    const auto add = [](nb::module_& to, const char* signature, const char* doc, Invoke invoke,
                        Place place = Place::module) {
        define(to, place, signature, doc, invoke).records = true;
    };
    // Ops of several results have no function and method that their record makes.
    const auto both = Place::both;
    add(linear, "cholesky(a)",
        "The lower triangular L of positive diagonal for which L times its adjoint is the matrix.",
        one<linalg::cholesky>);
    add(linear, "qr(a, mode='reduced')",
        "Q and R, whose product is the matrix; the diagonal of R is real and not below 0.", qr,
        both);
    add(linear, "svd(a, full_matrices=False, compute_uv=True)",
        "U, S and Vh: the matrix is U times the diagonal matrix of S times Vh.", svd, both);
    add(linear, "svdvals(x)", "Singular values, that do not grow.", one<linalg::svdvals>);
    add(linear, "eigh(a)",
        "Eigenvalues, that do not fall, and eigenvectors of a Hermitian matrix, of which the lower "
        "triangle is read.",
        eigh, both);
    add(linear, "eigvalsh(a)", "Eigenvalues of a Hermitian matrix, that do not fall.",
        one<linalg::eigvalsh>);
    add(linear, "solve(a, b)",
        "What the matrix must be multiplied by to give b: a vector where b has one axis.", solve);
    add(linear, "triangular_solve(a, b, lower=True, transposed=False, unit_diagonal=False)",
        "The same for a triangular matrix.", triangular_solve);
    add(linear, "inv(a)", "The inverse.", one<linalg::inv>);
    add(linear, "det(a)", "The determinant.", one<linalg::det>);
    add(linear, "lstsq(a, b, rcond=None)",
        "The shortest x for which a times x comes closest to b; x alone, unlike numpy's.", lstsq);

    for (const char* name : {"qr", "svd", "eigh"}) m.attr(name) = linear.attr(name);

    nb::module_ transforms = m.def_submodule("fft", "Fourier transforms.");
    add(transforms, "fft(a, n=None, axis=-1, norm=None)", "The Fourier transform along an axis.",
        along_one<fft::fft>);
    add(transforms, "ifft(a, n=None, axis=-1, norm=None)", "The inverse of `fft`.",
        along_one<fft::ifft>);
    add(transforms, "rfft(a, n=None, axis=-1, norm=None)",
        "The first n / 2 + 1 frequencies of reals along an axis.", along_one<fft::rfft>);
    add(transforms, "irfft(a, n=None, axis=-1, norm=None)", "The inverse of `rfft`.",
        along_one<fft::irfft>);
    add(transforms, "fftn(a, s=None, axes=None, norm=None)", "`fft` along several axes.",
        along_several<fft::fftn>);
    add(transforms, "ifftn(a, s=None, axes=None, norm=None)", "The inverse of `fftn`.",
        along_several<fft::ifftn>);
    add(transforms, "rfftn(a, s=None, axes=None, norm=None)",
        "`rfft` along the last of several axes, `fft` along the others.",
        along_several<fft::rfftn>);
    add(transforms, "irfftn(a, s=None, axes=None, norm=None)", "The inverse of `rfftn`.",
        along_several<fft::irfftn>);
    add(transforms, "fft2(a, s=None, axes=None, norm=None)",
        "`fftn` along two axes, the last ones where none are given.",
        along_several<fft::fftn, true>);
    add(transforms, "ifft2(a, s=None, axes=None, norm=None)", "The inverse of `fft2`.",
        along_several<fft::ifftn, true>);
    add(transforms, "rfft2(a, s=None, axes=None, norm=None)", "`rfftn` along two axes.",
        along_several<fft::rfftn, true>);
    add(transforms, "irfft2(a, s=None, axes=None, norm=None)", "The inverse of `rfft2`.",
        along_several<fft::irfftn, true>);
    add(transforms, "fftfreq(n, d=1.0)", "The frequencies of `fft`, in turns a unit.", fftfreq);
    add(transforms, "rfftfreq(n, d=1.0)", "The frequencies of `rfft`, in turns a unit.", rfftfreq);
    add(transforms, "fftshift(x, axes=None)", "Frequency 0 moved to the middle.", shift<false>);
    add(transforms, "ifftshift(x, axes=None)", "The inverse of `fftshift`.", shift<true>);
}

}  // namespace lazuli::python
