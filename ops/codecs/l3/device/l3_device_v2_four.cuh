// Four patches of version 2 at once, as l3_device_four.cuh says.
//
// As in l3_device_v2_band.cuh the differences of pixels to their left
// neighbours go down their columns. What is above the lower eight bits of one
// only grows, and is taken away before it could reach the other half.
//
// What most patches are is decoded here. The rest is left to the block: patches
// with nine widths, and all that is damaged.
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_V2_FOUR_CUH_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_V2_FOUR_CUH_

#include "ops/codecs/l3/device/l3_device_four.cuh"

namespace liquid {

constexpr uint32_t kL3FourWidths = 9;  // 0 to 8 bits
// Rows whose widths are looked up together. So many differences, and twice as
// many, add up to less than 16 bits.
constexpr uint32_t kL3FourBandRows = 16;

// What turns fields of some width into residuals, each in half a word, and adds
// them to what is above.
struct L3FieldPair {
  L3Piece piece;
  LIQUID_DEVICE uint32_t Mask() const { return piece.words[0]; }   // of a field
  LIQUID_DEVICE uint32_t Start() const { return piece.words[1]; }  // is added
  // Times this, a word has its third field from bit 16 on.
  LIQUID_DEVICE uint32_t Apart() const { return piece.words[2]; }
  // Of what the predictor takes off.
  LIQUID_DEVICE uint32_t Shift() const { return piece.words[3]; }
};

// How a channel's predictor goes on from the row above.
struct alignas(8) L3Way {
  // Of which bits of a difference it takes something off; of column 0 of none.
  uint32_t taken;
  uint32_t top;  // all ones for *top*: pixels are added up, not differences
};

constexpr uint32_t kL3WayBytes = sizeof(L3Way);

// Where a channel's codes lie, and the widths that they stand for.
struct alignas(16) L3CodesOfChannel {
  uint32_t at, bits;
  uint32_t widths[2];  // eight bytes
};

// Of a patch, in a block's shared memory.
struct alignas(16) L3SharedPatch : L3SharedPixels {
  L3CodesOfChannel codes[kL3FourChannels];
  L3FieldPair fields[kL3FourChannels][kL3FourWidths];
  L3Way ways[kL3FourChannels];
  // By row, channel and group.
  uint8_t widths[kL3FourBandRows * kL3FourChannels * kL3Groups];
  uint8_t apart[16];
};
// So no two lanes' pixels meet in a bank of memory.
static_assert(sizeof(L3SharedPatch) % 128 == 64, "patches share their banks");

// In front of a block's warps: which of a warp's patches are left to the block.
struct alignas(16) L3SharedFours {
  uint32_t left[4];
  L3SharedPatch patches[kL3FourWarps][kL3FourPatches];
};

// What a lane knows of its patch.
struct L3LaneOfFour : L3LaneOfPixels {
  // Where the patch begins, or up to 15 bytes before; and in these bytes, where
  // the row's groups do, and what is behind the patch's end.
  L3Global words;
  uint32_t row_at, behind;
  L3SharedPatch* patch;
  L3Shared fields, ways;
  L3Shared widths;  // the lane's, of the first row
  bool any_top;
  L3Colours colours;
  L3Shared pieces;  // the lane's, of the first row
  // Where the first of its pieces of 16 bytes of two rows goes, how far behind
  // it the others, and the next two rows'.
  L3Global out;
  uint32_t out_at[2], out_step;
  uint32_t row_begin, rows;  // that are wanted, and go there
  // Of the row.
  uint32_t bits[kL3FourChannels];  // of a group's fields
  uint32_t groups_at[kL3FourChannels];
};

// Eight codes of `bits` bits, 0 to 3, as the widths that they stand for.
LIQUID_DEVICE inline uint64_t L3WidthsOfCodes(uint32_t word,
                                              const L3CodesOfChannel& codes) {
  const uint32_t bits = codes.bits;
  // Four codes in each half, two in each byte, one in each four bits.
  word = L3Permute(word, word >> 4 * bits, 0x5410);
  const uint32_t twos = word * (1u << (8 - 2 * bits));
  word = (word & 0x00FF00FF) | (twos & 0xFF00FF00);
  const uint32_t ones = word * (1u << (4 - bits));
  word = (word & 0x0F0F0F0F) | (ones & 0xF0F0F0F0);
  word &= ((1u << bits) - 1) * 0x11111111;
  const uint32_t low = L3Permute(codes.widths[0], codes.widths[1], word);
  const uint32_t high = L3Permute(codes.widths[0], codes.widths[1], word >> 16);
  return uint64_t{high} << 32 | low;
}

// Reads the words of a lane's patch. False: it is none that is decoded here.
LIQUID_DEVICE inline bool L3ReadFourWords(const L3DeviceTask& task,
                                          uint32_t group, L3LaneOfFour* own) {
  L3SharedPatch* shared = own->patch;
  bool known = true;
  own->any_top = false;
  uint32_t next = own->row_at + 4 + 4 * kL3FourChannels;
  LIQUID_UNROLL
  for (uint32_t c = 0; c < kL3FourChannels; ++c) {
    const uint32_t word = L3FourWord(own->words, own->row_at + 4 + 4 * c);
    const uint32_t set = L3WidthSetOf(word), count = L3CountBits(set);
    const uint32_t colour = L3ColourOf(word);
    const auto predictor = static_cast<L3Predictor>(L3PredictorOf(word));
    // A code has up to three bits.
    known = known && count >= 1 && count <= 8 && set >> kL3FourWidths == 0 &&
            (word >> 21 & 7) == 0 &&
            colour <= (c == 0   ? 1
                       : c == 2 ? 2
                                : 0);
    const uint32_t bits = (count > 1) + (count > 2) + (count > 4);
    // f(d) = d + (0x80 >> shift) - (((d & taken) ^ 0x80) >> shift)
    const bool left = predictor == L3Predictor::kLeft;
    const uint32_t shift = left ? 0 : 2;
    if (group == 0) {
      shared->ways[c] = {left                                      ? 0x00FF00FFu
                         : predictor == L3Predictor::kThreeQuarter ? 0x00FC00FCu
                                                                   : 0,
                         predictor == L3Predictor::kTop ? ~0u : 0};
    }
    own->any_top = own->any_top || predictor == L3Predictor::kTop;
    LIQUID_UNROLL
    for (uint32_t i = 0; i < 4; ++i) own->diffs[c][i] = 0;
    if (group == 0) own->diffs[c][0] = L3BaseOf(word);
    if (c == 0) own->colours.red_green = L3Opaque(colour);
    if (c == 2) {
      own->colours.blue_green = L3Opaque(colour == 1 ? 1u : 0u);
      own->colours.mean = colour == 2 ? 0x00FF00FF : 0;
    }
    for (uint32_t n = group; n < kL3FourWidths; n += kL3Groups) {
      const uint32_t start = 256 - (1u << n >> 1) + (0x80 >> shift);
      shared->fields[c][n] = {{((1u << n) - 1) * 0x00010001, start * 0x00010001,
                               1u << (16 - 2 * n), shift}};
    }
    if (group == c) {
      uint64_t widths = 0;
      uint32_t at = 0;
      LIQUID_SELDOM
      for (uint32_t n = 0; n < kL3FourWidths; ++n) {
        if ((set >> n & 1) == 0) continue;
        widths |= uint64_t{n} << (at & 63);
        at += 8;
      }
      shared->codes[c] = {
          next,
          bits,
          {static_cast<uint32_t>(widths), static_cast<uint32_t>(widths >> 32)}};
    }
    next += bits * task.height;
  }
  known = known && next < own->behind;
  if (known) own->row_at = next;
  return known;
}

// Looks up the widths of kL3FourBandRows rows from `y` on. Rows that are not
// decoded have none.
LIQUID_DEVICE inline void L3LookUpWidths(const L3LaneOfFour& own,
                                         uint32_t group, uint32_t y) {
  L3SharedPatch* shared = own.patch;
  const uint32_t groups = shared->groups, row_end = shared->rows_end;
  const uint64_t mask =
      groups < kL3Groups ? (uint64_t{1} << 8 * groups) - 1 : ~uint64_t{0};
  LIQUID_UNROLL
  for (uint32_t c = 0; c < kL3FourChannels; ++c) {
    const L3CodesOfChannel codes = shared->codes[c];
    LIQUID_UNROLL
    for (uint32_t i = 0; i < kL3FourBandRows; i += kL3Groups) {
      const uint32_t row = group + i;
      uint64_t widths = 0;
      if (y + row < row_end) {
        widths = L3WidthsOfCodes(
            L3FourWord(own.words, codes.at + (y + row) * codes.bits), codes);
      }
      L3Write(widths & mask,
              &shared->widths[(row * kL3FourChannels + c) * kL3Groups]);
    }
  }
}

// Unpacks a group of `n` bits and adds it to the differences above, as far as
// their predictor takes these.
LIQUID_DEVICE inline void L3AddGroup(L3LaneOfFour* own, uint32_t c) {
  const uint32_t at = own->groups_at[c], n = own->bits[c];
  const L3FieldPair fields = {own->fields.Piece(
      (c * kL3FourWidths + n) * static_cast<uint32_t>(sizeof(L3FieldPair)))};
  L3Global words = own->words;
  words.Add(L3Opaque(at / 4) * size_t{4});
  const uint32_t second = words.Word(1);
  const uint32_t low = L3Funnel(words.Word(0), second, 8 * at);
  const uint32_t high = L3Funnel(second, words.Word(2), 8 * at);
  const uint32_t all_taken = own->ways.Word(c * kL3WayBytes);
  uint32_t residuals[4];
  L3SplitFields(low, n, fields.Apart(), fields.Mask(), &residuals[0],
                &residuals[1]);
  L3SplitFields(L3FunnelTo(low, high, 4 * n), n, fields.Apart(), fields.Mask(),
                &residuals[2], &residuals[3]);
  LIQUID_UNROLL
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t above = own->diffs[c][i];
    const uint32_t taken = i == 0 ? all_taken & own->first : all_taken;
    own->diffs[c][i] = above + (residuals[i] + fields.Start()) -
                       (((above & taken) ^ 0x00800080) >> fields.Shift());
  }
}

