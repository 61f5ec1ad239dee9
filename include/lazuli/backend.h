#pragma once

/// @file
/// What a backend is: where buffers live and who runs programs on them.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lazuli/device.h"
#include "lazuli/prepared.h"
#include "lazuli/program.h"

namespace lazuli {

/// A piece of memory on a device. It is freed with its last reference.
class Buffer {
   public:
    /// `bytes` of memory on `device`.
    Buffer(Device device, std::size_t bytes) : device_(device), bytes_(bytes) {}
    virtual ~Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    /// Where the host can read it for as long as it lives, or null where it cannot.
    virtual const void* host_data() const = 0;
    /// Where the host can write it, or null: memory of the user's that was lifted is never written.
    virtual void* host_mutable() = 0;
    /// Where it lives.
    Device device() const { return device_; }
    /// Its size.
    std::size_t bytes() const { return bytes_; }

    /// Says that its content is used again and again, as weights are: backends may keep what they
    /// make of it, and, where `release` says so, give back the memory of what they can make it of
    /// again.
    void freeze(bool release = false) {
        if (release) may_release_.store(true);
        frozen_.store(true, std::memory_order_release);
    }
    /// Whether that was said.
    bool is_frozen() const { return frozen_.load(std::memory_order_acquire); }
    /// Whether its memory may be given back: then `host_data` brings the content back for good.
    bool may_release() const { return may_release_.load(std::memory_order_acquire); }
    /// What was kept under a key, or null.
    std::shared_ptr<Buffer> kept(std::uint64_t key) const;
    /// Keeps what was made of it under a key, for as long as it lives.
    void keep(std::uint64_t key, std::shared_ptr<Buffer> made);

    /// Where its content lies, or lay before it was released. For who has a `Reading`.
    virtual const void* address() const { return host_data(); }
    /// Sees to it that the content is there. For who has a `Reading`, which keeps it there.
    virtual void bring_back() {}
    /// For who has the only `Reading`: gives the memory back, where that is allowed. `restore`
    /// writes the content again.
    virtual void release(std::function<void(void*)> restore) { (void)restore; }

   protected:
    /// How many read it now.
    int readers() const { return readers_.load(); }

