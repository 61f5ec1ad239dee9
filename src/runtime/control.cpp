#include "runtime/control.h"

#include <cstring>

#include "ir/layout.h"
#include "lazuli/program.h"
#include "ops/bundle.h"
#include "ops/control.h"
#include "runtime/inspect.h"
#include "runtime/plan_list.h"

namespace lazuli::runtime {

namespace {

// ---- plans of bodies

/// Bodies are attributes, known by a number.
PlanList<std::uint64_t>& body_plans() {
    static PlanList<std::uint64_t>& plans = *new PlanList<std::uint64_t>(256);
    return plans;
}

// ---- values

/// Memory of an operand, which outlives the loop.
class Borrowed final : public Buffer {
   public:
    Borrowed(Device device, const void* data, std::size_t bytes)
        : Buffer(device, bytes), data_(data) {}
    const void* host_data() const override { return data_; }
    void* host_mutable() override { return nullptr; }

   private:
    const void* data_;
};

Binding bound(BufferPtr buffer, const TensorSpec& spec) {
    return {std::move(buffer), 0, ir::dense_byte_strides(spec), true};
}

Binding borrowed(Device device, const HostArray& array) {
    return bound(std::make_shared<Borrowed>(device, array.data,
                                            static_cast<std::size_t>(array.spec->nbytes())),
                 *array.spec);
}

void copy_to(void* to, const Binding& from, const TensorSpec& spec) {
    const auto bytes = static_cast<std::size_t>(spec.nbytes());
    if (bytes > 0)
        std::memcpy(to, static_cast<const char*>(Reading(*from.buffer).data()) + from.offset,
                    bytes);
}

/// Lets a step compute in the place of what only the loop has: what the step before made.
void offer(std::span<Binding> params) {
    static thread_local bool given_away;  // nobody asks: the loop as a whole can be tried again
    for (Binding& param : params) {
        const bool own = param.buffer.use_count() == 1 && param.buffer->host_mutable() != nullptr;
        param.given_away = own ? &given_away : nullptr;
    }
}
void keep(std::span<Binding> params) {
    for (Binding& param : params) param.given_away = nullptr;
}

std::shared_ptr<const plan::Plan> plan_of(const Attrs& attrs, int attr, Device device) {
    // Attributes of programs take a word each and stand first.
    const std::uint64_t number = attrs.words()[static_cast<std::size_t>(attr)];
    return body_plans().find(number, attrs.program(attr), device);
}

/// A body with the operands that it takes.
class Body {
   public:
    Body(Backend& backend, const EvalArgs& args, int attr)
        : plan_(plan_of(args.attrs, attr, backend.device())), runs_(backend_of(plan_->device)) {}

    std::vector<BufferPtr> run(std::span<const Binding> params) const {
        const Execution::Pause part_of_the_loop;
        if (is_inspecting()) return run_inspected(program(), runs_.device(), params, {});
        try {
            return runs_.run(plan_->prepared.get(), params);
        } catch (const SomeFailed& some) {  // a loop fails as a whole
            for (const std::exception_ptr& error : some.errors) {
                if (error != nullptr) std::rethrow_exception(error);
            }
            throw;
        }
    }
    const Program& program() const { return plan_->program; }
    TensorSpec result(std::size_t i) const { return program().spec(program().results()[i].value); }

