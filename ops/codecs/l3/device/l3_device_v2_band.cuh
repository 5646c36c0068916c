// Some rows of a patch of version 2, in three steps, in none of which a pixel
// waits for its left neighbour.
//
// Take the difference of each pixel to its left neighbour, or in column 0 the
// pixel itself. Then every predictor but *top* looks down its own column: a
// difference is its residual plus f(the difference above), where f is what
// *gradient* keeps of it (all), *three quarters* (that), or *left* (nothing);
// in column 0, all. So groups are unpacked, a lane for each; columns are added
// up, a lane for two; and the differences are summed along the rows, a lane for
// eight. *Top* adds up pixels in place of differences: of those only the first
// row is summed, and before.
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_V2_BAND_CUH_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_V2_BAND_CUH_

#include "ops/codecs/l3/device/l3_device_v2_places.cuh"

namespace liquid {

constexpr uint32_t kL3RowsAtOnce = kL3Warp / kL3Groups;  // by lanes for groups

// Two samples side by side; and as Wide, each with as many bits above it, so
// that they can be added to without the first reaching the second.
template <typename Sample>
struct L3Two;

template <>
struct L3Two<uint8_t> {
  using Type = uint16_t;
  using Wide = uint32_t;
  static constexpr Wide kOnes = 0x00010001;

  LIQUID_DEVICE static Wide Widen(Type two) {
    return L3Permute(two, 0, 0x4140);
  }
  LIQUID_DEVICE static Type Narrow(Wide wide) {
    return static_cast<Type>(L3Permute(wide, 0, 0x4420));
  }
};

template <>
struct L3Two<uint16_t> {
  using Type = uint32_t;
  using Wide = uint64_t;
  static constexpr Wide kOnes = 0x0000000100000001;

