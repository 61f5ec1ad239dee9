#include "backend/cpu/compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <unordered_map>

#include "backend/cpu/disk_cache.h"
#include "backend/cpu/jit_module.h"
#include "base/env.h"
#include "codegen/phases.h"
#include "lazuli/compile.h"
#include "lazuli/error.h"
#include "runtime/behind.h"

namespace lazuli::cpu {

Code::Code(std::span<const char> object, std::size_t phases) : object_(object) {
    for (std::size_t i = 0; i < phases; ++i) {
        auto& forms = phases_.emplace_back();
        for (const codegen::Form form : codegen::kForms) {
            void* found = object_.find(codegen::function_name(i, form));
            if (found == nullptr && form == codegen::Form::usual)
                throw ArgumentError("an object file without its functions");
            forms[static_cast<std::size_t>(form)] =
                found != nullptr ? reinterpret_cast<LazuliPhase>(found) : forms[0];
        }
    }
}

namespace {

/// Whether some buffer holds elements of f16: they are converted by instructions that old
/// processors lack.
bool has_halves(const codegen::Kernel& kernel) {
    return std::any_of(kernel.buffers.begin(), kernel.buffers.end(),
                       [](const codegen::KernelBuffer& b) { return b.dtype == DType::f16; }) ||
           kernel.str().find(": f16") != std::string::npos;
}

/// How many statements the interpreter goes through.
double steps_of(const codegen::Block& block, double times) {
    double total = times * static_cast<double>(block.size());
    for (const codegen::Statement& s : block) {
        if (!codegen::is_loop(s)) continue;
        double steps = times;
        for (const codegen::Count& c : s.counts)
            steps *= static_cast<double>(
                c.size.constant().value_or(std::max<std::int64_t>(1, c.size.bounds().high)));
        total += steps_of(s.body, steps);
    }
    return total;
}

// Interpreting a statement takes 10 to 25 ns, and compiling a kernel 3 to 5 ms: up to this many
// statements the first run does not wait for the compiler.
constexpr double kQuickSteps = 100'000;

std::string cache_key(const std::string& text) { return target_text() + "\n" + text; }

std::atomic<std::size_t> made_count{0};

std::vector<char> make_object(const std::string& text) {
    std::vector<char> out = compiled_object(text);
    ++made_count;
    DiskCache::of_process().keep(cache_key(text), out);
    return out;
}

std::atomic<bool>& quick() {
    static std::atomic<bool> on{env::flag(env::Var::quick_start)};
    return on;
}

/// It can still be interpreted; that this is slow should not be a riddle.
void tell(const std::exception& e) {
    fmt::print(stderr, "lazuli: a kernel is interpreted: {}\n", e.what());
}

}  // namespace

Compiled::Compiled(const codegen::Kernel& kernel, std::string text)
    : text_(std::move(text)),
      extents_(kernel),
      only_(kernel.variables.empty() ? extents_.at({}) : Extents{}) {}

void Compiled::remind() { runtime::remind_behind(); }

void Compiled::load(std::span<const char> object) {
    own_ = std::make_unique<Code>(object, extents_.parts());
    made_.store(own_.get(), std::memory_order_release);
}

bool Compiled::find() {
    const std::scoped_lock lock(making_);
    if (own_ != nullptr) return true;
    const auto kept = DiskCache::of_process().find(cache_key(text_));
    if (!kept) return false;
    load(*kept);
    return true;
}

void Compiled::make() {
    const std::scoped_lock lock(making_);
    if (own_ == nullptr) load(make_object(text_));
}

std::shared_ptr<const Compiled> code_of(const codegen::Kernel& kernel) {
    if (!codegen::is_compilable(kernel) || !has_compiler()) return nullptr;
    if (!converts_halves() && has_halves(kernel)) return nullptr;
    static std::mutex mutex;
    static auto& known = *new std::unordered_map<std::string, std::weak_ptr<Compiled>>;
    codegen::Kernel copy = kernel;
    copy.name = "kernel";
    std::string text = copy.str();
    const runtime::NoFork inside;
    std::shared_ptr<Compiled> compiled;
    {
        const std::scoped_lock lock(mutex);
        if (known.size() > 4096)
            std::erase_if(known, [](const auto& pair) { return pair.second.expired(); });
        auto& at = known[text];
        compiled = at.lock();
        if (compiled == nullptr)
            at = compiled = std::make_shared<Compiled>(kernel, std::move(text));
    }
    try {
        if (compiled->find()) return compiled;
        if (!quick() || steps_of(kernel.body, 1) > kQuickSteps) {
            compiled->make();
            return compiled;
        }
    } catch (const std::exception& e) {
        if (env::flag(env::Var::strict)) throw;
        tell(e);
        return nullptr;
    }
    runtime::run_behind([wanted = std::weak_ptr(compiled)] {
        try {
            if (const auto still = wanted.lock()) still->make();
        } catch (const std::exception& e) {
            tell(e);
        }
    });
    return compiled;
}

std::size_t codes_made() { return made_count; }

std::vector<char> object_of(const codegen::Kernel& kernel) {
    const std::string text = kernel.str();
    const runtime::NoFork inside;
    if (auto kept = DiskCache::of_process().find(cache_key(text))) return *std::move(kept);
    return make_object(text);
}

std::string assembly_of(const codegen::Kernel& kernel) {
    if (!codegen::is_compilable(kernel) || !has_compiler()) return "";
    const runtime::NoFork inside;
    return compiled_assembly(kernel.str());
}

}  // namespace lazuli::cpu

namespace lazuli {

bool quick_start() { return cpu::quick(); }
void set_quick_start(bool on) { cpu::quick() = on; }
void finish_compiling() { runtime::finish_behind(); }

}  // namespace lazuli