   private:
    std::shared_ptr<const plan::Plan> plan_;
    Backend& runs_;
};

/// Where each result lies in the bundle.
std::vector<char*> places(const EvalArgs& args, std::span<const TensorSpec> results) {
    const ops::BundleLayout layout = ops::bundle_layout(results);
    std::vector<char*> out;
    for (const std::int64_t offset : layout.offsets) out.push_back(args.result<char>() + offset);
    return out;
}

InferArgs infer_args(const EvalArgs& args, std::vector<const TensorSpec*>& specs) {
    for (const HostArray& input : args.inputs) specs.push_back(input.spec);
    return {args.op, specs, args.attrs};
}

// ---- running

void run_loop(Backend& backend, const EvalArgs& args) {
    using ops::LoopAttr;
    const Device device = backend.device();
    const Body body(backend, args, LoopAttr::body);
    const std::int64_t fixed = args.attrs.integer(LoopAttr::trips);
    const std::size_t first = fixed < 0 ? 1 : 0;
    const std::int64_t trips = fixed < 0 ? *args.inputs[0].as<std::int64_t>() : fixed;
    const auto carried = static_cast<std::size_t>(args.attrs.integer(LoopAttr::carried));
    const auto scanned = static_cast<std::size_t>(args.attrs.integer(LoopAttr::scanned));
    const bool reverse = args.attrs.boolean(LoopAttr::reverse);
    std::vector<const TensorSpec*> specs;
    const std::vector<TensorSpec> results = ops::loop_results(infer_args(args, specs));
    const std::vector<char*> to = places(args, results);
    // The step's number, then the operands; what is carried and scanned changes from step to step.
    const BufferPtr counter = backend.allocate(sizeof(std::int64_t));
    std::vector<Binding> params{bound(counter, {i64, {}})};
    for (std::size_t i = first; i < args.inputs.size(); ++i)
        params.push_back(borrowed(device, args.inputs[i]));
    std::vector<std::int64_t> step_bytes;  // of what is scanned
    for (std::size_t i = 0; i < scanned; ++i) {
        const TensorSpec& step = body.program().params()[1 + carried + i].spec;
        step_bytes.push_back(step.nbytes());
        params[1 + carried + i].strides = ir::dense_byte_strides(step);
    }
    for (std::int64_t trip = 0; trip < trips; ++trip) {
        const std::int64_t at = reverse ? trips - 1 - trip : trip;
        std::memcpy(counter->host_mutable(), &at, sizeof at);
        for (std::size_t i = 0; i < scanned; ++i)
            params[1 + carried + i].offset = at * step_bytes[i];
        offer(params);
        std::vector<BufferPtr> made = body.run(params);
        for (std::size_t i = 0; i < carried; ++i) params[1 + i].buffer = std::move(made[i]);
        for (std::size_t i = carried; i < made.size(); ++i) {
            const TensorSpec spec = body.result(i);
            copy_to(to[i] + at * spec.nbytes(), bound(made[i], spec), spec);
        }
    }
    for (std::size_t i = 0; i < carried; ++i) copy_to(to[i], params[1 + i], results[i]);
}

void run_cond(Backend& backend, const EvalArgs& args) {
    const bool holds = *args.inputs[0].as<bool>();
    const Body body(backend, args, holds ? ops::CondAttr::then : ops::CondAttr::otherwise);
    std::vector<const TensorSpec*> specs;
    const std::vector<TensorSpec> results = ops::cond_results(infer_args(args, specs));
    const std::vector<char*> to = places(args, results);
    std::vector<Binding> params;
    for (std::size_t i = 1; i < args.inputs.size(); ++i)
        params.push_back(borrowed(backend.device(), args.inputs[i]));
    const std::vector<BufferPtr> made = body.run(params);
    for (std::size_t i = 0; i < made.size(); ++i)
        copy_to(to[i], bound(made[i], results[i]), results[i]);
}

void run_while(Backend& backend, const EvalArgs& args) {
    const Body test(backend, args, ops::WhileAttr::test);
    const Body body(backend, args, ops::WhileAttr::body);
    std::vector<const TensorSpec*> specs;
    const std::vector<TensorSpec> results = ops::while_results(infer_args(args, specs));
    const std::vector<char*> to = places(args, results);
    std::vector<Binding> params;
    for (const HostArray& input : args.inputs) params.push_back(borrowed(backend.device(), input));
    while (*static_cast<const bool*>(test.run(params)[0]->address())) {
        offer(params);
        std::vector<BufferPtr> made = body.run(params);
        for (std::size_t i = 0; i < made.size(); ++i) params[i].buffer = std::move(made[i]);
        keep(params);
    }
    for (std::size_t i = 0; i < results.size(); ++i) copy_to(to[i], params[i], results[i]);
}

}  // namespace

bool is_control(const OpDef& op) {
    return !op.attrs.empty() && op.attrs[0].kind == AttrKind::program;
}

void plan_bodies(const Operation& operation, Device device) {
    const std::vector<AttrDef>& attrs = operation.def().attrs;
    for (std::size_t i = 0; i < attrs.size() && attrs[i].kind == AttrKind::program; ++i)
        (void)plan_of(operation.attrs(), static_cast<int>(i), device);
}

void run_control(Backend& backend, const EvalArgs& args) {
    if (args.op.name == "loop") return run_loop(backend, args);
    if (args.op.name == "cond") return run_cond(backend, args);
    run_while(backend, args);
}

void clear_body_plans() { body_plans().clear(); }

}  // namespace lazuli::runtime
