// A project of somebody else's: it finds the installed package, adds an op and a backend from
// outside, and runs the conformance tests on both. It sees public headers only.

#include <lazuli/lazuli.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

namespace {

using namespace lazuli;

// An op of our own: softsign, x / (1 + |x|), with a strength attribute, built out of core ops; and
// one with a meaning of its own.

Value build_softsign(ProgramBuilder& b, std::span<const Value> in, const InferArgs& args) {
    const Value strength = b.constant(args.attrs.real(0), {in[0].dtype(), {}});
    const Value magnitude = b.op("abs", in);
    const Value scaled[] = {magnitude, strength};
    const Value one[] = {b.constant(1.0, {in[0].dtype(), {}}), b.op("mul", scaled)};
    const Value quotient[] = {in[0], b.op("add", one)};
    return b.op("div", quotient);
}

TensorSpec infer_flip(const InferArgs& args) {
    ensure_rank(args.op.name, *args.inputs[0], 1, 1);
    return *args.inputs[0];
}

void evaluate_flip(const EvalArgs& args) {
    const std::size_t size = size_of(args.spec->dtype);
    const auto count = static_cast<std::size_t>(args.spec->shape.numel());
    for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(static_cast<char*>(args.out) + i * size,
                    static_cast<const char*>(args.inputs[0].data) + (count - 1 - i) * size, size);
    }
}

void add_ops() {
    register_op({
        .name = "softsign",
        .doc = "x / (1 + strength |x|) of each element.",
        .traits = Trait::elementwise | Trait::same_type | Trait::promotes | Trait::to_float,
        .dtypes = kFloating,
        .attrs = {{"strength", AttrKind::real}},
        .implementations = {{.name = "formula", .build = build_softsign}},
        .tolerance = {.ulps = 8},
        .cases = {{{{3, 4}}, {1.0}}, {{{}}, {0.5}}, {{{0}}, {1.0}}},
    });
    register_op({
        .name = "flip_vector",
        .doc = "The elements of a vector in reverse order.",
        .traits = Trait::movement,
        .infer = infer_flip,
        .evaluate = evaluate_flip,
        .cases = {{{{5}}, {}}, {{{0}}, {}}, {{{1}}, {}}},
    });
}

// A backend of our own: it evaluates core ops by their records, like the reference backend, takes
// relu whole, and lacks erf.
class Mirror final : public Backend {
   public:
    std::string name() const override { return "mirror"; }
    DeviceInfo describe() const override { return {"a backend from outside", 0}; }
    bool supports(const OpDef& op, std::span<const TensorSpec> inputs,
                  const TensorSpec&) const override {
        if (op.name == "erf") return false;
        return op.evaluate != nullptr || (op.name == "relu" && inputs[0].dtype == f32);
    }
    std::shared_ptr<const void> prepare(const Program& program) override {
        return std::make_shared<Program>(program);
    }
    std::vector<BufferPtr> run(const void* prepared, std::span<const Binding> params) override {
        const auto& program = *static_cast<const Program*>(prepared);
        std::vector<TensorSpec> specs;
        std::vector<BufferPtr> values;
        const auto array = [&](ValueRef v) -> HostArray {
            if (!v.is_param()) return {values[v.index()]->host_data(), &specs[v.index()]};
            return {static_cast<const char*>(params[v.index()].buffer->host_data()) +
                        params[v.index()].offset,
                    &program.params()[v.index()].spec};
        };
        specs.reserve(program.size());
        for (std::size_t i = 0; i < program.size(); ++i) {
            const Operation operation = program.operation(i);
            specs.push_back(operation.spec());
            values.push_back(allocate(static_cast<std::size_t>(specs.back().nbytes())));
            std::vector<HostArray> inputs;
            for (std::size_t k = 0; k < operation.input_count(); ++k)
                inputs.push_back(array(operation.input(k)));
            if (operation.def().name == "relu") {
                ++relus;
                for (std::int64_t k = 0; k < specs.back().shape.numel(); ++k) {
                    const float x = inputs[0].as<float>()[k];
                    static_cast<float*>(values.back()->host_mutable())[k] =
                        x > 0 || std::isnan(x) ? x : 0.0F;
                }
            } else {
                operation.def().evaluate({operation.def(), operation.attrs(), inputs, &specs.back(),
                                          values.back()->host_mutable()});
            }
        }
        std::vector<BufferPtr> results;
        for (const ProgramResult& result : program.results()) {
            const HostArray from = array(result.value);
            results.push_back(allocate(static_cast<std::size_t>(from.spec->nbytes())));
            if (from.spec->nbytes() > 0)
                std::memcpy(results.back()->host_mutable(), from.data,
                            static_cast<std::size_t>(from.spec->nbytes()));
        }
        return results;
    }
    BufferPtr allocate(std::size_t bytes) override { return allocate_host(device(), bytes); }
    void copy_in(Buffer& to, const void* from, std::size_t bytes) override {
        std::memcpy(to.host_mutable(), from, bytes);
    }
    void copy_out(void* to, const Buffer& from, std::size_t bytes) override {
        std::memcpy(to, from.host_data(), bytes);
    }

