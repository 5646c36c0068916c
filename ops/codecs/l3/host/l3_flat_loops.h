// Rows of patches of few colours, 8 bits a sample: beside the verbs of
// l3_row_loops.h and l3_rice_loops.h a source that includes this has
//
//   NonZero(row)                 bit x: byte x is not 0
//   After(row)                   the byte after each; the last one's is
//   anything Select(mask, a, b)           byte x of `a` where bit x of `mask`
//   is set Pick(row, other)             1 where a byte is at least the other,
//   else 0 Eight(word, bits)            8 numbers of `bits` bits, a byte each
//   Place(bytes, mask)           the next byte at each place of `mask`, 0 at
//   the
//                                others
//   Carry(row, mask)             at each place of `mask` the nearest byte
//   before
//                                it that is at none; bit 0 is not set
//   Look(palette, colours, row)  palette[byte] for each byte of the row, which
//                                are below `colours`, up to 256
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_FLAT_LOOPS_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_FLAT_LOOPS_H_

#include <cstring>

#include "ops/codecs/l3/host/l3_compact.h"
#include "ops/codecs/l3/host/l3_flat.h"
#include "ops/codecs/l3/host/l3_rice_loops.h"

namespace liquid {
namespace {

// Reads the bits of a patch. It may pass the end by what of a row comes before
// the literals, which is less than kL3Padding bytes.
struct FlatBits {
  const uint8_t* bytes;
  uint32_t at;

  // The next 64 bits, which stay.
  uint64_t Peek() const {
    uint64_t low;
    std::memcpy(&low, bytes + at / 8, 8);
    const uint64_t high = bytes[at / 8 + 8];
    return low >> at % 8 | high << 1 << (63 - at % 8);
  }

  // The next bit at each place of `mask`.
  LIQUID_L3_TARGET uint64_t Take(uint64_t mask) {
    const uint64_t taken = Deposit(Peek(), mask);
    at += static_cast<uint32_t>(__builtin_popcountll(mask));
    return taken;
  }
};

// Which of the pixels that are `calm` differ from those above them.
LIQUID_L3_TARGET inline uint64_t TakeCalm(uint64_t calm, FlatBits* bits) {
  if (calm == 0 || bits->Take(1) == 0) return 0;
  // The lowest bit of each group that has such pixels.
  uint64_t groups = calm | calm >> 4;
  groups |= groups >> 2;
  groups = (groups | groups >> 1) & 0x0101010101010101;
  return bits->Take(calm & bits->Take(groups) * 0xFF);
}

// Replaces the row above by the next one. False: it ends after bit `end`, or
// names a colour that there is not. *changed: whether it differs.
LIQUID_L3_TARGET inline bool NextFlat(const L3FlatPatch& patch,
                                      uint32_t literal_bits, uint32_t end,
                                      L3Edges* edges, FlatBits* bits, Row* row,
                                      bool* differs) {
  uint64_t changed = bits->Take(edges->Both());
  changed |= TakeCalm(edges->all & ~edges->Both(), bits);
  *differs = changed != 0;
  if (changed == 0) return bits->at <= end;
  uint64_t left = 0, next = 0;
  if (patch.colours > kL3FewColours) {
    left = bits->Take(changed & L3MayBeLeft(*edges, changed));
    next = bits->Take(changed & ~left & edges->after);
  }
  const uint64_t others = changed & ~left & ~next;
  const uint32_t count = static_cast<uint32_t>(__builtin_popcountll(others));
  if (bits->at > end || end - bits->at < count * literal_bits) return false;
  uint8_t literals[kL3V2Patch];
  for (uint32_t i = 0; i < count; i += 8) {
    const uint64_t eight = Eight(bits->Peek(), literal_bits);
    std::memcpy(literals + i, &eight, 8);
    bits->at += literal_bits * (count - i < 8 ? count - i : 8);
  }
  // The colour above is not among those that a literal numbers.
  const Row placed = Place(literals, others);
  const Row colours = Add(placed, Pick(placed, *row));
  if (patch.colours < kL3MaxColours &&
      AnyFrom(Select(others, colours, Fill(0)),
              static_cast<uint8_t>(patch.colours))) {
    return false;
  }
  *row = Select(others, colours, Select(next, After(*row), *row));
  if (left != 0) *row = Carry(*row, left);
  edges->before = NonZero(Slopes(*row)) & edges->all;
  edges->after = edges->before >> 1;
  return true;
}

template <uint32_t kChannels>
LIQUID_L3_TARGET L3RowsResult DecodeFlat(const L3FlatPatch& patch,
                                         const L3Rows& rows,
                                         const uint8_t** stopped) {
  uint8_t palette[kChannels][kL3MaxColours];
  Row plane[kChannels];
  for (uint32_t c = 0; c < kChannels; ++c) {
    std::memcpy(palette[c], patch.palette + c * patch.colours, patch.colours);
    plane[c] = Fill(palette[c][0]);
  }
  const uint32_t literal_bits = L3LiteralBits(patch.colours);
  const uint32_t end = 8 * static_cast<uint32_t>(patch.end - patch.begin);
  FlatBits bits = {patch.begin, 0};
  L3Edges edges = {~uint64_t{0} >> (kL3V2Patch - patch.width), 0, 0};
  Row row = Fill(0);
  for (uint32_t y = 0; y < rows.row_end; ++y) {
    if (patch.colours > 1) {
      const uint32_t before = bits.at;
      bool differs;
      if (!NextFlat(patch, literal_bits, end, &edges, &bits, &row, &differs)) {
        *stopped = patch.begin + (before + 7) / 8;
        return L3RowsResult::kShort;
      }
      for (uint32_t c = 0; differs && c < kChannels; ++c) {
        plane[c] = Look(palette[c], patch.colours, row);
      }
    }
    if (y >= rows.row_begin) WritePlanes<kChannels>(plane, rows, y);
  }
  *stopped = patch.begin + (bits.at + 7) / 8;
  return rows.row_end == patch.height && *stopped != patch.end
             ? L3RowsResult::kLong
             : L3RowsResult::kOk;
}

L3RowsResult DecodeAnyFlat(const L3FlatPatch& patch, const L3Rows& rows,
                           const uint8_t** stopped) {
  if (patch.bits != 8) return DecodeL3Flat(patch, rows, stopped);
  switch (patch.channels) {
    case 1:
      return DecodeFlat<1>(patch, rows, stopped);
    case 2:
      return DecodeFlat<2>(patch, rows, stopped);
    case 3:
      return DecodeFlat<3>(patch, rows, stopped);
    default:
      return DecodeFlat<4>(patch, rows, stopped);
  }
}

}  // namespace
}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_FLAT_LOOPS_H_
