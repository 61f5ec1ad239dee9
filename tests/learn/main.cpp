#include <cstdlib>
#include <cstring>

#include "long_option.h"
#include "resumed.h"

int main(int argc, char** argv) {
    using namespace lazuli::tests;
    if (argc == 3 && std::strcmp(argv[1], kTrainForever) == 0) train_forever(argv[2]);
    if (argc == 5 && std::strcmp(argv[1], kGoOn) == 0) {
        go_on(argv[2], argv[3], std::atoi(argv[4]));
        return 0;
    }
    return run(argc, argv);
}
