// Draws indices, applies them, and prints each as Python writes it beside what came out, for
// compare.py to check with numpy. Errors are printed as such: numpy must refuse the same.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "lazuli/lazuli.h"
#include "random.h"

namespace lazuli::tests {
namespace {

struct Drawn {
    std::vector<Index> index;
    std::vector<std::string> text;
};

std::string array_text(const std::vector<std::int64_t>& values, const Shape& shape,
                       const char* dtype) {
    return fmt::format("np.array([{}], dtype={}).reshape([{}])", fmt::join(values, ","), dtype,
                       fmt::join(shape.begin(), shape.end(), ","));
}

Drawn draw(Random& random, const Shape& shape) {
    Drawn out;
    const auto add = [&](Index index, std::string text) {
        out.index.push_back(std::move(index));
        out.text.push_back(std::move(text));
    };
    bool dots = false;
    const Shape common = random.one_in(3) ? Shape{2, 3} : Shape{3};
    for (int d = 0; d < shape.rank();) {
        const std::int64_t size = shape[d];
        switch (size == 0 ? 1 : random.below(9)) {
            case 0: {
                const std::int64_t position = random.between(-size - (random.one_in(8) ? 1 : 0),
                                                             size - (random.one_in(8) ? 0 : 1));
                add(position, fmt::format("{}", position));
                ++d;
                break;
            }
            case 1:
            case 2:
            case 3: {
                Slice range;
                if (!random.one_in(3)) range.start = random.between(-size - 2, size + 2);
                if (!random.one_in(3)) range.stop = random.between(-size - 2, size + 2);
                if (!random.one_in(3))
                    range.step = random.one_in(30)  ? 0
                                 : random.one_in(2) ? random.between(1, 3)
                                                    : random.between(-3, -1);
                const auto part = [](const std::optional<std::int64_t>& p) {
                    return p ? fmt::format("{}", *p) : std::string("None");
                };
                add(range, fmt::format("slice({},{},{})", part(range.start), part(range.stop),
                                       part(range.step)));
                ++d;
                break;
            }
            case 4:
                if (dots && !random.one_in(20)) break;
                dots = true;
                add(ellipsis, "Ellipsis");
                d += static_cast<int>(random.below(3));
                break;
            case 5: add(newaxis, "None"); break;
            case 6: {
                const Shape drawn = random.one_in(4)   ? Shape{1}
                                    : random.one_in(6) ? Shape{}
                                                       : common;
                std::vector<std::int64_t> values;
                for (std::int64_t i = 0; i < drawn.numel(); ++i)
                    values.push_back(
                        size == 0 ? 0
                                  : random.between(-size, size - 1 + (random.one_in(60) ? 1 : 0)));
                add(Tensor::from(values, drawn), array_text(values, drawn, "np.int64"));
                ++d;
                break;
            }
            case 7: {
                if (!random.one_in(3)) break;
                const int covers = random.one_in(2) && d + 1 < shape.rank() ? 2 : 1;
                Shape drawn;
                for (int i = 0; i < covers; ++i)
                    drawn.push_back(shape[d + i] + (random.one_in(30) ? 1 : 0));
                std::vector<std::int64_t> values;
                for (std::int64_t i = 0; i < drawn.numel(); ++i)
                    values.push_back(random.one_in(2) ? 1 : 0);
                add(Tensor::from(values, drawn).cast(DType::boolean),
                    array_text(values, drawn, "bool"));
                d += covers;
                break;
            }
            default: d = random.one_in(4) ? shape.rank() : d; break;
        }
    }
    return out;
}

int run(std::uint64_t seed, int count) {
    for (int i = 0; i < count; ++i) {
        Random random(seed + static_cast<std::uint64_t>(i));
        Shape shape;
        for (std::size_t d = 1 + random.below(4); d > 0; --d)
            shape.push_back(random.one_in(20) ? 0 : random.between(1, 5));
        const Tensor x = iota({shape.numel()}).reshape(shape);
        const Drawn drawn = draw(random, shape);
        fmt::print("[{}]\t({}{})\t", fmt::join(shape.begin(), shape.end(), ","),
                   fmt::join(drawn.text, ","), drawn.text.empty() ? "" : ",");
        try {
            const Tensor y = at(x, drawn.index);
            const auto values = y.to_vector<std::int64_t>();
            fmt::print("[{}]\t[{}]\n", fmt::join(y.shape().begin(), y.shape().end(), ","),
                       fmt::join(values, ","));
        } catch (const Error& e) {
            fmt::print("error\t{}\n", e.what());
        }
    }
    return 0;
}

}  // namespace
}  // namespace lazuli::tests

int main(int argc, char** argv) {
    return lazuli::tests::run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1,
                              argc > 2 ? std::atoi(argv[2]) : 1000);
}
