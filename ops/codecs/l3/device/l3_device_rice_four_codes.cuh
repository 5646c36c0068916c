// The codes of a row of four patches of the compact profile: whose group has
// any, where they begin, and what they are, escapes too.
//
// A row's codes begin where those above end. Eight lanes count the ones in as
// many words of its bits; so each knows in which word its group begins, finds
// the one there behind which it does, and takes eight codes from that on, in
// two halves of up to 27 bits. A group with a longer half, as any has that has
// an escape, is odd: it is taken code by code. Where a row has more bits than
// those words, a lane for each channel walks through it to find its groups.
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_RICE_FOUR_CODES_CUH_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_RICE_FOUR_CODES_CUH_

#include "ops/codecs/l3/device/l3_device_rice_four_lane.cuh"

namespace liquid {

// Half a group's codes end in so many bits, or it is odd: an escape and three
// codes have more.
constexpr uint32_t kL3HalfBits = kL3LongestRun + 3;

constexpr uint32_t kL3IsOdd = 0x80000000;

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
    Warp& warp, typename Warp::template LanesOf<L3LaneOfRice>& own) {
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
    uint32_t start = kL3StartsAt + 4 * c * (kL3Groups + 1);
    const uint32_t first = c == 0 ? o.at[0] : c == 1 ? o.at[1] : o.at[2];
    uint32_t at = first;
    LIQUID_SELDOM
    for (uint32_t i = 0; i < groups * kL3Group; ++i) {
      if (i % kL3Group == 0) {
        o.shared.WriteWord(at - first, start);
        start += 4;
      }
      L3TakeCode(o, &at);
    }
    o.shared.WriteWord(at - first, start);
  });
  warp.Each([&](uint32_t lane) {
    L3LaneOfRice& o = own[lane];
    LIQUID_UNROLL
    for (uint32_t c = 0; c < kL3FourChannels; ++c) {
      o.row_bits[c] = o.shared.Word(kL3StartsAt + 4 * c * (kL3Groups + 1) +
                                    4 * o.Codes(c) / kL3Group);
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
    uint32_t row) {
  const bool all_found = warp.Ballot([&](uint32_t lane) {
    return static_cast<int32_t>(own[lane].found) < 0;
  }) == 0;
  if (!all_found) L3FindStarts(warp, own);
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
      // Of a number eight bits count: they are put where the zeros were.
      const uint32_t place =
          row * kL3FourRowBytes + c * kL3V2Patch + o.Codes(c);
      LIQUID_UNROLL
      for (uint32_t half = 0; half < 2; ++half) {
        const uint32_t to = place + half * (kL3Group / 2);
        uint32_t* pair = &o.numbers[c][2 * half];
        uint32_t escapes = L3EscapesIn(o.shared.Word(to));
        if (escapes == 0) continue;
        o.shared.WriteWord(L3Permute(pair[0], pair[1], 0x6240), to);
        LIQUID_SELDOM
        for (; escapes != 0; escapes &= escapes - 1) {
          const uint32_t value = o.words.Word(at / 4) >> 8 * (at % 4);
          o.shared.WriteByte(value & 0xFF,
                             to + (L3HighestBit(escapes & (0 - escapes)) / 8));
          ++at;
        }
        const uint32_t bytes = o.shared.Word(to);
        pair[0] = L3Permute(bytes, 0, 0x4240);
        pair[1] = L3Permute(bytes, 0, 0x4341);
      }
    }
  });
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_RICE_FOUR_CODES_CUH_
