#include "lazuli/function.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/bodies.h"
#include "frontend/record.h"
#include "ir/arena.h"
#include "ir/engine.h"
#include "ir/graph.h"
#include "lazuli/error.h"
#include "lazuli/ops.h"

namespace lazuli {

using frontend::node_of;
using Tensors = std::vector<Tensor>;

namespace {

/// Reads the values of variables off arguments of which every size is a number or a variable by
/// itself: a call is short, and most are so.
class PlainSizes {
   public:
    PlainSizes() = default;
    PlainSizes(std::span<const TensorSpec> specs, std::span<const Dim> variables) {
        std::vector<bool> found(variables.size(), false);
        plain_ = true;
        for (const TensorSpec& spec : specs) {
            for (int d = 0; d < spec.shape.rank(); ++d) {
                const Dim size = spec.shape.dim(d);
                const auto at = std::find(variables.begin(), variables.end(), size);
                const auto number = static_cast<std::size_t>(at - variables.begin());
                plain_ = plain_ && (size.is_concrete() || number < variables.size());
                sizes_.push_back({number, size.bounds()});
                if (number < variables.size()) found[number] = true;
            }
        }
        plain_ = plain_ && std::ranges::find(found, false) == found.end();
    }

    /// One value a variable, which are kNone before. False where that is not how they are found, or
    /// where the arguments do not fit.
    bool read(std::span<const TensorSpec> specs, const std::vector<Tensor>& arguments,
              std::span<std::int64_t> values) const {
        if (!plain_ || arguments.size() != specs.size()) return false;
        auto size = sizes_.begin();
        for (std::size_t i = 0; i < specs.size(); ++i) {
            const TensorSpec& given = node_of(arguments[i])->spec;
            const int rank = specs[i].shape.rank();
            if (given.dtype != specs[i].dtype || given.shape.rank() != rank) return false;
            for (int d = 0; d < rank; ++d, ++size) {
                const std::int64_t number = given.shape.raw()[static_cast<std::size_t>(d)];
                // Slots that are no numbers are out of all bounds.
                if (number < size->bounds.low || number > size->bounds.high) return false;
                if (size->variable >= values.size()) continue;
                std::int64_t& value = values[size->variable];
                if (value != kNone && value != number) return false;
                value = number;
            }
        }
        return true;
    }
    static constexpr std::int64_t kNone = -1;

   private:
    struct Size {
        std::size_t variable;  // behind the last: none, it is a number
        Bounds bounds;
    };
    bool plain_ = false;
    std::vector<Size> sizes_;  // of all arguments
};

}  // namespace

struct Function::State {
    Program program;
    std::vector<TensorSpec> specs;  // of the arguments
    std::vector<Dim> variables;
    PlainSizes sizes;
    Tensors outside;
    Device device;
    std::unique_ptr<ir::OpenProgram> open;
};

Tensor placeholder(DType dtype, Shape shape) {
    for (int i = 0; i < shape.rank(); ++i) {
        if (shape.dim(i).bounds().low < 0)
            throw ShapeError(fmt::format("placeholder: negative size in {}", shape.str()),
                             "sizes >= 0", shape.str());
    }
    return frontend::make_argument(0, {dtype, std::move(shape)}, ir::engine().default_device());
}

namespace {

std::string bounds_text(Dim variable) {
    const Bounds bounds = variable.bounds();
    return fmt::format("{} <= {} <= {}", bounds.low, variable.str(), bounds.high);
}

/// A size that grows evenly with its only variable: first + step * variable.
struct Even {
    Dim variable;
    std::int64_t first = 0;
    std::int64_t step = 0;

    /// None where the size has another form, and may be the same for several values.
    static std::optional<Even> of(Dim size) {
        if (size.is_concrete()) return std::nullopt;
        const std::vector<Expr> vars = size.expr().vars();
        if (vars.size() != 1) return std::nullopt;
        Even out{Dim(vars[0])};
        const auto at = [&](std::int64_t value) {
            return size.expr().evaluate([&](Expr) { return value; });
        };
        const std::int64_t low = out.variable.bounds().low;
        out.step = at(low + 1) - at(low);
        out.first = at(low) - out.step * low;
        if (out.step == 0 || !(Dim(out.first) + out.variable * out.step == size))
            return std::nullopt;
        return out;
    }
    /// The variable's value where the size is `wanted`; none where it never is.
    std::optional<std::int64_t> solved(std::int64_t wanted) const {
        if ((wanted - first) % step != 0) return std::nullopt;
        return (wanted - first) / step;
    }
};

/// Whether the size of an argument says what a variable is.
bool says(Dim size, Dim variable) {
    if (size == variable) return true;
    const auto even = Even::of(size);
    return even && even->variable == variable;
}

/// Finds the values of variables in the sizes of arguments.
class Binder {
   public:
    Binder(std::span<const TensorSpec> specs, std::span<const Dim> variables)
        : specs_(specs), variables_(variables), values_(variables.size()) {}

