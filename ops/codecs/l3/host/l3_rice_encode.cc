#include "ops/codecs/l3/host/l3_rice_encode.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <vector>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/l3/host/l3_bits.h"

namespace liquid {
namespace {

constexpr uint32_t kMaxKs = 16;

// Sums of magnitudes that no choice tells apart, as classes; and what each row
// of thresholds makes of them.
struct Classes {
  std::vector<uint32_t> begins;      // ascending, the first is 0
  std::vector<uint8_t> k[kL3KMaps];  // by class
  uint32_t zero_ends[4];             // classes below each of kL3ZeroLimits
};

Classes MakeClasses(uint32_t bits) {
  Classes classes;
  std::vector<uint32_t>& begins = classes.begins;
  begins.assign({0, 1, 3, 8});
  for (const auto& thresholds : kL3KThresholds) {
    begins.insert(begins.end(), thresholds, thresholds + L3MaxK(bits));
  }
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  for (uint32_t map = 0; map < kL3KMaps; ++map) {
    for (const uint32_t sum : begins) {
      classes.k[map].push_back(
          static_cast<uint8_t>(L3KOf(kL3KThresholds[map], sum, L3MaxK(bits))));
    }
  }
  for (uint32_t i = 0; i < 4; ++i) {
    classes.zero_ends[i] = static_cast<uint32_t>(
        std::lower_bound(begins.begin(), begins.end(), kL3ZeroLimits[i]) -
        begins.begin());
  }
  return classes;
}

template <typename Sample>
const Classes& ClassesOf() {
  static const Classes classes = MakeClasses(8 * sizeof(Sample));
  return classes;
}

// Bits of a group whose magnitudes have this sum, under a good k.
uint32_t GroupCost(uint32_t sum) {
  if (sum == 0) return 2;  // often a flag
  const uint32_t sixths = sum / 6;
  const uint32_t k =
      sixths == 0 ? 0 : 32 - static_cast<uint32_t>(__builtin_clz(sixths));
  return kL3Group * (1 + k) + (2 * sum >> k);
}

// Bits of a group under a k.
template <typename Sample>
uint32_t GroupCost(const Sample* folded, uint32_t k) {
  constexpr uint32_t kEscape = kL3LongestRun + 8 * sizeof(Sample);
  uint32_t bits = kL3Group * (1 + k);
  for (uint32_t i = 0; i < kL3Group; ++i) {
    const uint32_t zeros = folded[i] >> k;
    bits += zeros < kL3LongestRun ? zeros : kEscape;
  }
  return bits;
}

}  // namespace

template <typename Sample>
void L3RiceEncoder<Sample>::Residuals(const L3Plane<Sample>& plane, uint32_t y,
                                      L3CompactPredictor predictor,
                                      Sample* residuals) const {
  const uint32_t pixels = groups_ * kL3Group;
  const Sample* const row = plane[y];
  const Sample* const above = plane[y - 1];
  if (predictor == L3CompactPredictor::kTop) {
    for (uint32_t x = 0; x < pixels; ++x) {
      residuals[x] = static_cast<Sample>(row[x] - above[x]);
    }
    return;
  }
  Sample terms[kL3V2Patch] = {};
  L3SlopeTerms(predictor, above, pixels, terms);
  residuals[0] = static_cast<Sample>(row[0] - above[0] - terms[0]);
  for (uint32_t x = 1; x < pixels; ++x) {
    residuals[x] = static_cast<Sample>(row[x] - row[x - 1] - terms[x]);
  }
}

template <typename Sample>
uint32_t L3RiceEncoder<Sample>::RowCost(const Sample* residuals) const {
  using Signed = std::make_signed_t<Sample>;
  uint32_t bits = 0;
  for (uint32_t g = 0; g < groups_; ++g) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < kL3Group; ++i) {
      sum += static_cast<uint32_t>(
          std::abs(int{static_cast<Signed>(residuals[g * kL3Group + i])}));
    }
    bits += GroupCost(sum);
  }
  return bits;
}

