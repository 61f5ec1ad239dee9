#include "runtime/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/env.h"
#include "frontend/policy.h"
#include "ir/arena.h"
#include "ir/graph.h"
#include "ir/layout.h"
#include "ir/op_table.h"
#include "ir/placement.h"
#include "lazuli/error.h"
#include "lazuli/graph.h"
#include "optimize/pipeline.h"
#include "plan/cache.h"
#include "plan/expand.h"
#include "plan/explain.h"
#include "runtime/benchmark.h"
#include "runtime/control.h"
#include "runtime/memory.h"

namespace lazuli {

/// An evaluation under way. Nodes in flight point to it; threads that need their values wait for
/// it.
struct ir::Flight : std::enable_shared_from_this<ir::Flight> {
    void finish() {
        {
            const std::scoped_lock lock(mutex);
            done = true;
        }
        changed.notify_all();
    }
    void wait();

    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    const std::thread::id owner = std::this_thread::get_id();
};

namespace {

/// Which flight each waiting thread waits for. A function called by an evaluation may evaluate in
/// turn, so a thread can wait while others wait for it; where that closes a circle, waiting would
/// never end.
struct Waiters {
    std::mutex mutex;
    std::map<std::thread::id, const ir::Flight*> flights;
};

Waiters& waiters() {
    static Waiters& w = *new Waiters;
    return w;
}

}  // namespace

void ir::Flight::wait() {
    const std::thread::id me = std::this_thread::get_id();
    Waiters& all = waiters();
    {
        const std::scoped_lock lock(all.mutex);
        for (const Flight* at = this; at != nullptr;) {
            if (at->owner == me) {
                throw CycleError(
                    "a function that is being evaluated asks for a tensor that waits for that "
                    "function");
            }
            const auto next = all.flights.find(at->owner);
            at = next == all.flights.end() ? nullptr : next->second;
        }
        all.flights[me] = this;
    }
    {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return done; });
    }
    const std::scoped_lock lock(all.mutex);
    all.flights.erase(me);
}

