#include "lazuli/nn/recurrent.h"

#include <fmt/format.h>

#include <cmath>

#include "lazuli/control.h"
#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/index.h"
#include "lazuli/nn/init.h"
#include "lazuli/ops.h"

namespace lazuli::nn {

namespace {

constexpr std::int64_t kLstmGates = 4;

/// The gates of a step, side by side along the last axis.
std::vector<Tensor> gates_of(const Tensor& x, std::int64_t gates) {
    return x.split(x.size(-1) / gates, -1);
}

}  // namespace

RecurrentLayer::RecurrentLayer(std::int64_t in, std::int64_t width, std::int64_t gates,
                               const RecurrentOptions& options)
    : width_(width), gates_(gates), options_(options) {
    if (in < 1 || width < 1 || options.layers < 1)
        throw ArgumentError(fmt::format("{}: {} layers from a width of {} to {}, below 1",
                                        gates == kLstmGates ? "Lstm" : "Gru", options.layers, in,
                                        width));
    const double bound = 1 / std::sqrt(static_cast<double>(width));
    const auto drawn = [&](const Shape& shape) {
        return tensor(init::uniform(shape, -bound, bound), options.dtype);
    };
    const std::int64_t directions = options.bidirectional ? 2 : 1;
    for (std::int64_t i = 0; i < options.layers * directions; ++i) {
        const std::int64_t from = i < directions ? in : width * directions;
        Weights& made = weights_.emplace_back();
        made.weight_ih = drawn({gates * width, from});
        made.weight_hh = drawn({gates * width, width});
        if (!options.bias) continue;
        made.bias_ih = drawn({gates * width});
        made.bias_hh = drawn({gates * width});
    }
}

void RecurrentLayer::parts(Parts& parts) {
    const std::size_t directions = options_.bidirectional ? 2 : 1;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
        const std::string behind =
            fmt::format("_l{}{}", i / directions, i % directions == 1 ? "_reverse" : "");
        Weights& w = weights_[i];
        parts("weight_ih" + behind, w.weight_ih)("weight_hh" + behind, w.weight_hh);
        parts("bias_ih" + behind, w.bias_ih)("bias_hh" + behind, w.bias_hh);
    }
}

std::string RecurrentLayer::kind() const {
    return fmt::format("{}({}, {}{}{})", gates_ == kLstmGates ? "Lstm" : "Gru",
                       weights_[0].weight_ih.size(1), width_,
                       options_.layers > 1 ? fmt::format(", {} layers", options_.layers) : "",
                       options_.bidirectional ? ", both ways" : "");
}

Recurrent RecurrentLayer::run(const Tensor& x, const Tensor& hidden, const Tensor& cell) const {
    const std::int64_t in = weights_[0].weight_ih.size(1);
    if (x.rank() != 3 || x.size(2) != in)
        throw ShapeError(
            fmt::format("{}: {} is not [batch, tokens, {}]", kind(), x.shape().str(), in),
            fmt::format("[batch, tokens, {}]", in), x.shape().str());
    const bool is_lstm = gates_ == kLstmGates;
    const auto count = static_cast<std::int64_t>(weights_.size());
    const Shape states_shape{count, x.size(0), width_};
    const auto states_or_zeros = [&](const Tensor& given) {
        if (!given.defined()) return zeros(states_shape, x.dtype());
        if (given.shape() != states_shape)
            throw ShapeError(fmt::format("{}: states of {}, not {}", kind(), given.shape().str(),
                                         states_shape.str()),
                             states_shape.str(), given.shape().str());
        return given;
    };
    const Tensor first_hidden = states_or_zeros(hidden);
    const Tensor first_cell = is_lstm ? states_or_zeros(cell) : Tensor();
    const std::int64_t directions = options_.bidirectional ? 2 : 1;
    Tensor flow = x.transpose(0, 1);  // tokens first: a step is an entry
    std::vector<Tensor> last_hidden;
    std::vector<Tensor> last_cell;
    for (std::int64_t layer = 0; layer < options_.layers; ++layer) {
        std::vector<Tensor> outputs;
        for (std::int64_t way = 0; way < directions; ++way) {
            const std::int64_t at = layer * directions + way;
            const Weights& w = weights_[static_cast<std::size_t>(at)];
            // What tokens add to the gates is one product for all of them.
            const Tensor turned = w.weight_ih.transpose();
            const Tensor tokens =
                w.bias_ih.defined() ? matmul_bias(flow, turned, w.bias_ih) : matmul(flow, turned);
            const Tensor again = w.weight_hh.transpose();
            std::vector<Tensor> carried{first_hidden[at]};
            if (is_lstm) carried.push_back(first_cell[at]);
            const Looped looped = scan_loop(
                carried, {tokens},
                [&](const std::vector<Tensor>& states, const std::vector<Tensor>& entry) {
                    const Tensor state = w.bias_hh.defined()
                                             ? matmul_bias(states[0], again, w.bias_hh)
                                             : matmul(states[0], again);
                    std::vector<Tensor> next = step(entry[0], state, states);
                    const Tensor seen = next[0];
                    return Looped{std::move(next), {seen}};
                },
                way == 1);
            outputs.push_back(looped.stacked[0]);
            last_hidden.push_back(looped.carried[0]);
            if (is_lstm) last_cell.push_back(looped.carried[1]);
        }
        flow = directions == 1 ? outputs[0] : concat(outputs, -1);
    }
    return {flow.transpose(0, 1), stack(last_hidden, 0), is_lstm ? stack(last_cell, 0) : Tensor()};
}

std::vector<Tensor> Gru::step(const Tensor& token, const Tensor& state,
                              const std::vector<Tensor>& states) const {
    const auto from_token = gates_of(token, 3);
    const auto from_state = gates_of(state, 3);
    const Tensor reset = sigmoid(from_token[0] + from_state[0]);
    const Tensor update = sigmoid(from_token[1] + from_state[1]);
    const Tensor candidate = tanh(from_token[2] + reset * from_state[2]);
    return {candidate + update * (states[0] - candidate)};
}

std::vector<Tensor> Lstm::step(const Tensor& token, const Tensor& state,
                               const std::vector<Tensor>& states) const {
    const auto gates = gates_of(token + state, kLstmGates);
    const Tensor cell = sigmoid(gates[1]) * states[1] + sigmoid(gates[0]) * tanh(gates[2]);
    return {sigmoid(gates[3]) * tanh(cell), cell};
}

}  // namespace lazuli::nn
