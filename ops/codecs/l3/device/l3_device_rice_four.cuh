// Four patches of the compact profile at once, as l3_device_four.cuh says.
//
// A row's codes begin where those above end. Eight lanes count the ones in as
// many words of its bits; so each knows in which word its group begins, finds
// the one there behind which it does, and takes eight codes from that on, in
// two halves of up to 27 bits. A group with a longer half, as any has that has
// an escape, is odd: it is taken code by code. Where a row has more bits than
// those words, a lane for each channel walks through it to find its groups.
//
// What a lane knows of a row of eight pixels lies in four words, two pixels in
// each: 0|2, 1|3, 4|6 and 5|7, in halves of 16 bits.
//
// What most patches are is decoded here. The rest is left to the block: patches
// of few colours, and all that is damaged. Bits and bytes of a channel only
// come closer to each other; so what is damaged, at the end has bits past its
// bytes.
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_RICE_FOUR_CUH_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_RICE_FOUR_CUH_

#include "ops/codecs/l3/device/l3_device_four.cuh"
#include "ops/codecs/l3/host/l3_compact_tables.h"

namespace liquid {

constexpr uint32_t kL3Sums = 128;  // of which a table says something
// In the place of a number of low bits: of a group of which nothing is stored;
// and beside it: of a group that has a flag.
constexpr uint32_t kL3NoCodes = 8;
constexpr uint32_t kL3HasFlag = 0x80;
// Half a group's codes end in so many bits, or it is odd: an escape and three
// codes have more.
constexpr uint32_t kL3HalfBits = kL3LongestRun + 3;

constexpr uint32_t kL3IsOdd = 0x80000000;
// What some patch of a warp has: in a band predictors that are smooth or *top*,
// the mean taken off blue, flags in the row above, or an end of lanes; and from
// bit kL3LinesFrom on, those that L3StoreFourLines stores.
constexpr uint32_t kL3Smooths = 1, kL3Tops = 2, kL3Means = 4, kL3Flags = 8;
constexpr uint32_t kL3LinesFrom = 4;

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
  LIQUID_DEVICE uint32_t Smooth() const { return piece.words[3] & 0x00FF00FF; }
  // 0x00FF00FF for *top*.
  LIQUID_DEVICE uint32_t Top() const {
    return piece.words[3] >> 8 & 0x00FF00FF;
  }
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
  uint8_t apart[40];
};
// So no two lanes' pixels meet in a bank of memory.
static_assert(sizeof(L3SharedRicePatch) % 128 == 64,
              "patches share their banks");

// Where they lie in it.
constexpr uint32_t kL3GroupsAt =
    kL3FourStoredRows * kL3FourRowBytes + uint32_t{sizeof(L3LinesOfPatch)} + 4;
static_assert(sizeof(L3SharedPixels) == kL3GroupsAt + 4, "it lies elsewhere");
constexpr uint32_t kL3ColoursAt = sizeof(L3SharedPixels);
constexpr uint32_t kL3KsAt = kL3ColoursAt + sizeof(L3Colours);
constexpr uint32_t kL3WaysAt = kL3KsAt + kL3FourChannels * kL3Sums;
constexpr uint32_t kL3LowsAt =
    kL3WaysAt + kL3Bands * kL3FourChannels * uint32_t{sizeof(L3RiceWay)};
constexpr uint32_t kL3OnesAt =
    kL3LowsAt + (kL3NoCodes + 1) * uint32_t{sizeof(L3LowBits)};
static_assert(sizeof(L3SharedRicePatch) ==
                  kL3OnesAt + kL3FourChannels * kL3Groups + 152,
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
  L3Shared shared, ks;  // the patch, and its table or what is in the place
  L3Shared places;      // kL3OnesTable
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
                                smooth ? 0x00FF00FFu
                                : predictor == L3CompactPredictor::kTop
                                    ? 0xFF00FF00u
                                    : 0}};
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
  own->ks = L3Shared(&shared->ks[0][kL3Sums - 1]);
  own->ks_of_row = kL3NoCodes * 0x00010101;
}

