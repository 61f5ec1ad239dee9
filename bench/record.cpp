// What recording costs: an operation recorded and dropped, no evaluation.

#include <benchmark/benchmark.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "lazuli/lazuli.h"

namespace {

using namespace lazuli;

Tensor lazy_matrix() { return zeros({64, 64}) + 1; }

// Two live operands: both are borrowed.
void elementwise(benchmark::State& state) {
    const Tensor a = lazy_matrix();
    const Tensor b = lazy_matrix();
    for (auto _ : state) {
        Tensor c = a + b;
        benchmark::DoNotOptimize(c);
    }
}

// One operand is handed over. Each iteration records two operations; the first is the temporary
// that the second takes over.
void elementwise_handed_over(benchmark::State& state) {
    const Tensor a = lazy_matrix();
    const Tensor b = lazy_matrix();
    for (auto _ : state) {
        Tensor c = a + b;
        Tensor d = std::move(c) + b;
        benchmark::DoNotOptimize(d);
    }
    state.SetItemsProcessed(2 * state.iterations());
}

// A chain that hands its only reference on: x = x + y, as training and sampling loops do. Flushed
// by itself at its bound, which is part of the cost; the window keeps the chain below the bound so
// that only recording is measured.
void elementwise_chain_handed_over(benchmark::State& state) {
    const Tensor y = lazy_matrix();
    Tensor x = lazy_matrix();
    int length = 0;
    for (auto _ : state) {
        x = std::move(x) + y;
        if (++length == 1000) {
            state.PauseTiming();
            x = lazy_matrix();
            length = 0;
            state.ResumeTiming();
        }
    }
}

void unary(benchmark::State& state) {
    const Tensor a = lazy_matrix();
    for (auto _ : state) {
        Tensor c = a.tanh();
        benchmark::DoNotOptimize(c);
    }
}

void broadcast(benchmark::State& state) {
    const Tensor a = lazy_matrix();
    const Tensor b = zeros({64}) + 1;
    for (auto _ : state) {
        Tensor c = a + b;
        benchmark::DoNotOptimize(c);
    }
}

void scalar_operand(benchmark::State& state) {
    const Tensor a = lazy_matrix();
    for (auto _ : state) {
        Tensor c = a * 3.25;
        benchmark::DoNotOptimize(c);
    }
}

void matrix_product(benchmark::State& state) {
    const Tensor a = lazy_matrix();
    const Tensor b = lazy_matrix();
    for (auto _ : state) {
        Tensor c = a.matmul(b);
        benchmark::DoNotOptimize(c);
    }
}

void reduction(benchmark::State& state) {
    const Tensor a = lazy_matrix();
    for (auto _ : state) {
        Tensor c = a.sum(1);
        benchmark::DoNotOptimize(c);
    }
}

void reshape_op(benchmark::State& state) {
    const Tensor a = lazy_matrix();
    for (auto _ : state) {
        Tensor c = a.reshape({32, 128});
        benchmark::DoNotOptimize(c);
    }
}

void transpose_op(benchmark::State& state) {
    const Tensor a = lazy_matrix();
    for (auto _ : state) {
        Tensor c = a.permute({1, 0});
        benchmark::DoNotOptimize(c);
    }
}

void slice_op(benchmark::State& state) {
    const Tensor a = lazy_matrix();
    for (auto _ : state) {
        Tensor c = a.slice({8, 0}, {24, 64});
        benchmark::DoNotOptimize(c);
    }
}

void view_of_a_view(benchmark::State& state) {
    const Tensor a = lazy_matrix().permute({1, 0});
    for (auto _ : state) {
        Tensor c = a.slice({8, 0}, {24, 64});
        benchmark::DoNotOptimize(c);
    }
}

// The same with a second thread alive, which makes reference counting atomic.
class SecondThread {
   public:
    SecondThread()
        : thread_([this] {
              std::unique_lock lock(mutex_);
              wake_.wait(lock, [this] { return done_; });
          }) {}
    ~SecondThread() {
        {
            const std::scoped_lock lock(mutex_);
            done_ = true;
        }
        wake_.notify_one();
        thread_.join();
    }

   private:
    std::mutex mutex_;
    std::condition_variable wake_;
    bool done_ = false;
    std::thread thread_;
};

void elementwise_beside_a_thread(benchmark::State& state) {
    const SecondThread other;
    elementwise(state);
}

void handed_over_beside_a_thread(benchmark::State& state) {
    const SecondThread other;
    elementwise_handed_over(state);
}

void matrix_product_beside_a_thread(benchmark::State& state) {
    const SecondThread other;
    matrix_product(state);
}

}  // namespace

BENCHMARK(elementwise);
BENCHMARK(elementwise_handed_over);
BENCHMARK(elementwise_chain_handed_over);
BENCHMARK(unary);
BENCHMARK(broadcast);
BENCHMARK(scalar_operand);
BENCHMARK(matrix_product);
BENCHMARK(reduction);
BENCHMARK(reshape_op);
BENCHMARK(transpose_op);
BENCHMARK(slice_op);
BENCHMARK(view_of_a_view);
// Last: glibc does not go back to single-threaded.
BENCHMARK(elementwise_beside_a_thread);
BENCHMARK(handed_over_beside_a_thread);
BENCHMARK(matrix_product_beside_a_thread);
BENCHMARK_MAIN();
