// JPEG on a device: tasks of one kind, one block of threads each.
#ifndef LIQUID_OPS_CODECS_JPEG_DEVICE_JPEG_DEVICE_CUH_
#define LIQUID_OPS_CODECS_JPEG_DEVICE_JPEG_DEVICE_CUH_

#include "ops/codecs/jpeg/device/jpeg_device_codes.cuh"
#include "ops/codecs/jpeg/device/jpeg_device_pixels.cuh"

namespace liquid {

LIQUID_HOST_DEVICE constexpr uint32_t JpegThreads(L3TaskKind kind) {
  return kind == L3TaskKind::kJpegCodes ? kJpegCodesThreads : kJpegThreads;
}

LIQUID_HOST_DEVICE constexpr uint32_t JpegSharedBytes(L3TaskKind kind) {
  return kind == L3TaskKind::kJpegCodes
             ? static_cast<uint32_t>(sizeof(JpegSharedCodes))
         : kind == L3TaskKind::kJpegBlocks
             ? static_cast<uint32_t>(sizeof(JpegSharedBlocks))
             : 0;
}

// Does one task of that kind, with JpegThreads of a block and `memory`, shared
// memory of JpegSharedBytes at a multiple of 16. `images` are the batch's JPEG
// files, with their segments behind them.
template <L3TaskKind kKind, typename Block>
LIQUID_DEVICE void JpegDoTask(Block& block, const L3DeviceTask& task,
                              const JpegDeviceImage* images,
                              const uint8_t* bytes, uint8_t* scratch,
                              uint8_t* memory, uint32_t* result) {
  if constexpr (kKind == L3TaskKind::kJpegCodes) {
    JpegDoCodes(block, task, images, bytes, scratch, memory, result);
  } else if constexpr (kKind == L3TaskKind::kJpegBlocks) {
    JpegDoBlocks(block, task, images, scratch, memory, result);
  } else {
    JpegDoPixels(block, task, images, scratch, result);
  }
}

#if defined(__CUDACC__)

template <L3TaskKind kKind>
__device__ void JpegDoTasks(const JpegDeviceImage* __restrict__ images,
                            const L3DeviceTask* __restrict__ tasks,
                            uint32_t count, const uint8_t* __restrict__ bytes,
                            uint8_t* scratch, uint32_t* __restrict__ results) {
  extern __shared__ uint4 liquid_l3_memory[];
  L3DeviceBlock block;
  for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
    const L3DeviceTask task = tasks[i];
    JpegDoTask<kKind>(block, task, images, bytes, scratch,
                      reinterpret_cast<uint8_t*>(liquid_l3_memory),
                      &results[i]);
  }
}

#endif  // defined(__CUDACC__)

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_DEVICE_JPEG_DEVICE_CUH_
