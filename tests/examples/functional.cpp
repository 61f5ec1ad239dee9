#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>

#include "example.h"

// The engine: policies, functions of one's own, eager mode, compiling, passes, graphs, files.

namespace examples {

namespace {

void calls(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((functional::validate, functional::capture), "f32[2, 2], [[7, 10], [15, 22]]",
                   [] {
                       const std::vector<Tensor> inputs(2, Tensor{{1.0, 2.0}, {3.0, 4.0}});
                       const std::vector<Attribute> attributes = {std::string("none")};
                       const auto plan =
                           functional::validate("matmul", inputs, attributes);  // records nothing
                       return std::pair(plan.result, functional::capture(plan));
                   });
    LAZULI_EXAMPLE(functional::validate,
                   "ShapeError: matmul: inner dimensions differ: [2, 3] @ [4, 5] (3 vs 4)", [] {
                       const std::vector<Tensor> inputs = {zeros({2, 3}), zeros({4, 5})};
                       const std::vector<Attribute> attributes = {std::string("none")};
                       return functional::validate("matmul", inputs, attributes).result;
                   });
    LAZULI_EXAMPLE(call, "[4, 6]", [] {
        const std::vector<Tensor> inputs = {Tensor{{1, 2}, {3, 4}}};
        const std::vector<Attribute> attributes = {Ints{0}, false};  // axes and keepdims
        return call("sum", inputs, attributes);
    });
    LAZULI_EXAMPLE((register_custom, custom_call), "[1, 4, 9]", [] {
        register_custom("square_each", [](auto inputs, const TensorSpec& spec, void* out) {
            const float* x = inputs[0].template as<float>();
            for (std::int64_t i = 0; i < spec.shape.numel(); ++i)
                static_cast<float*>(out)[i] = x[i] * x[i];
        });
        const std::vector<Tensor> inputs = {Tensor{1.0, 2.0, 3.0}};
        return custom_call("square_each", inputs, {f32, {3}});
    });
    LAZULI_EXAMPLE(record, "[[10, 40, 90]]", [] {
        const Program program = Program::parse(
            "program(x: f32[3]) {\n"
            "  %0 = mul(x, x) : f32[3]\n"
            "  return %0\n"
            "}\n");
        const std::vector<Tensor> params = {Tensor{1.0, 2.0, 3.0}};
        std::vector<Tensor> results = record(program, params);
        results[0] *= 10;  // lazy as any
        return results;
    });
}

void policies(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(functional::implementations, "[stable, logsumexp]",
                   functional::implementations("softmax"));
    LAZULI_EXAMPLE((functional::set_policy, functional::policy_of, functional::reset_policies,
                    functional::Policy::force, functional::Policy::standard),
                   "logsumexp, true", [] {
                       functional::set_policy("softmax", functional::Policy::force("logsumexp"));
                       const std::string forced = functional::policy_of("softmax").implementation;
                       functional::reset_policies();
                       return std::pair(forced, functional::policy_of("softmax") ==
                                                    functional::Policy::standard());
                   });
    LAZULI_EXAMPLE(functional::PolicyScope, "[0.5, 0.5], true", [] {
        Tensor y;
        {
            const functional::PolicyScope scope("softmax", functional::Policy::force("logsumexp"));
            y = softmax(Tensor{3.0, 3.0}).eval();
        }
        return std::pair(y, functional::policy_of("softmax") == functional::Policy::standard());
    });
    LAZULI_EXAMPLE(functional::Policy::benchmark, "16, [[7, 10], [15, 22]]", [] {
        const functional::Policy fastest = functional::Policy::benchmark(16);
        const functional::PolicyScope scope("matmul", fastest);
        const Tensor x = {{1.0, 2.0}, {3.0, 4.0}};
        return std::pair(fastest.cache, matmul(x, x).eval());
    });
    LAZULI_EXAMPLE(functional::set_policies_json, "logsumexp, 16", [] {
        functional::set_policies_json(
            "{\"softmax\": {\"force\": \"logsumexp\"}, \"matmul\": {\"benchmark\": 16}}");
        const auto softmax = functional::policy_of("softmax");
        const auto matmul = functional::policy_of("matmul");
        functional::reset_policies();
        return std::pair(softmax.implementation, matmul.cache);
    });
    LAZULI_EXAMPLE(functional::load_policies, "one_pass", [] {
        const std::string path = std::filesystem::temp_directory_path() / "lazuli-policies.json";
        std::ofstream(path) << "{\"layer_norm\": {\"force\": \"one_pass\"}}";
        functional::load_policies(path);
        const auto policy = functional::policy_of("layer_norm");
        functional::reset_policies();
        std::filesystem::remove(path);
        return policy.implementation;
    });
}

void modes(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(eager::Scope, "true, false", [] {
        const Tensor x = {1.0, 2.0};
        Tensor y;
        {
            const eager::Scope scope;
            y = x + 1;
        }
        return std::pair(y.is_materialized(), (x + 1).is_materialized());
    });
    LAZULI_EXAMPLE((quick_start, set_quick_start), "false", [] {
        const bool before = quick_start();
        set_quick_start(false);  // a kernel is compiled before it first runs
        const bool now = quick_start();
        set_quick_start(before);
        return now;
    });
    LAZULI_EXAMPLE(finish_compiling, "[1, 2]", [] {
        const Tensor y = exp(log(Tensor{1.0, 2.0})).eval();  // may be interpreted at first
        finish_compiling();                                  // from here on it is machine code
        return y;
    });
    LAZULI_EXAMPLE(pass_names, "[canonicalize, fold, algebra, merge_equal, merge_loops, open_anew]",
                   pass_names());
    LAZULI_EXAMPLE((pass_enabled, set_pass_enabled), "true, false, true", [] {
        const bool before = pass_enabled("fold");
        set_pass_enabled("fold", false);
        const bool off = pass_enabled("fold");
        set_pass_enabled("fold", true);
        return std::tuple(before, off, pass_enabled("fold"));
    });
}

void graphs(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((GraphScope, GraphScope::recorded, GraphScope::program),
                   "2, program(p0: f32[2]) {\n"
                   "  %0 = exp(p0) : f32[2]\n"
                   "  %1 = tanh(%0) : f32[2]\n"
                   "  return %1\n"
                   "}",
                   [] {
                       const Tensor x = {1.0, 2.0};
                       const GraphScope scope;
                       const Tensor y = x.exp().tanh();
                       return std::pair(scope.recorded().size(), scope.program());
                   });
    LAZULI_EXAMPLE(graph_stats, "2", [] {
        const std::uint64_t before = graph_stats().live_nodes;
        const Tensor x = {1.0, 2.0};
        const Tensor y = x + x;
        return graph_stats().live_nodes - before;
    });
    LAZULI_EXAMPLE(waits, "3, 1", [] {
        const auto count = [] {
            for (const Wait& wait : waits()) {
                if (wait.reason == "item") return wait.count;
            }
            return std::uint64_t{0};
        };
        const std::uint64_t before = count();
        const float sum = Tensor({1.0, 2.0}).sum().item<float>();
        return std::pair(sum, count() - before);
    });
    LAZULI_EXAMPLE(cache_stats, "1, 1", [] {
        const CacheStats before = cache_stats();
        for (int i = 0; i < 2; ++i) (Tensor{1.0, 2.0, 3.0}.cbrt() * 7.0).eval();
        const CacheStats after = cache_stats();
        return std::pair(after.misses - before.misses, after.hits - before.hits);
    });
    LAZULI_EXAMPLE(describe,
                   "plans               2   0 of 0 bytes\n"
                   "hits               98\n"
                   "misses              2\n"
                   "dropped             0\n"
                   "fallbacks           0",
                   describe(CacheStats{.plans = 2, .hits = 98, .misses = 2}));
    LAZULI_EXAMPLE(clear_caches, "0", [] {
        clear_caches();
        return cache_stats().plans;
    });
    LAZULI_EXAMPLE((load_npy, save_npy), "[[1, 2], [3, 4]]", [] {
        const std::string path = std::filesystem::temp_directory_path() / "lazuli-example.npy";
        save_npy(path, Tensor{{1.0, 2.0}, {3.0, 4.0}});
        const Tensor back = load_npy(path);
        std::filesystem::remove(path);
        return back;
    });
    LAZULI_EXAMPLE(
        (save_safetensors, SafetensorsFile::open, SafetensorsFile::tensor), "[[1, 2], [3, 4]]", [] {
            const std::string path =
                std::filesystem::temp_directory_path() / "lazuli-example.safetensors";
            save_safetensors(path, {{"w", Tensor{{1.0, 2.0}, {3.0, 4.0}}}, {"b", zeros({2})}});
            const SafetensorsFile file = SafetensorsFile::open(path);
            std::filesystem::remove(path);  // whoever has it open keeps it
            return file.tensor("w");
        });
    LAZULI_EXAMPLE((SafetensorsFile::path, SafetensorsFile::names, SafetensorsFile::contains,
                    SafetensorsFile::spec, SafetensorsFile::metadata, SafetensorsFile::tensors),
                   "lazuli-example.safetensors, [w, b], false, f32[2, 2], pt, 2", [] {
                       const std::filesystem::path path =
                           std::filesystem::temp_directory_path() / "lazuli-example.safetensors";
                       save_safetensors(path, {{"b", zeros({2}, f16)}, {"w", ones({2, 2})}},
                                        {{"format", "pt"}});
                       const SafetensorsFile file = SafetensorsFile::open(path);
                       std::filesystem::remove(path);
                       return std::tuple(std::filesystem::path(file.path()).filename().string(),
                                         file.names(), file.contains("v"), file.spec("w"),
                                         file.metadata().at("format"), file.tensors().size());
                   });
}

void devices_and_memory(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((Device, Device::name, Device::number), "reference, true", [] {
        const Device device("reference");
        return std::pair(device.name(), Device(device.number()) == device);
    });
    LAZULI_EXAMPLE(
        Device,
        "DeviceError: there is no device named 'abacus' (there are: reference, interpreter, cpu)",
        Device("abacus"));
    LAZULI_EXAMPLE(devices, "[reference, interpreter, cpu]", devices());
    LAZULI_EXAMPLE((default_device, set_default_device), "interpreter", [] {
        const Device before = default_device();
        set_default_device(Device("interpreter"));
        const Tensor x = {1.0, 2.0};
        set_default_device(before);
        return x.device();
    });
    LAZULI_EXAMPLE(memory_stats, "4096", [] {
        const std::uint64_t before = memory_stats().bytes;
        const Tensor x = iota({1024}, 0, f32).eval();
        return memory_stats().bytes - before;
    });
}

void memory_limits(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(set_memory_limit, "OutOfMemory, 4", [] {
        const Tensor x = full({1000}, 2.0) * 2.0;
        const std::uint64_t before = set_memory_limit(memory_stats().bytes + 64);
        std::string error;
        try {
            x.eval();
        } catch (const OutOfMemory&) {
            error = "OutOfMemory";
        }
        set_memory_limit(before);
        return std::pair(error, x[0].item<double>());  // tried again
    });
    LAZULI_EXAMPLE(set_cache_limit, "0", [] {
        const std::uint64_t before = set_cache_limit(0);
        const std::uint64_t kept = memory_stats().spare;
        set_cache_limit(before);
        return kept;
    });
    LAZULI_EXAMPLE(reset_peak_memory, "true", [] {
        reset_peak_memory();
        return memory_stats().peak == memory_stats().bytes;
    });
}

void streams(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((async_eval, ready, Event::wait, Event::is_done), "true, [2, 4, 6]", [] {
        const Tensor y = Tensor{1, 2, 3} * 2;
        async_eval(y);  // returns at once
        const Event event = ready(y);
        event.wait();
        return std::pair(event.is_done(), y);
    });
    LAZULI_EXAMPLE(Event::wait, "true", [] {
        const Tensor y = Tensor{1, 2, 3} * 2;
        ready(y).wait(std::chrono::seconds(60));  // Timeout where that is not enough
        return y.is_materialized();
    });
    LAZULI_EXAMPLE(Event::on_ready, "12", [] {
        const Tensor y = (Tensor{1, 2, 3} * 2).sum();
        std::promise<int> sum;
        ready(y).on_ready([&] { sum.set_value(y.item<int>()); });
        return sum.get_future().get();
    });
    LAZULI_EXAMPLE(operator co_await, "12", [] {
        struct Detached {  // a coroutine that nobody waits for
            struct promise_type {
                Detached get_return_object() { return {}; }
                std::suspend_never initial_suspend() { return {}; }
                std::suspend_never final_suspend() noexcept { return {}; }
                void return_void() {}
                void unhandled_exception() { std::terminate(); }
            };
        };
        std::promise<int> sum;
        const auto add_up = [&](Tensor x) -> Detached {
            const Tensor y = x.sum();
            co_await ready(y);
            sum.set_value(y.item<int>());
        };
        add_up(Tensor{2, 4, 6});
        return sum.get_future().get();
    });
    LAZULI_EXAMPLE(
        (Stream::make, Stream::current, Stream::commit, Stream::synchronize, StreamScope),
        "true, true", [] {
            const Stream other = Stream::make();
            const StreamScope scope(other);
            const Tensor y = Tensor{1, 2, 3} * 2;
            async_eval(y);  // there
            const Event event = other.commit();
            other.synchronize();
            return std::pair(Stream::current() == other, event.is_done());
        });
    LAZULI_EXAMPLE(synchronize, "true", [] {
        const Tensor y = Tensor{1, 2, 3} * 2;
        async_eval(y);
        synchronize();
        return y.is_materialized();
    });
    LAZULI_EXAMPLE((set_stream_limits, stream_limits), "100", [] {
        const StreamLimits before = stream_limits();
        set_stream_limits({.max_ops_per_commit = 100});
        const std::size_t now = stream_limits().max_ops_per_commit;
        set_stream_limits(before);
        return now;
    });
}

void traces(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((trace::Scope, trace::is_on), "true, false, true", [] {
        const auto folder = std::filesystem::temp_directory_path() / "lazuli-trace-example";
        bool was_on = false;
        {
            const trace::Scope scope({.directory = folder.string()});
            was_on = trace::is_on();
            (Tensor{1, 2, 3} * 2).eval();
        }
        const bool written = std::filesystem::exists(folder / "timeline.json");
        std::filesystem::remove_all(folder);
        return std::tuple(was_on, trace::is_on(), written);
    });
}

void inspections(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((DebugTensors, TensorSummary::str), "add, mul, exp: 1 of 3 infinite", [] {
        std::vector<TensorSummary> seen;
        {
            const DebugTensors debug([&](const TensorSummary& s) { seen.push_back(s); });
            exp((Tensor({1.0, 2.0, 500.0}) + 1.0) * 2.0).eval();  // one kernel
        }
        const bool is_shown = seen[0].str().find("min 2") != std::string::npos;
        return seen[0].op + ", " + seen[1].op + ", " + seen[2].op + ": " +
               std::to_string(seen[2].infs) + (is_shown ? " of 3 infinite" : "");
    });
    LAZULI_EXAMPLE(set_source_hook, "line 3 of a script", [] {
        std::string source;
        set_source_hook([] { return std::string("line 3 of a script"); });
        {
            const DebugTensors debug([&](const TensorSummary& s) { source = s.source; });
            (Tensor({1.0, 2.0}) * 2.0).eval();
        }
        set_source_hook(nullptr);
        return source;
    });
    LAZULI_EXAMPLE(NanCheck,
                   "log: makes NaN of operands without one: 1 of 2 elements of f32[2], the first "
                   "at [1]; of f32[2] from -2 to 4",
                   [] {
                       const NanCheck check;
                       std::string message;
                       try {
                           (log(Tensor({4.0, -2.0})) * 2.0).eval();
                       } catch (const ExecutionError& error) {
                           message = error.what();
                       }
                       return message.substr(0, message.find("; recorded at"));
                   });
}

void conformance_tests(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((conformance::run, conformance::Report::total), "true, 0", [] {
        const auto report = conformance::run({.backend = "interpreter", .op = "floor"});
        return std::pair(report.total() > 100, report.failures.size());
    });
    LAZULI_EXAMPLE(conformance::Report::table, "true", [] {
        conformance::Report report;
        report.checks["floor"][f32] = 120;
        const std::string table = report.table();  // ops down, types across
        return table.find("floor") < table.find("120");
    });
    LAZULI_EXAMPLE(conformance::table, "true", [] {
        conformance::Report report;
        report.checks["floor"][f32] = 120;
        const std::string table = conformance::table({{"cpu", report}, {"mine", report}});
        return table.find("cpu") < table.find("mine");
    });
    LAZULI_EXAMPLE(conformance::with_diagonal, "[[20, 1], [1, 20]]", [] {
        const Tensor singular = {{0.0, 1.0}, {1.0, 0.0}};
        return conformance::with_diagonal(singular, 10);  // ten times their size, which is 2
    });
    LAZULI_EXAMPLE(conformance::draw, "true, true", [] {
        const Tensor x = conformance::draw({f32, {100}}, -1, 1, false, 7);
        return std::pair(min(x) >= -1, max(x) <= 1);
    });
    LAZULI_EXAMPLE(conformance::close, "true, false", [] {
        const bool within = conformance::close(1.0 + 1e-7, 1.0, f32, 4, 0);
        const bool beyond = conformance::close(1.01, 1.0, f32, 4, 0);
        return std::pair(within, beyond);
    });
}

}  // namespace

Examples functional() {
    Examples out;
    calls(out);
    policies(out);
    modes(out);
    graphs(out);
    devices_and_memory(out);
    memory_limits(out);
    streams(out);
    traces(out);
    inspections(out);
    conformance_tests(out);
    return out;
}

}  // namespace examples
