#include "ops/gpu/loader/device_images.h"

#include <string>

#include "ops/gpu/driver/l3_functions.h"
#include "ops/gpu/plan/l3_plan.h"

namespace liquid {
namespace {

constexpr size_t kAlignment = 256;  // of arrays

}  // namespace

Status FindDevicePlace(int number, DevicePlace* place) {
  place->number = number;
  LIQUID_RETURN_IF_ERROR(LoadCudaDriver(&place->driver));
  LIQUID_RETURN_IF_ERROR(
      FindPrimaryContext(*place->driver, number, &place->context));
  const CudaScope scope(*place->driver, place->context);
  LIQUID_RETURN_IF_ERROR(scope.status());
  CuFunction function = nullptr;
  return FindL3Function(*place->driver, place->context,
                        L3KernelName(L3TaskKind::kV2, "u8_u8"), &function);
}

Status OfMemory(const Status& status) {
  if (status.code() != StatusCode::kResourceExhausted) return status;
  return Status(StatusCode::kUnavailable, status.message());
}

// What fails here has nobody to tell.
DeviceSlot::~DeviceSlot() { LetGo(); }

void DeviceSlot::LetGo() {
  // Memory that a stream still reads must not be another's. For one that was
  // captured as the images went, the driver waits as it frees.
  if (lane_ != nullptr) (void)lane_->Synchronize();
  Free(&staging_);
  Free(&pixels_);
}

Status DeviceSlot::WaitForOthers() {
  std::lock_guard<std::mutex> lock(mu_);
  return waiting_;
}

void DeviceSlot::WaitFor(CuStream stream) {
  std::lock_guard<std::mutex> lock(mu_);
  bool is_captured = false;
  Status status = lane_->IsCaptured(stream, &is_captured);
  if (is_captured) return Keep();
  if (status.ok()) status = lane_->WaitFor(stream);
  if (waiting_.ok()) waiting_ = status;
}

void DeviceSlot::Keep() {
  is_captured_ = true;
  if (bell_->warned_of_capture.exchange(true)) return;
  bell_->warn(
      "a batch on GPU " + std::to_string(place_.number) +
      " was let go of while a CUDA graph was captured on its stream: since the "
      "graph may read that memory, no other batch gets it, and a loader frees "
      "it when it is closed; keep such tensors until the capture has ended");
}

void DeviceSlot::GiveBack() {
  std::lock_guard<std::mutex> lock(bell_->mu);
  if (--lent_ > 0) return;
  ++bell_->given_back;
  bell_->changed.NotifyAll();
}

Status DeviceImages::Give(CuStream stream) const {
  const DevicePlace& place = slot_->place();
  // It is the default one of whichever context.
  if (reinterpret_cast<uintptr_t>(stream) != 1) {
    CuContext context = nullptr;
    LIQUID_RETURN_IF_ERROR(CudaStatus(
        *place.driver, place.driver->stream_context(stream, &context),
        "to ask for a stream's context"));
    if (context != place.context) {
      return InvalidArgument(
          "the stream is of another GPU, or of another context: the images lie "
          "on GPU " +
          std::to_string(place.number) +
          ", in its primary context; take them on a stream of that");
    }
  }
  bool is_captured = false;
  LIQUID_RETURN_IF_ERROR(slot_->lane()->IsCaptured(stream, &is_captured));
  if (is_captured) {
    return InvalidArgument(
        "a CUDA graph is being captured on the stream, or on one that it waits "
        "for: take the images before the capture or after it, and copy them to "
        "the graph's input");
  }
  return slot_->lane()->HaveWait(stream);
}

Status DeviceSlot::Reserve(size_t size, Memory* memory) const {
  const CudaScope scope(*place_.driver, place_.context);
  LIQUID_RETURN_IF_ERROR(scope.status());
  CuAddress address = 0;
  const CuResult result = place_.driver->allocate(&address, size);
  if (result == kCuOutOfMemory) {
    return Status(StatusCode::kResourceExhausted,
                  "l3 on a GPU: there is no room for " + std::to_string(size) +
                      " bytes on GPU " + std::to_string(place_.number) +
                      ": make batches smaller, or keep fewer of them");
  }
  LIQUID_RETURN_IF_ERROR(
      CudaStatus(*place_.driver, result, "to take memory of the GPU"));
  *memory = {address, size};
  return OkStatus();
}

void DeviceSlot::Free(Memory* memory) const {
  if (memory->address == 0) return;
  const CudaScope scope(*place_.driver, place_.context);
  if (scope.status().ok()) place_.driver->free(memory->address);
  *memory = {};
}

Status DeviceSlot::Fit(size_t staging, const std::vector<size_t>& arrays) {
  std::vector<size_t> places;
  size_t pixels = 0;
  for (const size_t size : arrays) {
    places.push_back(pixels);
    pixels += (size + kAlignment - 1) / kAlignment * kAlignment;
  }
  LIQUID_RETURN_IF_ERROR(FitAll(staging, pixels));
  arrays_.clear();
  for (const size_t place : places) {
    arrays_.push_back(pixels_.address + place);
  }
  return OkStatus();
}

Status DeviceSlot::FitAll(size_t staging, size_t pixels) {
  if (staging_.size >= staging && pixels_.size >= pixels) return OkStatus();
  if (lane_ == nullptr) {
    LIQUID_RETURN_IF_ERROR(
        L3Lane::Create(*place_.driver, place_.context, &lane_));
  }
  // The old ones go first, once those who had them are done.
  LIQUID_RETURN_IF_ERROR(lane_->Synchronize());
  if (staging_.size < staging) {
    Free(&staging_);
    // Batches are of about one size.
    LIQUID_RETURN_IF_ERROR(Reserve(staging + staging / 8, &staging_));
  }
  if (pixels_.size >= pixels) return OkStatus();
  Free(&pixels_);
  return Reserve(pixels, &pixels_);
}

}  // namespace liquid
