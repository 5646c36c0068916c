// Rectangles of finished images that are erased on a device, as
// ops/image/erase.h fills them, and noise as ops/image/noise.h has it.
#ifndef LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_ERASE_CUH_
#define LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_ERASE_CUH_

#include "ops/image/device/image_device_each.cuh"

namespace liquid {

// A polynomial of two coefficients or more, the highest first.
template <uint32_t kCount>
LIQUID_DEVICE double ImagePolynomial(const double (&factors)[kCount],
                                     double x) {
  double value = factors[0];
  LIQUID_UNROLL
  for (uint32_t i = 1; i < kCount; ++i) {
    value = ImageSum(ImageProduct(value, x), factors[i]);
  }
  return value;
}

// Logarithm in ops/image/logarithm.h.
LIQUID_DEVICE inline double ImageLogarithm(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof(bits));
  const int64_t power = static_cast<int64_t>(bits - 0x3fe6a09e667f3bcd) >> 52;
  bits -= static_cast<uint64_t>(power) << 52;
  double part;
  memcpy(&part, &bits, sizeof(part));
  const double s = ImageSum(part, -1.0) / ImageSum(part, 1.0);
  const double square = ImageProduct(s, s);
  double sum = 0;
  LIQUID_SELDOM
  for (int n = 21; n >= 3; n -= 2) {
    sum = ImageProduct(ImageSum(sum, 1.0 / n), square);
  }
  const double whole = static_cast<double>(power), twice = ImageProduct(2.0, s);
  const double low =
      ImageSum(ImageSum(ImageProduct(whole, 0x1.cf79abc9e3b3ap-40),
                        ImageProduct(twice, sum)),
               twice);
  return ImageSum(ImageProduct(whole, 0x1.62e42fefap-1), low);
}

LIQUID_DEVICE inline float ImageNormal(uint32_t word) {
  const double q = ImageSum(
      ImageProduct(ImageSum(static_cast<double>(word), .5), 1.0 / 4294967296.0),
      -.5);
  const double size = q < 0 ? -q : q;
  if (size <= .425) {
    const double r = ImageSum(.180625, -ImageProduct(q, q));
    const double above = ImagePolynomial(
        {5.9109374720e1, 1.5929113202e2, 5.0434271938e1, 3.3871327179}, r);
    const double below = ImagePolynomial(
        {6.7187563600e1, 7.8757757664e1, 1.7895169469e1, 1.0}, r);
    return static_cast<float>(ImageProduct(q, above) / below);
  }
  const double r =
      ImageSum(ImageRoot(-ImageLogarithm(ImageSum(.5, -size))), -1.6);
  const double above = ImagePolynomial(
      {1.7023821103e-1, 1.3067284816, 2.7568153900, 1.4234372777}, r);
  const double below =
      ImagePolynomial({1.2021132975e-1, 7.3700164250e-1, 1.0}, r);
  const double quotient = above / below;
  // The numerator is positive in the whole range of words.
  return static_cast<float>(q < 0 ? -quotient : quotient);
}

// Word `number` of row `row` of a stream, as Philox4x32 in ops/core/rng.h makes
// them, four at once.
LIQUID_DEVICE inline uint32_t ImageRandomWord(const uint32_t (&key)[2],
                                              uint32_t row, uint32_t number) {
  uint32_t words[4] = {number / 4, row, 0, 0};
  uint32_t first = key[0], second = key[1];
  LIQUID_UNROLL
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * words[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * words[2];
    words[0] = static_cast<uint32_t>(b >> 32) ^ words[1] ^ first;
    words[1] = static_cast<uint32_t>(b);
    words[2] = static_cast<uint32_t>(a >> 32) ^ words[3] ^ second;
    words[3] = static_cast<uint32_t>(a);
    first += 0x9E3779B9;
    second += 0xBB67AE85;
  }
  const uint32_t low = number % 2 == 0 ? words[0] : words[1];
  const uint32_t high = number % 2 == 0 ? words[2] : words[3];
  return number % 4 < 2 ? low : high;
}

// Erases what lies in tile number `tile` of an image.
template <typename Out, typename Block>
LIQUID_DEVICE void ImageErase(Block& block, const ImageDeviceErasure& erasure,
                              uint32_t tile, const L3DeviceOutput& output,
                              Out* pixels) {
  const ImageTile place(output, tile);
  const uint32_t channels = output.channels;
  ImageEach(block, place.rows, place.columns * channels,
            [&](uint32_t row, uint32_t i) {
              const uint32_t column = ImagePixelOf(i, channels);
              const uint32_t c = i - column * channels;
              // Unsigned: places before the rectangle are beyond it, too.
              const uint32_t y = place.top + row, x = place.left + column;
              const uint32_t in_y = y - erasure.y, in_x = x - erasure.x;
              if (in_y >= erasure.height || in_x >= erasure.width) return;
              const float value =
                  erasure.noise != 0
                      ? ImageNormal(ImageRandomWord(erasure.key, in_y,
                                                    in_x * channels + c))
                      : erasure.values[c];
              const size_t first = size_t{erasure.image} * output.height;
              const size_t at =
                  output.planar != 0
                      ? ((first * channels + size_t{c} * output.height) + y) *
                                output.width +
                            x
                      : ((first + y) * output.width + x) * channels + c;
              ImageRound(value, pixels + at);
            });
}

#if defined(__CUDACC__)

// `count` tiles, those of the images one after another.
template <typename Out>
__device__ void ImageEraseTiles(const L3DeviceOutput* __restrict__ output,
                                const ImageDeviceErasure* __restrict__ erasures,
                                uint32_t count, Out* __restrict__ pixels) {
  L3DeviceBlock block;
  const uint32_t tiles = ImageTiles(output->height, output->width);
  for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
    ImageErase(block, erasures[i / tiles], i % tiles, *output, pixels);
  }
}

#endif  // defined(__CUDACC__)

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_ERASE_CUH_
