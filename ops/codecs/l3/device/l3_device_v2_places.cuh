// What a block keeps of a patch of version 2 in shared memory, and where in the
// patch its rows lie.
//
// The patch comes to shared memory in pieces of 16 bytes and is checked there.
// The widths of all groups are then read at once, and their sums are where each
// row of a channel begins; so every later read is known to lie in the patch.
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_V2_PLACES_CUH_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_V2_PLACES_CUH_

#include "ops/codecs/l3/device/l3_device_crc.cuh"

namespace liquid {

constexpr uint32_t kL3MaxRowsV2 = kL3MaxChannels * kL3V2Patch;

// Of a staged patch's checksum, in a block's shared memory.
struct L3SharedCrc {
  uint32_t stored, parts[kL3MaxChannels * kL3Warp];
  uint32_t differs;
};

// In a block's shared memory; the band [kL3V2BandRows][channels][kL3V2Patch]
// follows, then the patch's bytes.
struct alignas(16) L3SharedV2 {
  // Of the row above a band's first: what L3AddDown carries on.
  alignas(4) uint8_t carried[kL3MaxChannels][kL3V2Patch * sizeof(uint16_t)];
  // By row * channels + channel: where in its payload each group ends, and
  // where that begins in the staged bytes (the next entry is where it ends).
  alignas(8) uint8_t group_end[kL3MaxRowsV2][kL3Groups];
  uint32_t row_at[kL3MaxRowsV2 + 1];
  uint32_t found[kL3MaxChannels];  // results
  L3SharedCrc checksum;
  uint32_t words[kL3MaxChannels];
  uint32_t codes_at[kL3MaxChannels], code_bits[kL3MaxChannels];
  uint32_t payload_at;  // in the staged bytes, as the codes
  uint8_t widths[kL3MaxChannels][16];
};

LIQUID_HOST_DEVICE constexpr uint32_t L3BandBytesV2(uint32_t channels,
                                                    uint32_t bits) {
  return channels * kL3V2BandRows * kL3V2Patch * (bits / 8);
}

// What a block needs for patches that take `pieces` bytes of pieces.
LIQUID_HOST_DEVICE constexpr uint32_t L3SharedBytesV2(uint32_t channels,
                                                      uint32_t bits,
                                                      uint32_t pieces) {
  // Behind the patch are as many bytes as a piece has, which are 0: a checksum
  // is of whole words, and a lane reads up to 11 bytes on.
  return static_cast<uint32_t>(sizeof(L3SharedV2)) +
         L3BandBytesV2(channels, bits) + pieces + kL3PieceBytes;
}

// A kernel gets no more without asking for it.
static_assert(L3SharedBytesV2(kL3MaxChannels, 16,
                              L3RoundUp(kL3V2MaxPatchBytes + kL3PieceBytes -
                                        1)) <= 48 * 1024,
              "the largest patch does not fit");

// A patch in shared memory.
struct L3StagedPatch {
  uint8_t* bytes;      // a multiple of 16
  uint32_t skew, end;  // where in them the patch begins and ends

