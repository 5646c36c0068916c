// The kernels that a program finds by name:
//
//   liquid_image_SAMPLE_OUT  SAMPLE u8, u16; OUT the same, f32, f16 or bf16
//   liquid_image_luma        before it, for contrast
//   liquid_image_operate_SAMPLE  from canvas to canvas
//   liquid_image_find        before it, what is needed of whole images
//   liquid_image_erase_OUT   after all, a floating one
//   liquid_image_mix_OUT     after that, of floats
//
// Any number of blocks makes all tiles, or finds what is needed; as many as of
// these is fastest.
#include "ops/image/device/image_device.cuh"
#include "ops/image/device/image_device_change.cuh"
#include "ops/image/device/image_device_erase.cuh"
#include "ops/image/device/image_device_mix.cuh"

// With room for a number of blocks: without, a compiler takes fewer registers,
// and spills.
#define LIQUID_IMAGE_KERNEL(name, sample, out)                           \
  extern "C" __global__ void __launch_bounds__(liquid::kImageThreads, 8) \
      liquid_image_##name(const liquid::L3DeviceOutput* output,          \
                          const liquid::ImageDeviceSample* samples,      \
                          uint32_t count, const uint32_t* tables,        \
                          void* pixels, const void* scratch) {           \
    liquid::ImageMakeTiles<sample, out>(output, samples, count, tables,  \
                                        pixels, scratch);                \
  }

#define LIQUID_IMAGE_KERNELS(stored, sample)                   \
  LIQUID_IMAGE_KERNEL(stored##_##stored, sample, sample)       \
  LIQUID_IMAGE_KERNEL(stored##_f32, sample, float)             \
  LIQUID_IMAGE_KERNEL(stored##_f16, sample, liquid::ImageHalf) \
  LIQUID_IMAGE_KERNEL(stored##_bf16, sample, liquid::L3BFloat16)

LIQUID_IMAGE_KERNELS(u8, uint8_t)
LIQUID_IMAGE_KERNELS(u16, uint16_t)

extern "C" __global__ void __launch_bounds__(liquid::kImageThreads, 8)
    liquid_image_luma(const liquid::L3DeviceOutput* output,
                      const liquid::ImageDeviceSample* samples, uint32_t count,
                      const uint32_t* tables, uint32_t* luma,
                      const uint8_t* scratch) {
  liquid::ImageSumTiles(output, samples, count, tables, luma, scratch);
}

#define LIQUID_OPERATE_KERNEL(stored, sample)                               \
  extern "C" __global__ void __launch_bounds__(liquid::kImageThreads, 6)    \
      liquid_image_operate_##stored(                                        \
          const liquid::L3DeviceOutput* output,                             \
          const liquid::ImageDeviceOperation* operations, uint32_t count,   \
          const uint32_t* tables, sample* canvases, const uint8_t* found) { \
    liquid::ImageOperateTiles(output, operations, count, tables, canvases,  \
                              found);                                       \
  }

LIQUID_OPERATE_KERNEL(u8, uint8_t)
LIQUID_OPERATE_KERNEL(u16, uint16_t)

extern "C" __global__ void __launch_bounds__(liquid::kImageFindThreads)
    liquid_image_find(const liquid::L3DeviceOutput* output,
                      const liquid::ImageDeviceOperation* operations,
                      uint32_t count, const uint32_t* /*tables*/,
                      uint8_t* found, const uint8_t* canvases) {
  liquid::ImageFindAll(output, operations, count, found, canvases);
}

#define LIQUID_ERASE_KERNEL(name, out)                                      \
  extern "C" __global__ void __launch_bounds__(liquid::kImageThreads)       \
      liquid_image_erase_##name(const liquid::L3DeviceOutput* output,       \
                                const liquid::ImageDeviceErasure* erasures, \
                                uint32_t count, const uint32_t* /*tables*/, \
                                out* pixels, const void* /*scratch*/) {     \
    liquid::ImageEraseTiles(output, erasures, count, pixels);               \
  }

LIQUID_ERASE_KERNEL(f32, float)
LIQUID_ERASE_KERNEL(f16, liquid::ImageHalf)
LIQUID_ERASE_KERNEL(bf16, liquid::L3BFloat16)

#define LIQUID_MIX_KERNEL(name, out)                                      \
  extern "C" __global__ void __launch_bounds__(liquid::kImageThreads)     \
      liquid_image_mix_##name(const liquid::L3DeviceOutput* output,       \
                              const liquid::ImageDeviceBlend* blends,     \
                              uint32_t count, const uint32_t* /*tables*/, \
                              out* pixels, const float* floats) {         \
    liquid::ImageMixTiles(output, blends, count, pixels, floats);         \
  }

LIQUID_MIX_KERNEL(f32, float)
LIQUID_MIX_KERNEL(f16, liquid::ImageHalf)
LIQUID_MIX_KERNEL(bf16, liquid::L3BFloat16)
