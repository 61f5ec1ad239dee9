#pragma once

// The plan cache: from a captured graph's words to its plan. Bounded by bytes, least recently used
// first out, shared by all threads, and never trusted on the hash alone. A miss is told apart by
// what is new.

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "ir/graph.h"
#include "lazuli/graph.h"
#include "lazuli/program.h"

namespace lazuli::plan {

class Uses;

/// What runs when a graph of this form is evaluated.
struct Plan {
    std::uint64_t hash = 0;                // of the captured graph
    Program program;                       // as captured
    Program expanded;                      // as the backend runs it
    std::shared_ptr<const void> prepared;  // the backend's own
    std::size_t prepared_bytes = 0;
    std::size_t launches = 0;    // of kernels, or operations where the backend has none
    bool is_bound = false;       // to sizes: it is one for many that runs at these
    std::shared_ptr<Uses> uses;  // of such a plan, where they are counted
    Device
        device;  // who runs it: the graph's device, or the reference backend where that lacks an op
};

/// What else tells plans apart: the device, the policies, and which passes run.
struct Context {
    Device device;
    std::uint64_t policies = 0;
    std::uint64_t passes = 0;
    bool operator==(const Context&) const = default;
};

std::uint64_t hash_of(const Context& context);

/// A graph in parts, hashed one by one: what differs between two graphs is what is new in one.
struct Form {
    std::uint64_t structure = 0;  // operations, what they read, attributes that are no views
    std::uint64_t dtypes = 0;
    std::uint64_t shapes = 0;
    std::uint64_t layouts = 0;  // the views
    bool operator==(const Form&) const = default;
};
Form form_of(const ir::Capture& capture);

class Cache {
   public:
    explicit Cache(std::size_t limit) : limit_(limit) {}

    struct Found {
        std::shared_ptr<const Plan> plan;  // null: there is none,
        Miss why = Miss::new_op;           // for this reason
    };
    /// The plan of this graph. Equal hashes are verified word by word.
    Found find(const ir::Capture& capture, const Context& context);
    /// What `find` would find; nothing is counted or moved.
    Found peek(const ir::Capture& capture, const Context& context) const;
    /// Says that what `find` missed was served by a general plan: a hit after all.
    void count_served(Miss why);
    /// Keeps a plan, dropping others until the bound holds; a plan larger than the bound is not
    /// kept.
    void insert(const ir::Capture& capture, const Context& context,
                std::shared_ptr<const Plan> plan);
    /// Keeps another plan of the same graph in the place of one.
    void replace(const ir::Capture& capture, const Context& context,
                 std::shared_ptr<const Plan> plan);
    void clear();
    CacheStats stats() const;

   private:
    struct Entry {
        std::uint64_t key;
        Context context;
        std::vector<std::uint64_t> rest;
        std::shared_ptr<const Plan> plan;  // its program's words are the other half of the key
        std::size_t bytes;
    };
    using Entries = std::list<Entry>;

    /// From keys to entries: open addresses in one array, so that a lookup among thousands of plans
    /// touches one cache line, and none of the plans that have another key.
    class Table {
       public:
        struct Slot {
            std::uint64_t key = 0;
            Entries::iterator entry = {};
            bool used = false;
        };
        /// The first entry of this key for which `accept` holds, or null.
        template <class Accept>
        const Slot* find(std::uint64_t key, const Accept& accept) const {
            if (slots_.empty()) return nullptr;
            for (std::size_t i = key & mask();; i = (i + 1) & mask()) {
                const Slot& slot = slots_[i];
                if (!slot.used) return nullptr;
                if (slot.key == key && accept(slot.entry)) return &slot;
            }
        }
        void insert(std::uint64_t key, Entries::iterator entry);
        void erase(std::uint64_t key, Entries::iterator entry);
        void clear();

       private:
        std::size_t mask() const { return slots_.size() - 1; }
        void put(const Slot& slot);
        std::vector<Slot> slots_;  // a power of two, at most half of them used
        std::size_t count_ = 0;
    };

    /// A graph that was planned, whether its plan is still there or not.
    struct Seen {
        Form form;
        Context context;
    };

    const Table::Slot* find_slot(std::uint64_t key, const ir::Capture& capture,
                                 const Context& context) const;
    Miss why_missing(std::uint64_t key, const Form& form, const Context& context) const;
    void make_room(std::size_t bytes, Entries& dropped);
    void drop_oldest(Entries& dropped);
    void remember_dropped(std::uint64_t key);

    mutable std::mutex mutex_;
    Entries entries_;  // most recently used first
    Table table_;
    std::size_t limit_;
    CacheStats stats_;
    // For telling misses apart; one place a hash, the later one stays.
    std::vector<Seen> seen_;              // by structure
    std::vector<std::uint64_t> dropped_;  // keys
};

}  // namespace lazuli::plan
