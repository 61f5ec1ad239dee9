// Sorting, scanning and scattering: work that no fused kernel does.

#include <optional>

#include "cli/bench.h"

namespace lazuli::bench {

namespace {

struct Operands {
    explicit Operands(std::int64_t count) {
        x = drawn(1, {count}, f32);
        updates = drawn(2, {count}, f32);
        positions = (drawn(3, {count}, f32) * static_cast<double>(count)).cast(i64).eval();
        few = (drawn(4, {count}, f32) * static_cast<double>(count / 10)).cast(i64).eval();
        tenth = x.slice({0}, {count / 10}).contiguous().eval();
    }
    Tensor x, updates;
    Tensor positions;  // anywhere in x
    Tensor tenth, few;
};

struct Row {
    const char* name;
    const char* about;
    int reads, writes;  // of streams as long as x; none where memory is not what limits it
    void (*run)(const Operands&);
};

const Row kRows[] = {
    {"sort", "sort(x)", 1, 1, [](const Operands& o) { (void)o.x.sort().eval(); }},
    {"argsort", "argsort(x)", 0, 0, [](const Operands& o) { (void)o.x.argsort().eval(); }},
    {"topk", "the 100 largest of x, and where", 1, 0,
     [](const Operands& o) {
         const TopK found = topk(o.x, 100);
         eval(found.values, found.indices);
     }},
    {"cumsum", "cumsum(x)", 1, 1, [](const Operands& o) { (void)o.x.cumsum().eval(); }},
    {"cummax", "cummax(x)", 1, 1, [](const Operands& o) { (void)o.x.cummax().eval(); }},
    {"scatter_add", "x with updates added at random positions", 0, 0,
     [](const Operands& o) { (void)o.x.scatter(o.positions, o.updates, 0, Scatter::add).eval(); }},
    {"scatter_add_tenth", "the same into a tenth as many elements", 0, 0,
     [](const Operands& o) { (void)o.tenth.scatter(o.few, o.updates, 0, Scatter::add).eval(); }},
    {"take_along_axis", "x at random positions", 0, 0,
     [](const Operands& o) { (void)o.x.take_along_axis(o.positions).eval(); }},
};

}  // namespace

std::vector<Group> data_groups(const Setup& setup) {
    const std::int64_t count = setup.quick ? 100'000 : 10'000'000;
    struct Shared {
        std::optional<Operands> made;
    };
    const auto shared = std::make_shared<Shared>();
    Group group{
        setup.quick ? "sorting and scanning, 100k elements" : "sorting and scanning, 10M elements",
        {}};
    for (const Row& row : kRows) {
        group.cases.push_back(
            {std::string(row.name) + "/f32/" + sizes_text({count}), row.about,
             [&row, shared, count] {
                 if (!shared->made) shared->made.emplace(count);
                 return Work{.run = [&row, shared] { row.run(*shared->made); },
                             .streams = {row.reads, row.writes,
                                         row.reads > 0 ? 4.0 * static_cast<double>(count) : 0}};
             }});
    }
    return {group};
}

}  // namespace lazuli::bench
