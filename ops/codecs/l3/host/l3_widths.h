// Which widths a channel of a patch keeps: the encoder's one real choice.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_WIDTHS_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_WIDTHS_H_

#include <cstdint>

namespace liquid {

constexpr uint32_t kL3Widths = 17;  // 0..16

// Given how many groups need each width, finds the set of widths (bit n: width
// n) that makes payload and codes smallest, where a group takes the smallest
// width of the set that is enough, and a row of codes takes b bytes for a set
// of up to 2^b widths. Returns the bytes of payload and of `rows` rows of
// codes. The set is never empty and holds at most 16 widths. O(16 * 17^2).
uint32_t ChooseL3Widths(const uint32_t groups[kL3Widths], uint32_t rows,
                        uint32_t* set);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_WIDTHS_H_
