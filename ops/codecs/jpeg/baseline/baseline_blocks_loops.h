// The entropy decoder, which is compiled once for each set of instructions.
#ifndef LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_BLOCKS_LOOPS_H_
#define LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_BLOCKS_LOOPS_H_

#include <cstring>

#include "ops/codecs/jpeg/baseline/baseline_blocks.h"

#define LIQUID_BASELINE_INLINE inline __attribute__((always_inline))

namespace liquid {
namespace baseline {

// The bits from `position` on, the first one highest: at least 57.
LIQUID_BASELINE_INLINE uint64_t LoadBits(const uint8_t* bytes,
                                         uint64_t position) {
  uint64_t word;
  std::memcpy(&word, bytes + position / 8, 8);
  if constexpr (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
    word = __builtin_bswap64(word);
  }
  return word << (position % 8);
}

// Decodes one symbol of any code. False where the bits are none.
inline bool DecodeSymbol(const HuffmanCodes& codes, uint64_t word, bool dc,
                         uint64_t* position, uint32_t* place, int16_t* block) {
  const uint32_t top = static_cast<uint32_t>(word >> 48);
  uint32_t bits = 1;
  while (top >= codes.end[bits]) {
    if (++bits > 16) return false;
  }
  const uint8_t symbol =
      codes.symbols[static_cast<int32_t>(top >> (16 - bits)) +
                    codes.delta[bits]];
  const uint32_t run = dc ? 0 : symbol >> 4, size = dc ? symbol : symbol & 15;
  *position += bits + size;
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
LIQUID_BASELINE_INLINE void Take(const PairEntry& entry, uint64_t* word,
                                 uint64_t* position, uint32_t* place,
                                 int16_t* block) {
  const uint32_t bits = entry.bits;
  const uint64_t mask = (uint64_t{1} << entry.missing) - 1;
  const uint32_t rest = static_cast<uint32_t>(*word >> (64 - bits) & mask);
  // The second first: where there is none, the first overwrites it.
  block[kNaturalOrder[*place + entry.advance - 1]] = entry.second;
  block[kNaturalOrder[*place + entry.offset]] =
      static_cast<int16_t>(entry.first + static_cast<int32_t>(rest));
  *place += entry.advance;
  *position += bits;
  *word <<= bits;
}

// Whether a block may stop at `place`: full, or behind an end that came before
// it was.
LIQUID_BASELINE_INLINE bool IsEnd(uint32_t place) {
  return place == kBlockSize || place - (kBlockEnd + 1) < kBlockSize - 1;
}

// Decodes a block, whose coefficients are 0 before, with its DC as in the file.
LIQUID_BASELINE_INLINE bool DecodeBlock(const McuBlock& tables,
                                        BaselineScan* scan, int16_t* block) {
  const uint8_t* const bytes = scan->bytes();
  uint64_t position = scan->position;
  uint32_t place = 0;
  uint64_t last_position = position;
  uint32_t last_place = 0;
  const PairEntry* entries = tables.dc->entries;
  do {
    uint64_t word = LoadBits(bytes, position);
    // Two look-ups fit in a word of 57 bits: the first takes at most 25, and
    // any symbol at most 31.
    for (int i = 0; i < 2; ++i) {
      last_position = position;
      last_place = place;
      const PairEntry& entry = entries[word >> (64 - kPairBits)];
      if (__builtin_expect(entry.bits == 0, 0)) {
        const HuffmanPair* table = place == 0 ? tables.dc : tables.ac;
        if (!DecodeSymbol(table->codes, word, place == 0, &position, &place,
                          block)) {
          return false;
        }
        entries = tables.ac->entries;
        break;
      }
      Take(entry, &word, &position, &place, block);
      entries = tables.ac->entries;
      if (place >= kBlockSize) break;
    }
  } while (place < kBlockSize);
  if (__builtin_expect(!IsEnd(place), 0)) {
    // The second value belongs to the next block, or there is one too many.
    position = last_position;
    place = last_place;
    if (place == 0 ||
        !DecodeSymbol(tables.ac->codes, LoadBits(bytes, position), false,
                      &position, &place, block) ||
        !IsEnd(place)) {
      return false;
    }
  }
  scan->position = position;
  return scan->IsInside();
}

LIQUID_BASELINE_INLINE bool DecodeMcus(const Mcus& mcus, uint32_t count,
                                       BaselineScan* scan, int32_t* dc) {
  for (uint32_t i = 0; i < count; ++i) {
    scan->Prepare();
    for (uint32_t b = 0; b < mcus.count; ++b) {
      const McuBlock& tables = mcus.blocks[b];
      int16_t* block = tables.coefficients + i * tables.step;
      std::memset(block, 0, kBlockSize * sizeof(*block));
      if (!DecodeBlock(tables, scan, block)) return false;
      const int32_t value = dc[tables.component] + block[0];
      if (value != static_cast<int16_t>(value)) return false;
      dc[tables.component] = value;
      block[0] = static_cast<int16_t>(value);
    }
  }
  return true;
}

}  // namespace baseline
}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_BLOCKS_LOOPS_H_