  // The words that have byte `at` of the bytes and those behind it.
  LIQUID_DEVICE const uint32_t* WordsFrom(uint32_t at) const {
    return reinterpret_cast<const uint32_t*>(bytes) + at / 4;
  }
  // 32 bits from bit `at` of the bytes on.
  LIQUID_DEVICE uint32_t Word(uint32_t at) const {
    const uint32_t* words = WordsFrom(at / 8);
    return L3Funnel(words[0], words[1], at);
  }
};

// Brings the task's patch to `patch.bytes`, and leaves in `differs` whether
// its checksum is wrong, where that is to be known. A patch has at least a
// checksum and its words: the host sends no shorter one.
template <typename Block>
LIQUID_DEVICE void L3StagePatch(Block& block, const L3DeviceTask& task,
                                const uint8_t* bytes,
                                const L3DeviceOutput& output,
                                const L3StagedPatch& patch,
                                L3SharedCrc* shared) {
  const uint32_t channels = output.channels;
  block.EachThread([&](uint32_t thread) {
    const uint8_t* from = bytes + (task.begin[0] - patch.skew);
    for (uint32_t i = thread * kL3PieceBytes; i < patch.end;
         i += block.Threads() * kL3PieceBytes) {
      L3Write(L3Read<L3Piece>(from + i), patch.bytes + i);
    }
  });
  // The checksum is taken of whole words: bytes of others become 0. It covers
  // the patch's number in place of itself, and a register that begins as all
  // ones inverts those four bytes.
  block.EachThread([&](uint32_t thread) {
    if (thread < patch.skew) patch.bytes[thread] = 0;
    if (thread < kL3PieceBytes) patch.bytes[patch.end + thread] = 0;
    if (thread != 0) return;
    shared->differs = 0;
    if (output.verified != 0) return;
    uint8_t* first = patch.bytes + patch.skew;
    uint32_t stored = 0;
    LIQUID_SELDOM
    for (uint32_t i = 0; i < 4; ++i) {
      stored |= static_cast<uint32_t>(first[i] ^ 255) << 8 * i;
      first[i] = static_cast<uint8_t>(~task.number >> 8 * i);
    }
    LIQUID_SELDOM
    for (uint32_t i = 8 * patch.end; i % 32 != 0; ++i)
      stored = L3CrcTimesX(stored);
    shared->stored = stored;
  });
  if (output.verified != 0) return;
  using Warp = typename Block::Warp;
  block.EachWarp(channels, [&](Warp& warp, uint32_t index) {
    auto crc = L3CrcOfWarp(warp, index, channels,
                           reinterpret_cast<const uint32_t*>(patch.bytes),
                           (patch.end + 3) / 4);
    warp.Each([&](uint32_t lane) {
      shared->parts[index * kL3Warp + lane] = crc[lane];
    });
  });
  block.EachWarp(1, [&](Warp& warp, uint32_t) {
    const uint32_t crc = L3CrcOfWarps(warp, channels, shared->parts);
    warp.Each([&](uint32_t lane) {
      if (lane == 0) shared->differs = crc ^ shared->stored;
    });
  });
}

// Reads the word of channel `c` and finds where its codes lie. Leaves a result.
template <typename Warp>
LIQUID_DEVICE void L3ReadWord(Warp& warp, const L3DeviceTask& task,
                              const L3StagedPatch& patch, uint32_t channels,
                              uint32_t bits, uint32_t c, L3SharedV2* shared) {
  uint32_t word = 0, set = 0, count = 0, code_bits = 0;
  uint32_t at = 0, next = patch.skew + 4 + 4 * channels;
  for (uint32_t i = 0; i <= c; ++i) {
    word = patch.Word(8 * (patch.skew + 4 + 4 * i));
    set = L3WidthSetOf(word);
    count = L3CountBits(set);
    code_bits = 0;
    while ((1u << code_bits) < count) ++code_bits;
    at = next;
    next += code_bits * task.height;
  }
  // Where an earlier channel has too many codes, that one is reported.
  const uint32_t most = channels < 3 ? 0 : c == 0 ? 1 : c == 2 ? 2 : 0;
  L3DeviceError error = L3DeviceError::kNone;
  if (shared->checksum.differs != 0) {
    error = L3DeviceError::kCrc;
  } else if (set == 0) {
    error = L3DeviceError::kNoWidths;
  } else if (set >> (bits + 1) != 0) {
    error = L3DeviceError::kWidthOverBits;
  } else if ((word >> 21 & 7) != 0) {
    error = L3DeviceError::kReservedBits;
  } else if (set == 0x1FFFF) {
    error = L3DeviceError::kManyWidths;
  } else if (L3ColourOf(word) > most) {
    error = L3DeviceError::kColour;
  } else if (next > patch.end) {
    error = L3DeviceError::kCodes;
  }
  warp.Each([&](uint32_t lane) {
    if (lane == 0) {
      shared->found[c] =
          error == L3DeviceError::kNone ? 0 : L3DeviceResult(error, c);
      shared->words[c] = word;
      shared->codes_at[c] = at;
      shared->code_bits[c] = code_bits;
      if (c == channels - 1) shared->payload_at = next;
    }
    // A width's place is the number of smaller ones. A code past them is 0.
    const uint32_t smaller = L3CountBits(set & ((1u << lane) - 1));
    if ((set >> lane & 1) != 0 && smaller < 16) {
      shared->widths[c][smaller] = static_cast<uint8_t>(lane);
    }
    if (lane >= count && lane < 16) shared->widths[c][lane] = 0;
  });
}

// Reads the codes of one row of a channel: where its groups end.
LIQUID_DEVICE inline void L3ReadCodes(const L3StagedPatch& patch,
                                      uint32_t groups, uint32_t row,
                                      uint32_t channel, uint32_t entry,
                                      L3SharedV2* shared) {
  const uint32_t bits = shared->code_bits[channel];
  const uint8_t* widths = shared->widths[channel];
  uint32_t codes = patch.Word(8 * (shared->codes_at[channel] + row * bits));
  const uint32_t mask = (1u << bits) - 1;
  uint32_t ends[2] = {};
  LIQUID_UNROLL
  for (uint32_t g = 0; g < kL3Groups; ++g, codes >>= bits) {
    ends[g / 4] |= uint32_t{widths[codes & mask]} << g % 4 * 8;
  }
  if (groups < kL3Groups) {
    // Codes behind the last group say nothing.
    ends[0] &= groups < 4 ? (1u << 8 * groups) - 1 : 0xFFFFFFFF;
    ends[1] &= groups < 4 ? 0 : (1u << 8 * (groups - 4)) - 1;
  }
  // Sums of all bytes up to each: no row of a channel takes over 128.
  constexpr uint32_t kOnes = 0x01010101;
  ends[0] *= kOnes;
  ends[1] = (ends[1] + (ends[0] >> 24)) * kOnes;
  L3Write(uint64_t{ends[1]} << 32 | ends[0], shared->group_end[entry]);
  shared->row_at[entry] = ends[1] >> 24;
}

// Turns the sizes of `entries` rows into where they begin and where the last
// one ends, the first being at `begin`; one warp does it.
template <typename Warp>
LIQUID_DEVICE void L3PlaceRows(Warp& warp, uint32_t entries, uint32_t begin,
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
  L3Sums<kL3Warp>(warp, sums);
  warp.Each([&](uint32_t lane) {
    uint32_t at = begin + sums[lane];
    if (lane == kL3Warp - 1) shared->row_at[entries] = at;
    for (uint32_t i = (lane + 1) * kEach; i-- > lane * kEach;) {
      if (i < entries) shared->row_at[i] = at -= shared->row_at[i];
    }
  });
}

// Finds where the rows of a staged patch lie that the task wants, and that they
// lie in it. Returns its result, the same to all threads.
template <typename Block>
LIQUID_DEVICE uint32_t L3FindRows(Block& block, const L3DeviceTask& task,
                                  uint32_t channels, uint32_t bits,
                                  const L3StagedPatch& patch,
                                  L3SharedV2* shared) {
  using Warp = typename Block::Warp;
  block.EachWarp(channels, [&](Warp& warp, uint32_t c) {
    L3ReadWord(warp, task, patch, channels, bits, c, shared);
  });
  for (uint32_t c = 0; c < channels; ++c) {
    if (shared->found[c] != 0) return shared->found[c];
  }
  const uint32_t groups = (task.width + kL3Group - 1) / kL3Group;
  const uint32_t entries = task.row_end * channels;
  block.EachThread([&](uint32_t thread) {
    // As many warps as channels: a thread has one channel in all of its rows.
    const uint32_t step = block.Threads() / channels;
    const uint32_t c = thread % channels;
    LIQUID_SELDOM
    for (uint32_t row = thread / channels; row < task.row_end; row += step) {
      L3ReadCodes(patch, groups, row, c, row * channels + c, shared);
    }
  });
  block.EachWarp(1, [&](Warp& warp, uint32_t) {
    L3PlaceRows(warp, entries, shared->payload_at, shared);
    const uint32_t end = shared->row_at[entries];
    warp.Each([&](uint32_t lane) {
      if (lane != 0) return;
      if (end > patch.end) {
        shared->found[0] = L3DeviceResult(L3DeviceError::kShort, 0);
      } else if (task.row_end == task.height && end != patch.end) {
        shared->found[0] = L3DeviceResult(L3DeviceError::kLong, 0);
      }
    });
  });
  return shared->found[0];
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_V2_PLACES_CUH_
