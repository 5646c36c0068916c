// Rows of the residuals of profile 1, 8 bits a sample: beside the verbs of
// l3_row_loops.h and Fields of l3_v2_loops.h, a source that includes this has
//
//   Groups                       a number for each of 8 groups
//   Magnitudes(folded)           sums of the magnitudes of a row's residuals
//   Ks(sums, channel)            what groups of these sums store as it is, a
//                                byte each
//   Below(sums, limit)           bit g: the sum of group g is below `limit`
//   Runs(bytes, first, count, &runs, &end)  reads `count` codes from bit
//                                `first` (0 to 7) on: how many zeros come
//                                before each one. Further bytes are anything.
//                                False if the last one is not among bits 0 to
//                                255.
//   Expand(row, groups)          the next 8 bytes for each group that has a
//   bit,
//                                0 for the others
//   Fold(runs, widths, fields)   runs 2^width + field, modulo 256
//   Unfold(folded)               signed bytes of 0, 1, 2, 3 ...: 0, -1, 1, -2
//   AnyFrom(row, least)          whether a byte is at least that
//   Deposit(bits, mask)          the next bit at each place of `mask`
//   And(a, b)                    of bits
//   Smooth(row)                  the mean of each signed byte and its
//                                neighbours' mean, both rounded up; beyond the
//                                ends there is 0
//   Load(bytes), Store(row, bytes)
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_RICE_LOOPS_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_RICE_LOOPS_H_

#include "ops/codecs/codec_util.h"
#include "ops/codecs/l3/host/l3_compact.h"
#include "ops/codecs/l3/host/l3_row_loops.h"

