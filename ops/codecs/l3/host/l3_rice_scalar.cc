// Patches of residuals of profile 1: the reference, a pixel at a time.
#include <cstdlib>
#include <type_traits>

#include "ops/codecs/l3/host/l3_bits.h"
#include "ops/codecs/l3/host/l3_compact.h"
#include "ops/codecs/l3/host/l3_join.h"

namespace liquid {
namespace {

// Decodes the rows of one channel, from the first on.
template <typename Sample>
class ChannelRows {
 public:
  void Start(const L3RiceChannel& channel, uint32_t width) {
    channel_ = &channel;
    groups_ = (width + kL3Group - 1) / kL3Group;
    bits_ = L3BitReader(channel.begin, channel.end);
    back_ = channel.end;
  }

  const uint8_t* Position() const { return bits_.Position(); }
  // Whether both streams have been read to where they meet.
  bool Finished() const { return bits_.Position() == back_; }

  // Replaces `row`, the row above, by row `y`. False: the streams cross, or a
  // code has too many zeros.
  bool Next(uint32_t y, Sample* row) {
    uint32_t widths[kL3Groups] = {}, folded[kL3V2Patch] = {};
    bool coded[kL3Groups];
    for (uint32_t g = 0; g < groups_; ++g) {
      uint32_t flag = 1;
      if (y > 0 && sums_[g] < channel_->zero_limit && !bits_.Read(1, &flag)) {
        return false;
      }
      coded[g] = flag != 0;
    }
    uint32_t lows = 0, escapes = 0;  // bytes
    for (uint32_t g = 0; g < groups_; ++g) {
      if (!coded[g]) continue;
      widths[g] = y == 0 ? channel_->first_k
                         : L3KOf(channel_->thresholds, sums_[g],
                                 L3MaxK(8 * sizeof(Sample)));
      lows += widths[g];
      for (uint32_t i = 0; i < kL3Group; ++i) {
        uint32_t* const zeros = &folded[g * kL3Group + i];
        if (!bits_.ReadRun(kL3LongestRun, zeros)) return false;
        if (*zeros == kL3LongestRun) escapes += sizeof(Sample);
      }
    }
    const uint8_t* const from = bits_.Position();
    if (from > back_ || static_cast<size_t>(back_ - from) < lows + escapes) {
      return false;
    }
    back_ -= lows + escapes;
    const uint8_t* low = back_;
    const uint8_t* escape = back_ + lows;
    Sample residuals[kL3V2Patch];
    for (uint32_t g = 0; g < groups_; ++g) {
      uint32_t sum = 0;
      for (uint32_t i = 0; i < kL3Group; ++i) {
        const uint32_t x = g * kL3Group + i;
        uint32_t value =
            folded[x] << widths[g] | L3Bits(low, i * widths[g], widths[g]);
        if (folded[x] == kL3LongestRun) {
          value = 0;
          for (uint32_t b = 0; b < sizeof(Sample); ++b) {
            value |= uint32_t{*escape++} << (8 * b);
          }
        }
        const Sample bits = static_cast<Sample>(value);
        residuals[x] = static_cast<Sample>((bits >> 1) ^ -(bits & 1));
        sum += static_cast<uint32_t>(std::abs(
            int{static_cast<std::make_signed_t<Sample>>(residuals[x])}));
      }
      low += widths[g];
      sums_[g] = sum;
    }
    Predict(y, residuals, row);
    return true;
  }

 private:
  void Predict(uint32_t y, const Sample* residuals, Sample* row) const {
    const uint32_t pixels = groups_ * kL3Group;
    const L3CompactPredictor predictor =
        y == 0 ? L3CompactPredictor::kLeft
               : channel_->predictors[y / kL3BandRows];
    if (predictor == L3CompactPredictor::kTop) {
      for (uint32_t x = 0; x < pixels; ++x) {
        row[x] = static_cast<Sample>(row[x] + residuals[x]);
      }
      return;
    }
    Sample terms[kL3V2Patch];
    L3SlopeTerms(predictor, row, pixels, terms);
    uint32_t left = y == 0 ? channel_->base : row[0];
    for (uint32_t x = 0; x < pixels; ++x) {
      left += uint32_t{terms[x]} + residuals[x];
      row[x] = static_cast<Sample>(left);
    }
  }

  const L3RiceChannel* channel_ = nullptr;
  uint32_t groups_ = 0;
  L3BitReader bits_;
  const uint8_t* back_ = nullptr;  // where the bytes read so far begin
  uint32_t sums_[kL3Groups] = {};  // of magnitudes in the row above
};

template <typename Sample>
L3RowsResult Decode(const L3RicePatch& patch, const L3Rows& rows,
                    const uint8_t** stopped) {
  Sample plane[kL3MaxChannels][kL3V2Patch] = {};
  ChannelRows<Sample> channels[kL3MaxChannels];
  for (uint32_t c = 0; c < patch.channels; ++c) {
    channels[c].Start(patch.channel[c], patch.width);
  }
  for (uint32_t y = 0; y < rows.row_end; ++y) {
    for (uint32_t c = 0; c < patch.channels; ++c) {
      *stopped = channels[c].Position();
      if (!channels[c].Next(y, plane[c])) return L3RowsResult::kShort;
    }
    if (y >= rows.row_begin) L3JoinRow<Sample>(patch, plane, rows, y);
  }
  for (uint32_t c = 0; c < patch.channels && rows.row_end == patch.height;
       ++c) {
    *stopped = channels[c].Position();
    if (!channels[c].Finished()) return L3RowsResult::kLong;
  }
  return L3RowsResult::kOk;
}

}  // namespace

L3RowsResult DecodeL3Rice(const L3RicePatch& patch, const L3Rows& rows,
                          const uint8_t** stopped) {
  return patch.bits == 8 ? Decode<uint8_t>(patch, rows, stopped)
                         : Decode<uint16_t>(patch, rows, stopped);
}

}  // namespace liquid
