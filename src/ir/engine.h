#pragma once

// The functions by which recording and reading call down to whoever computes, without linking to
// it. The runtime fills the table.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ir/node.h"
#include "ir/open_program.h"
#include "lazuli/explanation.h"

namespace lazuli::ir {

struct Engine {
    /// Makes the targets available, or throws.
    void (*eval)(std::span<Node* const> targets);
    /// Dense host memory that the engine counts.
    BufferPtr (*allocate)(Device device, std::size_t bytes);
    /// Copies a dense host array into a new buffer of the device.
    BufferPtr (*upload)(Device device, const void* data, std::size_t bytes);
    /// Copies the elements of an available node to the host, row-major.
    void (*download)(const Node& node, void* out);
    /// The device new tensors live on.
    Device (*default_device)();
    std::string (*device_name)(Device device);
    /// What evaluating the targets would do: plan found or not, and the kernels.
    Explanation (*explain)(std::span<Node* const> targets);
    /// Runs a loop or condition on the reference backend, into its bundle.
    void (*run_control)(const EvalArgs& args);
    /// A program, to be run at any values of its variables.
    std::unique_ptr<OpenProgram> (*open)(const Program& program, Device device);
    /// Bytes that buffers take now.
    std::uint64_t (*buffer_bytes)();
};

/// The engine, or null where the program links none.
const Engine* find_engine();
/// The engine; InternalError where the program links none.
const Engine& engine();

}  // namespace lazuli::ir

/// Defined by the runtime layer. Weak: a program that only records links none.
extern "C" const lazuli::ir::Engine* lazuli_engine() __attribute__((weak));
