#include "ops/gpu/tf/l3_slots.h"

#include <string>
#include <utility>

#include "ops/kernel/tf_status.h"
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

// TensorFlow waits for seconds for memory that is freed meanwhile, unless it is
// told not to.
absl::Status Allocate(const TfGpu& gpu, DataType type, const TensorShape& shape,
                      bool may_wait, Tensor* tensor) {
  const tensorflow::AllocationAttributes attributes(
      /*retry_on_failure=*/may_wait, /*allocation_will_be_logged=*/false,
      /*freed_by_func=*/nullptr);
  *tensor = Tensor(gpu.allocator, type, shape, attributes);
  if (tensor->IsInitialized()) return absl::OkStatus();
  *tensor = Tensor();  // it had the shape, and no memory
  return absl::ResourceExhaustedError(
      "there is no room for " + std::to_string(shape.num_elements()) +
      " elements of " + tensorflow::DataTypeString(type) + " on " +
      gpu.device->name() + ": make batches smaller");
}

absl::Status MakeLane(const TfGpu& gpu, std::unique_ptr<L3Lane>* lane) {
  const CudaDriver* driver = nullptr;
  CuContext context = nullptr;
  TF_RETURN_IF_ERROR(FindContext(gpu, &driver, &context));
  return ToTf(L3Lane::Create(*driver, context, lane));
}

// Gives a slot memory for `staging` bytes and pixels of that type and shape,
// where what it has does not do, and a lane where it has none.
absl::Status Fit(const TfGpu& gpu, DataType type, const TensorShape& shape,
                 size_t staging, bool may_wait, L3Slot* slot) {
  const bool has_staging =
      static_cast<size_t>(slot->staging.NumElements()) >= staging;
  if (has_staging && Fits(slot->pixels, type, shape)) return absl::OkStatus();
  // The old ones go first. Who had this memory before may still use it.
  slot->pixels = Tensor();
  if (!has_staging) {
    slot->staging = Tensor();
    TF_RETURN_IF_ERROR(
        Allocate(gpu, tensorflow::DT_UINT8,
                 TensorShape({static_cast<int64_t>(staging + staging / 8)}),
                 may_wait, &slot->staging));
  }
  TF_RETURN_IF_ERROR(Allocate(gpu, type, shape, may_wait, &slot->pixels));
  if (slot->lane == nullptr) TF_RETURN_IF_ERROR(MakeLane(gpu, &slot->lane));
  return ToTf(slot->lane->WaitFor(gpu.compute));
}

}  // namespace

absl::Status L3Slots::FindFree(const TfGpu& gpu, L3Slot** found,
                               L3Slot** just_freed) {
  *found = *just_freed = nullptr;
  ++calls_;
  for (const auto& slot : slots_) {
    if (slot->is_decoding) continue;
    if (!slot->is_free && IsOurs(slot->pixels)) {
      TF_RETURN_IF_ERROR(ToTf(slot->lane->WaitFor(gpu.compute)));
      slot->is_free = true;
      slot->freed = calls_;
    }
    if (!slot->is_free) continue;
    if (slot->freed == calls_) {
      *just_freed = slot.get();
    } else if (*found == nullptr || slot->freed < (*found)->freed) {
      *found = slot.get();
    }
  }
  return absl::OkStatus();
}

absl::Status L3Slots::Take(const TfGpu& gpu, DataType type,
                           const TensorShape& shape, size_t staging,
                           L3Slot** taken) {
  // TensorFlow may wait for memory in Fit(): without the lock, so that batches
  // that end meanwhile give theirs back.
  L3Slot *slot = nullptr, *just_freed = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    TF_RETURN_IF_ERROR(FindFree(gpu, &slot, &just_freed));
    if (slot != nullptr) {
      slot->is_decoding = true;
    } else if (just_freed != nullptr) {
      just_freed->is_decoding = true;
    }
  }
  if (slot == nullptr) {
    auto made = std::make_unique<L3Slot>();
    const absl::Status fits =
        Fit(gpu, type, shape, staging,
            /*may_wait=*/just_freed == nullptr, made.get());
    std::lock_guard<std::mutex> lock(mutex_);
    if (fits.ok()) {
      if (just_freed != nullptr) just_freed->is_decoding = false;
      made->is_decoding = true;
      *taken = made.get();
      slots_.push_back(std::move(made));
      return absl::OkStatus();
    }
    slot = just_freed;
    if (slot == nullptr) {
      // What was given back while TensorFlow waited.
      TF_RETURN_IF_ERROR(FindFree(gpu, &slot, &just_freed));
      if (slot == nullptr) slot = just_freed;
      if (slot == nullptr) return fits;
      slot->is_decoding = true;
    }
  }
  slot->is_free = false;
  const absl::Status fits =
      Fit(gpu, type, shape, staging, /*may_wait=*/true, slot);
  if (fits.ok()) {
    *taken = slot;
  } else {
    Return(slot);
  }
  return fits;
}

void L3Slots::Return(L3Slot* slot) {
  std::lock_guard<std::mutex> lock(mutex_);
  slot->is_decoding = false;
}

}  // namespace liquid
