#include "plan/memory.h"

#include <algorithm>
#include <numeric>

#include "codegen/in_place.h"
#include "codegen/lower.h"
#include "ops/positions.h"
#include "plan/contraction.h"
#include "plan/order.h"
#include "plan/packing.h"

namespace lazuli::plan {

namespace {

/// Sizes that are whole pages would put equal elements of all values at equal places within a page,
/// and a processor that compares the low bits of addresses takes a store to one for a load of the
/// other.
constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kLarge = std::int64_t{256} << 10;
constexpr std::int64_t kShift = 9 * kValueAlignment;

std::int64_t padded(const TensorSpec& spec) {
    const std::int64_t bytes =
        std::max<std::int64_t>((spec.nbytes() + kValueAlignment - 1) / kValueAlignment, 1) *
        kValueAlignment;
    return bytes >= kLarge && bytes % kPage == 0 ? bytes + kShift : bytes;
}

/// Whether a kernel may find a position out of range. It is tried again then, and must not have
/// overwritten what it reads.
bool may_fail(const codegen::Block& block) {
    return std::any_of(block.begin(), block.end(), [](const codegen::Statement& s) {
        return s.kind == codegen::StatementKind::bind || may_fail(s.body);
    });
}

class Planner {
   public:
    explicit Planner(Steps& steps) : Planner(steps, steps.program) {}
    Planner(Steps& steps, const Program& general)
        : steps_(steps), program_(steps.program), general_(general) {
        bytes_.resize(program_.size());
        for (std::size_t i = 0; i < program_.size(); ++i)
            bytes_[i] = padded(program_.spec(ValueRef::op(i)));
        is_result_.resize(program_.size(), false);
        for (const ProgramResult& result : program_.results()) {
            if (!result.value.is_param()) is_result_[result.value.index()] = true;
        }
    }

    void run() {
        for (Step& step : steps_.all) find_places_to_take(step);
        order();
        delay_updates();
        run_in_order();
    }
    void run_in_order() {
        for (Step& step : steps_.all) step.places.clear();
        const std::size_t last = steps_.all.size();
        end_.assign(program_.size(), 0);
        for (std::size_t i = 0; i < last; ++i) {
            for (const ValueRef v : steps_.all[i].buffers) {
                if (!v.is_param()) end_[v.index()] = i + 1;
            }
        }
        pack();
        place();
    }

   private:
    using Number = std::uint32_t;

    /// Whether it is an op without a kernel that writes a box of its first operand.
    bool updates(const Step& step) const {
        return step.kernel == nullptr &&
               has(program_.operation(step.outputs[0].index()).def().traits, Trait::updates);
    }

    /// Outputs of a kernel that may lie where an operand did.
    void find_places_to_take(Step& step) const {
        step.in_place.clear();
        if (updates(step)) {
            const ValueRef from = step.buffers[0];
            if (std::count(step.buffers.begin(), step.buffers.end(), from) == 1)
                step.in_place.emplace_back(from, step.outputs[0]);
        }
        if (step.kernel == nullptr) return;
        const auto contraction = find_contraction(program_, step.group);
        // It may be a contraction at other sizes, whose operands must stay.
        if (!contraction && multiplies(step.group)) return;
        const auto pairs_of_epilogue =
            contraction ? places_in_epilogue(*contraction) : std::vector<Pair>();
        for (const codegen::InPlace& pair : codegen::find_in_place(*step.kernel)) {
            const ValueRef from = step.buffers[pair.read];
            const Pair values{from, step.buffers[pair.written]};
            const bool read_once = std::count(step.buffers.begin(), step.buffers.end(), from) == 1;
            const bool fits =
                !contraction || std::find(pairs_of_epilogue.begin(), pairs_of_epilogue.end(),
                                          values) != pairs_of_epilogue.end();
            if (read_once && fits) step.in_place.push_back(values);
        }
        // Not where an operand of the epilogue may lie, nor where the product is a value of its
        // own.
        step.product_in.reset();
        const auto& outputs = step.outputs;
        if (!contraction ||
            std::find(outputs.begin(), outputs.end(), contraction->product) != outputs.end())
            return;
        for (const auto& [from, to] : pairs_of_epilogue) {
            const bool is_taken = std::any_of(step.in_place.begin(), step.in_place.end(),
                                              [&](const Pair& pair) { return pair.second == to; });
            if (from == contraction->product && !is_taken) step.product_in = to;
        }
    }

    bool multiplies(const codegen::Group& group) const {
        return std::any_of(group.operations.begin(), group.operations.end(),
                           [&](std::uint32_t member) {
                               const Lowering how = program_.operation(member).def().lowering;
                               return how == Lowering::contraction || how == Lowering::convolution;
                           });
    }

