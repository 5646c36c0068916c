// The numbers of profile 1 of version 2, for the host and for a device.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_COMPACT_TABLES_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_COMPACT_TABLES_H_

#include "ops/codecs/l3/host/l3_arithmetic.h"

namespace liquid {

constexpr uint32_t kL3Bands = 4;        // of a patch, each with a predictor
constexpr uint32_t kL3BandRows = 16;    // rows of a band
constexpr uint32_t kL3LongestRun = 24;  // zeros of a code: then it is an escape
constexpr uint32_t kL3MaxColours = 256;
constexpr uint32_t kL3FewColours = 3;     // up to which changes are literals
constexpr uint32_t kL3ChannelHeader = 6;  // bytes

// The largest segment of a channel: every pixel an escape, every group flagged.
constexpr uint32_t kL3MaxSegmentBytes =
    kL3V2Patch * kL3V2Patch * (kL3LongestRun + 1) / 8 + kL3V2Patch +
    kL3V2Patch * kL3V2Patch * 2;
constexpr uint32_t kL3CompactMaxPatchBytes =
    4 + kL3MaxChannels * (kL3ChannelHeader + kL3MaxSegmentBytes);

enum class L3CompactPredictor : uint8_t {
  kTop = 0,                 // the pixel above
  kLeft = 1,                // the pixel to the left
  kGradient = 2,            // left + the slope of the row above
  kThreeQuarter = 3,        // left + three quarters of it
  kSmooth = 4,              // left + the mean slope of three pixels
  kSmoothThreeQuarter = 5,  // left + three quarters of that
};
constexpr uint32_t kL3CompactPredictors = 6;

// A group whose residuals have the sum of magnitudes S takes k bits as they
// are, where k is how many numbers of its channel's row are at most S. Those
// from 64 on are multiples of 16, so that tables of 128 entries suffice.
constexpr uint32_t kL3KMaps = 16;
constexpr uint32_t kL3KThresholds[kL3KMaps][15] = {
    {4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768,
     65536},
    {5, 10, 20, 39, 80, 160, 304, 608, 1216, 2432, 4864, 9744, 19488, 38976,
     77936},
    {6, 12, 23, 46, 96, 176, 368, 720, 1456, 2896, 5792, 11584, 23168, 46336,
     92688},
    {7, 14, 27, 54, 112, 224, 432, 864, 1728, 3440, 6896, 13776, 27552, 55104,
     110224},
    {8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536,
     131072},
    {10, 20, 39, 80, 160, 304, 608, 1216, 2432, 4864, 9744, 19488, 38976, 77936,
     155872},
    {12, 23, 46, 96, 176, 368, 720, 1456, 2896, 5792, 11584, 23168, 46336,
     92688, 185360},
    {14, 27, 54, 112, 224, 432, 864, 1728, 3440, 6896, 13776, 27552, 55104,
     110224, 220432},
    {4, 9, 21, 46, 96, 224, 512, 1168, 2624, 5920, 13296, 29936, 67344, 151504,
     262144},
    {5, 11, 25, 55, 128, 272, 624, 1392, 3120, 7024, 15824, 35584, 80080,
     180176, 262144},
    {6, 13, 29, 64, 144, 320, 736, 1648, 3712, 8368, 18816, 42320, 95232,
     214272, 262144},
    {7, 16, 35, 80, 176, 384, 880, 1968, 4416, 9936, 22368, 50336, 113248,
     254800, 262144},
    {8, 18, 41, 96, 208, 464, 1040, 2336, 5248, 11824, 26608, 59856, 134672,
     262144, 262144},
    {10, 22, 49, 112, 240, 544, 1232, 2784, 6256, 14064, 31632, 71184, 160160,
     262144, 262144},
    {12, 26, 58, 128, 288, 656, 1472, 3296, 7440, 16720, 37616, 84656, 190464,
     262144, 262144},
    {14, 31, 64, 160, 352, 784, 1744, 3936, 8832, 19888, 44736, 100672, 226496,
     262144, 262144}};

// Groups with an S below this have a flag that says whether they are 0.
constexpr uint32_t kL3ZeroLimits[4] = {0, 1, 3, 8};

// The most bits that a residual may store as they are.
LIQUID_HOST_DEVICE constexpr uint32_t L3MaxK(uint32_t bits) {
  return bits == 8 ? 7 : 15;
}

// Bits of a literal among `colours`, one of which it is not.
LIQUID_HOST_DEVICE inline uint32_t L3LiteralBits(uint32_t colours) {
  uint32_t bits = 0;
  while ((1u << bits) + 1 < colours) ++bits;
  return bits;
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_COMPACT_TABLES_H_