// Finds the predictor of rows [begin, end), begin > 0.
template <typename Sample>
L3CompactPredictor L3RiceEncoder<Sample>::Choose(const L3Plane<Sample>& plane,
                                                 uint32_t begin, uint32_t end,
                                                 uint32_t* cost) const {
  const uint32_t step = effort_ == Effort::kFast      ? 4
                        : effort_ == Effort::kDefault ? 2
                                                      : 1;
  uint32_t best = 0;
  *cost = UINT32_MAX;
  Row residuals;
  for (uint32_t p = 0; p < kL3CompactPredictors; ++p) {
    uint32_t bits = 0;
    for (uint32_t y = begin; y < end; y += step) {
      Residuals(plane, y, static_cast<L3CompactPredictor>(p), residuals);
      bits += RowCost(residuals);
    }
    if (bits < *cost) {
      *cost = bits;
      best = p;
    }
  }
  return static_cast<L3CompactPredictor>(best);
}

template <typename Sample>
uint32_t L3RiceEncoder<Sample>::Cost(const L3Plane<Sample>& plane,
                                     uint32_t height, uint32_t groups) {
  height_ = height;
  groups_ = groups;
  uint32_t bits = 0;
  if (effort_ == Effort::kBest) {
    for (uint32_t y = 1; y < height; y += kL3BandRows) {
      uint32_t cost;
      Choose(plane, y, std::min(height, y + kL3BandRows), &cost);
      bits += cost;
    }
    return bits;
  }
  Row residuals;
  for (uint32_t y = 1; y < height; y += 4) {
    Residuals(plane, y, L3CompactPredictor::kThreeQuarter, residuals);
    bits += RowCost(residuals);
  }
  return bits;
}

template <typename Sample>
void L3RiceEncoder<Sample>::Fold() {
  using Signed = std::make_signed_t<Sample>;
  for (uint32_t y = 0; y < height_; ++y) {
    for (uint32_t x = 0; x < kL3V2Patch; ++x) {
      const Signed r = static_cast<Signed>(residuals_[y][x]);
      folded_[y][x] =
          static_cast<Sample>(r * 2 ^ (r >> (8 * sizeof(Sample) - 1)));
    }
    for (uint32_t g = 0; g < groups_; ++g) {
      uint32_t sum = 0;
      for (uint32_t i = 0; i < kL3Group; ++i) {
        sum += static_cast<uint32_t>(std::abs(
            int{static_cast<Signed>(residuals_[y][g * kL3Group + i])}));
      }
      sums_[y][g] = sum;
    }
  }
}

template <typename Sample>
uint32_t L3RiceEncoder<Sample>::ChooseFirstK() const {
  uint32_t best = 0, least = UINT32_MAX;
  for (uint32_t k = 0; k <= L3MaxK(8 * sizeof(Sample)); ++k) {
    uint32_t bits = 0;
    for (uint32_t g = 0; g < groups_; ++g) {
      bits += GroupCost(folded_[0] + g * kL3Group, k);
    }
    if (bits < least) {
      least = bits;
      best = k;
    }
  }
  return best;
}

// The row of thresholds and, times 16, the limit of flags under which the rows
// from 1 on take the fewest bits.
template <typename Sample>
uint32_t L3RiceEncoder<Sample>::ChooseMap() const {
  constexpr uint32_t kKs = L3MaxK(8 * sizeof(Sample)) + 1;
  constexpr uint32_t kMostClasses = 4 + kL3KMaps * 15;
  const Classes& classes = ClassesOf<Sample>();
  const uint32_t count = static_cast<uint32_t>(classes.begins.size());
  // Bits of all groups of a class, and of those that are not 0, by k.
  static_assert(kKs <= kMaxKs, "a k has a place");
  uint32_t all[kMostClasses][kKs] = {}, coded[kMostClasses][kKs] = {};
  uint32_t groups[kMostClasses] = {};
  for (uint32_t y = 1; y < height_; ++y) {
    for (uint32_t g = 0; g < groups_; ++g) {
      const auto after = std::upper_bound(
          classes.begins.begin(), classes.begins.end(), sums_[y - 1][g]);
      const uint32_t i =
          static_cast<uint32_t>(after - classes.begins.begin()) - 1;
      ++groups[i];
      for (uint32_t k = 0; k < kKs; ++k) {
        const uint32_t bits = GroupCost(folded_[y] + g * kL3Group, k);
        all[i][k] += bits;
        if (sums_[y][g] != 0) coded[i][k] += bits;
      }
    }
  }
  uint32_t best = 0, least = UINT32_MAX;
  for (uint32_t map = 0; map < kL3KMaps; ++map) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < count; ++i) bits += all[i][classes.k[map][i]];
    uint32_t from = 0;
    for (uint32_t limit = 0; limit < 4; ++limit) {
      for (; from < classes.zero_ends[limit]; ++from) {
        const uint32_t k = classes.k[map][from];
        bits += groups[from] + coded[from][k] - all[from][k];
      }
      if (bits < least) {
        least = bits;
        best = map | limit << 4;
      }
    }
  }
  return best;
}