// Reads the flags of a row, and finds which groups have codes.
template <typename Warp>
LIQUID_DEVICE void L3ReadFourFlags(
    Warp& warp, typename Warp::template LanesOf<L3LaneOfRice>& own) {
  const auto of_patch = [](uint32_t bits, uint32_t lane) {
    return bits >> lane / kL3Groups * kL3Groups & 0xFF;
  };
  const auto before = [](uint32_t bits, uint32_t lane) {
    return L3CountBits(bits & ((1u << lane % kL3Groups) - 1));
  };
  LIQUID_UNROLL
  for (uint32_t c = 0; c < kL3FourChannels; ++c) {
    const uint32_t with_flags = warp.Ballot(
        [&](uint32_t lane) { return (own[lane].K(c) & kL3HasFlag) != 0; });
    warp.Compute([&](uint32_t lane) {
      L3LaneOfRice& o = own[lane];
      const uint32_t mine = of_patch(with_flags, lane), at = o.at[c] + 1;
      const uint32_t flags =
          L3Funnel(o.words.Word(at / 32), o.words.Word(at / 32 + 1), at);
      const bool is_set = (flags >> before(mine, lane) & 1) != 0;
      const uint32_t k = o.K(c);
      const uint32_t now =
          (k & kL3HasFlag) != 0 && !is_set ? kL3NoCodes : k & ~kL3HasFlag;
      o.ks_of_row ^= (k ^ now) << 8 * c;
      o.Skip(c, L3CountBits(mine));
    });
    const uint32_t with_codes =
        warp.Ballot([&](uint32_t lane) { return own[lane].NoCodes(c) == 0; });
    warp.Compute([&](uint32_t lane) {
      L3LaneOfRice& o = own[lane];
      const uint32_t codes =
          kL3Group * before(of_patch(with_codes, lane), lane);
      o.codes_of_row = (c == 0 ? 0 : o.codes_of_row) | codes << 8 * c;
    });
  }
}

// The first word of a row's bits, from the bit `at` % 32 on, which becomes 1.
LIQUID_DEVICE inline uint32_t L3FirstBits(uint32_t word, uint32_t at) {
  const uint32_t bit = L3OneBit(at);
  return (word | bit) & (0 - bit);
}

// Takes four codes from the highest bit of a word on: their zeros. Returns the
// bit of the last one's end; what is below 5 or negative may be wrong.
LIQUID_DEVICE inline uint32_t L3TakeHalf(uint32_t word, uint32_t* even,
                                         uint32_t* odd) {
  uint32_t ends[4];
  LIQUID_UNROLL
  for (uint32_t i = 0; i < 4; ++i) {
    ends[i] = L3HighestBitOrNone(word);
    word -= L3OneBitOrNone(ends[i]);
  }
  const uint32_t evens = ends[2] * 0x10000 + ends[0];
  const uint32_t odds = ends[3] * 0x10000 + ends[1];
  *even = ends[1] * 0x10000 - 0x10000 + 31 - evens;
  *odd = evens - odds - 0x00010001;
  return ends[3];
}

// Finds the codes of a lane's group in the row's words, of whose ones all lanes
// know the numbers.
LIQUID_DEVICE inline void L3FindCodes(L3LaneOfRice* own, uint32_t c) {
  constexpr uint32_t kEach = 0x01010101, kTops = 0x80808080;
  const uint64_t ones = own->shared.Long(kL3OnesAt + c * kL3Groups);
  const uint32_t low = static_cast<uint32_t>(ones);
  const uint32_t high = static_cast<uint32_t>(ones >> 32);
  // The ones before each word, of which the group's are to be behind so many,
  // and the one before the row's.
  const uint32_t before_low = low * (kEach << 8);
  const uint32_t before_high =
      high * (kEach << 8) + L3AddBytes(low, kEach, 0) * kEach;
  const uint32_t codes = own->Codes(c), more = codes * kEach + kEach;
  const uint32_t over_low =
      (((before_low | kTops) - more) | before_low) & kTops;
  const uint32_t over_high =
      (((before_high | kTops) - more) | before_high) & kTops;
  const uint32_t number =
      kL3Groups - 1 - L3CountBits(over_low) - L3CountBits(over_high);
  uint32_t skipped = codes - L3Permute(before_low, before_high, number);

  const uint32_t at = own->at[c];
  L3Global words = own->words;
  words.Add(L3Opaque(at / 32 + number) * size_t{4});
  uint32_t word = words.Word(0);
  const uint32_t second = words.Word(1), third = words.Word(2);
  if (number == 0) word = L3FirstBits(word, at);
  // In which byte; sums of all up to each.
  uint32_t counts = word - (word >> 1 & 0x55555555);
  counts = (counts & 0x33333333) + (counts >> 2 & 0x33333333);
  counts = ((counts + (counts >> 4)) & 0x0F0F0F0F) * kEach;
  const uint32_t over = ((counts | kTops) - (skipped * kEach + kEach)) & kTops;
  const uint32_t bytes = L3CountBits(over);  // from this one on; or none
  const uint32_t which = 0x4444 - bytes;
  skipped -= L3Permute(counts << 8, 0, which);
  const uint32_t bits = own->places.Word(4 * L3Permute(word, 0, which));
  const uint32_t from = 32 - 8 * bytes + (L3Funnel(bits, 0, 4 * skipped) & 7);

  const uint32_t first_bits = L3Reverse(L3FunnelTo(word, second, from + 1));
  const uint32_t last_bits = L3Reverse(L3FunnelTo(second, third, from + 1));
  uint32_t* zeros = own->numbers[c];
  const uint32_t middle = L3TakeHalf(first_bits, &zeros[0], &zeros[1]);
  const uint32_t end =
      L3TakeHalf(L3Funnel(last_bits, first_bits, middle), &zeros[2], &zeros[3]);
  constexpr uint32_t kLeast = 32 - kL3HalfBits;
  const uint32_t none = own->NoCodes(c);
  const uint32_t odd = ((middle - kLeast) | (end - kLeast)) & ~none;
  const uint32_t no_length =
      none | static_cast<uint32_t>(static_cast<int32_t>(odd) >> 31);
  own->found |= bytes - 1;
  own->row_bits[c] =
      (32 * number + from + ((64 - middle - end) & ~no_length) - at % 32) |
      (odd & kL3IsOdd);
}