namespace runtime {

namespace {

using ir::Capture;
using ir::Flight;
using ir::Node;
using ir::State;

plan::Cache& plan_cache() {
    static plan::Cache& cache =
        *new plan::Cache(static_cast<std::size_t>(env::integer(env::Var::plan_cache_bytes)));
    return cache;
}

std::atomic<std::uint64_t> fallbacks{0};

// ---- planning

std::string list_of(std::span<const TensorSpec> specs) {
    std::string out;
    for (const TensorSpec& spec : specs) out += (out.empty() ? "" : ", ") + spec.str();
    return out;
}

plan::Context context_of(Device device) {
    return {device, frontend::policy_set(), optimize::switches_key()};
}

std::string_view reason(Miss why) {
    switch (why) {
        case Miss::new_op: return "these operations were not planned before";
        case Miss::shape: return "another shape";
        case Miss::dtype: return "another type";
        case Miss::layout: return "another layout";
        case Miss::device: return "another device";
        case Miss::policy: return "another policy, or other passes";
        case Miss::evicted: return "its plan was dropped";
    }
    __builtin_unreachable();
}

}  // namespace

std::shared_ptr<const plan::Plan> make_plan(const Program& program, Device device) {
    Backend& backend = backend_of(device);
    auto made = std::make_shared<plan::Plan>();
    made->program = program;
    made->device = device;
    plan::ExpandOptions options;
    options.keeps = [&](const OpDef& op, std::span<const TensorSpec> inputs,
                        const TensorSpec& result) { return backend.supports(op, inputs, result); };
    options.fastest = [&](OpId op, const InferArgs& args, std::span<const std::size_t> candidates,
                          std::size_t cache) {
        return fastest_implementation(backend, op, args, candidates, cache);
    };
    made->expanded = plan::expand(program, options);
    std::vector<TensorSpec> inputs;
    for (std::size_t i = 0; i < made->expanded.size(); ++i) {
        const Operation operation = made->expanded.operation(i);
        inputs.clear();
        for (std::size_t k = 0; k < operation.input_count(); ++k)
            inputs.push_back(made->expanded.spec(operation.input(k)));
        if (backend.supports(operation.def(), inputs, operation.spec())) continue;
        if (device == Device())
            throw InternalError(
                fmt::format("the reference backend lacks {}", operation.def().name));
        if (env::flag(env::Var::strict)) {
            throw DeviceError(fmt::format(
                "{}: the backend {} does not take {} -> {}, and LAZULI_STRICT is set",
                operation.def().name, backend.name(), list_of(inputs), operation.spec().str()));
        }
        made->device = Device();
        made->expanded =
            plan::expand(program, {});  // the reference backend runs every core op and no composite
        break;
    }
    Backend& runs = backend_of(made->device);
    made->prepared = runs.prepare(made->expanded);
    made->prepared_bytes = runs.prepared_bytes(made->prepared.get());
    return made;
}

namespace {

// ---- values

/// The elements of a binding, dense and row-major, at `out` in the host's memory.
void read_dense(const Binding& binding, const TensorSpec& spec, void* out) {
    const auto bytes = static_cast<std::size_t>(spec.nbytes());
    if (bytes == 0) return;
    const auto* host = static_cast<const unsigned char*>(binding.buffer->host_data());
    if (host == nullptr) {  // only dense buffers live where the host cannot see them
        backend_of(binding.buffer->device()).copy_out(out, *binding.buffer, bytes);
        return;
    }
    host += binding.offset;
    if (binding.dense) {
        std::memcpy(out, host, bytes);
        return;
    }
    ir::copy_dense(host, binding.strides, spec, out);
}

BufferPtr upload(Device device, const void* data, std::size_t bytes) {
    Backend& backend = backend_of(device);
    BufferPtr buffer = backend.allocate(bytes);
    if (bytes > 0) backend.copy_in(*buffer, data, bytes);
    note_growth();
    return buffer;
}

/// Whether the node is a number, whose value is at hand whatever its state.
bool is_number(const Node& node) {
    return has(op_def(node.op).traits, Trait::leaf) && node.word_count > 0;
}

/// A parameter's value for the device that runs the plan: where it is, or a dense copy there.
Binding bind(const Node& node, Device device) {
    if (is_number(node)) {
        alignas(16) unsigned char element[16];
        store_scalar(node.attrs().scalar(0), node.spec.dtype, element);
        return {upload(device, element, size_of(node.spec.dtype)), 0, {}, true};
    }
    const Binding& binding = node.value->binding;
    if (binding.buffer->device() == device) return binding;
    std::vector<unsigned char> bytes(static_cast<std::size_t>(node.spec.nbytes()));
    read_dense(binding, node.spec, bytes.data());
    return {upload(device, bytes.data(), bytes.size()), 0, ir::dense_byte_strides(node.spec), true};
}

// ---- evaluation

/// A reference to a node, given back at the end.
class Held {
   public:
    explicit Held(Node* node) : node_(node) { ir::retain(node); }
    Held(Held&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    Held& operator=(Held&&) = delete;
    ~Held() {
        if (node_ != nullptr) ir::release(node_);
    }
    Node* operator->() const { return node_; }
    Node* get() const { return node_; }

   private:
    Node* node_;
};

/// What went wrong, as far as it decides what becomes of the nodes.
enum class Blame : std::uint8_t { none, planning, running };

/// One attempt to make lazy targets of one device available.
class Attempt {
   public:
    /// Under the graph lock: captures, takes hold of what is needed, and marks the results as in
    /// flight. Where an operand is in flight nothing is marked: whoever waits holds nothing that
    /// others may wait for.
    Attempt(std::span<Node* const> lazy, bool keep_held, Capture& captured)
        : device_(lazy.front()->device), captured_(captured) {
        ir::capture(lazy, {}, keep_held, captured);
        for (Node* param : captured.params) {
            params_.emplace_back(param);
            if (is_number(*param)) continue;
            if (param->state.load(std::memory_order_relaxed) == State::in_flight) {
                waits_for_ = param->flight->shared_from_this();
                return;
            }
        }
        for (Node* output : captured.outputs) outputs_.emplace_back(output);
        values_.resize(outputs_.size());
        for (auto& value : values_) value = std::make_unique<ir::Materialized>();
        // Nothing throws from here on.
        for (const Held& output : outputs_) {
            if (output->state.load(std::memory_order_relaxed) != State::lazy)
                continue;  // the same target twice
            output->flight = flight_.get();
            output->state.store(State::in_flight, std::memory_order_release);
        }
    }

    /// What must be waited for before trying anew, or null where the attempt can run.
    const std::shared_ptr<Flight>& waits_for() const { return waits_for_; }

