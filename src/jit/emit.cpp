// Kernel IR as LLVM IR. A loop that holds no other loop is vectorised along its variable: values
// are then vectors, or scalars where they do not depend on it. LLVM cuts vectors into registers;
// two or more registers a vector keep several operations under way. What is left over at a loop's
// end runs once more under a mask. No floating-point operation is reordered or contracted.

#include "jit/emit.h"

#include <fmt/format.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>

#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "codegen/flatten.h"
#include "codegen/lines.h"
#include "codegen/phases.h"
#include "lazuli/error.h"
#include "symbolic/interner.h"

namespace lazuli::jit {

namespace {

using codegen::Accumulator;
using codegen::Block;
using codegen::Count;
using codegen::Kernel;
using codegen::Statement;
using codegen::StatementKind;
using codegen::ValueId;
using llvm::Value;

bool is_float(DType dtype) { return kind(dtype) == lazuli::Kind::floating; }
bool is_signed(DType dtype) {
    return dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
}

/// While it lives, a loop is around what is emitted.
class Inside {
   public:
    Inside(std::vector<Count>& loops, const Count& loop) : loops_(loops) { loops.push_back(loop); }
    ~Inside() { loops_.pop_back(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    std::vector<Count>& loops_;
};

class Emitter {
   public:
    Emitter(const Kernel& kernel, const EmitOptions& options, llvm::Module& module)
        : kernel_(kernel),
          options_(options),
          module_(module),
          context_(module.getContext()),
          build_(context_) {}

    void run() {
        for (const Statement& s : kernel_.body) {
            for (const ValueId id : s.results) top_[id] = &s;
        }
        note_types(kernel_.body);
        const auto phases = codegen::phases_of(kernel_);
        for (std::size_t i = 0; i < phases.size(); ++i) {
            emit_phase(i, codegen::Form::usual, phases[i]);
            large_ = codegen::may_be_large(kernel_, phases[i]);
            if (!large_.empty() && options_.streams) emit_phase(i, codegen::Form::large, phases[i]);
            large_.clear();
            if (codegen::may_be_turned(kernel_, phases[i]))
                emit_phase(i, codegen::Form::turned, phases[i]);
            if (phases[i].parallel && !kernel_.variables.empty()) {
                flat_ = codegen::flattened(kernel_.body[phases[i].first],
                                           codegen::behind_all(kernel_.body));
                if (flat_) emit_phase(i, codegen::Form::flat, phases[i]);
            }
        }
    }

   private:
    using Variables = std::unordered_map<const symbolic::Node*, Value*>;

    // ---- functions

    void note_types(const Block& block) {
        for (const Statement& s : block) {
            for (std::size_t i = 0; i < s.results.size(); ++i)
                types_[s.results[i]] =
                    s.kind == StatementKind::reduce ? s.accumulators[i].dtype : s.dtype;
            note_types(s.body);
        }
    }

    void emit_phase(std::size_t number, codegen::Form form, const codegen::Phase& phase) {
        llvm::Type* pointer = build_.getPtrTy();
        llvm::Type* i64 = build_.getInt64Ty();
        auto* type = llvm::FunctionType::get(build_.getVoidTy(),
                                             {pointer, i64, i64, pointer, pointer}, false);
        function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                           codegen::function_name(number, form), module_);
        for (const unsigned i : {0U, 3U, 4U}) function_->addParamAttr(i, llvm::Attribute::NoAlias);
        function_->setDoesNotThrow();
        entry_ = llvm::BasicBlock::Create(context_, "entry", function_);
        auto* body = llvm::BasicBlock::Create(context_, "body", function_);
        build_.SetInsertPoint(entry_);
        buffers_.clear();
        for (std::size_t i = 0; i < kernel_.buffers.size(); ++i) {
            Value* slot = build_.CreateConstInBoundsGEP1_64(pointer, function_->getArg(0), i);
            auto* loaded = build_.CreateLoad(pointer, slot, kernel_.buffers[i].name);
            loaded->setMetadata(llvm::LLVMContext::MD_invariant_load,
                                llvm::MDNode::get(context_, {}));
            buffers_.push_back(loaded);
        }
        values_.clear();
        variables_.clear();
        lane_rooms_.clear();
        load_sizes();
        build_.CreateBr(body);
        build_.SetInsertPoint(body);
        streamed_ = false;
        if (phase.parallel) {
            const Statement& s = form == codegen::Form::flat ? *flat_ : kernel_.body[phase.first];
            if (form == codegen::Form::flat) note_types(s.body);
            Value* begin = function_->getArg(1);
            Value* end = function_->getArg(2);
            form == codegen::Form::turned ? turned(s, begin, end) : loop_over(s, begin, end);
        } else {
            for (std::size_t i = phase.first; i < phase.behind; ++i) statement(kernel_.body[i]);
            for (std::size_t i = phase.first; i < phase.behind; ++i) pass_on(kernel_.body[i]);
        }
        // Streamed stores are seen by other threads behind a fence only.
        if (streamed_) build_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
        build_.CreateRetVoid();
    }

    /// The kernel's variables: numbers that stay as they are, within their bounds.
    void load_sizes() {
        if (kernel_.variables.empty()) return;
        llvm::Type* pointer = build_.getPtrTy();
        llvm::Type* i64 = build_.getInt64Ty();
        const auto stays = [&](llvm::LoadInst* load) {
            load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                              llvm::MDNode::get(context_, {}));
            return load;
        };
        Value* slot = build_.CreateConstInBoundsGEP1_64(pointer, function_->getArg(0),
                                                        kernel_.buffers.size());
        Value* sizes = stays(build_.CreateLoad(pointer, slot, "sizes"));
        for (std::size_t i = 0; i < kernel_.variables.size(); ++i) {
            const Expr& v = kernel_.variables[i];
            auto* size =
                stays(build_.CreateLoad(i64, build_.CreateConstInBoundsGEP1_64(i64, sizes, i)));
            size->setName(std::string(v.name()));
            const auto behind = static_cast<std::uint64_t>(v.bounds().high) + 1;
            size->setMetadata(llvm::LLVMContext::MD_range,
                              llvm::MDBuilder(context_).createRange(
                                  llvm::APInt(64, static_cast<std::uint64_t>(v.bounds().low)),
                                  llvm::APInt(64, behind)));
            variables_[v.node()] = size;
        }
    }

    /// Results of reductions are kept for later phases.
    void pass_on(const Statement& s) {
        if (s.kind != StatementKind::reduce) return;
        for (const ValueId id : s.results)
            build_.CreateAlignedStore(to_memory(values_.at(id), types_.at(id)), passed(id),
                                      llvm::Align(8));
    }
    Value* passed(ValueId id) {
        std::uint64_t slot = 0;
        for (const Statement& s : kernel_.body) {
            if (s.kind != StatementKind::reduce) continue;
            for (const ValueId other : s.results) {
                if (other == id)
                    return build_.CreateConstInBoundsGEP1_64(build_.getInt64Ty(),
                                                             function_->getArg(3), slot);
                ++slot;
            }
        }
        throw InternalError("a value that no phase passes on");
    }

    // ---- types

    llvm::Type* type_of(DType dtype) {
        switch (dtype) {
            case DType::boolean: return build_.getInt1Ty();
            case DType::i8:
            case DType::u8: return build_.getInt8Ty();
            case DType::i16:
            case DType::u16:
            case DType::bf16: return build_.getInt16Ty();
            case DType::i32:
            case DType::u32: return build_.getInt32Ty();
            case DType::i64:
            case DType::u64: return build_.getInt64Ty();
            case DType::f16: return build_.getHalfTy();
            case DType::f32: return build_.getFloatTy();
            case DType::f64: return build_.getDoubleTy();
            case DType::c64:
            case DType::c128: break;
        }
        throw InternalError("an element type without machine code");
    }
    llvm::Type* memory_type(DType dtype) {
        return dtype == DType::boolean ? build_.getInt8Ty() : type_of(dtype);
    }
    /// The type at the width at which we are working.
    llvm::Type* wide(llvm::Type* scalar) const {
        return factor_ == 1 ? scalar : llvm::FixedVectorType::get(scalar, factor_);
    }
    static llvm::Type* like(llvm::Type* scalar, const Value* shape) {
        const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(shape->getType());
        return vector == nullptr ? scalar
                                 : llvm::FixedVectorType::get(scalar, vector->getNumElements());
    }
    static bool is_vector(const Value* v) { return v->getType()->isVectorTy(); }
    Value* splat(Value* v) {
        return factor_ == 1 || is_vector(v) ? v : build_.CreateVectorSplat(factor_, v);
    }
    /// Either all as they are, or all vectors.
    void unify(std::span<Value*> values) {
        const bool any = std::any_of(values.begin(), values.end(), is_vector);
        for (Value*& v : values) v = any ? splat(v) : v;
    }

    Value* to_memory(Value* v, DType dtype) {
        return dtype == DType::boolean ? build_.CreateZExt(v, like(build_.getInt8Ty(), v)) : v;
    }
    Value* from_memory(Value* v, DType dtype) {
        return dtype == DType::boolean
                   ? build_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()))
                   : v;
    }

