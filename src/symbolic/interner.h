#pragma once

// Expressions as nodes, each form once in its context: equality is equality of pointers.
//
// The canonical forms:
//   sum        value + c1*t1 + c2*t2 + ...   no term is a sum or a constant, no coefficient is 0
//   product    t1*t2*...                     two or more factors, none a constant or a product
//   quotient   t1 / t2, remainder t1 % t2    rounded down
//   minimum, maximum, all                    of two or more different operands
//   nonneg     1 where t1 >= 0, else 0       every comparison is one of these

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lazuli/symbolic.h"

namespace lazuli::symbolic {

enum class Kind : std::uint8_t {
    constant,
    variable,
    product,
    quotient,
    remainder,
    minimum,
    maximum,
    nonneg,
    all,
    sum,
};

struct Term {
    std::int64_t coef;  // 1 everywhere but in sums
    const Node* node;
    bool operator==(const Term&) const = default;
};

struct Node {
    Kind kind;
    bool relational;      // some variable beneath has a bound that is an expression
    std::uint32_t count;  // of terms
    std::uint64_t hash;
    std::int64_t value;  // of a constant; the constant part of a sum; a variable's order
    Bounds bounds;
    Interner* home;
    const std::string* name;  // of a variable
    const Node* size;         // of a counter: it stays below this; else null

    const Term* begin() const { return reinterpret_cast<const Term*>(this + 1); }
    const Term* end() const { return begin() + count; }
    const Term& operator[](std::size_t i) const { return begin()[i]; }
    bool is(Kind k) const { return kind == k; }
    bool is_constant() const { return kind == Kind::constant; }
};

using Terms = std::vector<Term>;

/// What a node is made of, before it is one.
struct Draft {
    Kind kind;
    std::int64_t value = 0;
    std::span<const Term> terms = {};
    Bounds bounds;
    const std::string* name = nullptr;
    const Node* size = nullptr;
};

struct Interner {
    Interner() = default;
    Interner(const Interner&) = delete;
    Interner& operator=(const Interner&) = delete;

    const Node* intern(const Draft& draft);
    const std::string* keep(std::string_view text);
    std::size_t size() const { return count_; }
    /// Whether there is a node at this address; in the process-wide context.
    bool holds(const Node* address) const { return known_.contains(address); }

    /// Set for the process-wide context, which any thread may use.
    std::recursive_mutex* lock = nullptr;
    /// The variables of each name; two with different bounds are two variables.
    std::unordered_map<std::string_view, std::vector<const Node*>> variables;
    std::int64_t variable_count = 0;

   private:
    void* room(std::size_t bytes);
    void grow();

    std::vector<std::unique_ptr<std::byte[]>> chunks_;
    std::byte* at_ = nullptr;
    std::byte* end_ = nullptr;
    std::vector<const Node*> table_ = std::vector<const Node*>(64);
    std::size_t count_ = 0;
    std::vector<std::unique_ptr<std::string>> names_;
    std::unordered_set<const Node*> known_;
};

/// Held while a context that threads share is worked on; nothing for others.
class Guard {
   public:
    explicit Guard(const Interner& interner) : lock_(interner.lock) {
        if (lock_ != nullptr) lock_->lock();
    }
    ~Guard() {
        if (lock_ != nullptr) lock_->unlock();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    std::recursive_mutex* lock_;
};

/// An order of nodes that depends on what they are, not on when they were made.
int compare(const Node* a, const Node* b);

}  // namespace lazuli::symbolic