    /// Computes the results and hands them over.
    void run() {
        try {
            const std::shared_ptr<const plan::Plan> plan = find_plan();
            blame_ = Blame::running;
            std::vector<Binding> bindings;
            bindings.reserve(params_.size());
            for (const Held& param : params_) bindings.push_back(bind(*param.get(), plan->device));
            if (!(plan->device == device_)) fallbacks.fetch_add(1, std::memory_order_relaxed);
            std::vector<BufferPtr> buffers = run_plan(*plan, bindings);
            if (buffers.size() != outputs_.size())
                throw InternalError(
                    "a backend returned another number of results than the program has");
            for (std::size_t i = 0; i < buffers.size(); ++i) {
                if (!(plan->device == device_)) {  // fell back: bring the results home
                    std::vector<unsigned char> bytes(
                        static_cast<std::size_t>(outputs_[i]->spec.nbytes()));
                    backend_of(plan->device).copy_out(bytes.data(), *buffers[i], bytes.size());
                    buffers[i] = upload(device_, bytes.data(), bytes.size());
                }
                values_[i]->binding = {std::move(buffers[i]), 0,
                                       ir::dense_byte_strides(outputs_[i]->spec), true};
            }
        } catch (const OutOfMemory&) {
            blame_ = Blame::none;
            give_up(nullptr);
            throw;
        } catch (const std::bad_alloc&) {
            blame_ = Blame::none;
            give_up(nullptr);
            throw OutOfMemory("out of memory while evaluating", 0, memory_limit());
        } catch (...) {
            give_up(std::current_exception());
            throw;
        }
        complete();
    }

    /// Whether it failed while running several results, so that the failure may be that of one of
    /// them.
    bool failed_together() const { return blame_ == Blame::running && outputs_.size() > 1; }
    /// The results, for trying them one by one.
    std::vector<Held> take_outputs() { return std::move(outputs_); }

   private:
    /// Kernels that find a bad operand know little about it: the reference backend, asked for the
    /// same, says which element of what it is.
    static std::vector<BufferPtr> run_plan(const plan::Plan& plan,
                                           const std::vector<Binding>& bindings) {
        Backend& backend = backend_of(plan.device);
        try {
            return backend.run(plan.prepared.get(), bindings);
        } catch (const ExecutionError&) {
            const bool visible =
                std::all_of(bindings.begin(), bindings.end(), [](const Binding& binding) {
                    return binding.buffer->host_data() != nullptr || binding.buffer->bytes() == 0;
                });
            bool calls_user = false;  // whose functions are called once, whatever happens
            for (std::size_t i = 0; i < plan.program.size(); ++i) {
                const Operation operation = plan.program.operation(i);
                calls_user = calls_user || ir::calls_user(operation.def(), operation.attrs());
            }
            if (!(plan.device == Device()) && visible && !calls_user) {
                Backend& reference = backend_of(Device());
                (void)reference.run(reference.prepare(plan::expand(plan.program, {})).get(),
                                    bindings);
            }
            throw;
        }
    }

    std::shared_ptr<const plan::Plan> find_plan() {
        const plan::Context context = context_of(device_);
        static const std::int64_t debug = env::integer(env::Var::debug);
        auto [found, why] = plan_cache().find(captured_, context);
        if (found != nullptr) {
            if (debug > 0) fmt::print(stderr, "lazuli: plan {:016x} found\n", captured_.hash);
            return found;
        }
        const auto start = std::chrono::steady_clock::now();
        auto plan = make_plan(captured_.program(), device_);
        plan_cache().insert(captured_, context, plan);
        if (debug > 0) {
            const double microseconds =
                1e6 *
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            const auto lines = backend_of(plan->device).kernel_lines(plan->prepared.get());
            fmt::print(stderr,
                       "lazuli: plan {:016x} made for {} ({}): {} operations, {} kernels, {:.0f} "
                       "us\n",
                       captured_.hash, plan->device.name(), reason(why), plan->expanded.size(),
                       lines.size(), microseconds);
            for (const std::string& line : lines) {
                if (debug > 1) fmt::print(stderr, "lazuli:   {}\n", line);
            }
        }
        return plan;
    }