// Decodes a row of each patch into `row` of the shared ones.
template <typename Warp>
LIQUID_DEVICE void L3DecodeFourRows(
    Warp& warp, typename Warp::template LanesOf<L3LaneOfFour>& own,
    uint32_t row_of_band, bool is_first, bool tops, bool means, uint32_t row) {
  typename Warp::Lanes sums, all;
  warp.Compute([&](uint32_t lane) {
    uint32_t* n = own[lane].bits;
    LIQUID_UNROLL
    for (uint32_t c = 0; c < kL3FourChannels; ++c) {
      n[c] = L3Opaque(own[lane].widths.Byte(
          (row_of_band * kL3FourChannels + c) * kL3Groups));
    }
    sums[lane] = n[0] + n[1] * 0x100 + n[2] * 0x10000;
  });
  L3SumBefore(warp, sums, all);
  warp.Compute([&](uint32_t lane) {
    L3LaneOfFour& o = own[lane];
    // Bytes before a group: those of the lanes before, and of the channels.
    const uint32_t before = sums[lane] + all[lane] * 0x00010100;
    LIQUID_UNROLL
    for (uint32_t c = 0; c < kL3FourChannels; ++c) {
      o.groups_at[c] = L3AddBytes(before, 1u << 8 * c, o.row_at);
    }
    // What is damaged stays behind the end.
    const uint32_t next = L3AddBytes(all[lane], 0x00010101, o.row_at);
    o.row_at = next < o.behind ? next : o.behind;
    LIQUID_UNROLL
    for (uint32_t c = 0; c < kL3FourChannels; ++c) L3AddGroup(&o, c);
    sums[lane] = L3SumGroups(&o);
  });
  L3SumBefore(warp, sums, all);
  warp.Each([&](uint32_t lane) {
    L3LaneOfFour& o = own[lane];
    uint32_t samples[kL3FourChannels][4];
    L3AddUpGroups(o, sums[lane], samples);
    if (tops) {
      LIQUID_UNROLL
      for (uint32_t c = 0; c < kL3FourChannels; ++c) {
        const uint32_t top = o.ways.Word(c * kL3WayBytes + 4);
        LIQUID_UNROLL
        for (uint32_t i = 0; i < 4; ++i) {
          uint32_t* sample = &samples[c][i];
          uint32_t* above = &o.diffs[c][i];
          if (is_first) {
            // From here on it has pixels to add to.
            *above = (*sample & top & 0x00FF00FF) | (*above & ~top);
          } else {
            *sample = (*above & top) | (*sample & ~top);
          }
        }
      }
    }
    L3TurnSamples(o.colours, means, samples);
    L3WritePixels(samples, o.pixels, row * kL3FourRowBytes);
  });
}

