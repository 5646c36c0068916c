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

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_BLOCKS_H_
