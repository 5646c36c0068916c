// Huffman tables that give two coefficients a look-up.
#ifndef LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_HUFFMAN_H_
#define LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_HUFFMAN_H_

#include <cstdint>

#include "ops/codecs/jpeg/baseline/baseline_header.h"

namespace liquid {

// Bits that a look-up takes. More of them find more pairs, and a table that
// leaves the processor's first cache sooner.
inline constexpr uint32_t kPairBits = 10;
inline constexpr uint32_t kDcPairBits = 8;  // at the start of a block
// What the end of a block adds to the place of the next coefficient: more than
// a block has, so that the end ends the loop, and that it shows.
inline constexpr uint32_t kBlockEnd = 128;

// What an entry of no code adds to it: so much that the place is past a block's
// end, and where no end is.
inline constexpr uint32_t kNoCode = 255;

// What the next bits mean: one or two values, each behind a run of zeros. An
// end of a block is a value of no place.
struct PairEntry {
  uint8_t bits;     // of all of it; 0: the code is longer, or odd (kNoCode)
  uint8_t offset;   // of the first value from the next place
  uint8_t advance;  // of the place; the second value is just before that
  uint8_t missing;  // low bits of the first value that are still to be added
  int16_t first, second;
};

// A table of codes, and its symbols looked up one by one.
struct HuffmanCodes {
  // The codes of n bits, as 16 bits, lie below end[n], which is 0 where there
  // is none. code + delta[n], of n bits, is the symbol's index.
  uint32_t end[17];
  int32_t delta[17];
  // Codes of fewer bits than a look-up takes lie below this one.
  uint32_t short_end;
  const uint8_t* symbols;
};

// What a component's blocks are decoded with.
struct HuffmanTables {
  HuffmanCodes dc_codes, ac_codes;
  PairEntry dc[1 << kDcPairBits];
  PairEntry ac[1 << kPairBits];
};

// The codes of a table, of which a look-up takes `looked_up` bits. False where
// libjpeg-turbo refuses the table.
bool BuildHuffmanCodes(const BaselineHuffman& table, bool dc,
                       uint32_t looked_up, HuffmanCodes* codes);

// False where libjpeg-turbo refuses a table.
bool BuildHuffmanTables(const BaselineHuffman& dc, const BaselineHuffman& ac,
                        HuffmanTables* tables);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_HUFFMAN_H_
