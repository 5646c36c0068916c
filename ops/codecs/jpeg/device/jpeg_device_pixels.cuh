// From coefficients to pixels: the inverse DCT, what lies between chroma's
// samples, and colours.
#ifndef LIQUID_OPS_CODECS_JPEG_DEVICE_JPEG_DEVICE_PIXELS_CUH_
#define LIQUID_OPS_CODECS_JPEG_DEVICE_JPEG_DEVICE_PIXELS_CUH_

#include "ops/codecs/jpeg/baseline/baseline_arithmetic.h"
#include "ops/codecs/jpeg/device/jpeg_device.h"
#include "ops/codecs/l3/device/l3_device_team.cuh"

namespace liquid {

// The component that block `number` of the image is of.
LIQUID_DEVICE inline const JpegDeviceComponent& JpegComponentOf(
    const JpegDeviceImage& image, uint32_t number) {
  uint32_t c = 0;
  while (c + 1 < image.components &&
         number >= image.component[c + 1].first_block) {
    ++c;
  }
  return image.component[c];
}

// Where a block lies in scratch memory.
LIQUID_DEVICE inline uint8_t* JpegBlock(const JpegDeviceComponent& component,
                                        uint32_t number, uint8_t* scratch) {
  return scratch + component.blocks +
         uint64_t{number - component.first_block} * kJpegBlockBytes;
}

// A column of a block, from its coefficients to what is between the dimensions.
// Returns whether one of the first row is too large.
LIQUID_DEVICE inline bool JpegColumn(const uint16_t* quantization,
                                     const uint8_t* coefficients, uint32_t x,
                                     int16_t* between) {
  int32_t in[kJpegBlockSide], out[kJpegBlockSide];
  LIQUID_UNROLL
  for (uint32_t y = 0; y < kJpegBlockSide; ++y) {
    const uint32_t at = y * kJpegBlockSide + x;
    in[y] = JpegDequantized(L3Read<int16_t>(coefficients + 2 * at),
                            quantization[at]);
  }
  JpegInvert8(in, 1, kDctBits - kFirstPassBits, out);
  LIQUID_UNROLL
  for (uint32_t y = 0; y < kJpegBlockSide; ++y) {
    between[y * kJpegBlockSide + x] = static_cast<int16_t>(out[y]);
  }
  return in[0] >= kLargeCoefficient || in[0] <= -kLargeCoefficient;
}

// A row of it, to samples.
LIQUID_DEVICE inline void JpegRow(const int16_t* between, uint32_t y,
                                  uint8_t* samples) {
  int32_t in[kJpegBlockSide], out[kJpegBlockSide];
  LIQUID_UNROLL
  for (uint32_t x = 0; x < kJpegBlockSide; ++x) {
    in[x] = between[y * kJpegBlockSide + x];
  }
  JpegInvert8(in, 1, kDctBits + kFirstPassBits + 3, out);
  uint32_t words[2] = {0, 0};
  LIQUID_UNROLL
  for (uint32_t x = 0; x < kJpegBlockSide; ++x) {
    words[x / 4] |= uint32_t{JpegSample(out[x])} << 8 * (x % 4);
  }
  L3Write(words[0], samples + y * kJpegBlockSide);
  L3Write(words[1], samples + y * kJpegBlockSide + 4);
}

// Does a task: eight lanes a block, first a column each, then a row. Samples go
// where the block's coefficients were, which all lanes have read by then.
template <typename Block>
LIQUID_DEVICE void JpegDoBlocks(Block& block, const L3DeviceTask& task,
                                const JpegDeviceImage* images, uint8_t* scratch,
                                uint8_t* memory, uint32_t* result) {
  using Warp = typename Block::Warp;
  constexpr uint32_t kAtOnce = kL3Warp / kJpegBlockSide;
  auto& shared = *reinterpret_cast<JpegSharedBlocks*>(memory);
  const JpegDeviceImage& image = images[task.begin[0]];
  const uint32_t warps = block.Threads() / kL3Warp;
  const uint32_t end = task.number + task.width;
  block.EachWarp(warps, [&](Warp& warp, uint32_t index) {
    auto large = warp.Zeros();
    int16_t* const between = shared.between + index * kAtOnce * kJpegBetween;
    for (uint32_t first = task.number + index * kAtOnce; first < end;
         first += warps * kAtOnce) {
      warp.Each([&](uint32_t lane) {
        const uint32_t i = lane / kJpegBlockSide;
        if (first + i >= end) return;
        const JpegDeviceComponent& component =
            JpegComponentOf(image, first + i);
        if (JpegColumn(component.quantization,
                       JpegBlock(component, first + i, scratch),
                       lane % kJpegBlockSide, between + i * kJpegBetween)) {
          large[lane] = 1;
        }
      });
      warp.Each([&](uint32_t lane) {
        const uint32_t i = lane / kJpegBlockSide;
        if (first + i >= end) return;
        JpegRow(
            between + i * kJpegBetween, lane % kJpegBlockSide,
            JpegBlock(JpegComponentOf(image, first + i), first + i, scratch));
      });
    }
    const uint32_t any =
        warp.Ballot([&](uint32_t lane) { return large[lane] != 0; });
    warp.Each([&](uint32_t lane) {
      if (lane == 0) shared.found[index] = any;
    });
  });
  block.EachThread([&](uint32_t thread) {
    if (thread != 0) return;
    uint32_t any = 0;
    for (uint32_t i = 0; i < warps; ++i) any |= shared.found[i];
    *result = any == 0 ? 0 : JpegDeviceResult(JpegDeviceError::kLarge, 0);
  });
}

// A component's samples, by their place in the image.
struct JpegSamples {
  const uint8_t* blocks;
  uint32_t across, first_y, first_x;

