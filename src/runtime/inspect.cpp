#include "runtime/inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "base/convert.h"
#include "base/env.h"
#include "ir/arena.h"
#include "ir/layout.h"
#include "lazuli/error.h"
#include "lazuli/inspect.h"
#include "runtime/control.h"
#include "runtime/plan_list.h"
#include "runtime/stepwise.h"
#include "runtime/values.h"

namespace lazuli {

namespace runtime {

namespace {

// ---- who looks

using See = std::shared_ptr<const std::function<void(const TensorSummary&)>>;

struct Lookers {
    std::mutex mutex;
    std::vector<See> see;  // all that DebugTensors asks for
    std::atomic<int> nan_checks{0};
    std::atomic<int> count{0};  // of both

    Lookers() {
        if (env::flag(env::Var::nan_check)) count = nan_checks = 1;
        if (!env::flag(env::Var::debug_tensors)) return;
        see.push_back(printer());
        ++count;
    }
    static See printer() {
        return std::make_shared<const std::function<void(const TensorSummary&)>>(
            [](const TensorSummary& s) { fmt::print(stderr, "lazuli: {}\n", s.str()); });
    }
};

Lookers& lookers() {
    static Lookers& l = *new Lookers;
    return l;
}

void remember_sources(int more) {
    ir::RecordingMode& mode = ir::arena().mode;
    mode.sources += more;
    mode.update();
}

// ---- what they see

std::complex<double> number(const auto& element) {
    using T = std::decay_t<decltype(element)>;
    if constexpr (requires { element.imag(); }) {
        return {static_cast<double>(element.real()), static_cast<double>(element.imag())};
    } else if constexpr (std::is_same_v<T, bool>) {
        return element ? 1.0 : 0.0;
    } else {
        return static_cast<double>(element);
    }
}

struct Elements {
    TensorSummary summary;
    std::int64_t first_nan = -1;  // where it is, counted row by row
};

constexpr std::size_t kShown = 6;

Elements look_at(const Binding& value, const TensorSpec& spec) {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(spec.nbytes()));
    read_dense(value, spec, bytes.data());
    constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
    Elements out{.summary = {.spec = spec, .min = kNothing, .max = kNothing, .mean = kNothing}};
    TensorSummary& s = out.summary;
    double sum = 0;
    std::int64_t finite = 0;
    const std::int64_t count = spec.shape.numel();
    dispatch(spec.dtype, [&]<class T>() {
        const T* elements = reinterpret_cast<const T*>(bytes.data());
        for (std::int64_t i = 0; i < count; ++i) {
            const std::complex<double> v = number(elements[i]);
            if (std::isnan(v.real()) || std::isnan(v.imag())) {
                if (s.nans++ == 0) out.first_nan = i;
                continue;
            }
            const double x = is_complex(spec.dtype) ? std::abs(v) : v.real();
            s.min = std::fmin(s.min, x);
            s.max = std::fmax(s.max, x);
            if (std::isinf(x)) {
                ++s.infs;
            } else {
                sum += x;
                ++finite;
            }
        }
    });
    if (finite > 0) s.mean = sum / static_cast<double>(finite);
    const std::size_t element = size_of(spec.dtype);
    for (std::size_t i = 0; i < std::min(kShown, static_cast<std::size_t>(count)); ++i)
        s.first.push_back(load_scalar(spec.dtype, bytes.data() + i * element));
    return out;
}

/// `[0, 2]`: an element's place.
std::string place(std::int64_t element, const Shape& shape) {
    std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()));
    for (int d = shape.rank(); d-- > 0; element /= shape[d])
        index[static_cast<std::size_t>(d)] = element % shape[d];
    return fmt::format("[{}]", fmt::join(index, ", "));
}

/// A NaN was made. In the body of a loop nobody knows the line; whoever runs the loop does.
class MadeNan : public ExecutionError {
   public:
    MadeNan(const std::string& op, const std::string& reason, bool is_placed)
        : ExecutionError(op, reason), is_placed(is_placed) {}
    bool is_placed;
};

PlanList<Program>& step_plans() {
    static PlanList<Program>& plans = *new PlanList<Program>(1024);
    return plans;
}

