#include "plan/contraction.h"

#include <algorithm>
#include <set>

#include "ir/placement.h"
#include "ops/convolution.h"
#include "plan/memory.h"

namespace lazuli::plan {

namespace {

using Number = std::uint32_t;

bool holds(const codegen::Group& group, ValueRef v) {
    return !v.is_param() && std::binary_search(group.operations.begin(), group.operations.end(),
                                               static_cast<Number>(v.index()));
}

/// The operations of a group that a value is made of, itself included; empty where it is in memory.
std::set<Number> cone(const Program& program, const codegen::Group& group, ValueRef root,
                      std::optional<Number> without = {}) {
    std::set<Number> out;
    std::vector<ValueRef> open{root};
    while (!open.empty()) {
        const ValueRef v = open.back();
        open.pop_back();
        if (!holds(group, v)) continue;
        const auto number = static_cast<Number>(v.index());
        if (number == without || !out.insert(number).second) continue;
        const Operation operation = program.operation(number);
        for (std::size_t k = 0; k < operation.input_count(); ++k)
            open.push_back(operation.input(k));
    }
    return out;
}

/// A value in memory and the steps through it along each axis of an operand.
struct Seen {
    ValueRef value;
    std::int64_t offset = 0;
    std::vector<std::int64_t> steps;
};

std::vector<std::int64_t> row_major(const Shape& shape) {
    std::vector<std::int64_t> out(shape.size(), 0);
    std::int64_t step = 1;
    for (int d = shape.rank() - 1; d >= 0; --d) {
        out[static_cast<std::size_t>(d)] = step;
        step *= shape[d];
    }
    return out;
}

bool is_byte(DType dtype) { return dtype == DType::i8 || dtype == DType::u8; }

/// Whether the operation makes i32 of bytes.
bool widens_bytes(const Program& program, const Operation& operation) {
    return operation.def().name == "cast" && operation.spec().dtype == DType::i32 &&
           is_byte(program.spec(operation.input(0)).dtype);
}

/// The operand as a view of memory, where it is one; of bytes, where those may be widened, which
/// the group may have to compute first.
std::optional<Seen> seen_in_memory(const Program& program, const codegen::Group& group, ValueRef v,
                                   bool may_widen) {
    std::vector<Operation> movements;  // from the operand to the memory
    while (holds(group, v)) {
        const Operation operation = program.operation(v.index());
        const bool widens = may_widen && widens_bytes(program, operation);
        if (!widens && operation.def().move == nullptr) {
            if (may_widen && is_byte(operation.spec().dtype)) break;
            return std::nullopt;
        }
        if (!widens) movements.push_back(operation);
        v = operation.input(0);
    }
    const Shape shape = program.spec(v).shape;
    if (movements.empty()) return Seen{v, 0, row_major(shape)};
    Placement placement{ShapeTracker(ir::dims_of(shape))};
    for (std::size_t i = movements.size(); i-- > 0;)
        movements[i].def().move(placement, movements[i].attrs(), movements[i].spec().shape);
    const auto view = placement.tracker.to_view();
    if (!view || !view->mask.empty()) return std::nullopt;
    Seen out{v, view->offset.value(), {}};
    for (const Dim stride : view->strides) out.steps.push_back(stride.value());
    return out;
}

/// Several axes as one, the last fastest; none where some operand does not go through them in
/// equal steps.
std::optional<ProductAxis> joined(const std::vector<ProductAxis>& axes) {
    ProductAxis out;
    for (std::size_t i = axes.size(); i-- > 0;) {
        const ProductAxis& next = axes[i];
        if (next.size == 1) continue;
        if (out.size == 1) {
            out = next;
            continue;
        }
        if (next.left != out.left * out.size || next.right != out.right * out.size)
            return std::nullopt;
        out.size *= next.size;
    }
    return out;
}

/// An operand as it is in memory, or as its prologue will leave it there; the steps along its axes.
std::vector<std::int64_t> place_operand(const Program& program, const codegen::Group& group,
                                        ValueRef v, bool dense, bool may_widen,
                                        ProductOperand& out) {
    const auto seen = dense ? std::nullopt : seen_in_memory(program, group, v, may_widen);
    if (seen) {
        out.value = seen->value;
        out.dtype = program.spec(seen->value).dtype;
        out.offset = seen->offset;
    } else {
        out.value = v;
        out.dtype = program.spec(v).dtype;
        out.offset = 0;
    }
    if (holds(group, out.value)) {
        const std::set<Number> operations = cone(program, group, out.value);
        out.prologue = {{operations.begin(), operations.end()}, {out.value}};
    }
    return seen ? seen->steps : row_major(program.spec(v).shape);
}

/// Whether both operands are bytes in memory that are widened on their way to the product: then
/// they are read as they are.
bool reads_bytes(const Program& program, const codegen::Group& group, const Operation& operation) {
    if (operation.spec().dtype != DType::i32) return false;
    for (std::size_t side = 0; side < 2; ++side) {
        const auto seen = seen_in_memory(program, group, operation.input(side), true);
        if (!seen || !is_byte(program.spec(seen->value).dtype)) return false;
    }
    return true;
}

/// Rows as one axis, and as few as need be of the first ones as batches that share the right
/// operand.
std::optional<ProductAxis> rows_of(std::vector<ProductAxis> axes, std::vector<ProductAxis>& batch) {
    auto rows = joined(axes);
    while (!rows && axes.size() > 1) {
        batch.push_back(axes.front());
        axes.erase(axes.begin());
        rows = joined(axes);
    }
    return rows;
}

/// With both operands where they are, or laid out anew where views of them are `dense`.
bool find_product(const Program& program, const codegen::Group& group, const Operation& operation,
                  bool dense, Contraction& out) {
    out.of_bytes = reads_bytes(program, group, operation);
    const std::vector<std::int64_t> steps[2] = {
        place_operand(program, group, operation.input(0), dense, out.of_bytes, out.left),
        place_operand(program, group, operation.input(1), dense, out.of_bytes, out.right)};

    // Axes: batches, rows, columns, and what is summed over, each in the result's order.
    const Ints contract[2] = {operation.attrs().list(0), operation.attrs().list(1)};
    const Ints batch[2] = {operation.attrs().list(2), operation.attrs().list(3)};
    const Shape shape[2] = {program.spec(operation.input(0)).shape,
                            program.spec(operation.input(1)).shape};
    const auto step = [&](std::size_t side, std::int64_t axis) {
        return steps[side][static_cast<std::size_t>(axis)];
    };
    for (int i = 0; i < batch[0].rank(); ++i)
        out.batch.push_back(
            {shape[0][static_cast<int>(batch[0][i])], step(0, batch[0][i]), step(1, batch[1][i])});
    std::vector<ProductAxis> depth;
    for (int i = 0; i < contract[0].rank(); ++i)
        depth.push_back({shape[0][static_cast<int>(contract[0][i])], step(0, contract[0][i]),
                         step(1, contract[1][i])});
    std::vector<ProductAxis> free[2];
    for (std::size_t side = 0; side < 2; ++side) {
        for (int d = 0; d < shape[side].rank(); ++d) {
            const auto is = [&](const Ints& list) {
                return std::find(list.begin(), list.end(), d) != list.end();
            };
            if (is(contract[side]) || is(batch[side])) continue;
            free[side].push_back(
                {shape[side][d], side == 0 ? step(0, d) : 0, side == 1 ? step(1, d) : 0});
        }
    }
    const auto rows = rows_of(free[0], out.batch);
    const auto columns = joined(free[1]);
    const auto sums = joined(depth);
    if (!rows || !columns || !sums) return false;
    out.rows = *rows;
    out.columns = *columns;
    out.depth = *sums;
    return true;
}

/// Weights are the rows, places of the window the columns; images and groups are batches.
bool find_convolution(const Program& program, const codegen::Group& group,
                      const Operation& operation, Contraction& out) {
    const ops::Window window(operation.attrs());
    const Shape x = program.spec(operation.input(0)).shape;
    const Shape w = program.spec(operation.input(1)).shape;
    const Shape made = operation.spec().shape;
    const int dims = x.rank() - 2;
    if (dims > Windows::kDims) return false;
    out.of_bytes = reads_bytes(program, group, operation);
    const auto image =
        place_operand(program, group, operation.input(0), false, out.of_bytes, out.right);
    const auto depth_of = [&](const std::vector<std::int64_t>& steps) {
        std::vector<ProductAxis> axes;
        for (int d = 1; d < w.rank(); ++d)
            axes.push_back({w[d], steps[static_cast<std::size_t>(d)], 0});
        return joined(axes);
    };
    auto weights = place_operand(program, group, operation.input(1), false, out.of_bytes, out.left);
    auto depth = depth_of(weights);
    if (!depth) {
        // Laid out anew: it is not much.
        if (out.of_bytes || !holds(group, operation.input(1))) return false;
        weights = place_operand(program, group, operation.input(1), true, false, out.left);
        depth = depth_of(weights);
    }
    const std::int64_t rows = w[0] / window.groups;
    out.batch = {{x[0], 0, image[0]},
                 {window.groups, rows * weights[0], x[1] / window.groups * image[1]}};
    out.rows = {rows, weights[0], 0};
    out.depth = *depth;
    std::int64_t places = 1;
    for (int d = 2; d < made.rank(); ++d) places *= made[d];
    out.columns = {places, 0, 1};
    // A window of one element that goes everywhere: a product of matrices.
    bool plain = true;
    std::vector<ProductAxis> axes;
    for (int d = 0; d < dims; ++d) {
        plain = plain && w[2 + d] == 1 && window.strides[d] == 1 && window.before[d] == 0 &&
                window.after[d] == 0;
        axes.push_back({made[2 + d], 0, image[static_cast<std::size_t>(2 + d)]});
    }
    if (const auto columns = joined(axes); plain && columns) {
        out.columns = *columns;
        out.depth.right = image[1];
        return true;
    }
    Windows lie;
    lie.channel_stride = image[1];
    for (int d = 0; d < dims; ++d) {
        const int to = Windows::kDims - dims + d;
        lie.strides[to] = image[static_cast<std::size_t>(2 + d)];
        lie.sizes[to] = x[2 + d];
        lie.places[to] = made[2 + d];
        lie.window[to] = w[2 + d];
        lie.steps[to] = window.strides[d];
        lie.dilation[to] = window.dilation[d];
        lie.before[to] = window.before[d];
    }
    out.windows = lie;
    return true;
}

}  // namespace

std::optional<Contraction> find_contraction(const Program& program, const codegen::Group& group) {
    std::optional<Number> found;
    for (const Number number : group.operations) {
        const Lowering how = program.operation(number).def().lowering;
        if (how != Lowering::contraction && how != Lowering::convolution) continue;
        if (found) return std::nullopt;
        found = number;
    }
    if (!found) return std::nullopt;
    const Operation operation = program.operation(*found);
    Contraction out;
    out.product = ValueRef::op(*found);
    bool fits = operation.def().lowering == Lowering::contraction
                    ? find_product(program, group, operation, false, out)
                    : find_convolution(program, group, operation, out);
    if (!fits && operation.def().lowering == Lowering::contraction && !out.of_bytes) {
        out = {.product = out.product};
        fits = find_product(program, group, operation, true, out);
    }
    if (!fits) return std::nullopt;

    // What is left of the group comes behind the product; what only operands need does not.
    std::set<Number> behind;
    for (const ValueRef output : group.outputs) {
        const std::set<Number> part = cone(program, group, output, *found);
        behind.insert(part.begin(), part.end());
    }
    // Somebody may want the product itself as well: then it is read back while it is in the cache.
    std::vector<ValueRef> others;
    for (const ValueRef output : group.outputs) {
        if (!(output == out.product)) others.push_back(output);
    }
    if (!others.empty()) out.epilogue = {{behind.begin(), behind.end()}, others};
    return out;
}

ContractionRoom room_of(const Program& program, const Contraction& contraction,
                        std::span<const ValueRef> buffers, bool product_in_output) {
    const auto aligned = [&](ValueRef v) {
        return (program.spec(v).nbytes() + kValueAlignment - 1) / kValueAlignment * kValueAlignment;
    };
    ContractionRoom out;
    if (!contraction.left.prologue.operations.empty()) out.left = aligned(contraction.left.value);
    if (!contraction.right.prologue.operations.empty())
        out.right = aligned(contraction.right.value);
    if (!product_in_output &&
        std::find(buffers.begin(), buffers.end(), contraction.product) == buffers.end())
        out.product = aligned(contraction.product);
    return out;
}

}  // namespace lazuli::plan
