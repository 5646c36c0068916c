#include "ops/codecs/l3/host/l3_widths.h"

#include <algorithm>

namespace liquid {

uint32_t ChooseL3Widths(const uint32_t groups[kL3Widths], uint32_t rows,
                        uint32_t* set) {
  // Only widths that some group needs are worth keeping.
  uint32_t widths[kL3Widths];
  uint32_t sums[kL3Widths + 1] = {0};  // groups of the first i widths
  uint32_t count = 0;
  for (uint32_t n = 0; n < kL3Widths; ++n) {
    if (groups[n] == 0) continue;
    widths[count] = n;
    sums[count + 1] = sums[count] + groups[n];
    ++count;
  }
  if (count == 0) {
    *set = 1;
    return 0;
  }
  // payload[k][i]: the least for the first i + 1 widths with at most k + 1
  // kept, the last of them the i-th; before[k][i]: the one kept before it, or
  // -1.
  uint32_t payload[16][kL3Widths];
  int before[16][kL3Widths];
  const uint32_t most = std::min(count, 16u);
  for (uint32_t i = 0; i < count; ++i) {
    payload[0][i] = widths[i] * sums[i + 1];
    before[0][i] = -1;
  }
  for (uint32_t k = 1; k < most; ++k) {
    for (uint32_t i = 0; i < count; ++i) {
      payload[k][i] = payload[0][i];
      before[k][i] = -1;
      for (uint32_t j = 0; j < i; ++j) {
        const uint32_t bytes =
            payload[k - 1][j] + widths[i] * (sums[i + 1] - sums[j + 1]);
        if (bytes < payload[k][i]) {
          payload[k][i] = bytes;
          before[k][i] = static_cast<int>(j);
        }
      }
    }
  }
  uint32_t best = UINT32_MAX, best_kept = 1;
  for (uint32_t bits = 0; bits <= 4; ++bits) {
    const uint32_t kept = std::min(1u << bits, most);
    const uint32_t bytes = payload[kept - 1][count - 1] + bits * rows;
    if (bytes < best) {
      best = bytes;
      best_kept = kept;
    }
    if (kept == most) break;
  }
  *set = 0;
  int i = static_cast<int>(count) - 1;
  for (int k = static_cast<int>(best_kept) - 1; i >= 0; --k) {
    *set |= 1u << widths[i];
    i = before[k][i];
  }
  return best;
}

}  // namespace liquid
