// Huffman tables that give two coefficients a look-up.
#ifndef LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_HUFFMAN_H_
#define LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_HUFFMAN_H_

#include <cstdint>

#include "ops/codecs/jpeg/baseline/baseline_header.h"

namespace liquid {

inline constexpr uint32_t kPairBits = 11;
// What the end of a block adds to the place of the next coefficient: more than
// a block has, so that the end ends the loop, and that it shows.
inline constexpr uint32_t kBlockEnd = 128;

// What the next 11 bits mean: one or two values, each behind a run of zeros. An
// end of a block is a value of no place.
struct PairEntry {
  uint8_t bits;     // of all of it; 0: no code of at most 11 bits, or too odd
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
  const uint8_t* symbols;
};

struct HuffmanPair {
  HuffmanCodes codes;
  PairEntry entries[1 << kPairBits];
};

// False where libjpeg-turbo refuses the table.
bool BuildHuffmanCodes(const BaselineHuffman& table, bool dc,
                       HuffmanCodes* codes);

// Makes the tables of a component: `ac` for what follows a coefficient of AC,
// `dc` for a block's start.
bool BuildHuffmanPairs(const BaselineHuffman& dc_table,
                       const BaselineHuffman& ac_table, HuffmanPair* dc,
                       HuffmanPair* ac);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_HUFFMAN_H_
