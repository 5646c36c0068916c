#include "ops/codecs/jpeg/baseline/baseline_huffman.h"

#include <algorithm>
#include <cstring>

namespace liquid {
namespace {

// Fills the entries of a code that means a value of `size` bits behind `run`
// zeros; `room` are the bits that a look-up takes beyond the code.
void FillValue(uint32_t code, uint32_t bits, uint32_t room, uint32_t run,
               uint32_t size, PairEntry* entries) {
  PairEntry entry = {};
  entry.bits = static_cast<uint8_t>(bits + size);
  entry.offset = static_cast<uint8_t>(run);
  entry.advance = static_cast<uint8_t>(run + 1);
  PairEntry* at = entries + (code << room);
  if (size == 0) {
    std::fill_n(at, size_t{1} << room, entry);
    return;
  }
  // The first bit of a value is its sign: an entry holds that at least.
  if (room == 0) return;
  const uint32_t known = std::min(room, size);
  const uint32_t missing = size - known;
  entry.missing = static_cast<uint8_t>(missing);
  const uint32_t same = uint32_t{1} << (room - known);
  for (uint32_t value = 0; value < uint32_t{1} << known; ++value) {
    const bool negative = value >> (known - 1) == 0;
    entry.first =
        static_cast<int16_t>(static_cast<int32_t>(value << missing) -
                             (negative ? (int32_t{1} << size) - 1 : 0));
    at = std::fill_n(at, same, entry);
  }
}

void FillSymbol(uint32_t code, uint32_t bits, uint32_t room, uint8_t symbol,
                bool dc, PairEntry* entries) {
  const uint32_t run = dc ? 0 : symbol >> 4, size = dc ? symbol : symbol & 15;
  if (dc || size > 0 || run == 15) {
    FillValue(code, bits, room, run, size, entries);
  } else if (run == 0) {
    PairEntry entry = {};
    entry.bits = static_cast<uint8_t>(bits);
    entry.advance = kBlockEnd;
    std::fill_n(entries + (code << room), size_t{1} << room, entry);
  }
}

// Fills entries of one value each, which a look-up of `all` bits finds.
bool BuildSingles(const BaselineHuffman& table, bool dc, uint32_t all,
                  HuffmanCodes* codes, PairEntry* entries) {
  if (!BuildHuffmanCodes(table, dc, all, codes)) return false;
  PairEntry none = {};
  none.advance = kNoCode;
  std::fill_n(entries, size_t{1} << all, none);
  uint32_t code = 0;
  const uint8_t* symbol = table.symbols;
  for (uint32_t bits = 1; bits <= all; ++bits, code <<= 1) {
    for (uint32_t i = 0; i < table.counts[bits - 1]; ++i) {
      FillSymbol(code++, bits, all - bits, *symbol++, dc, entries);
    }
  }
  return true;
}

// Adds a second value to the entries, of `all` bits, that leave room for one.
// `singles` are of kPairBits.
void AddSeconds(const PairEntry* singles, uint32_t all, PairEntry* entries) {
  for (uint32_t i = 0; i < uint32_t{1} << all; ++i) {
    PairEntry* entry = &entries[i];
    if (entry->bits == 0 || entry->bits >= all || entry->advance >= kBlockEnd) {
      continue;
    }
    const uint32_t rest = i << (kPairBits - all + entry->bits);
    const PairEntry& next = singles[rest & ((1 << kPairBits) - 1)];
    if (next.bits == 0 || entry->bits + next.bits > all) continue;
    entry->bits = static_cast<uint8_t>(entry->bits + next.bits);
    entry->advance = static_cast<uint8_t>(entry->advance + next.advance);
    entry->second = next.first;
  }
}

}  // namespace

bool BuildHuffmanCodes(const BaselineHuffman& table, bool dc,
                       uint32_t looked_up, HuffmanCodes* codes) {
  uint32_t code = 0, index = 0;
  codes->symbols = table.symbols;
  codes->short_end = 0;
  for (uint32_t bits = 1; bits <= 16; ++bits, code <<= 1) {
    const uint32_t count = table.counts[bits - 1];
    codes->delta[bits] =
        static_cast<int32_t>(index) - static_cast<int32_t>(code);
    code += count;
    index += count;
    // No code is all ones.
    if (count > 0 && code >= uint32_t{1} << bits) return false;
    codes->end[bits] = count > 0 ? code << (16 - bits) : 0;
    if (bits < looked_up) codes->short_end = code << (16 - bits);
  }
  for (uint32_t i = 0; dc && i < index; ++i) {
    if (table.symbols[i] > 15) return false;
  }
  return true;
}

bool BuildHuffmanTables(const BaselineHuffman& dc, const BaselineHuffman& ac,
                        HuffmanTables* tables) {
  if (!BuildSingles(dc, true, kDcPairBits, &tables->dc_codes, tables->dc) ||
      !BuildSingles(ac, false, kPairBits, &tables->ac_codes, tables->ac)) {
    return false;
  }
  PairEntry singles[1 << kPairBits];
  std::memcpy(singles, tables->ac, sizeof(singles));
  AddSeconds(singles, kDcPairBits, tables->dc);
  AddSeconds(singles, kPairBits, tables->ac);
  return true;
}

}  // namespace liquid
