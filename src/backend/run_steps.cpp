#include "backend/run_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "backend/host/kernels.h"
#include "base/inline_vector.h"
#include "ir/layout.h"
#include "ir/text.h"
#include "lazuli/error.h"
#include "lazuli/memory.h"
#include "ops/bundle.h"
#include "runtime/control.h"
#include "runtime/trace.h"
#include "runtime/watch.h"
#include "runtime/workspace.h"

namespace lazuli::backend {

namespace {

using plan::Place;

class Run {
   public:
    /// Takes the memory that was planned, before the first step runs.
    Run(Backend& backend, const plan::Steps& steps, std::span<const Binding> params)
        : backend_(backend),
          steps_(steps),
          program_(steps.program),
          arena_(static_cast<std::size_t>(steps.memory.peak)) {
        reading_.reserve(params.size());
        params_.reserve(params.size());
        owners_.reserve(params.size());
        for (std::size_t i = 0; i < params.size(); ++i) {
            reading_.emplace_back(*params[i].buffer);
            params_.push_back(dense(params[i], i));
            owners_.push_back(params[i].dense ? params[i].buffer.get() : nullptr);
        }
        computed_.grow(steps.result_bytes.size());
        for (const Place& place : steps.results) {
            if (place.kind == Place::Kind::param)
                returned_.push_back(backend.allocate(static_cast<std::size_t>(
                    program_.params()[static_cast<std::size_t>(place.at)].spec.nbytes())));
        }
        // Chosen here and not in the plan: a kernel is right with its output in the operand's place
        // or apart from it.
        for (const plan::Takeover& takeover : steps.takeovers) {
            const Binding& from = params[takeover.param];
            if (from.given_away == nullptr || !from.dense || from.offset != 0) continue;
            computed_[takeover.result] = from.buffer;
            overwrites_.push_back({takeover.step, from.given_away, takeover.is_window});
        }
        for (std::size_t i = 0; i < computed_.size(); ++i) {
            if (computed_[i] == nullptr)
                computed_[i] = backend.allocate(static_cast<std::size_t>(steps.result_bytes[i]));
        }
    }

    std::vector<BufferPtr> run(const Launch& launch, const ReadsReleased& reads_released) {
        InlineVector<void*, 8> addresses;
        InlineVector<Buffer*, 8> owners;
        std::size_t next = 0;  // that is overwritten
        bool overwritten = false;
        runtime::Execution* const watched = runtime::Execution::current();
        for (std::size_t i = 0; i < steps_.all.size(); ++i) {
            const plan::Step& step = steps_.all[i];
            try {
                const bool brings_back = !reads_released || !reads_released(i);
                addresses.reserve(step.places.size());
                owners.reserve(step.places.size());
                addresses.clear();
                owners.clear();
                for (const Place& place : step.places) {
                    addresses.push_back(const_cast<void*>(address_of(place)));
                    owners.push_back(owner_of(place));
                    if (brings_back && owners.back() != nullptr) owners.back()->bring_back();
                }
                const bool fails = !failed_.empty() && inherit_failure(step);
                for (; next < overwrites_.size() && overwrites_[next].step == i; ++next) {
                    const auto& [_, given_away, is_window] = overwrites_[next];
                    if (fails) continue;
                    if (is_window) keep_window(step, addresses, given_away);
                    overwritten = overwritten || !is_window;
                    *given_away = true;
                }
                if (fails) continue;
                const double start = watched != nullptr ? trace::now() : 0;
                char* room =
                    step.room < 0 ? nullptr : reinterpret_cast<char*>(arena_.data()) + step.room;
                if (!launch(i, {addresses, owners, room})) evaluate(step, addresses, room);
                if (watched != nullptr) watched->ran(i, start, trace::now() - start);
            } catch (...) {
                if (!overwritten) {
                    put_windows_back();
                    throw;
                }
                fail(step, std::current_exception());
            }
        }
        if (!failed_.empty()) throw_what_failed();
        return results();
    }

   private:
    using Failures = std::map<std::size_t, std::exception_ptr>;  // by operation

    void fail(const plan::Step& step, const std::exception_ptr& error) {
        for (const ValueRef output : step.outputs) failed_[output.index()] = error;
    }
    /// A step that needs what is not there fails for the same reason.
    bool inherit_failure(const plan::Step& step) {
        for (const ValueRef v : step.buffers) {
            const auto at = v.is_param() ? failed_.end() : failed_.find(v.index());
            if (at == failed_.end()) continue;
            fail(step, std::exception_ptr(at->second));
            return true;
        }
        return false;
    }
    [[noreturn]] void throw_what_failed() {
        std::vector<BufferPtr> there = results();
        std::vector<std::exception_ptr> errors(there.size());
        for (std::size_t i = 0; i < there.size(); ++i) {
            const ValueRef v = program_.results()[i].value;
            const auto at = v.is_param() ? failed_.end() : failed_.find(v.index());
            if (at == failed_.end()) continue;
            there[i] = nullptr;
            errors[i] = at->second;
        }
        throw SomeFailed(std::move(there), std::move(errors));
    }

    const void* address_of(const Place& place) const {
        const auto at = static_cast<std::size_t>(place.at);
        switch (place.kind) {
            case Place::Kind::param: return params_[at];
            case Place::Kind::result: return computed_[at]->address();
            case Place::Kind::arena: return arena_.data() + at;
        }
        __builtin_unreachable();
    }
    /// Of a parameter; what is computed belongs to the run.
    Buffer* owner_of(const Place& place) const {
        return place.kind == Place::Kind::param ? owners_[static_cast<std::size_t>(place.at)]
                                                : nullptr;
    }

