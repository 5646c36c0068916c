#include "ops/gpu/tf/tf_slot.h"

#include <algorithm>
#include <string>

#include "ops/kernel/tf_status.h"
#include "tensorflow/core/common_runtime/dma_helper.h"

namespace liquid {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// Whether `tensor` has room for the images of `shape`, and no other size.
bool Fits(const Tensor& tensor, DataType type, const TensorShape& shape) {
  if (tensor.dtype() != type || tensor.dims() != shape.dims()) return false;
  for (int i = 1; i < shape.dims(); ++i) {
    if (tensor.dim_size(i) != shape.dim_size(i)) return false;
  }
  return tensor.dim_size(0) >= shape.dim_size(0);
}

}  // namespace

// A slot whose memory could not be had has no buffer.
bool TfSlot::IsOurs() const {
  return std::all_of(pixels_.begin(), pixels_.end(), [](const Tensor& pixels) {
    const auto* const buffer = tensorflow::DMAHelper::buffer(&pixels);
    return buffer == nullptr || buffer->RefCountIsOne();
  });
}

absl::Status TfSlot::Allocate(DataType type, const TensorShape& shape,
                              bool may_wait, Tensor* tensor) const {
  const tensorflow::AllocationAttributes attributes(
      /*retry_on_failure=*/may_wait, /*allocation_will_be_logged=*/false,
      /*freed_by_func=*/nullptr);
  *tensor = Tensor(gpu_.allocator, type, shape, attributes);
  if (tensor->IsInitialized()) return absl::OkStatus();
  *tensor = Tensor();  // it had the shape, and no memory
  return absl::ResourceExhaustedError(
      "there is no room for " + std::to_string(shape.num_elements()) +
      " elements of " + tensorflow::DataTypeString(type) + " on " +
      gpu_.device->name() + ": make batches smaller");
}

absl::Status TfSlot::TryFit(const std::vector<Array>& arrays, size_t staging,
                            bool may_wait) {
  const bool has_staging =
      static_cast<size_t>(staging_.NumElements()) >= staging;
  bool has_pixels = pixels_.size() == arrays.size();
  for (size_t i = 0; has_pixels && i < arrays.size(); ++i) {
    has_pixels = Fits(pixels_[i], arrays[i].type, arrays[i].shape);
  }
  if (has_staging && has_pixels) return absl::OkStatus();
  // The old ones go first. Who had this memory before may still use it.
  pixels_.clear();
  if (!has_staging) {
    staging_ = Tensor();
    TF_RETURN_IF_ERROR(
        Allocate(tensorflow::DT_UINT8,
                 TensorShape({static_cast<int64_t>(staging + staging / 8)}),
                 may_wait, &staging_));
  }
  for (const Array& array : arrays) {
    pixels_.emplace_back();
    TF_RETURN_IF_ERROR(
        Allocate(array.type, array.shape, may_wait, &pixels_.back()));
  }
  if (lane_ == nullptr) {
    const CudaDriver* driver = nullptr;
    CuContext context = nullptr;
    TF_RETURN_IF_ERROR(FindContext(gpu_, &driver, &context));
    TF_RETURN_IF_ERROR(ToTf(L3Lane::Create(*driver, context, &lane_)));
  }
  return ToTf(lane_->WaitFor(gpu_.compute));
}

Status TfSlot::Fit(const std::vector<Array>& arrays, size_t staging,
                   bool may_wait) {
  return FromTf(TryFit(arrays, staging, may_wait));
}

}  // namespace liquid
