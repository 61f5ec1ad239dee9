#pragma once

/// @file
/// Host functions of the user's own as operations, without a record in the op table.

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "lazuli/op.h"

namespace lazuli {

/// A host function: fills `out`, dense and of type and shape `spec`, from dense inputs. It may
/// throw; the error then is kept on the tensors that depend on the call.
using CustomFunction =
    std::function<void(std::span<const HostArray> inputs, const TensorSpec& spec, void* out)>;

/// Makes `function` callable as `custom_call(name, ...)`. Registering a name again replaces the
/// function.
void register_custom(std::string name, CustomFunction function);

}  // namespace lazuli
