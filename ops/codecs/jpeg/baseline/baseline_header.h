// The header of a JPEG file that the decoder of our own takes.
#ifndef LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_HEADER_H_
#define LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_HEADER_H_

#include <cstddef>
#include <cstdint>

#include "ops/core/span.h"

namespace liquid {

inline constexpr uint32_t kBlockSide = 8;
inline constexpr uint32_t kBlockSize = 64;  // coefficients of a block

// Where the coefficients of a scan lie in a block, row by row. What is past the
// last goes to place 64: no store needs a check.
inline constexpr uint32_t kPlaces = 320;
extern const uint8_t kNaturalOrder[kPlaces];

// A Huffman table as the file has it, inside the file's bytes.
struct BaselineHuffman {
  const uint8_t* counts = nullptr;  // 16: codes of 1 bit, 2 bits, ...
  const uint8_t* symbols = nullptr;
};

struct BaselineComponent {
  uint8_t quantization = 0;
  uint8_t dc = 0, ac = 0;  // tables
};

struct BaselineHeader {
  uint32_t height = 0;
  uint32_t width = 0;
  uint32_t components = 0;  // 1: gray, 3: YCbCr
  // Luma's samples for one of chroma.
  uint32_t h = 1, v = 1;
  BaselineComponent component[3];
  uint16_t quantization[4][kBlockSize] = {};  // in rows
  BaselineHuffman dc[4], ac[4];
  uint32_t restart_interval = 0;  // in MCUs; 0: none
  size_t scan = 0;                // offset of the entropy-coded data
};

// Reads the header up to the data of the first scan. False for a file that is
// not one for this decoder: it is another kind, or something about it is odd.
// Nothing is said about why, since libjpeg-turbo takes such a file.
bool ReadBaselineHeader(ByteSpan jpeg, BaselineHeader* header);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_HEADER_H_