  LIQUID_DEVICE static Wide Widen(Type two) {
    return (two & 0xFFFF) | Wide{two >> 16} << 32;
  }
  LIQUID_DEVICE static Type Narrow(Wide wide) {
    return static_cast<Type>((wide & 0xFFFF) | wide >> 32 << 16);
  }
};

// The samples of a group, in words.
template <typename Sample>
struct alignas(kL3Group * sizeof(Sample)) L3PackedGroup {
  static constexpr uint32_t kPerWord = 4 / sizeof(Sample);
  static constexpr uint32_t kWords = kL3Group / kPerWord;
  static constexpr uint32_t kHighest =  // bits of the samples of a word
      sizeof(Sample) == 1 ? 0x80808080 : 0x80008000;
  uint32_t words[kWords];
};

// The first fields of `n` bits each as residuals, which are less by half of
// 2^n: four modulo 2^8, or two modulo 2^16.
template <typename Sample>
LIQUID_DEVICE uint32_t L3Residuals(uint32_t fields, uint32_t n);

template <>
LIQUID_DEVICE inline uint32_t L3Residuals<uint8_t>(uint32_t fields,
                                                   uint32_t n) {
  const uint32_t pairs = L3Permute(fields, fields >> 2 * n, 0x5410);
  const uint32_t bytes = (pairs & 0x00FF00FF) | (pairs << (8 - n) & 0xFF00FF00);
  const uint32_t mask = (1u << n) * 0x01010101 - 0x01010101;
  // With its highest bit set, no byte borrows from the next.
  const uint32_t bias = (0x80 - (1u << n >> 1)) * 0x01010101;
  return ((bytes & mask) + bias) ^ 0x80808080;
}

template <>
LIQUID_DEVICE inline uint32_t L3Residuals<uint16_t>(uint32_t fields,
                                                    uint32_t n) {
  const uint32_t mask = (1u << n) - 1;
  const uint32_t bias = (0x8000 - (1u << n >> 1)) * 0x00010001;
  return ((fields & mask) + ((fields >> n & mask) << 16) + bias) ^ 0x80008000;
}

// Each sample of a word, added to that of another, modulo 2^8 or 2^16.
template <typename Sample>
LIQUID_DEVICE uint32_t L3AddEach(uint32_t a, uint32_t b) {
  constexpr uint32_t kHighest = L3PackedGroup<Sample>::kHighest;
  return ((a & ~kHighest) + (b & ~kHighest)) ^ ((a ^ b) & kHighest);
}

// The mean of each sample of a word and that of another, rounded up.
template <typename Sample>
LIQUID_DEVICE uint32_t L3MeanEach(uint32_t a, uint32_t b) {
  return (a | b) - ((a ^ b) >> 1 & ~L3PackedGroup<Sample>::kHighest);
}

// Unpacks a group of width `n` that begins at byte `at`.
LIQUID_DEVICE inline void L3UnpackGroup(const L3StagedPatch& patch, uint32_t at,
                                        uint32_t n,
                                        L3PackedGroup<uint8_t>* group) {
  const uint32_t* words = patch.WordsFrom(at);
  const uint32_t low = L3Funnel(words[0], words[1], 8 * at);
  const uint32_t high = L3Funnel(words[1], words[2], 8 * at);
  group->words[0] = L3Residuals<uint8_t>(low, n);
  // A funnel shifts by up to 31 bits, and four pixels may have 32.
  group->words[1] =
      L3Residuals<uint8_t>(n == 8 ? high : L3Funnel(low, high, 4 * n), n);
}

LIQUID_DEVICE inline void L3UnpackGroup(const L3StagedPatch& patch, uint32_t at,
                                        uint32_t n,
                                        L3PackedGroup<uint16_t>* group) {
  uint32_t bit = 8 * at;
  LIQUID_UNROLL
  for (uint32_t& word : group->words) {
    word = L3Residuals<uint16_t>(patch.Word(bit), n);
    bit += 2 * n;
  }
}

// Unpacks rows [y, y + rows) of channel `c`. `band` is [rows][channels]
// [kL3V2Patch], as it stays until L3FinishRows.
template <typename Sample, typename Warp>
LIQUID_DEVICE void L3UnpackRows(Warp& warp, const L3SharedV2& shared,
                                const L3StagedPatch& patch, uint32_t channels,
                                uint32_t c, uint32_t y, uint32_t rows,
                                Sample* band) {
  warp.Each([&](uint32_t lane) {
    const uint32_t group = lane % kL3Groups, first = lane / kL3Groups;
    uint32_t entry = (y + first) * channels + c;
    Sample* out = band + (first * channels + c) * kL3V2Patch + group * kL3Group;
    for (uint32_t row = first; row < rows; row += kL3RowsAtOnce) {
      const uint8_t* ends = shared.group_end[entry];
      const uint32_t begin = group == 0 ? 0 : ends[group - 1];
      L3PackedGroup<Sample> residuals;
      L3UnpackGroup(patch, shared.row_at[entry] + begin, ends[group] - begin,
                    &residuals);
      L3Write(residuals, out);
      entry += kL3RowsAtOnce * channels;
      out += kL3RowsAtOnce * channels * kL3V2Patch;
    }
  });
}

// Adds up two columns from `at` on, whose rows are `stride` samples apart: each
// residual becomes itself plus what is `kept` of what is above. Returns the
// last row.
template <typename Sample, typename Kept>
LIQUID_DEVICE typename L3Two<Sample>::Wide L3AddColumns(
    Sample* at, uint32_t rows, uint32_t stride,
    typename L3Two<Sample>::Wide above, Kept kept) {
  using Two = L3Two<Sample>;
  for (uint32_t row = 0; row < rows; ++row, at += stride) {
    // Rows of a band are too few to overflow the bits above a sample.
    above = kept(above) + Two::Widen(L3Read<typename Two::Type>(at));
    L3Write(Two::Narrow(above), at);
  }
  return above;
}

// Adds up all columns. `carried` is above the first row, and becomes what is
// above the next.
template <typename Sample, typename Warp>
LIQUID_DEVICE void L3AddDown(Warp& warp, L3Predictor predictor, uint32_t rows,
                             uint32_t stride, Sample* first, Sample* carried) {
  using Two = L3Two<Sample>;
  using Wide = typename Two::Wide;
  constexpr uint32_t kBits = 8 * sizeof(Sample);
  warp.Each([&](uint32_t lane) {
    Sample* at = first + 2 * lane;
    Wide above = Two::Widen(L3Read<typename Two::Type>(carried + 2 * lane));
    // Column 0 keeps all.
    const Wide column0 = lane == 0 ? (Wide{1} << 2 * kBits) - 1 : 0;
    if (predictor == L3Predictor::kLeft) {
      above = L3AddColumns(at, rows, stride, above,
                           [&](Wide d) { return d & column0; });
    } else if (predictor == L3Predictor::kThreeQuarter) {
      // A quarter of d is that of d + 2^(bits - 1), which is never negative,
      // less that of 2^(bits - 1).
      constexpr Wide kHalf = Two::kOnes << (kBits - 1);
      constexpr Wide kUpper = Two::kOnes * ((1u << kBits) - 4);
      const Wide upper = kUpper & ~column0, bias = kHalf >> 2 & ~column0;
      above = L3AddColumns(at, rows, stride, above, [&](Wide d) {
        return d + bias - (((d ^ kHalf) & upper) >> 2);
      });
    } else {
      above = L3AddColumns(at, rows, stride, above, [](Wide d) { return d; });
    }
    L3Write(Two::Narrow(above), carried + 2 * lane);
  });
}

// Sums the differences of rows, each of which eight lanes have.
template <typename Sample, typename Warp>
LIQUID_DEVICE void L3AddAcross(
    Warp& warp,
    typename Warp::template LanesOf<L3PackedGroup<Sample>>& groups) {
  using Group = L3PackedGroup<Sample>;
  typename Warp::Lanes sums, own;
  warp.Compute([&](uint32_t lane) {
    uint32_t sum = 0;
    LIQUID_UNROLL
    for (const uint32_t word : groups[lane].words) {
      sum = L3AddSamples<Sample>(word, Group::kPerWord, sum);
    }
    sums[lane] = own[lane] = sum;
  });
  L3Sums<kL3Groups>(warp, sums);
  warp.Compute([&](uint32_t lane) {
    uint32_t start = sums[lane] - own[lane];
    LIQUID_UNROLL
    for (uint32_t& word : groups[lane].words) {
      uint32_t sum[Group::kPerWord];
      LIQUID_UNROLL
      for (uint32_t i = 0; i < Group::kPerWord; ++i) {
        sum[i] = L3AddSamples<Sample>(word, i + 1, start);
      }
      start = sum[Group::kPerWord - 1];
      word = sizeof(Sample) == 1
                 ? L3Permute(L3Permute(sum[0], sum[1], 0x0040),
                             L3Permute(sum[Group::kPerWord - 2], start, 0x0040),
                             0x5410)
                 : L3Permute(sum[0], start, 0x5410);
    }
  });
}

// Decodes rows [y, y + rows) of channel `c` as far as L3FinishRows takes them.
template <typename Sample, typename Warp>
LIQUID_DEVICE void L3DecodeRows(Warp& warp, const L3StagedPatch& patch,
                                uint32_t channels, uint32_t c, uint32_t y,
                                uint32_t rows, Sample* band,
                                L3SharedV2* shared) {
  using Group = L3PackedGroup<Sample>;
  L3UnpackRows(warp, *shared, patch, channels, c, y, rows, band);
  const uint32_t word = shared->words[c];
  const auto predictor = static_cast<L3Predictor>(L3PredictorOf(word));
  Sample* first = band + c * kL3V2Patch;
  Sample* carried = reinterpret_cast<Sample*>(shared->carried[c]);
  if (y == 0) {
    const bool top = predictor == L3Predictor::kTop;
    if (top) {
      typename Warp::template LanesOf<Group> groups;
      warp.Each([&](uint32_t lane) {
        groups[lane] = L3Read<Group>(first + lane % kL3Groups * kL3Group);
      });
      L3AddAcross<Sample>(warp, groups);
      warp.Each([&](uint32_t lane) {
        if (lane < kL3Groups) L3Write(groups[lane], first + lane * kL3Group);
      });
    }
    const Sample base =
        static_cast<Sample>(L3BaseOf(word) << 8 * (sizeof(Sample) - 1));
    warp.Each([&](uint32_t lane) {
      carried[2 * lane] = top || lane == 0 ? base : 0;
      carried[2 * lane + 1] = top ? base : 0;
    });
  }
  L3AddDown(warp, predictor, rows, channels * kL3V2Patch, first, carried);
}

// Which bytes of word `word` of a line, where `channels` take turns, are those
// of one channel's word: for L3Permute(line's word, channel's word).
LIQUID_HOST_DEVICE constexpr uint32_t L3TurnsOf(uint32_t sample_bytes,
                                                uint32_t channels,
                                                uint32_t channel,
                                                uint32_t word) {
  uint32_t which = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t sample = (4 * word + i) / sample_bytes;
    const uint32_t byte = sample / channels * sample_bytes + i % sample_bytes;
    const bool its = sample % channels == channel;
    which |= (its ? 4 + byte % 4 : i) << 4 * i;
  }
  return which;
}