// Where escapes are among the zeros of four codes: bit 3 of each byte.
LIQUID_DEVICE inline uint32_t L3EscapesIn(uint32_t zeros) {
  return zeros & zeros >> 1 & 0x08080808;
}

// The zeros of four of a lane's codes, if its group is odd.
LIQUID_DEVICE inline uint32_t L3OddZeros(const L3LaneOfRice& own, uint32_t c,
                                         uint32_t row, uint32_t half) {
  return own.shared.Word(row * kL3FourRowBytes + c * kL3V2Patch + own.Codes(c) +
                         half * (kL3Group / 2));
}

// How many escapes a lane has in a row, a byte for each channel.
LIQUID_DEVICE inline uint32_t L3CountEscapes(const L3LaneOfRice& own,
                                             uint32_t row) {
  uint32_t count = 0;
  LIQUID_UNROLL
  for (uint32_t c = 0; c < kL3FourChannels; ++c) {
    if ((own.odd >> c & 1) == 0) continue;
    count += (L3CountBits(L3EscapesIn(L3OddZeros(own, c, row, 0))) +
              L3CountBits(L3EscapesIn(L3OddZeros(own, c, row, 1))))
             << 8 * c;
  }
  return count;
}

// Takes a code, of which `at` is the bit before. Returns its zeros; too many,
// and bits past the patch, leave `at` where no bits end.
LIQUID_DEVICE inline uint32_t L3TakeCode(const L3LaneOfRice& own,
                                         uint32_t* at) {
  const uint32_t next = *at + 1;
  const uint32_t bits = L3Reverse(
      L3Funnel(own.words.Word(next / 32), own.words.Word(next / 32 + 1), next));
  const uint32_t zeros = 31 - L3HighestBitOrNone(bits);
  *at = next + zeros;
  if (zeros > kL3LongestRun || *at >= 8 * own.end) {
    *at = 8 * own.end;
    return 0;
  }
  return zeros;
}

// Finds where all groups of a row begin, a lane for each channel. They are odd
// then.
template <typename Warp>
LIQUID_DEVICE void L3FindStarts(
    Warp& warp, typename Warp::template LanesOf<L3LaneOfRice>& own,
    L3SharedRicePatch* patches) {
  uint32_t with_codes[kL3FourChannels];
  LIQUID_UNROLL
  for (uint32_t c = 0; c < kL3FourChannels; ++c) {
    with_codes[c] =
        warp.Ballot([&](uint32_t lane) { return own[lane].NoCodes(c) == 0; });
  }
  warp.Each([&](uint32_t lane) {
    const L3LaneOfRice& o = own[lane];
    const uint32_t c = lane % kL3Groups;
    if (c >= kL3FourChannels) return;
    const uint32_t of_warp = c == 0   ? with_codes[0]
                             : c == 1 ? with_codes[1]
                                      : with_codes[2];
    const uint32_t groups =
        L3CountBits(of_warp >> lane / kL3Groups * kL3Groups & 0xFF);
    uint32_t* starts = patches[lane / kL3Groups].starts[c];
    const uint32_t first = c == 0 ? o.at[0] : c == 1 ? o.at[1] : o.at[2];
    uint32_t at = first;
    LIQUID_SELDOM
    for (uint32_t i = 0; i < groups * kL3Group; ++i) {
      if (i % kL3Group == 0) starts[i / kL3Group] = at - first;
      L3TakeCode(o, &at);
    }
    starts[groups] = at - first;
  });
  warp.Each([&](uint32_t lane) {
    L3LaneOfRice& o = own[lane];
    LIQUID_UNROLL
    for (uint32_t c = 0; c < kL3FourChannels; ++c) {
      o.row_bits[c] =
          patches[lane / kL3Groups].starts[c][o.Codes(c) / kL3Group];
      if (o.NoCodes(c) == 0) o.row_bits[c] |= kL3IsOdd;
    }
  });
}

