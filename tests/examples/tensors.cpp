#include <sstream>

#include "example.h"

// Tensors: what they are made of, what they know, how they are read and indexed.

namespace examples {

namespace {

void making(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(Tensor, "i32[], f32[3], f32[2, 2], bool[2]", [] {
        const Tensor number(7);
        const Tensor vector = {1.0, 2.0, 3.0};
        const Tensor matrix = {{1.0, 2.0}, {3.0, 4.0}};
        const Tensor truth = {true, false};
        return std::tuple(number.spec(), vector.spec(), matrix.spec(), truth.spec());
    });
    LAZULI_EXAMPLE(Tensor::from, "[[1, 2, 3], [4, 5, 6]]", [] {
        const std::vector<double> values = {1, 2, 3, 4, 5, 6};
        return Tensor::from(values, {2, 3});
    });
    LAZULI_EXAMPLE(lift, "[[1, 2], [3, 4]], [[1, 3], [2, 4]]", [] {
        static const float mine[] = {1, 2, 3, 4};  // read where it lies, never copied
        const Tensor rows = lift(std::span<const float>(mine), {2, 2});
        const Tensor columns = lift(mine, f32, {2, 2}, {4, 8});
        return std::pair(rows, columns);
    });
    LAZULI_EXAMPLE(operator=, "true", [] {
        const Tensor x = {1.0, 2.0};
        Tensor y;
        y = x;  // another reference to the same tensor
        return y.id() == x.id();
    });
    LAZULI_EXAMPLE(Tensor::swap, "[3, 4], [1, 2]", [] {
        Tensor x = {1, 2};
        Tensor y = {3, 4};
        x.swap(y);
        return std::pair(x, y);
    });
}

void knowing(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(Tensor::defined, "false, true",
                   [] { return std::pair(Tensor().defined(), Tensor({1, 2}).defined()); });
    LAZULI_EXAMPLE(Tensor::spec, "f32[2, 3]", zeros({2, 3}).spec());
    LAZULI_EXAMPLE(Tensor::shape, "[2, 3]", zeros({2, 3}).shape());
    LAZULI_EXAMPLE(Tensor::size, "3", zeros({2, 3}).size(-1));
    LAZULI_EXAMPLE(Tensor::rank, "2", zeros({2, 3}).rank());
    LAZULI_EXAMPLE(Tensor::numel, "6", zeros({2, 3}).numel());
    LAZULI_EXAMPLE(Tensor::dtype, "f16", zeros({2, 3}, f16).dtype());
    LAZULI_EXAMPLE(Tensor::device, "reference", zeros({2, 3}, Device("reference")).device());
    LAZULI_EXAMPLE(Tensor::id, "true, false", [] {
        const Tensor x = {1.0, 2.0};
        const Tensor same = x;
        return std::pair(same.id() == x.id(), (x + 1).id() == (x + 1).id());
    });
    LAZULI_EXAMPLE(Tensor::op, "data, tanh", [] {
        const Tensor x = {1.0, 2.0};
        return std::pair(x.op(), x.tanh().op());
    });
    LAZULI_EXAMPLE(Tensor::is_materialized, "false, true", [] {
        const Tensor y = Tensor({1.0, 2.0}) + 1;
        const bool before = y.is_materialized();
        y.eval();
        return std::pair(before, y.is_materialized());
    });
    LAZULI_EXAMPLE(Tensor::graph_size, "3, 0", [] {
        const Tensor y = Tensor({1.0, 2.0}).tanh().exp().abs();
        const std::size_t before = y.graph_size();
        y.eval();
        return std::pair(before, y.graph_size());
    });
    LAZULI_EXAMPLE(Tensor::name,
                   "weights, program(weights: f32[2]) {\n"
                   "  %0 = exp(weights) : f32[2]\n"
                   "  return %0\n"
                   "}",
                   [] {
                       Tensor x = {1.0, 2.0};
                       x.name("weights");
                       return std::pair(x.name(), capture(x.exp()));
                   });
    LAZULI_EXAMPLE(Tensor::is_view, "true, false", [] {
        const Tensor x = {{1.0, 2.0}, {3.0, 4.0}};
        return std::pair(x.transpose().is_view(), (x + 1).is_view());
    });
    LAZULI_EXAMPLE(Tensor::view, "[3, 2], [1, 3]", [] {
        const Tensor x = {{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
        const View view = x.transpose().view().top();
        return std::pair(view.shape, view.strides);
    });
    LAZULI_EXAMPLE(Tensor::str, "Tensor(op=add, shape=[2], dtype=f32, lazy)",
                   (Tensor{1.0, 2.0} + 1).str());
    LAZULI_EXAMPLE(Tensor::str, "[2. 3.]", (Tensor{1.0, 2.0} + 1).str({.eval = true}));
    LAZULI_EXAMPLE(print, "[1 2 3]", printed([] { print(Tensor{1, 2, 3}, {.eval = true}); }));
    LAZULI_EXAMPLE(operator<<, "Tensor(op=data, shape=[3], dtype=i32, available)", [] {
        std::ostringstream out;
        out << Tensor{1, 2, 3};
        return out.str();
    });
    LAZULI_EXAMPLE(Tensor::explain,
                   "cache: miss, these operations were not planned before\n"
                   "5 operations in 1 kernel; 16 B read, 16 B written\n"
                   "  kernel  reads  writes  operations\n"
                   "  k0       16 B    16 B  constant, mul, tanh, constant, add -> %4 f32[4]",
                   [] {
                       const Tensor x = {1.0, 2.0, 3.0, 4.0};
                       return (tanh(x * 2.0) + 1).explain();
                   });
    LAZULI_EXAMPLE((Tensor::explanation, Explanation::str), "1, 16, true", [] {
        const Tensor x = {1.0, 2.0, 3.0, 4.0};
        const Explanation e = (tanh(x * 2.0) + 1).explanation();
        return std::tuple(e.kernels.size(), e.bytes_written,
                          e.str().find("tanh") != std::string::npos);
    });
    LAZULI_EXAMPLE(explain, "1", [] {
        const Tensor x = {1.0, 2.0, 3.0, 4.0};
        const Tensor y = tanh(x);
        const Tensor both[] = {y * 2.0, y + 1.0};
        return explain(both).kernels.size();  // what they share is computed once
    });
}

void reading(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(Tensor::eval, "[5, 7, 9]", [] {
        const Tensor y = Tensor({1, 2, 3}) + Tensor({4, 5, 6});  // recorded, not computed
        return y.eval();
    });
    LAZULI_EXAMPLE(eval, "true, true", [] {
        const Tensor shared = Tensor({1.0, 2.0}).exp();
        const Tensor a = shared + 1;
        const Tensor b = shared * 2;
        eval(a, b);  // the exponentials are computed once
        return std::pair(a.is_materialized(), b.is_materialized());
    });
    LAZULI_EXAMPLE(Tensor::freeze, "[[19, 22], [43, 50]]", [] {
        const Tensor weights = {{5.0, 6.0}, {7.0, 8.0}};
        weights.freeze();  // products keep it in the order in which they read it
        return matmul(Tensor{{1.0, 2.0}, {3.0, 4.0}}, weights);
    });
    LAZULI_EXAMPLE(Tensor::to, "reference, [2, 4]", [] {
        const Tensor there = Tensor({1.0, 2.0}).to(Device("reference"));
        return std::pair(there.device(), there * 2);
    });
    LAZULI_EXAMPLE(Tensor::item, "6", Tensor({1.0, 2.0, 3.0}).sum().item<float>());
    LAZULI_EXAMPLE(Tensor::data, "3", [] {
        const Tensor x = {{1.0, 2.0}, {3.0, 4.0}};
        return x.data<float>()[2];
    });
    LAZULI_EXAMPLE(Tensor::to_vector, "[2, 3, 4]", (Tensor{1, 2, 3} + 1).to_vector<int>());
    LAZULI_EXAMPLE(operator bool, "positive", [] {
        const Tensor x = {1.0, 2.0};
        return all(x > 0) ? "positive" : "not positive";
    });
    LAZULI_EXAMPLE(capture,
                   "program(p0: f32[2]) {\n"
                   "  %0 = tanh(p0) : f32[2]\n"
                   "  %1 = sum(%0) axes=[0] keepdims=false : f32[]\n"
                   "  return %1\n"
                   "}",
                   capture(Tensor({1.0, 2.0}).tanh().sum()));
}

void indexing(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(operator[], "[4, 5, 6]", Tensor({{1, 2, 3}, {4, 5, 6}})[1]);
    LAZULI_EXAMPLE(operator[], "[30, 10]", Tensor({10, 20, 30})[Tensor{2, 0}]);
    LAZULI_EXAMPLE(operator[], "[20, 30]", [] {
        const Tensor x = {10, 20, 30};
        return x[x > 15];
    });
    LAZULI_EXAMPLE(operator(), "[2, 5]", Tensor({{1, 2, 3}, {4, 5, 6}})(whole, 1));
    LAZULI_EXAMPLE(operator(), "[[3, 1], [6, 4]]",
                   Tensor({{1, 2, 3}, {4, 5, 6}})(ellipsis, slice({}, {}, -2)));
    LAZULI_EXAMPLE(operator(), "[1, 3, 2]", zeros({3, 2})(newaxis, ellipsis).shape());
    LAZULI_EXAMPLE((Index, at), "[4, 6]", [] {
        const Tensor x = {{1, 2, 3}, {4, 5, 6}};
        const std::vector<Index> index = {Index(-1), Index(slice(0, {}, 2))};
        return at(x, index);
    });
}

void operands(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((Operand, Operand::is_scalar, Operand::scalar), "false, true, 2.5", [] {
        const Tensor x = {1.0, 2.0};
        const Operand tensor = x;
        const Operand number = 2.5;
        return std::tuple(tensor.is_scalar(), number.is_scalar(), number.scalar());
    });
    LAZULI_EXAMPLE((Operand::node, Operand::take), "true, false", [] {
        Tensor x = {1.0, 2.0};
        const Operand handed_over = std::move(x);
        const Tensor same = Tensor::adopt(handed_over.take());
        return std::pair(Operand(same).node() == handed_over.node(), x.defined());
    });
}

}  // namespace

Examples tensors() {
    Examples out;
    making(out);
    knowing(out);
    reading(out);
    indexing(out);
    operands(out);
    return out;
}

}  // namespace examples