// Begins with a task; false if it is none that is decoded here.
template <typename Out>
LIQUID_DEVICE bool L3BeginPatch(const L3DeviceTask& task, uint32_t group,
                                const uint8_t* bytes,
                                const L3DeviceOutput& output, Out* pixels,
                                L3SharedPatch* shared, L3LaneOfFour* own) {
  const uint32_t skew = static_cast<uint32_t>(task.begin[0] % kL3PieceBytes);
  own->words = L3Global(bytes + (task.begin[0] - skew));
  own->row_at = skew;
  own->behind = skew + task.size[0] + 1;
  own->patch = shared;
  own->fields = L3Shared(shared->fields);
  own->ways = L3Shared(shared->ways);
  own->widths = L3Shared(&shared->widths[group]);
  const bool known = L3ReadFourWords(task, group, own);
  const L3Lines<Out> lines(task, output, pixels);
  const bool pieces =
      L3BeginPixels(lines, task, group, pixels, known, shared, own);
  own->pieces = L3Shared(&shared->rows[group * kL3PieceBytes]);
  own->row_begin = task.row_begin;
  own->rows = pieces ? task.row_end - task.row_begin : 0;
  // Rows before the first one that is wanted lie before the tensor.
  own->out = L3Global(lines.first);
  own->out.Add(group * kL3PieceBytes - task.row_begin * lines.row_pitch);
  // A row has twelve: a lane has one or two of the first row.
  const uint32_t pitch = static_cast<uint32_t>(lines.row_pitch);
  constexpr uint32_t kLanes = kL3Groups * kL3PieceBytes;
  own->out_at[0] =
      L3Opaque(group < 4 ? kLanes : kLanes + pitch - kL3FourRowBytes);
  own->out_at[1] = L3Opaque(2 * kLanes + pitch - kL3FourRowBytes);
  own->out_step = kL3FourStoredRows * pitch;
  return known;
}

