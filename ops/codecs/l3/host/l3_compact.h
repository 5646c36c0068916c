// The arithmetic of profile 1 of version 2, which docs/formats/l3.md calls
// compact, and what its patches are made of.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_COMPACT_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_COMPACT_H_

#include <cstdint>
#include <string>
#include <type_traits>

#include "ops/codecs/l3/host/l3_compact_tables.h"
#include "ops/codecs/l3/host/l3_format.h"
#include "ops/codecs/l3/host/l3_rows.h"

namespace liquid {

// By min(S, 60 + floor(S / 16)), for 8 bits.
struct alignas(64) L3KTables {
  uint8_t k[kL3KMaps][128] = {};
};

constexpr L3KTables MakeL3KTables() {
  L3KTables tables;
  for (uint32_t map = 0; map < kL3KMaps; ++map) {
    for (uint32_t i = 0; i < 128; ++i) {
      const uint32_t sum = i < 64 ? i : 16 * (i - 60);
      for (uint32_t j = 0; j < 7; ++j) {
        tables.k[map][i] = static_cast<uint8_t>(
            tables.k[map][i] + (kL3KThresholds[map][j] <= sum));
      }
    }
  }
  return tables;
}

inline constexpr L3KTables kL3KTables = MakeL3KTables();

inline uint32_t L3KOf(const uint32_t* thresholds, uint32_t sum, uint32_t most) {
  uint32_t k = 0;
  while (k < most && thresholds[k] <= sum) ++k;
  return k;
}

// What `predictor` adds to the left pixel: one term for each of `pixels`, a
// multiple of 8. Not for kTop.
template <typename Sample>
void L3SlopeTerms(L3CompactPredictor predictor, const Sample* above,
                  uint32_t pixels, Sample* terms) {
  using Signed = std::make_signed_t<Sample>;
  Signed slopes[kL3V2Patch + 2] = {};  // one pixel of 0 on both sides
  for (uint32_t x = 1; x < pixels; ++x) {
    slopes[x + 1] = static_cast<Signed>(above[x] - above[x - 1]);
  }
  const bool smooth = predictor == L3CompactPredictor::kSmooth ||
                      predictor == L3CompactPredictor::kSmoothThreeQuarter;
  const bool part = predictor == L3CompactPredictor::kThreeQuarter ||
                    predictor == L3CompactPredictor::kSmoothThreeQuarter;
  for (uint32_t x = 0; x < pixels; ++x) {
    int slope = predictor == L3CompactPredictor::kLeft ? 0 : slopes[x + 1];
    if (smooth)
      slope = (((slopes[x] + slopes[x + 2] + 1) >> 1) + slope + 1) >> 1;
    terms[x] = static_cast<Sample>(part ? slope - (slope >> 2) : slope);
  }
}

// A channel of a patch of residuals.
struct L3RiceChannel {
  L3CompactPredictor predictors[kL3Bands];
  L3Colour colour;
  uint32_t map;
  const uint32_t* thresholds;  // of the map
  uint32_t zero_limit;
  uint32_t first_k;  // of all groups of row 0
  uint32_t base;     // sample left of the first, in the plane's own values
  const uint8_t* begin;
  const uint8_t* end;
};

struct L3RicePatch {
  uint32_t width, height;
  uint32_t channels, bits;
  L3RiceChannel channel[kL3MaxChannels];
};

// A patch of few colours.
struct L3FlatPatch {
  uint32_t width, height;
  uint32_t channels, bits;
  uint32_t colours;
  const uint8_t* palette;  // of the first channel, then of the next
  const uint8_t* begin;
  const uint8_t* end;
};

// As L3RowDecoders of l3_rows.h. kShort is also what a code of too many zeros
// and an unknown colour are.
L3RowsResult DecodeL3Rice(const L3RicePatch& patch, const L3Rows& rows,
                          const uint8_t** stopped);
L3RowsResult DecodeL3Flat(const L3FlatPatch& patch, const L3Rows& rows,
                          const uint8_t** stopped);

// A patch of either kind.
struct L3CompactPatch {
  bool flat;
  L3RicePatch rice;     // if not flat
  L3FlatPatch colours;  // if flat
};

// Reads the headers of a patch of at least 6 bytes, whose checksum is right.
// On failure `*error` says what is wrong and `*at` at which of its bytes.
bool ParseL3Compact(const uint8_t* bytes, size_t size, const ImageInfo& image,
                    uint32_t width, uint32_t height, L3CompactPatch* patch,
                    std::string* error, size_t* at);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_COMPACT_H_