    std::vector<SizeBinding> run(const Tensors& arguments) {
        if (arguments.size() != specs_.size()) {
            throw ArgumentError(fmt::format("the function takes {} arguments, {} given",
                                            specs_.size(), arguments.size()));
        }
        for (std::size_t i = 0; i < specs_.size(); ++i) check_form(i, arguments[i].spec());
        // Sizes that are variables first; what they make of other sizes is then known.
        for (const bool alone : {true, false}) {
            for (std::size_t i = 0; i < specs_.size(); ++i) {
                for (int d = 0; d < specs_[i].shape.rank(); ++d)
                    take(i, d, arguments[i].spec(), alone);
            }
        }
        std::vector<SizeBinding> out;
        for (std::size_t i = 0; i < variables_.size(); ++i)
            out.emplace_back(variables_[i].str(), values_[i]->value);
        for (std::size_t i = 0; i < specs_.size(); ++i) check_sizes(i, arguments[i].spec(), out);
        return out;
    }

   private:
    struct Found {
        std::int64_t value;
        std::size_t argument;
    };

    static std::string of(std::size_t argument, const TensorSpec& given, const TensorSpec& wanted) {
        return fmt::format("argument {}: {} given for {}", argument, given.str(), wanted.str());
    }

    void check_form(std::size_t i, const TensorSpec& given) const {
        const TensorSpec& wanted = specs_[i];
        if (!given.shape.is_concrete())
            throw ArgumentError(of(i, given, wanted) + ": it has no value");
        if (given.dtype != wanted.dtype) throw DTypeError(of(i, given, wanted));
        if (given.shape.rank() != wanted.shape.rank())
            throw ShapeError(of(i, given, wanted), wanted.shape.str(), given.shape.str());
    }

    void take(std::size_t i, int d, const TensorSpec& given, bool alone) {
        const Dim size = specs_[i].shape.dim(d);
        const std::int64_t number = given.shape[d];
        for (std::size_t v = 0; v < variables_.size(); ++v) {
            const Dim variable = variables_[v];
            if (alone ? !(size == variable) : values_[v].has_value() || !says(size, variable))
                continue;
            const auto value = alone ? std::optional(number) : Even::of(size)->solved(number);
            if (!value || *value < variable.bounds().low || *value > variable.bounds().high) {
                throw ShapeError(
                    fmt::format("{}: {} = {} is not within {}", of(i, given, specs_[i]), size.str(),
                                number, bounds_text(variable)),
                    bounds_text(variable), given.shape.str());
            }
            if (values_[v] && values_[v]->value != *value) {
                throw ShapeError(
                    fmt::format("{} ({}) is {} by argument {} and {} by argument {}: {}",
                                variable.str(), bounds_text(variable), values_[v]->value,
                                values_[v]->argument, *value, i, of(i, given, specs_[i])),
                    fmt::format("{}", values_[v]->value), fmt::format("{}", *value));
            }
            values_[v] = Found{*value, i};
        }
    }

    /// What the values make of the other sizes must be there.
    void check_sizes(std::size_t i, const TensorSpec& given,
                     std::span<const SizeBinding> values) const {
        for (int d = 0; d < given.shape.rank(); ++d) {
            const Dim wanted = specs_[i].shape.dim(d);
            const std::int64_t due = wanted.evaluate(values);
            if (due == given.shape[d]) continue;
            throw ShapeError(
                fmt::format("{}: dimension {} is {}, not {}{}", of(i, given, specs_[i]), d,
                            given.shape[d], due,
                            wanted.is_concrete() ? "" : fmt::format(" ({})", wanted.str())),
                specs_[i].shape.str(), given.shape.str());
        }
    }

