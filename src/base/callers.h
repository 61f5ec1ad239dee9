#pragma once

// Who called: the return addresses of a thread, and the places in the source that they stand for.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace lazuli {

/// The return addresses of this thread, innermost first, without the first `skipped`.
std::vector<void*> callers(std::size_t skipped);

/// The innermost of these places that is not Lazuli's own or the standard library's, as
/// `file:line in function`: with debug information and addr2line at hand, else as far as that is
/// known. Takes milliseconds.
std::string place_of(std::span<void* const> addresses);

}  // namespace lazuli
