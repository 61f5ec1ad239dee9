#pragma once

// Machine code from a relocatable object file, made ready to run without a linker: kernels call
// nothing but a few functions of the C library.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lazuli::cpu {

class Object {
   public:
    /// Throws ArgumentError with the reason where the bytes are no object that this loader takes.
    explicit Object(std::span<const char> file);
    ~Object();
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;

    /// Where a function starts; null where there is none of that name.
    void* find(std::string_view name) const;
    std::size_t bytes() const { return size_; }

   private:
    std::byte* memory_ = nullptr;
    std::size_t size_ = 0;
    std::vector<std::pair<std::string, void*>> functions_;
};

}  // namespace lazuli::cpu
