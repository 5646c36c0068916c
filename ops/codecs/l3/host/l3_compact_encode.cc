#include "ops/codecs/l3/host/l3_compact_encode.h"

#include "ops/codecs/l3/host/l3_colours.h"

namespace liquid {

template <typename Sample>
void L3CompactEncoder<Sample>::Encode(uint32_t number, uint32_t x0, uint32_t y0,
                                      std::string* out) {
  planes_.Load(info_, pixels_, x0, y0);
  const uint32_t channels = info_.channels;
  // Before the planes lose their colours.
  const uint32_t flat = EncodeL3Flat(planes_, channels, flat_bytes_ + 4);
  L3Colour colours[kL3MaxChannels];
  ChooseL3Colours(
      channels,
      [this](const L3Plane<Sample>& plane) {
        return rice_.Cost(plane, planes_.height, planes_.groups);
      },
      &planes_, colours);
  uint8_t* at = rice_bytes_ + 4 + kL3ChannelHeader * channels;
  for (uint32_t c = 0; c < channels; ++c) {
    at += rice_.Encode(planes_.of[c], planes_.height, planes_.groups,
                       colours[c], rice_bytes_ + 4 + kL3ChannelHeader * c, at);
  }
  const size_t rice = static_cast<size_t>(at - rice_bytes_);
  if (flat != 0 && 4 + flat < rice) {
    AppendL3Patch(number, flat_bytes_, 4 + flat, out);
  } else {
    AppendL3Patch(number, rice_bytes_, rice, out);
  }
}

template class L3CompactEncoder<uint8_t>;
template class L3CompactEncoder<uint16_t>;

}  // namespace liquid