// Turns back the colours of a word of each channel.
template <typename Sample>
LIQUID_DEVICE void L3TurnColours(L3Colour red, L3Colour blue, uint32_t green,
                                 uint32_t* r, uint32_t* b) {
  if (red != L3Colour::kPlain) *r = L3AddEach<Sample>(*r, green);
  if (blue == L3Colour::kLessGreen) {
    *b = L3AddEach<Sample>(*b, green);
  } else if (blue == L3Colour::kLessMean) {
    *b = L3AddEach<Sample>(*b, L3MeanEach<Sample>(*r, green));
  }
}

// Sums kL3RowsAtOnce rows of the band, turns their colours back, and leaves
// them as pixels in their place. Those behind the last one are of no use, and
// lie in the band, too.
template <uint32_t kChannels, typename Sample, typename Warp>
LIQUID_DEVICE void L3FinishRowsOf(Warp& warp, const L3SharedV2& shared,
                                  Sample* rows) {
  using Group = L3PackedGroup<Sample>;
  typename Warp::template LanesOf<Group> groups[kChannels];
  warp.Each([&](uint32_t lane) {
    const uint32_t row = lane / kL3Groups, group = lane % kL3Groups;
    LIQUID_UNROLL
    for (uint32_t c = 0; c < kChannels; ++c) {
      groups[c][lane] = L3Read<Group>(
          rows + (row * kChannels + c) * kL3V2Patch + group * kL3Group);
    }
  });
  LIQUID_UNROLL
  for (uint32_t c = 0; c < kChannels; ++c) {
    const auto predictor =
        static_cast<L3Predictor>(L3PredictorOf(shared.words[c]));
    if (predictor != L3Predictor::kTop) L3AddAcross<Sample>(warp, groups[c]);
  }
  if constexpr (kChannels >= 3) {
    const auto red = static_cast<L3Colour>(L3ColourOf(shared.words[0]));
    const auto blue = static_cast<L3Colour>(L3ColourOf(shared.words[2]));
    warp.Compute([&](uint32_t lane) {
      LIQUID_UNROLL
      for (uint32_t i = 0; i < Group::kWords; ++i) {
        L3TurnColours<Sample>(red, blue, groups[1][lane].words[i],
                              &groups[0][lane].words[i],
                              &groups[2][lane].words[i]);
      }
    });
  }
  warp.Each([&](uint32_t lane) {
    LIQUID_UNROLL
    for (uint32_t i = 0; i < kChannels; ++i) {
      Group line;
      LIQUID_UNROLL
      for (uint32_t k = 0; k < Group::kWords; ++k) {
        const uint32_t word = i * Group::kWords + k;
        // In words [kChannels * from, kChannels * (from + 1)) of a line are the
        // pixels of word `from` of each channel.
        const uint32_t from = word / kChannels;
        line.words[k] = 0;
        LIQUID_UNROLL
        for (uint32_t c = 0; c < kChannels; ++c) {
          line.words[k] =
              L3Permute(line.words[k], groups[c][lane].words[from],
                        L3TurnsOf(sizeof(Sample), kChannels, c, word));
        }
      }
      L3Write(line, rows + (lane * kChannels + i) * kL3Group);
    }
  });
}

template <typename Sample, typename Warp>
LIQUID_DEVICE void L3FinishRows(Warp& warp, const L3SharedV2& shared,
                                uint32_t channels, Sample* rows) {
  switch (channels) {
    case 1:
      L3FinishRowsOf<1>(warp, shared, rows);
      break;
    case 2:
      L3FinishRowsOf<2>(warp, shared, rows);
      break;
    case 3:
      L3FinishRowsOf<3>(warp, shared, rows);
      break;
    default:
      L3FinishRowsOf<4>(warp, shared, rows);
  }
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_V2_BAND_CUH_
