#include "ops/gpu/kernel_l3_slots.h"

#include <string>
#include <utility>

#include "ops/tf_status.h"
#include "tensorflow/core/common_runtime/dma_helper.h"

namespace liquid {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// Whether nobody else has it. A slot whose memory could not be had has no
// buffer.
bool IsOurs(const Tensor& tensor) {
  const auto* const buffer = tensorflow::DMAHelper::buffer(&tensor);
  return buffer == nullptr || buffer->RefCountIsOne();
}

// Whether `tensor` has room for the images of `shape`, and no other size.
bool Fits(const Tensor& tensor, DataType type, const TensorShape& shape) {
  if (tensor.dtype() != type || tensor.dims() != shape.dims()) return false;
  for (int i = 1; i < shape.dims(); ++i) {
    if (tensor.dim_size(i) != shape.dim_size(i)) return false;
  }
  return tensor.dim_size(0) >= shape.dim_size(0);
}

absl::Status Allocate(const TfGpu& gpu, DataType type, const TensorShape& shape,
                      Tensor* tensor) {
  *tensor = Tensor(gpu.allocator, type, shape);
  if (tensor->IsInitialized()) return absl::OkStatus();
  *tensor = Tensor();  // it had the shape, and no memory
  return absl::ResourceExhaustedError(
      "there is no room for " + std::to_string(shape.num_elements()) +
      " elements of " + tensorflow::DataTypeString(type) + " on " +
      gpu.device->name() + ": make batches smaller");
}

}  // namespace

absl::Status L3Slots::FindFree(const TfGpu& gpu, L3Slot** found) {
  *found = nullptr;
  ++calls_;
  for (const auto& slot : slots_) {
    if (slot->is_decoding) continue;
    if (!slot->is_free && IsOurs(slot->pixels)) {
      TF_RETURN_IF_ERROR(ToTf(slot->lane->WaitFor(gpu.compute)));
      slot->is_free = true;
      slot->freed = calls_;
    }
    if (slot->is_free && slot->freed < calls_ &&
        (*found == nullptr || slot->freed < (*found)->freed)) {
      *found = slot.get();
    }
  }
  return absl::OkStatus();
}

absl::Status L3Slots::Take(const TfGpu& gpu, DataType type,
                           const TensorShape& shape, size_t staging,
                           L3Slot** taken) {
  std::lock_guard<std::mutex> lock(mutex_);
  L3Slot* slot = nullptr;
  TF_RETURN_IF_ERROR(FindFree(gpu, &slot));
  if (slot == nullptr) {
    const CudaDriver* driver = nullptr;
    TF_RETURN_IF_ERROR(ToTf(LoadCudaDriver(&driver)));
    CuContext context = nullptr;
    TF_RETURN_IF_ERROR(
        ToTf(CudaStatus(*driver, driver->stream_context(gpu.compute, &context),
                        "to find the context of TensorFlow's stream")));
    auto made = std::make_unique<L3Slot>();
    TF_RETURN_IF_ERROR(ToTf(L3Lane::Create(*driver, context, &made->lane)));
    slot = made.get();
    slots_.push_back(std::move(made));
  }
  slot->is_free = false;
  const bool has_staging =
      static_cast<size_t>(slot->staging.NumElements()) >= staging;
  if (!has_staging || !Fits(slot->pixels, type, shape)) {
    // The old ones go first. Who had this memory before may still use it.
    slot->pixels = Tensor();
    if (!has_staging) {
      slot->staging = Tensor();
      TF_RETURN_IF_ERROR(
          Allocate(gpu, tensorflow::DT_UINT8,
                   TensorShape({static_cast<int64_t>(staging + staging / 8)}),
                   &slot->staging));
    }
    TF_RETURN_IF_ERROR(Allocate(gpu, type, shape, &slot->pixels));
    TF_RETURN_IF_ERROR(ToTf(slot->lane->WaitFor(gpu.compute)));
  }
  slot->is_decoding = true;
  *taken = slot;
  return absl::OkStatus();
}

void L3Slots::Return(L3Slot* slot) {
  std::lock_guard<std::mutex> lock(mutex_);
  slot->is_decoding = false;
}

}  // namespace liquid
