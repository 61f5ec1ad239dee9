// Compiled into programs that find an installed Lazuli: where its compiler of kernels is. Weak,
// since libraries and programs may both bring it.
extern "C" __attribute__((weak)) const char* lazuli_module_place() {
    return LAZULI_INSTALLED_MODULE;
}
