#pragma once

// The plan cache: from a captured graph's words to its plan. Bounded by bytes, least recently used
// first out, shared by all threads, and never trusted on the hash alone.

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "lazuli/graph.h"
#include "lazuli/program.h"

namespace lazuli::plan {

/// What runs when a graph of this form is evaluated.
struct Plan {
    Program program;                       // as captured
    Program expanded;                      // as the backend runs it
    std::shared_ptr<const void> prepared;  // the backend's own
    Device
        device;  // who runs it: the graph's device, or the reference backend where that lacks an op
};

/// What else tells plans apart: the device and the policies.
struct Context {
    Device device;
    std::uint64_t policies = 0;
    bool operator==(const Context&) const = default;
};

class Cache {
   public:
    explicit Cache(std::size_t limit) : limit_(limit) {}
    /// The plan of this graph, or null. Equal hashes are verified word by word.
    std::shared_ptr<const Plan> find(const ir::Capture& capture, const Context& context);
    /// Whether `find` would find it; nothing is counted.
    bool peek(const ir::Capture& capture, const Context& context) const;
    /// Keeps a plan, dropping others until the bound holds; a plan larger than the bound is not
    /// kept.
    void insert(const ir::Capture& capture, const Context& context,
                std::shared_ptr<const Plan> plan);
    void clear();
    CacheStats stats() const;

   private:
    struct Entry {
        std::uint64_t key;
        Context context;
        std::vector<std::uint64_t> words;
        std::vector<std::uint64_t> rest;
        std::shared_ptr<const Plan> plan;
        std::size_t bytes;
    };
    static std::uint64_t key_of(const ir::Capture& capture, const Context& context);
    void drop_oldest();

    mutable std::mutex mutex_;
    std::list<Entry> entries_;  // most recently used first
    std::unordered_multimap<std::uint64_t, std::list<Entry>::iterator> by_key_;
    std::size_t limit_;
    CacheStats stats_;
};

}  // namespace lazuli::plan
