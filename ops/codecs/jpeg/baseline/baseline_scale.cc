#include "ops/codecs/jpeg/baseline/baseline_scale.h"

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

}  // namespace liquid
