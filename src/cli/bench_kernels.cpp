// Kernels: functions of elements, reductions, norms; large and small.

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "cli/bench.h"
#include "runtime/pool.h"

namespace lazuli::bench {

namespace {

struct Operands {
    Operands(std::int64_t rows, std::int64_t columns, DType dtype) {
        // One row and one column of random numbers: drawing all of them takes longer than all else.
        const Tensor down = drawn(1, {rows, 1}, dtype);
        const Tensor across = drawn(2, {1, columns}, dtype);
        x = (down + across).eval();
        y = (down * across).eval();
        turned = y.permute({1, 0}).contiguous().eval();
        weight = drawn(3, {columns}, dtype);
        bias = drawn(4, {columns}, dtype);
    }
    Tensor x, y;
    Tensor turned;  // y, column by column
    Tensor weight, bias;
};

using Make = Tensor (*)(const Operands&);

Tensor chain(const Operands& o, bool with_tanh) {
    Tensor z = o.x;
    for (int i = 0; i < 10; ++i) {
        z = z * o.y + 0.5;
        if (with_tanh) z = z.tanh();
        z = z - o.y;
    }
    return z;
}

Tensor tanh_chain(const Operands& o) { return chain(o, true); }
Tensor plain_chain(const Operands& o) { return chain(o, false); }
Tensor sum_squares(const Operands& o) {
    const Tensor d = o.x - o.y;
    return (d * d).sum();
}
Tensor softmax_rows(const Operands& o) { return o.x.softmax(); }
Tensor rms(const Operands& o) { return o.x.rms_norm(o.weight); }
Tensor layer(const Operands& o) { return o.x.layer_norm(o.weight, o.bias); }

struct Row {
    const char* name;
    const char* about;
    int reads, writes;  // of streams as long as x
    Make make;
};

const Row kRows[] = {
    {"copy", "|x|", 1, 1, [](const Operands& o) { return o.x.abs(); }},
    {"add", "x + y", 2, 1, [](const Operands& o) { return o.x + o.y; }},
    {"tanh_chain", "10 x tanh(x*y+0.5)-y", 2, 1, tanh_chain},
    {"chain", "10 x (x*y+0.5)-y", 2, 1, plain_chain},
    {"sum_squares", "sum((x-y)^2)", 2, 0, sum_squares},
    {"softmax", "softmax(x) over the last axis", 1, 1, softmax_rows},
    {"rms_norm", "RMS norm of x with a weight", 1, 1, rms},
    {"layer_norm", "layer norm of x with weight and bias", 1, 1, layer},
    {"sum_first", "sum(x) over the first axis", 1, 0, [](const Operands& o) { return o.x.sum(0); }},
    {"sum_last", "sum(x) over the last axis", 1, 0, [](const Operands& o) { return o.x.sum(1); }},
    {"sum_all", "sum(x)", 1, 0, [](const Operands& o) { return o.x.sum(); }},
    {"max_all", "max(x)", 1, 0, [](const Operands& o) { return o.x.max(); }},
    {"softmax_first", "softmax(x) over the first axis", 1, 1,
     [](const Operands& o) { return o.x.softmax(0); }},
};

const Row kTransposedAdd = {"transposed_add", "x + y.T", 2, 1,
                            [](const Operands& o) { return o.x + o.turned.permute({1, 0}); }};

std::int64_t cache_of_a_core() {
    const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? bytes : std::int64_t{256} << 10;
}

/// Both numbers of rows at once on every thread, each with operands of its own. What a call costs
/// whatever its size falls out in the difference.
class FewRows final : public InCache {
   public:
    FewRows(Make make, std::int64_t rows, std::int64_t columns, DType dtype)
        : make_(make), rows_(rows) {
        const auto row = columns * static_cast<std::int64_t>(size_of(dtype));
        more_ = std::clamp<std::int64_t>(cache_of_a_core() * 6 / 10 / (3 * row), 2, rows);
        less_ = std::max<std::int64_t>(1, more_ / 3);
        for (int i = 0; i < runtime::thread_count(); ++i)
            threads_.push_back(
                {Operands(less_, columns, dtype), Operands(more_, columns, dtype), 0, 0});
        read();  // plans, and asks for code
        finish_compiling();
        for (Thread& thread : threads_) thread.less = thread.more = 0;
    }

    void read() override {
        runtime::share_out(
            static_cast<std::int64_t>(threads_.size()), 1,
            [](void* data, std::int64_t begin, std::int64_t end) {
                auto& self = *static_cast<FewRows*>(data);
                for (std::int64_t i = begin; i < end; ++i)
                    self.read(self.threads_[static_cast<std::size_t>(i)]);
            },
            this);
    }

