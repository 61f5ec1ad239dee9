#pragma once

/// @file
/// Eager mode, beside lazy: the same API and the same bits.

namespace lazuli::eager {

/// While it lives, every operation its thread records is evaluated at once.
class Scope {
   public:
    /// Eager from here on.
    Scope();
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
};

}  // namespace lazuli::eager
