#include "call_arguments.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

namespace lazuli::python {

using Tensors = std::vector<Tensor>;

CallArguments::CallArguments(std::string_view op, nb::handle args)
    : op_(op), trees_(nb::len(args)) {
    for (nb::handle argument : args) given_.push_back(nb::borrow(argument));
}

void CallArguments::take_apart(std::size_t i, Tree::Others others) {
    if (trees_[i]) return;
    const std::string path = fmt::format("argument {}", i);
    try {
        trees_[i] = Tree::of(given_[i], tensors_, others, path);
    } catch (const nb::builtin_exception& e) {
        throw nb::type_error(fmt::format("{}: {}", op_, e.what()).c_str());
    }
    trees_[i]->paths(path, paths_);
}

void CallArguments::expect_floats() const {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
        const DType dtype = tensors_[i].dtype();
        if (is_floating(dtype) || is_complex(dtype)) continue;
        throw DTypeError(fmt::format("{}: {} is {}: only floats and complex numbers have gradients",
                                     op_, paths_[i], tensors_[i].spec().str()));
    }
}

nb::tuple CallArguments::built(std::span<const Tensor> tensors) const {
    nb::list out;
    for (std::size_t i = 0; i < size(); ++i)
        out.append(trees_[i] ? trees_[i]->build(tensors) : given_[i]);
    return nb::tuple(out);
}

Tensors take_results_apart(std::string_view op, const nb::object& returned, Tree& tree) {
    Tensors out;
    tree = Tree::of(returned, out, Tree::Others::kept, "result");
    if (out.empty())
        throw nb::type_error(fmt::format("{}: the function returned no tensor", op).c_str());
    return out;
}

void Alike::collect(const Tree& tree, nb::handle object, const std::string& name,
                    std::span<const Tensor> like) {
    tree.paths(name, paths_);
    if (object.is_none()) {
        tensors_.resize(paths_.size());
        return;
    }
    try {
        tree.collect(object, name, tensors_, Tree::Missing::empty, like);
    } catch (const ArgumentError& e) {
        throw ArgumentError(fmt::format("{}: {}", op_, e.what()));
    }
}

const Tensors& Alike::checked(std::span<const Tensor> like) const {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
        const Tensor& given = tensors_[i];
        if (!given.defined() || given.spec() == like[i].spec()) continue;
        const std::string text = fmt::format("{}: {} is {}, and what it belongs to is {}", op_,
                                             paths_[i], given.spec().str(), like[i].spec().str());
        if (given.dtype() != like[i].dtype()) throw DTypeError(text);
        throw ShapeError(text, like[i].shape().str(), given.shape().str());
    }
    return tensors_;
}

std::string name_of(const nb::object& function) {
    return nb::cast<std::string>(
        nb::str(nb::getattr(function, "__name__", nb::str(function.type()))));
}

nb::object standing_for(const nb::object& function, nb::object callable) {
    callable.attr("__wrapped__") = function;
    callable.attr("__name__") = name_of(function);
    callable.attr("__doc__") = nb::getattr(function, "__doc__", nb::none());
    return callable;
}

nb::object as_method(const nb::object& self, const nb::object& object, const nb::object&) {
    if (object.is_none()) return self;
    return nb::steal(PyMethod_New(self.ptr(), object.ptr()));
}

}  // namespace lazuli::python
