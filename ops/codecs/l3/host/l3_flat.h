// Masks of the pixels of a row (bit x: pixel x), which say what a patch of few
// colours stores of the next one.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_FLAT_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_FLAT_H_

#include <cstdint>

#include "ops/codecs/l3/host/l3_arithmetic.h"
#include "ops/codecs/l3/host/l3_compact.h"

namespace liquid {

inline uint64_t L3GroupOf(uint32_t group) {
  return uint64_t{0xFF} << (kL3Group * group);
}

// Bits of an index into a palette of 1 to 256 colours.
inline uint32_t L3IndexBits(uint32_t colours) {
  uint32_t bits = 0;
  while (1u << bits < colours) ++bits;
  return bits;
}

// What takes the rows of a patch, as indices into its palette: bit x of number
// j of `planes` is bit j of the index of pixel x.
class L3FlatSink {
 public:
  // Rows [begin, end), which are equal.
  virtual void Take(const uint64_t* planes, uint32_t begin, uint32_t end) = 0;

 protected:
  ~L3FlatSink() = default;
};

struct L3Edges {
  uint64_t all;     // pixels of the patch
  uint64_t before;  // whose left pixel is of another colour
  uint64_t after;   // whose right pixel is
  uint64_t Both() const { return before | after; }
};

inline L3Edges FindL3Edges(const uint8_t* row, uint32_t width) {
  L3Edges edges = {~uint64_t{0} >> (kL3V2Patch - width), 0, 0};
  for (uint32_t x = 1; x < width; ++x) {
    edges.before |= uint64_t{row[x] != row[x - 1]} << x;
  }
  edges.after = edges.before >> 1;
  return edges;
}

// Changed pixels that may have the colour of their left one: not where that is
// known to have the colour above.
inline uint64_t L3MayBeLeft(const L3Edges& edges, uint64_t changed) {
  return changed << 1 | edges.before;
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_FLAT_H_
