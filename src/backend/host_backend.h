#pragma once

#include <cstring>

#include "lazuli/backend.h"

namespace lazuli::backend {

/// A backend whose buffers lie in the host's memory.
class HostBackend : public Backend {
   public:
    BufferPtr allocate(std::size_t bytes) override { return allocate_host(device(), bytes); }
    void copy_in(Buffer& to, const void* from, std::size_t bytes) override {
        if (bytes > 0) std::memcpy(to.host_mutable(), from, bytes);
    }
    void copy_out(void* to, const Buffer& from, std::size_t bytes) override {
        if (bytes > 0) std::memcpy(to, Reading(const_cast<Buffer&>(from)).data(), bytes);
    }
};

}  // namespace lazuli::backend
