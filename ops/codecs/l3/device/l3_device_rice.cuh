// Rows of residuals of the compact profile, a warp for a channel: a lane has
// two pixels side by side, four lanes a group.
//
// What decides how often a warp's steps run is the same in all of its threads:
// it comes from Ballot and FromOne, or from memory between two barriers.
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_RICE_CUH_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_RICE_CUH_

#include "ops/codecs/l3/device/l3_device_v2_places.cuh"
#include "ops/codecs/l3/host/l3_compact_tables.h"

namespace liquid {

// Bits that a lane searches for ones at once, and a warp.
constexpr uint32_t kL3RunBits = 8;
constexpr uint32_t kL3RunBitsOfWarp = kL3RunBits * kL3Warp;

struct L3ThresholdTable {
  uint32_t of[kL3KMaps][15];
};

LIQUID_HOST_DEVICE constexpr L3ThresholdTable L3MakeThresholdTable() {
  L3ThresholdTable table = {};
  for (uint32_t map = 0; map < kL3KMaps; ++map) {
    for (uint32_t i = 0; i < 15; ++i) table.of[map][i] = kL3KThresholds[map][i];
  }
  return table;
}

LIQUID_DEVICE_TABLE L3ThresholdTable kL3ThresholdTable = L3MakeThresholdTable();

// Where a channel's rows have been read to; between bands in shared memory.
struct L3RiceState {
  uint32_t word, begin, end;  // of the segment, in the staged bytes
  uint32_t bits;              // that are read, from `begin` on
  uint32_t back;              // where the bytes read so far begin
  uint32_t ks;                // of the next row's groups, 4 bits each
  uint32_t calm;              // likewise: 1, those that have flags
};

// What a lane has of its pixels.
struct L3Pair {
  uint32_t first, second;
};

// What a lane compares its group's sum with: every fourth threshold of a map.
template <typename Sample>
struct L3Thresholds {
  static constexpr uint32_t kOfLane = 2 * sizeof(Sample);
  uint32_t of[kOfLane];
};

struct L3SignedPair {
  int first, second;
};

// In a block's shared memory, as L3SharedV2.
struct alignas(16) L3SharedCompact {
  // The row above a band's first.
  alignas(4) uint16_t above[kL3MaxChannels][kL3V2Patch];
  // The bit after each code of a row, from its first code on; from entry 1 on.
  uint16_t run_ends[kL3MaxChannels][1 + kL3V2Patch + kL3RunBitsOfWarp];
  L3RiceState rice[kL3MaxChannels];
  uint32_t found[kL3MaxChannels];  // results
  L3SharedCrc checksum;
  // Of a patch of few colours: a row, where its lanes meet.
  alignas(4) uint8_t indices[kL3V2Patch];
  uint32_t colours, palette_at, flat_at;  // in the staged bytes
  uint32_t flat_bits;                     // that are read, from flat_at on
};

// Of each group, the sum of its lanes' values, in all of them.
template <typename Warp>
LIQUID_DEVICE void L3GroupSums(Warp& warp, typename Warp::Lanes& lanes) {
  constexpr uint32_t kOfGroup = kL3Warp / kL3Groups;
  typename Warp::Lanes last;
  L3Sums<kOfGroup>(warp, lanes);
  warp.Compute([&](uint32_t lane) { last[lane] = lane | (kOfGroup - 1); });
  lanes = warp.FromLane(lanes, last);
}

// Of a group, in 4 bits of a word: the first one's place, and all of them.
constexpr uint32_t kL3OfGroups = 0x11111111;
LIQUID_DEVICE constexpr uint32_t L3BelowGroup(uint32_t group) {
  return group < kL3Groups ? (1u << 4 * group) - 1 : 0xFFFFFFFF;
}

// The sum of a word's digits of 4 bits, of which no two add up to over 30.
LIQUID_DEVICE constexpr uint32_t L3SumDigits(uint32_t digits) {
  return ((digits & 0x0F0F0F0F) + (digits >> 4 & 0x0F0F0F0F)) * 0x01010101 >>
         24;
}

// How many of each 4 bits are 1, in their place.
LIQUID_DEVICE constexpr uint32_t L3CountInDigits(uint32_t bits) {
  bits -= bits >> 1 & 0x55555555;
  return (bits & 0x33333333) + (bits >> 2 & 0x33333333);
}

// What a block needs for patches that take `pieces` bytes of pieces.
LIQUID_HOST_DEVICE constexpr uint32_t L3SharedBytesCompact(uint32_t channels,
                                                           uint32_t bits,
                                                           uint32_t pieces) {
  return static_cast<uint32_t>(sizeof(L3SharedCompact)) +
         L3BandBytesV2(channels, bits) + pieces + kL3PieceBytes;
}

// The largest patch that fits with a band of 4 channels of 16 bits, in what a
// kernel gets without asking for more. Encoders make no larger one.
constexpr uint32_t kL3CompactMostStaged =
    48 * 1024 - L3SharedBytesCompact(kL3MaxChannels, 16, 0) - kL3PieceBytes;

// Reads the flags of a row's groups: 1 in the digit of a group that has one
// which is 0.
LIQUID_DEVICE inline uint32_t L3ReadZeroFlags(const L3StagedPatch& patch,
                                              L3RiceState* state) {
  uint32_t zero = 0;
  uint32_t flags = patch.Word(8 * state->begin + state->bits);
  for (uint32_t g = 0; g < kL3Groups; ++g) {
    if ((state->calm >> 4 * g & 1) == 0) continue;
    zero |= (~flags & 1) << 4 * g;
    flags >>= 1;
    ++state->bits;
  }
  return zero;
}

// Finds where the next `count` codes end, in bits behind those that are read.
// False: there are not as many in the patch, or some have too many zeros.
template <typename Warp>
LIQUID_DEVICE bool L3FindRuns(Warp& warp, const L3StagedPatch& patch,
                              const L3RiceState& state, uint32_t count,
                              uint16_t* ends) {
  const uint32_t first = 8 * state.begin + state.bits;
  uint32_t found = 0;
  for (uint32_t from = 0; found < count; from += kL3RunBitsOfWarp) {
    typename Warp::Lanes bytes, sums;
    warp.Compute([&](uint32_t lane) {
      const uint32_t at = first + from + kL3RunBits * lane;
      bytes[lane] = at < 8 * patch.end ? patch.Word(at) & 0xFF : 0;
      sums[lane] = L3CountBits(bytes[lane]);
    });
    L3Sums<kL3Warp>(warp, sums);
    warp.Each([&](uint32_t lane) {
      uint16_t* end = ends + found + sums[lane] - L3CountBits(bytes[lane]);
      const uint32_t at = from + kL3RunBits * lane;
      LIQUID_UNROLL
      for (uint32_t bit = 0; bit < kL3RunBits; ++bit) {
        if ((bytes[lane] & 1u << bit) == 0) continue;
        *++end = static_cast<uint16_t>(at + bit + 1);
      }
    });
    const uint32_t ones = warp.FromOne(sums, kL3Warp - 1);
    if (ones == 0) return false;
    found += ones;
  }
  return true;
}

// What a predictor adds to the left pixel, for both pixels of a lane.
template <typename Sample, typename Warp>
LIQUID_DEVICE void L3Terms(Warp& warp, L3CompactPredictor predictor,
                           uint32_t pixels,
                           typename Warp::template LanesOf<L3Pair>& above,
                           typename Warp::template LanesOf<L3Pair>& terms) {
  typename Warp::Lanes edge, next;
  warp.Compute([&](uint32_t lane) { edge[lane] = above[lane].second; });
  typename Warp::Lanes before = warp.FromBelow(edge, 1);
  const auto slope = [](uint32_t a, uint32_t b) {
    // As a signed number.
    constexpr int kSign = 1 << (8 * sizeof(Sample) - 1);
    return (static_cast<Sample>(a - b) ^ kSign) - kSign;
  };
  typename Warp::template LanesOf<L3SignedPair> slopes;
  warp.Compute([&](uint32_t lane) {
    const bool inside = 2 * lane < pixels;
    slopes[lane].first =
        inside && lane > 0 ? slope(above[lane].first, before[lane]) : 0;
    slopes[lane].second =
        inside ? slope(above[lane].second, above[lane].first) : 0;
    edge[lane] = static_cast<uint32_t>(slopes[lane].second);
  });
  const bool smooth = predictor == L3CompactPredictor::kSmooth ||
                      predictor == L3CompactPredictor::kSmoothThreeQuarter;
  if (smooth) {
    before = warp.FromBelow(edge, 1);
    warp.Compute([&](uint32_t lane) {
      edge[lane] = static_cast<uint32_t>(slopes[lane].first);
      next[lane] = lane + 1;
    });
    typename Warp::Lanes after = warp.FromLane(edge, next);
    warp.Compute([&](uint32_t lane) {
      const int left = lane == 0 ? 0 : static_cast<int>(before[lane]);
      const int right = lane == kL3Warp - 1 ? 0 : static_cast<int>(after[lane]);
      const int first = slopes[lane].first, second = slopes[lane].second;
      slopes[lane].first = (((left + second + 1) >> 1) + first + 1) >> 1;
      slopes[lane].second = (((first + right + 1) >> 1) + second + 1) >> 1;
    });
  }
  const bool part = predictor == L3CompactPredictor::kThreeQuarter ||
                    predictor == L3CompactPredictor::kSmoothThreeQuarter;
  warp.Compute([&](uint32_t lane) {
    int first = slopes[lane].first, second = slopes[lane].second;
    if (part) {
      first -= first >> 2;
      second -= second >> 2;
    }
    terms[lane].first = static_cast<uint32_t>(first);
    terms[lane].second = static_cast<uint32_t>(second);
  });
}

// Replaces a row by the one below it, by its residuals.
template <typename Sample, typename Warp>
LIQUID_DEVICE void L3PredictPairs(
    Warp& warp, L3CompactPredictor predictor, uint32_t pixels,
    typename Warp::template LanesOf<L3Pair>& residuals,
    typename Warp::template LanesOf<L3Pair>& row) {
  if (predictor == L3CompactPredictor::kTop) {
    warp.Compute([&](uint32_t lane) {
      row[lane].first += residuals[lane].first;
      row[lane].second += residuals[lane].second;
    });
    return;
  }
  if (predictor != L3CompactPredictor::kLeft) {
    typename Warp::template LanesOf<L3Pair> terms;
    L3Terms<Sample>(warp, predictor, pixels, row, terms);
    warp.Compute([&](uint32_t lane) {
      residuals[lane].first += terms[lane].first;
      residuals[lane].second += terms[lane].second;
    });
  }
  typename Warp::Lanes sums, left;
  warp.Compute([&](uint32_t lane) {
    sums[lane] = residuals[lane].first + residuals[lane].second;
    left[lane] = row[lane].first;
  });
  L3Sums<kL3Warp>(warp, sums);
  const uint32_t edge = warp.FromOne(left, 0);
  warp.Compute([&](uint32_t lane) {
    row[lane].second = edge + sums[lane];
    row[lane].first = row[lane].second - residuals[lane].second;
  });
}

// Reads one row: residuals of both pixels of each lane, and what the next row
// goes by. False: the streams cross, or a code has too many zeros.
template <typename Sample, typename Warp>
LIQUID_DEVICE bool L3ReadRiceRow(
    Warp& warp, const L3StagedPatch& patch, uint32_t groups,
    typename Warp::template LanesOf<L3Thresholds<Sample>>& thresholds,
    L3RiceState* state, uint16_t* ends,
    typename Warp::template LanesOf<L3Pair>& residuals) {
  constexpr uint32_t kBytes = sizeof(Sample);
  const uint32_t all = kL3OfGroups & L3BelowGroup(groups);
  uint32_t coded = all;
  if (state->calm != 0) coded &= ~L3ReadZeroFlags(patch, state);
  const uint32_t count = kL3Group * L3CountBits(coded);
  if (!L3FindRuns(warp, patch, *state, count, ends)) return false;
  if (count > 0) state->bits += ends[count];

  typename Warp::template LanesOf<L3Pair> runs;
  // The next row's ends are written where these are read.
  warp.Each([&](uint32_t lane) {
    const uint32_t group = lane / 4;
    const uint32_t order =
        kL3Group * L3CountBits(coded & L3BelowGroup(group)) + lane % 4 * 2;
    runs[lane] = {0, 0};
    if ((coded >> 4 * group & 1) == 0) return;
    const uint32_t middle = ends[order + 1], end = ends[order + 2];
    runs[lane].first = middle - (order == 0 ? 0 : ends[order]) - 1;
    runs[lane].second = end - middle - 1;
  });
  uint32_t first_escapes = 0, second_escapes = 0;
  const uint32_t long_runs = warp.Ballot([&](uint32_t lane) {
    return runs[lane].first >= kL3LongestRun ||
           runs[lane].second >= kL3LongestRun;
  });
  if (long_runs != 0) {
    const uint32_t bad = warp.Ballot([&](uint32_t lane) {
      return runs[lane].first > kL3LongestRun ||
             runs[lane].second > kL3LongestRun;
    });
    if (bad != 0) return false;
    first_escapes = warp.Ballot(
        [&](uint32_t lane) { return runs[lane].first == kL3LongestRun; });
    second_escapes = warp.Ballot(
        [&](uint32_t lane) { return runs[lane].second == kL3LongestRun; });
  }
  const uint32_t coded_ks = state->ks & 15 * coded;
  const uint32_t lows = L3SumDigits(coded_ks);
  const uint32_t escapes =
      kBytes * (L3CountBits(first_escapes) + L3CountBits(second_escapes));
  const uint32_t bits_end = state->begin + (state->bits + 7) / 8;
  if (bits_end > state->back || state->back - bits_end < lows + escapes) {
    return false;
  }
  state->back -= lows + escapes;

  typename Warp::Lanes sums;
  warp.Compute([&](uint32_t lane) {
    const uint32_t group = lane / 4;
    const uint32_t k = coded_ks >> 4 * group & 15;
    const uint32_t at =
        state->back + L3SumDigits(coded_ks & L3BelowGroup(group));
    const uint32_t fields = patch.Word(8 * at + lane % 4 * 2 * k);
    const uint32_t mask = (1u << k) - 1;
    uint32_t folded[2] = {runs[lane].first << k | (fields & mask),
                          runs[lane].second << k | (fields >> k & mask)};
    const uint32_t below = (1u << lane) - 1;
    uint32_t escape = L3CountBits(first_escapes & below) +
                      L3CountBits(second_escapes & below);
    const uint32_t escaped[2] = {first_escapes >> lane & 1,
                                 second_escapes >> lane & 1};
    LIQUID_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      if (escaped[i] != 0) {
        folded[i] = patch.Word(8 * (state->back + lows + kBytes * escape++));
      }
      folded[i] = static_cast<Sample>(folded[i]);
    }
    residuals[lane].first = folded[0] >> 1 ^ (0 - (folded[0] & 1));
    residuals[lane].second = folded[1] >> 1 ^ (0 - (folded[1] & 1));
    sums[lane] = ((folded[0] + 1) >> 1) + ((folded[1] + 1) >> 1);
  });

