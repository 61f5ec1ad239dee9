#include "runtime/trace.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "base/env.h"
#include "lazuli/error.h"
#include "lazuli/graph.h"
#include "lazuli/memory.h"
#include "lazuli/trace.h"
#include "plan/describe.h"

namespace lazuli::trace {

namespace {

using Json = nlohmann::ordered_json;

/// Something that took time on a thread.
struct Span {
    std::string name;
    const char* category;
    double start;
    double seconds;
    int thread;
    Json details = {};
};

/// What a plan took in all.
struct Total {
    std::int64_t runs = 0;
    std::int64_t made = 0;
    double seconds = 0;
    std::vector<double> kernel_seconds = {};
};

int thread_number() {
    static std::atomic<int> next{0};
    static thread_local const int number = next++;
    return number;
}

class Recorder {
   public:
    explicit Recorder(Options options) : options_(std::move(options)), start_(now()) {
        std::error_code error;
        std::filesystem::create_directories(options_.directory, error);
        if (error) throw FileError(options_.directory, "cannot be made: " + error.message());
        executions_.open(options_.directory + "/executions.jsonl");
        if (!executions_) throw FileError(options_.directory, "cannot be written to");
    }

    void add(const Run& run) {
        const std::string folder = folder_of(run.plan);
        const bool is_new = [&] {
            const std::scoped_lock lock(mutex_);
            return written_.insert(folder).second;
        }();
        if (is_new) {
            write_plan(path(folder), run.plan, run.finding, run.info);
            if (options_.inputs) write_inputs(path(folder), run.plan.program, run.params);
        }
        const std::scoped_lock lock(mutex_);
        if (run.error != nullptr) write_failure(run);
        Total& total = totals_[folder];
        ++total.runs;
        total.made += run.finding.found ? 0 : 1;
        total.seconds += run.seconds;
        total.kernel_seconds.resize(run.kernel_seconds.size(), 0);
        add_span({folder,
                  "evaluation",
                  run.start,
                  run.seconds,
                  thread_number(),
                  {{"found", run.finding.found},
                   {"planning_us", run.finding.microseconds},
                   {"operations", run.plan.expanded.size()}}});
        Json kernels = Json::array();
        for (std::size_t i = 0; i < run.kernel_seconds.size(); ++i) {
            if (run.kernel_seconds[i] < 0) continue;
            total.kernel_seconds[i] += run.kernel_seconds[i];
            const KernelInfo& kernel = run.info.kernels[i];
            add_span({kernel.name,
                      "kernel",
                      run.kernel_starts[i],
                      run.kernel_seconds[i],
                      thread_number(),
                      {{"operations", kernel.operations}, {"how", kernel.how}}});
            kernels.push_back(1e6 * run.kernel_seconds[i]);
        }
        executions_ << Json{{"plan", folder},
                            {"found", run.finding.found},
                            {"start_us", 1e6 * (run.start - start_)},
                            {"us", 1e6 * run.seconds},
                            {"thread", thread_number()},
                            {"bytes_in_use", memory_stats().bytes},
                            {"failed", run.error != nullptr},
                            {"kernel_us", kernels}}
                           .dump()
                    << "\n";
        memory_.emplace_back(run.start + run.seconds, memory_stats().bytes);
    }

    void add_wait(double start, double seconds) {
        const std::scoped_lock lock(mutex_);
        add_span({"wait", "wait", start, seconds, thread_number()});
    }

    void write() {
        const std::scoped_lock lock(mutex_);
        executions_.flush();
        write_file(path("timeline.json"), timeline());
        write_file(path("statistics.json"), statistics());
    }

   private:
    std::string path(const std::string& name) const { return options_.directory + "/" + name; }

    /// A trace that goes on for days must not grow without end.
    void add_span(Span span) {
        constexpr std::size_t kMost = 1'000'000;
        if (spans_.size() >= kMost) {
            ++dropped_;
            return;
        }
        spans_.push_back(std::move(span));
    }

    /// With its operands, whether these were asked for or not: somebody will want to try it again.
    void write_failure(const Run& run) {
        const std::string folder = path(fmt::format("failures/{}", ++failures_));
        std::string what = "unknown";
        try {
            std::rethrow_exception(run.error);
        } catch (const std::exception& e) {
            what = e.what();
        } catch (...) {
        }
        write_plan(folder, run.plan, run.finding, run.info);
        write_inputs(folder, run.plan.program, run.params);
        write_file(folder + "/error.txt", what + "\n");
    }

