#pragma once

// Factorisations by LAPACK. This folder is a module of its own, opened when the first of them is
// wanted: nothing else links LAPACK. What crosses its border is tables of functions on plain
// arrays. The library runs on the thread that calls it, alone; who calls shares matrices out.

#include "ops/routines.h"

/// The routines of each element type.
struct LazuliLapack {
    const lazuli::ops::Routines<float>* single;
    const lazuli::ops::Routines<double>* twice;
    const lazuli::ops::Routines<std::complex<float>>* complex_single;
    const lazuli::ops::Routines<std::complex<double>>* complex_twice;
};

extern "C" {
/// The tables; they live as long as the module. Null where several threads cannot call the library.
__attribute__((visibility("default"))) const LazuliLapack* lazuli_lapack();
/// Between these two a LAPACK that has threads of its own keeps to the thread that calls it. Calls
/// nest, from any thread.
__attribute__((visibility("default"))) void lazuli_lapack_begin();
__attribute__((visibility("default"))) void lazuli_lapack_end();
}