  // What the next row goes by.
  L3GroupSums(warp, sums);
  state->ks = 0;
  LIQUID_UNROLL
  for (uint32_t i = 0; i < L3Thresholds<Sample>::kOfLane; ++i) {
    state->ks += L3CountInDigits(warp.Ballot(
        [&](uint32_t lane) { return thresholds[lane].of[i] <= sums[lane]; }));
  }
  const uint32_t limits = 0x08030100;  // by bits 18 and 19, a byte each
  const uint32_t limit = limits >> 8 * (state->word >> 18 & 3) & 0xFF;
  state->calm = 0;
  if (limit != 0) {
    state->calm =
        all & warp.Ballot([&](uint32_t lane) { return sums[lane] < limit; });
  }
  return true;
}

// Decodes rows [y, y + rows) of channel `c` into the band, which is [rows]
// [kL3V2Patch][channels]. `last`: they are the patch's last.
template <typename Sample, typename Warp>
LIQUID_DEVICE void L3DecodeRiceRows(Warp& warp, const L3DeviceTask& task,
                                    const L3StagedPatch& patch,
                                    uint32_t channels, uint32_t c, uint32_t y,
                                    uint32_t rows, bool last, Sample* band,
                                    L3SharedCompact* shared) {
  const uint32_t groups = (task.width + kL3Group - 1) / kL3Group;
  L3RiceState state = shared->rice[c];
  const uint32_t base = (state.word >> 24) << 8 * (sizeof(Sample) - 1);
  const uint32_t* of_map = kL3ThresholdTable.of[state.word >> 14 & 15];
  typename Warp::template LanesOf<L3Thresholds<Sample>> thresholds;
  typename Warp::template LanesOf<L3Pair> row, residuals;
  warp.Compute([&](uint32_t lane) {
    LIQUID_UNROLL
    for (uint32_t i = 0; i < L3Thresholds<Sample>::kOfLane; ++i) {
      const uint32_t k = 4 * i + lane % 4;
      thresholds[lane].of[i] =
          k < L3MaxK(8 * sizeof(Sample)) ? of_map[k] : 0xFFFFFFFF;
    }
    const uint16_t* above = shared->above[c] + 2 * lane;
    row[lane] = y == 0 ? L3Pair{base, base} : L3Pair{above[0], above[1]};
  });
  L3DeviceError error = L3DeviceError::kNone;
  for (uint32_t i = 0; i < rows; ++i) {
    if (!L3ReadRiceRow<Sample>(warp, patch, groups, thresholds, &state,
                               shared->run_ends[c], residuals)) {
      error = L3DeviceError::kCode;
      break;
    }
    const uint32_t band_word = state.word >> (y + i) / kL3BandRows * 3;
    const auto predictor = y + i == 0
                               ? L3CompactPredictor::kLeft
                               : static_cast<L3CompactPredictor>(band_word & 7);
    L3PredictPairs<Sample>(warp, predictor, kL3Group * groups, residuals, row);
    warp.Compute([&](uint32_t lane) {
      Sample* to = band + (i * kL3V2Patch + 2 * lane) * channels + c;
      row[lane].first = static_cast<Sample>(row[lane].first);
      row[lane].second = static_cast<Sample>(row[lane].second);
      to[0] = static_cast<Sample>(row[lane].first);
      to[channels] = static_cast<Sample>(row[lane].second);
    });
  }
  if (error == L3DeviceError::kNone && last &&
      state.begin + (state.bits + 7) / 8 != state.back) {
    error = L3DeviceError::kLong;
  }
  warp.Each([&](uint32_t lane) {
    uint16_t* above = shared->above[c] + 2 * lane;
    above[0] = static_cast<uint16_t>(row[lane].first);
    above[1] = static_cast<uint16_t>(row[lane].second);
    if (lane != 0) return;
    shared->rice[c] = state;
    shared->found[c] =
        error == L3DeviceError::kNone ? 0 : L3DeviceResult(error, c);
  });
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_RICE_CUH_
