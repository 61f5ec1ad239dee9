#pragma once

/// @file
/// Devices: where a tensor lives and which backend computes it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lazuli {

/// A device. Each registered backend is one.
class Device {
   public:
    /// The reference backend.
    constexpr Device() = default;
    /// The device of that number.
    constexpr explicit Device(std::uint8_t number) : number_(number) {}
    /// The device of that name; DeviceError listing those there are where there is none.
    explicit Device(std::string_view name);
    /// Its number, for as long as the process runs.
    constexpr std::uint8_t number() const { return number_; }
    /// Its name.
    std::string name() const;
    /// The same device.
    constexpr bool operator==(const Device&) const = default;

   private:
    std::uint8_t number_ = 0;
};

/// All devices.
std::vector<Device> devices();
/// The device new tensors live on: set here, or by LAZULI_DEVICE, or the CPU.
Device default_device();
/// Sets the device new tensors live on, for the whole process.
void set_default_device(Device device);

}  // namespace lazuli
