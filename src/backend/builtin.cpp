// The built-in backends, in the order of their device numbers. The reference backend is device 0.

#include "backend/cpu/cpu.h"
#include "backend/interpreter/interpreter.h"
#include "backend/reference/reference.h"
#include "runtime/engine.h"

void lazuli_install_backends() {
    lazuli::register_backend(lazuli::backend::make_reference());
    lazuli::register_backend(lazuli::backend::make_interpreter());
    lazuli::register_backend(lazuli::backend::make_cpu());
}
