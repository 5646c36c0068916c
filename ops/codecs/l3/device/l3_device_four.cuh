// Four patches of RGB of 8 bits at once, by one warp and without barriers of
// the block: eight lanes have a patch, and a lane a group of each channel, in
// one row after the other. What both profiles of version 2 share of it: from
// the differences of a row's pixels to their left neighbours to the batch.
//
// Two differences lie in a word, in halves of 16 bits, of which the lower eight
// count: pixels 0|2, 1|3, 4|6 and 5|7 of a group.
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_FOUR_CUH_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_FOUR_CUH_

#include "ops/codecs/l3/device/l3_device_store.cuh"
#include "ops/codecs/l3/device/l3_device_v2_places.cuh"

namespace liquid {

constexpr uint32_t kL3FourPatches = kL3Warp / kL3Groups;  // of a warp
constexpr uint32_t kL3FourWarps = 3;                      // of a block
constexpr uint32_t kL3FourTasks = kL3FourPatches * kL3FourWarps;
constexpr uint32_t kL3FourChannels = 3;
constexpr uint32_t kL3FourStored = 16;
static_assert(kL3FourTasks <= kL3FourStored, "bits are those of others");
constexpr uint32_t kL3FourRowBytes = kL3FourChannels * kL3V2Patch;
constexpr uint32_t kL3FourStoredRows = 2;

// Where a patch's pixels go: L3Lines, and the part of the patch.
struct alignas(8) L3LinesOfPatch {
  size_t first, row_pitch, plane_pitch;
  uint32_t elements, row_begin, row_end, x_begin;
};

// Of a patch, in a block's shared memory.
struct alignas(16) L3SharedPixels {
  uint8_t rows[kL3FourStoredRows * kL3FourRowBytes];  // of pixels
  L3LinesOfPatch lines;
  uint32_t rows_end, groups;  // that are decoded; of a row
};

// How a patch's colours are turned back.
struct alignas(16) L3Colours {
  uint32_t red_green, blue_green;  // 1 where green is added
  uint32_t mean;                   // 0x00FF00FF where the mean is added to blue
};

// What a lane knows of its patch.
struct L3LaneOfPixels {
  L3Shared pixels;  // the lane's, of the first row
  uint32_t diffs[kL3FourChannels][4];
  uint32_t first;  // the bits of a lane's first word that are not of column 0
  // Of the row: neighbours together.
  uint32_t pairs[kL3FourChannels][2];
};

// 32 bits from byte `at` on.
LIQUID_DEVICE inline uint32_t L3FourWord(const L3Global& words, uint32_t at) {
  return L3Funnel(words.Word(at / 4), words.Word(at / 4 + 1), 8 * at);
}

// Fields 0 | 2 and 1 | 3 of `n` bits of a word, in half a word each. Times
// `apart` the word has its third field from bit 16 on; `mask` is of both.
LIQUID_DEVICE inline void L3SplitFields(uint32_t word, uint32_t n,
                                        uint32_t apart, uint32_t mask,
                                        uint32_t* even, uint32_t* odd) {
  const uint32_t two = L3Permute(word, word * apart, 0x7610);
  *even = two & mask;
  *odd = two >> n & mask;
}

// Takes the sums of a row's groups, and leaves what the lanes before a lane
// have together.
template <typename Warp>
LIQUID_DEVICE void L3SumBefore(Warp& warp, typename Warp::Lanes& sums,
                               typename Warp::Lanes& all) {
  typename Warp::Lanes own = sums;
  LIQUID_UNROLL
  for (uint32_t step = 1; step < kL3Groups; step *= 2) {
    warp.template AddBelow<kL3Groups>(sums, step);
  }
  typename Warp::Lanes last;
  warp.Compute([&](uint32_t lane) { last[lane] = lane | (kL3Groups - 1); });
  all = warp.FromLane(sums, last);
  warp.Compute([&](uint32_t lane) { sums[lane] -= own[lane]; });
}

// Of a row's differences, the sums of a lane's groups, as L3SumBefore takes
// them.
LIQUID_DEVICE inline uint32_t L3SumGroups(L3LaneOfPixels* own) {
  uint32_t sum[kL3FourChannels];
  LIQUID_UNROLL
  for (uint32_t c = 0; c < kL3FourChannels; ++c) {
    // Neighbours together.
    LIQUID_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      own->pairs[c][i] = own->diffs[c][2 * i] + own->diffs[c][2 * i + 1];
    }
    sum[c] = L3AddSamples<uint16_t>(
        own->pairs[c][0], 2, L3AddSamples<uint16_t>(own->pairs[c][1], 2, 0));
  }
  // Eight sums of eight bits take eleven; of the last, eight are enough.
  return (sum[0] & 255) + (sum[1] & 255) * 0x800 + sum[2] * 0x1000000;
}

