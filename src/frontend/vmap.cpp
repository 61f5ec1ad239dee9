#include "lazuli/vmap.h"

#include <fmt/format.h>

#include "frontend/bodies.h"
#include "frontend/record.h"
#include "lazuli/error.h"
#include "lazuli/ops.h"
#include "ops/batching.h"

namespace lazuli {

using Tensors = std::vector<Tensor>;

namespace {

TensorSpec without_axis(const TensorSpec& spec, int axis) {
    TensorSpec out{spec.dtype, {}};
    for (int d = 0; d < spec.shape.rank(); ++d) {
        if (d != axis) out.shape.push_back(spec.shape.dim(d));
    }
    return out;
}

/// Arguments with the axis to run along in front of those that have one.
class Lined {
   public:
    Lined(const Tensors& arguments, const std::vector<std::optional<int>>& axes,
          const std::vector<std::string>& names)
        : names_(names) {
        for (std::size_t i = 0; i < arguments.size(); ++i)
            add(arguments[i], axes.empty() ? std::optional(0) : axes[i]);
        if (!count_) throw ArgumentError("vmap: no argument has an axis to run along");
    }

    Dim count() const { return *count_; }

    Tensors tensors;
    std::vector<TensorSpec> specs;  // of one
    std::vector<bool> many;

   private:
    void add(const Tensor& argument, std::optional<int> axis) {
        const TensorSpec& spec = frontend::require_node("vmap", argument).spec;
        const std::size_t number = tensors.size();
        many.push_back(axis.has_value());
        if (!axis) {
            specs.push_back(spec);
            tensors.push_back(argument);
            return;
        }
        const int at = place_of(*axis, spec, number);
        const Dim size = spec.shape.dim(at);
        const std::string along = fmt::format("{} is {} with {} entries along axis {}",
                                              name(number), spec.str(), size.str(), at);
        if (count_ && equal(*count_, size) != Truth::yes)
            throw ShapeError(fmt::format("vmap: {}, and {}", along, first_), count_->str(),
                             size.str());
        if (!count_) first_ = along;
        count_ = size;
        specs.push_back(without_axis(spec, at));
        tensors.push_back(at == 0 ? argument : argument.move_axis(at, 0));
    }

    int place_of(int axis, const TensorSpec& spec, std::size_t number) const {
        const int rank = spec.shape.rank();
        if (rank == 0) {
            throw ShapeError(fmt::format("vmap: {} is {} and has no axis to run along",
                                         name(number), spec.str()),
                             "rank >= 1", "[]");
        }
        if (axis < -rank || axis >= rank) {
            throw IndexError(fmt::format("vmap: axis {} is out of range for {}, which is {}", axis,
                                         name(number), spec.str()));
        }
        return axis < 0 ? axis + rank : axis;
    }

    std::string name(std::size_t number) const {
        return names_.empty() ? fmt::format("argument {}", number) : names_[number];
    }

    const std::vector<std::string>& names_;
    std::optional<Dim> count_;
    std::string first_;  // the argument that said the count
};

Mapped mapped(const TensorFunction& function, const Tensors& arguments,
              const std::vector<std::optional<int>>& axes, const std::vector<std::string>& names,
              ops::SameForAll same) {
    if (!axes.empty() && axes.size() != arguments.size()) {
        throw ArgumentError(
            fmt::format("vmap: {} axes for {} arguments", axes.size(), arguments.size()));
    }
    Lined lined(arguments, axes, names);
    frontend::Outside outside;
    outside.capture(
        frontend::record_body("vmap", lined.specs, frontend::home_of(arguments), function));
    for (const Tensor& tensor : outside.operands()) {
        lined.many.push_back(false);
        lined.tensors.push_back(tensor);
    }
    ops::BatchedProgram made =
        ops::batched(outside.program(0, lined.specs), lined.many, lined.count(), same);
    return {record(made.program, lined.tensors), std::move(made.many), lined.count()};
}

}  // namespace

Mapped mapped_of(const TensorFunction& function, const Tensors& arguments,
                 const std::vector<std::optional<int>>& axes,
                 const std::vector<std::string>& names) {
    return mapped(function, arguments, axes, names, ops::SameForAll::once);
}

Tensors vmap_of(const TensorFunction& function, const Tensors& arguments,
                const std::vector<std::optional<int>>& axes) {
    return mapped(function, arguments, axes, {}, ops::SameForAll::repeated).results;
}

}  // namespace lazuli
