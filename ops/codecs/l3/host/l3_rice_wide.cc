// Patches of residuals of profile 1 with 16 bits, a group at a time instead of
// a pixel. As l3_v2_wide.cc it takes no instructions that not every processor
// has.
#include <cstring>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/l3/host/l3_compact.h"
#include "ops/codecs/l3/host/l3_join.h"
#include "ops/codecs/l3/host/l3_ones.h"
#include "ops/codecs/l3/host/l3_wide.h"

namespace liquid {
namespace {

// Reads kCodes codes from bit *at of the segment on: how many zeros come before
// each one, modulo 256. False: they are not there.
template <uint32_t kCodes, uint32_t kUsual>
bool ReadRuns(const L3RiceChannel& channel, uint32_t* at, uint8_t* runs) {
  if (*at > 8 * static_cast<uint32_t>(channel.end - channel.begin)) {
    return false;
  }
  // The ends of the codes, after that of the one before.
  uint8_t ends[1 + kL3OnesRoom];
  ends[0] = static_cast<uint8_t>(*at % 8 - 1);
  if (!FindL3Ones<kUsual>(channel.begin + *at / 8, *at % 8, kCodes, ends + 1)) {
    return false;
  }
  for (uint32_t k = 0; k < kCodes; ++k) {
    runs[k] = static_cast<uint8_t>(ends[k + 1] - ends[k] - 1);
  }
  *at = *at / 8 * 8 + ends[kCodes] + 1;
  return true;
}

// As the above, of a row's groups that have a bit in `coded`. A group's codes
// are found wherever they are valid, a row's mostly.
bool ReadRuns(const L3RiceChannel& channel, uint32_t coded, uint32_t* at,
              uint8_t runs[kL3V2Patch]) {
  if (coded == 0xFF && ReadRuns<kL3V2Patch, kL3RowBytes>(channel, at, runs))
    return true;
  for (uint32_t g = 0; g < kL3Groups; ++g, coded >>= 1) {
    uint8_t* const group = runs + g * kL3Group;
    if ((coded & 1) == 0) {
      std::memset(group, 0, kL3Group);
    } else if (!ReadRuns<kL3Group, 4>(channel, at, group)) {
      return false;
    }
  }
  return true;
}

// How many of a row of thresholds are at most `sum`.
uint32_t KOf(const uint32_t* thresholds, uint32_t sum) {
  uint32_t k = 0;
  for (uint32_t step = 8; step > 0; step /= 2) {
    k += thresholds[k + step - 1] <= sum ? step : 0;
  }
  return k;
}

class ChannelRows {
 public:
  void Start(const L3RiceChannel& channel, uint32_t width) {
    channel_ = &channel;
    groups_ = (width + kL3Group - 1) / kL3Group;
    back_ = channel.end;
  }

  // Whether both streams have been read to where they meet.
  bool Finished() const { return channel_->begin + (at_ + 7) / 8 == back_; }