// Takes the codes of odd groups, whatever they are, and goes on to the row's
// end. Their zeros are then also in `row` of the shared ones, a byte each.
// Returns whether there are escapes.
template <typename Warp>
LIQUID_DEVICE bool L3TakeOddGroups(
    Warp& warp, typename Warp::template LanesOf<L3LaneOfRice>& own,
    uint32_t row, L3SharedRicePatch* patches) {
  const bool all_found = warp.Ballot([&](uint32_t lane) {
    return static_cast<int32_t>(own[lane].found) < 0;
  }) == 0;
  if (!all_found) L3FindStarts(warp, own, patches);
  warp.Each([&](uint32_t lane) {
    L3LaneOfRice& o = own[lane];
    o.odd = 0;
    LIQUID_UNROLL
    for (uint32_t c = 0; c < kL3FourChannels; ++c) {
      o.odd |= o.row_bits[c] / kL3IsOdd << c;
      o.row_bits[c] &= ~kL3IsOdd;
    }
    LIQUID_SELDOM
    for (uint32_t c = 0; c < kL3FourChannels; ++c) {
      if ((o.odd >> c & 1) == 0) continue;
      const auto of = [&](const uint32_t* values) {
        return c == 0 ? values[0] : c == 1 ? values[1] : values[2];
      };
      const uint32_t to = row * kL3FourRowBytes + c * kL3V2Patch +
                          (o.codes_of_row >> 8 * c & 0xFF);
      const uint32_t first = of(o.at);
      uint32_t at = first + of(o.row_bits);
      LIQUID_SELDOM
      for (uint32_t i = 0; i < kL3Group; ++i) {
        o.shared.WriteByte(L3TakeCode(o, &at), to + i);
      }
      LIQUID_UNROLL
      for (uint32_t i = 0; i < kL3FourChannels; ++i) {
        if (i == c) o.row_bits[i] = at - first;
      }
    }
    LIQUID_UNROLL
    for (uint32_t c = 0; c < kL3FourChannels; ++c) {
      if ((o.odd >> c & 1) == 0) continue;
      LIQUID_UNROLL
      for (uint32_t half = 0; half < 2; ++half) {
        const uint32_t zeros = L3OddZeros(o, c, row, half);
        o.numbers[c][2 * half] = L3Permute(zeros, 0, 0x4240);
        o.numbers[c][2 * half + 1] = L3Permute(zeros, 0, 0x4341);
      }
    }
  });
  // The last lane tells where a row ends. It counts ones to find its own group,
  // so it does not see that a code before has too many zeros.
  const uint32_t bad = warp.Ballot([&](uint32_t lane) {
    const L3LaneOfRice& o = own[lane];
    bool past = false;
    LIQUID_UNROLL
    for (uint32_t c = 0; c < kL3FourChannels; ++c) {
      past = past || o.at[c] + o.row_bits[c] >= 8 * o.end;
    }
    return past;
  });
  typename Warp::Lanes last;
  warp.Compute([&](uint32_t lane) { last[lane] = lane | (kL3Groups - 1); });
  LIQUID_UNROLL
  for (uint32_t c = 0; c < kL3FourChannels; ++c) {
    typename Warp::Lanes bits;
    warp.Compute([&](uint32_t lane) { bits[lane] = own[lane].row_bits[c]; });
    bits = warp.FromLane(bits, last);
    if (bad != 0) {
      warp.Compute([&](uint32_t lane) {
        if ((bad >> lane / kL3Groups * kL3Groups & 0xFF) != 0) {
          bits[lane] = 8 * own[lane].end;
        }
      });
    }
    warp.Compute([&](uint32_t lane) { own[lane].Skip(c, bits[lane]); });
  }
  typename Warp::Lanes counts, all;
  warp.Each(
      [&](uint32_t lane) { counts[lane] = L3CountEscapes(own[lane], row); });
  if (warp.Ballot([&](uint32_t lane) { return counts[lane] != 0; }) == 0) {
    return false;
  }
  L3SumBefore(warp, counts, all);
  warp.Compute([&](uint32_t lane) {
    LIQUID_UNROLL
    for (uint32_t c = 0; c < kL3FourChannels; ++c) {
      uint32_t* back = &own[lane].back[c];
      const uint32_t bytes = all[lane] >> 8 * c & 0xFF;
      // What is damaged ends before all bits.
      *back = *back < bytes ? 0 : *back - bytes;
    }
  });
  return true;
}

