#pragma once

// From a kernel's text to machine code. This folder is a module of its own, opened when the first
// kernel is compiled: nothing else links LLVM, and a process that finds its kernels on disk never
// loads it. What crosses its border is plain data.

#include <cstddef>
#include <cstdint>

extern "C" {

struct LazuliCompileRequest {
    const char* kernel;  // as Kernel::str prints it
    std::size_t kernel_bytes;
    const char* cpu;       // as LLVM names it; empty: the host's
    const char* features;  // as LLVM lists them; empty: the host's
    int width;             // of vectors, in bits
    int optimize;          // 0: as fast as it can be compiled
    int streams;           // 1: large outputs are written past the cache
    int describe;          // 1: assembly is wanted as well
};

struct LazuliCompileReply {
    // A relocatable ELF file with the functions phase0, phase1, ... and other forms of them, as
    // codegen::Form lists, for some runs of kernels with variables.
    char* object;
    std::size_t object_bytes;
    char* assembly;  // for people, where it was asked for
    char* error;     // null where all went well
};

/// Compiles. The caller frees all parts of the reply with lazuli_jit_free.
__attribute__((visibility("default"))) void lazuli_jit_compile(const LazuliCompileRequest* request,
                                                               LazuliCompileReply* reply);
__attribute__((visibility("default"))) void lazuli_jit_free(LazuliCompileReply* reply);

using LazuliCompile = decltype(&lazuli_jit_compile);
using LazuliFree = decltype(&lazuli_jit_free);
}

/// What a phase of a kernel looks like: buffers in the kernel's order and, for a kernel that has
/// variables, the address of their values (64 bits each) behind them; the steps of its parallel
/// loop, values that pass from phase to phase, and three numbers that a bad index leaves behind
/// (1, or 2 where it has no sign; the index; the size).
using LazuliPhase = void (*)(void* const* buffers, std::int64_t begin, std::int64_t end,
                             void* values, std::int64_t* status);