    void complete() {
        std::vector<Node*> released;
        {
            const std::scoped_lock lock(ir::graph_lock());
            for (std::size_t i = 0; i < outputs_.size(); ++i) {
                Node& node = *outputs_[i].get();
                if (node.state.load(std::memory_order_relaxed) != State::in_flight) continue;
                node.value = values_[i].release();
                node.state.store(State::available, std::memory_order_release);
                ir::detach_inputs(node, released);
            }
        }
        flight_->finish();
        for (Node* node : released) ir::release(node);
    }

    /// Results become lazy again, so that they can be tried anew, or keep the error where it is
    /// theirs alone.
    void give_up(const std::exception_ptr& error) {
        {
            const std::scoped_lock lock(ir::graph_lock());
            for (const Held& output : outputs_) {
                if (output->state.load(std::memory_order_relaxed) != State::in_flight) continue;
                if (blame_ == Blame::running && !failed_together()) {
                    output->failure = new std::exception_ptr(error);
                    output->state.store(State::failed, std::memory_order_release);
                } else {
                    output->value = nullptr;
                    output->state.store(State::lazy, std::memory_order_release);
                }
            }
        }
        flight_->finish();
    }

    Device device_;
    Capture& captured_;
    std::shared_ptr<Flight> flight_ = std::make_shared<Flight>();
    std::vector<Held> params_;
    std::vector<Held> outputs_;
    std::vector<std::unique_ptr<ir::Materialized>> values_;
    std::shared_ptr<Flight> waits_for_;
    Blame blame_ = Blame::planning;
};

/// A capture whose vectors have kept their room since the thread's last evaluation. A function
/// called by an evaluation may evaluate in turn; the inner one then starts with an empty capture.
class ScratchCapture {
   public:
    ScratchCapture() : capture_(std::move(kept())) {}
    ~ScratchCapture() { kept() = std::move(capture_); }
    ScratchCapture(const ScratchCapture&) = delete;
    ScratchCapture& operator=(const ScratchCapture&) = delete;
    Capture& get() { return capture_; }