    /// Where a parameter's elements lie one behind the other.
    const void* dense(const Binding& binding, std::size_t i) {
        if (!binding.dense) binding.buffer->bring_back();
        const auto* data =
            static_cast<const unsigned char*>(binding.buffer->address()) + binding.offset;
        if (binding.dense) return data;
        const TensorSpec& spec = program_.params()[i].spec;
        copies_.push_back(backend_.allocate(static_cast<std::size_t>(spec.nbytes())));
        ir::copy_dense(data, binding.strides, spec, copies_.back()->host_mutable());
        return copies_.back()->address();
    }

    /// What a step that has no kernel is handed: operands come first, then its output.
    void with_arguments(const plan::Step& step, std::span<void* const> addresses,
                        const auto& call) {
        const Operation operation = program_.operation(step.outputs[0].index());
        std::vector<TensorSpec> specs;
        for (std::size_t k = 0; k < operation.input_count(); ++k)
            specs.push_back(program_.spec(operation.input(k)));
        std::vector<HostArray> inputs;
        for (std::size_t k = 0; k < specs.size(); ++k) inputs.push_back({addresses[k], &specs[k]});
        const TensorSpec spec = operation.spec();
        call({operation.def(), operation.attrs(), inputs, &spec, addresses.back()});
    }
    void evaluate(const plan::Step& step, std::span<void* const> addresses, char* room) {
        with_arguments(step, addresses, [&](const EvalArgs& args) {
            ops::clear_gaps(args);
            if (runtime::is_control(args.op)) return runtime::run_control(backend_, args);
            const host::PlannedRoom planned(room, static_cast<std::size_t>(step.room_bytes));
            host_kernel(args.op)(args);
        });
    }

    void keep_window(const plan::Step& step, std::span<void* const> addresses, bool* given_away) {
        with_arguments(step, addresses, [&](const EvalArgs& args) {
            windows_.emplace_back(host::UpdatedWindow(args), given_away);
        });
    }
    /// The operands are what they were.
    void put_windows_back() noexcept {
        for (const auto& [window, given_away] : windows_) {
            window.put_back();
            *given_away = false;
        }
    }

    std::vector<BufferPtr> results() {
        std::vector<BufferPtr> out;
        out.reserve(steps_.results.size());
        std::size_t next = 0;  // that is returned
        for (std::size_t i = 0; i < steps_.results.size(); ++i) {
            const Place& place = steps_.results[i];
            if (place.kind == Place::Kind::result) {
                out.push_back(computed_[static_cast<std::size_t>(place.at)]);
                continue;
            }
            // A parameter that is returned is copied: results are the tensor's own.
            out.push_back(returned_[next++]);
            const std::size_t bytes = out.back()->bytes();
            if (owner_of(place) != nullptr) owner_of(place)->bring_back();
            if (bytes > 0) std::memcpy(out.back()->host_mutable(), address_of(place), bytes);
        }
        return out;
    }

    Backend& backend_;
    const plan::Steps& steps_;
    const Program& program_;
    runtime::Workspace arena_;
    InlineVector<Reading, 4> reading_;  // the parameters
    InlineVector<const void*, 4> params_;
    InlineVector<Buffer*, 4> owners_;      // of parameters
    std::vector<BufferPtr> copies_;        // of parameters that are not dense
    InlineVector<BufferPtr, 2> computed_;  // results
    std::vector<BufferPtr> returned_;      // copies of parameters that are results
    struct Overwrite {
        std::size_t step;
        bool* given_away;  // who wants to know
        bool is_window;    // only a part of the operand, which can be put back
    };
    std::vector<Overwrite> overwrites_;                           // by their steps
    std::vector<std::pair<host::UpdatedWindow, bool*>> windows_;  // that were overwritten
    Failures failed_;
};

/// What a plan asks for in all, and for what most of all.
[[noreturn]] void refuse(const plan::Steps& steps) {
    struct Value {
        std::int64_t bytes;
        std::string text;
    };
    std::vector<Value> values;
    for (const plan::Step& step : steps.all) {
        for (const ValueRef v : step.outputs) {
            const TensorSpec spec = steps.program.spec(v);
            values.push_back(
                {spec.nbytes(), fmt::format("{} of {} ({})", spec.str(),
                                            steps.program.operation(v.index()).def().name,
                                            ir::bytes_text(spec.nbytes()))});
        }
    }
    std::stable_sort(values.begin(), values.end(),
                     [](const Value& a, const Value& b) { return a.bytes > b.bytes; });
    if (values.size() > 5) values.resize(5);
    std::int64_t results = 0;
    for (const std::int64_t bytes : steps.result_bytes) results += bytes;
    const MemoryStats now = memory_stats();
    std::string message = fmt::format(
        "out of memory: {} to compute in and {} for results are needed; {} of {} are in use",
        ir::bytes_text(steps.memory.peak), ir::bytes_text(results),
        ir::bytes_text(static_cast<std::int64_t>(now.bytes)),
        ir::bytes_text(static_cast<std::int64_t>(now.limit)));
    std::vector<std::uint64_t> largest;
    for (std::size_t i = 0; i < values.size(); ++i) {
        message += (i == 0 ? "; the largest values: " : ", ") + values[i].text;
        largest.push_back(static_cast<std::uint64_t>(values[i].bytes));
    }
    throw OutOfMemory(message, static_cast<std::uint64_t>(steps.memory.peak + results), now.limit,
                      std::move(largest));
}

}  // namespace

std::vector<BufferPtr> run_steps(Backend& backend, const plan::Steps& steps,
                                 std::span<const Binding> params, const Launch& launch,
                                 const ReadsReleased& reads_released) {
    std::optional<Run> run;
    try {
        run.emplace(backend, steps, params);
    } catch (const OutOfMemory&) {
        refuse(steps);
    }
    return run->run(launch, reads_released);
}

}  // namespace lazuli::backend
