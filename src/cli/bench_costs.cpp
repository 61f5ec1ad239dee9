// What the engine itself costs: recording, planning, finding a plan, compiling; and what laziness
// brings.

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "cli/bench.h"
#include "plan/expand.h"
#include "plan/steps.h"

namespace lazuli::bench {

namespace {

// ---- recording and planning

/// Computes nothing, and hands out the same buffers each time: what is left is ours.
class Idle final : public Backend {
   public:
    std::string name() const override { return "idle"; }
    DeviceInfo describe() const override { return {"computes nothing", 0}; }
    bool supports(const OpDef&, std::span<const TensorSpec>, const TensorSpec&) const override {
        return true;
    }
    std::shared_ptr<const void> prepare(const Program& program) override {
        auto results = std::make_shared<std::vector<BufferPtr>>();
        for (const ProgramResult& result : program.results())
            results->push_back(
                allocate(static_cast<std::size_t>(program.spec(result.value).nbytes())));
        return results;
    }
    std::vector<BufferPtr> run(const void* prepared, std::span<const Binding>) override {
        return *static_cast<const std::vector<BufferPtr>*>(prepared);
    }
    BufferPtr allocate(std::size_t bytes) override { return allocate_host(device(), bytes); }
    void copy_in(Buffer&, const void*, std::size_t) override {}
    void copy_out(void*, const Buffer&, std::size_t) override {}
};

/// Nine functions of elements and a product, over and over, as a network has them.
Tensor long_program(const Tensor& w, const Tensor& b, int operations) {
    Tensor x = b;
    for (int i = 0; i < operations; ++i) {
        x = i % 10 == 9  ? std::move(x).matmul(w)
            : i % 2 == 0 ? std::move(x) + b
                         : std::move(x).tanh();
    }
    return x;
}

Tensor numbers_of(std::int64_t size) {
    return Tensor::from(std::vector<float>(static_cast<std::size_t>(size * size), 0.5F),
                        {size, size});
}

/// Nothing here is computed, so that the process still has one thread.
Group recording() {
    Group out{"recording, and finding plans, in a process of one thread", {}};
    // Dropped at once, so that memory does not grow; a thousand, since one is a few nanoseconds.
    constexpr int kTimes = 1000;
    const auto recorded = [](const auto& record) {
        return [record] {
            const Tensor a = numbers_of(64);
            const Tensor b = numbers_of(64);
            return Work{.run =
                            [record, a, b] {
                                for (int i = 0; i < kTimes; ++i) (void)record(a, b);
                            },
                        .times = kTimes};
        };
    };
    out.cases.push_back({"record/add", "one x + y, recorded and dropped",
                         recorded([](const Tensor& a, const Tensor& b) { return a + b; })});
    out.cases.push_back({"record/matmul", "one x @ y, recorded and dropped",
                         recorded([](const Tensor& a, const Tensor& b) { return a.matmul(b); })});
    for (const int operations : {100, 1000, 10000})
        out.cases.push_back(
            {fmt::format("plan/found/{}", operations),
             "so many operations recorded, captured, their plan found and bound; nothing computed",
             [operations] {
                 static const Device idle = register_backend(std::make_unique<Idle>());
                 const Tensor w = numbers_of(16).to(idle);
                 const Tensor b = numbers_of(16).to(idle);
                 return Work{.run = [=] { (void)long_program(w, b, operations).eval(); }};
             }});
    return out;
}

Group planning() {
    Group out{"planning, without machine code", {}};
    for (const int operations : {100, 1000})
        out.cases.push_back({fmt::format("plan/made/{}", operations),
                             "the same operations planned: passes, grouping, kernels without code",
                             [operations] {
                                 const Tensor w = numbers_of(16);
                                 const Program program = capture(long_program(w, w, operations));
                                 return Work{.run = [program] {
                                     (void)plan::make_steps(plan::expand(program, {}));
                                 }};
                             }});
    return out;
}

// ---- lazy, eager, without passes

class PassesOff {
   public:
    PassesOff() {
        for (const std::string_view name : pass_names()) {
            if (!pass_enabled(name)) continue;
            off_.push_back(name);
            set_pass_enabled(name, false);
        }
    }
    ~PassesOff() {
        for (const std::string_view name : off_) set_pass_enabled(name, true);
    }
    PassesOff(const PassesOff&) = delete;
    PassesOff& operator=(const PassesOff&) = delete;

