#pragma once

// Lists, tuples, named tuples and dicts of tensors, nested: what compiled functions take and
// return.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common.h"

namespace lazuli::python {

/// The form of nested containers. A leaf is a tensor, or a value that is kept as it is.
class Tree {
   public:
    /// What is met that is neither a tensor nor a container.
    enum class Others {
        refused,  // an error
        kept,     // as it is
        made,     // a tensor, where one can be made of it; else an error
    };
    /// What None is where a tensor was.
    enum class Missing { refused, empty };

    /// Takes an object apart; its tensors are appended. `path` names the object in messages.
    static Tree of(nb::handle object, std::vector<Tensor>& tensors, Others others,
                   const std::string& path);
    /// The same with a prefix of the object's form: what it has somewhere, which is no container,
    /// is said of all tensors below, and appended to `said`. Others are kept below None, and made
    /// tensors elsewhere. ArgumentError says where forms differ; `prefix_name` names the prefix.
    static Tree along(nb::handle prefix, std::string_view prefix_name, nb::handle object,
                      std::vector<Tensor>& tensors, std::vector<nb::object>& said,
                      const std::string& path);
    /// An object of this form with these tensors in the places of those it had; None for an empty
    /// one.
    nb::object build(std::span<const Tensor> tensors) const;
    /// Appends the tensors of an object that must be of this form, in the order in which `of` met
    /// them. ArgumentError says where it is not; `path` names the object there. What can be made a
    /// tensor is one, numbers of the type that `like` has in their place.
    void collect(nb::handle object, const std::string& path, std::vector<Tensor>& tensors,
                 Missing missing = Missing::refused, std::span<const Tensor> like = {}) const;
    /// Where each tensor is: `0['keys'][1]`.
    void paths(const std::string& path, std::vector<std::string>& out) const;

   private:
    enum class Kind { tensor, kept, list, tuple, dict };
    std::string str() const;

    Kind kind_ = Kind::kept;
    nb::object object_;             // what is kept, or the type of a named tuple
    std::size_t place_ = 0;         // of a tensor
    std::vector<nb::object> keys_;  // of a dict
    std::vector<Tree> children_;
};

}  // namespace lazuli::python
