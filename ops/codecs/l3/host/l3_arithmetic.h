// The arithmetic of L3, for the host and for a device: how one pixel, group or
// row is read. Every decoder is these functions or equal to them.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_ARITHMETIC_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_ARITHMETIC_H_

#include "ops/codecs/host_device.h"

namespace liquid {

constexpr uint32_t kL3V2Patch = 64;
constexpr uint32_t kL3Group = 8;                       // pixels
constexpr uint32_t kL3Groups = kL3V2Patch / kL3Group;  // of a row
constexpr uint32_t kL3MaxChannels = 4;
constexpr uint32_t kL3MaxPatchRow = 255;  // N of version 1

// The largest patch of version 2: CRC, words, codes and payload of 4 channels
// of 16 bits.
constexpr uint32_t kL3V2MaxPatchBytes =
    4 + 4 * kL3MaxChannels + kL3MaxChannels * kL3V2Patch * (4 + kL3Groups * 16);

enum class L3Predictor : uint8_t {
  kTop = 0,           // the pixel above
  kLeft = 1,          // the pixel to the left
  kGradient = 2,      // left + above - above-left
  kThreeQuarter = 3,  // left + three quarters of (above - above-left)
};

enum class L3Colour : uint8_t {
  kPlain = 0,
  kLessGreen = 1,  // R - G or B - G
  kLessMean = 2,   // B - (R + G + 1) / 2
};

// Whether channel `index` of `channels` may have this transform.
LIQUID_HOST_DEVICE inline bool L3ColourAllowed(L3Colour colour, uint32_t index,
                                               uint32_t channels) {
  switch (colour) {
    case L3Colour::kPlain:
      return true;
    case L3Colour::kLessGreen:
      return channels >= 3 && (index == 0 || index == 2);
    case L3Colour::kLessMean:
      return channels >= 3 && index == 2;
  }
  return false;
}

// `count` (0..16) bits from bit `at` on, the least significant first. Reads no
// byte that holds none of them.
LIQUID_HOST_DEVICE inline uint32_t L3Bits(const uint8_t* bytes, uint32_t at,
                                          uint32_t count) {
  if (count == 0) return 0;
  const uint32_t first = at / 8;
  const uint32_t last = (at + count - 1) / 8;
  uint32_t word = 0;
  for (uint32_t i = first; i <= last; ++i) {
    word |= uint32_t{bytes[i]} << (8 * (i - first));
  }
  return word >> (at % 8) & ((1u << count) - 1);
}

// Version 1 -----------------------------------------------------------------

LIQUID_HOST_DEVICE inline uint32_t L3V1RowBytes(uint32_t bits,
                                                uint32_t pixels) {
  return (12 + bits * pixels + 7) / 8;
}

// Pixel `x` of the row, relative to the prediction.
LIQUID_HOST_DEVICE inline uint8_t L3V1Residual(const uint8_t* row,
                                               uint32_t bits, uint32_t x) {
  return static_cast<uint8_t>(L3Bits(row, 4, 8) +
                              L3Bits(row, 12 + bits * x, bits));
}

// The prediction from top-left, top and top-right. A 0 stands for a missing
// neighbour, whether it is one or not; and the middle comparison is of pa with
// pc, as the released code has it.
LIQUID_HOST_DEVICE inline uint8_t L3V1Predict(uint8_t a, uint8_t b, uint8_t c) {
  const int from_a = c - b, from_b = a + c - 2 * b, from_c = a - b;
  const int pa = from_a < 0 ? -from_a : from_a;
  const int pb = from_b < 0 ? -from_b : from_b;
  const int pc = from_c < 0 ? -from_c : from_c;
  if (a == 0) return pb <= pc ? b : c;
  if (c == 0) return pa <= pb ? a : b;
  if (pa <= pb && pa <= pc) return a;
  return pa <= pc ? b : c;
}

// Version 2 -----------------------------------------------------------------

// Fields of a channel's word.
LIQUID_HOST_DEVICE inline uint32_t L3PredictorOf(uint32_t word) {
  return word & 3;
}
LIQUID_HOST_DEVICE inline uint32_t L3ColourOf(uint32_t word) {
  return word >> 2 & 3;
}
LIQUID_HOST_DEVICE inline uint32_t L3WidthSetOf(uint32_t word) {
  return word >> 4 & 0x1FFFF;
}
LIQUID_HOST_DEVICE inline uint32_t L3BaseOf(uint32_t word) {
  return word >> 24;
}

// Turns a set of widths (bit n: width n) into a table, ascending, and returns
// the bits of a code. Entries that the set does not fill are 0.
LIQUID_HOST_DEVICE inline uint32_t L3WidthTable(uint32_t set,
                                                uint8_t table[16]) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < 16; ++i) table[i] = 0;
  for (uint32_t n = 0; n <= 16; ++n) {
    if ((set >> n & 1) != 0 && count < 16) {
      table[count++] = static_cast<uint8_t>(n);
    }
  }
  uint32_t bits = 0;
  while ((1u << bits) < count) ++bits;
  return bits;
}

// Pixel `k` of a group of width `bits`, relative to the prediction, modulo 2^8
// or 2^16.
LIQUID_HOST_DEVICE inline uint32_t L3Residual(const uint8_t* group,
                                              uint32_t bits, uint32_t k) {
  if (bits == 0) return 0;
  return L3Bits(group, bits * k, bits) - (1u << (bits - 1));
}

// Three quarters of a difference modulo 2^8 (int8_t) or 2^16 (int16_t), rounded
// up.
template <typename Signed>
LIQUID_HOST_DEVICE inline uint32_t L3ThreeQuarters(uint32_t difference) {
  return difference -
         static_cast<uint32_t>(static_cast<Signed>(difference) >> 2);
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_ARITHMETIC_H_
