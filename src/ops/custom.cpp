#include "lazuli/custom.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>

#include "lazuli/error.h"
#include "ops/table.h"

namespace lazuli {

namespace {

struct Functions {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<const CustomFunction>, std::less<>> by_name;
};

Functions& functions() {
    static Functions& f = *new Functions;
    return f;
}

std::shared_ptr<const CustomFunction> find_custom(const std::string& name) {
    Functions& f = functions();
    const std::scoped_lock lock(f.mutex);
    const auto it = f.by_name.find(name);
    return it == f.by_name.end() ? nullptr : it->second;
}

}  // namespace

void register_custom(std::string name, CustomFunction function) {
    Functions& f = functions();
    const std::scoped_lock lock(f.mutex);
    f.by_name[std::move(name)] = std::make_shared<const CustomFunction>(std::move(function));
}

namespace ops {

namespace {

TensorSpec infer_custom(const InferArgs& args) {
    if (find_custom(args.attrs.text(0)) == nullptr) {
        throw ArgumentError(
            fmt::format("custom_call: no function named '{}' is registered", args.attrs.text(0)));
    }
    return *args.wanted;
}

void evaluate_custom(const EvalArgs& args) {
    const std::string& name = args.attrs.text(0);
    const auto function = find_custom(name);
    if (function == nullptr)
        throw ExecutionError("custom_call",
                             fmt::format("no function named '{}' is registered", name));
    try {
        (*function)(args.inputs, *args.spec, args.out);
    } catch (const Error&) {
        throw;
    } catch (const std::bad_alloc&) {
        throw;  // not the function's fault: it can be tried again
    } catch (const std::exception& e) {
        throw ExecutionError("custom_call", fmt::format("'{}' threw: {}", name, e.what()));
    }
}

}  // namespace

std::vector<OpDef> custom() {
    return {
        {
            .name = "custom_call",
            .doc = "A host function that was registered by name.",
            .edge =
                "What the function says; what it throws is kept on the tensors that depend on it.",
            .min_inputs = 0,
            .max_inputs = -1,
            .traits = Trait::shaped | Trait::keep_if_held,
            .attrs = {{"target", AttrKind::text}},
            .infer = infer_custom,
            .evaluate = evaluate_custom,
        },
    };
}

}  // namespace ops
}  // namespace lazuli
