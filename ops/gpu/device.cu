// All kernels, as one module.
#include "ops/codecs/jpeg/device/jpeg_device.cu"
#include "ops/codecs/l3/device/l3_device.cu"
#include "ops/image/device/image_device.cu"
