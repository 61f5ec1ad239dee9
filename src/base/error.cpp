#include "lazuli/error.h"

namespace lazuli {

InternalError::InternalError(const std::string& what, std::source_location where)
    : std::logic_error("internal error: " + what + " (" + where.file_name() + ":" +
                       std::to_string(where.line()) + ")") {}

}  // namespace lazuli
