#include "lazuli/nn/losses.h"

#include <fmt/format.h>

#include "lazuli/ensure.h"
#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/ops.h"

namespace lazuli::nn {

namespace {

Tensor reduced(const Tensor& losses, Reduction reduction) {
    switch (reduction) {
        case Reduction::mean: return mean(losses);
        case Reduction::sum: return sum(losses);
        case Reduction::none: break;
    }
    return losses;
}

/// Both of one shape: what broadcasting would make of [8] and [8, 1] is hardly ever meant.
void expect_alike(std::string_view op, const Tensor& x, const Tensor& target) {
    ensure_same_shape(op, x.spec(), target.spec());
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options) {
    const Tensor mean =
        lazuli::cross_entropy(logits, targets, options.label_smoothing, options.ignore_index);
    if (options.reduction == Reduction::mean) return mean;
    const Tensor counts = ne(targets, options.ignore_index);
    if (options.reduction == Reduction::sum) {
        // The mean of no targets is NaN, and their sum 0.
        const Tensor count = sum(counts);
        return select(eq(count, 0), zeros_like(mean), mean * count.cast(mean.dtype()));
    }
    const Tensor logs = log_softmax(logits);
    const Tensor safe = select(counts, targets, zeros_like(targets));
    const Tensor picked = take_along_axis(logs, safe.unsqueeze(-1)).squeeze(-1);
    const Tensor smooth = lazuli::mean(logs, -1) * options.label_smoothing;
    const Tensor losses = -(picked * (1 - options.label_smoothing) + smooth);
    return select(counts, losses, zeros_like(losses));
}

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
    expect_alike("mse_loss", x, target);
    return reduced(square(x - target), reduction);
}

Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
    expect_alike("l1_loss", x, target);
    return reduced(abs(x - target), reduction);
}

Tensor huber_loss(const Tensor& x, const Tensor& target, double delta, Reduction reduction) {
    expect_alike("huber_loss", x, target);
    if (!(delta > 0))
        throw ArgumentError(fmt::format("huber_loss: delta is {}, not above 0", delta));
    const Tensor distance = abs(x - target);
    const Tensor losses =
        select(le(distance, delta), square(distance) * 0.5, (distance - 0.5 * delta) * delta);
    return reduced(losses, reduction);
}

Tensor binary_cross_entropy(const Tensor& probability, const Tensor& target, Reduction reduction) {
    expect_alike("binary_cross_entropy", probability, target);
    const Tensor yes = maximum(log(probability), -100.0);
    const Tensor no = maximum(log1p(-probability), -100.0);
    return reduced(-(target * yes + (1.0 - target) * no), reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const Tensor& positive_weight, Reduction reduction) {
    expect_alike("binary_cross_entropy_with_logits", logits, target);
    // -log(sigmoid(x)) is softplus(-x), and -log(1 - sigmoid(x)) is softplus(-x) + x.
    const Tensor yes = softplus(-logits);
    const Tensor weighted =
        positive_weight.defined() ? yes * (target * (positive_weight - 1.0) + 1.0) : yes;
    return reduced((1.0 - target) * logits + weighted, reduction);
}

Tensor kl_divergence(const Tensor& log_probability, const Tensor& target,
                     const KlOptions& options) {
    expect_alike("kl_divergence", log_probability, target);
    Tensor losses;
    if (options.log_target) {
        losses = exp(target) * (target - log_probability);
    } else {
        // p log p is 0 where p is.
        const Tensor logs = log(select(gt(target, 0.0), target, ones_like(target)));
        losses = target * (logs - log_probability);
    }
    if (!options.batch_mean) return reduced(losses, options.reduction);
    if (losses.rank() == 0)
        throw ShapeError("kl_divergence: the mean of a batch of [] has no first axis", "[n, ...]",
                         "[]");
    return sum(losses) / static_cast<double>(losses.size(0));
}

Tensor accuracy(const Tensor& logits, const Tensor& targets) {
    const Tensor found = argmax(logits, -1);
    ensure_same_shape("accuracy", found.spec(), targets.spec());
    return mean(eq(found, targets).cast(f32));
}

Tensor perplexity(const Tensor& cross_entropy) { return exp(cross_entropy); }

}  // namespace lazuli::nn
