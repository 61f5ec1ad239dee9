#include "backend/cpu/object.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>

#include "lazuli/error.h"

namespace lazuli::cpu {

namespace {

[[noreturn]] void refuse(const std::string& why) {
    throw ArgumentError("an object file that cannot be loaded: " + why);
}

/// What code may call.
void* library_address(std::string_view name) {
    using One = double (*)(double);
    if (name == "fmod")
        return reinterpret_cast<void*>(static_cast<double (*)(double, double)>(std::fmod));
    if (name == "floor") return reinterpret_cast<void*>(static_cast<One>(std::floor));
    if (name == "floorf") return reinterpret_cast<void*>(static_cast<float (*)(float)>(std::floor));
    if (name == "fma")
        return reinterpret_cast<void*>(static_cast<double (*)(double, double, double)>(std::fma));
    if (name == "fmaf")
        return reinterpret_cast<void*>(static_cast<float (*)(float, float, float)>(std::fma));
    if (name == "memcpy") return reinterpret_cast<void*>(&std::memcpy);
    if (name == "memset") return reinterpret_cast<void*>(&std::memset);
    return nullptr;
}

constexpr std::size_t kThunkBytes = 16;

class Reader {
   public:
    explicit Reader(std::span<const char> file) : file_(file) {}
    template <class T>
    T at(std::size_t offset) const {
        if (offset > file_.size() || sizeof(T) > file_.size() - offset) refuse("it is cut off");
        T out;
        std::memcpy(&out, file_.data() + offset, sizeof(T));
        return out;
    }
    std::span<const char> part(std::size_t offset, std::size_t bytes) const {
        if (offset > file_.size() || bytes > file_.size() - offset) refuse("it is cut off");
        return file_.subspan(offset, bytes);
    }
    std::string text(std::size_t offset) const {
        std::string out;
        while (const char c = at<char>(offset++)) out += c;
        return out;
    }

