#include "runtime/running.h"

#include <optional>

#include "lazuli/error.h"
#include "runtime/blame.h"

namespace lazuli::runtime {

std::vector<BufferPtr> run_watched(const plan::Plan& plan, const Finding& finding,
                                   std::span<const Binding> bindings, const bool& given_away) {
    std::optional<Execution> watched;
    if (is_watching()) watched.emplace(plan, finding, bindings);
    try {
        return backend_of(plan.device).run(plan.prepared.get(), bindings);
    } catch (const ExecutionError&) {
        if (watched) watched->failed(std::current_exception());
        if (given_away) throw;  // operands are no longer what they were
        try {
            blame(plan.program, bindings);
        } catch (const ExecutionError&) {
            throw;
        } catch (const std::exception&) {  // no memory to look for it: what is known must do
        }
        throw;
    }
}

}  // namespace lazuli::runtime