  // Replaces `row`, the row above, by row `y`. False: the streams cross, or a
  // code has too many zeros.
  bool Next(uint32_t y, uint16_t* row) {
    uint32_t coded = (1u << groups_) - 1, at = at_;
    if (y > 0) {
      uint32_t flags = LoadLittle32(channel_->begin + at / 8) >> at % 8;
      for (uint32_t g = 0; g < groups_; ++g) {
        const uint32_t calm = sums_[g] < channel_->zero_limit;
        coded &= ~((calm & ~flags) << g);
        flags >>= calm;
        at += calm;
      }
    }
    uint8_t runs[kL3V2Patch];
    if (!ReadRuns(*channel_, coded, &at, runs)) return false;
    uint32_t escapes = 0, longest = 0;
    for (const uint8_t zeros : runs) {
      longest = zeros > longest ? zeros : longest;
      escapes += zeros == kL3LongestRun;
    }
    if (longest > kL3LongestRun) return false;
    uint32_t widths[kL3Groups], lows = 0;
    for (uint32_t g = 0; g < groups_; ++g) {
      widths[g] =
          y == 0 ? channel_->first_k : KOf(channel_->thresholds, sums_[g]);
      lows += (coded >> g & 1) != 0 ? widths[g] : 0;
    }
    const uint8_t* const from = channel_->begin + (at + 7) / 8;
    if (back_ - from < static_cast<ptrdiff_t>(lows + 2 * escapes)) return false;
    back_ -= lows + 2 * escapes;
    at_ = at;

    uint16_t folded[kL3V2Patch];
    const uint8_t* low = back_;
    const uint8_t* escape = back_ + lows;
    for (uint32_t g = 0; g < groups_; ++g) {
      uint16_t* const group = folded + g * kL3Group;
      if ((coded >> g & 1) == 0) {
        std::memset(group, 0, kL3Group * sizeof(*group));
        continue;
      }
      UnpackL3Wide(low, widths[g], 0, group);
      low += widths[g];
      const uint8_t* const run = runs + g * kL3Group;
      for (uint32_t k = 0; k < kL3Group; ++k) {
        group[k] = static_cast<uint16_t>(group[k] | run[k] << widths[g]);
      }
      for (uint32_t k = 0; k < kL3Group && escapes > 0; ++k) {
        if (run[k] != kL3LongestRun) continue;
        group[k] = LoadLittle16(escape);
        escape += 2;
      }
    }
    for (uint32_t g = 0; g < groups_; ++g) {
      uint32_t sum = 0;
      for (uint32_t k = 0; k < kL3Group; ++k) {
        sum += (folded[g * kL3Group + k] + 1u) / 2;
      }
      sums_[g] = sum;
    }
    Predict(y, folded, row);
    return true;
  }

 private:
  void Predict(uint32_t y, uint16_t* residuals, uint16_t* row) const {
    const uint32_t pixels = groups_ * kL3Group;
    for (uint32_t x = 0; x < pixels; ++x) {
      residuals[x] =
          static_cast<uint16_t>(residuals[x] >> 1 ^ -(residuals[x] & 1));
    }
    const L3CompactPredictor predictor =
        y == 0 ? L3CompactPredictor::kLeft
               : channel_->predictors[y / kL3BandRows];
    if (predictor == L3CompactPredictor::kTop) {
      for (uint32_t x = 0; x < pixels; ++x) {
        row[x] = static_cast<uint16_t>(row[x] + residuals[x]);
      }
      return;
    }
    uint16_t terms[kL3V2Patch];
    L3SlopeTerms(predictor, row, pixels, terms);
    uint32_t left = y == 0 ? channel_->base : row[0];
    for (uint32_t x = 0; x < pixels; ++x) {
      left += uint32_t{terms[x]} + residuals[x];
      row[x] = static_cast<uint16_t>(left);
    }
  }

  const L3RiceChannel* channel_ = nullptr;
  uint32_t groups_ = 0;
  uint32_t at_ = 0;                // of the bits
  const uint8_t* back_ = nullptr;  // where the bytes read so far begin
  uint32_t sums_[kL3Groups] = {};  // of magnitudes in the row above
};

bool Decode(const L3RicePatch& patch, const L3Rows& rows) {
  uint16_t plane[kL3MaxChannels][kL3V2Patch] = {};
  ChannelRows channels[kL3MaxChannels];
  for (uint32_t c = 0; c < patch.channels; ++c) {
    channels[c].Start(patch.channel[c], patch.width);
  }
  for (uint32_t y = 0; y < rows.row_end; ++y) {
    for (uint32_t c = 0; c < patch.channels; ++c) {
      if (!channels[c].Next(y, plane[c])) return false;
    }
    if (y >= rows.row_begin) L3JoinRow<uint16_t>(patch, plane, rows, y);
  }
  for (uint32_t c = 0; c < patch.channels && rows.row_end == patch.height;
       ++c) {
    if (!channels[c].Finished()) return false;
  }
  return true;
}

}  // namespace

L3RowsResult DecodeL3WideRice(const L3RicePatch& patch, const L3Rows& rows,
                              const uint8_t** stopped) {
  if (Decode(patch, rows)) return L3RowsResult::kOk;
  // The reference says where the mistake is.
  return DecodeL3Rice(patch, rows, stopped);
}

}  // namespace liquid
