// A patch of the compact profile, by a block with a warp for each channel: the
// patch is staged in shared memory and checked, then decoded row by row, and
// stored in bands of rows.
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_COMPACT_CUH_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_COMPACT_CUH_

#include "ops/codecs/l3/device/l3_device_flat.cuh"
#include "ops/codecs/l3/device/l3_device_rice.cuh"
#include "ops/codecs/l3/device/l3_device_rice_four.cuh"
#include "ops/codecs/l3/device/l3_device_store.cuh"

namespace liquid {

// Reads the header of channel `c`. Leaves a result.
template <typename Warp>
LIQUID_DEVICE void L3ReadRiceHeader(Warp& warp, const L3StagedPatch& patch,
                                    uint32_t channels, uint32_t bits,
                                    uint32_t c, L3SharedCompact* shared) {
  const uint32_t headers = patch.skew + 4;
  uint32_t begin = 0, end = headers + kL3ChannelHeader * channels;
  L3DeviceError error =
      end > patch.end ? L3DeviceError::kHeaders : L3DeviceError::kNone;
  uint32_t word = 0;
  for (uint32_t i = 0; error == L3DeviceError::kNone && i <= c; ++i) {
    const uint32_t header = headers + kL3ChannelHeader * i;
    const uint32_t size = patch.Word(8 * header) & 0xFFFF;
    word = patch.Word(8 * header + 16);
    begin = end;
    end += size;
    if (size > kL3MaxSegmentBytes || end > patch.end) {
      error = L3DeviceError::kSegment;
    }
  }
  if (error == L3DeviceError::kNone) {
    const uint32_t most = channels < 3 ? 0 : c == 0 ? 1 : c == 2 ? 2 : 0;
    bool known = true;
    for (uint32_t band = 0; band < kL3Bands; ++band) {
      known = known && (word >> 3 * band & 7) < kL3CompactPredictors;
    }
    if (!known) {
      error = L3DeviceError::kPredictor;
    } else if ((word >> 12 & 3) > most) {
      error = L3DeviceError::kColour;
    } else if ((word >> 20 & 15) > L3MaxK(bits)) {
      error = L3DeviceError::kFirstK;
    } else if (c == channels - 1 && end != patch.end) {
      error = L3DeviceError::kRest;
    }
  }
  if (shared->checksum.differs != 0) error = L3DeviceError::kCrc;
  warp.Each([&](uint32_t lane) {
    if (lane != 0) return;
    shared->found[c] =
        error == L3DeviceError::kNone ? 0 : L3DeviceResult(error, c);
    L3RiceState* state = &shared->rice[c];
    state->word = word;
    state->begin = begin;
    state->bits = 0;
    state->back = state->end = end;
    state->ks = (word >> 20 & 15) * 0x11111111u;
    state->calm = 0;
  });
}

// Turns the colours of rows [0, rows) of the band back.
template <typename Sample, typename Block>
LIQUID_DEVICE void L3TurnBand(Block& block, const L3SharedCompact& shared,
                              uint32_t channels, uint32_t rows, Sample* band) {
  const auto red = static_cast<L3Colour>(shared.rice[0].word >> 12 & 3);
  const auto blue = static_cast<L3Colour>(shared.rice[2].word >> 12 & 3);
  block.EachThread([&](uint32_t thread) {
    for (uint32_t i = thread; i < rows * kL3V2Patch; i += block.Threads()) {
      Sample* pixel = band + i * channels;
      const uint32_t green = pixel[1];
      if (red != L3Colour::kPlain) {
        pixel[0] = static_cast<Sample>(pixel[0] + green);
      }
      if (blue == L3Colour::kLessGreen) {
        pixel[2] = static_cast<Sample>(pixel[2] + green);
      } else if (blue == L3Colour::kLessMean) {
        pixel[2] = static_cast<Sample>(pixel[2] + (pixel[0] + green + 1) / 2);
      }
    }
  });
}

// As L3PlaceStaged.
LIQUID_DEVICE inline L3StagedPatch L3PlaceStagedCompact(
    const L3DeviceTask& task, uint32_t channels, uint32_t bits,
    uint8_t* memory) {
  const uint32_t skew = static_cast<uint32_t>(task.begin[0] % kL3PieceBytes);
  return {memory + sizeof(L3SharedCompact) + L3BandBytesV2(channels, bits),
          skew, skew + task.size[0]};
}

// As L3DecodeTaskV2.
template <typename Sample, typename Out, typename Block>
LIQUID_DEVICE uint32_t L3DecodeTaskCompact(
    Block& block, const L3DeviceTask& task, const uint8_t* bytes,
    const L3DeviceOutput& output, const L3Lines<Out>& lines, uint8_t* memory) {
  using Warp = typename Block::Warp;
  const uint32_t channels = output.channels, bits = 8 * sizeof(Sample);
  L3SharedCompact* shared = reinterpret_cast<L3SharedCompact*>(memory);
  Sample* band = reinterpret_cast<Sample*>(memory + sizeof(L3SharedCompact));
  const L3StagedPatch patch =
      L3PlaceStagedCompact(task, channels, bits, memory);
  const uint32_t skew = patch.skew;
  L3StagePatch(block, task, bytes, output, patch, &shared->checksum);
  const bool flat = (patch.Word(8 * (skew + 4)) & 0x8000) != 0;
  block.EachWarp(flat ? 1 : channels, [&](Warp& warp, uint32_t c) {
    if (flat) {
      L3ReadFlatHeader(warp, patch, channels, bits, shared);
    } else {
      L3ReadRiceHeader(warp, patch, channels, bits, c, shared);
    }
  });
  for (uint32_t c = 0; c < (flat ? 1 : channels); ++c) {
    if (shared->found[c] != 0) return shared->found[c];
  }
  // All have read what the first band's warps write.
  block.EachThread([](uint32_t) {});
  const uint32_t row_samples = channels * kL3V2Patch;
  const L3SourceRows<Sample> source = {
      reinterpret_cast<const uint8_t*>(band),
      row_samples * static_cast<uint32_t>(sizeof(Sample)), channels};
  for (uint32_t y = 0; y < task.row_end; y += kL3V2BandRows) {
    const uint32_t left = task.row_end - y;
    const uint32_t rows = left < kL3V2BandRows ? left : kL3V2BandRows;
    const bool ends = y + rows == task.height;
    block.EachWarp(flat ? 1 : channels, [&](Warp& warp, uint32_t c) {
      if (flat) {
        L3DecodeFlatRows(warp, task, patch, channels, rows, ends, band, shared);
      } else {
        L3DecodeRiceRows(warp, task, patch, channels, c, y, rows, ends, band,
                         shared);
      }
    });
    for (uint32_t c = 0; c < (flat ? 1 : channels); ++c) {
      if (shared->found[c] != 0) return shared->found[c];
    }
    if (!flat && channels >= 3) {
      L3TurnBand(block, *shared, channels, rows, band);
    }
    L3Store(block, task, y, rows, source, lines, output);
  }
  return 0;
}

// What L3DecodeFours needs to know.
struct L3FoursCompact {
  using Shared = L3SharedRiceFours;

  static LIQUID_DEVICE L3StagedPatch Stage(const L3DeviceTask& task,
                                           uint8_t* memory,
                                           L3SharedCrc** checksum) {
    *checksum = &reinterpret_cast<L3SharedCompact*>(memory)->checksum;
    return L3PlaceStagedCompact(task, kL3FourChannels, 8, memory);
  }
  template <typename Block>
  static LIQUID_DEVICE void Prepare(Block& block, Shared* shared) {
    block.EachThread([&](uint32_t thread) {
      for (uint32_t i = thread; i < 256; i += block.Threads()) {
        shared->ones.of[i] = kL3OnesTable.of[i];
      }
    });
  }
  template <typename Out, typename Warp>
  static LIQUID_DEVICE uint32_t Decode(Warp& warp, const L3DeviceTask* tasks,
                                       uint32_t count, uint32_t wrong,
                                       const uint8_t* bytes,
                                       const L3DeviceOutput& output,
                                       Out* pixels, uint32_t* results,
                                       uint32_t index, Shared* shared) {
    return L3DecodeRiceFour(warp, tasks, count, wrong, bytes, output, pixels,
                            results, &shared->ones, shared->patches[index]);
  }
};

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_COMPACT_CUH_
