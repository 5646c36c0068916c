#include "ops/direct/direct_gpu.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/direct/images.h"
#include "ops/direct/problem.h"
#include "ops/gpu/driver/cuda_driver.h"
#include "ops/gpu/driver/l3_functions.h"
#include "ops/gpu/driver/l3_module.h"
#include "ops/gpu/loader/device_decoder.h"
#include "ops/gpu/plan/device_batch.h"
#include "ops/image/finish.h"

namespace liquid {
namespace {

LiquidTensorType TypeOf(PixelType type) {
  const auto bits = static_cast<uint8_t>(8 * BytesOf(type));
  switch (type) {
    case PixelType::kUint8:
    case PixelType::kUint16:
      return {kLiquidUnsigned, bits, 1};
    case PixelType::kBfloat16:
      return {kLiquidBfloat, bits, 1};
    case PixelType::kFloat16:
    case PixelType::kFloat32:
      break;
  }
  return {kLiquidFloat, bits, 1};
}

Status ForkedError(const std::string& belongs) {
  return Status(StatusCode::kFailedPrecondition,
                belongs +
                    " to the process that this one was forked from: "
                    "start the process by \"spawn\"");
}

// What a tensor keeps.
struct Lent {
  LiquidManagedTensor tensor = {};
  std::vector<int64_t> shape;
  LiquidImages held;
  CuStream stream;
};

void Free(LiquidManagedTensor* tensor) {
  std::unique_ptr<Lent> lent(static_cast<Lent*>(tensor->owner));
  if (lent->held.Forked()) {
    (void)lent.release();
    return;
  }
  lent->held.images->Leave(lent->stream);
}

Status Lend(const LiquidImages& held, uint64_t stream,
            LiquidManagedTensor** made) {
  if (held.Forked()) return ForkedError("the images belong");
  const DeviceImages& images = *held.images;
  // 0 is none of DLPack's; and 2 is another stream in each thread, so in the
  // one that frees the tensor.
  if (stream == 0 || stream == 2) {
    return InvalidArgument("stream (" + std::to_string(stream) +
                           ") must be 1 or the address of one");
  }
  const auto on = reinterpret_cast<CuStream>(stream);
  LIQUID_RETURN_IF_ERROR(images.Give(on));
  auto lent = std::unique_ptr<Lent>(new Lent{{}, images.shape(), held, on});
  LiquidManagedTensor& tensor = lent->tensor;
  tensor.tensor.data = reinterpret_cast<void*>(images.address());
  tensor.tensor.device = {kLiquidCuda, images.device()};
  tensor.tensor.dimensions = static_cast<int32_t>(lent->shape.size());
  tensor.tensor.type = TypeOf(images.type());
  tensor.tensor.shape = lent->shape.data();
  tensor.owner = lent.get();
  tensor.deleter = Free;
  *made = &lent.release()->tensor;
  return OkStatus();
}

// Python calls it where an exception may be pending: code of Python could not
// run then.
std::atomic<int (*)(void*, const char*)> capsule_is_valid{nullptr};
std::atomic<void* (*)(void*, const char*)> capsule_pointer{nullptr};
std::atomic<void* (*)()> save_thread{nullptr};
std::atomic<void (*)(void*)> restore_thread{nullptr};

void DropCapsule(void* capsule) {
  constexpr char kName[] = "dltensor";
  if (!capsule_is_valid.load()(capsule, kName)) return;
  auto* const tensor =
      static_cast<LiquidManagedTensor*>(capsule_pointer.load()(capsule, kName));
  // It may wait for the GPU, on which a function of Python may have to run.
  void* const saved = save_thread.load()();
  tensor->deleter(tensor);
  restore_thread.load()(saved);
}

Status CheckGpu(int32_t number) {
  const CudaDriver* driver = nullptr;
  LIQUID_RETURN_IF_ERROR(LoadCudaDriver(&driver));
  LIQUID_RETURN_IF_ERROR(CheckCudaDevice(*driver, number));
  CuDevice device = 0;
  LIQUID_RETURN_IF_ERROR(CudaStatus(
      *driver, driver->device_get(&device, number), "to find a GPU"));
  int capability = 0;
  return CheckCapability(*driver, device, &capability);
}

// The type that a tensor's is; without bits that of the first file, as its
// decoding says what is wrong with that.
Status FindType(const LiquidGpuFiles& given, const DecodeLimits& limits,
                PixelType* type) {
  if (given.type.bits == 0) {
    ImageInfo info;
    const ByteSpan first(given.files[0].data, given.files[0].size);
    Format format = Format::kRaw;
    const bool has_16 = SniffFormat(first, &format).ok() &&
                        Peek(format, first, limits, &info).ok() &&
                        info.bits == 16;
    *type = has_16 ? PixelType::kUint16 : PixelType::kUint8;
    return OkStatus();
  }
  for (const PixelType one :
       {PixelType::kUint8, PixelType::kUint16, PixelType::kFloat16,
        PixelType::kBfloat16, PixelType::kFloat32}) {
    const LiquidTensorType wanted = TypeOf(one);
    if (wanted.code != given.type.code || wanted.bits != given.type.bits) {
      continue;
    }
    *type = one;
    return OkStatus();
  }
  return InvalidArgument("the type of images must be one of pixels");
}

Status DecodeFiles(const LiquidGpuFiles& given, LiquidImages** made) {
  // Of the process that made it, a fork has no decoder.
  static const pid_t process = getpid();
  if (getpid() != process) return ForkedError("gpu.decode belongs");
  if (given.files_size == 0) {
    return InvalidArgument("contents must have at least one file");
  }
  DeviceSteps steps;
  steps.limits.max_pixels = given.max_pixels;
  LIQUID_RETURN_IF_ERROR(FindType(given, steps.limits, &steps.type));
  steps.planar = given.planar;
  steps.mean.assign(given.mean, given.mean + given.mean_size);
  steps.std.assign(given.std, given.std + given.std_size);
  std::vector<L3DeviceFile> files;
  for (uint64_t i = 0; i < given.files_size; ++i) {
    files.push_back({ByteSpan(given.files[i].data, given.files[i].size), {}});
    if (given.windows == nullptr) continue;
    const uint32_t* const window = given.windows + 4 * i;
    files.back().window = {window[0], window[1], window[2], window[3]};
  }
  DeviceDecoder* decoder = nullptr;
  LIQUID_RETURN_IF_ERROR(DeviceDecoder::Of(given.number, Warn, &decoder));
  std::shared_ptr<const DeviceImages> images;
  LIQUID_RETURN_IF_ERROR(decoder->Decode(steps, std::move(files), &images));
  *made = new LiquidImages(std::move(images));
  return OkStatus();
}

}  // namespace
}  // namespace liquid

