// The bits of patches of few colours: from a patch to the indices of its rows,
// for a source that defines LIQUID_L3_TARGET and, in an unnamed namespace of
// its own,
//
//   Deposit(bits, mask)  the next bit at each place of `mask`
//   Extract(bits, mask, count)  the bits at the first `count` places of `mask`,
//                        one after the other, then anything
//
// A row is worked on as bit planes, a number of 64 bits for each bit of an
// index: a mask of pixels is a number too, and no pixel waits for another.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_FLAT_PLANES_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_FLAT_PLANES_H_

#include <algorithm>
#include <cstring>

#include "ops/codecs/l3/host/l3_compact.h"
#include "ops/codecs/l3/host/l3_flat.h"

namespace liquid {
namespace {

inline uint32_t Ones(uint64_t mask) {
  return static_cast<uint32_t>(__builtin_popcountll(mask));
}

// The bits of a patch. They may be read past their end by those of a row before
// its literals and by 9 bytes more, which is less than kL3Padding.
struct FlatBits {
  const uint8_t* bytes;
  uint32_t at;

  // The next 64 bits, which stay.
  uint64_t Peek() const {
    uint64_t word;
    std::memcpy(&word, bytes + at / 8, 8);
    const uint64_t next = bytes[at / 8 + 8];
    return word >> at % 8 | next << 1 << (63 - at % 8);
  }

  // The next bit at each place of `mask`.
  LIQUID_L3_TARGET uint64_t Take(uint64_t mask) {
    const uint64_t taken = Deposit(Peek(), mask);
    at += Ones(mask);
    return taken;
  }

  // The next bit, or 0 if there is none.
  uint64_t TakeIf(bool has) { return Take(has); }
};

// As FlatBits, of 64 bits in a register: right as long as no more are used.
struct FlatWord {
  uint64_t word;
  uint32_t used;

  LIQUID_L3_TARGET uint64_t Take(uint64_t mask) {
    const uint32_t count = Ones(mask);
    const uint64_t taken = Deposit(word, mask);
    word >>= count % 64;
    used += count;
    return taken;
  }

  uint64_t TakeIf(bool has) {
    const uint64_t taken = word & has;
    word >>= has;
    used += has;
    return taken;
  }
};

// How a row differs from the one above.
struct FlatChanges {
  uint64_t pixels;  // that do
  uint64_t left;    // and take the colour of their left one
  uint64_t next;    // that of the one above right

  // Those that have literals.
  uint64_t Others() const { return pixels & ~left & ~next; }
};

// `few`: there are no more than kL3FewColours. There is no branch that could
// not be foreseen.
template <typename Bits>
LIQUID_L3_TARGET inline FlatChanges ReadChanges(const L3Edges& edges, bool few,
                                                Bits* bits) {
  const uint64_t both = edges.Both(), calm = edges.all & ~both;
  FlatChanges changes = {bits->Take(both), 0, 0};
  // The lowest bit of each group that has calm pixels.
  uint64_t groups = calm | calm >> 4;
  groups |= groups >> 2;
  groups = (groups | groups >> 1) & 0x0101010101010101;
  groups &= 0 - bits->TakeIf(calm != 0);
  groups = bits->Take(groups);
  changes.pixels |= bits->Take(calm & ((groups << 8) - groups));
  if (!few) {
    changes.left =
        bits->Take(changes.pixels & L3MayBeLeft(edges, changes.pixels));
    changes.next = bits->Take(changes.pixels & ~changes.left & edges.after);
  }
  return changes;
}

// Bit 0 of numbers of each width that follow each other in 64 bits.
struct LiteralTable {
  uint64_t ones[9] = {};
};

constexpr LiteralTable MakeLiteralTable() {
  LiteralTable table;
  for (uint32_t bits = 1; bits <= 8; ++bits) {
    for (uint32_t i = 0; i < 64 / bits; ++i) {
      table.ones[bits] |= uint64_t{1} << (bits * i);
    }
  }
  return table;
}

constexpr LiteralTable kLiterals = MakeLiteralTable();

template <uint32_t kPlanes>
struct FlatLiterals {
  uint32_t bits;           // of each
  uint64_t mask[kPlanes];  // bit j of those in a word

