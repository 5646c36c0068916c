// What a patch of the compact profile, and a lane of those that decode four of
// them, keep from row to row; and how that begins, with the patch's headers.
//
// What a lane knows of a row of eight pixels lies in four words, two pixels in
// each: 0|2, 1|3, 4|6 and 5|7, in halves of 16 bits.
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_RICE_FOUR_LANE_CUH_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_RICE_FOUR_LANE_CUH_

#include "ops/codecs/l3/device/l3_device_four.cuh"
#include "ops/codecs/l3/host/l3_compact_tables.h"

namespace liquid {

constexpr uint32_t kL3Sums = 128;  // of which a table says something
// In the place of a number of low bits: of a group of which nothing is stored;
// and beside it: of a group that has a flag.
constexpr uint32_t kL3NoCodes = 8;
constexpr uint32_t kL3HasFlag = 0x80;
// Of a lane without a group: 16 times as much is a sum that no group has, for
// which the tables end with kL3NoCodes.
constexpr uint32_t kL3Ended = 67;
static_assert(kL3Ended + 60 == kL3Sums - 1 && kL3Ended * 16 > kL3Group * 128,
              "some group has that sum");

// By the sum of a group's magnitudes, as l3.md has it: the low bits of the next
// row's residuals.
struct L3KTable {
  alignas(16) uint8_t of[kL3KMaps][kL3Sums];
};

LIQUID_HOST_DEVICE constexpr L3KTable L3MakeKTable() {
  L3KTable table = {};
  for (uint32_t map = 0; map < kL3KMaps; ++map) {
    for (uint32_t i = 0; i < kL3Sums; ++i) {
      const uint32_t sum = i < 64 ? i : (i - 60) * 16;
      uint32_t k = 0;
      while (k < 7 && kL3KThresholds[map][k] <= sum) ++k;
      table.of[map][i] = static_cast<uint8_t>(k);
    }
  }
  return table;
}

LIQUID_DEVICE_TABLE L3KTable kL3KTable = L3MakeKTable();

// By a byte: which of its bits is its first one, its second and so on, in 4
// bits each.
struct L3OnesTable {
  alignas(16) uint32_t of[256];
};

LIQUID_HOST_DEVICE constexpr L3OnesTable L3MakeOnesTable() {
  L3OnesTable table = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t count = 0;
    for (uint32_t bit = 0; bit < 8; ++bit) {
      if ((byte >> bit & 1) != 0) table.of[byte] |= bit << 4 * count++;
    }
  }
  return table;
}

LIQUID_DEVICE_TABLE L3OnesTable kL3OnesTable = L3MakeOnesTable();

// What turns fields of some number of low bits, and the zeros in front of them,
// into numbers, two in a word.
struct L3LowBits {
  L3Piece piece;
  LIQUID_DEVICE uint32_t Mask() const { return piece.words[0]; }   // of a field
  LIQUID_DEVICE uint32_t Apart() const { return piece.words[1]; }  // see Split
  LIQUID_DEVICE uint32_t Scale() const { return piece.words[2]; }  // of zeros
};

// How a predictor goes on from the row above. With u for a slope there plus 128
// it adds u + Start() + (~u & Taken()) / 4 to the left pixel.
struct L3RiceWay {
  L3Piece piece;
  LIQUID_DEVICE uint32_t Kept() const { return piece.words[0]; }  // of u
  LIQUID_DEVICE uint32_t Taken() const { return piece.words[1]; }
  LIQUID_DEVICE uint32_t Start() const { return piece.words[2]; }
  // 0x00FF00FF where slopes are smoothed.
  LIQUID_DEVICE uint32_t Smooth() const { return piece.words[3]; }
};

// Of a patch, in a block's shared memory.
struct alignas(16) L3SharedRicePatch : L3SharedPixels {
  L3Colours colours;
  // By channel and a group's sum. The last one is of lanes without a group.
  alignas(16) uint8_t ks[kL3FourChannels][kL3Sums];
  L3RiceWay ways[kL3Bands][kL3FourChannels];
  L3LowBits lows[kL3NoCodes + 1];
  alignas(8) uint8_t ones[kL3FourChannels][kL3Groups];  // of a row's words
  // Behind `at` of a lane, where a row's groups begin, and where it ends.
  uint32_t starts[kL3FourChannels][kL3Groups + 1];
  uint32_t pieces_end;  // behind the last row that is stored in pieces
  uint8_t tops[kL3Bands][kL3FourChannels];  // 0xFF where the predictor is *top*
  uint8_t apart[28];
};
// So no two lanes' pixels meet in a bank of memory.
static_assert(sizeof(L3SharedRicePatch) % 128 == 64,
              "patches share their banks");

