// Rows of a patch of few colours, by one warp: a lane has two pixels side by
// side. Sets of pixels are pairs of words, bit l of which stands for lane l.
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_FLAT_CUH_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_FLAT_CUH_

#include "ops/codecs/l3/device/l3_device_rice.cuh"

namespace liquid {

// Pixels of a row: those of even numbers, and those of odd ones.
struct L3Pixels {
  uint32_t even, odd;

  LIQUID_DEVICE uint32_t Count() const {
    return L3CountBits(even) + L3CountBits(odd);
  }
  // How many come before pixel 2 `lane`.
  LIQUID_DEVICE uint32_t Before(uint32_t lane) const {
    const uint32_t below = (1u << lane) - 1;
    return L3CountBits(even & below) + L3CountBits(odd & below);
  }
  LIQUID_DEVICE L3Pixels And(const L3Pixels& other) const {
    return {even & other.even, odd & other.odd};
  }
  LIQUID_DEVICE L3Pixels Without(const L3Pixels& other) const {
    return {even & ~other.even, odd & ~other.odd};
  }
};

template <typename Warp, typename Even, typename Odd>
LIQUID_DEVICE L3Pixels L3PixelsThat(Warp& warp, Even even, Odd odd) {
  return {warp.Ballot(even), warp.Ballot(odd)};
}

// Reads the header. Leaves a result.
template <typename Warp>
LIQUID_DEVICE void L3ReadFlatHeader(Warp& warp, const L3StagedPatch& patch,
                                    uint32_t channels, uint32_t bits,
                                    L3SharedCompact* shared) {
  const uint32_t word = patch.Word(8 * (patch.skew + 4)) & 0xFFFF;
  const uint32_t colours = (word & 0xFF) + 1;
  const uint32_t palette = patch.skew + 6;
  const uint32_t at = palette + colours * channels * (bits / 8);
  L3DeviceError error = L3DeviceError::kNone;
  if (shared->checksum.differs != 0) {
    error = L3DeviceError::kCrc;
  } else if ((word & 0x7F00) != 0) {
    error = L3DeviceError::kFlatWord;
  } else if (at > patch.end) {
    error = L3DeviceError::kPalette;
  }
  warp.Each([&](uint32_t lane) {
    shared->above[0][2 * lane] = shared->above[0][2 * lane + 1] = 0;
    if (lane != 0) return;
    shared->found[0] =
        error == L3DeviceError::kNone ? 0 : L3DeviceResult(error, 0);
    shared->colours = colours;
    shared->palette_at = palette;
    shared->flat_at = at;
    shared->flat_bits = 0;
  });
}

// Reads bits of a patch from one place on. Behind its end they are 0.
struct L3FlatReader {
  const L3StagedPatch& patch;
  uint32_t first;  // bit of the staged bytes
  uint32_t bits;   // that are read

