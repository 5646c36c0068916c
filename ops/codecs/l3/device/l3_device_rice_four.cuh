// Four patches of the compact profile at once, as l3_device_four.cuh says: what
// a row's codes add to the row above.
//
// What most patches are is decoded here. The rest is left to the block: patches
// of few colours, and all that is damaged. Bits and bytes of a channel only
// come closer to each other; so what is damaged, at the end has bits past its
// bytes.
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_RICE_FOUR_CUH_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_RICE_FOUR_CUH_

#include "ops/codecs/l3/device/l3_device_rice_four_codes.cuh"

namespace liquid {

// What some patch of a warp has: in a band predictors that are smooth or *top*,
// the mean taken off blue, flags in the row above, or an end of lanes; and from
// bit kL3LinesFrom on, a bit for each that L3StoreFourLines stores.
constexpr uint32_t kL3Smooths = 1, kL3Tops = 2, kL3Means = 4, kL3Flags = 8;
constexpr uint32_t kL3LinesFrom = 4;

// What a warp knows of its rows, in one register, of which they need all: the
// bits above, how many rows are left up to where some patch ends, and the row.
struct L3RowsOfWarp {
  uint32_t bits;
  LIQUID_DEVICE uint32_t Row() const { return bits >> 16; }
  LIQUID_DEVICE bool PatchEnds() const { return (bits & 0xFF00) == 0; }
  LIQUID_DEVICE bool Has(uint32_t which) const { return (bits & which) != 0; }
  LIQUID_DEVICE void Set(uint32_t which, bool on) {
    bits = on ? bits | which : bits & ~which;
  }
  LIQUID_DEVICE uint32_t Lines() const { return bits >> kL3LinesFrom & 15; }
  LIQUID_DEVICE void EndAfter(uint32_t rows) { bits += rows << 8; }
  LIQUID_DEVICE void Next() { bits += 0x10000 - 0x100; }
};

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

// Decodes a row of each patch into one of the shared ones.
template <typename Warp>
LIQUID_DEVICE void L3DecodeRiceFourRow(
    Warp& warp, typename Warp::template LanesOf<L3LaneOfRice>& own,
    const L3RowsOfWarp& rows) {
  const uint32_t y = rows.Row(), row = y % kL3FourStoredRows;
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
    escapes = L3TakeOddGroups(warp, own, row);
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

  L3PredictFour(warp, own, y / kL3BandRows, rows.Has(kL3Smooths));
  typename Warp::Lanes last_residuals;
  warp.Compute([&](uint32_t lane) {
    L3LaneOfRice& o = own[lane];
    uint32_t ks[kL3FourChannels];
    const uint32_t start = L3AddBytes(o.ks_of_row, 0x10000000, 0);
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
      sum = L3AddSamples<uint16_t>(sum, 2, start);
      const uint32_t far = sum / 16 + 60;
      ks[c] = o.shared.Byte(kL3KsAt + c * kL3Sums + (sum < far ? sum : far));
    }
    o.ks_of_row =
        (o.ks_of_row & 0xFF000000) + ks[0] + ks[1] * 0x100 + ks[2] * 0x10000;
  });
  if (rows.Has(kL3Tops) && y > 0) {
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
        const uint32_t top = o.Top(y / kL3BandRows, c) * 0x00010001;
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
                  rows.Has(kL3Means), samples);
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
  own->places = L3Shared::Known(const_cast<L3OnesTable*>(ones));
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
                                            const L3Shared& shared) {
  LIQUID_UNROLL
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t piece = group + kL3Groups * i;
    const uint32_t row = y + piece / 12;
    const uint32_t begin = shared.Word(kL3RowBeginAt);
    if (row < begin || row >= shared.Word(kL3PiecesEndAt)) continue;
    const L3Global out(pixels + shared.Long(kL3FirstAt) +
                       (row - begin) * shared.Long(kL3RowPitchAt) +
                       piece % 12 * kL3PieceBytes);
    out.Write(shared.Piece(piece * kL3PieceBytes));
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
  L3RowsOfWarp rows = {L3LinesOfPatches(patches) << kL3LinesFrom};
  rows.Set(kL3Means, warp.Ballot([&](uint32_t lane) {
    return patches[lane / kL3Groups].colours.mean != 0;
  }) != 0);

  LIQUID_SELDOM
  while (true) {
    const uint32_t y = rows.Row();
    if (rows.PatchEnds()) {
      uint32_t next = 0;
      LIQUID_UNROLL
      for (uint32_t patch = 0; patch < kL3FourPatches; ++patch) {
        const uint32_t end = patches[patch].rows_end;
        if (end > y && (next == 0 || end < next)) next = end;
      }
      if (next == 0) {
        // Rows are stored by two.
        if (y % kL3FourStoredRows == 0) break;
        next = y + 1;
      }
      rows.EndAfter(next - y);
      rows.Set(kL3Flags, true);
      warp.Compute([&](uint32_t lane) {
        L3EndLane(lane % kL3Groups, y, &patches[lane / kL3Groups], &own[lane]);
      });
    }
    if (y % kL3BandRows == 0) {
      const auto some = [&](bool smooth) {
        return warp.Ballot([&](uint32_t lane) {
          const uint32_t c = lane % kL3Groups, band = y / kL3BandRows;
          const uint32_t known = c < kL3FourChannels ? c : kL3FourChannels - 1;
          return (smooth ? own[lane].Way(band, known).Smooth()
                         : own[lane].Top(band, known)) != 0;
        }) != 0;
      };
      rows.Set(kL3Smooths, some(true));
      rows.Set(kL3Tops, some(false));
      // So sixteen rows of two channels do not fill half a word.
      warp.Compute([&](uint32_t lane) {
        LIQUID_UNROLL
        for (uint32_t c = 0; c < kL3FourChannels; ++c) {
          own[lane].diffs[c][0] &= 0x00FF00FF;
        }
      });
    }
    const bool flags = warp.Ballot([&](uint32_t lane) {
      return (own[lane].ks_of_row & kL3HasFlag * 0x00010101) != 0;
    }) != 0;
    // What they changed goes back to what is without.
    if (flags || rows.Has(kL3Flags)) L3ReadFourFlags(warp, own);
    rows.Set(kL3Flags, flags);
    L3DecodeRiceFourRow(warp, own, rows);
    rows.Next();
    const uint32_t end = rows.Row();
    if (end % kL3FourStoredRows != 0) continue;
    const uint32_t first = end - kL3FourStoredRows;
    warp.Each([&](uint32_t lane) {
      if constexpr (L3IsSame<Out, uint8_t>) {
        L3StoreRicePieces(lane % kL3Groups, first, pixels, own[lane].shared);
      }
    });
    const uint32_t lines = rows.Lines();
    if (lines != 0) {
      L3StoreFourLines(warp, lines, first, output, pixels, patches);
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
