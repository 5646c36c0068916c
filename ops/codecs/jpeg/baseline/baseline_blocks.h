// MCUs, the units of a scan: a block or more of each component.
#ifndef LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_BLOCKS_H_
#define LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_BLOCKS_H_

#include <cstddef>
#include <cstdint>

#include "ops/codecs/jpeg/baseline/baseline_huffman.h"
#include "ops/codecs/jpeg/baseline/baseline_scan.h"

namespace liquid {

// A block of each MCU, and where its coefficients go.
struct McuBlock {
  const HuffmanTables* tables;
  uint32_t component;
  // The block of the first MCU, of 64 coefficients in rows; one more is written
  // to. The next MCU's is `step` coefficients further on.
  int16_t* coefficients;
  size_t step;
};

struct Mcus {
  McuBlock blocks[BaselineScan::kMaxBlocks];
  uint32_t count;  // of blocks of an MCU
};

// MCUs that are still to be decoded, one behind the other. Decoding moves it
// on.
struct McuRun {
  // Blocks of the next MCU.
  Mcus mcus;
  uint32_t block = 0;  // the next of that MCU
  uint32_t count = 0;  // MCUs
  BaselineScan* scan = nullptr;
  int32_t* dc = nullptr;  // of each component's last block

  // While it is decoded. What each look-up needs is in registers instead, of
  // which there are too few for all.
  const uint8_t* next = nullptr;       // byte that follows those of the word
  const PairEntry* entries = nullptr;  // of AC
};

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_BLOCKS_H_
