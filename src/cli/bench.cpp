#include "cli/bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <utility>

#include "cli/commands.h"
#include "runtime/pool.h"

namespace lazuli::bench {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

std::string sizes_text(std::initializer_list<std::int64_t> sizes) {
    return fmt::format("{}", fmt::join(sizes, "x"));
}

Tensor drawn(std::uint64_t seed, const Shape& shape, DType dtype) {
    return key(seed).random_uniform(shape).cast(dtype).eval();
}

// ---- timing

Clock::Clock(const Work& work, double reading) : work_(work) {
    (void)read();  // plans, and asks for code
    finish_compiling();
    (void)read();
    double taken = read();
    while (taken * work_.times * runs_ < reading && runs_ < (1 << 20)) {
        // In steps, since the first runs of small work are slow ones.
        runs_ = static_cast<int>(std::clamp(reading / (taken * work_.times), 1.0, runs_ * 8.0)) + 1;
        taken = read();
    }
    readings_.clear();
    spent_ = 0;
}

double Clock::read() {
    const double start = now();
    double taken = 0;
    for (int i = 0; i < runs_; ++i) {
        if (work_.seconds) {
            taken += work_.seconds();
        } else {
            work_.run();
        }
    }
    const double all = now() - start;
    spent_ += all;
    readings_.push_back((work_.seconds ? taken : all) / runs_ / work_.times);
    return readings_.back();
}

double Clock::median() const {
    std::vector<double> sorted = readings_;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t n = sorted.size();
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double Clock::least() const { return *std::min_element(readings_.begin(), readings_.end()); }

namespace {

struct Result {
    std::string name;
    double median = 0, least = 0;        // seconds
    std::optional<double> bytes, flops;  // a second
    std::optional<double> limit;         // seconds
    std::string beside;
    std::optional<double> quotient, cycles;
};

// ---- a group

/// A bar on the terminal; nothing where there is none.
class Progress {
   public:
    explicit Progress(std::size_t all) : all_(all), shown_(isatty(STDERR_FILENO) != 0) {}
    ~Progress() {
        if (shown_) fmt::print(stderr, "\r\033[K");
    }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    /// `done` of all are done; now comes this one.
    void show(double done, const std::string& name) const {
        if (!shown_) return;
        constexpr int kWidth = 30;
        const double share = done / static_cast<double>(std::max<std::size_t>(all_, 1));
        const int full = static_cast<int>(share * kWidth);
        fmt::print(stderr, "\r\033[K[{:#<{}}{:.<{}}] {:3.0f} %  {}", "", full, "", kWidth - full,
                   100 * share, name);
        std::fflush(stderr);
    }

   private:
    std::size_t all_;
    bool shown_;
};

struct Budget {
    int rounds;
    int least_rounds;  // however long they take
    double seconds;    // for a case
    double reading;    // a reading lasts so long
};

Result result_of(const Case& c, const Work& work, const Clock& clock, const Limits& limits) {
    Result out{.name = c.name, .median = clock.median(), .least = clock.least()};
    if (work.streams.bytes > 0) out.bytes = work.streams.moved() / out.least;
    if (work.flops > 0) out.flops = work.flops / out.least;
    double limit = limits.seconds(work.streams);
    if (work.flops > 0) limit = std::max(limit, work.flops / limits.flops(work.factors));
    if (work.in_cache != nullptr) limit = std::max(limit, work.in_cache->seconds());
    if (limit > 0) out.limit = limit;
    return out;
}

/// Compares with another case, reading by reading: both were taken in the same round.
void compare(Result& result, const Work& work, const Clock& clock, const Clock& other,
             double cycles_a_second) {
    std::vector<double> values;
    const std::size_t n = std::min(clock.readings().size(), other.readings().size());
    for (std::size_t i = 0; i < n; ++i) {
        const double ours = clock.readings()[i];
        const double theirs = other.readings()[i];
        values.push_back(work.outputs > 0 ? (ours - theirs) * cycles_a_second *
                                                runtime::thread_count() / (work.outputs / 16)
                                          : ours / theirs);
    }
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n / 2),
                     values.end());
    (work.outputs > 0 ? result.cycles : result.quotient) = values[n / 2];
}

std::vector<Result> run_group(const Group& group, const Budget& budget, Limits& limits,
                              const Progress& progress, std::size_t done) {
    std::vector<Work> works;
    std::vector<Clock> clocks;
    works.reserve(group.cases.size());  // clocks refer to them
    std::set<Streams> streams;
    std::set<DType> factors;
    bool cycles = false;
    // Half of the bar for warming up, half for the rounds.
    const auto part = [&](double share) {
        return static_cast<double>(done) + share * static_cast<double>(group.cases.size());
    };
    for (const Case& c : group.cases) {
        progress.show(
            part(0.5 * static_cast<double>(works.size()) / static_cast<double>(group.cases.size())),
            c.name);
        const Work& work = works.emplace_back(c.make());
        clocks.emplace_back(work, budget.reading);
        if (work.streams.bytes > 0) streams.insert(work.streams);
        if (work.flops > 0) factors.insert(work.factors);
        cycles = cycles || work.outputs > 0;
    }
    for (int round = 0; round < budget.rounds; ++round) {
        for (const Streams& s : streams) limits.read(s);
        for (const DType dtype : factors) limits.read_flops(dtype);
        if (cycles) limits.read_clock();
        for (std::size_t i = 0; i < works.size(); ++i) {
            if (round >= budget.least_rounds && clocks[i].spent() > budget.seconds) continue;
            progress.show(part(0.5 + 0.5 * round / budget.rounds), group.cases[i].name);
            (void)clocks[i].read();
            if (works[i].in_cache != nullptr) works[i].in_cache->read();
        }
    }
    std::vector<Result> out;
    for (std::size_t i = 0; i < works.size(); ++i) {
        Result& result = out.emplace_back(result_of(group.cases[i], works[i], clocks[i], limits));
        for (std::size_t k = 0; k < works.size(); ++k) {
            if (group.cases[k].name != group.cases[i].beside) continue;
            result.beside = group.cases[k].name;
            compare(result, works[i], clocks[i], clocks[k], limits.clock());
        }
    }
    return out;
}

// ---- what is printed

std::string duration(double seconds) {
    if (seconds < 1e-6) return fmt::format("{:.1f} ns", 1e9 * seconds);
    if (seconds < 1e-3) return fmt::format("{:.2f} us", 1e6 * seconds);
    if (seconds < 1) return fmt::format("{:.2f} ms", 1e3 * seconds);
    return fmt::format("{:.2f} s", seconds);
}

void print_header(std::size_t width) {
    fmt::print("{:<{}} {:>11} {:>11} {:>8} {:>9} {:>9}\n", "", width, "median", "least", "GB/s",
               "GFLOP/s", "of limit");
}

void print_row(const Result& r, std::size_t width) {
    const auto number = [](const std::optional<double>& value, double scale, int digits) {
        return value ? fmt::format("{:.{}f}", *value * scale, digits) : std::string();
    };
    std::string note;
    if (r.cycles) note = fmt::format("{:.0f} cycles for 16 outputs over {}", *r.cycles, r.beside);
    if (r.quotient) note = fmt::format("{:.2f} x {}", *r.quotient, r.beside);
    fmt::print("{:<{}} {:>11} {:>11} {:>8} {:>9} {:>9}  {}\n", r.name, width, duration(r.median),
               duration(r.least), number(r.bytes, 1e-9, 1), number(r.flops, 1e-9, 1),
               r.limit ? fmt::format("{:.0f} %", 100 * *r.limit / r.least) : "", note);
    std::fflush(stdout);
}

nlohmann::ordered_json json_of(const Result& r) {
    const auto number = [](const std::optional<double>& value, double scale) {
        return value ? nlohmann::ordered_json(*value * scale) : nlohmann::ordered_json();
    };
    nlohmann::ordered_json out{{"name", r.name},
                               {"median_us", 1e6 * r.median},
                               {"min_us", 1e6 * r.least},
                               {"gb_s", number(r.bytes, 1e-9)},
                               {"gflop_s", number(r.flops, 1e-9)},
                               {"share_of_limit", number(r.limit, 1 / r.least)}};
    if (r.cycles) out["cycles_for_16_over_bare"] = *r.cycles;
    if (r.quotient) out["times_lazy"] = *r.quotient;
    return out;
}

constexpr double kTurn = 0.02;  // seconds: as long as bench/peers lets others run

/// Answers names on standard input with the seconds of one reading each, so that another program
/// can take turns with us. What a work needs is kept until another is asked for.
void take_turns(const std::vector<Group>& groups, double reading) {
    std::optional<Work> work;
    std::optional<Clock> clock;
    std::string current;
    for (std::string name; std::getline(std::cin, name);) {
        nlohmann::json answer;
        try {
            if (name != current) {
                clock.reset();
                work.reset();
                current.clear();
                for (const Group& group : groups) {
                    for (const Case& c : group.cases) {
                        if (c.name != name) continue;
                        work.emplace(c.make());
                        clock.emplace(*work, reading);
                        current = name;
                    }
                }
            }
            if (!clock) throw ArgumentError(fmt::format("no case is named '{}'", name));
            answer["seconds"] = clock->read();
        } catch (const Error& e) {
            answer["error"] = e.what();
        }
        std::cout << answer.dump() << std::endl;
    }
}

std::function<bool(const std::string&)> chosen_by(const std::string& filter) {
    try {
        return [pattern = std::regex(filter)](const std::string& name) {
            return std::regex_search(name, pattern);
        };
    } catch (const std::regex_error& e) {
        throw ArgumentError(fmt::format("--filter {}: {}", filter, e.what()));
    }
}

using Family = std::vector<Group> (*)(const Setup&);
// Costs come first, and recording first among them: while a process has one thread, recording is
// faster, and the first kernel brings others.
constexpr Family kFamilies[] = {cost_groups, kernel_groups, product_groups, data_groups};

/// The cases that were asked for, and those they are compared with.
std::vector<Group> groups_for(const Setup& setup) {
    std::vector<Group> out;
    for (const Family family : kFamilies) {
        for (Group& group : family(setup)) {
            std::set<std::string> kept;
            for (const Case& c : group.cases) {
                if (setup.wanted(c.name)) kept.insert({c.name, c.beside});
            }
            std::erase_if(group.cases, [&](const Case& c) { return !kept.contains(c.name); });
            if (!group.cases.empty()) out.push_back(std::move(group));
        }
    }
    return out;
}

void list(Setup setup) {
    // Nothing is to be run: nothing needs to be made ready for it.
    const auto chosen = std::exchange(setup.wanted, [](const std::string&) { return false; });
    for (const Family family : kFamilies) {
        for (const Group& group : family(setup)) {
            for (const Case& c : group.cases) {
                if (chosen(c.name)) fmt::print("{:<40} {}\n", c.name, c.about);
            }
        }
    }
}

void measure(std::vector<Group> groups, const Budget& budget, bool json) {
    std::size_t count = 0;
    std::size_t width = 0;
    for (const Group& group : groups) {
        count += group.cases.size();
        for (const Case& c : group.cases) width = std::max(width, c.name.size());
    }
    Limits limits;
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    if (!json)
        fmt::print("{} on {} threads; best readings against the limits measured beside them\n",
                   default_device().name(), runtime::thread_count());
    std::size_t done = 0;
    for (Group& group : groups) {
        std::vector<Result> results;
        {
            const Progress progress(count);
            results = run_group(group, budget, limits, progress, done);
        }
        done += group.cases.size();
        group.cases.clear();  // and with them the operands
        if (json) {
            for (const Result& result : results) rows.push_back(json_of(result));
            continue;
        }
        fmt::print("\n{}\n", group.title);
        print_header(width);
        for (const Result& result : results) print_row(result, width);
    }
    if (json) fmt::print("{}\n", rows.dump(1));
}

}  // namespace

}  // namespace lazuli::bench

namespace lazuli::cli {

void bench(const BenchOptions& options) {
    namespace b = lazuli::bench;
    const b::Setup setup{options.quick, Device(options.device), b::chosen_by(options.filter)};
    set_default_device(setup.device);
    if (options.list) {
        b::list(setup);
        return;
    }
    std::vector<b::Group> groups = b::groups_for(setup);
    if (groups.empty())
        throw ArgumentError(fmt::format("--filter {}: no case has such a name (--list lists them)",
                                        options.filter));
    const b::Budget budget =
        options.quick ? b::Budget{2, 1, 0.1, 2e-4} : b::Budget{11, 3, 2.5, 4e-3};
    if (options.turns) {
        b::take_turns(groups, b::kTurn);
    } else {
        b::measure(std::move(groups), budget, options.json);
    }
}

}  // namespace lazuli::cli
