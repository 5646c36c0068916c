// A patch of version 2, by a block with a warp for each channel.
//
// The patch comes to shared memory in pieces of 16 bytes and is checked there.
// The widths of all groups are then read at once, and their sums are where each
// row of a channel begins; so every later read is known to lie in the patch. A
// lane has two pixels of a row; sums along the row take five steps, and the row
// above stays in registers.
#ifndef LIQUID_OPS_CODECS_L3_L3_DEVICE_V2_CUH_
#define LIQUID_OPS_CODECS_L3_L3_DEVICE_V2_CUH_

#include "ops/codecs/l3/l3_device_crc.cuh"
#include "ops/codecs/l3/l3_device_store.cuh"

namespace liquid {

constexpr uint32_t kL3MaxRowsV2 = kL3MaxChannels * kL3V2Patch;

// In a block's shared memory; the planes [channels][kL3V2BandRows][kL3V2Patch]
// follow, then the patch's bytes.
struct alignas(16) L3SharedV2 {
  uint32_t result;
  uint32_t stored_crc, crc[kL3MaxChannels];
  uint32_t words[kL3MaxChannels];
  uint32_t codes_at[kL3MaxChannels], code_bits[kL3MaxChannels];  // in the patch
  uint32_t payload_at;
  uint32_t crc_table[256];
  uint8_t widths[kL3MaxChannels][16];
  // By row * channels + channel: where its payload begins, counted from the
  // whole payload's beginning (the next entry is where it ends), and where in
  // it each group ends.
  uint32_t row_at[kL3MaxRowsV2 + 1];
  uint8_t group_end[kL3MaxRowsV2][kL3Groups];
};

LIQUID_HOST_DEVICE inline uint32_t L3PlaneBytesV2(uint32_t channels,
                                                  uint32_t bits) {
  return channels * kL3V2BandRows * kL3V2Patch * (bits / 8);
}

// What a block needs for patches that take `pieces` bytes of pieces.
LIQUID_HOST_DEVICE inline uint32_t L3SharedBytesV2(uint32_t channels,
                                                   uint32_t bits,
                                                   uint32_t pieces) {
  // A lane reads two words at a time, the second of which may lie behind.
  return static_cast<uint32_t>(sizeof(L3SharedV2)) +
         L3PlaneBytesV2(channels, bits) + pieces + kL3PieceBytes;
}

// Reads the words and finds where the codes lie; one thread does it.
LIQUID_DEVICE inline void L3ReadWords(const L3DeviceTask& task,
                                      const uint8_t* patch, uint32_t channels,
                                      uint32_t bits, L3SharedV2* shared) {
  const uint32_t size = task.size[0];
  uint32_t at = 4 + 4 * channels;
  LIQUID_SELDOM
  for (uint32_t c = 0; c < channels; ++c) {
    const uint8_t* bytes = patch + 4 + 4 * c;
    const uint32_t word = uint32_t{bytes[0]} | uint32_t{bytes[1]} << 8 |
                          uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
    const uint32_t set = L3WidthSetOf(word);
    const uint32_t most = channels < 3 ? 0 : c == 0 ? 1 : c == 2 ? 2 : 0;
    L3DeviceError error = L3DeviceError::kNone;
    if (set == 0) {
      error = L3DeviceError::kNoWidths;
    } else if (set >> (bits + 1) != 0) {
      error = L3DeviceError::kWidthOverBits;
    } else if ((word >> 21 & 7) != 0) {
      error = L3DeviceError::kReservedBits;
    } else if (set == 0x1FFFF) {
      error = L3DeviceError::kManyWidths;
    } else if (L3ColourOf(word) > most) {
      error = L3DeviceError::kColour;
    } else {
      shared->words[c] = word;
      shared->code_bits[c] = L3WidthTable(set, shared->widths[c]);
      shared->codes_at[c] = at;
      if (size - at < shared->code_bits[c] * task.height) {
        error = L3DeviceError::kCodes;
      }
      at += shared->code_bits[c] * task.height;
    }
    if (error != L3DeviceError::kNone) {
      shared->result = L3DeviceResult(error, c);
      return;
    }
  }
  shared->payload_at = at;
}

// Reads the codes of one row of a channel: where its groups end.
LIQUID_DEVICE inline void L3ReadCodes(const uint8_t* patch, uint32_t groups,
                                      uint32_t row, uint32_t channel,
                                      uint32_t entry, L3SharedV2* shared) {
  const uint32_t bits = shared->code_bits[channel];
  const uint8_t* bytes = patch + shared->codes_at[channel] + row * bits;
  uint32_t codes = 0;
  for (uint32_t i = 0; i < bits; ++i) codes |= uint32_t{bytes[i]} << 8 * i;
  uint32_t end = 0;
  for (uint32_t g = 0; g < kL3Groups; ++g) {
    const uint32_t code = codes >> g * bits & ((1u << bits) - 1);
    if (g < groups) end += shared->widths[channel][code];
    shared->group_end[entry][g] = static_cast<uint8_t>(end);
  }
  shared->row_at[entry] = end;
}

// Turns the sizes of `entries` rows into where they begin and where the last
// one ends; one warp does it.
template <typename Warp>
LIQUID_DEVICE void L3PlaceRows(Warp& warp, uint32_t entries,
                               L3SharedV2* shared) {
  constexpr uint32_t kEach = kL3MaxRowsV2 / kL3Warp;
  typename Warp::Lanes sums;
  warp.Compute([&](uint32_t lane) {
    uint32_t sum = 0;
    for (uint32_t i = lane * kEach; i < (lane + 1) * kEach; ++i) {
      if (i < entries) sum += shared->row_at[i];
    }
    sums[lane] = sum;
  });
  L3Sums(warp, sums);
  warp.Each([&](uint32_t lane) {
    uint32_t at = sums[lane];
    if (lane == kL3Warp - 1) shared->row_at[entries] = at;
    for (uint32_t i = (lane + 1) * kEach; i-- > lane * kEach;) {
      if (i < entries) shared->row_at[i] = at -= shared->row_at[i];
    }
  });
}

// 32 bits from bit `at` on. Reads the word after that one's too.
LIQUID_DEVICE inline uint32_t L3Word(const uint32_t* words, uint32_t at) {
#if defined(__CUDACC__)
  return __funnelshift_r(words[at / 32], words[at / 32 + 1], at % 32);
#else
  const uint64_t both =
      words[at / 32] | static_cast<uint64_t>(words[at / 32 + 1]) << 32;
  return static_cast<uint32_t>(both >> at % 32);
#endif
}

template <typename Sample>
struct L3SignedOf {
  using Type = int8_t;
};
template <>
struct L3SignedOf<uint16_t> {
  using Type = int16_t;
};

// Decodes rows [y, y + rows) of a channel into `plane`, in which the row above
// the first is the last one. `words` and `payload_at`, in bits, are the patch.
template <typename Sample, typename Warp>
LIQUID_DEVICE void L3DecodeBandV2(Warp& warp, const L3SharedV2& shared,
                                  const uint32_t* words, uint32_t payload_at,
                                  uint32_t channels, uint32_t c, uint32_t y,
                                  uint32_t rows, Sample* plane) {
  using Signed = typename L3SignedOf<Sample>::Type;
  using Lanes = typename Warp::Lanes;
  const uint32_t word = shared.words[c];
  const uint32_t base = L3BaseOf(word) << 8 * (sizeof(Sample) - 1);
  Lanes above0, above1;  // of the lane's two pixels
  warp.Compute([&](uint32_t lane) {
    const Sample* last = plane + (kL3V2BandRows - 1) * kL3V2Patch + 2 * lane;
    above0[lane] = y == 0 ? base : last[0];
    above1[lane] = y == 0 ? base : last[1];
  });
  for (uint32_t row = 0; row < rows; ++row) {
    const uint32_t entry = (y + row) * channels + c;
    const uint32_t row_at = payload_at + 8 * shared.row_at[entry];
    const uint8_t* ends = shared.group_end[entry];
    Lanes value0, value1;
    warp.Compute([&](uint32_t lane) {
      const uint32_t group = lane / 4, k = lane % 4 * 2;
      const uint32_t begin = group == 0 ? 0 : ends[group - 1];
      const uint32_t n = ends[group] - begin;
      const uint32_t both =
          n == 0 ? 0 : L3Word(words, row_at + 8 * begin + n * k);
      const uint32_t mask = (1u << n) - 1, bias = 1u << n >> 1;
      value0[lane] = (both & mask) - bias;
      value1[lane] = (both >> n & mask) - bias;
      if (n == 0) value0[lane] = value1[lane] = 0;
    });
    const L3Predictor predictor =
        y + row == 0 ? L3Predictor::kLeft
                     : static_cast<L3Predictor>(L3PredictorOf(word));
    if (predictor == L3Predictor::kTop) {
      warp.Compute([&](uint32_t lane) {
        value0[lane] += above0[lane];
        value1[lane] += above1[lane];
      });
    } else {
      if (predictor == L3Predictor::kThreeQuarter) {
        Lanes left = warp.FromBelow(above1, 1);
        warp.Compute([&](uint32_t lane) {
          const uint32_t from = lane == 0 ? above0[lane] : left[lane];
          value0[lane] += L3ThreeQuarters<Signed>(above0[lane] - from);
          value1[lane] += L3ThreeQuarters<Signed>(above1[lane] - above0[lane]);
        });
      }
      Lanes sums;
      warp.Compute(
          [&](uint32_t lane) { sums[lane] = value0[lane] + value1[lane]; });
      L3Sums(warp, sums);
      // Left + above - above-left, summed, is above plus the sum of residuals.
      const uint32_t first = warp.FromFirst(above0);
      const bool gradient = predictor == L3Predictor::kGradient;
      warp.Compute([&](uint32_t lane) {
        value0[lane] =
            sums[lane] - value1[lane] + (gradient ? above0[lane] : first);
        value1[lane] = sums[lane] + (gradient ? above1[lane] : first);
      });
    }
    warp.Each([&](uint32_t lane) {
      Sample* out = plane + row * kL3V2Patch + 2 * lane;
      out[0] = static_cast<Sample>(value0[lane]);
      out[1] = static_cast<Sample>(value1[lane]);
      above0[lane] = out[0];
      above1[lane] = out[1];
    });
  }
}

// Decodes the task's patch and stores what is wanted of it. Returns its result,
// the same to all threads. `bytes` are the batch's, `memory` the shared memory.
template <typename Sample, typename Out, typename Block>
LIQUID_DEVICE uint32_t L3DecodeTaskV2(Block& block, const L3DeviceTask& task,
                                      const uint8_t* bytes,
                                      const L3DeviceOutput& output, Out* pixels,
                                      uint8_t* memory) {
  L3SharedV2& shared = *reinterpret_cast<L3SharedV2*>(memory);
  const uint32_t channels = output.channels, bits = 8 * sizeof(Sample);
  const uint32_t size = task.size[0];
  Sample* planes = reinterpret_cast<Sample*>(memory + sizeof(L3SharedV2));
  uint8_t* staged =
      memory + sizeof(L3SharedV2) + L3PlaneBytesV2(channels, bits);
  const uint32_t skew = static_cast<uint32_t>(task.begin[0] % kL3PieceBytes);
  uint8_t* patch = staged + skew;

  block.EachThread([&](uint32_t thread) {
    const uint8_t* from = bytes + (task.begin[0] - skew);
    for (uint32_t i = thread * kL3PieceBytes; i < skew + size;
         i += block.Threads() * kL3PieceBytes) {
      L3CopyPiece(from + i, staged + i);
    }
    for (uint32_t i = thread; i < 256; i += block.Threads()) {
      shared.crc_table[i] = kL3CrcTables.bytes[i];
    }
  });
  // The checksum covers the patch's number in place of itself. A register that
  // begins as all ones inverts the first four bytes.
  block.EachThread([&](uint32_t thread) {
    if (thread != 0) return;
    shared.result = 0;
    shared.stored_crc = 0;
    LIQUID_SELDOM
    for (uint32_t i = 0; i < 4; ++i) {
      shared.stored_crc |= uint32_t{patch[i]} << 8 * i;
      patch[i] = static_cast<uint8_t>(~task.number >> 8 * i);
    }
  });
  block.EachWarp(channels, [&](typename Block::Warp& warp, uint32_t index) {
    auto crc = warp.Zeros();
    warp.Compute([&](uint32_t lane) {
      for (uint32_t i = index * kL3Warp + lane; i * kL3CrcChunk < size;
           i += channels * kL3Warp) {
        crc[lane] ^= L3CrcOfChunk(shared.crc_table, patch, size, i);
      }
    });
    const uint32_t all = warp.Xor(crc);
    warp.Each([&](uint32_t lane) {
      if (lane == 0) shared.crc[index] = all;
    });
  });
  block.EachThread([&](uint32_t thread) {
    if (thread != 0) return;
    uint32_t crc = 0xFFFFFFFF;
    for (uint32_t i = 0; i < channels; ++i) crc ^= shared.crc[i];
    if (crc != shared.stored_crc) {
      shared.result = L3DeviceResult(L3DeviceError::kCrc, 0);
    } else {
      L3ReadWords(task, patch, channels, bits, &shared);
    }
  });
  if (shared.result != 0) return shared.result;

  const uint32_t groups = (task.width + kL3Group - 1) / kL3Group;
  const uint32_t entries = task.row_end * channels;
  block.EachThread([&](uint32_t thread) {
    LIQUID_SELDOM
    for (uint32_t i = thread; i < entries; i += block.Threads()) {
      L3ReadCodes(patch, groups, i / channels, i % channels, i, &shared);
    }
  });
  block.EachWarp(1, [&](typename Block::Warp& warp, uint32_t) {
    L3PlaceRows(warp, entries, &shared);
    const uint32_t left = size - shared.payload_at;
    const uint32_t payload = shared.row_at[entries];
    warp.Each([&](uint32_t lane) {
      if (lane != 0) return;
      if (payload > left) {
        shared.result = L3DeviceResult(L3DeviceError::kShort, 0);
      } else if (task.row_end == task.height && payload != left) {
        shared.result = L3DeviceResult(L3DeviceError::kLong, 0);
      }
    });
  });
  if (shared.result != 0) return shared.result;

  const L3PlaneRows<Sample> source = {
      planes, kL3V2Patch, kL3V2BandRows * kL3V2Patch,
      static_cast<L3Colour>(L3ColourOf(shared.words[0])),
      static_cast<L3Colour>(channels < 3 ? 0 : L3ColourOf(shared.words[2]))};
  for (uint32_t y = 0; y < task.row_end; y += kL3V2BandRows) {
    const uint32_t left = task.row_end - y;
    const uint32_t rows = left < kL3V2BandRows ? left : kL3V2BandRows;
    block.EachWarp(channels, [&](typename Block::Warp& warp, uint32_t c) {
      L3DecodeBandV2(warp, shared, reinterpret_cast<const uint32_t*>(staged),
                     8 * (skew + shared.payload_at), channels, c, y, rows,
                     planes + c * kL3V2BandRows * kL3V2Patch);
    });
    L3Store(block, task, y, rows, source, output, pixels);
  }
  return 0;
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_L3_DEVICE_V2_CUH_
