#include "data/column.h"

#include "frontend/record.h"
#include "ir/layout.h"
#include "runtime/memory.h"

namespace lazuli::data {

namespace {

TensorSpec spec_of(const TensorSpec& example, std::int64_t examples) {
    TensorSpec spec{example.dtype, {examples}};
    for (const std::int64_t size : example.shape) spec.shape.push_back(size);
    return spec;
}

}  // namespace

Column::Column(const TensorSpec& example, std::int64_t examples)
    : device_(default_device()),
      spec_(spec_of(example, examples)),
      buffer_(backend_of(device_).allocate(bytes())),
      elements_(static_cast<std::byte*>(buffer_->host_mutable())) {
    if (elements_ != nullptr) return;
    beside_.resize(bytes());
    elements_ = beside_.data();
}

Tensor Column::done() {
    if (!beside_.empty()) backend_of(device_).copy_in(*buffer_, beside_.data(), beside_.size());
    runtime::note_growth();
    return frontend::make_data({buffer_, 0, ir::dense_byte_strides(spec_), true}, spec_, device_);
}

}  // namespace lazuli::data
