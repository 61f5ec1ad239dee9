#pragma once

/// @file
/// Layers that read a sequence token by token and keep a state: GRU and LSTM. Weights have
/// PyTorch's names, and its order of gates.

#include "lazuli/nn/module.h"

namespace lazuli::nn {

/// What recurrent layers have beside their widths.
struct RecurrentOptions {
    std::int64_t layers = 1;     ///< One upon the other.
    bool bias = true;            ///< Whether the products add something.
    bool bidirectional = false;  ///< Whether a second one reads from the end.
    DType dtype = f32;           ///< Of its parameters.
};

/// What a recurrent layer gives.
struct Recurrent {
    Tensor output;  ///< [batch, tokens, width], twice as wide where it reads both ways.
    Tensor hidden;  ///< The state of each layer and direction at the end: [layers, batch, width].
    Tensor cell = {};  ///< An LSTM's other state, of the same shape.
};

/// The weights of recurrent layers.
class RecurrentLayer : public Layer {
   public:
    void parts(Parts& parts) override;
    std::string kind() const override;
    /// Over [batch, tokens, width], from states of 0.
    Tensor operator()(const Tensor& x) const override { return run(x).output; }
    /// The same from states [layers, batch, width]; those that are left out are 0.
    Recurrent run(const Tensor& x, const Tensor& hidden = {}, const Tensor& cell = {}) const;

   protected:
    /// With so many gates.
    RecurrentLayer(std::int64_t in, std::int64_t width, std::int64_t gates,
                   const RecurrentOptions& options);
    /// One step from what a token adds to the gates, the products of the state and their bias.
    virtual std::vector<Tensor> step(const Tensor& token, const Tensor& state,
                                     const std::vector<Tensor>& states) const = 0;

   private:
    struct Weights {
        Parameter weight_ih;
        Parameter weight_hh;
        Parameter bias_ih;
        Parameter bias_hh;
    };
    std::vector<Weights> weights_;  // of each layer and direction
    std::int64_t width_;
    std::int64_t gates_;
    RecurrentOptions options_;
};

/// A gated recurrent unit: Cho et al., 2014.
class Gru : public RecurrentLayer {
   public:
    /// From a width to a width.
    Gru(std::int64_t in, std::int64_t width, const RecurrentOptions& options = {})
        : RecurrentLayer(in, width, 3, options) {}

   protected:
    std::vector<Tensor> step(const Tensor& token, const Tensor& state,
                             const std::vector<Tensor>& states) const override;
};

/// Long short-term memory: Hochreiter and Schmidhuber, 1997.
class Lstm : public RecurrentLayer {
   public:
    /// From a width to a width.
    Lstm(std::int64_t in, std::int64_t width, const RecurrentOptions& options = {})
        : RecurrentLayer(in, width, 4, options) {}

   protected:
    std::vector<Tensor> step(const Tensor& token, const Tensor& state,
                             const std::vector<Tensor>& states) const override;
};

}  // namespace lazuli::nn
