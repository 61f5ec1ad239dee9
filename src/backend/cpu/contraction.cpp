#include "backend/cpu/contraction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>

#include "backend/cpu/gemm.h"
#include "backend/cpu/narrow.h"
#include "codegen/lines.h"
#include "codegen/phases.h"
#include "lazuli/backend.h"
#include "lazuli/error.h"
#include "lazuli/functional.h"
#include "runtime/pool.h"

namespace lazuli::cpu {

namespace {

// Batches a thread from which on threads take whole ones, and the multiplications that are worth
// handing out.
constexpr std::int64_t kBatchesApart = 4;
constexpr double kPieceWork = 1e5;

void throw_bad_index(const std::array<std::int64_t, 3>& status) {
    const std::string index = status[0] == 1
                                  ? fmt::format("{}", status[1])
                                  : fmt::format("{}", static_cast<std::uint64_t>(status[1]));
    throw ExecutionError(
        "gather", fmt::format("index {} is out of range for an axis of {}", index, status[2]));
}

/// How many steps of a kernel's one loop make up a row of the product, or 0 where rows are not what
/// it runs over. It may run on some rows before the others are there only if it reads the product
/// where it stores its results and nowhere else, and if its loop counts rows, or elements of rows.
std::int64_t steps_a_row(const codegen::Kernel& kernel, std::size_t product, std::int64_t rows,
                         std::int64_t columns) {
    const codegen::Statement& loop = kernel.body.back();
    const Expr& counter = loop.counts[0].variable;
    std::optional<Expr> where;
    bool in_place = true;
    const auto look = [&](const auto& self, const codegen::Block& block) -> void {
        for (const codegen::Statement& s : block) {
            const bool stores = s.kind == codegen::StatementKind::store;
            if (stores || (s.kind == codegen::StatementKind::load && s.buffer == product)) {
                if (!where) where = s.index;
                in_place = in_place && *where == *s.index && !s.valid;
            }
            self(self, s.body);
        }
    };
    look(look, kernel.body);
    if (!where || !in_place) return 0;
    // Large results are written past the cache, whole lines at a time: rows must begin at one.
    for (const codegen::KernelBuffer& buffer : kernel.buffers) {
        const auto size = static_cast<std::int64_t>(size_of(buffer.dtype));
        if (buffer.written && buffer.elements.constant().value() * size >= codegen::kStreamBytes &&
            columns * size % 64 != 0)
            return 0;
    }
    // A loop over columns steps by 1 as well, but not as often.
    const auto step = codegen::step_along(*where, counter);
    const std::int64_t steps = loop.counts[0].size.constant().value_or(0);
    if (step == columns && steps == rows) return 1;
    return step == 1 && steps == rows * columns ? columns : 0;
}

/// Which of two is faster: the best of some runs each, turn by turn.
template <class A, class B>
bool is_faster(const A& a, const B& b) {
    const auto seconds = [](const auto& run) {
        const auto start = std::chrono::steady_clock::now();
        run();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    double best[] = {1e300, 1e300};
    for (int turn = 0; turn < 3; ++turn) {
        best[0] = std::min(best[0], seconds(a));
        best[1] = std::min(best[1], seconds(b));
    }
    return best[0] < best[1];
}

/// Memory for as long as a step runs.
using Scratch = std::vector<BufferPtr>;
char* take(Scratch& scratch, std::int64_t bytes) {
    scratch.push_back(allocate_host(Device(), static_cast<std::size_t>(bytes)));
    return static_cast<char*>(scratch.back()->host_mutable());
}

}  // namespace

Extents extents_at(const Runnable& runnable, std::span<const std::int64_t> sizes) {
    if (runnable.compiled != nullptr) return runnable.compiled->extents().at(sizes);
    runnable.kernel->check_sizes(sizes);
    return {{sizes.begin(), sizes.end()}, {}, {}};  // the interpreter finds the rest
}

void launch(const Runnable& runnable, std::span<void* const> given) {
    static const Extents none;
    if (runnable.extents != nullptr) return launch(runnable, given, *runnable.extents);
    launch(runnable, given,
           runnable.compiled == nullptr ? none : runnable.compiled->only_extents());
}

void launch(const Runnable& runnable, std::span<void* const> given, const Extents& extents) {
    const codegen::Kernel& kernel = *runnable.kernel;
    const Code* code = runnable.code();
    if (code == nullptr) return codegen::interpret(kernel, given, extents.sizes);
    if (extents.parts.size() != code->phases())
        throw ArgumentError(fmt::format("{}: launched without sizes", kernel.name));
    std::vector<void*> buffers;
    buffers.reserve(given.size() + extents.scratch_bytes.size() + 1);  // and the sizes
    buffers.assign(given.begin(), given.end());
    Scratch scratch;
    for (const std::int64_t bytes : extents.scratch_bytes) buffers.push_back(take(scratch, bytes));
    if (!extents.sizes.empty())  // behind the buffers; code only reads them
        buffers.push_back(const_cast<std::int64_t*>(extents.sizes.data()));
    struct Call {
        LazuliPhase phase;
        void* const* buffers;
        std::array<std::int64_t, codegen::kPassedValues> values;
        std::array<std::int64_t, 3> status{};
        std::atomic_flag told = ATOMIC_FLAG_INIT;
    } call{.phase = nullptr, .buffers = buffers.data(), .values = {}};
    for (std::size_t i = 0; i < extents.parts.size(); ++i) {
        call.phase = code->phase(i, extents.parts[i].form);
        runtime::share_out(
            extents.parts[i].steps, extents.parts[i].grain,
            [](void* data, std::int64_t begin, std::int64_t end) {
                auto& c = *static_cast<Call*>(data);
                std::array<std::int64_t, 3> status{};
                c.phase(c.buffers, begin, end, c.values.data(), status.data());
                if (status[0] != 0 && !c.told.test_and_set()) c.status = status;
            },
            &call);
        if (call.status[0] != 0) throw_bad_index(call.status);
    }
}

std::unique_ptr<ContractionStep> ContractionStep::make(const Program& program,
                                                       const plan::Step& step,
                                                       const MakeRunnable& runnable) {
    const auto found = plan::find_contraction(program, step.group);
    if (!found) return nullptr;
    const std::string_view op = program.operation(found->product.index()).def().name;
    if (functional::policy_of(op) == functional::Policy::force("loops")) return nullptr;
    auto out = std::make_unique<ContractionStep>();
    out->plan_ = *found;
    out->dtype_ = program.spec(found->product).dtype;
    if (!multiplies(out->dtype_) && !found->of_bytes) return nullptr;
    // Nothing to multiply: a kernel writes what there is.
    bool empty = found->rows.size == 0 || found->columns.size == 0 || found->depth.size == 0;
    for (const plan::ProductAxis& axis : found->batch) empty = empty || axis.size == 0;
    if (empty) return nullptr;
    out->buffers_ = step.buffers;
    out->room_ = plan::room_of(program, *found, step.buffers, step.product_in.has_value());
    out->product_in_ = step.product_in;
    const plan::ProductOperand* operands[] = {&found->left, &found->right};
    for (std::size_t side = 0; side < 2; ++side) {
        Side& s = out->sides_[side];
        s.operand = *operands[side];
        if (s.operand.prologue.operations.empty()) continue;
        s.prologue = runnable(s.operand.prologue);
    }
    // A kernel of the whole may have found that something is never read, as where its result is
    // empty: then it has the last word.
    const auto knows = [&](const std::vector<ValueRef>& values, ValueRef made) {
        return std::all_of(values.begin(), values.end(), [&](ValueRef v) {
            return v == made ||
                   std::find(step.buffers.begin(), step.buffers.end(), v) != step.buffers.end();
        });
    };
    for (const Side& s : out->sides_) {
        if (!knows(s.prologue ? s.prologue->buffers : std::vector{s.operand.value},
                   s.prologue ? s.operand.value : found->product))
            return nullptr;
    }
    if (!out->choose(op)) return nullptr;
    const auto reads_right = [&](const std::vector<ValueRef>& values) {
        return std::find(values.begin(), values.end(), found->right.value) != values.end();
    };
    const Side& left = out->sides_[0];
    out->right_alone_ =
        !reads_right(left.prologue ? left.prologue->buffers : std::vector{left.operand.value});
    if (found->epilogue.operations.empty()) return out;
    out->epilogue_ = runnable(found->epilogue);
    out->right_alone_ = out->right_alone_ && !reads_right(out->epilogue_->buffers);
    if (!knows(out->epilogue_->buffers, found->product)) return nullptr;
    const Runnable& epilogue = *out->epilogue_;
    const auto phases = codegen::phases_of(*epilogue.kernel);
    if (epilogue.compiled != nullptr && phases.size() == 1 && phases[0].parallel) {
        const auto product =
            std::find(epilogue.buffers.begin(), epilogue.buffers.end(), found->product);
        std::int64_t rows = found->rows.size;
        for (const plan::ProductAxis& axis : found->batch) rows *= axis.size;
        const auto number = static_cast<std::size_t>(product - epilogue.buffers.begin());
        const std::int64_t columns = found->columns.size;
        // With variables its loop has no number of steps to compare: with their values it has.
        out->steps_a_row_ =
            epilogue.extents == nullptr
                ? steps_a_row(*epilogue.kernel, number, rows, columns)
                : steps_a_row(codegen::substitute(*epilogue.kernel, epilogue.extents->sizes),
                              number, rows, columns);
    }
    return out;
}

/// Our own kernel is the faster one for products, by measurement (docs/decisions/0009); the library
/// for windows, and the only one for windows over bytes. False where none is.
bool ContractionStep::choose(std::string_view op) {
    using functional::Policy;
    const Policy policy = functional::policy_of(op);
    const bool forced = policy.kind == Policy::Kind::force;
    const bool has_own = !(plan_.windows && plan_.of_bytes);
    if (forced && policy.implementation == "microkernel") return has_own;
    const bool measured = policy.kind == Policy::Kind::benchmark;
    if (plan_.windows) dnn_ = DnnConvolution::make(plan_, dtype_);
    if (!plan_.windows && (forced || measured)) product_ = DnnProduct::make(plan_, dtype_);
    if (forced && !library_is_there()) {
        throw ArgumentError(fmt::format("{}: the forced kernel 'onednn' does not serve {}", op,
                                        lazuli::name(dtype_)));
    }
    if (library_is_there()) choice_ = measured && has_own ? Choice::open : Choice::library;
    return has_own || library_is_there();
}

std::int64_t ContractionStep::batch_offset(std::int64_t batch, std::size_t side) const {
    std::int64_t out = sides_[side].operand.offset;
    for (std::size_t i = plan_.batch.size(); i-- > 0;) {
        const plan::ProductAxis& axis = plan_.batch[i];
        out += batch % axis.size * (side == 0 ? axis.left : axis.right);
        batch /= axis.size;
    }
    return out;
}

void ContractionStep::multiply_by_library(const char* const* operands, Buffer* frozen, char* result,
                                          std::int64_t batches) const {
    if (dnn_ != nullptr) {
        return dnn_->run(operands[1] + sides_[1].operand.offset * element_size(1),
                         operands[0] + sides_[0].operand.offset * element_size(0), frozen, result);
    }
    const std::int64_t one =
        plan_.rows.size * plan_.columns.size * static_cast<std::int64_t>(size_of(dtype_));
    for (std::int64_t batch = 0; batch < batches; ++batch) {
        product_->run(operands[0] + batch_offset(batch, 0) * element_size(0),
                      operands[1] + batch_offset(batch, 1) * element_size(1), result + batch * one);
    }
}

void ContractionStep::multiply_batch(const char* left, const char* right, Buffer* right_owner,
                                     char* result, std::int64_t batch,
                                     std::span<void* const> epilogue_buffers) const {
    const auto size = static_cast<std::int64_t>(size_of(dtype_));
    left += batch_offset(batch, 0) * element_size(0);
    right += batch_offset(batch, 1) * element_size(1);
    const std::int64_t m = plan_.rows.size;
    const std::int64_t n = plan_.columns.size;
    char* own = result + batch * m * n * size;
    // Narrow elements are summed up in f32 beside the result, and rounded row by row.
    const bool rounds = product_type(dtype_) != dtype_;
    WindowView windows;
    if (plan_.windows) windows = {right, *plan_.windows};
    const Product product{
        .dtype = dtype_,
        .m = m,
        .n = n,
        .k = plan_.depth.size,
        .a = {sides_[0].operand.dtype, left, plan_.rows.left, plan_.depth.left},
        .b = {sides_[1].operand.dtype, right, plan_.depth.right, plan_.columns.right},
        .windows = plan_.windows ? &windows : nullptr,
        .b_owner = plan_.windows ? nullptr : right_owner,
        .result = rounds ? nullptr : own,
    };
    if (epilogue_buffers.empty() && !rounds) return multiply(product);
    multiply(product,
             [&](std::int64_t first, std::int64_t behind, const void* rows, std::int64_t stride) {
                 for (std::int64_t row = first; rounds && row < behind; ++row)
                     narrow(dtype_, static_cast<const float*>(rows) + (row - first) * stride, n,
                            own + row * n * size);
                 if (epilogue_buffers.empty()) return;
                 std::array<std::int64_t, codegen::kPassedValues> values{};
                 std::array<std::int64_t, 3> status{};
                 epilogue_->code()->phase(0, codegen::Form::usual)(
                     epilogue_buffers.data(), (batch * m + first) * steps_a_row_,
                     (batch * m + behind) * steps_a_row_, values.data(), status.data());
                 if (status[0] != 0) throw_bad_index(status);
             });
}

/// Where there are many, threads take whole batches: they meet once, and not in each.
void ContractionStep::multiply_batches(const char* const* operands, Buffer* right_owner,
                                       char* result, std::int64_t batches,
                                       std::span<void* const> epilogue_buffers) const {
    const auto some = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t batch = begin; batch < end; ++batch)
            multiply_batch(operands[0], operands[1], right_owner, result, batch, epilogue_buffers);
    };
    // What is kept packed is packed by one.
    const bool apart = right_owner == nullptr && batches >= kBatchesApart * runtime::thread_count();
    if (!apart) return some(0, batches);
    const double work = static_cast<double>(plan_.rows.size) *
                        static_cast<double>(plan_.columns.size) *
                        static_cast<double>(std::max<std::int64_t>(plan_.depth.size, 1));
    const auto grain = static_cast<std::int64_t>(kPieceWork / std::max(work, 1.0)) + 1;
    runtime::share_out(
        batches, grain,
        [](void* data, std::int64_t begin, std::int64_t end) {
            (*static_cast<decltype(some)*>(data))(begin, end);
        },
        const_cast<void*>(static_cast<const void*>(&some)));
}

