#pragma once

// `lazuli bench`: work in groups. The works of a group and the limits of the machine that bear on
// them take turns, so that a slow moment of the machine meets all alike.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/limits.h"
#include "lazuli/lazuli.h"

namespace lazuli::bench {

using cpu::Limits;
using cpu::Streams;

double now();  // seconds

/// The same work on few rows, which stay in cache: what its instructions take.
class InCache {
   public:
    virtual ~InCache() = default;
    /// Takes a reading.
    virtual void read() = 0;
    /// What all rows would take by the best readings, in seconds; 0 where none says.
    virtual double seconds() const = 0;
};

/// What is timed, and the least that any program must do for it.
struct Work {
    std::function<void()> run;
    std::function<double()> seconds = {};  // one run's, where a clock around it is not the answer
    int times = 1;                         // the work that one run does, this often
    Streams streams = {};
    double flops = 0;
    DType factors = f32;  // what is multiplied; the peak depends on it
    std::shared_ptr<InCache> in_cache = nullptr;
    double outputs = 0;  // so many: a comparison is in cycles for 16 of them, else a quotient
};

struct Case {
    std::string name;
    std::string about;
    std::function<Work()> make;
    std::string beside = "";  // the case of the same group to compare with
};

struct Group {
    std::string title;
    std::vector<Case> cases;
};

struct Setup {
    bool quick = false;
    Device device;
    std::function<bool(const std::string&)> wanted;  // whether a case of that name runs
};

/// "4096x8192"
std::string sizes_text(std::initializer_list<std::int64_t> sizes);
/// Random numbers in [0, 1), made.
Tensor drawn(std::uint64_t seed, const Shape& shape, DType dtype);

// Each family in a file of its own.
std::vector<Group> kernel_groups(const Setup& setup);
std::vector<Group> product_groups(const Setup& setup);
std::vector<Group> cost_groups(const Setup& setup);
std::vector<Group> data_groups(const Setup& setup);

/// How long a work takes.
class Clock {
   public:
    /// Runs it until what happens once is over, and finds how many runs a reading needs to last
    /// `reading` seconds.
    Clock(const Work& work, double reading);
    /// Takes a reading: seconds the work takes once.
    double read();
    const std::vector<double>& readings() const { return readings_; }
    double spent() const { return spent_; }
    double median() const;
    double least() const;

   private:
    const Work& work_;
    int runs_ = 1;
    double spent_ = 0;
    std::vector<double> readings_;
};

}  // namespace lazuli::bench