   private:
    std::span<const char> file_;
};

std::size_t rounded_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

}  // namespace

Object::Object(std::span<const char> file) {
    const Reader read(file);
    const auto header = read.at<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_REL ||
        header.e_machine != EM_X86_64 || header.e_shentsize != sizeof(Elf64_Shdr))
        refuse("it is no relocatable ELF file of this machine");
    std::vector<Elf64_Shdr> sections;
    for (std::size_t i = 0; i < header.e_shnum; ++i)
        sections.push_back(read.at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));

    // Sections one behind the other, then a jump for each function that is called outside.
    std::vector<std::size_t> places(sections.size(), SIZE_MAX);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < sections.size(); ++i) {
        const Elf64_Shdr& section = sections[i];
        if ((section.sh_flags & SHF_ALLOC) == 0) continue;
        if (section.sh_type != SHT_PROGBITS && section.sh_type != SHT_NOBITS &&
            section.sh_type != SHT_X86_64_UNWIND)
            continue;
        if (section.sh_addralign > 4096 || section.sh_size > (std::size_t{1} << 30))
            refuse("a section is too large");
        bytes = rounded_up(bytes, std::max<std::size_t>(section.sh_addralign, 16));
        places[i] = bytes;
        bytes += section.sh_size;
    }
    const Elf64_Shdr* table = nullptr;
    for (const Elf64_Shdr& section : sections) {
        if (section.sh_type == SHT_SYMTAB) table = &section;
    }
    if (table == nullptr || table->sh_link >= sections.size()) refuse("it has no symbols");
    const std::size_t symbol_count = table->sh_size / sizeof(Elf64_Sym);
    const auto symbol_at = [&](std::size_t i) {
        if (i >= symbol_count) refuse("a symbol that it does not have");
        return read.at<Elf64_Sym>(table->sh_offset + i * sizeof(Elf64_Sym));
    };
    const auto name_of = [&](const Elf64_Sym& symbol) {
        return read.text(sections[table->sh_link].sh_offset + symbol.st_name);
    };
    std::map<std::size_t, std::size_t> thunks;  // from symbols to their places
    bytes = rounded_up(bytes, kThunkBytes);
    for (std::size_t i = 1; i < symbol_count; ++i) {
        const Elf64_Sym symbol = symbol_at(i);
        if (symbol.st_shndx != SHN_UNDEF || symbol.st_name == 0) continue;
        thunks[i] = bytes;
        bytes += kThunkBytes;
    }

    size_ = rounded_up(std::max<std::size_t>(bytes, 1), static_cast<std::size_t>(getpagesize()));
    void* mapped = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw OutOfMemory("no memory for machine code", size_, 0);
    memory_ = static_cast<std::byte*>(mapped);
    try {
        for (std::size_t i = 0; i < sections.size(); ++i) {
            if (places[i] == SIZE_MAX || sections[i].sh_type == SHT_NOBITS) continue;
            const auto content = read.part(sections[i].sh_offset, sections[i].sh_size);
            std::memcpy(memory_ + places[i], content.data(), content.size());
        }
        for (const auto& [i, place] : thunks) {
            const std::string name = name_of(symbol_at(i));
            void* target = library_address(name);
            if (target == nullptr) refuse(fmt::format("it calls {}", name));
            // jmp *2(%rip); then the address
            constexpr unsigned char jump[] = {0xff, 0x25, 0x02, 0, 0, 0, 0x66, 0x90};
            std::memcpy(memory_ + place, jump, sizeof jump);
            std::memcpy(memory_ + place + sizeof jump, &target, sizeof target);
        }
        const auto address_of = [&](std::size_t i) -> std::uint64_t {
            const auto base = reinterpret_cast<std::uint64_t>(memory_);
            const Elf64_Sym symbol = symbol_at(i);
            if (const auto thunk = thunks.find(i); thunk != thunks.end())
                return base + thunk->second;
            if (symbol.st_shndx >= places.size() || places[symbol.st_shndx] == SIZE_MAX)
                refuse("a symbol lies in no section");
            return base + places[symbol.st_shndx] + symbol.st_value;
        };
        for (const Elf64_Shdr& section : sections) {
            if (section.sh_type != SHT_RELA || section.sh_info >= places.size() ||
                places[section.sh_info] == SIZE_MAX)
                continue;
            for (std::size_t at = 0; at < section.sh_size; at += sizeof(Elf64_Rela)) {
                const auto fix = read.at<Elf64_Rela>(section.sh_offset + at);
                const auto type = ELF64_R_TYPE(fix.r_info);
                if (fix.r_offset > sections[section.sh_info].sh_size ||
                    sections[section.sh_info].sh_size - fix.r_offset < 4)
                    refuse("a correction outside of its section");
                std::byte* place = memory_ + places[section.sh_info] + fix.r_offset;
                // As numbers: what a broken file says need not be an address.
                const std::uint64_t target =
                    address_of(ELF64_R_SYM(fix.r_info)) + static_cast<std::uint64_t>(fix.r_addend);
                if (type == R_X86_64_PC32 || type == R_X86_64_PLT32) {
                    const auto value =
                        static_cast<std::int32_t>(target - reinterpret_cast<std::uint64_t>(place));
                    std::memcpy(place, &value, sizeof value);
                } else if (type == R_X86_64_64 &&
                           sections[section.sh_info].sh_size - fix.r_offset >= 8) {
                    std::memcpy(place, &target, sizeof target);
                } else {
                    refuse(fmt::format("a correction of kind {}", type));
                }
            }
        }
        for (std::size_t i = 1; i < symbol_count; ++i) {
            const Elf64_Sym symbol = symbol_at(i);
            if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
                functions_.emplace_back(name_of(symbol), reinterpret_cast<void*>(address_of(i)));
        }
        if (mprotect(memory_, size_, PROT_READ | PROT_EXEC) != 0)
            refuse("the system does not let it run");
    } catch (...) {
        munmap(memory_, size_);
        throw;
    }
}

Object::~Object() { munmap(memory_, size_); }

void* Object::find(std::string_view name) const {
    for (const auto& [known, address] : functions_) {
        if (known == name) return address;
    }
    return nullptr;
}

}  // namespace lazuli::cpu