   private:
    Device device_;
    std::size_t bytes_;
    std::atomic<bool> frozen_{false};
    std::atomic<bool> may_release_{false};
    friend class Reading;
    std::atomic<int> readers_{0};
    mutable std::mutex keeping_;
    std::vector<std::pair<std::uint64_t, std::shared_ptr<Buffer>>> kept_;
};

/// Shared ownership of a buffer.
using BufferPtr = std::shared_ptr<Buffer>;

/// Says that a buffer is read for as long as this lives.
class Reading {
   public:
    /// Of a buffer that outlives this.
    explicit Reading(Buffer& buffer) : buffer_(&buffer) { ++buffer.readers_; }
    ~Reading() {
        if (buffer_ != nullptr) --buffer_->readers_;
    }
    /// Takes over what the other says.
    Reading(Reading&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    Reading& operator=(Reading&&) = delete;
    /// The content, or null where the host cannot see it.
    const void* data() const {
        buffer_->bring_back();
        return buffer_->address();
    }

   private:
    Buffer* buffer_;
};

/// An operand as a backend gets it: memory, and how the elements lie in it.
struct Binding {
    BufferPtr buffer;         ///< The memory.
    std::int64_t offset = 0;  ///< Of the first element, in bytes.
    Ints strides;       ///< In bytes, one a dimension. Negative and zero strides are possible.
    bool dense = true;  ///< Whether it is row-major without gaps.
    /// Where it is set, nobody needs the content behind this run: the backend may compute a result
    /// in it, and sets what this points to before it does.
    bool* given_away = nullptr;
};

/// Thrown by `Backend::run` where a step failed when operands had been overwritten already, so that
/// nothing can be tried again: the results that do not depend on it, and why there are no others.
class SomeFailed : public std::exception {
   public:
    /// One of both a result: a buffer, or an error where that is null.
    SomeFailed(std::vector<BufferPtr> results, std::vector<std::exception_ptr> errors)
        : results(std::move(results)), errors(std::move(errors)) {}
    /// That some did.
    const char* what() const noexcept override { return "some results failed"; }
    std::vector<BufferPtr> results;          ///< Null where it failed.
    std::vector<std::exception_ptr> errors;  ///< Null where it did not.
};

/// What a device says of itself.
struct DeviceInfo {
    std::string description;         ///< For people.
    std::uint64_t memory_bytes = 0;  ///< How much memory there is; 0 where unknown.
};

/// Runs programs. One object a device; all functions may be called from any thread.
class Backend {
   public:
    virtual ~Backend() = default;
    /// The device's name: letters, digits and underscores.
    virtual std::string name() const = 0;
    /// What the device is.
    virtual DeviceInfo describe() const = 0;
    /// Whether this op can run here with operands and result of these types. A composite that is
    /// refused is built out of other ops; another op that is refused makes the program fall back to
    /// the reference backend.
    virtual bool supports(const OpDef& op, std::span<const TensorSpec> inputs,
                          const TensorSpec& result) const = 0;
    /// Turns a program into whatever `run` needs. Called once a program; the result is cached.
    virtual std::shared_ptr<const void> prepare(const Program& program) = 0;
    /// Whether programs with variables are prepared for all their values.
    virtual bool has_open_plans() const { return false; }
    /// Turns a program with variables into whatever `bind` needs. Null where programs are prepared
    /// for each value of their variables; ShapeError where this one must be.
    virtual std::shared_ptr<const void> prepare_open(const Program& program) {
        (void)program;
        return nullptr;
    }
    /// What `run` needs at these values of the variables. Null where these must be prepared by
    /// themselves. Called by one thread at a time.
    virtual std::shared_ptr<const void> bind(const void* open,
                                             std::span<const SizeBinding> values) {
        (void)open;
        (void)values;
        return nullptr;
    }
    /// Runs a prepared program. One dense buffer a result. Where it throws, no operand was
    /// overwritten, but for SomeFailed.
    virtual std::vector<BufferPtr> run(const void* prepared, std::span<const Binding> params) = 0;
    /// Whether a prepared program runs as fast as it ever will: no code of it is still being made.
    virtual bool is_ready(const void* prepared) const {
        (void)prepared;
        return true;
    }
    /// All that can be said of a prepared program; with `code`, its kernels' as well.
    virtual PreparedInfo info(const void* prepared, bool code) const {
        (void)prepared;
        (void)code;
        return {};
    }
    /// Seconds that a kernel takes at least on this machine, by what it moves and computes; 0 where
    /// nobody knows. The first call may measure for a moment.
    virtual double least_seconds(const KernelInfo& kernel) const {
        (void)kernel;
        return 0;
    }
    /// About how much memory a prepared program takes; the plan cache is bounded by it.
    virtual std::size_t prepared_bytes(const void* prepared) const {
        (void)prepared;
        return 0;
    }
    /// Memory on this device; OutOfMemory where there is none.
    virtual BufferPtr allocate(std::size_t bytes) = 0;
    /// Copies from the host into a buffer of this device.
    virtual void copy_in(Buffer& to, const void* from, std::size_t bytes) = 0;
    /// Copies from a buffer of this device to the host.
    virtual void copy_out(void* to, const Buffer& from, std::size_t bytes) = 0;
    /// Returns when all work given to the device is done.
    virtual void synchronize() {}

    /// The device this backend serves; set when it is registered.
    Device device() const { return device_; }

   private:
    friend Device register_backend(std::unique_ptr<Backend> backend);
    Device device_;
};

/// Adds a backend; its name becomes a device. ArgumentError where the name is taken or no name.
Device register_backend(std::unique_ptr<Backend> backend);
/// The backend of a device.
Backend& backend_of(Device device);

/// Dense host memory for a backend that computes on the host: 64-byte aligned, counted against the
/// memory limit.
BufferPtr allocate_host(Device device, std::size_t bytes);

}  // namespace lazuli
