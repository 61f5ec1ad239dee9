#pragma once

/// @file
/// Tensors in safetensors files: a header that names them, then their elements, row-major.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lazuli/tensor.h"

namespace lazuli {

/// Tensors with their names, in an order.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// A safetensors file that is open for reading. It is mapped: opening reads the header alone, and
/// the elements of a tensor come from the disk when something touches them. Tensors share the
/// mapping, which lives as long as the last of them. Copying this copies a reference.
///
/// A file may be replaced while it is open, as `save_safetensors` does: those who have it keep the
/// old one. It must not be written to in place.
class SafetensorsFile {
   public:
    /// Opens a file and checks its header. FileError where it is missing, cut off, or where the
    /// header is not one: no JSON, a type that Lazuli does not have, sizes that do not fit the
    /// bytes, tensors that overlap or leave bytes out.
    static SafetensorsFile open(const std::string& path);

    /// The file.
    const std::string& path() const;
    /// The names of the tensors, in the order in which they lie in the file.
    const std::vector<std::string>& names() const;
    /// Whether there is a tensor of that name.
    bool contains(std::string_view name) const;
    /// Type and shape of a tensor; ArgumentError where there is none of that name.
    const TensorSpec& spec(std::string_view name) const;
    /// What the file says of itself, as texts with names.
    const std::map<std::string, std::string>& metadata() const;
    /// A tensor over the file's memory; ArgumentError where there is none of that name. Elements
    /// whose place is no multiple of their size are copied. Truth values are a comparison with 0
    /// that is yet to be computed, since a file may have any bytes.
    Tensor tensor(std::string_view name) const;
    /// All tensors, in the order of `names`.
    NamedTensors tensors() const;

   private:
    struct State;
    explicit SafetensorsFile(std::shared_ptr<const State> state) : state_(std::move(state)) {}
    std::shared_ptr<const State> state_;
};

/// Evaluates tensors and writes them to a safetensors file. The path has the old file until the new
/// one is complete and on the disk, also where the process is killed meanwhile; a tensor may be one
/// of the old file. Tensors of larger elements come first, others keep their order, so that all are
/// aligned. ArgumentError for an empty name, `__metadata__`, a name that comes twice, and text that
/// is not UTF-8; DTypeError for c128, which the format lacks; FileError where writing fails, as on
/// a full disk: then the old file is as it was.
void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace lazuli
