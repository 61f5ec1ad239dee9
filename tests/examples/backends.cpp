#include <algorithm>
#include <cstring>

#include "example.h"

// What a device of one's own is made of.

namespace examples {

namespace {

void memory(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((allocate_host, Buffer::bytes, Buffer::device), "64, reference", [] {
        const BufferPtr buffer = allocate_host(Device("reference"), 64);
        return std::pair(buffer->bytes(), buffer->device());
    });
    LAZULI_EXAMPLE((Buffer, Buffer::host_data, Buffer::host_mutable, Buffer::address,
                    Buffer::bring_back, Buffer::release),
                   "7, true", [] {
                       struct Cell : Buffer {
                           Cell() : Buffer(Device("reference"), sizeof(int)) {}
                           const void* host_data() const override { return &value; }
                           void* host_mutable() override { return &value; }
                           int value = 7;
                       };
                       Cell cell;
                       cell.release({});   // nothing, unless a buffer can make its content again
                       cell.bring_back();  // nothing, where it never went
                       return std::pair(*static_cast<const int*>(cell.host_data()),
                                        cell.address() == cell.host_mutable());
                   });
    LAZULI_EXAMPLE((Buffer::freeze, Buffer::is_frozen, Buffer::may_release), "true, false", [] {
        const BufferPtr weights = allocate_host(Device("reference"), 64);
        weights->freeze();
        return std::pair(weights->is_frozen(), weights->may_release());
    });
    LAZULI_EXAMPLE((SomeFailed, SomeFailed::what), "some results failed, 1", [] {
        const auto error = std::make_exception_ptr(ExecutionError("sum", "told to"));
        const SomeFailed some({nullptr, allocate_host(Device("reference"), 64)}, {error, nullptr});
        return std::pair(some.what(), std::ranges::count(some.results, nullptr));
    });
    LAZULI_EXAMPLE((Buffer::keep, Buffer::kept), "true, true", [] {
        const BufferPtr weights = allocate_host(Device("reference"), 64);
        const BufferPtr packed = allocate_host(Device("reference"), 128);
        weights->keep(42, packed);  // lives as long as the weights do
        return std::pair(weights->kept(42) == packed, weights->kept(43) == nullptr);
    });
    LAZULI_EXAMPLE((Reading, Reading::data), "true", [] {
        const BufferPtr buffer = allocate_host(Device("reference"), 64);
        const Reading reading(*buffer);  // its memory stays for as long
        return reading.data() == buffer->host_data();
    });
}

void running(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(
        (backend_of, Backend::name, Backend::device, Backend::describe), "reference, true", [] {
            const Device device("reference");
            Backend& backend = backend_of(device);
            return std::pair(backend.name(),
                             backend.device() == device && !backend.describe().description.empty());
        });
    LAZULI_EXAMPLE(Backend::supports, "true", [] {
        const TensorSpec spec = {f32, {2, 3}};
        const std::vector<TensorSpec> inputs = {spec};
        return backend_of(Device("reference")).supports(op_def(require_op("tanh")), inputs, spec);
    });
    LAZULI_EXAMPLE((Backend::prepare, Backend::allocate, Backend::copy_in, Backend::run,
                    Backend::synchronize, Backend::copy_out),
                   "[2, 4, 6]", [] {
                       Backend& backend = backend_of(Device("reference"));
                       const Program program = Program::parse(
                           "program(x: f32[3]) {\n"
                           "  %0 = add(x, x) : f32[3]\n"
                           "  return %0\n"
                           "}\n");
                       const float x[] = {1, 2, 3};
                       const BufferPtr buffer = backend.allocate(sizeof(x));
                       backend.copy_in(*buffer, x, sizeof(x));
                       const std::vector<Binding> params = {{.buffer = buffer, .strides = {4}}};
                       const std::shared_ptr<const void> prepared = backend.prepare(program);
                       const std::vector<BufferPtr> results = backend.run(prepared.get(), params);
                       backend.synchronize();
                       std::vector<float> out(3);
                       backend.copy_out(out.data(), *results[0], sizeof(x));
                       return out;
                   });
    LAZULI_EXAMPLE((Backend::info, Backend::prepared_bytes), "1, interpreted, true", [] {
        Backend& backend = backend_of(Device("interpreter"));
        const Tensor x = {1.0, 2.0, 3.0};
        const std::shared_ptr<const void> prepared = backend.prepare(capture(tanh(x + x)));
        const PreparedInfo info = backend.info(prepared.get(), false);
        return std::tuple(info.kernels.size(), info.kernels[0].how,
                          backend.prepared_bytes(prepared.get()) > 0);
    });
    LAZULI_EXAMPLE(Backend::least_seconds, "true", [] {
        const KernelInfo kernel{.bytes_read = 1 << 20, .bytes_written = 1 << 20, .flops = 1 << 18};
        return backend_of(Device("cpu")).least_seconds(kernel) > 0;
    });
    LAZULI_EXAMPLE(register_backend, "borrowed, [5, 7, 9]", [] {
        struct Borrowed : Backend {
            Backend& other = backend_of(Device("reference"));
            std::string name() const override { return "borrowed"; }
            DeviceInfo describe() const override { return {.description = "runs elsewhere"}; }
            bool supports(const OpDef& op, std::span<const TensorSpec> inputs,
                          const TensorSpec& result) const override {
                return other.supports(op, inputs, result);
            }
            std::shared_ptr<const void> prepare(const Program& program) override {
                return other.prepare(program);
            }
            std::vector<BufferPtr> run(const void* prepared,
                                       std::span<const Binding> params) override {
                return other.run(prepared, params);
            }
            BufferPtr allocate(std::size_t bytes) override {
                return allocate_host(device(), bytes);
            }
            void copy_in(Buffer& to, const void* from, std::size_t bytes) override {
                std::memcpy(to.host_mutable(), from, bytes);
            }
            void copy_out(void* to, const Buffer& from, std::size_t bytes) override {
                std::memcpy(to, from.host_data(), bytes);
            }
        };
        const Device device = register_backend(std::make_unique<Borrowed>());
        const Tensor sum = Tensor({1, 2, 3}).to(device) + Tensor({4, 5, 6}).to(device);
        return std::pair(sum.device(), sum);
    });
}

}  // namespace

Examples backends() {
    Examples out;
    memory(out);
    running(out);
    return out;
}

}  // namespace examples