   private:
    std::vector<std::string_view> off_;
};

Group laziness() {
    struct Layer {
        Tensor x = drawn(1, {128, 512}, f32);
        Tensor w = drawn(2, {512, 512}, f32);
        Tensor b = drawn(3, {512}, f32);
        Tensor made() const {
            const Tensor h = (matmul(x, w) * 0.01 + b).gelu() * 1.0 + 0.0;
            return softmax(h + x).rms_norm(b);
        }
    };
    const std::string text = "network/f32/128x512";
    const char* about = "a layer: product, bias, gelu, softmax, RMS norm";
    Group out{"lazy and eager, on a small network", {}};
    out.cases.push_back({text, about, [] {
                             return Work{.run = [layer = Layer()] { (void)layer.made().eval(); }};
                         }});
    out.cases.push_back({"eager/" + text, "the same, one operation at a time",
                         [] {
                             return Work{.run = [layer = Layer()] {
                                 const eager::Scope scope;
                                 (void)layer.made().eval();
                             }};
                         },
                         text});
    out.cases.push_back({"passes_off/" + text, "the same without passes over the program",
                         [] {
                             return Work{.run = [layer = Layer()] {
                                 const PassesOff off;
                                 (void)layer.made().eval();
                             }};
                         },
                         text});
    return out;
}

// ---- compiling

constexpr std::array kCompiled{"chain", "softmax"};

Tensor compiled_expression(std::size_t which, const Tensor& x) {
    if (kCompiled[which] == std::string_view("softmax")) return x.softmax();
    Tensor z = x;
    for (int i = 0; i < 10; ++i) z = (z * x + 0.5).tanh() - x;
    return z;
}

/// A process of its own, with an environment of its own: where compiled kernels are kept is read
/// once a process. It must be made before this one computes anything.
class FirstCalls {
   public:
    explicit FirstCalls(const std::vector<std::pair<const char*, std::string>>& environment) {
        int there[2];
        int back[2];
        if (pipe(there) != 0 || pipe(back) != 0) throw Error("bench: no pipe to be had");
        child_ = fork();
        if (child_ < 0) throw Error("bench: no process to be had");
        if (child_ == 0) {
            close(there[1]);
            close(back[0]);
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (const auto& [name, value] : environment) setenv(name, value.c_str(), 1);
            serve(there[0], back[1]);
        }
        close(there[0]);
        close(back[1]);
        to_ = there[1];
        from_ = back[0];
    }
    ~FirstCalls() {
        // Said, not left to the end of the pipe, which a process made later holds open as well.
        (void)!write(to_, &kEnough, 1);
        close(to_);
        close(from_);
        waitpid(child_, nullptr, 0);
    }
    FirstCalls(const FirstCalls&) = delete;
    FirstCalls& operator=(const FirstCalls&) = delete;

    /// Seconds from the call to the result, when the process knows no plan.
    double seconds(std::size_t which) const {
        double out = 0;
        const auto number = static_cast<unsigned char>(which);
        if (write(to_, &number, 1) != 1 || ::read(from_, &out, sizeof out) != sizeof out)
            throw Error("bench: the process that compiles is gone");
        return out;
    }

   private:
    static constexpr unsigned char kEnough = 255;

    [[noreturn]] static void serve(int from, int to) {
        try {
            set_default_device(Device("cpu"));
            std::optional<Tensor> x;
            unsigned char which = 0;
            while (::read(from, &which, 1) == 1 && which != kEnough) {
                if (!x) x = drawn(1, {4, 8}, f32);
                clear_caches();
                const double start = now();
                (void)compiled_expression(which, *x).eval();
                const double taken = now() - start;
                finish_compiling();  // before the next call, not in it
                if (write(to, &taken, sizeof taken) != sizeof taken) break;
            }
        } catch (const std::exception& e) {
            fmt::print(stderr, "lazuli bench: {}\n", e.what());
        }
        std::_Exit(0);
    }

    pid_t child_ = -1;
    int to_ = -1;
    int from_ = -1;
};

/// A folder that goes with the last who holds it.
struct Folder {
    Folder() {
        std::string name =
            (std::filesystem::temp_directory_path() / "lazuli-bench-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw FileError(name, "cannot be made");
        path = name;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string path;
};

Group compiling(const Setup& setup) {
    struct Way {
        std::string name;
        std::string about;
        std::vector<std::pair<const char*, std::string>> environment;
    };
    const auto folder = std::make_shared<Folder>();
    const std::vector<Way> ways{
        {"cold",
         "first call, which waits for its code",
         {{"LAZULI_CACHE", "0"}, {"LAZULI_QUICK_START", "0"}}},
        {"quick",
         "first call, interpreted while its code is made",
         {{"LAZULI_CACHE", "0"}, {"LAZULI_QUICK_START", "1"}}},
        {"kept",
         "first call of a process, its code on disk",
         {{"LAZULI_CACHE", "1"}, {"LAZULI_CACHE_DIR", folder->path}, {"LAZULI_QUICK_START", "0"}}},
    };
    Group out{"compiling, from the call to the first result, [4, 8]", {}};
    for (const Way& way : ways) {
        std::shared_ptr<FirstCalls> process;
        for (std::size_t which = 0; which < kCompiled.size(); ++which) {
            const std::string name = fmt::format("compile/{}/{}", way.name, kCompiled[which]);
            if (process == nullptr && setup.wanted(name))
                process = std::make_shared<FirstCalls>(way.environment);
            out.cases.push_back({name, way.about, [process, folder, which] {
                                     return Work{.seconds = [process, folder, which] {
                                         return process->seconds(which);
                                     }};
                                 }});
        }
    }
    return out;
}

}  // namespace

std::vector<Group> cost_groups(const Setup& setup) {
    std::vector<Group> out{recording(), planning(), laziness()};
    if (setup.device.name() == "cpu") out.push_back(compiling(setup));
    return out;
}

}  // namespace lazuli::bench
