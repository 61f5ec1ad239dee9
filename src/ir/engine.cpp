#include "ir/engine.h"

#include "lazuli/error.h"

namespace lazuli::ir {

const Engine* find_engine() { return lazuli_engine != nullptr ? lazuli_engine() : nullptr; }

const Engine& engine() {
    const Engine* e = find_engine();
    if (e == nullptr) throw InternalError("this program links no engine: nothing can be evaluated");
    return *e;
}

}  // namespace lazuli::ir
