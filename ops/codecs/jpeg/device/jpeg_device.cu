// The kernels that a program finds by name, in the order in which a batch needs
// them:
//
//   liquid_jpeg_codes   entropy decoding
//   liquid_jpeg_blocks  the inverse DCT
//   liquid_jpeg_pixels  samples between samples, and colours
//
// Any number of blocks does all tasks, which are of the kernel's kind; as many
// as tasks is fastest.
#include "ops/codecs/jpeg/device/jpeg_device.cuh"

#define LIQUID_JPEG_KERNEL(name, kind, threads)                                \
  extern "C" __global__ void __launch_bounds__(threads) liquid_jpeg_##name(    \
      const liquid::JpegDeviceImage* images,                                   \
      const liquid::L3DeviceTask* tasks, uint32_t count, const uint8_t* bytes, \
      uint8_t* scratch, uint32_t* results) {                                   \
    liquid::JpegDoTasks<liquid::L3TaskKind::kind>(images, tasks, count, bytes, \
                                                  scratch, results);           \
  }

LIQUID_JPEG_KERNEL(codes, kJpegCodes, liquid::kJpegCodesThreads)
LIQUID_JPEG_KERNEL(blocks, kJpegBlocks, liquid::kJpegThreads)
LIQUID_JPEG_KERNEL(pixels, kJpegPixels, liquid::kJpegThreads)