// A lane's samples, from what the lanes before it have together.
LIQUID_DEVICE inline void L3AddUpGroups(const L3LaneOfPixels& own,
                                        uint32_t before,
                                        uint32_t (*samples)[4]) {
  LIQUID_UNROLL
  for (uint32_t c = 0; c < kL3FourChannels; ++c) {
    // Of the lanes before, in both halves.
    uint32_t start = c == 0   ? L3Permute(before, 0, 0x4040)
                     : c == 1 ? L3Permute(before * 0x20, 0, 0x4242)
                              : L3Permute(before, 0, 0x4343);
    LIQUID_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t odd = own.pairs[c][i] * 0x00010001 + start;
      samples[c][2 * i + 1] = odd;
      samples[c][2 * i] = odd - own.diffs[c][2 * i + 1];
      start = L3Permute(odd, 0, 0x4242);
    }
  }
}

// Turns the colours of a lane's samples back; `means`: of some patch it takes
// the mean.
LIQUID_DEVICE inline void L3TurnSamples(const L3Colours& colours, bool means,
                                        uint32_t (*samples)[4]) {
  LIQUID_UNROLL
  for (uint32_t i = 0; i < 4; ++i) {
    samples[0][i] += samples[1][i] * colours.red_green;
    samples[2][i] += samples[1][i] * colours.blue_green;
  }
  if (means) {
    LIQUID_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t r = samples[0][i], g = samples[1][i];
      samples[2][i] += ((r | g) & colours.mean) -
                       (((r ^ g) & colours.mean & 0x00FE00FE) >> 1);
    }
  }
}

// The words of a lane's 8 pixels, from their samples in pairs of each channel:
// pixels 0|2, 1|3, 4|6 and 5|7.
LIQUID_DEVICE inline void L3WritePixels(const uint32_t (*samples)[4],
                                        const L3Shared& to, uint32_t offset) {
  uint32_t words[6];
  LIQUID_UNROLL
  for (uint32_t i = 0; i < 2; ++i) {
    const uint32_t even = 2 * i, odd = 2 * i + 1;
    const uint32_t r0g0r2g2 =
        L3Permute(samples[0][even], samples[1][even], 0x6240);
    const uint32_t b0r1b2r3 =
        L3Permute(samples[2][even], samples[0][odd], 0x6240);
    const uint32_t g1b1g3b3 =
        L3Permute(samples[1][odd], samples[2][odd], 0x6240);
    words[3 * i] = L3Permute(r0g0r2g2, b0r1b2r3, 0x5410);
    words[3 * i + 1] = L3Permute(g1b1g3b3, r0g0r2g2, 0x7610);
    words[3 * i + 2] = L3Permute(b0r1b2r3, g1b1g3b3, 0x7632);
  }
  LIQUID_UNROLL
  for (uint32_t i = 0; i < 3; ++i) {
    to.Write(words[2 * i], words[2 * i + 1], offset + 8 * i);
  }
}

// Stores rows `y` and the next of the patches that `which` has bits of, as far
// as they are wanted, wherever they begin and of whatever type.
template <typename Out, typename Warp, typename Patch>
LIQUID_DEVICE void L3StoreFourLines(Warp& warp, uint32_t which, uint32_t y,
                                    const L3DeviceOutput& output, Out* pixels,
                                    const Patch* patches) {
  warp.Each([&](uint32_t lane) {
    const uint32_t row = lane / kL3Team, place = lane % kL3Team;
    static_assert(kL3Warp / kL3Team == kL3FourStoredRows, "a team has a row");
    LIQUID_SELDOM
    for (uint32_t i = 0; i < kL3FourPatches; ++i) {
      if ((which >> i & 1) == 0) continue;
      const L3LinesOfPatch& lines = patches[i].lines;
      if (y + row < lines.row_begin || y + row >= lines.row_end) continue;
      const uint8_t* from =
          &patches[i]
               .rows[row * kL3FourRowBytes + lines.x_begin * kL3FourChannels];
      Out* line = pixels +
                  (lines.first + (y + row - lines.row_begin) * lines.row_pitch);
      if (output.planar != 0) {
        LIQUID_SELDOM
        for (uint32_t c = 0; c < kL3FourChannels; ++c) {
          L3ConvertLine<uint8_t>(from + c, kL3FourChannels,
                                 line + c * lines.plane_pitch, lines.elements,
                                 c, false, place, output);
        }
      } else if constexpr (L3IsSame<Out, uint8_t>) {
        L3CopyLine(from, line, lines.elements, place);
      } else {
        L3ConvertLine<uint8_t>(from, 1, line, lines.elements, 0, true, place,
                               output);
      }
    }
  });
}

