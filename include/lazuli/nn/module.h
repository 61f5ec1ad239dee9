#pragma once

/// @file
/// Modules: values that hold parameters and other modules, and say under which names. A module is
/// copied like any value; copies share tensors until one of them is trained further.
///
///     struct Mlp : nn::Module {
///         nn::Linear up{784, 512}, down{512, 10};
///         void parts(nn::Parts& parts) override { parts("up", up)("down", down); }
///         Tensor operator()(const Tensor& x) const { return down(relu(up(x))); }
///     };

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lazuli/safetensors.h"
#include "lazuli/tensor.h"

namespace lazuli::nn {

class Module;

/// A tensor that training changes: assigning one gives it another value. A layer that has none, as
/// without bias, has one that is not `defined()`.
struct Parameter : Tensor {
    bool trainable = true;  ///< Whether training changes it.

    /// None.
    Parameter() = default;
    /// With this value to begin with.
    Parameter(Tensor value) : Tensor(std::move(value)) {}
    /// Another value; whether it is trained stays.
    Parameter& operator=(Tensor value) {
        Tensor::operator=(std::move(value));
        return *this;
    }
};

/// What a walk through a module sees. What is left out is passed by.
struct Visitor {
    /// A parameter and its name: `blocks.0.up.weight`.
    std::function<void(const std::string& name, Parameter& parameter)> parameter = {};
    /// A tensor that is part of a model's state and not trained, such as a running mean.
    std::function<void(const std::string& name, Tensor& buffer)> buffer = {};
    /// A module, before what is in it; the name of the module that the walk began with is empty.
    std::function<void(const std::string& name, Module& module)> module = {};
};

/// A module hands its parts over to it, each with a name. Parameters and buffers that hold no
/// tensor are passed by.
class Parts {
   public:
    /// A parameter.
    Parts& operator()(std::string_view name, Parameter& parameter);
    /// A tensor that is not trained.
    Parts& operator()(std::string_view name, Tensor& buffer);
    /// Another module.
    Parts& operator()(std::string_view name, Module& module);
    /// Modules in a row: `name.0`, `name.1`, ...
    template <std::derived_from<Module> M>
    Parts& operator()(std::string_view name, std::vector<M>& modules) {
        for (std::size_t i = 0; i < modules.size(); ++i)
            (*this)(std::string(name) + "." + std::to_string(i), modules[i]);
        return *this;
    }
    /// A module that may be missing.
    template <std::derived_from<Module> M>
    Parts& operator()(std::string_view name, std::optional<M>& module) {
        return module ? (*this)(name, static_cast<Module&>(*module)) : *this;
    }

   private:
    friend void walk(Module& module, const Visitor& visitor);
    Parts(const Visitor& visitor, std::string prefix)
        : visitor_(visitor), prefix_(std::move(prefix)) {}
    std::string full(std::string_view name) const;
    void enter(Module& module);
    const Visitor& visitor_;
    std::string prefix_;
};

/// A parameter of a module, and its name.
struct NamedParameter {
    std::string name;      ///< From the module down, with dots: `blocks.0.up.weight`.
    Parameter* parameter;  ///< Lives as long as the module does, and stays where it is as long.
};

/// What `Module::load` does where names differ.
struct LoadOptions {
    bool strict = true;  ///< A tensor that is missing, or that nobody wants, is an error.
};

/// A part of a model. Who derives from it says in `parts` what it holds.
class Module {
   public:
    virtual ~Module() = default;
    /// Hands over what it holds: `parts("weight", weight)("bias", bias)`.
    virtual void parts(Parts& parts) = 0;
    /// What it is, for `summary`: `Linear(784, 512)`. By default its type.
    virtual std::string kind() const;

    /// All parameters, in the order of `parts`.
    std::vector<NamedParameter> parameters();
    /// Those that training changes.
    std::vector<NamedParameter> trainable();
    /// Says of the parameters whose names match a pattern (`*` stands for any characters, `?` for
    /// one) whether training changes them. Returns how many match.
    std::size_t set_trainable(std::string_view pattern, bool trainable);
    /// The number of elements of all parameters, or of those that training changes.
    std::int64_t count(bool only_trainable = false);

    /// Puts it and all in it in training mode, as it is at first, or takes it out: then dropout
    /// drops nothing, and batch norms use their running figures.
    void train(bool on = true);
    /// Whether it is in training mode.
    bool is_training() const { return training_; }