    Value* constant(const Scalar& scalar, DType dtype) {
        alignas(16) unsigned char bytes[16] = {};
        store_scalar(scalar, dtype, bytes);
        std::uint64_t bits = 0;
        std::memcpy(&bits, bytes, size_of(dtype));
        const auto width = static_cast<unsigned>(8 * size_of(dtype));
        if (dtype == DType::boolean) return build_.getInt1(bits != 0);
        llvm::Type* type = type_of(dtype);
        auto* number = llvm::ConstantInt::get(llvm::Type::getIntNTy(context_, width), bits);
        return type->isIntegerTy() ? number : llvm::ConstantExpr::getBitCast(number, type);
    }

    // ---- index expressions

    Value* integer(std::int64_t v) { return build_.getInt64(static_cast<std::uint64_t>(v)); }

    Value* variable(const symbolic::Node* node) const {
        const auto at = variables_.find(node);
        if (at == variables_.end())
            throw InternalError(fmt::format("{} has no value", *node->name));
        return at->second;
    }

    Value* combine(Value* a, Value* b, const std::function<Value*(Value*, Value*)>& with) {
        Value* both[] = {a, b};
        unify(both);
        return with(both[0], both[1]);
    }

    Value* index(const Expr& e) { return index(e.node()); }
    Value* index(const symbolic::Node* node) {
        using symbolic::Kind;
        const auto operand = [&](std::size_t i) { return index((*node)[i].node); };
        const auto fold = [&](const std::function<Value*(Value*, Value*)>& with) {
            Value* out = operand(0);
            for (std::size_t i = 1; i < node->count; ++i) out = combine(out, operand(i), with);
            return out;
        };
        switch (node->kind) {
            case Kind::constant: return integer(node->value);
            case Kind::variable: return variable(node);
            case Kind::sum: {
                // Scalars first, so that what does not change from lane to lane stays a scalar.
                Value* scalar = integer(node->value);
                Value* vector = nullptr;
                for (const symbolic::Term& term : *node) {
                    Value* v = index(term.node);
                    if (term.coef != 1)
                        v = combine(v, integer(term.coef),
                                    [&](Value* a, Value* b) { return build_.CreateMul(a, b); });
                    Value*& into = is_vector(v) ? vector : scalar;
                    into = into == nullptr ? v : build_.CreateAdd(into, v);
                }
                if (vector == nullptr) return scalar;
                return build_.CreateAdd(vector, splat(scalar));
            }
            case Kind::product:
                return fold([&](Value* a, Value* b) { return build_.CreateMul(a, b); });
            case Kind::quotient:
            case Kind::remainder: {
                const bool divides = node->is(Kind::quotient);
                const bool plain =
                    (*node)[0].node->bounds.low >= 0 && (*node)[1].node->bounds.low > 0;
                return combine(operand(0), operand(1), [&](Value* a, Value* b) {
                    if (plain) return divides ? build_.CreateUDiv(a, b) : build_.CreateURem(a, b);
                    return rounded_down(a, b, divides);
                });
            }
            case Kind::minimum:
                return fold([&](Value* a, Value* b) {
                    return build_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
                });
            case Kind::maximum:
                return fold([&](Value* a, Value* b) {
                    return build_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
                });
            case Kind::nonneg: {
                Value* v = operand(0);
                Value* holds = build_.CreateICmpSGE(v, llvm::Constant::getNullValue(v->getType()));
                return build_.CreateZExt(holds, v->getType());
            }
            case Kind::all: return fold([&](Value* a, Value* b) { return build_.CreateAnd(a, b); });
        }
        throw InternalError("an expression of no known kind");
    }

    Value* rounded_down(Value* a, Value* b, bool divides) {
        Value* quotient = build_.CreateSDiv(a, b);
        Value* rest = build_.CreateSRem(a, b);
        Value* zero = llvm::Constant::getNullValue(a->getType());
        Value* off = build_.CreateAnd(build_.CreateICmpNE(rest, zero),
                                      build_.CreateICmpSLT(build_.CreateXor(rest, b), zero));
        return divides ? build_.CreateSub(quotient, build_.CreateZExt(off, a->getType()))
                       : build_.CreateAdd(rest, build_.CreateSelect(off, b, zero));
    }

    Value* smaller(Value* a, Value* b) {
        return build_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
    }

    Value* condition(const Expr& e) {
        Value* v = index(e);
        return build_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
    }

    /// How an index changes from lane to lane: by nothing, by a step, or in no simple way.
    struct Along {
        bool varies = false;
        std::optional<std::int64_t> step;  // of an index that varies
    };
    Along along(const Expr& e) {
        Along out;
        bool simple = true;
        for (const Expr& v : e.vars()) {
            if (!is_vector(variable(v.node()))) continue;
            out.varies = true;
            simple = simple && v.node() == lane_variable_;
        }
        if (!out.varies || !simple) return out;
        out.step = codegen::step_along(e, Expr(lane_variable_));
        return out;
    }
    /// Whether lanes are neighbours, where only a run knows how far apart they are: a step that is
    /// a size may be 1, and reading them one by one takes ten times as long. Null where they never
    /// are.
    Value* lanes_are_neighbours(const Expr& e) {
        if (!looks_for_neighbours_) return nullptr;
        for (const Expr& v : e.vars()) {
            if (v.node() != lane_variable_ && is_vector(variable(v.node()))) return nullptr;
        }
        const auto step = codegen::symbolic_step(e, Expr(lane_variable_));
        if (!step || step->is_constant() || step->bounds().low > 1 || step->bounds().high < 1)
            return nullptr;
        return build_.CreateICmpEQ(index(*step), integer(1));
    }
    /// Emits one of two, by what a run finds.
    void either(Value* condition, const std::function<void()>& one,
                const std::function<void()>& other) {
        auto* first = llvm::BasicBlock::Create(context_, "either", function_);
        auto* second = llvm::BasicBlock::Create(context_, "or", function_);
        auto* behind = llvm::BasicBlock::Create(context_, "behind", function_);
        build_.CreateCondBr(condition, first, second);
        build_.SetInsertPoint(first);
        one();
        build_.CreateBr(behind);
        build_.SetInsertPoint(second);
        other();
        build_.CreateBr(behind);
        build_.SetInsertPoint(behind);
    }
    /// The same for a value.
    Value* one_of(Value* condition, const std::function<Value*()>& one,
                  const std::function<Value*()>& other) {
        std::vector<std::pair<Value*, llvm::BasicBlock*>> made;
        const auto keep = [&](const std::function<Value*()>& make) {
            Value* value = make();
            made.emplace_back(value, build_.GetInsertBlock());
        };
        either(condition, [&] { keep(one); }, [&] { keep(other); });
        auto* out = build_.CreatePHI(made[0].first->getType(), 2);
        for (const auto& [value, block] : made) out->addIncoming(value, block);
        return out;
    }
    /// The index at the first lane.
    Value* first_lane(const Expr& e) {
        Value* wide_variable = std::exchange(variables_[lane_variable_], lane_base_);
        Value* out = index(e);
        variables_[lane_variable_] = wide_variable;
        return out;
    }

    // ---- memory

    Value* address(std::size_t buffer, Value* at) {
        return build_.CreateGEP(memory_type(kernel_.buffers[buffer].dtype), buffers_[buffer], at);
    }

    Value* every_lane() { return llvm::Constant::getAllOnesValue(wide(build_.getInt1Ty())); }

    /// The lanes that there are and for which the statement's condition holds; null: all.
    Value* lanes_of(const Statement& s) {
        if (!s.valid) return mask_;
        Value* valid = splat(condition(*s.valid));
        return mask_ == nullptr ? valid : build_.CreateAnd(mask_, valid);
    }

