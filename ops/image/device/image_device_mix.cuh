// Images of a batch that are mixed in pairs on a device, as ops/image/mix.h
// says and ops/engine/batch_mixer.h does: all are there as floats, each value
// is read for itself and its partner, and rounded once.
#ifndef LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_MIX_CUH_
#define LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_MIX_CUH_

#include "ops/image/device/image_device_each.cuh"

namespace liquid {

// Makes tile number `tile` of image number `image`, of those in `floats`.
template <typename Out, typename Block>
LIQUID_DEVICE void ImageMix(Block& block, const ImageDeviceBlend& blend,
                            uint32_t image, uint32_t tile,
                            const L3DeviceOutput& output, const float* floats,
                            Out* pixels) {
  const ImageTile place(output, tile);
  const uint32_t channels = output.channels;
  const uint32_t rows = place.rows, columns = place.columns;
  const bool planar = output.planar != 0;
  const size_t values = size_t{output.height} * output.width * channels;
  const float* const own = floats + image * values;
  const float* const other = floats + blend.partner * values;
  Out* const to = pixels + image * values;
  ImageEach(
      block, planar ? rows * channels : rows,
      planar ? columns : columns * channels, [&](uint32_t line, uint32_t i) {
        const uint32_t c =
            planar ? line / rows : i - ImagePixelOf(i, channels) * channels;
        const uint32_t y = place.top + (planar ? line - c * rows : line);
        const uint32_t x =
            place.left + (planar ? i : ImagePixelOf(i, channels));
        const size_t pixel =
            (planar ? size_t{c} * output.height + y : y) * output.width + x;
        const size_t at = planar ? pixel : pixel * channels + c;
        float value;
        if (blend.kind == ImageBlend::kMix) {
          value = ImageSum(ImageProduct(own[at], blend.share),
                           ImageProduct(other[at], blend.rest));
        } else {
          // Unsigned: places before the window are beyond it, too.
          const bool cut = blend.kind == ImageBlend::kCut &&
                           y - blend.y < blend.height &&
                           x - blend.x < blend.width;
          value = cut ? other[at] : own[at];
        }
        ImageRound(value, to + at);
      });
}

#if defined(__CUDACC__)

// `count` tiles, those of the images one after another.
template <typename Out>
__device__ void ImageMixTiles(const L3DeviceOutput* __restrict__ output,
                              const ImageDeviceBlend* __restrict__ blends,
                              uint32_t count, Out* __restrict__ pixels,
                              const float* __restrict__ floats) {
  L3DeviceBlock block;
  const uint32_t tiles = ImageTiles(output->height, output->width);
  for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
    ImageMix(block, blends[i / tiles], i / tiles, i % tiles, *output, floats,
             pixels);
  }
}

#endif  // defined(__CUDACC__)

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_MIX_CUH_