int32_t liquid_direct_gpu_check(int32_t number, LiquidProblem problem) {
  return static_cast<int32_t>(
      liquid::Guarded(problem, [&] { return liquid::CheckGpu(number); }));
}

bool liquid_direct_gpu_compiles() { return liquid::L3DeviceModule().is_source; }

int32_t liquid_direct_gpu_decode(const LiquidGpuFiles* files,
                                 LiquidImages** images, LiquidProblem problem) {
  *images = nullptr;
  return static_cast<int32_t>(liquid::Guarded(
      problem, [&] { return liquid::DecodeFiles(*files, images); }));
}

void liquid_direct_images_describe(const LiquidImages* images, int64_t* shape,
                                   LiquidTensorType* type) {
  const std::vector<int64_t>& sides = images->images->shape();
  std::copy(sides.begin(), sides.end(), shape);
  *type = liquid::TypeOf(images->images->type());
}

int32_t liquid_direct_images_tensor(LiquidImages* images, uint64_t stream,
                                    LiquidManagedTensor** tensor,
                                    LiquidProblem problem) {
  *tensor = nullptr;
  return static_cast<int32_t>(liquid::Guarded(
      problem, [&] { return liquid::Lend(*images, stream, tensor); }));
}

void liquid_direct_images_free(LiquidImages* images) {
  if (images == nullptr || images->Forked()) return;
  delete images;
}

void (*liquid_direct_capsule_destructor(LiquidCapsules capsules))(void*) {
  liquid::capsule_is_valid = capsules.is_valid;
  liquid::capsule_pointer = capsules.pointer;
  liquid::save_thread = capsules.save_thread;
  liquid::restore_thread = capsules.restore_thread;
  return liquid::DropCapsule;
}