    Value* load(const Statement& s) {
        const DType dtype = s.dtype;
        llvm::Type* type = memory_type(dtype);
        const llvm::Align align(size_of(dtype));
        const Along way = factor_ == 1 ? Along{} : along(*s.index);
        const bool valid_varies = factor_ > 1 && s.valid && is_vector(condition_shape(*s.valid));
        if (!way.varies && !valid_varies) {
            // One element for all lanes.
            const int factor = std::exchange(factor_, 1);
            Value* at = address(s.buffer, index(*s.index));
            Value* out = nullptr;
            if (s.valid) {
                llvm::Type* one = llvm::FixedVectorType::get(type, 1);
                Value* when = build_.CreateVectorSplat(1, condition(*s.valid));
                Value* fill =
                    build_.CreateVectorSplat(1, to_memory(constant(s.fill, dtype), dtype));
                out = build_.CreateExtractElement(
                    build_.CreateMaskedLoad(one, at, align, when, fill), std::uint64_t{0});
            } else {
                out = build_.CreateAlignedLoad(type, at, align);
            }
            factor_ = factor;
            return from_memory(out, dtype);
        }
        Value* lanes = lanes_of(s);
        llvm::Type* row = wide(type);
        Value* fill = splat(to_memory(constant(s.fill, dtype), dtype));
        if (way.step == 1) {
            Value* at = address(s.buffer, first_lane(*s.index));
            fetch_ahead(s, at);
            Value* out = lanes == nullptr
                             ? static_cast<Value*>(build_.CreateAlignedLoad(row, at, align))
                             : build_.CreateMaskedLoad(row, at, align, lanes, fill);
            return from_memory(out, dtype);
        }
        if (way.step == -1 && lanes == nullptr) {
            Value* at =
                address(s.buffer, build_.CreateSub(first_lane(*s.index), integer(factor_ - 1)));
            Value* out = build_.CreateAlignedLoad(row, at, align);
            return from_memory(build_.CreateVectorReverse(out), dtype);
        }
        const auto gathered = [&]() -> Value* {
            Value* at = address(s.buffer, splat(index(*s.index)));
            return build_.CreateMaskedGather(row, at, align,
                                             lanes == nullptr ? every_lane() : lanes, fill);
        };
        Value* neighbours = lanes_are_neighbours(*s.index);
        if (neighbours == nullptr) return from_memory(gathered(), dtype);
        const auto in_row = [&]() -> Value* {
            Value* at = address(s.buffer, first_lane(*s.index));
            if (lanes == nullptr) return build_.CreateAlignedLoad(row, at, align);
            return build_.CreateMaskedLoad(row, at, align, lanes, fill);
        };
        return from_memory(one_of(neighbours, in_row, gathered), dtype);
    }
    /// Asks for what later steps read of a large buffer, so that memory works while we compute:
    /// chains of dependent operations fill the processor's window long before it sees those loads.
    void fetch_ahead(const Statement& s, Value* at) {
        constexpr std::int64_t kFar = 16 << 10;  // bytes, into the second cache
        constexpr std::int64_t kNear = 1 << 10;  // into the first
        constexpr std::int64_t kRows = 8;        // where each step is another row
        constexpr std::uint32_t kFirst = 3;
        constexpr std::uint32_t kSecond = 2;
        const auto size = static_cast<std::int64_t>(size_of(s.dtype));
        if (mask_ != nullptr || !is_large(s.buffer)) return;
        const auto ask = [&](Value* ahead, std::uint32_t cache) {
            Value* from = build_.CreateGEP(build_.getInt8Ty(), at, ahead);
            for (std::int64_t line = 0; line < factor_ * size; line += 64) {
                Value* where = build_.CreateConstGEP1_64(build_.getInt8Ty(), from, line);
                build_.CreateIntrinsic(
                    llvm::Intrinsic::prefetch, {where->getType()},
                    {where, build_.getInt32(0), build_.getInt32(cache), build_.getInt32(1)});
            }
        };
        // How far the index moves with a loop; none where it does not.
        const auto step_of = [&](std::size_t from_inside) -> std::optional<Expr> {
            if (loops_.size() <= from_inside) return std::nullopt;
            const Count& loop = loops_[loops_.size() - 1 - from_inside];
            const auto step = codegen::symbolic_step(*s.index, loop.variable);
            const bool moves = step && !(step->constant() == 0) && !along(*step).varies;
            return moves ? step : std::nullopt;
        };
        if (loops_.back().variable.node() != lane_variable_) {
            if (const auto step = step_of(0)) ask(index(*step * (kRows * size)), kFirst);
            return;
        }
        const auto row = step_of(1);
        const Expr& length = loops_.back().size;
        const bool again = !fetched_.insert({s.buffer, without_lanes(*s.index).node()}).second;
        const bool goes_on = row && *row == length;
        if (loops_.size() == 1 || (!again && (goes_on || length.bounds().low * size > 4 * kFar))) {
            ask(integer(kFar), kSecond);
            ask(integer(kNear), kFirst);
        } else if (row) {
            // Read once more, or alone: time to get the next row.
            ask(index(*row * size), kSecond);
        }
    }
    /// Whether a buffer is larger than caches. Where only a run knows its size, it is as large as
    /// what this function is made for: for small ones, neither fetching ahead nor writing past the
    /// cache would pay.
    bool is_large(std::size_t number) const {
        const codegen::KernelBuffer& buffer = kernel_.buffers[number];
        const std::size_t size = size_of(buffer.dtype);
        if (const auto elements = buffer.elements.constant())
            return *elements * static_cast<std::int64_t>(size) >= codegen::kStreamBytes;
        return std::any_of(large_.begin(), large_.end(), [&](std::size_t i) {
            const codegen::KernelBuffer& known = kernel_.buffers[i];
            return known.elements == buffer.elements && size_of(known.dtype) <= size;
        });
    }
    Expr without_lanes(const Expr& index) const {
        return index.substitute([&](Expr v) -> std::optional<Expr> {
            if (v.node() != lane_variable_) return std::nullopt;
            return v * 0;
        });
    }
    /// For its type only.
    Value* condition_shape(const Expr& e) {
        for (const Expr& v : e.vars()) {
            if (is_vector(variable(v.node()))) return variable(v.node());
        }
        return integer(0);
    }