    using Pair = std::pair<ValueRef, ValueRef>;

    /// A product of matrices may write before it has read all, so its own operands stay where they
    /// are; what only its epilogue reads is over when that writes.
    std::vector<Pair> places_in_epilogue(const Contraction& contraction) const {
        if (contraction.epilogue.operations.empty() || contraction.windows) return {};
        std::vector<ValueRef> reserved;
        for (const ProductOperand* operand : {&contraction.left, &contraction.right}) {
            reserved.push_back(operand->value);
            for (const std::uint32_t member : operand->prologue.operations) {
                const Operation operation = program_.operation(member);
                for (std::size_t k = 0; k < operation.input_count(); ++k)
                    reserved.push_back(operation.input(k));
            }
        }
        const codegen::Lowered lowered = codegen::lower(general_, contraction.epilogue, "epilogue");
        std::vector<Pair> out;
        for (const codegen::InPlace& pair : codegen::find_in_place(lowered.kernel)) {
            const ValueRef from = lowered.buffers[pair.read];
            if (std::find(reserved.begin(), reserved.end(), from) == reserved.end())
                out.emplace_back(from, lowered.buffers[pair.written]);
        }
        return out;
    }

    void order() {
        OrderProblem problem;
        problem.bytes = bytes_;
        problem.kept = is_result_;
        for (std::size_t i = 0; i < bytes_.size(); ++i) {
            if (is_result_[i]) problem.bytes[i] = 0;  // there from the start, in any order
        }
        for (const Step& step : steps_.all) {
            OrderStep& seen = problem.steps.emplace_back();
            for (std::size_t k = 0; k < step.buffers.size(); ++k) {
                const ValueRef v = step.buffers[k];
                if (v.is_param() || step.writes(k)) continue;
                const auto number = static_cast<Number>(v.index());
                if (std::find(seen.reads.begin(), seen.reads.end(), number) == seen.reads.end())
                    seen.reads.push_back(number);
            }
            for (const ValueRef v : step.outputs)
                seen.writes.push_back(static_cast<Number>(v.index()));
            for (const auto& [from, to] : step.in_place) {
                if (from.is_param() || is_result_[to.index()]) continue;
                seen.in_place.emplace_back(static_cast<Number>(from.index()),
                                           static_cast<Number>(to.index()));
            }
        }
        const Order found = order_steps(problem);
        std::vector<Step> ordered;
        ordered.reserve(steps_.all.size());
        for (const std::uint32_t i : found.steps) ordered.push_back(std::move(steps_.all[i]));
        steps_.all = std::move(ordered);
        steps_.memory.recorded_peak = found.given_peak;
    }

    /// A step may overwrite a parameter only behind all others that read it. One that makes results
    /// alone is moved there, where that takes no more memory at any time.
    void delay_updates() {
        std::vector<std::int64_t> rooms;
        for (const Step& step : steps_.all) rooms.push_back(room_for(step));
        std::vector<std::size_t> order(steps_.all.size());
        std::iota(order.begin(), order.end(), 0U);
        std::int64_t most = peak_of(order, rooms);
        std::vector<bool> was_moved(order.size(), false);  // two may read what the other overwrites
        for (std::size_t i = 0; i + 1 < order.size(); ++i) {
            if (was_moved[order[i]]) continue;
            const std::size_t behind = last_reader_of_what_is_overwritten(order, i);
            if (behind <= i) continue;
            was_moved[order[i]] = true;
            std::vector<std::size_t> changed = order;
            std::rotate(changed.begin() + static_cast<std::ptrdiff_t>(i),
                        changed.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                        changed.begin() + static_cast<std::ptrdiff_t>(behind) + 1);
            const std::int64_t peak = peak_of(changed, rooms);
            if (peak > most) continue;
            most = peak;
            order = std::move(changed);
            --i;  // another step is here now
        }
        std::vector<Step> moved;
        moved.reserve(order.size());
        for (const std::size_t step : order) moved.push_back(std::move(steps_.all[step]));
        steps_.all = std::move(moved);
    }

    /// Where the last other step stands that reads a parameter which the step at `i` could
    /// overwrite; `i` where there is none, or where something reads what the step makes.
    std::size_t last_reader_of_what_is_overwritten(const std::vector<std::size_t>& order,
                                                   std::size_t i) const {
        const Step& step = steps_.all[order[i]];
        std::size_t out = i;
        for (std::size_t k = i + 1; k < order.size(); ++k) {
            for (const ValueRef v : steps_.all[order[k]].buffers) {
                if (std::find(step.outputs.begin(), step.outputs.end(), v) != step.outputs.end())
                    return i;
                const bool overwritten =
                    std::any_of(step.in_place.begin(), step.in_place.end(), [&](const auto& pair) {
                        return pair.first == v && v.is_param() && is_result_[pair.second.index()];
                    });
                if (overwritten) out = k;
            }
        }
        return out;
    }

