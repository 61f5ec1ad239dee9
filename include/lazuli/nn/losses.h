#pragma once

/// @file
/// Losses and metrics: numbers that say how far results are from what was wanted.

#include "lazuli/tensor.h"

namespace lazuli::nn {

/// What becomes of the losses of the single elements.
enum class Reduction : std::uint8_t {
    mean,  ///< Their mean.
    sum,   ///< Their sum.
    none,  ///< They are returned as they are.
};

/// How cross entropy is counted.
struct CrossEntropyOptions {
    double label_smoothing = 0;             ///< The share of each target that all classes get.
    std::int64_t ignore_index = -100;       ///< Targets of this number count as none.
    Reduction reduction = Reduction::mean;  ///< The mean is over targets that count.
};
/// The negative logarithms of the softmax of logits [..., classes] at targets [...], integers.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options);
/// The squares of the differences.
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// The magnitudes of the differences.
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// Half the squares of differences up to `delta`, and straight lines beyond.
Tensor huber_loss(const Tensor& x, const Tensor& target, double delta = 1,
                  Reduction reduction = Reduction::mean);
/// The cross entropy of probabilities and truths, 0 to 1 each. Logarithms are taken as -100 at
/// least.
Tensor binary_cross_entropy(const Tensor& probability, const Tensor& target,
                            Reduction reduction = Reduction::mean);
/// The same of logits: exact far from 0 as well. `positive_weight` weighs what is true.
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const Tensor& positive_weight = {},
                                        Reduction reduction = Reduction::mean);

/// How the divergence is counted.
struct KlOptions {
    bool log_target = false;  ///< The target is given as logarithms as well.
    /// The sum of all, divided by the size of the first axis. Else `reduction` says.
    bool batch_mean = true;
    Reduction reduction = Reduction::mean;  ///< Where `batch_mean` is off.
};
/// The Kullback-Leibler divergence from a distribution, given as logarithms of its probabilities,
/// to a target's.
Tensor kl_divergence(const Tensor& log_probability, const Tensor& target,
                     const KlOptions& options = {});

/// The share of targets [...] that are the largest of their logits [..., classes].
Tensor accuracy(const Tensor& logits, const Tensor& targets);
/// e to a mean cross entropy: between how many tokens a model is torn.
Tensor perplexity(const Tensor& cross_entropy);

}  // namespace lazuli::nn