    void store(const Statement& s) {
        const DType dtype = kernel_.buffers[s.buffer].dtype;
        const llvm::Align align(size_of(dtype));
        Value* value = to_memory(use(s.operands[0]), dtype);
        if (factor_ == 1) {
            if (s.valid) {
                build_.CreateMaskedStore(build_.CreateVectorSplat(1, value),
                                         address(s.buffer, index(*s.index)), align,
                                         build_.CreateVectorSplat(1, condition(*s.valid)));
            } else {
                build_.CreateAlignedStore(value, address(s.buffer, index(*s.index)), align);
            }
            return;
        }
        value = splat(value);
        Value* lanes = lanes_of(s);
        const Along way = along(*s.index);
        if (way.step == 1) {
            Value* at = address(s.buffer, first_lane(*s.index));
            if (lanes != nullptr) {
                build_.CreateMaskedStore(value, at, align, lanes);
            } else if (is_streamed(s)) {
                auto* streamed = build_.CreateAlignedStore(value, at, llvm::Align(64));
                streamed->setMetadata(
                    llvm::LLVMContext::MD_nontemporal,
                    llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(build_.getInt32(1))));
                streamed_ = true;
            } else {
                build_.CreateAlignedStore(value, at, align);
            }
            return;
        }
        const auto scatter = [&] {
            build_.CreateMaskedScatter(value, address(s.buffer, splat(index(*s.index))), align,
                                       lanes == nullptr ? every_lane() : lanes);
        };
        Value* neighbours = lanes_are_neighbours(*s.index);
        if (neighbours == nullptr) return scatter();
        either(
            neighbours,
            [&] {
                Value* at = address(s.buffer, first_lane(*s.index));
                if (lanes == nullptr) {
                    build_.CreateAlignedStore(value, at, align);
                } else {
                    build_.CreateMaskedStore(value, at, align, lanes);
                }
            },
            scatter);
    }

    /// Whether a store is worth to go past the cache, and starts on a cache line at every step.
    bool is_streamed(const Statement& s) {
        const codegen::KernelBuffer& buffer = kernel_.buffers[s.buffer];
        const auto size = static_cast<std::int64_t>(size_of(buffer.dtype));
        if (!options_.streams || !is_large(s.buffer)) return false;
        if (factor_ * size % 64 != 0) return false;
        if (!kernel_.variables.empty()) return whole_lines_.contains(&s);
        return mod(without_lanes(*s.index), 64 / size).constant() == 0;
    }

    /// Emits a loop that runs in vectors. Where only a run knows whether what it stores begins on
    /// cache lines at every step, it is emitted twice, and the run looks.
    void by_whole_lines(const Statement& s, int factor, Value* begin,
                        const std::function<void()>& loop) {
        std::set<const Statement*> stores;
        Value* rest = nullptr;  // 0 where all of them do
        if (!large_.empty()) collect_stores(s, s.body, factor, begin, stores, rest);
        if (stores.empty()) return loop();
        Value* whole = build_.CreateICmpEQ(rest, integer(0));
        const auto fetched = fetched_;
        either(
            whole,
            [&] {
                whole_lines_ = stores;
                loop();
                whole_lines_.clear();
                fetched_ = fetched;
            },
            loop);
    }

    void collect_stores(const Statement& loop, const Block& block, int factor, Value* begin,
                        std::set<const Statement*>& stores, Value*& rest) {
        for (const Statement& s : block) {
            collect_stores(loop, s.body, factor, begin, stores, rest);
            if (s.kind != StatementKind::store || s.valid || !is_large(s.buffer)) continue;
            const auto size = static_cast<std::int64_t>(size_of(kernel_.buffers[s.buffer].dtype));
            const auto must_divide = codegen::whole_lines(loops_, loop, s);
            if (!must_divide || factor * size % codegen::kLineBytes != 0) continue;
            stores.insert(&s);
            Value* any = begin;
            for (const Expr& e : *must_divide) any = build_.CreateOr(any, index(e));
            // A line has a power of two of elements.
            any = build_.CreateAnd(any, integer(codegen::kLineBytes / size - 1));
            rest = rest == nullptr ? any : build_.CreateOr(rest, any);
        }
    }

    // ---- loops

    void statement(const Statement& s) {
        switch (s.kind) {
            case StatementKind::load: values_[s.results[0]] = load(s); return;
            case StatementKind::constant: values_[s.results[0]] = constant(s.fill, s.dtype); return;
            case StatementKind::position: values_[s.results[0]] = position(s); return;
            case StatementKind::apply: values_[s.results[0]] = apply(s); return;
            case StatementKind::bind: return bind(s);
            case StatementKind::store: return store(s);
            case StatementKind::parallel:
            case StatementKind::serial: return loop_over(s, integer(0), index(s.counts[0].size));
            case StatementKind::reduce: return reduce(s);
        }
    }

    /// A value of this function; what stands outside of all loops is computed at its start, when it
    /// is first needed.
    Value* use(ValueId id) {
        if (const auto at = values_.find(id); at != values_.end()) return at->second;
        const auto found = top_.find(id);
        if (found == top_.end()) throw InternalError(fmt::format("%{} is not there", id));
        const Statement& s = *found->second;
        const llvm::IRBuilderBase::InsertPointGuard guard(build_);
        build_.SetInsertPoint(entry_->getTerminator());
        const int factor = std::exchange(factor_, 1);
        Value* mask = std::exchange(mask_, nullptr);
        if (s.kind == StatementKind::reduce) {
            const DType dtype = types_.at(id);
            values_[id] = from_memory(
                build_.CreateAlignedLoad(memory_type(dtype), passed(id), llvm::Align(8)), dtype);
        } else {
            statement(s);
        }
        factor_ = factor;
        mask_ = mask;
        return values_.at(id);
    }

    /// Calls `body` with the counter's value, from `begin` up in steps, as long as a whole step is
    /// left; returns where it stopped.
    Value* count(Value* begin, Value* end, int step, const std::function<void(Value*)>& body) {
        auto* before = build_.GetInsertBlock();
        auto* head = llvm::BasicBlock::Create(context_, "head", function_);
        auto* inside = llvm::BasicBlock::Create(context_, "loop", function_);
        auto* behind = llvm::BasicBlock::Create(context_, "behind", function_);
        build_.CreateBr(head);
        build_.SetInsertPoint(head);
        auto* at = build_.CreatePHI(build_.getInt64Ty(), 2);
        at->addIncoming(begin, before);
        Value* next = build_.CreateNSWAdd(at, integer(step));
        build_.CreateCondBr(build_.CreateICmpSLE(next, end), inside, behind);
        build_.SetInsertPoint(inside);
        body(at);
        at->addIncoming(next, build_.GetInsertBlock());
        build_.CreateBr(head);
        build_.SetInsertPoint(behind);
        return at;
    }

    /// How many steps of a loop run at once, and how many of what those leave.
    struct Factor {
        int main;
        int rest;
    };

    /// Runs `body` at a vector's width, some steps at a time, then once more for what is left.
    void vectorized(const Count& over, Value* begin, Value* end, Factor factor,
                    const std::function<void()>& body) {
        Value* at = in_whole_vectors(over, begin, end, factor.main, body);
        const auto* from = llvm::dyn_cast<llvm::ConstantInt>(begin);
        const auto* to = llvm::dyn_cast<llvm::ConstantInt>(end);
        if (from != nullptr && to != nullptr &&
            (to->getSExtValue() - from->getSExtValue()) % factor.main == 0)
            return;
        if (factor.rest < factor.main) at = in_whole_vectors(over, at, end, factor.rest, body);
        in_part_of_vector(over, at, end, factor.rest, body);
    }
    /// As long as `width` steps are left; returns where it stopped.
    Value* in_whole_vectors(const Count& over, Value* begin, Value* end, int width,
                            const std::function<void()>& body) {
        return count(begin, end, width,
                     [&](Value* base) { at_width(over, base, nullptr, width, body); });
    }
    /// The next steps up to `width`, if there are any, under a mask.
    void in_part_of_vector(const Count& over, Value* at, Value* end, int width,
                           const std::function<void()>& body) {
        auto* rest = llvm::BasicBlock::Create(context_, "rest", function_);
        auto* behind = llvm::BasicBlock::Create(context_, "behind", function_);
        build_.CreateCondBr(build_.CreateICmpSLT(at, end), rest, behind);
        build_.SetInsertPoint(rest);
        factor_ = width;
        Value* left = splat(build_.CreateTrunc(build_.CreateSub(end, at), build_.getInt32Ty()));
        Value* mask = build_.CreateICmpULT(lane_numbers32(), left);
        at_width(over, at, mask, width, body);
        build_.CreateBr(behind);
        build_.SetInsertPoint(behind);
    }
    void at_width(const Count& over, Value* base, Value* mask, int width,
                  const std::function<void()>& body) {
        factor_ = width;
        mask_ = mask;
        lane_variable_ = over.variable.node();
        lane_base_ = base;
        variables_[lane_variable_] = build_.CreateAdd(splat(base), lane_numbers());
        const Inside inside(loops_, over);
        body();
        factor_ = 1;
        mask_ = nullptr;
        lane_variable_ = nullptr;
    }
    llvm::Constant* lane_numbers() {
        std::vector<std::uint64_t> numbers;
        for (int i = 0; i < factor_; ++i) numbers.push_back(static_cast<std::uint64_t>(i));
        return llvm::ConstantDataVector::get(context_, numbers);
    }
    llvm::Constant* lane_numbers32() {
        std::vector<std::uint32_t> numbers;
        for (int i = 0; i < factor_; ++i) numbers.push_back(static_cast<std::uint32_t>(i));
        return llvm::ConstantDataVector::get(context_, numbers);
    }

    bool is_vectorizable(const Statement& s) {
        if (!!codegen::has_loops(s.body)) return false;
        // A store that does not move with the counter means its last step.
        return std::all_of(s.body.begin(), s.body.end(), [&](const Statement& inner) {
            return inner.kind != StatementKind::store ||
                   codegen::moves_along(*inner.index, s.counts.back().variable);
        });
    }

    /// How many steps of a loop run at once. An operation takes some cycles, of which each could
    /// start two more: up to eight registers a value keep the processor busy, as long as all values
    /// that are alive at once stay in registers. Not more than there are steps.
    int factor_for(const Statement& s) {
        constexpr int kRegisters = 28;
        const int one = options_.width / 32;
        int factor = 8 * one;
        while (factor > one && most_alive(s.body) * (factor / one) > kRegisters) factor /= 2;
        const std::int64_t steps = s.counts.back().size.bounds().high;
        while (factor > one / 4 && factor / 2 >= steps) factor /= 2;
        return std::max(factor, 1);
    }
    /// A loop whose length is known is cut to fit; one that only a run knows may be short, and what
    /// it leaves takes one register a value and not all of them.
    Factor with_rest(int factor) const {
        return {factor, kernel_.variables.empty() ? factor : std::min(factor, options_.width / 32)};
    }
    /// The same for a loop that holds loops: their accumulators are vectors too.
    int across_factor(const Statement& s) {
        int factor = 2 * options_.width / 32;
        const std::int64_t steps = s.counts.back().size.bounds().high;
        while (factor > 1 && factor / 2 >= steps) factor /= 2;
        return factor;
    }
    /// The most values of a block that are needed later at some place, constants not counted.
    static int most_alive(const Block& block) {
        std::unordered_map<ValueId, std::size_t> last;
        for (std::size_t i = 0; i < block.size(); ++i) {
            for (const ValueId id : block[i].operands) last[id] = i;
        }
        std::vector<int> ends(block.size() + 1, 0);
        int alive = 0;
        int most = 1;
        for (std::size_t i = 0; i < block.size(); ++i) {
            alive -= ends[i];
            if (block[i].kind == StatementKind::constant) continue;
            for (const ValueId id : block[i].results) {
                const auto at = last.find(id);
                if (at == last.end()) continue;
                ++alive;
                ++ends[at->second];
            }
            most = std::max(most, alive);
        }
        return most;
    }

    void loop_over(const Statement& s, Value* begin, Value* end) {
        if (factor_ == 1 && is_vectorizable(s))
            return in_vectors(s, begin, end, with_rest(factor_for(s)));
        if (factor_ == 1 && codegen::runs_in_tiles(s)) return in_tiles(s, begin, end);
        if (factor_ == 1 && codegen::vectorizes_across(s))
            return in_vectors(s, begin, end, with_rest(across_factor(s)));
        one_by_one(s, begin, end);
    }
    /// A loop that holds loops, vectorised where it would not be: across it and not along them, or
    /// along them and not across it.
    void turned(const Statement& s, Value* begin, Value* end) {
        if (codegen::vectorizes_across(s)) return one_by_one(s, begin, end);
        const int factor = across_factor(s);
        in_vectors(s, begin, end, {factor, factor});
    }
    void in_vectors(const Statement& s, Value* begin, Value* end, Factor factor) {
        by_whole_lines(s, factor.main, begin,
                       [&] { vectorized(s.counts[0], begin, end, factor, [&] { body_of(s); }); });
    }
    void one_by_one(const Statement& s, Value* begin, Value* end) {
        count(begin, end, 1, [&](Value* at) {
            variables_[s.counts[0].variable.node()] = at;
            const Inside inside(loops_, s.counts[0]);
            body_of(s);
        });
        fetched_.clear();
    }
    void body_of(const Statement& s) {
        for (const Statement& inner : s.body) statement(inner);
    }

    /// Some rows at some columns, then at the next columns, then the next rows. Of one row there
    /// are no tiles, and what is read may lie side by side there.
    void in_tiles(const Statement& s, Value* begin, Value* end) {
        const auto tiles = [&] {
            looks_for_neighbours_ = false;
            tiled(s, begin, end);
            looks_for_neighbours_ = true;
        };
        if (s.counts[0].size.is_constant()) return tiles();
        Value* is_one = build_.CreateICmpEQ(build_.CreateSub(end, begin), integer(1));
        either(is_one, [&] { one_by_one(s, begin, end); }, tiles);
    }
    void tiled(const Statement& s, Value* begin, Value* end) {
        const Statement& inner = s.body[0];
        Value* columns = index(inner.counts[0].size);
        const auto pieces = [&](Value* of, std::int64_t size) {
            return build_.CreateSDiv(build_.CreateAdd(of, integer(size - 1)), integer(size));
        };
        Value* row_pieces = pieces(build_.CreateSub(end, begin), codegen::kTileRows);
        Value* column_pieces = pieces(columns, codegen::kTileColumns);
        count(integer(0), row_pieces, 1, [&](Value* piece) {
            Value* first =
                build_.CreateAdd(begin, build_.CreateMul(piece, integer(codegen::kTileRows)));
            Value* last = smaller(build_.CreateAdd(first, integer(codegen::kTileRows)), end);
            count(integer(0), column_pieces, 1, [&](Value* tile) {
                Value* from = build_.CreateMul(tile, integer(codegen::kTileColumns));
                Value* to =
                    smaller(build_.CreateAdd(from, integer(codegen::kTileColumns)), columns);
                count(first, last, 1, [&](Value* row) {
                    variables_[s.counts[0].variable.node()] = row;
                    const int one = options_.width / 32;
                    vectorized(inner.counts[0], from, to, {one, one}, [&] {
                        for (const Statement& each : inner.body) statement(each);
                    });
                });
            });
        });
    }

    // ---- reductions

    /// Lanes behind the last step add nothing. Where only a run knows how many steps there are,
    /// they are left out: for a few steps they would take most of the time.
    static bool lanes_are_cut(const Statement& s) {
        return s.lanes > 1 && !s.counts.back().size.is_constant() &&
               std::ranges::all_of(s.accumulators, codegen::begins_with_nothing);
    }

    void reduce(const Statement& s) {
        if (factor_ > 1) return reduce_across(s);
        const int lanes = s.lanes;
        std::vector<Value*> rooms;
        for (const Accumulator& a : s.accumulators) {
            llvm::Type* type = type_of(a.dtype);
            if (lanes > 1) type = llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
            Value* room = room_for(type);
            Value* init = constant(a.init, a.dtype);
            if (lanes > 1) init = build_.CreateVectorSplat(static_cast<unsigned>(lanes), init);
            build_.CreateStore(init, room);
            rooms.push_back(room);
        }
        reduce_over(s, 0, rooms);
        Value* used = lanes_are_cut(s) ? index(s.counts.back().size) : nullptr;
        for (std::size_t k = 0; k < rooms.size(); ++k) {
            const Accumulator& a = s.accumulators[k];
            llvm::Type* type = llvm::cast<llvm::AllocaInst>(rooms[k])->getAllocatedType();
            Value* total = build_.CreateLoad(type, rooms[k]);
            for (int half = lanes / 2; half > 0; half /= 2) {
                std::vector<int> low(static_cast<std::size_t>(half));
                std::vector<int> high(static_cast<std::size_t>(half));
                for (int i = 0; i < half; ++i) {
                    low[static_cast<std::size_t>(i)] = i;
                    high[static_cast<std::size_t>(i)] = i + half;
                }
                const auto lower = [&] { return build_.CreateShuffleVector(total, low); };
                const auto both = [&] {
                    return primitive(op_def(a.combine).primitive, a.dtype, a.dtype,
                                     {lower(), build_.CreateShuffleVector(total, high)});
                };
                total = used == nullptr
                            ? both()
                            : one_of(build_.CreateICmpSGT(used, integer(half)), both, lower);
            }
            if (lanes > 1) total = build_.CreateExtractElement(total, std::uint64_t{0});
            values_[s.results[k]] = total;
        }
    }

    /// Many reductions side by side: each of their lanes is a vector, in memory, since which one a
    /// step belongs to is known by its number.
    void reduce_across(const Statement& s) {
        std::vector<Value*> rooms;
        const auto place = [&](std::size_t k, Value* lane) {
            return build_.CreateGEP(wide(type_of(s.accumulators[k].dtype)), rooms[k], lane);
        };
        const auto combine = [&](std::size_t k, Value* a, Value* b) {
            const Accumulator& how = s.accumulators[k];
            return primitive(op_def(how.combine).primitive, how.dtype, how.dtype, {a, b});
        };
        const auto loaded = [&](std::size_t k, Value* lane) {
            return build_.CreateLoad(wide(type_of(s.accumulators[k].dtype)), place(k, lane));
        };
        const bool is_cut = lanes_are_cut(s);
        Value* used = integer(s.lanes);
        if (is_cut) {
            used = smaller(used, index(s.counts.back().size));
            used = build_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, used, integer(1));
        }
        for (std::size_t k = 0; k < s.accumulators.size(); ++k) {
            // A loop is emitted several times, and one of them runs at a time.
            llvm::Type* lane = wide(type_of(s.accumulators[k].dtype));
            Value*& room = lane_rooms_[{&s, k, lane}];
            if (room == nullptr)
                room = room_for(llvm::ArrayType::get(lane, static_cast<std::uint64_t>(s.lanes)));
            rooms.push_back(room);
        }
        const auto begin = [&](Value* lane) {
            for (std::size_t k = 0; k < rooms.size(); ++k) {
                const Accumulator& a = s.accumulators[k];
                build_.CreateStore(splat(constant(a.init, a.dtype)), place(k, lane));
            }
        };
        if (is_cut) {
            count(integer(0), used, 1, begin);
        } else {
            for (int lane = 0; lane < s.lanes; ++lane) begin(integer(lane));
        }
        count_across(s, 0, [&](Value* last) {
            for (const Statement& inner : s.body) statement(inner);
            Value* lane = s.lanes == 1 ? integer(0) : build_.CreateURem(last, integer(s.lanes));
            for (std::size_t k = 0; k < rooms.size(); ++k)
                build_.CreateStore(combine(k, loaded(k, lane), splat(yielded(s, k))),
                                   place(k, lane));
        });
        // Every so many-th lane from one on, in halves.
        const auto combined = [&](std::size_t k, Value* first, int every) {
            std::vector<Value*> lanes;
            for (int lane = 0; lane < s.lanes; lane += every)
                lanes.push_back(loaded(k, build_.CreateAdd(first, integer(lane))));
            for (std::size_t half = lanes.size() / 2; half > 0; half /= 2) {
                for (std::size_t i = 0; i < half; ++i)
                    lanes[i] = combine(k, lanes[i], lanes[i + half]);
            }
            return lanes[0];
        };
        if (!is_cut) {
            for (std::size_t k = 0; k < rooms.size(); ++k)
                values_[s.results[k]] = combined(k, integer(0), 1);
            return;
        }
        const auto all_lanes = [&] {
            const int few = std::min(8, s.lanes);
            count(integer(0), integer(few), 1, [&](Value* lane) {
                for (std::size_t k = 0; k < rooms.size(); ++k)
                    build_.CreateStore(combined(k, lane, few), place(k, lane));
            });
            for (int half = few / 2; half > 0; half /= 2) {
                for (int lane = 0; lane < half; ++lane) {
                    for (std::size_t k = 0; k < rooms.size(); ++k)
                        build_.CreateStore(
                            combine(k, loaded(k, integer(lane)), loaded(k, integer(lane + half))),
                            place(k, integer(lane)));
                }
            }
        };
        const auto some_lanes = [&] {
            Value* left = used;
            for (int half = s.lanes / 2; half > 0; half /= 2) {
                count(integer(half), left, 1, [&](Value* upper) {
                    Value* lower = build_.CreateSub(upper, integer(half));
                    for (std::size_t k = 0; k < rooms.size(); ++k)
                        build_.CreateStore(combine(k, loaded(k, lower), loaded(k, upper)),
                                           place(k, lower));
                });
                left = smaller(left, integer(half));
            }
        };
        either(build_.CreateICmpEQ(used, integer(s.lanes)), all_lanes, some_lanes);
        for (std::size_t k = 0; k < rooms.size(); ++k)
            values_[s.results[k]] = loaded(k, integer(0));
    }
    void count_across(const Statement& s, std::size_t level,
                      const std::function<void(Value*)>& body) {
        Value* end = index(s.counts[level].size);
        count(integer(0), end, 1, [&](Value* at) {
            variables_[s.counts[level].variable.node()] = at;
            const Inside inside(loops_, s.counts[level]);
            if (level + 1 == s.counts.size()) return body(at);
            count_across(s, level + 1, body);
        });
    }

    Value* room_for(llvm::Type* type) {
        const llvm::IRBuilderBase::InsertPointGuard guard(build_);
        build_.SetInsertPoint(entry_, entry_->begin());
        return build_.CreateAlloca(type);
    }

    void reduce_over(const Statement& s, std::size_t level, std::span<Value* const> rooms) {
        const Expr& counter = s.counts[level].variable;
        Value* end = index(s.counts[level].size);
        const bool innermost = level + 1 == s.counts.size();
        if (innermost && s.lanes > 1 && !codegen::has_loops(s.body)) {
            return reduce_lanes(s, end, rooms);
        }
        count(integer(0), end, 1, [&](Value* at) {
            variables_[counter.node()] = at;
            const Inside inside(loops_, s.counts[level]);
            if (!innermost) return reduce_over(s, level + 1, rooms);
            for (const Statement& inner : s.body) statement(inner);
            Value* lane = s.lanes == 1 ? nullptr : build_.CreateURem(at, integer(s.lanes));
            for (std::size_t k = 0; k < rooms.size(); ++k) {
                llvm::Type* type = type_of(s.accumulators[k].dtype);
                Value* room = lane == nullptr ? rooms[k] : build_.CreateGEP(type, rooms[k], lane);
                add_one(s, k, room, type);
            }
        });
    }

    /// All lanes at once, then the lanes that are left. Where only a run knows how many steps there
    /// are, those few are taken in quarters, and quarters that are empty left out.
    void reduce_lanes(const Statement& s, Value* end, std::span<Value* const> rooms) {
        const Count& over = s.counts.back();
        const auto add_lanes = [&](int first) {
            for (const Statement& inner : s.body) statement(inner);
            for (std::size_t k = 0; k < rooms.size(); ++k) {
                llvm::Type* type = type_of(s.accumulators[k].dtype);
                Value* room = first == 0 ? rooms[k]
                                         : build_.CreateConstInBoundsGEP1_64(
                                               type, rooms[k], static_cast<std::uint64_t>(first));
                add_to(s, k, room);
            }
        };
        const int quarter = std::max(options_.width / 32, s.lanes / 4);
        // Truth values share bytes: no part of them has an address.
        const bool shared =
            std::any_of(s.accumulators.begin(), s.accumulators.end(),
                        [](const Accumulator& a) { return a.dtype == DType::boolean; });
        if (kernel_.variables.empty() || shared || quarter >= s.lanes) {
            vectorized(over, integer(0), end, {s.lanes, s.lanes}, [&] { add_lanes(0); });
            return;
        }
        Value* at = in_whole_vectors(over, integer(0), end, s.lanes, [&] { add_lanes(0); });
        for (int first = 0; first < s.lanes; first += quarter) {
            Value* from = build_.CreateAdd(at, integer(first));
            in_part_of_vector(over, from, end, quarter, [&] { add_lanes(first); });
        }
    }

    Value* yielded(const Statement& s, std::size_t k) {
        const Accumulator& a = s.accumulators[k];
        return cast(use(a.from), types_.at(a.from), a.dtype);
    }
    void add_one(const Statement& s, std::size_t k, Value* room, llvm::Type* type) {
        const Accumulator& a = s.accumulators[k];
        Value* before = build_.CreateLoad(type, room);
        build_.CreateStore(
            primitive(op_def(a.combine).primitive, a.dtype, a.dtype, {before, yielded(s, k)}),
            room);
    }
    /// The same in all lanes at once; lanes that are not there stay as they were.
    void add_to(const Statement& s, std::size_t k, Value* room) {
        const Accumulator& a = s.accumulators[k];
        Value* before = build_.CreateLoad(wide(type_of(a.dtype)), room);
        Value* after = primitive(op_def(a.combine).primitive, a.dtype, a.dtype,
                                 {before, splat(yielded(s, k))});
        if (mask_ != nullptr) after = build_.CreateSelect(mask_, after, before);
        build_.CreateStore(after, room);
    }

    // ---- indices that are values

    void bind(const Statement& s) {
        const DType dtype = types_.at(s.operands[0]);
        Value* given = cast(use(s.operands[0]), dtype, DType::i64);
        Value* size = index(s.counts[0].size);
        Value* both[] = {given, size};
        unify(both);
        Value* zero = llvm::Constant::getNullValue(both[0]->getType());
        // Unsigned numbers do not count from the end, however large.
        Value* at = both[0];
        if (is_signed(dtype)) {
            Value* from_end = build_.CreateAdd(both[0], both[1]);
            at = build_.CreateSelect(build_.CreateICmpSLT(both[0], zero), from_end, both[0]);
        }
        Value* bad = build_.CreateICmpUGE(at, both[1]);
        if (mask_ != nullptr && is_vector(bad)) bad = build_.CreateAnd(bad, mask_);
        report(bad, both[0], size, is_signed(dtype));
        variables_[s.counts[0].variable.node()] = build_.CreateSelect(bad, zero, at);
    }

    /// Leaves the first bad index of some step for whoever looks.
    void report(Value* bad, Value* given, Value* size, bool with_sign) {
        Value* any = is_vector(bad) ? build_.CreateOrReduce(bad) : bad;
        auto* found = llvm::BasicBlock::Create(context_, "bad", function_);
        auto* behind = llvm::BasicBlock::Create(context_, "behind", function_);
        build_.CreateCondBr(any, found, behind);
        build_.SetInsertPoint(found);
        Value* first = given;
        if (is_vector(given)) {
            Value* bits = build_.CreateBitCast(
                bad, llvm::Type::getIntNTy(context_, static_cast<unsigned>(factor_)));
            Value* which =
                build_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, build_.getInt1(true));
            first = build_.CreateExtractElement(
                given, build_.CreateZExtOrTrunc(which, build_.getInt64Ty()));
        }
        Value* status = function_->getArg(4);
        build_.CreateStore(first,
                           build_.CreateConstInBoundsGEP1_64(build_.getInt64Ty(), status, 1));
        build_.CreateStore(size, build_.CreateConstInBoundsGEP1_64(build_.getInt64Ty(), status, 2));
        build_.CreateStore(integer(with_sign ? 1 : 2), status);
        build_.CreateBr(behind);
        build_.SetInsertPoint(behind);
    }

    // ---- functions of elements

    Value* position(const Statement& s) {
        if (s.dtype == DType::boolean) return condition(*s.index);
        return cast(index(*s.index), DType::i64, s.dtype);
    }

    Value* apply(const Statement& s) {
        const OpDef& def = op_def(s.op);
        std::vector<Value*> operands;
        for (const ValueId id : s.operands) operands.push_back(use(id));
        const DType from = types_.at(s.operands.back());
        return primitive(def.primitive, from, s.dtype, operands);
    }

    /// A function of the C library, lane by lane, in double as the record computes it.
    Value* called(const char* name, DType dtype, std::vector<Value*> operands) {
        unify(operands);
        llvm::Type* real = build_.getDoubleTy();
        const std::vector<llvm::Type*> params(operands.size(), real);
        const auto callee =
            module_.getOrInsertFunction(name, llvm::FunctionType::get(real, params, false));
        const auto call = [&](const std::vector<Value*>& arguments) -> Value* {
            std::vector<Value*> doubles;
            for (Value* v : arguments) doubles.push_back(cast(v, dtype, DType::f64));
            auto* made = build_.CreateCall(callee, doubles);
            made->addFnAttr(llvm::Attribute::NoBuiltin);  // it stays what it is
            return cast(made, DType::f64, dtype);
        };
        if (!is_vector(operands[0])) return call(operands);
        Value* out = llvm::PoisonValue::get(operands[0]->getType());
        for (int lane = 0; lane < factor_; ++lane) {
            std::vector<Value*> single;
            for (Value* v : operands)
                single.push_back(build_.CreateExtractElement(v, static_cast<std::uint64_t>(lane)));
            out = build_.CreateInsertElement(out, call(single), static_cast<std::uint64_t>(lane));
        }
        return out;
    }

    Value* primitive(Primitive p, DType from, DType to, std::vector<Value*> v) {
        unify(v);
        const bool real = is_float(from);
        switch (p) {
            case Primitive::add:
                return real ? build_.CreateFAdd(v[0], v[1]) : build_.CreateAdd(v[0], v[1]);
            case Primitive::sub:
                return real ? build_.CreateFSub(v[0], v[1]) : build_.CreateSub(v[0], v[1]);
            case Primitive::mul:
                return real ? build_.CreateFMul(v[0], v[1]) : build_.CreateMul(v[0], v[1]);
            case Primitive::div: return build_.CreateFDiv(v[0], v[1]);
            case Primitive::fma:
                return build_.CreateIntrinsic(llvm::Intrinsic::fma, {v[0]->getType()}, v);
            case Primitive::neg: return real ? build_.CreateFNeg(v[0]) : build_.CreateNeg(v[0]);
            case Primitive::abs:
                if (real) return build_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v[0]);
                if (!is_signed(from)) return v[0];
                return build_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, v[0],
                                                    build_.getInt1(false));
            case Primitive::sqrt: return build_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, v[0]);
            case Primitive::maximum:
            case Primitive::minimum: return extreme(p == Primitive::maximum, from, v[0], v[1]);
            case Primitive::copysign:
                return build_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, v[0], v[1]);
            case Primitive::scale2: return scaled(from, v[0], v[1]);
            case Primitive::eq:
            case Primitive::ne:
            case Primitive::lt:
            case Primitive::le:
            case Primitive::gt:
            case Primitive::ge: return compared(p, from, v[0], v[1]);
            case Primitive::select: return build_.CreateSelect(v[0], v[1], v[2]);
            case Primitive::cast: return cast(v[0], from, to);
            case Primitive::bitcast: return bitcast(v[0], from, to);
            case Primitive::copy: return v[0];
            case Primitive::shift_left:
            case Primitive::shift_right:
                return shifted(p == Primitive::shift_left, from, v[0], v[1]);
            case Primitive::floor: return build_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, v[0]);
            case Primitive::bit_and: return build_.CreateAnd(v[0], v[1]);
            case Primitive::bit_or: return build_.CreateOr(v[0], v[1]);
            case Primitive::bit_xor: return build_.CreateXor(v[0], v[1]);
            case Primitive::fmod: return called("fmod", from, v);
            case Primitive::quotient: return quotient(from, v[0], v[1]);
            case Primitive::none: break;
        }
        throw InternalError("a primitive without machine code");
    }

    Value* extreme(bool larger, DType dtype, Value* a, Value* b) {
        using llvm::Intrinsic::ID;
        const ID id = is_float(dtype)
                          ? (larger ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum)
                      : is_signed(dtype) ? (larger ? llvm::Intrinsic::smax : llvm::Intrinsic::smin)
                                         : (larger ? llvm::Intrinsic::umax : llvm::Intrinsic::umin);
        return build_.CreateBinaryIntrinsic(id, a, b);
    }

    Value* compared(Primitive p, DType dtype, Value* a, Value* b) {
        using Predicate = llvm::CmpInst::Predicate;
        struct Row {
            Primitive primitive;
            Predicate real, with_sign, without;
        };
        static constexpr Row rows[] = {
            {Primitive::eq, Predicate::FCMP_OEQ, Predicate::ICMP_EQ, Predicate::ICMP_EQ},
            {Primitive::ne, Predicate::FCMP_UNE, Predicate::ICMP_NE, Predicate::ICMP_NE},
            {Primitive::lt, Predicate::FCMP_OLT, Predicate::ICMP_SLT, Predicate::ICMP_ULT},
            {Primitive::le, Predicate::FCMP_OLE, Predicate::ICMP_SLE, Predicate::ICMP_ULE},
            {Primitive::gt, Predicate::FCMP_OGT, Predicate::ICMP_SGT, Predicate::ICMP_UGT},
            {Primitive::ge, Predicate::FCMP_OGE, Predicate::ICMP_SGE, Predicate::ICMP_UGE},
        };
        for (const Row& row : rows) {
            if (row.primitive != p) continue;
            return build_.CreateCmp(is_float(dtype)    ? row.real
                                    : is_signed(dtype) ? row.with_sign
                                                       : row.without,
                                    a, b);
        }
        throw InternalError("no comparison");
    }

    Value* shifted(bool left, DType dtype, Value* a, Value* count) {
        const auto bits = static_cast<std::uint64_t>(8 * size_of(dtype));
        llvm::Type* type = a->getType();
        Value* beyond = build_.CreateICmpUGE(count, llvm::ConstantInt::get(type, bits));
        Value* zero = llvm::Constant::getNullValue(type);
        if (left)
            return build_.CreateSelect(
                beyond, zero, build_.CreateShl(a, build_.CreateSelect(beyond, zero, count)));
        if (!is_signed(dtype))
            return build_.CreateSelect(
                beyond, zero, build_.CreateLShr(a, build_.CreateSelect(beyond, zero, count)));
        return build_.CreateAShr(
            a, build_.CreateSelect(beyond, llvm::ConstantInt::get(type, bits - 1), count));
    }

    /// Rounded down; 0 where the divisor is 0, and the lowest number where it is the lowest / -1.
    Value* quotient(DType dtype, Value* a, Value* b) {
        llvm::Type* type = a->getType();
        Value* zero = llvm::Constant::getNullValue(type);
        Value* by_zero = build_.CreateICmpEQ(b, zero);
        llvm::Constant* one = llvm::ConstantInt::get(type, 1);
        if (!is_signed(dtype))
            return build_.CreateSelect(by_zero, zero,
                                       build_.CreateUDiv(a, build_.CreateSelect(by_zero, one, b)));
        // Processors trap at the lowest number / -1.
        Value* negates = build_.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(type));
        Value* divisor = build_.CreateSelect(build_.CreateOr(by_zero, negates), one, b);
        Value* out =
            build_.CreateSelect(negates, build_.CreateNeg(a), rounded_down(a, divisor, true));
        return build_.CreateSelect(by_zero, zero, out);
    }

    /// a * 2^floor(b), rounded once.
    Value* scaled(DType dtype, Value* a, Value* b) {
        const int lanes = dtype == DType::f64 ? 8 : 16;
        if (options_.has_scale && is_vector(a) && factor_ % lanes == 0)
            return scaled_by_instruction(a, b, lanes);
        if (dtype == DType::f64) return scaled_double(a, b);
        // In double every such product is exact before it is rounded.
        llvm::Type* real = like(build_.getDoubleTy(), a);
        llvm::Type* i64 = like(build_.getInt64Ty(), a);
        const auto number = [&](double v) { return llvm::ConstantFP::get(real, v); };
        Value* power = build_.CreateFPExt(b, real);
        Value* not_number = build_.CreateFCmpUNO(power, power);
        Value* floor = build_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, power);
        Value* low =
            build_.CreateSelect(build_.CreateFCmpOLT(floor, number(-600)), number(-600), floor);
        Value* cut = build_.CreateSelect(build_.CreateFCmpOGT(low, number(600)), number(600), low);
        Value* whole = build_.CreateFPToSI(build_.CreateSelect(not_number, number(0), cut), i64);
        Value* biased = build_.CreateAdd(whole, llvm::ConstantInt::get(i64, 1023));
        Value* factor =
            build_.CreateBitCast(build_.CreateShl(biased, llvm::ConstantInt::get(i64, 52)), real);
        Value* size = build_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, power);
        Value* infinite = build_.CreateFCmpOEQ(size, llvm::ConstantFP::getInfinity(real));
        Value* extreme_factor =
            build_.CreateSelect(build_.CreateFCmpOGT(power, number(0)), power, number(0));
        factor = build_.CreateSelect(infinite, extreme_factor, factor);
        Value* wide_a = build_.CreateFPExt(a, real);
        Value* product = build_.CreateFMul(wide_a, factor);
        Value* lost = build_.CreateAnd(infinite, build_.CreateFCmpUNO(wide_a, wide_a));
        product = build_.CreateSelect(lost, extreme_factor, product);
        return build_.CreateSelect(not_number, b, build_.CreateFPTrunc(product, a->getType()));
    }
    /// The same for doubles: a is brought to [1, 2) and its power counted apart; half of the power
    /// is then applied exactly, and the other half rounds.
    Value* scaled_double(Value* a, Value* b) {
        llvm::Type* real = a->getType();
        llvm::Type* i64 = like(build_.getInt64Ty(), a);
        const auto number = [&](double v) { return llvm::ConstantFP::get(real, v); };
        const auto integer = [&](std::int64_t v) { return llvm::ConstantInt::getSigned(i64, v); };
        const auto power_of_two = [&](Value* n) {
            return build_.CreateBitCast(
                build_.CreateShl(build_.CreateAdd(n, integer(1023)), integer(52)), real);
        };
        Value* not_number = build_.CreateFCmpUNO(b, b);
        Value* low = build_.CreateSelect(build_.CreateFCmpOGT(b, number(-5000)), b, number(-5000));
        Value* cut =
            build_.CreateSelect(build_.CreateFCmpOLT(low, number(5000)), low, number(5000));
        Value* floor = build_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, cut);
        // With these added, the integer stands in the low bits.
        Value* power =
            build_.CreateSub(build_.CreateBitCast(build_.CreateFAdd(floor, number(0x1.8p52)), i64),
                             integer(0x4338000000000000));
        Value* size = build_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
        Value* tiny = build_.CreateFCmpOLT(size, number(0x1p-1022));
        Value* normal = build_.CreateSelect(tiny, build_.CreateFMul(a, number(0x1p54)), a);
        Value* bits = build_.CreateBitCast(normal, i64);
        Value* exponent = build_.CreateSub(
            build_.CreateAnd(build_.CreateLShr(bits, integer(52)), integer(0x7ff)), integer(1023));
        Value* one = build_.CreateBitCast(
            build_.CreateSub(bits, build_.CreateShl(exponent, integer(52))), real);
        Value* total = build_.CreateAdd(build_.CreateAdd(exponent, power),
                                        build_.CreateSelect(tiny, integer(-54), integer(0)));
        total = build_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, total, integer(-1200));
        total = build_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, total, integer(1200));
        Value* half = build_.CreateAShr(total, integer(1));
        Value* product = build_.CreateFMul(build_.CreateFMul(one, power_of_two(half)),
                                           power_of_two(build_.CreateSub(total, half)));
        // 0, inf and NaN have no power of two.
        Value* infinity = llvm::ConstantFP::getInfinity(real);
        Value* plain = build_.CreateAnd(build_.CreateFCmpOLT(size, infinity),
                                        build_.CreateFCmpOGT(size, number(0)));
        product = build_.CreateSelect(plain, product, a);
        Value* infinite =
            build_.CreateFCmpOEQ(build_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, b), infinity);
        Value* factor = build_.CreateSelect(build_.CreateFCmpOGT(b, number(0)), b, number(0));
        Value* extreme =
            build_.CreateSelect(build_.CreateFCmpUNO(a, a), factor, build_.CreateFMul(a, factor));
        return build_.CreateSelect(not_number, b, build_.CreateSelect(infinite, extreme, product));
    }
    Value* scaled_by_instruction(Value* a, Value* b, int in_row) {
        const bool doubles = in_row == 8;
        auto* row = llvm::FixedVectorType::get(doubles ? build_.getDoubleTy() : build_.getFloatTy(),
                                               static_cast<unsigned>(in_row));
        std::vector<Value*> parts;
        for (int at = 0; at < factor_; at += in_row) {
            std::vector<int> lanes(static_cast<std::size_t>(in_row));
            for (int i = 0; i < in_row; ++i) lanes[static_cast<std::size_t>(i)] = at + i;
            parts.push_back(build_.CreateIntrinsic(
                doubles ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_512
                        : llvm::Intrinsic::x86_avx512_mask_scalef_ps_512,
                {},
                {build_.CreateShuffleVector(a, lanes), build_.CreateShuffleVector(b, lanes),
                 llvm::PoisonValue::get(row),
                 doubles ? build_.getInt8(0xff) : build_.getInt16(0xffff), build_.getInt32(4)}));
        }
        while (parts.size() > 1) {
            std::vector<Value*> joined;
            for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
                const auto count =
                    llvm::cast<llvm::FixedVectorType>(parts[i]->getType())->getNumElements();
                std::vector<int> lanes(2 * count);
                for (std::size_t k = 0; k < lanes.size(); ++k) lanes[k] = static_cast<int>(k);
                joined.push_back(build_.CreateShuffleVector(parts[i], parts[i + 1], lanes));
            }
            parts = std::move(joined);
        }
        return parts[0];
    }

    // ---- conversion

    Value* bitcast(Value* v, DType from, DType to) {
        if (from == to) return v;
        if (from == DType::boolean) v = to_memory(v, from);
        if (to == DType::boolean) return from_memory(v, to);
        return build_.CreateBitCast(v, like(type_of(to), v));
    }

    Value* cast(Value* v, DType from, DType to) {
        if (from == to) return v;
        if (to == DType::bf16) return to_bfloat(as_single(v, from));
        if (from == DType::bf16) return cast(from_bfloat(v), DType::f32, to);
        llvm::Type* type = like(type_of(to), v);
        if (to == DType::boolean) {
            llvm::Constant* zero = llvm::Constant::getNullValue(v->getType());
            return is_float(from) ? build_.CreateFCmpUNE(v, zero) : build_.CreateICmpNE(v, zero);
        }
        if (is_float(from) && is_float(to)) {
            if (to == DType::f16) return build_.CreateFPTrunc(as_single(v, from), type);
            if (from == DType::f16) return from_half(v, type);
            return size_of(to) > size_of(from) ? build_.CreateFPExt(v, type)
                                               : build_.CreateFPTrunc(v, type);
        }
        if (is_float(from))  // truncates, saturates, makes 0 of NaN
            return build_.CreateIntrinsic(
                is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                {type, v->getType()}, {v});
        if (to == DType::f16) return build_.CreateFPTrunc(as_single(v, from), type);
        if (is_float(to))
            return is_signed(from) ? build_.CreateSIToFP(v, type) : build_.CreateUIToFP(v, type);
        return is_signed(from) ? build_.CreateSExtOrTrunc(v, type)
                               : build_.CreateZExtOrTrunc(v, type);
    }

    /// Behind a fence: LLVM would compute the larger of two in half precision itself, where
    /// processors without such instructions go lane by lane, and where NaN may be lost.
    Value* from_half(Value* v, llvm::Type* type) {
        return build_.CreateArithmeticFence(build_.CreateFPExt(v, type), type);
    }

    /// As f32 on the way to a narrower type: what does not fit is rounded to odd, so that rounding
    /// again rounds as if it were the first time.
    Value* as_single(Value* v, DType from) {
        if (from == DType::f32) return v;
        if (from == DType::f16 || from == DType::bf16) return cast(v, from, DType::f32);
        llvm::Type* single = like(build_.getFloatTy(), v);
        llvm::Type* bits = like(build_.getInt32Ty(), v);
        Value* exact = v;
        if (from != DType::f64) {
            if (size_of(from) == 8) v = odd_below_53_bits(v, is_signed(from));
            exact = is_signed(from) ? build_.CreateSIToFP(v, like(build_.getDoubleTy(), v))
                                    : build_.CreateUIToFP(v, like(build_.getDoubleTy(), v));
        }
        Value* rounded = build_.CreateFPTrunc(exact, single);
        Value* back = build_.CreateFPExt(rounded, exact->getType());
        const auto size = [&](Value* x) {
            return build_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
        };
        Value* inexact = build_.CreateFCmpONE(back, exact);
        Value* too_far = build_.CreateFCmpOGT(size(back), size(exact));
        Value* word = build_.CreateBitCast(rounded, bits);
        word = build_.CreateSub(word, build_.CreateZExt(too_far, bits));
        word = build_.CreateOr(word, build_.CreateZExt(inexact, bits));
        return build_.CreateBitCast(word, single);
    }
    /// A 64-bit integer whose lowest bits are one that says whether there were any.
    Value* odd_below_53_bits(Value* v, bool with_sign) {
        llvm::Type* type = v->getType();
        Value* size =
            with_sign ? build_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, v, build_.getInt1(false))
                      : v;
        llvm::Constant* zero = llvm::Constant::getNullValue(type);
        Value* low = build_.CreateAnd(size, llvm::ConstantInt::get(type, 0xfff));
        Value* sticky = build_.CreateSelect(build_.CreateICmpNE(low, zero),
                                            llvm::ConstantInt::get(type, 0x800), zero);
        Value* cut = build_.CreateOr(
            build_.CreateAnd(size, llvm::ConstantInt::get(type, ~std::uint64_t{0xfff})), sticky);
        Value* large =
            build_.CreateICmpUGE(size, llvm::ConstantInt::get(type, std::uint64_t{1} << 53));
        Value* out = build_.CreateSelect(large, cut, size);
        if (!with_sign) return out;
        return build_.CreateSelect(build_.CreateICmpSLT(v, zero), build_.CreateNeg(out), out);
    }

    /// To nearest, ties to even; NaN stays NaN.
    Value* to_bfloat(Value* v) {
        llvm::Type* i32 = like(build_.getInt32Ty(), v);
        const auto number = [&](std::uint64_t n) { return llvm::ConstantInt::get(i32, n); };
        Value* bits = build_.CreateBitCast(v, i32);
        Value* even = build_.CreateAnd(build_.CreateLShr(bits, number(16)), number(1));
        Value* rounded = build_.CreateLShr(
            build_.CreateAdd(bits, build_.CreateAdd(even, number(0x7fff))), number(16));
        Value* quiet = build_.CreateOr(build_.CreateLShr(bits, number(16)), number(0x40));
        Value* out = build_.CreateSelect(build_.CreateFCmpUNO(v, v), quiet, rounded);
        return build_.CreateTrunc(out, like(build_.getInt16Ty(), v));
    }
    Value* from_bfloat(Value* v) {
        llvm::Type* i32 = like(build_.getInt32Ty(), v);
        Value* bits = build_.CreateShl(build_.CreateZExt(v, i32), llvm::ConstantInt::get(i32, 16));
        return build_.CreateBitCast(bits, like(build_.getFloatTy(), v));
    }

    const Kernel& kernel_;
    const EmitOptions options_;
    llvm::Module& module_;
    llvm::LLVMContext& context_;
    llvm::IRBuilder<> build_;
    llvm::Function* function_ = nullptr;
    llvm::BasicBlock* entry_ = nullptr;
    std::vector<Value*> buffers_;
    std::unordered_map<ValueId, const Statement*> top_;  // where values outside of loops are made
    std::unordered_map<ValueId, DType> types_;
    std::unordered_map<ValueId, Value*> values_;
    Variables variables_;
    int factor_ = 1;                                 // lanes of a vector, here
    Value* mask_ = nullptr;                          // the lanes that there are; null: all
    const symbolic::Node* lane_variable_ = nullptr;  // counts the lanes
    Value* lane_base_ = nullptr;                     // its value in the first
    bool streamed_ = false;
    bool looks_for_neighbours_ = true;
    std::optional<Statement> flat_;  // the phase's loop, where those inside have one step
    // Where reductions side by side keep their lanes.
    std::map<std::tuple<const Statement*, std::size_t, llvm::Type*>, Value*> lane_rooms_;
    std::set<const Statement*> whole_lines_;  // stores that begin on cache lines, here
    std::vector<std::size_t> large_;          // buffers that are large wherever this function runs
    std::vector<Count> loops_;                // around this, outer first
    std::set<std::pair<std::size_t, const symbolic::Node*>> fetched_;  // what this row has read
};

}  // namespace

void emit(const Kernel& kernel, const EmitOptions& options, llvm::Module& module) {
    Emitter(kernel, options, module).run();
}

}  // namespace lazuli::jit
