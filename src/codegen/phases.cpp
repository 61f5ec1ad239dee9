#include "codegen/phases.h"

#include <algorithm>
#include <string_view>

namespace lazuli::codegen {

std::vector<Phase> phases_of(const Kernel& kernel) {
    std::vector<Phase> out;
    for (std::size_t i = 0; i < kernel.body.size(); ++i) {
        const Statement& s = kernel.body[i];
        switch (s.kind) {
            case StatementKind::parallel:
                out.push_back({i, i + 1, s.counts[0].size.constant().value_or(1), true});
                break;
            case StatementKind::serial:
            case StatementKind::reduce:
            case StatementKind::store:
                if (!out.empty() && !out.back().parallel) {
                    out.back().behind = i + 1;
                } else {
                    out.push_back({i, i + 1, 1, false});
                }
                break;
            case StatementKind::load:
            case StatementKind::constant:
            case StatementKind::position:
            case StatementKind::apply:
            case StatementKind::bind: break;
        }
    }
    return out;
}

const char* library_function(const OpDef& def) {
    for (const char* name : {"exp", "log", "tanh", "erf", "pow"}) {
        if (def.name == name) return name;
    }
    return nullptr;
}

namespace {

bool is_compilable(const Block& block, const Kernel& kernel) {
    return std::all_of(block.begin(), block.end(), [&](const Statement& s) {
        if (is_complex(s.dtype)) return false;
        switch (s.kind) {
            case StatementKind::load:
            case StatementKind::store: return !is_complex(kernel.buffers[s.buffer].dtype);
            case StatementKind::apply: {
                const OpDef& def = op_def(s.op);
                return def.primitive != Primitive::none || library_function(def) != nullptr;
            }
            case StatementKind::parallel:
            case StatementKind::serial:
                return s.counts.size() == 1 && is_compilable(s.body, kernel);
            case StatementKind::reduce: {
                for (const Accumulator& a : s.accumulators) {
                    if (is_complex(a.dtype) || op_def(a.combine).primitive == Primitive::none)
                        return false;
                }
                return is_compilable(s.body, kernel);
            }
            default: return true;
        }
    });
}

}  // namespace

bool is_compilable(const Kernel& kernel) {
    // A bound index at the top would be checked by several phases, and by each of their threads.
    const bool binds = std::any_of(kernel.body.begin(), kernel.body.end(), [](const Statement& s) {
        return s.kind == StatementKind::bind;
    });
    return !binds && is_compilable(kernel.body, kernel);
}

}  // namespace lazuli::codegen
