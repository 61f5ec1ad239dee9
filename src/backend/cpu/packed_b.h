#pragma once

// The right operand of a product, packed.

#include "backend/cpu/gemm.h"
#include "backend/cpu/pack_room.h"

namespace lazuli::cpu {

/// Room for it: kept with its owner, where it has one, or the thread's.
template <class T>
class PackedB {
   public:
    /// `form` says how it is packed, and `keeps` whether all of it is.
    PackedB(const Product& product, std::uint64_t form, std::int64_t count, bool keeps = true)
        : p_(product) {
        if (keeps && p_.b_owner != nullptr) {
            key_ = packed_key(p_, form);
            kept_ = p_.b_owner->kept(key_);
            is_there_ = kept_ != nullptr;
            if (!is_there_)
                kept_ = allocate_host(Device(), static_cast<std::size_t>(count) * sizeof(T));
        }
        if (p_.b_owner != nullptr && !is_there_) p_.b_owner->bring_back();
        data_ = kept_ != nullptr ? static_cast<T*>(kept_->host_mutable())
                                 : thread_room<T, Room::right>(count);
    }

    T* data() const { return data_; }
    /// Whether it was packed before.
    bool is_there() const { return is_there_; }
    /// Where it is kept; null where it is not.
    const BufferPtr& kept() const { return kept_; }
    /// Says that it is packed now.
    void done() {
        if (kept_ != nullptr && !is_there_) p_.b_owner->keep(key_, kept_);
        is_there_ = true;
    }

   private:
    const Product& p_;
    std::uint64_t key_ = 0;
    BufferPtr kept_;
    T* data_ = nullptr;
    bool is_there_ = false;
};

}  // namespace lazuli::cpu