  LIQUID_DEVICE uint32_t At(uint32_t bit) const {
    return first + bit < 8 * patch.end ? patch.Word(first + bit) : 0;
  }
  // The next bit.
  LIQUID_DEVICE bool Take() { return (At(bits++) & 1) != 0; }
  // The next bit for each of `pixels`.
  template <typename Warp>
  LIQUID_DEVICE L3Pixels Take(Warp& warp, const L3Pixels& pixels) {
    if ((pixels.even | pixels.odd) == 0) return {0, 0};
    const auto is_set = [&](uint32_t lane, uint32_t word, uint32_t place) {
      return (word >> lane & 1) != 0 && (At(bits + place) & 1) != 0;
    };
    const L3Pixels taken = L3PixelsThat(
        warp,
        [&](uint32_t lane) {
          return is_set(lane, pixels.even, pixels.Before(lane));
        },
        [&](uint32_t lane) {
          return is_set(lane, pixels.odd,
                        pixels.Before(lane) + (pixels.even >> lane & 1));
        });
    bits += pixels.Count();
    return taken;
  }
};

// Which of the pixels that are `calm` differ from those above them.
template <typename Warp>
LIQUID_DEVICE L3Pixels L3TakeCalm(Warp& warp, const L3Pixels& calm,
                                  L3FlatReader* reader) {
  if ((calm.even | calm.odd) == 0 || !reader->Take()) return {0, 0};
  uint32_t lanes = 0;
  for (uint32_t g = 0; g < kL3Groups; ++g) {
    const uint32_t group = 0xFu << 4 * g;
    if (((calm.even | calm.odd) & group) != 0 && reader->Take()) lanes |= group;
  }
  return reader->Take(warp, calm.And({lanes, lanes}));
}

// The nearest pixel up to 2 `lane` (exclusive) that is in `pixels`, which has
// one.
LIQUID_DEVICE inline uint32_t L3NearestBefore(const L3Pixels& pixels,
                                              uint32_t lane) {
  const uint32_t below = (1u << lane) - 1;
  const uint32_t even = pixels.even & below, odd = pixels.odd & below;
  const uint32_t of_even = even == 0 ? 0 : 2 * L3HighestBit(even);
  const uint32_t of_odd = odd == 0 ? 0 : 2 * L3HighestBit(odd) + 1;
  return of_even > of_odd ? of_even : of_odd;
}

// Replaces a row by the next one. False: it ends behind the patch, or names a
// colour that there is not.
template <typename Warp>
LIQUID_DEVICE bool L3NextFlatRow(Warp& warp, uint32_t width, uint32_t colours,
                                 L3FlatReader* reader, uint8_t* scratch,
                                 typename Warp::template LanesOf<L3Pair>& row) {
  typename Warp::Lanes edge, next_lane;
  warp.Compute([&](uint32_t lane) { edge[lane] = row[lane].second; });
  typename Warp::Lanes below = warp.FromBelow(edge, 1);
  // Whose left pixel is of another colour; and whose right one is.
  const L3Pixels before = L3PixelsThat(
      warp,
      [&](uint32_t lane) {
        return lane > 0 && 2 * lane < width && row[lane].first != below[lane];
      },
      [&](uint32_t lane) {
        return 2 * lane + 1 < width && row[lane].second != row[lane].first;
      });
  const L3Pixels after = {before.odd, before.even >> 1};
  const L3Pixels edges = {before.even | after.even, before.odd | after.odd};
  const auto lanes = [](uint32_t count) {
    return count < kL3Warp ? (1u << count) - 1 : 0xFFFFFFFF;
  };
  const L3Pixels all = {lanes((width + 1) / 2), lanes(width / 2)};
  L3Pixels changed = reader->Take(warp, edges);
  const L3Pixels more = L3TakeCalm(warp, all.Without(edges), reader);
  changed.even |= more.even;
  changed.odd |= more.odd;

  L3Pixels left = {0, 0}, next = {0, 0};
  if (colours > kL3FewColours) {
    left = reader->Take(warp, changed.And({changed.odd << 1 | before.even,
                                           changed.even | before.odd}));
    next = reader->Take(warp, changed.Without(left).And(after));
  }
  const L3Pixels literals = changed.Without(left).Without(next);
  const uint32_t literal_bits = L3LiteralBits(colours);
  const uint32_t first = reader->bits;
  reader->bits += literals.Count() * literal_bits;
  if (reader->first + reader->bits > 8 * reader->patch.end) return false;

  typename Warp::Lanes right;
  warp.Compute([&](uint32_t lane) {
    edge[lane] = row[lane].first;
    next_lane[lane] = lane + 1;
  });
  right = warp.FromLane(edge, next_lane);
  const auto literal = [&](uint32_t place, uint32_t above) {
    const uint32_t number =
        reader->At(first + place * literal_bits) & ((1u << literal_bits) - 1);
    // The colour above is not among those that it numbers.
    return number + (number >= above ? 1 : 0);
  };
  warp.Each([&](uint32_t lane) {
    const uint32_t above = row[lane].first;
    const uint32_t place = literals.Before(lane);
    const uint32_t is_literal = literals.even >> lane & 1;
    if (is_literal != 0) row[lane].first = literal(place, above);
    if ((next.even >> lane & 1) != 0) row[lane].first = row[lane].second;
    if ((literals.odd >> lane & 1) != 0) {
      row[lane].second = literal(place + is_literal, row[lane].second);
    }
    if ((next.odd >> lane & 1) != 0) row[lane].second = right[lane];
    scratch[2 * lane] = static_cast<uint8_t>(row[lane].first);
    scratch[2 * lane + 1] = static_cast<uint8_t>(row[lane].second);
  });
  if (warp.Ballot([&](uint32_t lane) {
        return row[lane].first >= colours || row[lane].second >= colours;
      }) != 0) {
    return false;
  }
  if ((left.even | left.odd) == 0) return true;
  const L3Pixels others = {~left.even, ~left.odd};
  warp.Each([&](uint32_t lane) {
    if ((left.even >> lane & 1) != 0) {
      row[lane].first = scratch[L3NearestBefore(others, lane)];
    }
    if ((left.odd >> lane & 1) != 0) row[lane].second = row[lane].first;
  });
  return true;
}

// Decodes the next `rows` rows of all channels into the band, which is [rows]
// [kL3V2Patch][channels]. `last`: they are the patch's last.
template <typename Sample, typename Warp>
LIQUID_DEVICE void L3DecodeFlatRows(Warp& warp, const L3DeviceTask& task,
                                    const L3StagedPatch& patch,
                                    uint32_t channels, uint32_t rows, bool last,
                                    Sample* band, L3SharedCompact* shared) {
  const uint32_t colours = shared->colours, palette = shared->palette_at;
  L3FlatReader reader = {patch, 8 * shared->flat_at, shared->flat_bits};
  typename Warp::template LanesOf<L3Pair> row;
  warp.Compute([&](uint32_t lane) {
    const uint16_t* above = shared->above[0] + 2 * lane;
    row[lane] = {above[0], above[1]};
  });
  L3DeviceError error = L3DeviceError::kNone;
  for (uint32_t i = 0; i < rows; ++i) {
    if (colours > 1 && !L3NextFlatRow(warp, task.width, colours, &reader,
                                      shared->indices, row)) {
      error = L3DeviceError::kCode;
      break;
    }
    warp.Compute([&](uint32_t lane) {
      Sample* to = band + (i * kL3V2Patch + 2 * lane) * channels;
      for (uint32_t c = 0; c < channels; ++c) {
        const auto colour = [&](uint32_t index) {
          return static_cast<Sample>(patch.Word(
              8 * (palette + (c * colours + index) *
                                 static_cast<uint32_t>(sizeof(Sample)))));
        };
        to[c] = colour(row[lane].first);
        to[channels + c] = colour(row[lane].second);
      }
    });
  }
  if (error == L3DeviceError::kNone && last &&
      reader.first / 8 + (reader.bits + 7) / 8 != patch.end) {
    error = L3DeviceError::kLong;
  }
  warp.Each([&](uint32_t lane) {
    uint16_t* above = shared->above[0] + 2 * lane;
    above[0] = static_cast<uint16_t>(row[lane].first);
    above[1] = static_cast<uint16_t>(row[lane].second);
    if (lane != 0) return;
    shared->flat_bits = reader.bits;
    shared->found[0] =
        error == L3DeviceError::kNone ? 0 : L3DeviceResult(error, 0);
  });
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_FLAT_CUH_