  explicit FlatLiterals(uint32_t colours) : bits(L3LiteralBits(colours)) {
    for (uint32_t j = 0; j < kPlanes; ++j) {
      mask[j] = j < bits ? kLiterals.ones[bits] << j : 0;
    }
  }
};

template <uint32_t kPlanes>
struct FlatRow {
  FlatChanges changes;
  uint64_t literals[kPlanes];  // bit i of number j: bit j of literal i
  uint32_t end;                // of its bits
};

// Reads a row of any length; its literals only if they end by `end`.
template <uint32_t kPlanes>
LIQUID_L3_TARGET __attribute__((noinline)) FlatRow<kPlanes> ReadLongRow(
    L3Edges edges, bool few, FlatBits bits, uint32_t end,
    const FlatLiterals<kPlanes>& literals) {
  FlatRow<kPlanes> row = {ReadChanges(edges, few, &bits), {}, 0};
  const uint32_t count = Ones(row.changes.Others());
  row.end = bits.at + count * literals.bits;
  if (row.end > end || literals.bits == 0) return row;
  const uint32_t in_word = 64 / literals.bits;
  for (uint32_t i = 0; i < count; i += in_word) {
    const uint64_t word = bits.Peek();
    for (uint32_t j = 0; j < kPlanes; ++j) {
      row.literals[j] |= Extract(word, literals.mask[j], count - i) << i;
    }
    bits.at += in_word * literals.bits;
  }
  return row;
}

template <uint32_t kPlanes>
LIQUID_L3_TARGET inline FlatRow<kPlanes> ReadRow(
    const L3Edges& edges, bool few, const FlatBits& bits, uint32_t end,
    const FlatLiterals<kPlanes>& literals) {
  FlatWord word = {bits.Peek(), 0};
  FlatRow<kPlanes> row;
  row.changes = ReadChanges(edges, few, &word);
  const uint32_t count = Ones(row.changes.Others());
  const uint32_t used = word.used + count * literals.bits;
  if (__builtin_expect(used > 64, false)) {
    return ReadLongRow(edges, few, bits, end, literals);
  }
  row.end = bits.at + used;
  for (uint32_t j = 0; j < kPlanes; ++j) {
    row.literals[j] = Extract(word.word, literals.mask[j], count);
  }
  return row;
}

// Replaces the indices of the row above by those of this one. *before: which
// pixels differ from their left one. Gives pixels whose literal is too large
// for any index; those beyond the palette are not found.
template <uint32_t kPlanes>
LIQUID_L3_TARGET inline uint64_t Change(const FlatRow<kPlanes>& row, bool few,
                                        uint64_t planes[kPlanes],
                                        uint64_t* before) {
  const FlatChanges& changes = row.changes;
  const uint64_t others = changes.Others();
  uint64_t literals[kPlanes];
  // Where a literal is at least the index above, the index is one more.
  uint64_t more = ~uint64_t{0};
  for (uint32_t j = 0; j < kPlanes; ++j) {
    literals[j] = Deposit(row.literals[j], others);
    const uint64_t less = ~planes[j];
    more = (literals[j] & less) | ((literals[j] | less) & more);
  }
  const uint64_t run_starts = ~changes.left & changes.left >> 1;
  *before = 0;
  for (uint32_t j = 0; j < kPlanes; ++j) {
    uint64_t plane = ((literals[j] ^ more) & others) |
                     (planes[j] >> 1 & changes.next) |
                     (planes[j] & ~changes.pixels);
    more &= literals[j];
    if (!few) {
      // The sum's carry takes a one on through the run of left ones behind it.
      const uint64_t sum = changes.left + ((plane & run_starts) << 1);
      plane |= changes.left & ~sum;
    }
    planes[j] = plane;
    *before |= plane ^ plane << 1;
  }
  return more & others;
}

template <uint32_t kPlanes>
LIQUID_L3_TARGET LIQUID_L3_ALIGNED bool DecodePlanes(const L3FlatPatch& patch,
                                                     uint32_t row_end,
                                                     L3FlatSink* sink) {
  const bool few = kPlanes == 1 || patch.colours <= kL3FewColours;
  const FlatLiterals<kPlanes> literals(patch.colours);
  const uint32_t end = 8 * static_cast<uint32_t>(patch.end - patch.begin);
  FlatBits bits = {patch.begin, 0};
  L3Edges edges = {~uint64_t{0} >> (kL3V2Patch - patch.width), 0, 0};
  uint64_t planes[kPlanes] = {}, bad = 0;
  const auto give = [&planes, sink](uint32_t begin, uint32_t end) {
    uint64_t copy[kPlanes];  // so that the planes need not lie in memory
    std::memcpy(copy, planes, sizeof(copy));
    sink->Take(copy, begin, end);
  };
  for (uint32_t y = 0; y < row_end; ++y) {
    // All bits of rows that are as the one above are 0.
    const uint64_t both = edges.Both();
    const uint32_t row_bits = Ones(both) + (both != edges.all);
    const uint64_t next = bits.Peek();
    if (next << (64 - row_bits) == 0) {
      const uint32_t zeros =
          next == 0 ? 64 : static_cast<uint32_t>(__builtin_ctzll(next));
      const uint32_t rows = std::min(row_end - y, zeros / row_bits);
      bits.at += rows * row_bits;
      if (bits.at > end) return false;
      give(y, y + rows);
      y += rows;
      if (y == row_end) break;
    }
    const FlatRow<kPlanes> row = ReadRow(edges, few, bits, end, literals);
    if (row.end > end) return false;
    bad |= Change(row, few, planes, &edges.before);
    edges.before &= edges.all & ~uint64_t{1};
    edges.after = edges.before >> 1;
    bits.at = row.end;
    give(y, y + 1);
  }
  return bad == 0 && (row_end < patch.height ||
                      patch.begin + (bits.at + 7) / 8 == patch.end);
}

bool DecodeAnyPlanes(const L3FlatPatch& patch, uint32_t row_end,
                     L3FlatSink* sink) {
  switch (L3IndexBits(patch.colours)) {
    case 0:
      sink->Take(nullptr, 0, row_end);
      return row_end < patch.height || patch.begin == patch.end;
    case 1:
      return DecodePlanes<1>(patch, row_end, sink);
    case 2:
      return DecodePlanes<2>(patch, row_end, sink);
    case 3:
      return DecodePlanes<3>(patch, row_end, sink);
    case 4:
      return DecodePlanes<4>(patch, row_end, sink);
    default:
      return DecodePlanes<8>(patch, row_end, sink);
  }
}

}  // namespace
}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_FLAT_PLANES_H_
