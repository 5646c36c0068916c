// The kernels that a program finds by name:
//
//   liquid_image_SAMPLE_OUT  SAMPLE u8, u16; OUT the same, f32, f16 or bf16
//   liquid_image_luma        before it, for contrast
//
// Any number of blocks makes all tiles; as many as tiles is fastest.
#include "ops/image/device/image_device.cuh"

#define LIQUID_IMAGE_KERNEL(name, sample, out)                          \
  extern "C" __global__ void __launch_bounds__(liquid::kImageThreads)   \
      liquid_image_##name(const liquid::L3DeviceOutput* output,         \
                          const liquid::ImageDeviceSample* samples,     \
                          uint32_t count, const uint32_t* tables,       \
                          void* pixels, const void* scratch) {          \
    liquid::ImageMakeTiles<sample, out>(output, samples, count, tables, \
                                        pixels, scratch);               \
  }

#define LIQUID_IMAGE_KERNELS(stored, sample)                   \
  LIQUID_IMAGE_KERNEL(stored##_##stored, sample, sample)       \
  LIQUID_IMAGE_KERNEL(stored##_f32, sample, float)             \
  LIQUID_IMAGE_KERNEL(stored##_f16, sample, liquid::ImageHalf) \
  LIQUID_IMAGE_KERNEL(stored##_bf16, sample, liquid::L3BFloat16)

LIQUID_IMAGE_KERNELS(u8, uint8_t)
LIQUID_IMAGE_KERNELS(u16, uint16_t)

extern "C" __global__ void __launch_bounds__(liquid::kImageThreads)
    liquid_image_luma(const liquid::L3DeviceOutput* output,
                      const liquid::ImageDeviceSample* samples, uint32_t count,
                      const uint32_t* tables, uint32_t* luma,
                      const uint8_t* scratch) {
  liquid::ImageSumTiles(output, samples, count, tables, luma, scratch);
}
