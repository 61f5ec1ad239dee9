// Devices and their backends.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "base/env.h"
#include "lazuli/backend.h"
#include "lazuli/error.h"
#include "runtime/engine.h"

namespace lazuli {

namespace {

constexpr int kMaxDevices = 64;

struct Registry {
    std::mutex mutex;
    std::array<std::atomic<Backend*>, kMaxDevices> backends{};
    std::atomic<int> count{0};
    std::atomic<int> fallback{-1};  // the default device once known
};

Registry& registry() {
    static Registry& r = *new Registry;
    return r;
}

std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const Device device : devices()) out.push_back(device.name());
    return out;
}

}  // namespace

Device register_backend(std::unique_ptr<Backend> backend) {
    if (backend == nullptr) throw ArgumentError("register_backend: no backend given");
    runtime::ensure_builtin_backends();
    Registry& r = registry();
    const std::string name = backend->name();
    const bool good =
        !name.empty() &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
    if (!good)
        throw ArgumentError(fmt::format(
            "register_backend: '{}' is no name (lower-case letters, digits, underscores)", name));
    const std::scoped_lock lock(r.mutex);
    const int index = r.count.load();
    for (int i = 0; i < index; ++i) {
        if (r.backends[static_cast<std::size_t>(i)].load()->name() == name) {
            throw ArgumentError(
                fmt::format("register_backend: there is a backend named '{}' already", name));
        }
    }
    if (index == kMaxDevices)
        throw ArgumentError(fmt::format("register_backend: more than {} backends", kMaxDevices));
    backend->device_ = Device(static_cast<std::uint8_t>(index));
    r.backends[static_cast<std::size_t>(index)].store(backend.release(), std::memory_order_release);
    r.count.store(index + 1, std::memory_order_release);
    return Device(static_cast<std::uint8_t>(index));
}

Backend& backend_of(Device device) {
    runtime::ensure_builtin_backends();
    Backend* backend = device.number() < kMaxDevices
                           ? registry().backends[device.number()].load(std::memory_order_acquire)
                           : nullptr;
    if (backend == nullptr)
        throw DeviceError(fmt::format("there is no device number {}", device.number()));
    return *backend;
}

std::vector<Device> devices() {
    runtime::ensure_builtin_backends();
    std::vector<Device> out;
    for (int i = 0; i < registry().count.load(std::memory_order_acquire); ++i)
        out.emplace_back(static_cast<std::uint8_t>(i));
    return out;
}

Device::Device(std::string_view name) {
    for (const Device device : devices()) {
        if (device.name() != name) continue;
        number_ = device.number();
        return;
    }
    throw DeviceError(fmt::format("there is no device named '{}' (there are: {})", name,
                                  fmt::join(names(), ", ")));
}

std::string Device::name() const { return backend_of(*this).name(); }

Device default_device() {
    Registry& r = registry();
    int number = r.fallback.load(std::memory_order_acquire);
    if (number < 0) {
        number = Device(env::text(env::Var::device)).number();
        r.fallback.store(number, std::memory_order_release);
    }
    return Device(static_cast<std::uint8_t>(number));
}

void set_default_device(Device device) {
    (void)backend_of(device);
    registry().fallback.store(device.number(), std::memory_order_release);
}

}  // namespace lazuli
