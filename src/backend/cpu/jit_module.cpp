#include "backend/cpu/jit_module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backend/cpu/modules.h"
#include "base/env.h"
#include "jit/compile.h"
#include "lazuli/error.h"
#include "runtime/behind.h"

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

const ModuleFile& module_file() {
    static const ModuleFile found = [] {
        const std::string given = env::text(env::Var::jit);
        if (given == "0") return ModuleFile{};
        if (const auto place = find_module("lazuli-jit.so", given); !place.empty()) {
            const auto bytes = std::filesystem::file_size(place);
            const auto time = std::filesystem::last_write_time(place);
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
        // What was registered last is done first: the compiler is not taken down while it works.
        std::atexit(runtime::stop_behind);
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

}  // namespace

bool has_compiler() { return !module_file().path.empty(); }

bool converts_halves() {
    __builtin_cpu_init();
    return vector_width() > 128 && __builtin_cpu_supports("f16c") != 0;
}

std::string target_text() {
    return fmt::format("{}\n{}\nwidth {} {}", module_file().identity, processor(), vector_width(),
                       features_of(vector_width()));
}

std::vector<char> compiled_object(const std::string& kernel) {
    LazuliCompileReply reply = compile(kernel, false);
    std::vector<char> out(reply.object, reply.object + reply.object_bytes);
    module().free(&reply);
    return out;
}

std::string compiled_assembly(const std::string& kernel) {
    LazuliCompileReply reply = compile(kernel, true);
    std::string out = reply.assembly != nullptr ? reply.assembly : "";
    module().free(&reply);
    return out;
}

}  // namespace lazuli::cpu
