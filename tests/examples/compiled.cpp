#include "example.h"

// Functions that are planned once for all sizes.

namespace examples {

Examples compiled() {
    using namespace lazuli;
    Examples examples;
    LAZULI_EXAMPLE(placeholder, "f32[batch, 3]", placeholder(f32, {dim("batch", 1, 64), 3}).spec());
    LAZULI_EXAMPLE(placeholder, "f32[batch, 1]",  // sizes are known of all that stands on it
                   sum(placeholder(f32, {dim("batch", 1, 64), 3}), {1}, true).spec());
    LAZULI_EXAMPLE(compile, "[3, 7], [11], 1", [] {
        const Dim batch = dim("batch", 1, 64);
        const std::uint64_t plans = cache_stats().open_plans;
        const Function rows =
            compile([](const Tensor& x) { return sum(x, {1}); }, placeholder(f32, {batch, 2}));
        const Tensor two = rows(Tensor{{1.0, 2.0}, {3.0, 4.0}});
        const Tensor one = rows(Tensor{{5.0, 6.0}});
        return std::tuple(two, one, cache_stats().open_plans - plans);  // one plan for both
    });
    LAZULI_EXAMPLE(compile,
                   "ShapeError: argument 0: f32[65] given for f32[batch]: batch = 65 is not within "
                   "1 <= batch <= 64",
                   [] {
                       const Dim batch = dim("batch", 1, 64);
                       const Function twice = compile([](const Tensor& x) { return x + x; },
                                                      placeholder(f32, {batch}));
                       return twice(zeros({65}));
                   });
    LAZULI_EXAMPLE(Function::call, "[[4, 6], [-2, -2]]", [] {
        const TensorSpec row = {f32, {dim("batch", 1, 64)}};
        const Function both = compile(
            [](const std::vector<Tensor>& x) { return std::vector{x[0] + x[1], x[0] - x[1]}; },
            {row, row});
        return both.call({{1.0, 2.0}, {3.0, 4.0}});
    });
    LAZULI_EXAMPLE(compile_with_aux, "[2, 4], f32[batch]", [] {
        const auto made = compile_with_aux(
            [](const std::vector<Tensor>& x) {
                const Tensor twice = x[0] * 2.0;
                return std::pair(std::vector{twice}, twice.spec().str());  // said once
            },
            {{f32, {dim("batch", 1, 64)}}});
        return std::pair(made.function(Tensor{1.0, 2.0}), made.aux);
    });
    LAZULI_EXAMPLE(Function::program,
                   "program(a0: f32[batch]) where 1 <= batch <= 64 {\n"
                   "  %0 = tanh(a0) : f32[batch]\n"
                   "  return %0\n"
                   "}",
                   [] {
                       const Function f = compile([](const Tensor& x) { return tanh(x); },
                                                  placeholder(f32, {dim("batch", 1, 64)}));
                       return f.program();
                   });
    LAZULI_EXAMPLE(Function::explain, "one plan for all sizes, here batch = 8", [] {
        const Function f = compile([](const Tensor& x) { return exp(x); },
                                   placeholder(f32, {dim("batch", 1, 64)}));
        return f.explain({zeros({8})}).cache;
    });
    LAZULI_EXAMPLE(Function::bindings_seen, "[[batch, 3], [batch, 2]]", [] {
        const Function f = compile([](const Tensor& x) { return exp(x); },
                                   placeholder(f32, {dim("batch", 1, 64)}));
        for (const std::int64_t size : {2, 3, 2, 3}) f(zeros({size})).eval();
        return f.bindings_seen();
    });
    LAZULI_EXAMPLE((Program::variables, Program::instantiate), "[batch], f32[8, 3]", [] {
        const Function f = compile([](const Tensor& x) { return x * x; },
                                   placeholder(f32, {dim("batch", 1, 64), 3}));
        const SizeBinding values[] = {{"batch", 8}};
        return std::pair(f.program().variables(), f.program().instantiate(values).params()[0].spec);
    });
    LAZULI_EXAMPLE((Backend::prepare_open, Backend::bind), "true, 1", [] {
        const Program program = Program::parse(
            "program(x: f32[batch]) where 1 <= batch <= 64 {\n"
            "  %0 = tanh(x) : f32[batch]\n"
            "  return %0\n"
            "}\n");
        Backend& backend = backend_of(Device("interpreter"));
        const std::shared_ptr<const void> open = backend.prepare_open(program);
        const SizeBinding values[] = {{"batch", 8}};
        const std::shared_ptr<const void> prepared = backend.bind(open.get(), values);
        return std::pair(open != nullptr, backend.info(prepared.get(), false).kernels.size());
    });
    LAZULI_EXAMPLE((Backend::has_open_plans, Backend::is_ready), "false, true", [] {
        Backend& backend = backend_of(Device("reference"));
        const Program program = Program::parse(
            "program(x: f32[8]) {\n"
            "  %0 = tanh(x) : f32[8]\n"
            "  return %0\n"
            "}\n");
        const std::shared_ptr<const void> prepared = backend.prepare(program);
        return std::pair(backend.has_open_plans(), backend.is_ready(prepared.get()));
    });
    LAZULI_EXAMPLE((generalising, set_generalising), "false", [] {
        const bool before = generalising();
        set_generalising(false);  // each size is planned by itself
        const bool now = generalising();
        set_generalising(before);
        return now;
    });
    LAZULI_EXAMPLE((specialising, set_specialising), "false", [] {
        const bool before = specialising();
        set_specialising(false);  // plans for many sizes run as they are
        const bool now = specialising();
        set_specialising(before);
        return now;
    });
    LAZULI_EXAMPLE(Attrs::size, "batch, 7", [] {
        const auto offset_of = [](std::int64_t offset) {
            AttrWords words;  // of part: its offset in the bundle
            words.integer(offset);
            return Attrs(op_def(require_op("part")), words.words()).size(0);
        };
        return std::pair(offset_of(dim("batch", 1, 64).raw()), offset_of(7));
    });
    return examples;
}

}  // namespace examples