  LIQUID_DEVICE JpegSamples(const JpegDeviceImage& image, uint32_t c,
                            const uint8_t* scratch)
      : blocks(scratch + image.component[c].blocks),
        across(image.component[c].across),
        first_y(image.first_row * image.component[c].v * kJpegBlockSide),
        first_x(image.first_column * image.component[c].h * kJpegBlockSide) {}

  LIQUID_DEVICE uint32_t At(uint32_t image_y, uint32_t image_x) const {
    const uint32_t y = image_y - first_y, x = image_x - first_x;
    const uint64_t block =
        uint64_t{y / kJpegBlockSide} * across + x / kJpegBlockSide;
    return blocks[block * kJpegBlockBytes +
                  y % kJpegBlockSide * kJpegBlockSide + x % kJpegBlockSide];
  }
};

// A sample that lies beside one, where there is one.
LIQUID_DEVICE inline uint32_t JpegNeighbour(uint32_t at, bool after,
                                            uint32_t count) {
  if (after) return at + 1 < count ? at + 1 : at;
  return at > 0 ? at - 1 : 0;
}

// Chroma of a pixel of the image.
LIQUID_DEVICE inline uint32_t JpegChroma(const JpegDeviceImage& image,
                                         const JpegSamples& samples, uint32_t y,
                                         uint32_t x) {
  const uint32_t near_y = image.v == 2 ? y / 2 : y;
  const uint32_t near_x = image.h == 2 ? x / 2 : image.h == 4 ? x / 4 : x;
  const uint32_t near = samples.At(near_y, near_x);
  const uint32_t far_y = JpegNeighbour(near_y, y % 2 == 1, image.chroma_height);
  const uint32_t far_x = JpegNeighbour(near_x, x % 2 == 1, image.chroma_width);
  if (image.v == 2 && image.h == 2) {
    const uint32_t sum = JpegWeighted(near, samples.At(far_y, near_x));
    const uint32_t beside =
        JpegWeighted(samples.At(near_y, far_x), samples.At(far_y, far_x));
    return JpegBetween(sum, beside, x % 2 == 1);
  }
  if (image.v == 2) {
    return JpegBeside(near, samples.At(far_y, near_x), y % 2 == 1);
  }
  if (image.h == 2) {
    return JpegBeside(near, samples.At(near_y, far_x), x % 2 == 1);
  }
  return near;
}

// Does a task: a warp a row.
template <typename Block>
LIQUID_DEVICE void JpegDoPixels(Block& block, const L3DeviceTask& task,
                                const JpegDeviceImage* images, uint8_t* scratch,
                                uint32_t* result) {
  const JpegDeviceImage& image = images[task.begin[0]];
  const JpegSamples luma(image, 0, scratch);
  const bool colour = image.components == 3;
  const JpegSamples blue(image, colour ? 1 : 0, scratch);
  const JpegSamples red(image, colour ? 2 : 0, scratch);
  block.EachThread([&](uint32_t thread) {
    for (uint32_t row = task.row_begin + thread / kL3Warp; row < task.row_end;
         row += block.Threads() / kL3Warp) {
      uint8_t* const out =
          scratch + task.begin[1] + uint64_t{row} * task.size[0];
      const uint32_t y = image.y + row;
      for (uint32_t i = thread % kL3Warp; i < image.width; i += kL3Warp) {
        const uint32_t x = image.x + i;
        const uint32_t value = luma.At(y, x);
        if (!colour) {
          out[i] = static_cast<uint8_t>(value);
          continue;
        }
        const JpegRgb pixel =
            JpegToRgb(static_cast<int32_t>(value),
                      static_cast<int32_t>(JpegChroma(image, blue, y, x)),
                      static_cast<int32_t>(JpegChroma(image, red, y, x)));
        out[3 * i] = pixel.red;
        out[3 * i + 1] = pixel.green;
        out[3 * i + 2] = pixel.blue;
      }
    }
    if (thread == 0) *result = 0;
  });
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_DEVICE_JPEG_DEVICE_PIXELS_CUH_