    std::span<const TensorSpec> specs_;
    std::span<const Dim> variables_;
    std::vector<std::optional<Found>> values_;
};

/// A number that the function has from outside is put into memory once, and not at every call.
Tensor in_memory(const Tensor& tensor, Device device) {
    const ir::Node& node = *node_of(tensor);
    if (!node.has_flag(ir::kLeafFlag) || node.word_count == 0) return tensor;
    alignas(16) unsigned char element[16];
    store_scalar(node.attrs().scalar(0), node.spec.dtype, element);
    const BufferPtr buffer = ir::engine().upload(device, element, size_of(node.spec.dtype));
    return frontend::make_data({buffer, 0, {}, true}, node.spec, device);
}

/// Every variable must be found in the sizes of arguments.
void ensure_found(std::span<const Dim> variables, std::span<const TensorSpec> specs) {
    for (const Dim variable : variables) {
        const bool found = std::ranges::any_of(specs, [&](const TensorSpec& spec) {
            for (int d = 0; d < spec.shape.rank(); ++d) {
                if (says(spec.shape.dim(d), variable)) return true;
            }
            return false;
        });
        if (!found) {
            throw ArgumentError(fmt::format("compile: no argument's size says what {} is ({})",
                                            variable.str(), bounds_text(variable)));
        }
    }
}

}  // namespace

Function compile(const std::function<Tensors(const Tensors&)>& function,
                 std::vector<TensorSpec> specs) {
    auto state = std::make_shared<Function::State>();
    state->device = ir::engine().default_device();
    const frontend::Recorded recorded =
        frontend::record_body("compile", specs, state->device, function);
    frontend::Outside outside;
    outside.capture(recorded);
    for (const Tensor& tensor : outside.operands()) {
        if (node_of(tensor)->spec.shape.is_concrete()) continue;
        throw ArgumentError(
            fmt::format("compile: the function takes {} from outside, which has no value",
                        tensor.spec().str()));
    }
    state->program = outside.program(0, specs);
    state->variables = state->program.variables();
    ensure_found(state->variables, specs);
    state->sizes = PlainSizes(specs, state->variables);
    state->specs = std::move(specs);
    for (const Tensor& tensor : outside.operands())
        state->outside.push_back(in_memory(tensor, state->device));
    state->open = ir::engine().open(state->program, state->device);
    Function out;
    out.state_ = std::move(state);
    return out;
}

Tensors Function::call(Tensors arguments) const {
    if (state_ == nullptr) throw ArgumentError("call: there is no function");
    for (const Tensor& argument : arguments) (void)frontend::require_node("call", argument);
    std::vector<std::int64_t> sizes(state_->variables.size(), PlainSizes::kNone);
    if (!state_->sizes.read(state_->specs, arguments, sizes)) {
        const auto values = Binder(state_->specs, state_->variables).run(arguments);
        std::ranges::transform(values, sizes.begin(), &SizeBinding::second);
    }
    std::vector<ir::Node*> operands;
    operands.reserve(arguments.size() + state_->outside.size());
    for (const Tensor& tensor : arguments) operands.push_back(node_of(tensor));
    for (const Tensor& tensor : state_->outside) operands.push_back(node_of(tensor));
    std::vector<ir::Node*> lazy;
    unsigned flags = 0;
    for (ir::Node* node : operands) {
        flags |= node->flags.load(std::memory_order_relaxed);
        const ir::Node& owner = ir::owner_of(*node);
        if (!owner.has_flag(ir::kLeafFlag) &&
            owner.state.load(std::memory_order_acquire) != ir::State::available)
            lazy.push_back(node);
    }
    const ir::RecordingMode& mode = ir::arena().mode;
    const bool differentiated = (flags & ir::kGradFlag) != 0 && mode.no_grad == 0;
    const bool within_body = mode.bodies > 0 && !lazy.empty();
    if (differentiated || within_body) [[unlikely]]
        return recorded(std::move(arguments), sizes);
    if (!lazy.empty()) ir::engine().eval(lazy);
    // Arguments that go away with this call.
    std::vector<std::size_t> unneeded;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (!operands[i]->is_view() && operands[i]->refs.load(std::memory_order_acquire) == 1)
            unneeded.push_back(i);
    }
    Tensors out;
    for (auto& [value, spec] : state_->open->run(sizes, operands, unneeded))
        out.push_back(frontend::make_data(std::move(value), std::move(spec), state_->device));
    return out;
}

/// A plan gives values, which do not know where they came from: what gradients flow through is
/// recorded, and so is what a body calls, whose arguments have no value.
Tensors Function::recorded(Tensors arguments, std::span<const std::int64_t> sizes) const {
    arguments.insert(arguments.end(), state_->outside.begin(), state_->outside.end());
    if (state_->variables.empty()) return record(state_->program, arguments);
    std::vector<SizeBinding> values;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        values.emplace_back(state_->variables[i].str(), sizes[i]);
    return record(state_->program.instantiate(values), arguments);
}

Tensor Function::single(Tensors results) {
    if (results.size() != 1) {
        throw ArgumentError(
            fmt::format("the function has {} results, and one was asked for; `call` gives all",
                        results.size()));
    }
    return std::move(results[0]);
}

const Program& Function::program() const {
    if (state_ == nullptr) throw ArgumentError("program: there is no function");
    return state_->program;
}

Explanation Function::explain() const {
    if (state_ == nullptr) throw ArgumentError("explain: there is no function");
    return state_->open->explain({});
}

Explanation Function::explain(const Tensors& arguments) const {
    if (state_ == nullptr) throw ArgumentError("explain: there is no function");
    for (const Tensor& argument : arguments) (void)frontend::require_node("explain", argument);
    return state_->open->explain(Binder(state_->specs, state_->variables).run(arguments));
}

std::vector<std::vector<SizeBinding>> Function::bindings_seen() const {
    if (state_ == nullptr) throw ArgumentError("bindings_seen: there is no function");
    return state_->open->bindings();
}

}  // namespace lazuli