// Puts escapes in the place of odd groups' numbers. `lows`: the bytes of low
// bits in front of them.
template <typename Warp>
LIQUID_DEVICE void L3TakeEscapes(
    Warp& warp, typename Warp::template LanesOf<L3LaneOfRice>& own,
    uint32_t row, typename Warp::Lanes& lows) {
  typename Warp::Lanes counts, all;
  warp.Compute(
      [&](uint32_t lane) { counts[lane] = L3CountEscapes(own[lane], row); });
  L3SumBefore(warp, counts, all);
  warp.Each([&](uint32_t lane) {
    L3LaneOfRice& o = own[lane];
    LIQUID_UNROLL
    for (uint32_t c = 0; c < kL3FourChannels; ++c) {
      if ((o.odd >> c & 1) == 0) continue;
      uint32_t at = o.back[c] + (lows[lane] >> 8 * c & 0xFF) +
                    (counts[lane] >> 8 * c & 0xFF);
      LIQUID_UNROLL
      for (uint32_t half = 0; half < 2; ++half) {
        const uint32_t escapes = L3EscapesIn(L3OddZeros(o, c, row, half));
        if (escapes == 0) continue;
        LIQUID_UNROLL
        for (uint32_t i = 0; i < kL3Group / 2; ++i) {
          if ((escapes >> 8 * i & 0xFF) == 0) continue;
          uint32_t* number = &o.numbers[c][half * 2 + i % 2];
          const uint32_t value = o.words.Word(at / 4) >> 8 * (at % 4) & 0xFF;
          *number = i < 2 ? (*number & 0xFFFF0000) | value
                          : (*number & 0x0000FFFF) | value << 16;
          ++at;
        }
      }
    }
  });
}

// Turns the differences of the row above into those that are predicted.
template <typename Warp>
LIQUID_DEVICE void L3PredictFour(
    Warp& warp, typename Warp::template LanesOf<L3LaneOfRice>& own,
    uint32_t band, bool smooths) {
  struct Slopes {
    uint32_t of[kL3FourChannels][4];
  };
  typename Warp::template LanesOf<Slopes> slopes;
  warp.Compute([&](uint32_t lane) {
    LIQUID_UNROLL
    for (uint32_t c = 0; c < kL3FourChannels; ++c) {
      const uint32_t kept = own[lane].Way(band, c).Kept();
      LIQUID_UNROLL
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t above = own[lane].diffs[c][i];
        slopes[lane].of[c][i] =
            ((i == 0 ? above & own[lane].first : above) ^ 0x00800080) & kept;
      }
    }
  });
  if (smooths) {
    typename Warp::Lanes first, last, next;
    warp.Compute([&](uint32_t lane) {
      const auto& of = slopes[lane].of;
      // A byte for each channel.
      first[lane] =
          L3Permute(L3Permute(of[0][0], of[1][0], 0x0040), of[2][0], 0x1410);
      last[lane] =
          L3Permute(L3Permute(of[0][3], of[1][3], 0x0062), of[2][3], 0x1610);
      next[lane] = lane + 1;
    });
    typename Warp::Lanes before = warp.FromBelow(last, 1);
    typename Warp::Lanes after = warp.FromLane(first, next);
    warp.Compute([&](uint32_t lane) {
      const uint32_t group = lane % kL3Groups;
      const uint32_t left = group == 0 ? 0x00808080 : before[lane];
      const uint32_t right = group + 1 == own[lane].shared.Word(kL3GroupsAt)
                                 ? 0x00808080
                                 : after[lane];
      LIQUID_UNROLL
      for (uint32_t c = 0; c < kL3FourChannels; ++c) {
        uint32_t* of = slopes[lane].of[c];
        const uint32_t smooth = own[lane].Way(band, c).Smooth();
        const uint32_t neighbours[4] = {
            L3Permute(of[1], left, 0x1014 + c) + of[1],
            of[0] + L3Permute(of[0], of[2], 0x5432),
            L3Permute(of[1], of[3], 0x5432) + of[3],
            of[2] + L3Permute(of[2], right, 0x3032 + ((4 + c) << 8))};
        LIQUID_UNROLL
        for (uint32_t i = 0; i < 4; ++i) {
          // Of a half's bits above the lower eight none counts in the end.
          const uint32_t mean =
              ((neighbours[i] + 0x00010001) >> 1) + (of[i] + 0x00010001);
          of[i] = (mean >> 1 & smooth) | (of[i] & ~smooth);
        }
      }
    });
  }
  warp.Compute([&](uint32_t lane) {
    LIQUID_UNROLL
    for (uint32_t c = 0; c < kL3FourChannels; ++c) {
      const L3RiceWay way = own[lane].Way(band, c);
      const uint32_t taken = way.Taken(), start = way.Start();
      LIQUID_UNROLL
      for (uint32_t i = 0; i < 4; ++i) {
        uint32_t* above = &own[lane].diffs[c][i];
        const uint32_t slope = slopes[lane].of[c][i];
        // Column 0 has pixels: they have nothing left of them. They grow by
        // less than 1024 in a row.
        const uint32_t edge = i == 0 ? *above & ~own[lane].first : 0;
        *above = slope + start + ((~slope & taken) >> 2) + edge;
      }
    }
  });
}

