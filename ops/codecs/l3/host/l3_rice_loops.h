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
//                                bit, 0 for the others
//   Fold(runs, widths, fields)   runs 2^width + field, modulo 256
//   Unfold(folded)               signed bytes of 0, 1, 2, 3 ...: 0, -1, 1, -2
//   From(row, least)             bit x: byte x is at least that
//   AnyFrom(row, least)          whether a byte is
//   Deposit(bits, mask)          the next bit at each place of `mask`
//   Place(bytes, mask)           the next byte at each place of `mask`, 0 at
//                                the others
//   Select(mask, a, b)           byte x of `a` where bit x of `mask` is set
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
#include "ops/codecs/l3/host/l3_wide.h"

namespace liquid {
namespace {

// Where a channel's two streams have been read to.
struct RiceState {
  uint32_t bits;        // from the segment's start
  const uint8_t* back;  // where the bytes read so far begin
  Groups sums;          // of magnitudes in the row above
};

// The bits of a channel's next row.
struct RiceCodes {
  Row runs;
  uint64_t widths;  // of the groups, a byte each
  uint32_t end;     // of the bits, from the segment's start
};

// As Runs for a row of any length, from bit `at` of the segment on: a group at
// a time, which no valid one is too long for.
LIQUID_L3_TARGET inline bool LongRuns(const L3RiceChannel& channel, uint32_t at,
                                      uint32_t count, Row* runs,
                                      uint32_t* end) {
  const uint32_t size = 8 * static_cast<uint32_t>(channel.end - channel.begin);
  uint8_t bytes[2 * kL3V2Patch];
  for (uint32_t i = 0; i < count; i += kL3Group) {
    Row group;
    uint32_t next;
    if (at > size ||
        !Runs(channel.begin + at / 8, at % 8, kL3Group, &group, &next)) {
      return false;
    }
    Store(group, bytes + i);
    at = at / 8 * 8 + next;
  }
  *runs = Load(bytes);
  *end = at;
  return true;
}

// Reads the bits of row `y` of a channel. `groups` has a bit for each group.
// False: there are too few, or far too many zeros.
LIQUID_L3_TARGET inline bool ReadCodes(const L3RiceChannel& channel, uint32_t y,
                                       uint32_t groups, const RiceState& state,
                                       RiceCodes* codes) {
  uint32_t coded = groups, at = state.bits;
  uint64_t widths = 0x0101010101010101 * channel.first_k;
  if (y > 0) {
    widths = Ks(state.sums, channel);
    if (channel.zero_limit > 0) {
      const uint32_t calm = Below(state.sums, channel.zero_limit) & groups;
      const uint64_t flags = LoadLittle32(channel.begin + at / 8) >> at % 8;
      coded &= ~calm | static_cast<uint32_t>(Deposit(flags, calm));
      at += static_cast<uint32_t>(__builtin_popcount(calm));
    }
  }
  codes->runs = Fill(0);
  codes->end = at;
  if (coded != 0) {
    const uint32_t count =
        kL3Group * static_cast<uint32_t>(__builtin_popcount(coded));
    uint32_t end;
    Row runs;
    if (Runs(channel.begin + at / 8, at % 8, count, &runs, &end)) {
      codes->end = at / 8 * 8 + end;
    } else if (!LongRuns(channel, at, count, &runs, &codes->end)) {
      return false;
    }
    codes->runs = Expand(runs, coded);
  }
  codes->widths = widths & Deposit(coded, 0x0101010101010101) * 0xFF;
  return true;
}

// Reads the bytes that belong to these bits, and gives the row's residuals,
// folded. False: the streams cross, or a code has too many zeros.
LIQUID_L3_TARGET inline bool ReadBytes(const L3RiceChannel& channel,
                                       const RiceCodes& codes, RiceState* state,
                                       Row* folded) {
  uint64_t escaped = 0;
  if (__builtin_expect(AnyFrom(codes.runs, kL3LongestRun), false)) {
    if (AnyFrom(codes.runs, kL3LongestRun + 1)) return false;
    escaped = From(codes.runs, kL3LongestRun);
  }
  const uint32_t escapes = static_cast<uint32_t>(__builtin_popcountll(escaped));
  // Byte g: where group g ends. At most 56, so no byte overflows.
  const uint64_t ends = codes.widths * 0x0101010101010101;
  const uint32_t lows = static_cast<uint32_t>(ends >> 56);
  const uint8_t* const from = channel.begin + (codes.end + 7) / 8;
  if (state->back - from < static_cast<ptrdiff_t>(lows + escapes)) return false;
  state->back -= lows + escapes;
  state->bits = codes.end;
  *folded = Fold(codes.runs, codes.widths,
                 Fields(state->back, codes.widths, ends << 8));
  if (__builtin_expect(escaped != 0, false)) {
    *folded = Select(escaped, Place(state->back + lows, escaped), *folded);
  }
  return true;
}

// The row below `above` that has these residuals. `inside` masks the groups.
LIQUID_L3_TARGET inline Row PredictedCompact(L3CompactPredictor predictor,
                                             const Row& above,
                                             const Row& residuals,
                                             const Row& inside) {
  if (predictor < L3CompactPredictor::kSmooth) {
    return Predicted(static_cast<L3Predictor>(predictor), above, residuals);
  }
  Row terms = Smooth(And(Slopes(above), inside));
  if (predictor == L3CompactPredictor::kSmoothThreeQuarter) {
    terms = ThreeQuarters(terms);
  }
  return Sums(Add(residuals, terms), First(above));
}

template <uint32_t kChannels>
LIQUID_L3_TARGET LIQUID_L3_ALIGNED L3RowsResult DecodeRice(
    const L3RicePatch& patch, const L3Rows& rows, const uint8_t** stopped) {
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
    // A step of all channels before the next step: the steps of a channel wait
    // for each other, and meanwhile a processor can do those of another.
    RiceCodes codes[kChannels];
    Row folded[kChannels];
    uint32_t bad = kChannels;  // the first channel that is
    for (uint32_t c = 0; c < kChannels; ++c) {
      if (!ReadCodes(patch.channel[c], y, groups, states[c], &codes[c])) {
        bad = c;
        break;
      }
    }
    for (uint32_t c = 0; c < bad; ++c) {
      if (!ReadBytes(patch.channel[c], codes[c], &states[c], &folded[c]))
        bad = c;
    }
    if (bad < kChannels) {
      *stopped = patch.channel[bad].begin + (states[bad].bits + 7) / 8;
      return L3RowsResult::kShort;
    }
    for (uint32_t c = 0; c < kChannels; ++c) {
      states[c].sums = Magnitudes(folded[c]);
      const L3CompactPredictor predictor =
          y == 0 ? L3CompactPredictor::kLeft
                 : patch.channel[c].predictors[y / kL3BandRows];
      above[c] =
          PredictedCompact(predictor, above[c], Unfold(folded[c]), inside);
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
  if (patch.bits != 8) return DecodeL3WideRice(patch, rows, stopped);
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
