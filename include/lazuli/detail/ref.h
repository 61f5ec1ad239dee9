#pragma once

// Reference counts of nodes. While the process has one thread, counting needs no atomic instruction
// (one costs as much as the rest of recording an operation); glibc says so, and says otherwise
// before a second thread can exist.

#include <atomic>
#include <cstdint>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define LAZULI_SINGLE_THREADED __libc_single_threaded
#else
#define LAZULI_SINGLE_THREADED false
#endif

namespace lazuli::ir {

struct Node;

/// The part of a node that a handle needs.
struct NodeHeader {
    std::atomic<std::uint32_t> refs{1};
};

/// Frees a node whose last reference is gone, and what only it held.
void destroy(NodeHeader* node) noexcept;

inline void retain(NodeHeader* node) noexcept {
    if (LAZULI_SINGLE_THREADED) {
        node->refs.store(node->refs.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
        node->refs.fetch_add(1, std::memory_order_relaxed);
    }
}

/// Gives up a reference; true where it was the last one.
inline bool drop(NodeHeader* node) noexcept {
    // Whoever holds the only reference cannot be raced: nobody else has one to copy.
    const std::uint32_t refs = node->refs.load(std::memory_order_acquire);
    if (refs == 1) return true;
    if (LAZULI_SINGLE_THREADED) {
        node->refs.store(refs - 1, std::memory_order_relaxed);
        return false;
    }
    return node->refs.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

inline void release(NodeHeader* node) noexcept {
    if (drop(node)) destroy(node);
}

}  // namespace lazuli::ir
