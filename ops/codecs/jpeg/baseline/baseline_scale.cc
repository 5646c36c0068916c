#include "ops/codecs/jpeg/baseline/baseline_scale.h"

#include <algorithm>

namespace liquid {

BaselineScale::BaselineScale(const BaselineHeader& header, uint32_t denominator)
    : luma_log2(denominator == 1   ? 3
                : denominator == 2 ? 2
                : denominator == 4 ? 1
                                   : 0),
      chroma_log2(luma_log2),
      h(header.h),
      v(header.v),
      smooth(luma_log2 > 0) {
  if (luma_log2 < 3 && h == 2 && v == 2) {
    ++chroma_log2;
    h = v = 1;
  }
  const auto scaled = [](uint32_t samples, uint32_t parts) {
    return (samples + parts - 1) / parts;
  };
  height = scaled(header.height, denominator);
  width = scaled(header.width, denominator);
  // Of luma's whole size: the sampling's part, and the scale's.
  const uint32_t chroma_denominator = kBlockSide >> chroma_log2;
  chroma_height = scaled(header.height, header.v * chroma_denominator);
  chroma_width = scaled(header.width, header.h * chroma_denominator);
}

McuRange FindMcus(const BaselineScale& scale, const Window& window) {
  McuRange range;
  uint32_t left = window.x / scale.h;
  uint32_t right = (window.x + window.width - 1) / scale.h;
  if (scale.smooth && scale.h == 2) {
    left -= left > 0;
    right = std::min(right + 1, scale.chroma_width - 1);
  }
  range.first_column = left >> scale.chroma_log2;
  range.end_column = (right >> scale.chroma_log2) + 1;
  const uint32_t last_y = window.y + window.height - 1;
  uint32_t top = window.y / scale.v, bottom = last_y / scale.v;
  if (scale.smooth && scale.v == 2) {
    top -= top > 0 && window.y % 2 == 0;
    bottom = std::min(bottom + last_y % 2, scale.chroma_height - 1);
  }
  range.first_row = top >> scale.chroma_log2;
  range.end_row = (bottom >> scale.chroma_log2) + 1;
  return range;
}

}  // namespace liquid
