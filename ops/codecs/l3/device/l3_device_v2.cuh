// A patch of version 2, by a block with a warp for each channel: the patch is
// staged in shared memory and checked, then decoded and stored in bands of
// rows.
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_V2_CUH_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_V2_CUH_

#include "ops/codecs/l3/device/l3_device_store.cuh"
#include "ops/codecs/l3/device/l3_device_v2_band.cuh"
#include "ops/codecs/l3/device/l3_device_v2_four.cuh"

namespace liquid {

// Where a task's patch is staged in the shared memory.
LIQUID_DEVICE inline L3StagedPatch L3PlaceStaged(const L3DeviceTask& task,
                                                 uint32_t channels,
                                                 uint32_t bits,
                                                 uint8_t* memory) {
  const uint32_t skew = static_cast<uint32_t>(task.begin[0] % kL3PieceBytes);
  return {memory + sizeof(L3SharedV2) + L3BandBytesV2(channels, bits), skew,
          skew + task.size[0]};
}

// Decodes the task's patch and stores what is wanted of it. Returns its result,
// the same to all threads. `bytes` are the batch's, `memory` the shared memory.
template <typename Sample, typename Out, typename Block>
LIQUID_DEVICE uint32_t L3DecodeTaskV2(Block& block, const L3DeviceTask& task,
                                      const uint8_t* bytes,
                                      const L3DeviceOutput& output,
                                      const L3Lines<Out>& lines,
                                      uint8_t* memory) {
  using Warp = typename Block::Warp;
  const uint32_t channels = output.channels, bits = 8 * sizeof(Sample);
  L3SharedV2* shared = reinterpret_cast<L3SharedV2*>(memory);
  Sample* band = reinterpret_cast<Sample*>(memory + sizeof(L3SharedV2));
  const L3StagedPatch patch = L3PlaceStaged(task, channels, bits, memory);
  L3StagePatch(block, task, bytes, output, patch, &shared->checksum);
  const uint32_t found = L3FindRows(block, task, channels, bits, patch, shared);
  if (found != 0) return found;

  const uint32_t row_samples = channels * kL3V2Patch;
  const L3SourceRows<Sample> source = {
      reinterpret_cast<const uint8_t*>(band),
      row_samples * static_cast<uint32_t>(sizeof(Sample)), channels};
  for (uint32_t y = 0; y < task.row_end; y += kL3V2BandRows) {
    const uint32_t left = task.row_end - y;
    const uint32_t rows = left < kL3V2BandRows ? left : kL3V2BandRows;
    block.EachWarp(channels, [&](Warp& warp, uint32_t c) {
      L3DecodeRows(warp, patch, channels, c, y, rows, band, shared);
    });
    block.EachWarp(channels, [&](Warp& warp, uint32_t index) {
      for (uint32_t row = kL3RowsAtOnce * index; row < rows;
           row += kL3RowsAtOnce * channels) {
        L3FinishRows(warp, *shared, channels, band + row * row_samples);
      }
    });
    L3Store(block, task, y, rows, source, lines, output);
  }
  return 0;
}

// What L3DecodeFours needs to know.
struct L3FoursV2 {
  using Shared = L3SharedFours;

  static LIQUID_DEVICE L3StagedPatch Stage(const L3DeviceTask& task,
                                           uint8_t* memory,
                                           L3SharedCrc** checksum) {
    *checksum = &reinterpret_cast<L3SharedV2*>(memory)->checksum;
    return L3PlaceStaged(task, kL3FourChannels, 8, memory);
  }
  template <typename Block>
  static LIQUID_DEVICE void Prepare(Block&, Shared*) {}
  template <typename Out, typename Warp>
  static LIQUID_DEVICE uint32_t Decode(Warp& warp, const L3DeviceTask* tasks,
                                       uint32_t count, uint32_t wrong,
                                       const uint8_t* bytes,
                                       const L3DeviceOutput& output,
                                       Out* pixels, uint32_t* results,
                                       uint32_t index, Shared* shared) {
    return L3DecodeFour(warp, tasks, count, wrong, bytes, output, pixels,
                        results, shared->patches[index]);
  }
};

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_V2_CUH_