    /// Parameters and buffers with their names: what a file of weights holds.
    NamedTensors state();
    /// Takes over parameters and buffers by their names. Throws ArgumentError listing all names
    /// that are missing or unknown and ShapeError where a shape differs, before anything has
    /// changed. Floats are cast to the type that is there.
    void load(const NamedTensors& state, const LoadOptions& options = {});
    /// Writes `state` to a safetensors file.
    void save_file(const std::string& path);
    /// Takes over the tensors of a safetensors file, which is mapped.
    void load_file(const std::string& path, const LoadOptions& options = {});
    /// Casts all floating parameters and buffers.
    void cast(DType dtype);

    /// A table of what it holds: names, kinds, shapes, parameters and bytes.
    std::string summary();

   protected:
    Module() = default;
    Module(const Module&) = default;
    Module& operator=(const Module&) = default;

   private:
    bool training_ = true;
};

/// Shows a visitor the module and all it holds, in the order of `parts`.
void walk(Module& module, const Visitor& visitor);

/// Whether a name matches a pattern, in which `*` stands for any characters and `?` for one.
bool matches(std::string_view pattern, std::string_view name);

/// A module that makes one tensor of one.
class Layer : public Module {
   public:
    /// Its result, recorded.
    virtual Tensor operator()(const Tensor& x) const = 0;
};

/// A function as a layer without parameters.
class Apply : public Layer {
   public:
    /// With a name for `kind`.
    explicit Apply(std::function<Tensor(const Tensor&)> function, std::string name = "Apply")
        : function_(std::move(function)), name_(std::move(name)) {}
    void parts(Parts&) override {}
    std::string kind() const override { return name_; }
    Tensor operator()(const Tensor& x) const override { return function_(x); }

   private:
    std::function<Tensor(const Tensor&)> function_;
    std::string name_;
};

/// Layers one after the other, and functions between them:
///
///     nn::Sequential(nn::Linear(784, 512), &relu, nn::Linear(512, 10))
class Sequential : public Layer {
   public:
    /// None yet: what comes in goes out.
    Sequential() = default;
    /// These. A Sequential alone is copied; beside others it is a layer.
    template <class... Layers>
        requires(sizeof...(Layers) > 1) ||
                (sizeof...(Layers) == 1 &&
                 (... && !std::same_as<std::remove_cvref_t<Layers>, Sequential>))
    explicit Sequential(Layers&&... layers) {
        (add(std::forward<Layers>(layers)), ...);
    }
    /// Puts a layer, or a function, behind the others.
    template <class L>
    Sequential& add(L&& layer) {
        using Kind = std::remove_cvref_t<L>;
        if constexpr (std::derived_from<Kind, Layer>)
            layers_.push_back(Held::of(Kind(std::forward<L>(layer))));
        else
            layers_.push_back(Held::of(
                Apply([f = std::forward<L>(layer)](const Tensor& x) -> Tensor { return f(x); })));
        return *this;
    }
    /// How many there are.
    std::size_t size() const { return layers_.size(); }
    /// One of them; ArgumentError where there are not so many.
    Layer& operator[](std::size_t i);
    void parts(Parts& parts) override;
    Tensor operator()(const Tensor& x) const override;

   private:
    /// A layer of any type, copied as a value.
    struct Held {
        std::unique_ptr<Layer> layer;
        std::unique_ptr<Layer> (*copy)(const Layer&);
        template <class L>
        static Held of(L layer) {
            return {
                std::make_unique<L>(std::move(layer)), [](const Layer& from) {
                    return std::unique_ptr<Layer>(std::make_unique<L>(static_cast<const L&>(from)));
                }};
        }
        Held(std::unique_ptr<Layer> held, std::unique_ptr<Layer> (*how)(const Layer&))
            : layer(std::move(held)), copy(how) {}
        Held(const Held& other) : layer(other.copy(*other.layer)), copy(other.copy) {}
        Held& operator=(const Held& other) {
            layer = other.copy(*other.layer);
            copy = other.copy;
            return *this;
        }
        Held(Held&&) noexcept = default;
        Held& operator=(Held&&) noexcept = default;
    };
    std::vector<Held> layers_;
};

}  // namespace lazuli::nn