// Where they lie in it.
constexpr uint32_t kL3FirstAt = kL3FourStoredRows * kL3FourRowBytes;
constexpr uint32_t kL3RowPitchAt = kL3FirstAt + 8;
constexpr uint32_t kL3RowBeginAt = kL3FirstAt + 28;
constexpr uint32_t kL3GroupsAt =
    kL3FirstAt + uint32_t{sizeof(L3LinesOfPatch)} + 4;
static_assert(sizeof(L3SharedPixels) == kL3GroupsAt + 4, "it lies elsewhere");
constexpr uint32_t kL3ColoursAt = sizeof(L3SharedPixels);
constexpr uint32_t kL3KsAt = kL3ColoursAt + sizeof(L3Colours);
constexpr uint32_t kL3WaysAt = kL3KsAt + kL3FourChannels * kL3Sums;
constexpr uint32_t kL3LowsAt =
    kL3WaysAt + kL3Bands * kL3FourChannels * uint32_t{sizeof(L3RiceWay)};
constexpr uint32_t kL3OnesAt =
    kL3LowsAt + (kL3NoCodes + 1) * uint32_t{sizeof(L3LowBits)};
constexpr uint32_t kL3StartsAt = kL3OnesAt + kL3FourChannels * kL3Groups;
constexpr uint32_t kL3PiecesEndAt =
    kL3StartsAt + kL3FourChannels * (kL3Groups + 1) * 4;
constexpr uint32_t kL3TopsAt = kL3PiecesEndAt + 4;
static_assert(sizeof(L3SharedRicePatch) ==
                  kL3TopsAt + kL3Bands * kL3FourChannels + 28,
              "they lie elsewhere");

// As L3SharedFours.
struct alignas(16) L3SharedRiceFours {
  uint32_t left[4];
  L3OnesTable ones;
  L3SharedRicePatch patches[kL3FourWarps][kL3FourPatches];
};

// What a lane knows of its patch.
struct L3LaneOfRice : L3LaneOfPixels {
  // Where the patch begins, or up to 15 bytes before; and in these bytes, where
  // the patch does, and where it ends.
  L3Global words;
  uint32_t begin, end;
  // Of each channel the bit before those that are to be read, and where the
  // bytes begin that have been read.
  uint32_t at[kL3FourChannels], back[kL3FourChannels];
  L3Shared shared;  // the patch
  L3Shared places;  // kL3OnesTable
  // Of the next row, a byte for each channel: the low bits of its group's
  // residuals, or kL3NoCodes; or kL3HasFlag, too. And how many codes are in the
  // groups before.
  uint32_t ks_of_row, codes_of_row;
  // Of the row: the zeros of codes, then the numbers they are of.
  uint32_t numbers[kL3FourChannels][4];
  // Behind `at`, up to where the group ends; where it begins, if it is odd, and
  // kL3IsOdd beside it.
  uint32_t row_bits[kL3FourChannels];
  uint32_t found;  // negative: a group was not
  uint32_t odd;    // a bit for each channel

  LIQUID_DEVICE uint32_t K(uint32_t c) const {
    return L3Permute(ks_of_row, 0, 0x4440 + c);
  }
  LIQUID_DEVICE uint32_t Codes(uint32_t c) const {
    return L3Permute(codes_of_row, 0, 0x4440 + c);
  }
  // Goes on by so many bits. What is damaged stays behind the end.
  LIQUID_DEVICE void Skip(uint32_t c, uint32_t bits) {
    const uint32_t next = at[c] + bits;
    at[c] = next < 8 * end ? next : 8 * end;
  }
  // All ones where it has no codes.
  LIQUID_DEVICE uint32_t NoCodes(uint32_t c) const {
    return static_cast<uint32_t>(
        static_cast<int32_t>(ks_of_row << (28 - 8 * c)) >> 31);
  }
  LIQUID_DEVICE L3RiceWay Way(uint32_t band, uint32_t c) const {
    return {shared.Piece(kL3WaysAt + (band * kL3FourChannels + c) *
                                         uint32_t{sizeof(L3RiceWay)})};
  }
  // 0xFF for *top*, else 0.
  LIQUID_DEVICE uint32_t Top(uint32_t band, uint32_t c) const {
    return shared.Byte(kL3TopsAt + band * kL3FourChannels + c);
  }
};

