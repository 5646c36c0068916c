// The entropy decoder, which is compiled once for each set of instructions.
#ifndef LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_BLOCKS_LOOPS_H_
#define LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_BLOCKS_LOOPS_H_

#include <cstring>

#include "ops/codecs/jpeg/baseline/baseline_blocks.h"

#define LIQUID_BASELINE_INLINE inline __attribute__((always_inline))

namespace liquid {
namespace baseline {

// A place in the scan's bits. The next ones are at the top of `word`, the first
// one highest.
struct Bits {
  const uint8_t* next;  // byte that follows those in `word`
  uint64_t word;
  uint64_t count;  // valid bits of `word`: fewer than 64

  LIQUID_BASELINE_INLINE Bits(const uint8_t* bytes, uint64_t position)
      : next(bytes + position / 8), word(0), count(0) {
    Refill();
    Skip(position % 8);
  }
  LIQUID_BASELINE_INLINE uint64_t Position(const uint8_t* bytes) const {
    return 8 * static_cast<uint64_t>(next - bytes) - count;
  }
  // At least 56 bits are valid then. The bytes are loaded long before it is
  // known how many bits they join, so that nothing waits for them.
  LIQUID_BASELINE_INLINE void Refill() {
    uint64_t bytes;
    std::memcpy(&bytes, next, 8);
    if constexpr (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
      bytes = __builtin_bswap64(bytes);
    }
    word |= bytes >> count;
    next += (63 - count) / 8;
    count |= 56;
  }
  LIQUID_BASELINE_INLINE void Skip(uint64_t bits) {
    word <<= bits;
    count -= bits;
  }
};

// Decodes one symbol of any code. False where the bits are none.
inline bool DecodeSymbol(const HuffmanCodes& codes, bool dc, Bits* at,
                         uint32_t* place, int16_t* block) {
  const uint64_t word = at->word;
  const uint32_t top = static_cast<uint32_t>(word >> 48);
  const uint32_t looked_up = dc ? kDcPairBits : kPairBits;
  uint32_t bits = top < codes.short_end ? 1 : looked_up;
  while (top >= codes.end[bits]) {
    if (++bits > 16) return false;
  }
  const uint8_t symbol =
      codes.symbols[static_cast<int32_t>(top >> (16 - bits)) +
                    codes.delta[bits]];
  const uint32_t run = dc ? 0 : symbol >> 4, size = dc ? symbol : symbol & 15;
  at->Skip(bits + size);
  int32_t value = 0;
  if (size > 0) {
    value = static_cast<int32_t>(word << bits >> (64 - size));
    if (value >> (size - 1) == 0) value -= (int32_t{1} << size) - 1;
  } else if (!dc && run == 0) {
    *place += kBlockEnd;
    return true;
  } else if (!dc && run != 15) {
    return false;
  }
  *place += run;
  block[kNaturalOrder[*place]] = static_cast<int16_t>(value);
  ++*place;
  return true;
}

// Does what an entry says.
LIQUID_BASELINE_INLINE void Take(const PairEntry& entry, Bits* at,
                                 uint32_t* place, int16_t* block) {
  const uint64_t mask = (uint64_t{1} << entry.missing) - 1;
  const uint32_t rest =
      static_cast<uint32_t>(at->word >> (64 - entry.bits) & mask);
  at->Skip(entry.bits);
  // The second first: where there is none, the first overwrites it.
  block[kNaturalOrder[*place + entry.advance - 1]] = entry.second;
  block[kNaturalOrder[*place + entry.offset]] =
      static_cast<int16_t>(entry.first + static_cast<int32_t>(rest));
  *place += entry.advance;
}

// Whether a block may stop at `place`: full, or behind an end that came before
// it was.
LIQUID_BASELINE_INLINE bool IsEnd(uint32_t place) {
  return place == kBlockSize || place - (kBlockEnd + 1) < kBlockSize - 1;
}

// Decodes a block, whose coefficients are 0 before, with its DC as in the file.
LIQUID_BASELINE_INLINE bool DecodeBlock(const HuffmanTables& tables, Bits* bits,
                                        int16_t* block) {
  Bits at = *bits, last = at;
  uint32_t place = 0, last_place = 0;
  const PairEntry* entries = tables.dc;
  uint32_t unused = 64 - kDcPairBits;
  do {
    at.Refill();
    // Two look-ups fit in 56 bits: the first takes at most 24, and any symbol
    // at most 31.
    for (int i = 0; i < 2; ++i) {
      last = at;
      last_place = place;
      const PairEntry& entry = entries[at.word >> unused];
      entries = tables.ac;
      unused = 64 - kPairBits;
      if (__builtin_expect(entry.bits == 0, 0)) {
        const bool dc = place == 0;
        if (!DecodeSymbol(dc ? tables.dc_codes : tables.ac_codes, dc, &at,
                          &place, block)) {
          return false;
        }
        break;
      }
      Take(entry, &at, &place, block);
      if (place >= kBlockSize) break;
    }
  } while (place < kBlockSize);
  if (__builtin_expect(!IsEnd(place), 0)) {
    // The second value belongs to the next block, or there is one too many.
    at = last;
    place = last_place;
    if (place == 0 ||
        !DecodeSymbol(tables.ac_codes, false, &at, &place, block) ||
        !IsEnd(place)) {
      return false;
    }
  }
  *bits = at;
  return true;
}

LIQUID_BASELINE_INLINE bool DecodeMcus(const Mcus& mcus, uint32_t count,
                                       BaselineScan* scan, int32_t* dc) {
  for (uint32_t i = 0; i < count; ++i) {
    scan->Prepare();
    Bits bits(scan->bytes(), scan->position);
    for (uint32_t b = 0; b < mcus.count; ++b) {
      const McuBlock& to = mcus.blocks[b];
      int16_t* block = to.coefficients + i * to.step;
      std::memset(block, 0, kBlockSize * sizeof(*block));
      if (!DecodeBlock(*to.tables, &bits, block)) return false;
      const int32_t value = dc[to.component] + block[0];
      if (value != static_cast<int16_t>(value)) return false;
      dc[to.component] = value;
      block[0] = static_cast<int16_t>(value);
    }
    scan->position = bits.Position(scan->bytes());
    if (!scan->IsInside()) return false;
  }
  return true;
}

}  // namespace baseline
}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_BLOCKS_LOOPS_H_