/// One program, run operation by operation.
class Inspection {
   public:
    Inspection(const Program& program, Device device, std::span<const Binding> params,
               std::span<const Recorded> recorded)
        : program_(program),
          device_(device),
          recorded_(recorded),
          see_([] {
              const std::scoped_lock lock(lookers().mutex);
              return lookers().see;
          }()),
          checks_(lookers().nan_checks > 0),
          has_nan_(program.size(), false),
          takes_nan_(program.size(), false) {
        for (std::size_t i = 0; i < params.size() && checks_; ++i)
            param_has_nan_.push_back(look_at(params[i], program.params()[i].spec).summary.nans > 0);
    }

    BufferPtr step(std::size_t i, const Operation& operation, std::span<const Binding> inputs) {
        const BufferPtr made = compute(i, operation, inputs);
        note_operands(i, operation);
        // The results of an op that has several are seen when they are taken out.
        if (operation.def().results != nullptr) return made;
        const Elements elements =
            look_at({made, 0, ir::dense_byte_strides(operation.spec()), true}, operation.spec());
        has_nan_[i] = elements.summary.nans > 0;
        if (operation.input_count() == 0) return made;  // numbers: given, and not computed
        show(i, operation, elements.summary);
        if (checks_ && has_nan_[i] && !takes_nan_[i]) complain(i, operation, inputs, elements);
        return made;
    }

   private:
    /// The operation that computed the value: `part` only takes it out of a bundle.
    std::size_t maker_of(std::size_t i, const Operation& operation) const {
        const bool is_taken = operation.def().name == "part" && !operation.input(0).is_param();
        return is_taken ? operation.input(0).index() : i;
    }

    BufferPtr compute(std::size_t i, const Operation& operation, std::span<const Binding> inputs) {
        const Program single = alone(program_, operation);
        const auto plan = step_plans().find(single, single, device_);
        try {
            if (plan->device == device_)
                return backend_of(device_).run(plan->prepared.get(), inputs)[0];
            return elsewhere(*plan, operation.spec(), inputs);
        } catch (const MadeNan& error) {
            const std::string where = source(i);
            if (error.is_placed || where.empty()) throw;
            throw MadeNan(error.op,
                          fmt::format("{}, in the body of {} that was recorded at {}", error.reason,
                                      operation.def().name, where),
                          true);
        }
    }

    /// The device lacks the op.
    BufferPtr elsewhere(const plan::Plan& plan, const TensorSpec& result,
                        std::span<const Binding> inputs) const {
        std::vector<Binding> there;
        for (std::size_t k = 0; k < inputs.size(); ++k) {
            const TensorSpec& spec = plan.program.params()[k].spec;
            there.push_back(
                {copied(inputs[k], spec, plan.device), 0, ir::dense_byte_strides(spec), true});
        }
        const BufferPtr made = backend_of(plan.device).run(plan.prepared.get(), there)[0];
        return copied({made, 0, ir::dense_byte_strides(result), true}, result, device_);
    }

    void note_operands(std::size_t i, const Operation& operation) {
        for (std::size_t k = 0; k < operation.input_count() && checks_; ++k) {
            const ValueRef v = operation.input(k);
            const bool nan = v.is_param() ? param_has_nan_[v.index()] : has_nan_[v.index()];
            if (nan) takes_nan_[i] = true;
        }
        if (operation.def().name != "part") return;
        // What was computed before may have had operands with a NaN.
        const std::size_t maker = maker_of(i, operation);
        takes_nan_[i] = maker == i || takes_nan_[maker];
    }

    void show(std::size_t i, const Operation& operation, TensorSummary summary) const {
        if (see_.empty()) return;
        summary.op = program_.operation(maker_of(i, operation)).def().name;
        summary.source = source(i);
        if (!recorded_.empty()) summary.name = recorded_[i].name;
        for (const See& see : see_) (*see)(summary);
    }