    /// The most bytes alive at once, steps in that order.
    std::int64_t peak_of(const std::vector<std::size_t>& order,
                         const std::vector<std::int64_t>& rooms) const {
        std::vector<std::size_t> end(program_.size(), 0);
        for (std::size_t i = 0; i < order.size(); ++i) {
            for (const ValueRef v : steps_.all[order[i]].buffers)
                if (!v.is_param()) end[v.index()] = i;
        }
        std::vector<std::int64_t> freed(order.size() + 1, 0);
        std::int64_t alive = 0;
        std::int64_t most = 0;
        for (std::size_t i = 0; i < order.size(); ++i) {
            for (const ValueRef v : steps_.all[order[i]].outputs) {
                if (is_result_[v.index()]) continue;
                alive += bytes_[v.index()];
                freed[std::max(end[v.index()], i)] += bytes_[v.index()];
            }
            most = std::max(most, alive + rooms[order[i]]);
            alive -= freed[i];
        }
        return most;
    }

    /// The value whose place a value takes, from value to value.
    Number place_of(Number value) const {
        while (takes_[value] != value) value = takes_[value];
        return value;
    }

    void pack() {
        takes_.resize(program_.size());
        std::iota(takes_.begin(), takes_.end(), 0U);
        std::vector<Number> stored;
        std::vector<std::size_t> begin(program_.size(), 0);
        for (std::size_t i = 0; i < steps_.all.size(); ++i) {
            const Step& step = steps_.all[i];
            std::vector<ValueRef> taken;
            for (const ValueRef output : step.outputs) {
                const auto to = static_cast<Number>(output.index());
                begin[to] = i;
                end_[to] = std::max(end_[to], i + 1);
                if (is_result_[to]) continue;
                stored.push_back(to);
                for (const auto& [from, target] : step.in_place) {
                    if (!(target == output) || from.is_param() || is_result_[from.index()] ||
                        end_[from.index()] != i + 1 || bytes_[from.index()] != bytes_[to] ||
                        std::find(taken.begin(), taken.end(), from) != taken.end())
                        continue;
                    takes_[to] = static_cast<Number>(from.index());
                    taken.push_back(from);
                    break;
                }
            }
        }
        std::vector<Lifetime> lifetimes;
        std::vector<std::size_t> lifetime_of(program_.size());
        for (const Number value : stored) {
            const Number place = place_of(value);
            if (place == value) {
                lifetime_of[value] = lifetimes.size();
                lifetimes.push_back({static_cast<std::int64_t>(begin[value]),
                                     static_cast<std::int64_t>(end_[value]), bytes_[value]});
            } else {
                lifetimes[lifetime_of[place]].upper = static_cast<std::int64_t>(end_[value]);
            }
        }
        std::vector<std::size_t> rooms(steps_.all.size(), lifetimes.max_size());
        for (std::size_t i = 0; i < steps_.all.size(); ++i) {
            const std::int64_t bytes = room_for(steps_.all[i]);
            steps_.all[i].room_bytes = bytes;
            if (bytes == 0) continue;
            rooms[i] = lifetimes.size();
            lifetimes.push_back(
                {static_cast<std::int64_t>(i), static_cast<std::int64_t>(i + 1), bytes});
        }
        const Packing packing =
            plan::pack(lifetimes, {.alignment = kValueAlignment, .seconds = kSeconds});
        MemoryPlan& memory = steps_.memory;
        memory.offsets.assign(program_.size(), -1);
        for (const Number value : stored)
            memory.offsets[value] = packing.offsets[lifetime_of[place_of(value)]];
        for (std::size_t i = 0; i < rooms.size(); ++i) {
            const bool has_room = rooms[i] < lifetimes.size();
            steps_.all[i].room = has_room ? packing.offsets[rooms[i]] : -1;
        }
        memory.peak = packing.peak;
        memory.bound = packing.bound;
        memory.greedy_peak = packing.greedy_peak;
        memory.method = packing.method;
    }

    /// Says of every buffer where it is.
    void place() {
        std::vector<std::int64_t> number(program_.size(), -1);  // of results
        for (const ProgramResult& result : program_.results()) {
            const ValueRef v = result.value;
            if (!v.is_param() && number[v.index()] < 0) {
                number[v.index()] = static_cast<std::int64_t>(steps_.result_bytes.size());
                steps_.result_bytes.push_back(program_.spec(v).nbytes());
            }
        }
        const auto place_of = [&](ValueRef v) -> Place {
            if (v.is_param()) return {Place::Kind::param, static_cast<std::int64_t>(v.index())};
            if (number[v.index()] >= 0) return {Place::Kind::result, number[v.index()]};
            return {Place::Kind::arena, steps_.memory.offsets[v.index()]};
        };
        for (const ProgramResult& result : program_.results())
            steps_.results.push_back(place_of(result.value));
        for (Step& step : steps_.all) {
            for (const ValueRef v : step.buffers) step.places.push_back(place_of(v));
        }
        find_takeovers(number);
    }

