#pragma once

// Values of nodes: from the host to devices, back, and as operands of a plan.

#include "ir/node.h"

namespace lazuli::runtime {

/// The elements of a binding, dense and row-major, at `out` in the host's memory.
void read_dense(const Binding& binding, const TensorSpec& spec, void* out);
/// Copies a dense host array into a new buffer of the device.
BufferPtr upload(Device device, const void* data, std::size_t bytes);
/// A new dense buffer of the device with the elements of a binding, wherever that is.
BufferPtr copied(const Binding& binding, const TensorSpec& spec, Device device);
/// Copies the elements of an available node to the host, row-major.
void download(const ir::Node& node, void* out);

/// Whether the node is a number, whose value is at hand whatever its state.
bool is_number(const ir::Node& node);
/// A parameter's value for the device that runs the plan: where it is, or a dense copy there.
Binding bind(const ir::Node& node, Device device);

}  // namespace lazuli::runtime
