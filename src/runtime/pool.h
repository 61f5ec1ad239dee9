#pragma once

// The threads that kernels run on: one set for the process, made when it is first needed.

#include <pthread.h>

#include <cstdint>

namespace lazuli::runtime {

/// How many threads share out work, the calling one included: LAZULI_NUM_THREADS, or as many as the
/// process may use at once.
int thread_count();

/// Calls `body(data, begin, end)` for pieces that make up 0 .. steps, each of `grain` steps but the
/// last, on all threads, and returns when all are done. Pieces do not depend on the number of
/// threads. From within a piece, and while another thread has the pool, all pieces run on the
/// calling thread. What a piece throws is thrown here, the first of several, and no other piece
/// begins.
void share_out(std::int64_t steps, std::int64_t grain,
               void (*body)(void* data, std::int64_t begin, std::int64_t end), void* data);

/// Keeps a thread off a processor, where there are others. Left alone, a thread that is woken may
/// be put where the one is that woke it: virtual machines take an idle processor for one that is
/// not to be had. It would then wait for that one, and not work beside it.
void keep_off(pthread_t thread, int processor);

}  // namespace lazuli::runtime
