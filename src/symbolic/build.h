#pragma once

// The canonical constructors: each returns the simplest form it finds of what it is asked for.
// Rules only use what holds for every value within bounds. All operands live in `in`.

#include "symbolic/interner.h"

namespace lazuli::symbolic {

const Node* constant(Interner& in, std::int64_t value);
const Node* variable(Interner& in, std::string_view name, Bounds bounds, const Node* size);
/// value + the terms, in any order, with repeats.
const Node* sum(Interner& in, std::int64_t value, Terms terms);
/// a + factor * b.
const Node* add(Interner& in, const Node* a, const Node* b, std::int64_t factor = 1);
const Node* scale(Interner& in, const Node* a, std::int64_t factor);
const Node* multiply(Interner& in, const Node* a, const Node* b);
const Node* quotient(Interner& in, const Node* a, const Node* b);
const Node* remainder(Interner& in, const Node* a, const Node* b);
const Node* extreme(Interner& in, Kind which, const Node* a, const Node* b);
/// 1 where d >= 0.
const Node* nonneg(Interner& in, const Node* d);
const Node* all(Interner& in, const Node* a, const Node* b);

/// Whether d >= 0 everywhere, nowhere, or somewhere.
Truth sign(Interner& in, const Node* d);

/// The same, looking further: at powers, and at quotients, minima and maxima by what they are at
/// least. For sizes, of which little is asked.
Truth sign_of_size(Interner& in, const Node* d);

/// The constant part and the terms of anything, seen as a sum.
std::int64_t constant_part(const Node* node);
std::span<const Term> terms_of(const Node* const& node, Term& single);

/// The same expression, in another context.
const Node* import_into(Interner& in, const Node* node);

/// `replacement` answers null for what stays.
class Substitution {
   public:
    using Replacement = std::function<const Node*(const Node*)>;
    Substitution(Interner& in, const Replacement& replacement)
        : in_(in), replacement_(replacement) {}
    const Node* operator()(const Node* node);

   private:
    Interner& in_;
    const Replacement& replacement_;
    std::unordered_map<const Node*, const Node*> done_;
};

}  // namespace lazuli::symbolic
