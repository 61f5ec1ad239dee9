#pragma once

// What functions of functions share: a call whose arguments are taken apart into tensors, and put
// together again of others.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tree.h"

namespace lazuli::python {

/// The arguments of one call, of which some are taken apart.
class CallArguments {
   public:
    /// `op` is who asks, for messages.
    CallArguments(std::string_view op, nb::handle args);

    std::size_t size() const { return given_.size(); }
    /// Of those that are taken apart.
    const std::vector<Tensor>& tensors() const { return tensors_; }
    const Tree& tree(std::size_t i) const { return *trees_[i]; }

    void take_apart(std::size_t i, Tree::Others others = Tree::Others::made);
    /// Gradients are taken of floats and complex numbers: DTypeError names another tensor by its
    /// place.
    void expect_floats() const;

    /// All of them, with other tensors in the places of theirs.
    nb::tuple built(std::span<const Tensor> tensors) const;
    /// What a function gives that is called with those.
    nb::object call(const nb::object& function, std::span<const Tensor> tensors,
                    const nb::dict& named = {}) const {
        return function(*built(tensors), **named);
    }

   private:
    std::string_view op_;
    std::vector<nb::object> given_;
    std::vector<std::optional<Tree>> trees_;
    std::vector<Tensor> tensors_;
    std::vector<std::string> paths_;
};

/// The tensors of what a function returned, of which there must be one, and its form.
std::vector<Tensor> take_results_apart(std::string_view op, const nb::object& returned, Tree& tree);

/// Cotangents or tangents, in the form of what they belong to.
class Alike {
   public:
    explicit Alike(std::string_view op) : op_(op) {}
    /// Appends those of an object, which has the form of a tree whose tensors are among `like`. All
    /// of it may be left out, and any tensor of it: None is an empty one.
    void collect(const Tree& tree, nb::handle object, const std::string& name,
                 std::span<const Tensor> like);
    /// All that were appended. Each must have the type and the shape of what it belongs to.
    const std::vector<Tensor>& checked(std::span<const Tensor> like) const;

   private:
    std::string_view op_;
    std::vector<Tensor> tensors_;
    std::vector<std::string> paths_;
};

/// A function's name, or that of its class.
std::string name_of(const nb::object& function);
/// Makes a callable stand for another function, as functools.wraps does: inspect.signature and help
/// follow it.
nb::object standing_for(const nb::object& function, nb::object callable);
/// `__get__` of a callable: in a class it is a method.
nb::object as_method(const nb::object& self, const nb::object& object, const nb::object& type);

}  // namespace lazuli::python