// Finds where a task's pixels go, and which of `known` tasks L3StoreFourLines
// stores. Returns whether it is another: all its pieces of 16 bytes lie in the
// tensor as they do here.
template <typename Out>
LIQUID_DEVICE bool L3BeginPixels(const L3Lines<Out>& lines,
                                 const L3DeviceTask& task, uint32_t group,
                                 Out* pixels, bool known,
                                 L3SharedPixels* shared, L3LaneOfPixels* own) {
  own->pixels = L3Shared(&shared->rows[group * kL3FourChannels * kL3Group]);
  own->first = L3Opaque(group == 0 ? 0xFFFF0000 : 0xFFFFFFFF);
  const bool pieces =
      L3IsSame<Out, uint8_t> && lines.per_row == 1 &&
      lines.elements == kL3FourRowBytes &&
      (reinterpret_cast<size_t>(lines.first) | lines.row_pitch) %
              kL3PieceBytes ==
          0 &&
      lines.row_pitch >> 31 == 0;
  if (group == 0) {
    shared->lines = {static_cast<size_t>(lines.first - pixels),
                     lines.row_pitch,
                     lines.plane_pitch,
                     lines.elements,
                     task.row_begin,
                     known && !pieces ? task.row_end : 0,
                     task.x_begin};
  }
  return pieces && known;
}

// A bit for each patch that L3StoreFourLines stores.
template <typename Patch>
LIQUID_DEVICE uint32_t L3LinesOfPatches(const Patch* patches) {
  uint32_t lines = 0;
  LIQUID_UNROLL
  for (uint32_t i = 0; i < kL3FourPatches; ++i) {
    const bool stores =
        patches[i].rows_end != 0 && patches[i].lines.row_end != 0;
    lines |= (stores ? 1u : 0u) << i;
  }
  return lines;
}

// Of `count` patches, a bit for each of which `done` has no lane; and from bit
// kL3FourStored on, one for each of these that has been stored.
template <typename Patch>
LIQUID_DEVICE uint32_t L3LeftOfFour(const Patch* patches, uint32_t done,
                                    uint32_t count) {
  uint32_t left = 0;
  LIQUID_UNROLL
  for (uint32_t patch = 0; patch < kL3FourPatches; ++patch) {
    if (patch >= count || (done >> patch * kL3Groups & 1) != 0) continue;
    left |= 1u << patch;
    if (patches[patch].rows_end != 0) left |= 1u << (kL3FourStored + patch);
  }
  return left;
}

// Decodes `first` of `count` tasks, and those behind it up to kL3FourTasks, as
// far as four patches at once can be. They are of RGB with 8 bits. Returns a
// bit for each of these that the block has still to do, the same to all
// threads; the others have their results. Those with a bit from kL3FourStored
// on, too, are stored as far as they are whole, and damaged: the block has to
// say how.
//
// Kind says how, of a profile:
//   Shared                         in the shared memory, with `left`
//   Stage(task, memory, checksum)  where the block would stage a patch
//   Prepare(block, shared)         with a barrier behind it, or nothing
//   Decode(warp, ...)              up to four tasks; returns those that are
//   left
template <typename Kind, typename Out, typename Block>
LIQUID_DEVICE uint32_t L3DecodeFours(Block& block, const L3DeviceTask* tasks,
                                     uint32_t first, uint32_t count,
                                     const uint8_t* bytes,
                                     const L3DeviceOutput& output, Out* pixels,
                                     uint8_t* memory, uint32_t* results) {
  using Warp = typename Block::Warp;
  const uint32_t all =
      count - first < kL3FourTasks ? count - first : kL3FourTasks;
  uint32_t wrong = 0;
  if (output.verified == 0) {
    LIQUID_SELDOM
    for (uint32_t i = 0; i < all; ++i) {
      const L3DeviceTask task = tasks[first + i];
      L3SharedCrc* checksum;
      const L3StagedPatch staged = Kind::Stage(task, memory, &checksum);
      L3StagePatch(block, task, bytes, output, staged, checksum);
      wrong |= (checksum->differs != 0 ? 1u : 0u) << i;
      block.EachThread([](uint32_t) {});
    }
  }
  auto* shared = reinterpret_cast<typename Kind::Shared*>(memory);
  Kind::Prepare(block, shared);
  block.EachWarp(kL3FourWarps, [&](Warp& warp, uint32_t index) {
    const uint32_t before = index * kL3FourPatches;
    uint32_t left = 0;
    if (before < all) {
      const uint32_t rest = all - before;
      left = Kind::Decode(warp, tasks + first + before,
                          rest < kL3FourPatches ? rest : kL3FourPatches,
                          wrong >> before, bytes, output, pixels,
                          results + first + before, index, shared);
    }
    warp.Each([&](uint32_t lane) {
      if (lane == 0) shared->left[index] = left;
    });
  });
  uint32_t left = 0;
  LIQUID_UNROLL
  for (uint32_t i = 0; i < kL3FourWarps; ++i) {
    left |= shared->left[i] << kL3FourPatches * i;
  }
  // The memory is then the next tasks'.
  block.EachThread([](uint32_t) {});
  return left;
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_FOUR_CUH_