   private:
    static Capture& kept() {
        static thread_local Capture capture;
        return capture;
    }
    Capture capture_;
};

/// Makes the targets available. `keep_held`: also interior results that somebody else holds.
void evaluate(std::span<Node* const> targets, bool keep_held) {
    ScratchCapture scratch;
    for (;;) {
        std::vector<Node*> lazy;
        std::shared_ptr<Flight> other;
        std::optional<Attempt> attempt;
        {
            const std::scoped_lock lock(ir::graph_lock());
            for (Node* target : targets) {
                switch (target->state.load(std::memory_order_acquire)) {
                    case State::available: break;
                    case State::failed: std::rethrow_exception(*target->failure);
                    case State::in_flight: other = target->flight->shared_from_this(); break;
                    case State::lazy:
                        if (lazy.empty() || lazy.front()->device == target->device) {
                            lazy.push_back(target);
                        }
                        break;
                }
            }
            if (!lazy.empty()) {
                attempt.emplace(lazy, keep_held, scratch.get());
                if (attempt->waits_for() != nullptr) other = attempt->waits_for();
            }
        }
        if (attempt && attempt->waits_for() == nullptr) {
            try {
                attempt->run();
            } catch (...) {
                if (!attempt->failed_together()) throw;
                // One of several results failed. Each is tried alone, so that the error stays with
                // those it touches; the caller's targets are among them.
                for (const Held& output : attempt->take_outputs()) {
                    Node* node = output.get();
                    try {
                        evaluate({&node, 1}, false);
                    } catch (...) {
                        // kept on the node: a failed target is thrown by the next round
                    }
                }
                for (Node* target : targets) {  // out of memory leaves no mark
                    if (target->state.load(std::memory_order_acquire) == State::lazy) throw;
                }
            }
        } else if (other) {
            attempt.reset();
            other->wait();
        } else {
            return;
        }
    }
}

/// A view has no value of its own: its base has.
void eval(std::span<Node* const> targets) {
    std::vector<Node*> owners;
    for (Node* target : targets) owners.push_back(ir::owner_of(target));
    evaluate(owners, true);
}

void download(const Node& node, void* out);

/// The elements that a view picks out of its base, dense at `out` in the host's memory.
void read_view(const Node& view, void* out) {
    const Node& base = *view.inputs_inline[0];
    const Placement placement = ir::placement_of(view.words(), view.spec.shape);
    // Views of views are there where their padding differs.
    const Binding* from = base.is_view() ? nullptr : &base.value->binding;
    const unsigned char* host = nullptr;
    if (from != nullptr && from->dense && from->buffer->host_data() != nullptr)
        host = static_cast<const unsigned char*>(from->buffer->host_data()) + from->offset;
    std::vector<unsigned char> copy;
    if (host == nullptr) {
        copy.resize(static_cast<std::size_t>(base.spec.nbytes()));
        download(base, copy.data());
        host = copy.data();
    }
    const View& top = placement.tracker.top();
    if (placement.tracker.size() == 1 && top.mask.empty()) {
        const auto element = static_cast<std::int64_t>(size_of(view.spec.dtype));
        Ints strides;
        for (const Dim stride : top.strides) strides.push_back(stride.value() * element);
        ir::copy_dense(host + top.offset.value() * element, strides, view.spec, out);
        return;
    }
    op_def(view.op).evaluate(
        {op_def(view.op), view.attrs(), std::array{HostArray{host, &base.spec}}, &view.spec, out});
}

void download(const Node& node, void* out) {
    if (node.is_view()) return read_view(node, out);
    read_dense(node.value->binding, node.spec, out);
}

Explanation explain(std::span<Node* const> targets) {
    Capture captured;
    {
        const std::scoped_lock lock(ir::graph_lock());
        ir::capture(targets, {}, false, captured);
    }
    const Program program = captured.program();
    if (program.size() == 0) return {};
    const auto [found, why] = plan_cache().peek(captured, context_of(targets[0]->device));
    plan::ExpandOptions options;
    Backend& backend = backend_of(targets[0]->device);
    options.keeps = [&](const OpDef& op, std::span<const TensorSpec> inputs,
                        const TensorSpec& result) { return backend.supports(op, inputs, result); };
    Explanation out = plan::explanation(
        optimize::optimize(plan::expand(program, options), optimize::current_options()));
    out.cache = found != nullptr ? "hit, the plan is there" : fmt::format("miss, {}", reason(why));
    if (found == nullptr) return out;
    const auto ways = backend_of(found->device).kernel_ways(found->prepared.get());
    for (std::size_t i = 0; i < ways.size() && ways.size() == out.kernels.size(); ++i)
        out.kernels[i].how = ways[i];
    return out;
}

const ir::Engine& engine_table() {
    static const ir::Engine table{
        .eval = eval,
        .allocate = [](Device device,
                       std::size_t bytes) { return backend_of(device).allocate(bytes); },
        .upload = upload,
        .download = download,
        .default_device = default_device,
        .device_name = [](Device device) { return device.name(); },
        .explain = explain,
        .run_control = [](const EvalArgs& args) { run_control(backend_of(Device()), args); },
        .buffer_bytes = buffer_bytes,
    };
    return table;
}

}  // namespace

void ensure_builtin_backends() {
    // Registering a backend comes back here; the flag is up by then.
    static std::once_flag once;
    static thread_local bool registering = false;
    if (registering) return;
    std::call_once(once, [] {
        registering = true;
        if (lazuli_install_backends != nullptr) lazuli_install_backends();
        registering = false;
    });
}

}  // namespace runtime

CacheStats cache_stats() {
    CacheStats stats = runtime::plan_cache().stats();
    stats.fallbacks = runtime::fallbacks.load(std::memory_order_relaxed);
    return stats;
}

std::string describe(const CacheStats& stats) {
    std::string out =
        fmt::format("plans      {:>10}   {} of {} bytes\nhits       {:>10}\nmisses     {:>10}\n",
                    stats.plans, stats.bytes, stats.limit, stats.hits, stats.misses);
    for (std::size_t i = 0; i < kMissNames.size(); ++i) {
        if (stats.missed[i] > 0)
            out += fmt::format("  {:<8} {:>10}\n", kMissNames[i], stats.missed[i]);
    }
    return out +
           fmt::format("dropped    {:>10}\nfallbacks  {:>10}\n", stats.evicted, stats.fallbacks);
}

void clear_caches() {
    runtime::plan_cache().clear();
    runtime::clear_body_plans();
    runtime::clear_measurements();
    runtime::drop_spare_memory();
    ir::arena().trim();
}

}  // namespace lazuli

const lazuli::ir::Engine* lazuli_engine() {
    lazuli::runtime::ensure_builtin_backends();
    return &lazuli::runtime::engine_table();
}
