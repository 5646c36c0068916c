// The size that a file is decoded at, by libjpeg-turbo's rules.
#ifndef LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_SCALE_H_
#define LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_SCALE_H_

#include <cstdint>

#include "ops/codecs/codec_types.h"
#include "ops/codecs/jpeg/baseline/baseline_header.h"

namespace liquid {

// At 1/1, 1/2, 1/4 or 1/8 of it, a block gives 8, 4, 2 or 1 samples a side.
// Chroma gives twice as many if it then has as many as luma in both directions.
struct BaselineScale {
  BaselineScale(const BaselineHeader& header, uint32_t denominator);

  uint32_t luma_log2, chroma_log2;  // of a block's samples a side
  uint32_t h, v;                    // luma's samples for one of chroma
  // At 1/8, chroma is repeated; else what is between its samples is made.
  bool smooth;
  uint32_t height, width;
  uint32_t chroma_height, chroma_width;
};

// A rectangle of MCUs.
struct McuRange {
  uint32_t first_column, end_column;
  uint32_t first_row, end_row;
};

// The MCUs that hold the samples which a window's pixels come from.
McuRange FindMcus(const BaselineScale& scale, const Window& window);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_SCALE_H_
