#pragma once

// Tests of the whole draw a sample in CI and the full count with --long. Each prints what it did.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace lazuli::tests {

inline bool long_run = false;
inline std::uint64_t seed = 20260101;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// `sample` in CI, `full` in a long run. A sanitizer watches memory, not values, and makes all many
/// times slower: it sees a tenth of the sample.
inline int count(int sample, int full) {
    if (long_run) return full;
    return kSanitized ? (sample + 9) / 10 : sample;
}

/// The main function of such a test: takes --long and --seed=N besides GoogleTest's options.
inline int run(int argc, char** argv) {
    testing::InitGoogleMock(&argc, argv);
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--long") == 0) long_run = true;
        if (std::strncmp(argv[i], "--seed=", 7) == 0)
            seed = std::strtoull(argv[i] + 7, nullptr, 10);
    }
    return RUN_ALL_TESTS();
}

}  // namespace lazuli::tests