// Decodes row `y` of each patch into one of the shared ones.
template <typename Warp>
LIQUID_DEVICE void L3DecodeRiceFourRow(
    Warp& warp, typename Warp::template LanesOf<L3LaneOfRice>& own, uint32_t y,
    uint32_t modes, L3SharedRicePatch* patches) {
  const uint32_t row = y % kL3FourStoredRows;
  typename Warp::Lanes sums, lows, all;
  warp.Each([&](uint32_t lane) {
    L3LaneOfRice& o = own[lane];
    const uint32_t group = lane % kL3Groups;
    LIQUID_UNROLL
    for (uint32_t c = 0; c < kL3FourChannels; ++c) {
      uint32_t word = o.words.Word(o.at[c] / 32 + group);
      if (group == 0) word = L3FirstBits(word, o.at[c]);
      o.shared.WriteByte(L3CountBits(word), kL3OnesAt + c * kL3Groups + group);
    }
    o.found = 0;
  });
  L3PredictFour(warp, own, y / kL3BandRows, (modes & kL3Smooths) != 0);
  warp.Compute([&](uint32_t lane) {
    LIQUID_UNROLL
    for (uint32_t c = 0; c < kL3FourChannels; ++c) L3FindCodes(&own[lane], c);
  });
  const bool odd = warp.Ballot([&](uint32_t lane) {
    const L3LaneOfRice& o = own[lane];
    return static_cast<int32_t>(o.row_bits[0] | o.row_bits[1] | o.row_bits[2] |
                                o.found) < 0;
  }) != 0;
  bool escapes = false;
  if (odd) {
    escapes = L3TakeOddGroups(warp, own, row, patches);
  } else {
    typename Warp::Lanes last;
    warp.Compute([&](uint32_t lane) {
      const uint32_t* bits = own[lane].row_bits;
      sums[lane] = bits[0] + bits[1] * 0x400 + bits[2] * 0x100000;
      last[lane] = lane | (kL3Groups - 1);
    });
    sums = warp.FromLane(sums, last);
    warp.Compute([&](uint32_t lane) {
      L3LaneOfRice& o = own[lane];
      LIQUID_UNROLL
      for (uint32_t c = 0; c < kL3FourChannels; ++c) {
        o.Skip(c, sums[lane] >> 10 * c & 0x3FF);
      }
    });
  }
  warp.Compute(
      [&](uint32_t lane) { lows[lane] = own[lane].ks_of_row & 0x00070707; });
  L3SumBefore(warp, lows, all);
  warp.Compute([&](uint32_t lane) {
    L3LaneOfRice& o = own[lane];
    LIQUID_UNROLL
    for (uint32_t c = 0; c < kL3FourChannels; ++c) {
      const uint32_t n = o.K(c);
      const int32_t back = static_cast<int32_t>(
          o.back[c] - L3AddBytes(all[lane], 1u << 8 * c, 0));
      // What is damaged ends before all bits.
      o.back[c] = static_cast<uint32_t>(back < 0 ? 0 : back);
      const uint32_t at = L3AddBytes(lows[lane], 1u << 8 * c, o.back[c]);
      L3Global words = o.words;
      words.Add(L3Opaque(at / 4) * size_t{4});
      const L3LowBits fields = {o.shared.Piece(
          kL3LowsAt + n * static_cast<uint32_t>(sizeof(L3LowBits)))};
      const uint32_t second = words.Word(1);
      const uint32_t low = L3Funnel(words.Word(0), second, 8 * at);
      const uint32_t high = L3Funnel(second, words.Word(2), 8 * at);
      uint32_t bits[4];
      L3SplitFields(low, n, fields.Apart(), fields.Mask(), &bits[0], &bits[1]);
      L3SplitFields(L3FunnelTo(low, high, 4 * n), n, fields.Apart(),
                    fields.Mask(), &bits[2], &bits[3]);
      LIQUID_UNROLL
      for (uint32_t i = 0; i < 4; ++i) {
        o.numbers[c][i] = o.numbers[c][i] * fields.Scale() + bits[i];
      }
    }
  });
  if (escapes) L3TakeEscapes(warp, own, row, all);

  typename Warp::Lanes last_residuals;
  warp.Compute([&](uint32_t lane) {
    L3LaneOfRice& o = own[lane];
    uint32_t ks[kL3FourChannels];
    LIQUID_UNROLL
    for (uint32_t c = 0; c < kL3FourChannels; ++c) {
      uint32_t sum = 0;
      LIQUID_UNROLL
      for (uint32_t i = 0; i < 4; ++i) {
        uint32_t* number = &o.numbers[c][i];
        const uint32_t half = *number >> 1 & 0x007F007F;
        const uint32_t sign = *number & 0x00010001;
        sum += half + sign;
        *number = half ^ sign * 0xFF;
        o.diffs[c][i] += *number;
      }
      // What the next row goes by.
      sum = L3AddSamples<uint16_t>(sum, 2, 0);
      const uint32_t far = sum / 16 + 60;
      ks[c] = o.ks.Byte(c * kL3Sums + (sum < far ? sum : far));
    }
    o.ks_of_row = ks[0] + ks[1] * 0x100 + ks[2] * 0x10000;
  });
  if ((modes & kL3Tops) != 0 && y > 0) {
    // Of *top* residuals are of pixels, not of differences.
    warp.Compute([&](uint32_t lane) {
      const auto& of = own[lane].numbers;
      last_residuals[lane] =
          L3Permute(L3Permute(of[0][3], of[1][3], 0x0062), of[2][3], 0x1610);
    });
    typename Warp::Lanes before = warp.FromBelow(last_residuals, 1);
    warp.Compute([&](uint32_t lane) {
      L3LaneOfRice& o = own[lane];
      const uint32_t left = lane % kL3Groups == 0 ? 0 : before[lane];
      LIQUID_UNROLL
      for (uint32_t c = 0; c < kL3FourChannels; ++c) {
        const uint32_t* of = o.numbers[c];
        const uint32_t top = o.Way(y / kL3BandRows, c).Top();
        const uint32_t before_each[4] = {L3Permute(of[1], left, 0x1014 + c),
                                         of[0], L3Permute(of[1], of[3], 0x5432),
                                         of[2]};
        LIQUID_UNROLL
        for (uint32_t i = 0; i < 4; ++i) {
          o.diffs[c][i] += (~before_each[i] & top) + (top & 0x00010001);
        }
      }
    });
  }
  warp.Compute([&](uint32_t lane) { sums[lane] = L3SumGroups(&own[lane]); });
  L3SumBefore(warp, sums, all);
  warp.Each([&](uint32_t lane) {
    uint32_t samples[kL3FourChannels][4];
    L3AddUpGroups(own[lane], sums[lane], samples);
    const L3Piece colours = own[lane].shared.Piece(kL3ColoursAt);
    L3TurnSamples({colours.words[0], colours.words[1], colours.words[2]},
                  (modes & kL3Means) != 0, samples);
    L3WritePixels(samples, own[lane].pixels, row * kL3FourRowBytes);
  });
}

