// Linear algebra: the matrices of a batch are shared out, each to one thread, and factorised by
// LAPACK where it was built in.

#include "ops/linalg.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "backend/cpu/modules.h"
#include "backend/host/families.h"
#include "base/env.h"
#include "lapack/library.h"
#include "runtime/pool.h"

namespace lazuli::backend::host {

namespace {

struct Library {
    decltype(&lazuli_lapack) tables = nullptr;
    decltype(&lazuli_lapack_begin) begin = nullptr;
    decltype(&lazuli_lapack_end) end = nullptr;
    ops::LapackRoutines routines;
};

/// The module, or null where there is none.
const Library* library() {
    static const Library* const opened = []() -> const Library* {
        const std::string given = env::text(env::Var::lapack);
        if (given == "0") return nullptr;
        const auto place = cpu::find_module("lazuli-lapack.so", given);
        if (place.empty()) return nullptr;
        void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
        Library out;
        const auto find = [&](auto& function, const char* name) {
            function =
                reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
            return function != nullptr;
        };
        if (handle == nullptr || !find(out.tables, "lazuli_lapack") ||
            !find(out.begin, "lazuli_lapack_begin") || !find(out.end, "lazuli_lapack_end")) {
            const char* why = dlerror();
            fmt::print(stderr, "lazuli: LAPACK is there and cannot be used: {}\n",
                       why != nullptr ? why : place.string());
            return nullptr;
        }
        if (out.tables() == nullptr) {
            fmt::print(stderr,
                       "lazuli: this LAPACK cannot be called by several threads, and is "
                       "left out\n");
            return nullptr;
        }
        const LazuliLapack& tables = *out.tables();
        out.routines = {tables.single, tables.twice, tables.complex_single, tables.complex_twice};
        return new Library(out);
    }();
    return opened;
}

/// LAPACK counts elements in 32 bits.
bool is_small(const EvalArgs& args) {
    for (const HostArray& input : args.inputs) {
        const Shape& shape = input.spec->shape;
        const int rank = shape.rank();
        if (std::max(shape[rank - 1], shape[rank - 2]) >
            std::numeric_limits<std::int32_t>::max() / 64)
            return false;
    }
    return true;
}

void run(const EvalArgs& args) {
    const Library* const lapack = is_small(args) ? library() : nullptr;
    struct Call {
        const EvalArgs& args;
        ops::LinearBatches batches;
        const ops::LapackRoutines* routines;
    } call{args, ops::linear_batches(args.op.name),
           lapack != nullptr ? &lapack->routines : nullptr};
    const Shape& shape = args.inputs[0].spec->shape;
    const std::int64_t batches = ops::batch_count(shape);
    // Small matrices come several at a time.
    const std::int64_t size =
        std::clamp<std::int64_t>(std::max(shape[shape.rank() - 1], shape[shape.rank() - 2]), 1, 64);
    const std::int64_t grain = std::max<std::int64_t>(1, 20000 / (size * size * size));
    struct Alone {  // while this lives, whatever is thrown
        const Library* lapack;
        explicit Alone(const Library* l) : lapack(l) {
            if (lapack != nullptr) lapack->begin();
        }
        ~Alone() {
            if (lapack != nullptr) lapack->end();
        }
        Alone(const Alone&) = delete;
        Alone& operator=(const Alone&) = delete;
    } const alone(lapack);
    try {
        runtime::share_out(
            batches, grain,
            [](void* data, std::int64_t begin, std::int64_t end) {
                const Call& c = *static_cast<Call*>(data);
                c.batches(c.args, c.routines, begin, end);
            },
            &call);
    } catch (const ExecutionError&) {
        // Of several matrices that fail, the first is named, whoever came to it when.
        call.batches(args, call.routines, 0, batches);
        throw;
    }
}

}  // namespace

Family linalg() {
    Family out;
    for (const std::string_view op :
         {"cholesky", "qr", "svd", "eigh", "solve", "triangular_solve", "inv", "det", "lstsq"})
        out.emplace_back(op, run);
    return out;
}

}  // namespace lazuli::backend::host