    [[noreturn]] void complain(std::size_t i, const Operation& operation,
                               std::span<const Binding> inputs, const Elements& made) const {
        const std::size_t maker = maker_of(i, operation);
        std::vector<std::string> operands;
        for (std::size_t k = 0; k < inputs.size() && maker == i; ++k) {
            const TensorSpec spec = program_.spec(operation.input(k));
            const TensorSummary seen = look_at(inputs[k], spec).summary;
            operands.push_back(
                fmt::format("{} from {:.6g} to {:.6g}", spec.str(), seen.min, seen.max));
        }
        const std::string where = source(maker);
        throw MadeNan(
            std::string(program_.operation(maker).def().name),
            fmt::format("makes NaN of operands without one: {} of {} elements of {}, the first at "
                        "{}{}{}",
                        made.summary.nans, operation.spec().shape.numel(), operation.spec().str(),
                        place(made.first_nan, operation.spec().shape),
                        operands.empty() ? "" : fmt::format("; of {}", fmt::join(operands, ", ")),
                        where.empty() ? "" : fmt::format("; recorded at {}", where)),
            !where.empty());
    }

    std::string source(std::size_t i) const {
        return recorded_.empty() ? std::string() : recorded_[i].source.str();
    }

    const Program& program_;
    const Device device_;
    const std::span<const Recorded> recorded_;
    const std::vector<See> see_;
    const bool checks_;
    std::vector<bool> param_has_nan_;
    std::vector<bool> has_nan_;    // of each operation's result, and
    std::vector<bool> takes_nan_;  // its operands
};

}  // namespace

constinit std::atomic<bool> may_inspect{true};

bool inspects() {
    const bool some = lookers().count.load() > 0;
    if (!some) {
        may_inspect.store(false);
        if (lookers().count.load() > 0) may_inspect.store(true);
    }
    return some;
}

std::vector<BufferPtr> run_inspected(const Program& program, Device device,
                                     std::span<const Binding> params,
                                     std::span<const Recorded> recorded) {
    Inspection inspection(program, device, params, recorded);
    const std::vector<Binding> results = run_stepwise(
        program, params,
        [&](std::size_t i, const Operation& operation, std::span<const Binding> inputs) {
            return inspection.step(i, operation, inputs);
        });
    std::vector<BufferPtr> out;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const ValueRef value = program.results()[i].value;
        out.push_back(value.is_param() ? copied(results[i], program.spec(value), device)
                                       : results[i].buffer);
    }
    return out;
}

void clear_step_plans() { step_plans().clear(); }

}  // namespace runtime

using runtime::lookers;

std::string TensorSummary::str() const {
    std::vector<std::string> values;
    for (const Scalar& value : first)
        values.push_back(value.kind() == Kind::floating ? fmt::format("{:.5g}", value.to_double())
                                                        : value.str());
    const bool more = spec.shape.numel() > static_cast<std::int64_t>(first.size());
    std::string out = fmt::format(
        "{:<14} {:<18} min {:<11.5g} max {:<11.5g} mean {:<11.5g} NaN {:<4} inf {:<4} {}{}", op,
        spec.str(), min, max, mean, nans, infs, fmt::join(values, " "), more ? " ..." : "");
    if (!name.empty()) out += fmt::format("  '{}'", name);
    if (!source.empty()) out += fmt::format("  {}", source);
    return out;
}

DebugTensors::DebugTensors() : DebugTensors(*runtime::Lookers::printer()) {}

DebugTensors::DebugTensors(std::function<void(const TensorSummary&)> see)
    : see_(std::make_shared<const std::function<void(const TensorSummary&)>>(std::move(see))) {
    const std::scoped_lock lock(lookers().mutex);
    lookers().see.push_back(see_);
    ++lookers().count;
    runtime::may_inspect.store(true);
    runtime::remember_sources(1);
}

DebugTensors::~DebugTensors() {
    const std::scoped_lock lock(lookers().mutex);
    std::erase(lookers().see, see_);
    --lookers().count;
    runtime::remember_sources(-1);
}

NanCheck::NanCheck() {
    ++lookers().nan_checks;
    ++lookers().count;
    runtime::may_inspect.store(true);
    runtime::remember_sources(1);
}

NanCheck::~NanCheck() {
    --lookers().nan_checks;
    --lookers().count;
    runtime::remember_sources(-1);
}

}  // namespace lazuli
