// What running beside the recording thread costs and saves.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "lazuli/lazuli.h"

namespace {

using namespace lazuli;
using Clock = std::chrono::steady_clock;

double seconds(const std::function<void()>& work) {
    const auto start = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(),
                     values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

/// Keeps a thread busy, as a kernel of one thread does.
void spin(double microseconds) {
    const auto until = Clock::now() + std::chrono::duration<double, std::micro>(microseconds);
    while (Clock::now() < until) {
    }
}

/// A step that computes for `run_us` on its thread; the recording thread is busy for `record_us`.
struct Loop {
    double record_us;
    double run_us;
    int steps;

    Tensor step(const Tensor& x) const {
        const Tensor operands[] = {x};
        return custom_call("spin", operands, x.spec());
    }
    void record_and_run(bool runs) const {
        Tensor x = zeros({16}).eval();
        for (int i = 0; i < steps; ++i) {
            spin(record_us);
            x = step(x);
            if (runs) async_eval(x);
        }
        if (runs) ready(x).wait();
    }
    void run_only() const {
        Tensor x = zeros({16}).eval();
        for (int i = 0; i < steps; ++i) x = step(x).eval();
    }
};

void print_loops() {
    fmt::print(
        "a loop that records and runs, ms (medians of 7): beside each other, and each alone\n");
    fmt::print("{:>12} {:>12} {:>10} {:>10} {:>10} {:>22}\n", "record us", "run us", "recording",
               "running", "both", "both / the longer one");
    static double run_us = 0;
    register_custom("spin", [](std::span<const HostArray> in, const TensorSpec& spec, void* out) {
        spin(run_us);
        std::copy_n(in[0].as<float>(), spec.shape.numel(), static_cast<float*>(out));
    });
    for (const Loop loop :
         {Loop{20, 100, 200}, Loop{100, 20, 200}, Loop{60, 60, 200}, Loop{5, 20, 1000}}) {
        run_us = loop.run_us;
        loop.record_and_run(true);
        std::vector<double> recording, running, both;
        for (int i = 0; i < 7; ++i) {
            recording.push_back(seconds([&] { loop.record_and_run(false); }));
            running.push_back(seconds([&] { loop.run_only(); }));
            both.push_back(seconds([&] { loop.record_and_run(true); }));
        }
        fmt::print("{:>12} {:>12} {:>10.2f} {:>10.2f} {:>10.2f} {:>22.3f}\n", loop.record_us,
                   loop.run_us, 1e3 * median(recording), 1e3 * median(running), 1e3 * median(both),
                   median(both) / std::max(median(recording), median(running)));
    }
}

void print_idle_wait() {
    const Tensor x = full({1024}, 1.0).eval();
    const auto step = [&] { return x * 2.0 + 1.0; };
    std::vector<double> now, later;
    constexpr int kTimes = 2000;
    for (int round = 0; round < 9; ++round) {
        now.push_back(seconds([&] {
            for (int i = 0; i < kTimes; ++i) step().eval();
        }));
        later.push_back(seconds([&] {
            for (int i = 0; i < kTimes; ++i) {
                const Tensor y = step();
                async_eval(y);
                ready(y).wait();
            }
        }));
    }
    fmt::print(
        "\nan evaluation of 1,024 elements {:.2f} us, put on an idle stream and waited for "
        "{:.2f} us: {:.2f} us more\n",
        1e6 * median(now) / kTimes, 1e6 * median(later) / kTimes,
        1e6 * (median(later) - median(now)) / kTimes);
}

void print_run_ahead() {
    const StreamLimits before = stream_limits();
    set_stream_limits({.max_run_ahead_bytes = 64 << 20});
    const Tensor x = full({1 << 20}, 1.0).eval();  // 4 MiB
    reset_peak_memory();
    const std::uint64_t start = memory_stats().bytes;
    Tensor last;
    for (int i = 0; i < 500; ++i) {
        last = x + static_cast<double>(i);
        async_eval(last);
    }
    synchronize();
    fmt::print(
        "\n500 results of 4.2 MB recorded ahead, 67 MB of them may be pending: peak {:.1f} MB "
        "above the start\n",
        static_cast<double>(memory_stats().peak - start) / 1e6);
    set_stream_limits(before);
}

}  // namespace

int main() {
    print_loops();
    print_idle_wait();
    print_run_ahead();
}
