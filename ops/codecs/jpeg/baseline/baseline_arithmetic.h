// The arithmetic of samples and pixels, for the host and for a device. Every
// decoder is these functions or equal to them.
//
// Of coefficients that no encoder writes, libjpeg-turbo's ways for different
// processors make different samples. This takes its way for x86-64: sums of two
// are of 16 bits and wrap, and what is narrowed to 16 or 8 bits saturates.
#ifndef LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_ARITHMETIC_H_
#define LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_ARITHMETIC_H_

#include "ops/codecs/host_device.h"

namespace liquid {

// Of coefficients of a block's first row that are so large, libjpeg-turbo's
// ways for different processors make different samples.
constexpr int32_t kLargeCoefficient = 8192;

// The constants of the slow integer DCT, in 13 bits.
constexpr int kDctBits = 13;
constexpr int kFirstPassBits = 2;
constexpr int32_t kFix0_298631336 = 2446;
constexpr int32_t kFix0_390180644 = 3196;
constexpr int32_t kFix0_541196100 = 4433;
constexpr int32_t kFix0_765366865 = 6270;
constexpr int32_t kFix0_899976223 = 7373;
constexpr int32_t kFix1_175875602 = 9633;
constexpr int32_t kFix1_501321110 = 12299;
constexpr int32_t kFix1_847759065 = 15137;
constexpr int32_t kFix1_961570560 = 16069;
constexpr int32_t kFix2_053119869 = 16819;
constexpr int32_t kFix2_562915447 = 20995;
constexpr int32_t kFix3_072711026 = 25172;

// Of the colours, in 16 bits.
constexpr int32_t kRedOfCr = 91881;    // 1.402
constexpr int32_t kBlueOfCb = 116130;  // 1.772
constexpr int32_t kGreenOfCr = 46802;  // 0.71414
constexpr int32_t kGreenOfCb = 22554;  // 0.34414

LIQUID_HOST_DEVICE inline int32_t JpegWrap(int32_t value) {
  return static_cast<int16_t>(value);
}

LIQUID_HOST_DEVICE inline int32_t JpegClamp(int32_t value, int32_t least,
                                            int32_t most) {
  return value < least ? least : value > most ? most : value;
}

LIQUID_HOST_DEVICE inline int32_t JpegNarrow(uint32_t value, int shift) {
  const int32_t rounded =
      static_cast<int32_t>(value + (uint32_t{1} << (shift - 1))) >> shift;
  return JpegClamp(rounded, -32768, 32767);
}

// a * b, for sums that may wrap.
LIQUID_HOST_DEVICE inline uint32_t JpegTimes(int32_t a, int32_t b) {
  return static_cast<uint32_t>(a * b);
}

LIQUID_HOST_DEVICE inline int32_t JpegDequantized(int16_t coefficient,
                                                  uint16_t quantization) {
  return JpegWrap(static_cast<int32_t>(
      JpegTimes(coefficient, static_cast<int16_t>(quantization))));
}

// One dimension of the inverse DCT: 8 of `in`, each `step` apart, to 8 of
// `out`.
LIQUID_HOST_DEVICE inline void JpegInvert8(const int32_t* in, size_t step,
                                           int shift, int32_t* out) {
  const int32_t at0 = in[0], at1 = in[step], at2 = in[2 * step],
                at3 = in[3 * step], at4 = in[4 * step], at5 = in[5 * step],
                at6 = in[6 * step], at7 = in[7 * step];
  const uint32_t even2 = JpegTimes(at2, kFix0_541196100) +
                         JpegTimes(at6, kFix0_541196100 - kFix1_847759065);
  const uint32_t even3 = JpegTimes(at2, kFix0_541196100 + kFix0_765366865) +
                         JpegTimes(at6, kFix0_541196100);
  const uint32_t even0 = static_cast<uint32_t>(JpegWrap(at0 + at4)) << kDctBits;
  const uint32_t even1 = static_cast<uint32_t>(JpegWrap(at0 - at4)) << kDctBits;
  const uint32_t even[4] = {even0 + even3, even1 + even2, even1 - even2,
                            even0 - even3};
  const int32_t sum3 = JpegWrap(at3 + at7), sum4 = JpegWrap(at1 + at5);
  const uint32_t z3 = JpegTimes(sum3, kFix1_175875602 - kFix1_961570560) +
                      JpegTimes(sum4, kFix1_175875602);
  const uint32_t z4 = JpegTimes(sum3, kFix1_175875602) +
                      JpegTimes(sum4, kFix1_175875602 - kFix0_390180644);
  const uint32_t odd[4] = {
      JpegTimes(at7, -kFix0_899976223) +
          JpegTimes(at1, kFix1_501321110 - kFix0_899976223) + z4,
      JpegTimes(at5, -kFix2_562915447) +
          JpegTimes(at3, kFix3_072711026 - kFix2_562915447) + z3,
      JpegTimes(at5, kFix2_053119869 - kFix2_562915447) +
          JpegTimes(at3, -kFix2_562915447) + z4,
      JpegTimes(at7, kFix0_298631336 - kFix0_899976223) +
          JpegTimes(at1, -kFix0_899976223) + z3,
  };
  for (size_t k = 0; k < 4; ++k) {
    out[k * step] = JpegNarrow(even[k] + odd[k], shift);
    out[(7 - k) * step] = JpegNarrow(even[k] - odd[k], shift);
  }
}

// What the second dimension gives, as a sample.
LIQUID_HOST_DEVICE inline uint8_t JpegSample(int32_t value) {
  return static_cast<uint8_t>(JpegClamp(value, -128, 127) + 128);
}

// Between chroma's samples of a row: `far` lies before `near`, or with `after`
// behind it.
LIQUID_HOST_DEVICE inline uint32_t JpegBeside(uint32_t near, uint32_t far,
                                              bool after) {
  return (3 * near + far + (after ? 2 : 1)) >> 2;
}

// Three times one row and the other.
LIQUID_HOST_DEVICE inline uint32_t JpegWeighted(uint32_t near, uint32_t far) {
  return 3 * near + far;
}

// Between weighted samples of a row, as JpegBeside.
LIQUID_HOST_DEVICE inline uint32_t JpegBetween(uint32_t near, uint32_t far,
                                               bool after) {
  return (3 * near + far + (after ? 7 : 8)) >> 4;
}

struct JpegRgb {
  uint8_t red, green, blue;
};

LIQUID_HOST_DEVICE inline JpegRgb JpegToRgb(int32_t y, int32_t cb, int32_t cr) {
  constexpr int32_t kHalf = 1 << 15;
  const int32_t blue = cb - 128, red = cr - 128;
  const int32_t r = y + ((kRedOfCr * red + kHalf) >> 16);
  const int32_t g = y + ((-kGreenOfCb * blue - kGreenOfCr * red + kHalf) >> 16);
  const int32_t b = y + ((kBlueOfCb * blue + kHalf) >> 16);
  return {static_cast<uint8_t>(JpegClamp(r, 0, 255)),
          static_cast<uint8_t>(JpegClamp(g, 0, 255)),
          static_cast<uint8_t>(JpegClamp(b, 0, 255))};
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_ARITHMETIC_H_
