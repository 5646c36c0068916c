// One channel of a patch of residuals of profile 1, from its plane to bytes.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_RICE_ENCODE_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_RICE_ENCODE_H_

#include <cstdint>

#include "ops/codecs/l3/host/l3_compact.h"
#include "ops/codecs/l3/host/l3_planes.h"

namespace liquid {

template <typename Sample>
class L3RiceEncoder {
 public:
  explicit L3RiceEncoder(Effort effort) : effort_(effort) {}

  // Roughly the bits that a plane takes: enough to choose between planes.
  uint32_t Cost(const L3Plane<Sample>& plane, uint32_t height, uint32_t groups);

  // Writes the header of the channel and its segment of up to
  // kL3MaxSegmentBytes, whose bytes it returns.
  uint32_t Encode(const L3Plane<Sample>& plane, uint32_t height,
                  uint32_t groups, L3Colour colour, uint8_t* header,
                  uint8_t* segment);

 private:
  using Row = Sample[kL3V2Patch];

  void Residuals(const L3Plane<Sample>& plane, uint32_t y,
                 L3CompactPredictor predictor, Sample* residuals) const;
  uint32_t RowCost(const Sample* residuals) const;
  L3CompactPredictor Choose(const L3Plane<Sample>& plane, uint32_t begin,
                            uint32_t end, uint32_t* cost) const;
  void Fold();
  uint32_t ChooseFirstK() const;
  uint32_t ChooseMap() const;

  const Effort effort_;
  uint32_t height_ = 0, groups_ = 0;
  Row residuals_[kL3V2Patch];
  Row folded_[kL3V2Patch];  // 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
  uint32_t sums_[kL3V2Patch][kL3Groups];  // of the residuals' magnitudes
  uint8_t bytes_[kL3V2Patch * kL3V2Patch * 4 + 16];  // filled from the end
};

extern template class L3RiceEncoder<uint8_t>;
extern template class L3RiceEncoder<uint16_t>;

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_RICE_ENCODE_H_