    /// As Chrome and Perfetto read it.
    std::string timeline() const {
        Json events = Json::array();
        for (const Span& span : spans_)
            events.push_back({{"name", span.name},
                              {"cat", span.category},
                              {"ph", "X"},
                              {"ts", 1e6 * (span.start - start_)},
                              {"dur", 1e6 * span.seconds},
                              {"pid", getpid()},
                              {"tid", span.thread},
                              {"args", span.details.is_null() ? Json::object() : span.details}});
        for (const auto& [when, bytes] : memory_)
            events.push_back({{"name", "bytes in use"},
                              {"ph", "C"},
                              {"ts", 1e6 * (when - start_)},
                              {"pid", getpid()},
                              {"args", {{"bytes", bytes}}}});
        return Json{{"traceEvents", events}, {"displayTimeUnit", "ns"}}.dump();
    }

    std::string statistics() const {
        const CacheStats cache = cache_stats();
        Json missed = Json::object();
        for (std::size_t i = 0; i < kMissNames.size(); ++i)
            missed[std::string(kMissNames[i])] = cache.missed[i];
        Json plans = Json::array();
        for (const auto& [folder, total] : totals_) {
            Json kernels = Json::array();
            for (const double seconds : total.kernel_seconds) kernels.push_back(1e6 * seconds);
            plans.push_back({{"plan", folder},
                             {"runs", total.runs},
                             {"made", total.made},
                             {"us", 1e6 * total.seconds},
                             {"kernel_us", kernels}});
        }
        Json waits = Json::object();
        for (const Wait& wait : lazuli::waits()) waits[wait.reason] = wait.count;
        const MemoryStats memory = memory_stats();
        return Json{{"seconds", now() - start_},
                    {"cache",
                     {{"hits", cache.hits},
                      {"misses", cache.misses},
                      {"missed", missed},
                      {"fallbacks", cache.fallbacks}}},
                    {"memory",
                     {{"bytes", memory.bytes}, {"peak", memory.peak}, {"spare", memory.spare}}},
                    {"waits", waits},
                    {"plans", plans},
                    {"failures", failures_},
                    {"dropped_spans", dropped_}}
                   .dump(2) +
               "\n";
    }

    const Options options_;
    const double start_;
    std::mutex mutex_;
    std::ofstream executions_;
    std::set<std::string> written_;
    std::map<std::string, Total> totals_;
    std::vector<Span> spans_;
    std::vector<std::pair<double, std::uint64_t>> memory_;
    std::int64_t dropped_ = 0;
    int failures_ = 0;
};

std::atomic<bool> on{false};

/// The recorder that is on, if one is: runs that began before its end keep it alive.
struct Current {
    std::mutex mutex;
    std::shared_ptr<Recorder> recorder;
};

Current& current() {
    static Current& c = *new Current;
    return c;
}

std::shared_ptr<Recorder> recorder() {
    const std::scoped_lock lock(current().mutex);
    return current().recorder;
}

void begin(const Options& options) {
    const std::scoped_lock lock(current().mutex);
    if (current().recorder != nullptr) throw ArgumentError("trace: a trace is on already");
    if (options.directory.empty()) throw ArgumentError("trace: a directory is needed");
    current().recorder = std::make_shared<Recorder>(options);
    plan::keep_passes(true);
    on.store(true);
    runtime::may_watch.store(true);
}

void end() {
    std::shared_ptr<Recorder> done;
    {
        const std::scoped_lock lock(current().mutex);
        done.swap(current().recorder);
        on.store(false);
        plan::keep_passes(false);
    }
    if (done != nullptr) done->write();
}

/// A trace must not break what it traces: what goes wrong is said once a time.
template <class Work>
void guarded(const Work& work) noexcept {
    try {
        work();
    } catch (const std::exception& e) {
        fmt::print(stderr, "lazuli: the trace is not complete: {}\n", e.what());
    }
}

}  // namespace

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

void add_run(const Run& run) {
    guarded([&] {
        if (const auto to = recorder()) to->add(run);
    });
}

void add_wait(double start, double seconds) {
    guarded([&] {
        if (const auto to = recorder()) to->add_wait(start, seconds);
    });
}

bool is_on() {
    static const bool by_environment = [] {
        const std::string directory = env::text(env::Var::trace);
        if (directory.empty()) return false;
        begin({.directory = directory, .inputs = env::flag(env::Var::trace_inputs)});
        std::atexit([] { guarded(end); });
        return true;
    }();
    (void)by_environment;
    return on.load(std::memory_order_relaxed);
}

Scope::Scope(const Options& options) {
    (void)is_on();  // what the environment asks for came first
    begin(options);
}

Scope::~Scope() { guarded(end); }

}  // namespace lazuli::trace
