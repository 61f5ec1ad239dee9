#include "frontend/bodies.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/record.h"
#include "ir/arena.h"
#include "ir/engine.h"
#include "ir/graph.h"

namespace lazuli::frontend {

using Tensors = std::vector<Tensor>;

namespace {

/// While it lives, what is recorded is a body's: nothing of it is evaluated, and it belongs to no
/// scope of the user's.
class BodyScope {
   public:
    BodyScope() : eager_(mode().eager), no_grad_(mode().no_grad), graph_scope_(mode().graph_scope) {
        mode().eager = 0;
        mode().no_grad = 0;
        mode().graph_scope = nullptr;
        ++mode().hold_flush;
        ++mode().bodies;
        mode().update();
    }
    ~BodyScope() {
        mode().eager = eager_;
        mode().no_grad = no_grad_;
        mode().graph_scope = graph_scope_;
        --mode().hold_flush;
        --mode().bodies;
        mode().update();
    }
    BodyScope(const BodyScope&) = delete;
    BodyScope& operator=(const BodyScope&) = delete;

   private:
    static ir::RecordingMode& mode() { return ir::arena().mode; }
    decltype(ir::RecordingMode::eager) eager_;
    decltype(ir::RecordingMode::no_grad) no_grad_;
    decltype(ir::RecordingMode::graph_scope) graph_scope_;
};

}  // namespace

std::vector<TensorSpec> specs_of(std::string_view op, const Tensors& tensors) {
    std::vector<TensorSpec> out;
    for (const Tensor& tensor : tensors) out.push_back(require_node(op, tensor).spec);
    return out;
}

Device home_of(const Tensors& tensors) {
    return tensors.empty() ? ir::engine().default_device() : tensors[0].device();
}

Tensor make_argument(std::size_t number, const TensorSpec& spec, Device device) {
    static const OpRef argument("argument");
    AttrWords words;
    words.integer(static_cast<std::int64_t>(number));
    return make_node(argument, spec, device, {}, words.words());
}

Recorded record_body(std::string_view op, std::span<const TensorSpec> specs, Device device,
                     const std::function<Tensors(const Tensors&)>& body) {
    const BodyScope scope;
    Recorded out;
    for (std::size_t i = 0; i < specs.size(); ++i)
        out.arguments.push_back(make_argument(i, specs[i], device));
    out.first_id = ir::arena().current_id() + 1;
    out.results = body(out.arguments);
    out.last_id = ir::arena().current_id();
    for (const Tensor& result : out.results) (void)require_node(op, result);
    return out;
}

void Outside::capture(const Recorded& body) {
    std::vector<ir::Node*> targets;
    for (const Tensor& result : body.results) targets.push_back(node_of(result));
    ir::Capture captured;
    const std::scoped_lock lock(ir::graph_lock());
    ir::capture(targets, {.first = body.first_id, .last = body.last_id}, false, captured);
    Part part{captured.program(), {}, {}};
    for (const ir::Node* node : captured.nodes)
        part.numbers.push_back(node->has_flag(ir::kNumberFlag));
    for (ir::Node* param : captured.params) {
        const auto is = [&](const Tensor& t) { return node_of(t) == param; };
        const auto own = std::find_if(body.arguments.begin(), body.arguments.end(), is);
        if (own != body.arguments.end()) {
            part.sources.push_back(own - body.arguments.begin());
            continue;
        }
        auto at = std::find_if(operands_.begin(), operands_.end(), is);
        if (at == operands_.end()) {
            ir::retain(param);
            at = operands_.insert(operands_.end(), Tensor::adopt(param));
        }
        part.sources.push_back(-1 - (at - operands_.begin()));
    }
    parts_.push_back(std::move(part));
}

Program Outside::program(std::size_t i, std::span<const TensorSpec> arguments) const {
    ProgramBuilder builder;
    std::vector<Value> params;
    for (std::size_t k = 0; k < arguments.size(); ++k)
        params.push_back(builder.param(fmt::format("a{}", k), arguments[k]));
    for (std::size_t k = 0; k < operands_.size(); ++k)
        params.push_back(builder.param(fmt::format("x{}", k), operands_[k].spec()));
    const auto& [program, sources, numbers] = parts_[i];
    std::vector<Value> values;
    const auto value = [&](ValueRef v) {
        if (!v.is_param()) return values[v.index()];
        const std::ptrdiff_t from = sources[v.index()];
        return params[from >= 0 ? static_cast<std::size_t>(from)
                                : arguments.size() + static_cast<std::size_t>(-1 - from)];
    };
    for (std::size_t k = 0; k < program.size(); ++k) {
        const Operation operation = program.operation(k);
        std::vector<Value> inputs;
        for (std::size_t j = 0; j < operation.input_count(); ++j)
            inputs.push_back(value(operation.input(j)));
        const TensorSpec spec = operation.spec();
        values.push_back(builder.op(operation.op(), inputs, operation.attrs().words(), &spec));
        // Of several results the parts are numbers themselves.
        if (numbers[k] && operation.def().results == nullptr)
            values.back() = builder.op("stop_gradient", {&values.back(), 1});
    }
    for (const ProgramResult& result : program.results()) builder.result(value(result.value));
    return builder.build();
}

}  // namespace lazuli::frontend