// Reads the headers of a lane's patch. False: it is none that is decoded here.
LIQUID_DEVICE inline bool L3ReadRiceWords(uint32_t group,
                                          L3SharedRicePatch* shared,
                                          L3LaneOfRice* own) {
  const uint32_t headers = own->begin + 4;
  uint32_t next = headers + kL3ChannelHeader * kL3FourChannels;
  bool known = true;
  LIQUID_UNROLL
  for (uint32_t c = 0; c < kL3FourChannels; ++c) {
    const uint32_t header = headers + kL3ChannelHeader * c;
    const uint32_t size = L3FourWord(own->words, header) & 0xFFFF;
    const uint32_t word = L3FourWord(own->words, header + 2);
    const uint32_t colour = word >> 12 & 3, first_k = word >> 20 & 15;
    known = known && size <= kL3MaxSegmentBytes && first_k <= L3MaxK(8) &&
            colour <= (c == 0   ? 1
                       : c == 2 ? 2
                                : 0);
    own->at[c] = 8 * next - 1;
    next += size;
    own->back[c] = next;
    own->ks_of_row = (c == 0 ? 0 : own->ks_of_row) | first_k << 8 * c;
    LIQUID_UNROLL
    for (uint32_t i = 0; i < 4; ++i) own->diffs[c][i] = 0;
    if (group == 0) own->diffs[c][0] = word >> 24;
    if (group == 0) {
      L3Colours* colours = &shared->colours;
      if (c == 0) colours->red_green = colour;
      if (c == 2) colours->blue_green = colour == 1 ? 1 : 0;
      if (c == 2) colours->mean = colour == 2 ? 0x00FF00FF : 0;
    }
    LIQUID_SELDOM
    for (uint32_t band = 0; band < kL3Bands; ++band) {
      const uint32_t number = word >> 3 * band & 7;
      known = known && number < kL3CompactPredictors;
      if (band != group) continue;
      const auto predictor = static_cast<L3CompactPredictor>(number);
      const bool left = predictor == L3CompactPredictor::kLeft;
      const bool part = predictor == L3CompactPredictor::kThreeQuarter ||
                        predictor == L3CompactPredictor::kSmoothThreeQuarter;
      const bool smooth = predictor == L3CompactPredictor::kSmooth ||
                          predictor == L3CompactPredictor::kSmoothThreeQuarter;
      // A quarter of a slope is (u >> 2) - 32, and (~u & 0xFC) >> 2 is 63 less
      // u >> 2.
      shared->ways[band][c] = {{left ? 0 : 0x00FF00FFu, part ? 0x00FC00FCu : 0,
                                left   ? 0
                                : part ? 0x00610061u
                                       : 0x00800080u,
                                smooth ? 0x00FF00FFu : 0}};
      shared->tops[band][c] = predictor == L3CompactPredictor::kTop ? 0xFF : 0;
    }
    // Those of sums below the limit have flags.
    const uint32_t limit = 0x08030100 >> 8 * (word >> 18 & 3) & 0xFF;
    const uint8_t* from = kL3KTable.of[word >> 14 & 15];
    L3Piece ks = L3Read<L3Piece>(from + group * kL3PieceBytes);
    if (group == 0) {
      const uint64_t flags =
          limit == 0 ? 0 : uint64_t{0x8080808080808080} >> (64 - 8 * limit);
      ks.words[0] |= static_cast<uint32_t>(flags);
      ks.words[1] |= static_cast<uint32_t>(flags >> 32);
    }
    if (group == kL3Groups - 1) {
      ks.words[3] = (ks.words[3] & 0x00FFFFFF) | kL3NoCodes << 24;
    }
    L3Write(ks, &shared->ks[c][group * kL3PieceBytes]);
  }
  for (uint32_t k = group; k <= kL3NoCodes; k += kL3Groups) {
    const bool none = k == kL3NoCodes;
    shared->lows[k] = {{none ? 0 : ((1u << k) - 1) * 0x00010001,
                        1u << (16 - 2 * k), none ? 0 : 1u << k, 0}};
  }
  known = known && next == own->end;
  LIQUID_UNROLL
  for (uint32_t c = 0; c < kL3FourChannels; ++c) {
    // Where reading does no harm.
    if (!known) {
      own->at[c] = 8 * own->begin;
      own->back[c] = own->begin;
    }
  }
  return known;
}

// Of a lane that has no group in row `y`, and from there on.
LIQUID_DEVICE inline void L3EndLane(uint32_t group, uint32_t y,
                                    L3SharedRicePatch* shared,
                                    L3LaneOfRice* own) {
  if (y < shared->rows_end && group < shared->groups) return;
  own->ks_of_row = kL3NoCodes * 0x00010101 | kL3Ended << 24;
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_RICE_FOUR_LANE_CUH_
