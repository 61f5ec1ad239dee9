#include "backend/cpu/compiler.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <unordered_map>

#include "backend/cpu/disk_cache.h"
#include "base/env.h"
#include "lazuli/error.h"
#include "runtime/pool.h"

/// Where an installed compiler is; in programs that were built against an installed Lazuli.
extern "C" const char* lazuli_module_place() __attribute__((weak));

namespace lazuli::cpu {

namespace {

/// The module that compiles, opened when it is first asked for.
struct Module {
    LazuliCompile compile = nullptr;
    LazuliFree free = nullptr;
};

/// Where the module is, and a name for its content; empty where there is none.
struct ModuleFile {
    std::filesystem::path path;
    std::string identity;
};

std::vector<std::filesystem::path> module_places() {
    std::vector<std::filesystem::path> out;
    const std::string given = env::text(env::Var::jit);
    if (!given.empty()) return {given};
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&module_places), &info) != 0 && info.dli_fname != nullptr) {
        std::error_code error;
        auto here = std::filesystem::canonical(info.dli_fname, error).parent_path();
        if (error) here = std::filesystem::canonical("/proc/self/exe", error).parent_path();
        out.push_back(here / "lazuli-jit.so");
        out.push_back(here / ".." / "lib" / "lazuli" / "lazuli-jit.so");
    }
    if (lazuli_module_place != nullptr) out.emplace_back(lazuli_module_place());
    return out;
}

const ModuleFile& module_file() {
    static const ModuleFile found = [] {
        if (env::text(env::Var::jit) == "0") return ModuleFile{};
        for (const auto& place : module_places()) {
            std::error_code error;
            const auto bytes = std::filesystem::file_size(place, error);
            if (error) continue;
            const auto time = std::filesystem::last_write_time(place, error);
            return ModuleFile{
                place, fmt::format("{} bytes of {}", bytes, time.time_since_epoch().count())};
        }
#ifdef LAZULI_HAS_JIT
        fmt::print(stderr,
                   "lazuli: the compiler of kernels (lazuli-jit.so) is not found: kernels are "
                   "interpreted, which is slow; LAZULI_JIT says where it is\n");
#endif
        return ModuleFile{};
    }();
    return found;
}

const Module& module() {
    static const Module opened = [] {
        Module out;
        void* handle = dlopen(module_file().path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) {
            const char* why = dlerror();
            throw InternalError(fmt::format("the compiler of kernels cannot be opened: {}",
                                            why != nullptr ? why : "for no known reason"));
        }
        out.compile = reinterpret_cast<LazuliCompile>(dlsym(handle, "lazuli_jit_compile"));
        out.free = reinterpret_cast<LazuliFree>(dlsym(handle, "lazuli_jit_free"));
        if (out.compile == nullptr || out.free == nullptr)
            throw InternalError(module_file().path.string() + " is no compiler of kernels");
        return out;
    }();
    return opened;
}

/// The processor, as far as it decides what code is made.
const std::string& processor() {
    static const std::string text = [] {
        std::ifstream in("/proc/cpuinfo");
        std::string out;
        for (std::string line; std::getline(in, line) && !line.empty();) {
            if (line.starts_with("model name") || line.starts_with("flags")) out += line + "\n";
        }
        return out;
    }();
    return text;
}

int vector_width() {
    static const int width = [] {
        const auto set = static_cast<int>(env::integer(env::Var::vector_width));
        if (set != 0) {
            if (set != 128 && set != 256 && set != 512)
                throw ArgumentError(
                    fmt::format("LAZULI_VECTOR_WIDTH={}: 128, 256 or 512 expected", set));
            return set;
        }
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
            __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512bw") != 0)
            return 512;
        return __builtin_cpu_supports("avx2") != 0 ? 256 : 128;
    }();
    return width;
}

/// What a machine of a forced width has.
const char* features_of(int width) {
    static const bool forced = env::integer(env::Var::vector_width) != 0;
    if (!forced || width == 512) return "";
    if (width == 256) return "+avx2,+fma,+f16c";
    return "+sse2";
}

LazuliCompileReply compile(const std::string& text, bool describe) {
    static const bool forced = env::integer(env::Var::vector_width) != 0;
    const int width = vector_width();
    const LazuliCompileRequest request{
        .kernel = text.data(),
        .kernel_bytes = text.size(),
        .cpu = forced && width < 512 ? "x86-64" : "",
        .features = features_of(width),
        .width = width,
        .optimize = 1,
        .streams = 1,
        .describe = describe ? 1 : 0,
    };
    LazuliCompileReply reply{};
    module().compile(&request, &reply);
    if (reply.error != nullptr) {
        const std::string why = reply.error;
        module().free(&reply);
        throw InternalError(fmt::format("a kernel could not be compiled: {}\n{}", why, text));
    }
    return reply;
}