// Stores a lane's pieces of rows `y` and the next.
LIQUID_DEVICE inline void L3StorePieces(uint32_t group, uint32_t y,
                                        L3LaneOfFour* own) {
  LIQUID_UNROLL
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t piece = group + kL3Groups * i;
    if (y + piece / 12 - own->row_begin < own->rows) {
      L3Global out = own->out;
      if (i > 0) out.Add(own->out_at[i - 1]);
      out.Write(own->pieces.Piece(kL3Groups * i * kL3PieceBytes));
    }
  }
  own->out.Add(own->out_step);
}

// Decodes up to four tasks, those of `tasks` that are below `count` and not in
// `wrong`, a bit for each. Returns those that are left to the block, wrong ones
// too.
template <typename Out, typename Warp>
LIQUID_DEVICE uint32_t L3DecodeFour(Warp& warp, const L3DeviceTask* tasks,
                                    uint32_t count, uint32_t wrong,
                                    const uint8_t* bytes,
                                    const L3DeviceOutput& output, Out* pixels,
                                    uint32_t* results, L3SharedPatch* patches) {
  typename Warp::template LanesOf<L3LaneOfFour> own;
  warp.Each([&](uint32_t lane) {
    const uint32_t patch = lane / kL3Groups;
    const L3DeviceTask task = tasks[patch < count ? patch : 0];
    const bool known = L3BeginPatch(task, lane % kL3Groups, bytes, output,
                                    pixels, &patches[patch], &own[lane]) &&
                       patch < count && (wrong >> patch & 1) == 0;
    // Of a patch that is left no row is.
    if (lane % kL3Groups == 0) {
      patches[patch].groups = (task.width + kL3Group - 1) / kL3Group;
      patches[patch].rows_end = known ? task.row_end : 0;
    }
    if (!known) own[lane].rows = 0;
  });
  const uint32_t lines = L3LinesOfPatches(patches);
  uint32_t last = 0;
  LIQUID_UNROLL
  for (uint32_t patch = 0; patch < kL3FourPatches; ++patch) {
    const uint32_t rows = patches[patch].rows_end;
    last = last < rows ? rows : last;
  }
  const bool means = warp.Ballot([&](uint32_t lane) {
    return own[lane].colours.mean != 0;
  }) != 0;

  const bool tops =
      warp.Ballot([&](uint32_t lane) { return own[lane].any_top; }) != 0;

  LIQUID_SELDOM
  for (uint32_t y = 0; y < last; y += kL3FourBandRows) {
    warp.Each([&](uint32_t lane) {
      L3LookUpWidths(own[lane], lane % kL3Groups, y);
      LIQUID_UNROLL
      for (uint32_t c = 0; c < kL3FourChannels; ++c) {
        LIQUID_UNROLL
        for (uint32_t& pair : own[lane].diffs[c]) pair &= 0x00FF00FF;
      }
    });
    const uint32_t rows =
        last - y < kL3FourBandRows ? last - y : kL3FourBandRows;
    LIQUID_SELDOM
    for (uint32_t row = 0; row < rows; row += kL3FourStoredRows) {
      LIQUID_UNROLL
      for (uint32_t i = 0; i < kL3FourStoredRows; ++i) {
        L3DecodeFourRows(warp, own, row + i, i == 0 && y + row == 0, tops,
                         means, i);
      }
      warp.Each([&](uint32_t lane) {
        L3StorePieces(lane % kL3Groups, y + row, &own[lane]);
      });
      if (lines != 0) {
        L3StoreFourLines(warp, lines, y + row, output, pixels, patches);
      }
    }
  }

  const uint32_t done = warp.Ballot([&](uint32_t lane) {
    const uint32_t patch = lane / kL3Groups;
    if (patches[patch].rows_end == 0) return false;
    const L3LaneOfFour& o = own[lane];
    const L3DeviceTask& task = tasks[patch];
    const bool right = task.row_end < task.height ? o.row_at < o.behind
                                                  : o.row_at + 1 == o.behind;
    if (right && lane % kL3Groups == 0) results[patch] = 0;
    return right;
  });
  return L3LeftOfFour(patches, done, count);
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_V2_FOUR_CUH_
