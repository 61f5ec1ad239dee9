#pragma once

// What the machine can do at best, measured by loops that do nothing else.

#include <compare>
#include <map>
#include <memory>

#include "lazuli/dtype.h"

namespace lazuli::cpu {

/// Stretches of memory of one length, read and written once, in step.
struct Streams {
    int reads = 0;
    int writes = 0;
    double bytes = 0;  // of each
    double moved() const { return (reads + writes) * bytes; }
    auto operator<=>(const Streams&) const = default;
};

/// The limits that were asked for. Readings are taken one by one, among those of the work they are
/// held against; the best count.
class Limits {
   public:
    Limits();
    ~Limits();

    /// Moves these streams once, on all threads, by plain stores and by such that pass the cache.
    void read(const Streams& streams);
    /// Seconds that these streams take at least; 0 where they were never read.
    double seconds(const Streams& streams) const;

    /// Multiplies and adds for some milliseconds on all threads, in registers.
    void read_flops(DType factors);
    /// Floating-point operations a second with such factors; 0 where they were never counted.
    double flops(DType factors) const;

    /// Cycles a second of a thread while all are busy.
    void read_clock();
    double clock() const { return clock_; }

   private:
    struct Memory;
    std::unique_ptr<Memory> memory_;
    std::map<Streams, double> seconds_;
    std::map<DType, double> flops_;
    double clock_ = 0;
};

/// Seconds that a kernel takes at least by these limits: it moves so many bytes, and computes so
/// much. What is not known yet of the machine is measured, some milliseconds each. Of any thread.
double least_seconds(std::int64_t bytes_read, std::int64_t bytes_written, double flops,
                     DType factors);

}  // namespace lazuli::cpu