    double seconds() const override {
        if (more_ <= less_) return 0;
        double a_row = 0;
        for (const Thread& thread : threads_)
            a_row += (thread.more - thread.less) / static_cast<double>(more_ - less_);
        // The mean of the threads, of which each has its share of the rows.
        const auto threads = static_cast<double>(threads_.size());
        return std::max(0.0, a_row / threads * static_cast<double>(rows_) / threads);
    }

   private:
    struct Thread {
        Operands few, many;
        double less, more;  // best times, in seconds
    };
    void read(Thread& thread) const {
        const auto best = [&](const Operands& operands, double before) {
            double least = before > 0 ? before : 1e300;
            const double until = now() + 5e-4;
            do {
                const double start = now();
                (void)make_(operands).eval();
                least = std::min(least, now() - start);
            } while (now() < until);
            return least;
        };
        thread.less = best(thread.few, thread.less);
        thread.more = best(thread.many, thread.more);
    }

    Make make_;
    std::int64_t rows_;
    std::int64_t less_ = 0, more_ = 0;
    std::vector<Thread> threads_;
};

/// Operands that cases share, made when the first of them runs.
class Shared {
   public:
    Shared(std::int64_t rows, std::int64_t columns, DType dtype)
        : rows(rows), columns(columns), dtype(dtype) {}
    const Operands& get() {
        if (!made_) made_.emplace(rows, columns, dtype);
        return *made_;
    }
    double bytes() const {
        return static_cast<double>(rows) * static_cast<double>(columns) *
               static_cast<double>(size_of(dtype));
    }
    std::string text() const {
        return std::string(name(dtype)) + "/" + sizes_text({rows, columns});
    }
    const std::int64_t rows, columns;
    const DType dtype;

   private:
    std::optional<Operands> made_;
};

Case case_of(const Row& row, const std::shared_ptr<Shared>& shared) {
    return {std::string(row.name) + "/" + shared->text(), row.about, [&row, shared] {
                const Operands& operands = shared->get();
                return Work{.run = [&row, &operands, shared] { (void)row.make(operands).eval(); },
                            .streams = {row.reads, row.writes, shared->bytes()},
                            .in_cache = std::make_shared<FewRows>(row.make, shared->rows,
                                                                  shared->columns, shared->dtype)};
            }};
}

/// The same expression, one operation at a time: what fusing them brings.
Case eager_case(const Row& row, const std::shared_ptr<Shared>& shared) {
    const std::string lazy = std::string(row.name) + "/" + shared->text();
    return {"eager/" + lazy, row.about,
            [&row, shared] {
                const Operands& operands = shared->get();
                return Work{.run = [&row, &operands, shared] {
                    const eager::Scope scope;
                    (void)row.make(operands).eval();
                }};
            },
            lazy};
}

const Row* row_of(std::string_view name) {
    return std::find_if(std::begin(kRows), std::end(kRows),
                        [&](const Row& row) { return name == row.name; });
}

}  // namespace

std::vector<Group> kernel_groups(const Setup& setup) {
    std::vector<Group> out;
    const std::int64_t rows = setup.quick ? 128 : 4096;
    const std::int64_t columns = setup.quick ? 512 : 8192;
    const std::int64_t square = setup.quick ? 256 : 4096;
    for (const DType dtype : {f32, bf16}) {
        const auto shared = std::make_shared<Shared>(rows, columns, dtype);
        Group& group = out.emplace_back();
        group.title = "kernels, " + shared->text();
        for (const Row& row : kRows) group.cases.push_back(case_of(row, shared));
        group.cases.push_back(
            case_of(kTransposedAdd, std::make_shared<Shared>(square, square, dtype)));
        if (dtype != f32) continue;
        for (const char* name : {"tanh_chain", "chain", "sum_squares"})
            group.cases.push_back(eager_case(*row_of(name), shared));
    }
    const auto little = std::make_shared<Shared>(128, 1024, f32);
    Group& small = out.emplace_back();
    small.title = "small work, from the call to the result";
    for (const char* name : {"softmax", "rms_norm", "layer_norm"})
        small.cases.push_back(case_of(*row_of(name), little));
    small.cases.push_back({"call/f32/16", "x + y of 16 elements", [] {
                               const Tensor x = drawn(1, {16}, f32);
                               return Work{.run = [x] { (void)(x + x).eval(); }};
                           }});
    small.cases.push_back({"loop_step/f32/16", "one of 1,000 steps of a loop on 16 elements", [] {
                               const Tensor x = drawn(1, {16}, f32);
                               return Work{.run =
                                               [x] {
                                                   const auto step = [](const Tensor&,
                                                                        const auto& now) {
                                                       return Looped{{now[0] * 0.5 + 1.0}};
                                                   };
                                                   (void)loop(1000, {x}, step).carried[0].eval();
                                               },
                                           .times = 1000};
                           }});
    return out;
}

}  // namespace lazuli::bench