bool ContractionStep::is_ready() const {
    const auto is_made = [](const std::optional<Runnable>& part) {
        return !part || part->is_ready();
    };
    return is_made(sides_[0].prologue) && is_made(sides_[1].prologue) && is_made(epilogue_);
}

void ContractionStep::run(std::span<void* const> buffers, std::span<Buffer* const> owners,
                          char* room) const {
    Scratch scratch;
    if (room == nullptr && room_.total() > 0) room = take(scratch, room_.total());
    Choice choice = choice_;  // another thread may be choosing
    // Our own products may do with what is kept of the right operand; all else reads the content.
    const bool may_read_packed =
        choice == Choice::own && !plan_.windows && !sides_[1].prologue && right_alone_;
    for (std::size_t i = 0; i < owners.size(); ++i) {
        if (owners[i] != nullptr && !(may_read_packed && buffers_[i] == sides_[1].operand.value))
            owners[i]->bring_back();
    }
    const auto address = [&](ValueRef v) -> void* {
        const auto at = std::find(buffers_.begin(), buffers_.end(), v);
        if (at == buffers_.end()) throw InternalError("a value that the step does not have");
        return buffers[static_cast<std::size_t>(at - buffers_.begin())];
    };
    const char* operands[2];
    Buffer* frozen[2] = {nullptr, nullptr};  // whose content is used again and again
    for (std::size_t side = 0; side < 2; ++side) {
        const Side& s = sides_[side];
        if (!s.prologue) {
            operands[side] = static_cast<const char*>(address(s.operand.value));
            const auto at = std::find(buffers_.begin(), buffers_.end(), s.operand.value);
            Buffer* owner = owners[static_cast<std::size_t>(at - buffers_.begin())];
            // What is released while it is packed must not be read behind that.
            const bool may_go =
                side == 1 && !may_read_packed && owner != nullptr && owner->may_release();
            if (owner != nullptr && owner->is_frozen() && !may_go) frozen[side] = owner;
            continue;
        }
        char* made = side == 0 ? room : room + room_.left;
        std::vector<void*> own;
        for (const ValueRef v : s.prologue->buffers)
            own.push_back(v == s.operand.value ? made : address(v));
        launch(*s.prologue, own);
        operands[side] = made;
    }
    std::int64_t batches = 1;
    for (const plan::ProductAxis& axis : plan_.batch) batches *= axis.size;
    char* result = nullptr;
    std::vector<void*> behind;
    const bool stored =
        std::find(buffers_.begin(), buffers_.end(), plan_.product) != buffers_.end();
    if (product_in_) {
        result = static_cast<char*>(address(*product_in_));
    } else if (!stored) {
        result = room + room_.left + room_.right;
    } else {
        result = static_cast<char*>(address(plan_.product));
    }
    if (epilogue_) {
        for (const ValueRef v : epilogue_->buffers)
            behind.push_back(v == plan_.product ? result : address(v));
    }
    const auto by_library = [&] {
        multiply_by_library(operands, frozen[0], result, batches);
        if (epilogue_) launch(*epilogue_, behind);
    };
    const auto by_own = [&] {
        const bool in_cache = steps_a_row_ > 0 && epilogue_->code() != nullptr;
        std::vector<void*> for_rows;
        if (in_cache) {
            for_rows = behind;
            if (epilogue_->extents != nullptr)  // as a launch would pass them
                for_rows.push_back(const_cast<std::int64_t*>(epilogue_->extents->sizes.data()));
        }
        multiply_batches(operands, frozen[1], result, batches, for_rows);
        if (epilogue_ && !in_cache) launch(*epilogue_, behind);
    };
    // What overwrites an operand runs once: there is nothing to measure.
    const auto overwrites = [&] {
        std::vector<void*> places(buffers.begin(), buffers.end());
        std::sort(places.begin(), places.end());
        return std::adjacent_find(places.begin(), places.end()) != places.end();
    };
    if (choice == Choice::open && overwrites()) choice = Choice::own;
    if (choice == Choice::open)
        choice_ = choice = is_faster(by_library, by_own) ? Choice::library : Choice::own;
    choice == Choice::library ? by_library() : by_own();
}

}  // namespace lazuli::cpu