    bool scatters(const Step& step) const {
        return step.kernel == nullptr &&
               program_.operation(step.outputs[0].index()).def().name == "scatter";
    }
    std::int64_t room_for(const Step& step) const {
        if (scatters(step)) {
            const std::int64_t bytes = ops::scatter_room(program_.spec(step.buffers[1]));
            return (bytes + kValueAlignment - 1) / kValueAlignment * kValueAlignment;
        }
        if (step.kernel == nullptr) return 0;
        const auto contraction = find_contraction(program_, step.group);
        return contraction
                   ? room_of(program_, *contraction, step.buffers, step.product_in.has_value())
                         .total()
                   : 0;
    }

    /// Whether a product has all the memory it needs: convolutions and narrow types take more.
    bool has_room_planned(const Contraction& contraction) const {
        const DType dtype = program_.spec(contraction.product).dtype;
        if (contraction.windows || contraction.of_bytes || (dtype != f32 && dtype != f64))
            return false;
        for (const codegen::Group* part :
             {&contraction.left.prologue, &contraction.right.prologue, &contraction.epilogue}) {
            if (!part->operations.empty() &&
                has_scratch(codegen::lower(program_, *part, "part").kernel))
                return false;
        }
        return true;
    }
    static bool has_scratch(const codegen::Kernel& kernel) {
        return std::any_of(kernel.buffers.begin(), kernel.buffers.end(),
                           [](const codegen::KernelBuffer& buffer) { return buffer.scratch; });
    }

    /// Kernels have scratch, and who knows what operations without one do.
    bool asks_for_memory(const Step& step) const {
        if (updates(step) || scatters(step)) return false;
        if (step.kernel == nullptr) return true;
        if (const auto contraction = find_contraction(program_, step.group))
            return !has_room_planned(*contraction);
        return has_scratch(*step.kernel);
    }

    /// `number`: of results, by operation.
    void find_takeovers(const std::vector<std::int64_t>& number) {
        constexpr std::size_t kReturned = SIZE_MAX;
        std::vector<std::size_t> last(program_.params().size(), 0);  // step that reads it
        for (std::size_t i = 0; i < steps_.all.size(); ++i) {
            for (const ValueRef v : steps_.all[i].buffers) {
                if (v.is_param()) last[v.index()] = i;
            }
        }
        for (const ProgramResult& result : program_.results()) {
            if (result.value.is_param()) last[result.value.index()] = kReturned;
        }
        std::vector<bool> param_taken(last.size(), false);
        std::vector<bool> result_taken(steps_.result_bytes.size(), false);
        // What runs out of memory is tried again: nothing is overwritten before the last step that
        // asks for more, but for windows, which are put back.
        std::size_t first = steps_.all.size();
        while (first > 0 && !asks_for_memory(steps_.all[first - 1])) --first;
        for (std::size_t i = 0; i < steps_.all.size(); ++i) {
            const Step& step = steps_.all[i];
            const bool is_window = updates(step);
            if (step.in_place.empty() || (!is_window && (i < first || may_fail(step.kernel->body))))
                continue;
            for (const auto& [from, to] : step.in_place) {
                if (!from.is_param() || number[to.index()] < 0) continue;
                const std::size_t param = from.index();
                const auto result = static_cast<std::size_t>(number[to.index()]);
                if (last[param] != i || param_taken[param] || result_taken[result]) continue;
                param_taken[param] = true;
                result_taken[result] = true;
                steps_.takeovers.push_back({param, result, i, is_window});
            }
        }
    }

    // What a search may add to the time of planning. Kernels that are new take longer to compile.
    static constexpr double kSeconds = 0.02;

    Steps& steps_;
    const Program& program_;
    const Program& general_;  // of which `program_` has some sizes, or the same
    std::vector<std::int64_t> bytes_;
    std::vector<bool> is_result_;
    std::vector<std::size_t> end_;  // of each value: behind the step that reads it last
    std::vector<Number> takes_;     // the place of another value, or its own
};

}  // namespace

void plan_memory(Steps& steps) { Planner(steps).run(); }
void plan_memory(Steps& steps, const Program& general) { Planner(steps, general).run(); }
void pack_memory(Steps& steps) { Planner(steps).run_in_order(); }

}  // namespace lazuli::plan
