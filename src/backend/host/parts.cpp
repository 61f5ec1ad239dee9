#include <cstring>

#include "backend/host/families.h"
#include "runtime/pool.h"

namespace lazuli::backend::host {

namespace {

void copy_part(const EvalArgs& args) {
    // Bytes that are no truth values become ones.
    if (args.spec->dtype == DType::boolean) return args.op.evaluate(args);
    struct Copy {
        const char* from;
        char* to;
    } copy{args.inputs[0].as<char>() + args.attrs.integer(0), args.result<char>()};
    runtime::share_out(
        args.spec->nbytes(), std::int64_t{1} << 20,
        [](void* data, std::int64_t begin, std::int64_t end) {
            const Copy& c = *static_cast<Copy*>(data);
            std::memcpy(c.to + begin, c.from + begin, static_cast<std::size_t>(end - begin));
        },
        &copy);
}

}  // namespace

Family parts() { return {{"part", copy_part}}; }

}  // namespace lazuli::backend::host
