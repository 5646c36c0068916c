// The inner loops of L3: from the bytes of one patch to rows of pixels.
//
// There is one set of them per target (l3_targets.h). They check that a patch
// does not end early; everything else was checked before.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_ROWS_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "ops/codecs/l3/host/l3_format.h"

// How fast a loop is may depend on where it lies.
#define LIQUID_L3_ALIGNED __attribute__((aligned(64)))

namespace liquid {

// Bytes after a patch that may be read, never interpreted.
constexpr size_t kL3Padding = 64;

struct L3V1Patch {
  uint32_t width, height;
  const uint8_t* begin[3];  // R, G, B
  const uint8_t* end[3];
};

struct L3Channel {
  L3Predictor predictor;
  L3Colour colour;
  uint32_t code_bits;
  uint32_t base;       // sample left of the first, in the plane's own values
  uint8_t widths[16];  // by code
  const uint8_t* codes;
};

struct L3V2Patch {
  uint32_t width, height;
  uint32_t channels, bits;
  L3Channel channel[kL3MaxChannels];
  const uint8_t* payload;
  const uint8_t* end;
};

struct L3RicePatch;
struct L3FlatPatch;

enum class L3RowsResult : uint8_t {
  kOk,
  kShort,    // a row reaches past the patch's end
  kLong,     // bytes are left after the last row
  kBadWidth  // version 1: a row of more than 8 bits
};

// Decode rows [0, rows.row_end) and write those of `rows`. kLong is only found
// where the last row is among them. `*stopped` is where a bad row begins.
struct L3RowDecoders {
  L3RowsResult (*v1)(const L3V1Patch& patch, const L3Rows& rows,
                     const uint8_t** stopped);
  L3RowsResult (*v2_8)(const L3V2Patch& patch, const L3Rows& rows,
                       const uint8_t** stopped);
  L3RowsResult (*v2_16)(const L3V2Patch& patch, const L3Rows& rows,
                        const uint8_t** stopped);
  // Profile 1, of 8 or 16 bits. kShort is also a code of too many zeros, and a
  // colour that there is not.
  L3RowsResult (*rice)(const L3RicePatch& patch, const L3Rows& rows,
                       const uint8_t** stopped);
  L3RowsResult (*flat)(const L3FlatPatch& patch, const L3Rows& rows,
                       const uint8_t** stopped);
  // Version 1's predictions of a row, for the encoder. above[0] and
  // above[width + 1] are 0; up to 32 bytes after `width` are read and written.
  void (*predict_v1)(const uint8_t* above, uint32_t width, uint8_t* predicted);
};

extern const L3RowDecoders kL3ScalarDecoders;
#if defined(__x86_64__)
extern const L3RowDecoders kL3Avx2Decoders;
extern const L3RowDecoders kL3Avx512Decoders;
#elif defined(__aarch64__)
extern const L3RowDecoders kL3NeonDecoders;
#endif

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_ROWS_H_
