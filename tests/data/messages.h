#pragma once

#include <string>

#include "lazuli/error.h"

namespace lazuli::tests {

/// What the error says that a function throws.
template <class Function>
std::string message_of(const Function& function) {
    try {
        function();
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

}  // namespace lazuli::tests