    static inline int relus = 0;
};

int failures = 0;

void expect(bool condition, const char* what) {
    if (condition) return;
    std::printf("FAILED: %s\n", what);
    ++failures;
}

void conforms(const conformance::Options& options) {
    const conformance::Report report = conformance::run(options);
    std::printf("conformance of %s on %s: %d checks, %zu failures\n",
                options.op.empty() ? "every op" : options.op.c_str(), options.backend.c_str(),
                report.total(), report.failures.size());
    for (const std::string& failure : report.failures) expect(false, failure.c_str());
    expect(report.total() > 0, "no checks were made");
}

}  // namespace

int main() {
    add_ops();
    const Device mirror = register_backend(std::make_unique<Mirror>());

    conforms({.op = "softsign"});
    conforms({.op = "flip_vector"});
    conforms({.backend = "mirror"});
    expect(Mirror::relus > 0, "relu was not taken whole");
    expect(cache_stats().fallbacks > 0, "erf did not fall back to the reference backend");

    const Tensor x = Tensor{-1.0, 0.0, 3.0}.to(mirror);
    const std::vector<Attribute> strength{1.0};
    const Tensor y = call("softsign", {&x, 1}, strength);
    expect(y.device() == mirror && !y.is_materialized(), "the op is lazy and on the backend");
    expect(y.to_vector<float>() == std::vector<float>{-0.5F, 0.0F, 0.75F}, "softsign");
    const Program program = capture(y + call("softsign", {&x, 1}, strength));
    expect(Program::parse(program.str()) == program, "the op prints and parses");
    setenv("LAZULI_STRICT", "1", 1);
    try {
        erf(x).eval();
        expect(false, "strict mode let erf run elsewhere");
    } catch (const DeviceError& e) {
        expect(
            std::string(e.what()) ==
                "erf: the backend mirror does not take f32[3] -> f32[3], and LAZULI_STRICT is set",
            e.what());
    }
    unsetenv("LAZULI_STRICT");
    try {
        const Tensor matrix = zeros({2, 2});
        (void)call("flip_vector", {&matrix, 1});
        expect(false, "a matrix was accepted");
    } catch (const ShapeError& e) {
        expect(std::string(e.what()) == "flip_vector: expects rank 1, given f32[2, 2] (rank 2)",
               e.what());
    }
    try {
        (void)(x + Tensor{1.0, 2.0, 3.0});
        expect(false, "two devices were mixed");
    } catch (const DeviceError& e) {
        std::printf("%s\n", e.what());
    }
#ifdef LAZULI_INSTALLED_MODULE
    // The installed compiler of kernels is found.
    Backend& cpu = backend_of(Device("cpu"));
    const auto prepared = cpu.prepare(capture(Tensor{1.0, 2.0, 3.0}.tanh()));
    for (const KernelInfo& kernel : cpu.info(prepared.get(), false).kernels)
        expect(kernel.how.find("interpreted") == std::string::npos, kernel.how.c_str());
#endif
    std::printf("%s\n", failures == 0 ? "the consumer is content" : "the consumer is NOT content");
    return failures == 0 ? 0 : 1;
}
