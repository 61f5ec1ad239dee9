#include "backend/host/kernels.h"

#include <string_view>
#include <unordered_map>
#include <utility>

#include "backend/host/families.h"

namespace lazuli::backend {

HostKernel host_kernel(const OpDef& op) {
    static const std::unordered_map<std::string_view, HostKernel> table = [] {
        std::unordered_map<std::string_view, HostKernel> out;
        for (const auto family : host::kFamilies) {
            for (const auto& [name, kernel] : family()) out.emplace(name, kernel);
        }
        return out;
    }();
    const auto at = table.find(op.name);
    return at == table.end() ? op.evaluate : at->second;
}

namespace host {

namespace {

thread_local char* planned_data = nullptr;
thread_local std::size_t planned_bytes = 0;

}  // namespace

PlannedRoom::PlannedRoom(char* data, std::size_t bytes) {
    planned_data = data;
    planned_bytes = bytes;
}
PlannedRoom::~PlannedRoom() { planned_data = nullptr; }

char* PlannedRoom::take(std::size_t bytes) {
    return bytes <= planned_bytes ? std::exchange(planned_data, nullptr) : nullptr;
}

}  // namespace host

}  // namespace lazuli::backend
