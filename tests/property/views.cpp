// Random chains of movements against an array that holds indices.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lazuli/error.h"
#include "long_option.h"
#include "random_view.h"

namespace lazuli::tests {
namespace {

std::string where(const std::vector<std::int64_t>& position) {
    return fmt::format("[{}]", fmt::join(position, ", "));
}

/// What differs between the tracker and the array, at every position; or nothing.
std::string difference(const ShapeTracker& tracker, const IndexArray& array) {
    std::vector<std::int64_t> shape;
    for (const Dim size : tracker.shape()) shape.push_back(size.value());
    if (shape != array.shape)
        return fmt::format("the shape is {} and not {}", where(shape), where(array.shape));
    std::vector<std::int64_t> position(shape.size(), 0);
    for (const std::int64_t wanted : array.index) {
        const std::int64_t index = tracker.at(position).value_or(-1);
        if (index != wanted) return fmt::format("{} at {}, not {}", index, where(position), wanted);
        for (std::size_t d = shape.size(); d > 0 && ++position[d - 1] == shape[d - 1];)
            position[--d] = 0;
    }
    return "";
}

/// The same for the index function as expressions, at some positions.
std::string difference(const IndexExpr& function, const IndexArray& array, const Bindings& bindings,
                       Random& random) {
    if (array.index.empty()) return "";
    for (int i = 0; i < 12; ++i) {
        std::size_t number = random.below(array.index.size());
        const std::int64_t wanted = array.index[number];
        std::vector<std::int64_t> position(array.shape.size());
        for (std::size_t d = position.size(); d-- > 0;) {
            position[d] = static_cast<std::int64_t>(number) % array.shape[d];
            number /= static_cast<std::size_t>(array.shape[d]);
        }
        const auto value_of = [&](Expr variable) {
            for (const auto& [name, value] : bindings) {
                if (name == variable.name()) return value;
            }
            return position[static_cast<std::size_t>(variable.name()[1] - '0')];
        };
        const bool valid = function.valid.evaluate(value_of) != 0;
        const std::int64_t index = valid ? function.index.evaluate(value_of) : -1;
        if (index != wanted)
            return fmt::format("index {} where {} is {} at {}, not {}", function.index.str(),
                               function.valid.str(), index, where(position), wanted);
    }
    return "";
}

std::string fault(const DrawnChain& chain) {
    Random random(1);
    ShapeTracker tracker(chain.base);
    std::vector<std::int64_t> base;
    for (const Dim size : chain.base) base.push_back(size.value());
    IndexArray array = IndexArray::counting(base);
    std::vector<View> views{View::contiguous(chain.base)};
    for (const Movement& movement : chain.movements) {
        // The same chain with nothing merged on the way, for `simplify`.
        const ShapeTracker step = apply(ShapeTracker(tracker.shape()), movement);
        views.insert(views.end(), step.below().begin(), step.below().end());
        views.push_back(step.top());
        tracker = apply(tracker, movement);
        array = array.moved(movement, {});
    }
    if (auto what = difference(tracker, array); !what.empty()) return "as recorded: " + what;
    const ShapeTracker unmerged = ShapeTracker::of_views(views);
    if (auto what = difference(unmerged, array); !what.empty()) return "unmerged: " + what;
    if (auto what = difference(unmerged.simplify(), array); !what.empty())
        return "simplified: " + what;
    if (auto what = difference(tracker.simplify(), array); !what.empty())
        return "simplified twice: " + what;
    const std::string text = describe(tracker, chain.base);
    if (parse_movements(text, chain.base) != tracker) return "reads back as another: " + text;
    ExprContext context;
    if (auto what = difference(tracker.index_expr(context), array, {}, random); !what.empty())
        return "as expression: " + what;
    std::int64_t last = -1;
    for (const std::int64_t index : array.index) last = std::max(last, index);
    if (tracker.to_view() && tracker.size_needed().value() != last + 1)
        return fmt::format("needs {} elements, not {}", tracker.size_needed().str(), last + 1);
    const auto strides = tracker.real_strides();
    for (std::size_t d = 0; d < strides.size(); ++d) {
        if (!strides[d]) continue;
        std::size_t weight = 1;
        for (std::size_t k = d + 1; k < array.shape.size(); ++k)
            weight *= static_cast<std::size_t>(array.shape[k]);
        for (std::size_t n = 0; n + weight < array.index.size(); ++n) {
            const bool steps =
                static_cast<std::int64_t>(n / weight) % array.shape[d] + 1 < array.shape[d];
            if (!steps || array.index[n] < 0 || array.index[n + weight] < 0) continue;
            if (array.index[n + weight] - array.index[n] != strides[d]->value())
                return fmt::format("a step along {} is not {}", d, strides[d]->str());
        }
    }
    return "";
}

template <class Fault>
DrawnChain shrunk(DrawnChain chain, const Fault& fails) {
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (std::size_t i = chain.movements.size(); i-- > 0 && !smaller;) {
            DrawnChain less = chain;
            less.movements.erase(less.movements.begin() + static_cast<std::ptrdiff_t>(i));
            try {
                if (fails(less).empty()) continue;
            } catch (const Error&) {
                continue;
            }
            chain = less;
            smaller = true;
        }
    }
    return chain;
}

TEST(Views, AreTheirIndexFunction) {
    const int chains = tests::count(20'000, 1'000'000);
    int one_view = 0;
    int found = 0;
    int described = 0;
    std::size_t movements = 0;
    std::vector<std::string> missed;
    for (int i = 0; i < chains; ++i) {
        Random random(tests::seed + static_cast<std::uint64_t>(i));
        const DrawnChain chain = draw_chain(random, false);
        movements += chain.movements.size();
        if (const std::string what = fault(chain); !what.empty()) {
            const DrawnChain small = shrunk(chain, fault);
            FAIL() << "seed " << tests::seed + static_cast<std::uint64_t>(i) << ": " << chain.str()
                   << "\n"
                   << what << "\nsmallest: " << small.str() << "\n"
                   << fault(small);
        }
        std::vector<std::int64_t> base;
        for (const Dim size : chain.base) base.push_back(size.value());
        IndexArray array = IndexArray::counting(base);
        ShapeTracker tracker(chain.base);
        for (const Movement& movement : chain.movements) {
            array = array.moved(movement, {});
            tracker = apply(tracker, movement);
        }
        if (!is_one_view(array)) {
            ASSERT_FALSE(tracker.to_view()) << chain.str();
            continue;
        }
        ++one_view;
        if (describe(tracker, chain.base).find("strided") == std::string::npos) ++described;
        if (tracker.to_view()) {
            ++found;
        } else if (missed.size() < 5) {
            missed.push_back(chain.str());
        }
    }
    fmt::print(
        "views: {} chains, {} movements; one view would do for {}, found for {} ({:.2f} %)\n",
        chains, movements, one_view, found, 100.0 * found / one_view);
    fmt::print("views: {} of these print without strides\n", described);
    for (const std::string& chain : missed) fmt::print("  missed: {}\n", chain);
    EXPECT_GE(found, one_view * 0.95);
}

std::string symbolic_fault(const DrawnChain& chain) {
    ShapeTracker tracker(chain.base);
    for (const Movement& movement : chain.movements) tracker = apply(tracker, movement);
    ExprContext context;
    const IndexExpr function = tracker.index_expr(context);
    Random random(7);
    for (int k = 0; k < 5; ++k) {
        const Bindings bindings = draw_bindings(random);
        std::vector<std::int64_t> base;
        for (const Dim size : chain.base) base.push_back(size.evaluate(bindings));
        IndexArray array = IndexArray::counting(base);
        for (const Movement& movement : chain.movements) array = array.moved(movement, bindings);
        std::string at;
        for (const auto& [name, value] : bindings) at += fmt::format(" {}={}", name, value);
        if (auto what = difference(tracker.bind_vars(bindings), array); !what.empty())
            return "bound at" + at + ": " + what;
        if (auto what = difference(function, array, bindings, random); !what.empty())
            return "as expression at" + at + ": " + what;
    }
    return "";
}

TEST(Views, WithVariables) {
    const int chains = tests::count(2'000, 100'000);
    int one_view = 0;
    for (int i = 0; i < chains; ++i) {
        Random random(tests::seed + static_cast<std::uint64_t>(i));
        const DrawnChain chain = draw_chain(random, true);
        if (const std::string what = symbolic_fault(chain); !what.empty()) {
            const DrawnChain small = shrunk(chain, symbolic_fault);
            FAIL() << "seed " << tests::seed + static_cast<std::uint64_t>(i) << ": " << chain.str()
                   << "\n"
                   << what << "\nsmallest: " << small.str() << "\n"
                   << symbolic_fault(small);
        }
        ShapeTracker tracker(chain.base);
        for (const Movement& movement : chain.movements) tracker = apply(tracker, movement);
        if (tracker.size() == 1) ++one_view;
    }
    fmt::print("symbolic views: {} chains at 5 bindings each; {} are one view\n", chains, one_view);
}

}  // namespace
}  // namespace lazuli::tests