namespace liquid {
namespace {

// Where a channel's two streams have been read to.
struct RiceState {
  uint32_t bits;        // from the segment's start
  const uint8_t* back;  // where the bytes read so far begin
  Groups sums;          // of magnitudes in the row above
};

// As Runs, of any length, from bit `at` of the segment on. False: there is a
// code of too many zeros, or none.
inline bool AnyRuns(const L3RiceChannel& channel, uint32_t at, uint32_t count,
                    uint8_t runs[kL3V2Patch], uint32_t* end) {
  const uint32_t size = 8 * static_cast<uint32_t>(channel.end - channel.begin);
  std::memset(runs, 0, kL3V2Patch);
  for (uint32_t i = 0; i < count; ++i) {
    // Of the 32 bits 25 are those from `at` on: the longest code.
    if (at > size) return false;
    const uint32_t word = LoadLittle32(channel.begin + at / 8) >> at % 8;
    const uint32_t zeros =
        static_cast<uint32_t>(__builtin_ctz(word | 1u << 31));
    if (zeros > kL3LongestRun) return false;
    runs[i] = static_cast<uint8_t>(zeros);
    at += zeros + 1;
  }
  *end = at;
  return at <= size;
}

// Reads the next row of a channel, residuals folded. `groups` has a bit for
// each group. False: the streams cross, or a code has too many zeros.
LIQUID_L3_TARGET inline bool NextFolded(const L3RiceChannel& channel,
                                        uint32_t y, uint32_t groups,
                                        RiceState* state, Row* folded) {
  uint32_t coded = groups, at = state->bits;
  uint64_t widths = 0x0101010101010101 * channel.first_k;
  if (y > 0) {
    widths = Ks(state->sums, channel);
    if (channel.zero_limit > 0) {
      const uint32_t calm = Below(state->sums, channel.zero_limit) & groups;
      const uint32_t count = static_cast<uint32_t>(__builtin_popcount(calm));
      const uint64_t flags = L3Bits(channel.begin, at, count);
      coded &= ~calm | static_cast<uint32_t>(Deposit(flags, calm));
      at += count;
    }
  }
  Row runs = Fill(0);
  if (coded != 0) {
    const uint32_t count =
        kL3Group * static_cast<uint32_t>(__builtin_popcount(coded));
    uint32_t end;
    if (Runs(channel.begin + at / 8, at % 8, count, &runs, &end)) {
      at = at / 8 * 8 + end;
    } else {
      uint8_t bytes[kL3V2Patch];
      if (!AnyRuns(channel, at, count, bytes, &at)) return false;
      runs = Load(bytes);
    }
  }
  if (coded != 0xFF) {
    runs = Expand(runs, coded);
    widths &= Deposit(coded, 0x0101010101010101) * 0xFF;
  }
  uint32_t escapes = 0;
  uint8_t each[kL3V2Patch];
  if (__builtin_expect(AnyFrom(runs, kL3LongestRun), false)) {
    Store(runs, each);
    for (const uint8_t zeros : each) {
      if (zeros > kL3LongestRun) return false;
      escapes += zeros == kL3LongestRun;
    }
  }
  // Byte g: where group g ends. At most 56, so no byte overflows.
  const uint64_t ends = widths * 0x0101010101010101;
  const uint32_t lows = static_cast<uint32_t>(ends >> 56);
  const uint8_t* const from = channel.begin + (at + 7) / 8;
  if (state->back - from < static_cast<ptrdiff_t>(lows + escapes)) return false;
  state->back -= lows + escapes;
  state->bits = at;
  *folded = Fold(runs, widths, Fields(state->back, widths, ends << 8));
  if (__builtin_expect(escapes > 0, false)) {
    uint8_t bytes[kL3V2Patch];
    Store(*folded, bytes);
    const uint8_t* escape = state->back + lows;
    for (uint32_t x = 0; x < kL3V2Patch; ++x) {
      if (each[x] == kL3LongestRun) bytes[x] = *escape++;
    }
    *folded = Load(bytes);
  }
  return true;
}

template <uint32_t kChannels>
LIQUID_L3_TARGET L3RowsResult DecodeRice(const L3RicePatch& patch,
                                         const L3Rows& rows,
                                         const uint8_t** stopped) {
  Row above[kChannels];
  RiceState states[kChannels];
  for (uint32_t c = 0; c < kChannels; ++c) {
    above[c] = Fill(static_cast<uint8_t>(patch.channel[c].base));
    states[c].bits = 0;
    states[c].back = patch.channel[c].end;
    states[c].sums = Magnitudes(Fill(0));
  }
  const uint32_t count = (patch.width + kL3Group - 1) / kL3Group;
  const uint32_t groups = (1u << count) - 1;
  const Row inside = Expand(Fill(0xFF), groups);
  for (uint32_t y = 0; y < rows.row_end; ++y) {
    for (uint32_t c = 0; c < kChannels; ++c) {
      const L3RiceChannel& channel = patch.channel[c];
      Row folded;
      if (!NextFolded(channel, y, groups, &states[c], &folded)) {
        *stopped = channel.begin + (states[c].bits + 7) / 8;
        return L3RowsResult::kShort;
      }
      states[c].sums = Magnitudes(folded);
      const L3CompactPredictor predictor =
          y == 0 ? L3CompactPredictor::kLeft
                 : channel.predictors[y / kL3BandRows];
      if (predictor < L3CompactPredictor::kSmooth) {
        above[c] = Predicted(static_cast<L3Predictor>(predictor), above[c],
                             Unfold(folded));
        continue;
      }
      Row terms = Smooth(And(Slopes(above[c]), inside));
      if (predictor == L3CompactPredictor::kSmoothThreeQuarter) {
        terms = ThreeQuarters(terms);
      }
      above[c] = Sums(Add(Unfold(folded), terms), First(above[c]));
    }
    if (y >= rows.row_begin) WriteRow<kChannels>(patch, above, rows, y);
  }
  for (uint32_t c = 0; c < kChannels && rows.row_end == patch.height; ++c) {
    *stopped = patch.channel[c].begin + (states[c].bits + 7) / 8;
    if (*stopped != states[c].back) return L3RowsResult::kLong;
  }
  return L3RowsResult::kOk;
}

L3RowsResult DecodeAnyRice(const L3RicePatch& patch, const L3Rows& rows,
                           const uint8_t** stopped) {
  if (patch.bits != 8) return DecodeL3Rice(patch, rows, stopped);
  switch (patch.channels) {
    case 1:
      return DecodeRice<1>(patch, rows, stopped);
    case 2:
      return DecodeRice<2>(patch, rows, stopped);
    case 3:
      return DecodeRice<3>(patch, rows, stopped);
    default:
      return DecodeRice<4>(patch, rows, stopped);
  }
}

}  // namespace
}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_RICE_LOOPS_H_