// Begins with a task; false if it is none that is decoded here.
template <typename Out>
LIQUID_DEVICE bool L3BeginRicePatch(const L3DeviceTask& task, uint32_t group,
                                    const uint8_t* bytes,
                                    const L3DeviceOutput& output, Out* pixels,
                                    const L3OnesTable* ones,
                                    L3SharedRicePatch* shared,
                                    L3LaneOfRice* own) {
  own->begin = static_cast<uint32_t>(task.begin[0] % kL3PieceBytes);
  own->end = own->begin + task.size[0];
  own->words = L3Global(bytes + (task.begin[0] - own->begin));
  own->shared = L3Shared(shared);
  own->ks = L3Shared(shared->ks);
  own->places = L3Shared(const_cast<L3OnesTable*>(ones));
  const bool known = L3ReadRiceWords(group, shared, own);
  const L3Lines<Out> lines(task, output, pixels);
  const bool pieces =
      L3BeginPixels(lines, task, group, pixels, known, shared, own);
  if (group == 0) shared->pieces_end = pieces ? task.row_end : 0;
  return known;
}

// Stores a lane's pieces of rows `y` and the next. What it takes is not kept in
// registers, of which rows need all.
LIQUID_DEVICE inline void L3StoreRicePieces(uint32_t group, uint32_t y,
                                            uint8_t* pixels,
                                            const L3SharedRicePatch& patch) {
  LIQUID_UNROLL
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t piece = group + kL3Groups * i;
    const uint32_t row = y + piece / 12;
    if (row < patch.lines.row_begin || row >= patch.pieces_end) continue;
    const L3Global out(pixels + patch.lines.first +
                       (row - patch.lines.row_begin) * patch.lines.row_pitch +
                       piece % 12 * kL3PieceBytes);
    out.Write(L3Read<L3Piece>(&patch.rows[piece * kL3PieceBytes]));
  }
}

