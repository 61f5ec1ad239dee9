#include "backend/host/kernels.h"

#include <string_view>
#include <unordered_map>

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

}  // namespace lazuli::backend
