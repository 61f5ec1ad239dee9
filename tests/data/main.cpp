#include "long_option.h"

int main(int argc, char** argv) { return lazuli::tests::run(argc, argv); }