// As L3DecodeFour. `ones` is kL3OnesTable in the shared memory.
template <typename Out, typename Warp>
LIQUID_DEVICE uint32_t L3DecodeRiceFour(
    Warp& warp, const L3DeviceTask* tasks, uint32_t count, uint32_t wrong,
    const uint8_t* bytes, const L3DeviceOutput& output, Out* pixels,
    uint32_t* results, const L3OnesTable* ones, L3SharedRicePatch* patches) {
  typename Warp::template LanesOf<L3LaneOfRice> own;
  warp.Each([&](uint32_t lane) {
    const uint32_t patch = lane / kL3Groups;
    const L3DeviceTask task = tasks[patch < count ? patch : 0];
    const bool known =
        L3BeginRicePatch(task, lane % kL3Groups, bytes, output, pixels, ones,
                         &patches[patch], &own[lane]) &&
        patch < count && (wrong >> patch & 1) == 0;
    // Of a patch that is left no row is.
    if (lane % kL3Groups == 0) {
      patches[patch].groups = (task.width + kL3Group - 1) / kL3Group;
      patches[patch].rows_end = known ? task.row_end : 0;
    }
    if (!known && lane % kL3Groups == 0) patches[patch].pieces_end = 0;
  });
  uint32_t last = 0;
  uint32_t modes = L3LinesOfPatches(patches, &last) << kL3LinesFrom | kL3Flags;
  const uint32_t with_means = warp.Ballot([&](uint32_t lane) {
    return patches[lane / kL3Groups].colours.mean != 0;
  });
  if (with_means != 0) modes |= kL3Means;

  uint32_t stop = 0;
  LIQUID_SELDOM
  for (uint32_t first = 0; first < last; first += kL3FourStoredRows) {
    if (first % kL3BandRows == 0) {
      const auto some = [&](bool smooth) {
        return warp.Ballot([&](uint32_t lane) {
          const uint32_t c = lane % kL3Groups;
          const L3RiceWay way =
              own[lane].Way(first / kL3BandRows,
                            c < kL3FourChannels ? c : kL3FourChannels - 1);
          return (smooth ? way.Smooth() : way.Top()) != 0;
        }) != 0;
      };
      modes &= ~(kL3Smooths | kL3Tops);
      if (some(true)) modes |= kL3Smooths;
      if (some(false)) modes |= kL3Tops;
      // So sixteen rows of two channels do not fill half a word.
      warp.Compute([&](uint32_t lane) {
        LIQUID_UNROLL
        for (uint32_t c = 0; c < kL3FourChannels; ++c) {
          own[lane].diffs[c][0] &= 0x00FF00FF;
        }
      });
    }
    LIQUID_SELDOM
    for (uint32_t y = first; y < first + kL3FourStoredRows; ++y) {
      if (y == stop) {
        warp.Compute([&](uint32_t lane) {
          L3EndLane(lane % kL3Groups, y, &patches[lane / kL3Groups],
                    &own[lane]);
        });
        modes |= kL3Flags;
        stop = last;
        LIQUID_UNROLL
        for (uint32_t patch = 0; patch < kL3FourPatches; ++patch) {
          const uint32_t end = patches[patch].rows_end;
          stop = end > y && end < stop ? end : stop;
        }
      }
      const bool flags = warp.Ballot([&](uint32_t lane) {
        return (own[lane].ks_of_row & kL3HasFlag * 0x00010101) != 0;
      }) != 0;
      // What they changed goes back to what is without.
      if (flags || (modes & kL3Flags) != 0) L3ReadFourFlags(warp, own);
      modes = flags ? modes | kL3Flags : modes & ~kL3Flags;
      L3DecodeRiceFourRow(warp, own, y, modes, patches);
    }
    warp.Each([&](uint32_t lane) {
      if constexpr (L3IsSame<Out, uint8_t>) {
        L3StoreRicePieces(lane % kL3Groups, first, pixels,
                          patches[lane / kL3Groups]);
      }
    });
    if (modes >> kL3LinesFrom != 0) {
      L3StoreFourLines(warp, modes >> kL3LinesFrom, first, output, pixels,
                       patches);
    }
  }

  const uint32_t done = warp.Ballot([&](uint32_t lane) {
    const uint32_t patch = lane / kL3Groups;
    if (patches[patch].rows_end == 0) return false;
    const L3LaneOfRice& o = own[lane];
    const L3DeviceTask& task = tasks[patch];
    bool right = true;
    LIQUID_UNROLL
    for (uint32_t c = 0; c < kL3FourChannels; ++c) {
      const uint32_t bits_end = o.at[c] / 8 + 1;
      right = right && (task.row_end < task.height ? bits_end <= o.back[c]
                                                   : bits_end == o.back[c]);
    }
    if (right && lane % kL3Groups == 0) results[patch] = 0;
    return right;
  });
  return L3LeftOfFour(patches, done, count);
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_RICE_FOUR_CUH_