template <typename Sample>
uint32_t L3RiceEncoder<Sample>::Encode(const L3Plane<Sample>& plane,
                                       uint32_t height, uint32_t groups,
                                       L3Colour colour, uint8_t* header,
                                       uint8_t* segment) {
  height_ = height;
  groups_ = groups;
  uint32_t word = static_cast<uint32_t>(colour) << 12;
  const uint32_t base = uint32_t{plane[0][0]} >> (8 * (sizeof(Sample) - 1));
  residuals_[0][0] =
      static_cast<Sample>(plane[0][0] - (base << (8 * (sizeof(Sample) - 1))));
  for (uint32_t x = 1; x < kL3V2Patch; ++x) {
    residuals_[0][x] = static_cast<Sample>(plane[0][x] - plane[0][x - 1]);
  }
  for (uint32_t band = 0; band * kL3BandRows < height; ++band) {
    const uint32_t begin = std::max(1u, band * kL3BandRows);
    const uint32_t end = std::min(height, (band + 1) * kL3BandRows);
    uint32_t cost;
    const L3CompactPredictor predictor = Choose(plane, begin, end, &cost);
    word |= static_cast<uint32_t>(predictor) << (3 * band);
    for (uint32_t y = begin; y < end; ++y) {
      Residuals(plane, y, predictor, residuals_[y]);
    }
  }
  Fold();
  const uint32_t first_k = ChooseFirstK(), map = ChooseMap();
  word |= map << 14 | first_k << 20 | base << 24;

  const uint32_t* const thresholds = kL3KThresholds[map & 15];
  const uint32_t zero_limit = kL3ZeroLimits[map >> 4];
  L3BitWriter codes(segment);
  // The rows' bytes, the first row's last: lows, then escapes.
  uint8_t* back = std::end(bytes_) - 16;
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t g = 0; g < groups && y > 0; ++g) {
      if (sums_[y - 1][g] < zero_limit) codes.Write(sums_[y][g] != 0, 1);
    }
    uint8_t lows[kL3V2Patch * sizeof(Sample) + 16];
    uint8_t escapes[kL3V2Patch * sizeof(Sample)];
    size_t low = 0, escape = 0;
    for (uint32_t g = 0; g < groups; ++g) {
      if (y > 0 && sums_[y - 1][g] < zero_limit && sums_[y][g] == 0) continue;
      const uint32_t k = y == 0 ? first_k
                                : L3KOf(thresholds, sums_[y - 1][g],
                                        L3MaxK(8 * sizeof(Sample)));
      const Sample* const folded = folded_[y] + g * kL3Group;
      for (uint32_t i = 0; i < kL3Group; ++i) {
        const uint32_t zeros =
            std::min<uint32_t>(folded[i] >> k, kL3LongestRun);
        codes.Write(1u << zeros, zeros + 1);
        if (zeros < kL3LongestRun) continue;
        for (uint32_t b = 0; b < sizeof(Sample); ++b) {
          escapes[escape++] = static_cast<uint8_t>(folded[i] >> (8 * b));
        }
      }
      L3PackGroup(folded, 0, k, lows + low);
      low += k;
    }
    back -= low + escape;
    std::memcpy(back, lows, low);
    std::memcpy(back + low, escapes, escape);
  }
  const size_t forward = codes.Finish();
  const size_t backward = static_cast<size_t>(std::end(bytes_) - 16 - back);
  std::memcpy(segment + forward, back, backward);
  const uint32_t size = static_cast<uint32_t>(forward + backward);
  header[0] = static_cast<uint8_t>(size);
  header[1] = static_cast<uint8_t>(size >> 8);
  StoreLittle32(word, header + 2);
  return size;
}

template class L3RiceEncoder<uint8_t>;
template class L3RiceEncoder<uint16_t>;

}  // namespace liquid
