// A patch of version 1, by a block with a warp for each channel.
//
// Where a row begins is known when the width of the one before it has been
// read, so a channel's bytes come to shared memory as its rows need them, in
// pieces of 16 bytes. Inside a row every pixel has a lane. A band of rows is
// then put together from the channels, and stored.
//
// The paper's ablation takes a row's pixels one after the other, when unpacking
// them, when predicting them, or both: what an encoding needs whose deltas
// cannot be found, or whose prediction looks to the left.
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_V1_CUH_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_V1_CUH_

#include "ops/codecs/l3/device/l3_device_store.cuh"

namespace liquid {

template <bool kUnpacksInParallel, bool kPredictsInParallel>
struct L3VariantV1 {
  static constexpr bool kUnpacks = kUnpacksInParallel;
  static constexpr bool kPredicts = kPredictsInParallel;
};

constexpr uint32_t kL3ChunkV1 = 1024;  // bytes of a channel that are at hand
constexpr uint32_t kL3NotStaged = 0xFFFFFFFF;
// A pixel that is 0 on both sides of the longest row, and the row above the
// band's first.
constexpr uint32_t kL3RowV1 = kL3MaxPatchRow + 9;
constexpr uint32_t kL3PixelRowV1 = L3RoundUp(3 * kL3MaxPatchRow);
constexpr uint32_t kL3PlaneV1 = (1 + kL3V1BandRows) * kL3RowV1;

// In a block's shared memory.
struct alignas(16) L3SharedV1 {
  uint8_t staged[3][kL3ChunkV1];
  uint8_t pixels[kL3V1BandRows][kL3PixelRowV1];  // the band's, side by side
  uint8_t planes[3][kL3PlaneV1];
  // Counted from the piece in which the channel begins: the next row, and where
  // what is at hand begins.
  uint32_t at[3], staged_at[3];
  uint32_t result[3];
};

// Brings the bytes of channel `c` from `begin` on, a multiple of a piece.
template <typename Warp>
LIQUID_DEVICE void L3StageV1(Warp& warp, const uint8_t* first_piece,
                             uint32_t begin, uint32_t end, uint32_t c,
                             L3SharedV1* shared) {
  warp.Each([&](uint32_t lane) {
    for (uint32_t i = lane * kL3PieceBytes; i < kL3ChunkV1 && begin + i < end;
         i += kL3Warp * kL3PieceBytes) {
      L3Write(L3Read<L3Piece>(first_piece + begin + i), shared->staged[c] + i);
    }
  });
}

// Decodes up to `rows` rows of channel `c` below row 0 of its plane. On damage
// it leaves a result and stops.
template <typename Variant, typename Warp>
LIQUID_DEVICE void L3DecodeBandV1(Warp& warp, const L3DeviceTask& task,
                                  const uint8_t* bytes, uint32_t c,
                                  uint32_t rows, L3SharedV1* shared) {
  const uint32_t skew = static_cast<uint32_t>(task.begin[c] % kL3PieceBytes);
  const uint32_t end = skew + task.size[c];
  const uint32_t most = L3V1RowBytes(8, task.width);
  uint8_t* above = shared->planes[c];
  // Every lane has these for itself: were they read where another lane may
  // already have gone on, lanes could part.
  uint32_t at = shared->at[c], staged_at = shared->staged_at[c];
  L3DeviceError error = L3DeviceError::kNone;
  for (uint32_t i = 0; i < rows; ++i, above += kL3RowV1) {
    const uint32_t needed = at + most < end ? at + most : end;
    if (staged_at == kL3NotStaged || needed > staged_at + kL3ChunkV1) {
      staged_at = at / kL3PieceBytes * kL3PieceBytes;
      L3StageV1(warp, bytes + (task.begin[c] - skew), staged_at, end, c,
                shared);
    }
    const uint8_t* from = shared->staged[c] + (at - staged_at);
    if (end - at < 2) {
      error = L3DeviceError::kShort;
      break;
    }
    const uint32_t bits = L3Bits(from, 0, 4);
    const uint32_t size = L3V1RowBytes(bits, task.width);
    if (bits > 8) {
      error = L3DeviceError::kBadWidth;
      break;
    }
    if (end - at < size) {
      error = L3DeviceError::kShort;
      break;
    }
    uint8_t* row = above + kL3RowV1;
    warp.Each([&](uint32_t lane) {
      if (!Variant::kUnpacks && lane != 0) return;
      for (uint32_t x = lane; x < task.width;
           x += Variant::kUnpacks ? kL3Warp : 1) {
        row[1 + x] = L3V1Residual(from, bits, x);
      }
    });
    warp.Each([&](uint32_t lane) {
      if (!Variant::kPredicts && lane != 0) return;
      for (uint32_t x = lane; x < task.width;
           x += Variant::kPredicts ? kL3Warp : 1) {
        // Above the first row all is 0, and so is what is predicted from it.
        row[1 + x] = static_cast<uint8_t>(
            row[1 + x] + L3V1Predict(above[x], above[x + 1], above[x + 2]));
      }
    });
    at += size;
  }
  warp.Each([&](uint32_t lane) {
    if (lane != 0) return;
    shared->at[c] = at;
    shared->staged_at[c] = staged_at;
    if (error != L3DeviceError::kNone) {
      shared->result[c] = L3DeviceResult(error, c);
    }
  });
}

// As L3DecodeTaskV2.
template <typename Variant, typename Out, typename Block>
LIQUID_DEVICE uint32_t L3DecodeTaskV1(Block& block, const L3DeviceTask& task,
                                      const uint8_t* bytes,
                                      const L3DeviceOutput& output,
                                      const L3Lines<Out>& lines,
                                      uint8_t* memory) {
  L3SharedV1& shared = *reinterpret_cast<L3SharedV1*>(memory);
  block.EachThread([&](uint32_t thread) {
    for (uint32_t i = thread; i < 3 * kL3PlaneV1; i += block.Threads()) {
      shared.planes[i / kL3PlaneV1][i % kL3PlaneV1] = 0;
    }
    if (thread < 3) {
      shared.at[thread] =
          static_cast<uint32_t>(task.begin[thread] % kL3PieceBytes);
      shared.staged_at[thread] = kL3NotStaged;
      shared.result[thread] = 0;
    }
  });
  const L3SourceRows<uint8_t> source = {shared.pixels[0], kL3PixelRowV1, 3};
  for (uint32_t y = 0; y < task.row_end; y += kL3V1BandRows) {
    const uint32_t left = task.row_end - y;
    const uint32_t rows = left < kL3V1BandRows ? left : kL3V1BandRows;
    block.EachWarp(3, [&](typename Block::Warp& warp, uint32_t c) {
      if (y > 0) {
        warp.Each([&](uint32_t lane) {
          uint8_t* plane = shared.planes[c];
          for (uint32_t x = lane; x < task.width; x += kL3Warp) {
            plane[1 + x] = plane[kL3V1BandRows * kL3RowV1 + 1 + x];
          }
        });
      }
      L3DecodeBandV1<Variant>(warp, task, bytes, c, rows, &shared);
    });
    for (uint32_t c = 0; c < 3; ++c) {
      if (shared.result[c] != 0) return shared.result[c];
    }
    block.EachThread([&](uint32_t thread) {
      for (uint32_t row = 0; row < rows; ++row) {
        for (uint32_t x = thread; x < task.width; x += block.Threads()) {
          for (uint32_t c = 0; c < 3; ++c) {
            shared.pixels[row][3 * x + c] =
                shared.planes[c][(1 + row) * kL3RowV1 + 1 + x];
          }
        }
      }
    });
    L3Store(block, task, y, rows, source, lines, output);
  }
  for (uint32_t c = 0; c < 3; ++c) {
    const uint32_t end =
        static_cast<uint32_t>(task.begin[c] % kL3PieceBytes) + task.size[c];
    if (task.row_end == task.height && shared.at[c] != end) {
      return L3DeviceResult(L3DeviceError::kLong, c);
    }
  }
  return 0;
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_V1_CUH_
