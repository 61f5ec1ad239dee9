#include <cstring>

#include "endless_saving.h"
#include "long_option.h"

int main(int argc, char** argv) {
    if (argc == 3 && std::strcmp(argv[1], lazuli::tests::kSaveForever) == 0)
        lazuli::tests::save_forever(argv[2]);
    return lazuli::tests::run(argc, argv);
}