// ---- how much work a step is

/// About how many cycles the statements of a block take in all.
double cycles_of(const codegen::Block& block, double times) {
    using codegen::StatementKind;
    double total = 0;
    for (const codegen::Statement& s : block) {
        switch (s.kind) {
            case StatementKind::parallel:
            case StatementKind::serial:
            case StatementKind::reduce: {
                double steps = times;
                for (const codegen::Count& c : s.counts)
                    steps *= static_cast<double>(c.size.constant().value_or(
                        std::max<std::int64_t>(1, c.size.bounds().high)));
                total += cycles_of(s.body, steps) + times * 20;
                break;
            }
            case StatementKind::load:
            case StatementKind::store: total += times * 0.25; break;
            case StatementKind::apply:
                total += times * (op_def(s.op).primitive == Primitive::none ? 40 : 0.1);
                break;
            default: break;
        }
    }
    return total;
}

// Below this a second thread costs more than it brings; above, pieces are about as long as this.
constexpr double kPieceCycles = 50'000;

}  // namespace

Code::Code(std::span<const char> object, std::vector<codegen::Phase> phases) : object_(object) {
    for (std::size_t i = 0; i < phases.size(); ++i) {
        void* start = object_.find(fmt::format("phase{}", i));
        if (start == nullptr) throw ArgumentError("an object file without its functions");
        parts_.push_back({reinterpret_cast<LazuliPhase>(start), phases[i]});
    }
}

void Code::set_grains(const codegen::Kernel& kernel) {
    for (Part& part : parts_) {
        if (!part.phase.parallel) continue;
        const codegen::Block& body = kernel.body[part.phase.first].body;
        const double each = std::max(0.01, cycles_of(body, 1));
        auto grain = static_cast<std::int64_t>(kPieceCycles / each);
        // Not so many pieces that handing them out shows, and whole cache lines each.
        grain = std::max<std::int64_t>({grain, part.phase.steps / 256, 1});
        if (codegen::vectorizes_across(kernel.body[part.phase.first]))
            grain = std::max<std::int64_t>(grain, 64);
        if (codegen::runs_in_tiles(kernel.body[part.phase.first]))
            grain = std::max<std::int64_t>(grain, codegen::kTileRows);
        if (grain > 64) grain = grain / 64 * 64;
        part.grain = grain;
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
bool converts_halves() {
    __builtin_cpu_init();
    return vector_width() > 128 && __builtin_cpu_supports("f16c") != 0;
}

}  // namespace

std::shared_ptr<const Code> code_of(const codegen::Kernel& kernel) {
    if (!codegen::is_compilable(kernel) || module_file().path.empty()) return nullptr;
    if (!converts_halves() && has_halves(kernel)) return nullptr;
    static std::mutex mutex;
    static auto& known = *new std::unordered_map<std::string, std::weak_ptr<const Code>>;
    codegen::Kernel copy = kernel;
    copy.name = "kernel";
    const std::string text = copy.str();
    {
        const std::scoped_lock lock(mutex);
        if (const auto at = known.find(text); at != known.end()) {
            if (auto code = at->second.lock()) return code;
        }
    }
    std::shared_ptr<Code> code;
    try {
        code = std::make_shared<Code>(object_of(copy), codegen::phases_of(kernel));
    } catch (const std::exception& e) {
        // It can still be interpreted; that this is slow should not be a riddle.
        if (env::flag(env::Var::strict)) throw;
        fmt::print(stderr, "lazuli: a kernel is interpreted: {}\n", e.what());
        return nullptr;
    }
    code->set_grains(kernel);
    const std::scoped_lock lock(mutex);
    if (known.size() > 4096)
        std::erase_if(known, [](const auto& pair) { return pair.second.expired(); });
    known[text] = code;
    return code;
}

std::vector<char> object_of(const codegen::Kernel& kernel) {
    const std::string text = kernel.str();
    const std::string key =
        fmt::format("{}\n{}\nwidth {} {}\n{}", module_file().identity, processor(), vector_width(),
                    features_of(vector_width()), text);
    if (auto kept = DiskCache::of_process().find(key)) return *std::move(kept);
    LazuliCompileReply reply = compile(text, false);
    std::vector<char> out(reply.object, reply.object + reply.object_bytes);
    module().free(&reply);
    DiskCache::of_process().keep(key, out);
    return out;
}

std::string assembly_of(const codegen::Kernel& kernel) {
    if (!codegen::is_compilable(kernel) || module_file().path.empty()) return "";
    LazuliCompileReply reply = compile(kernel.str(), true);
    std::string out = reply.assembly != nullptr ? reply.assembly : "";
    module().free(&reply);
    return out;
}

}  // namespace lazuli::cpu
