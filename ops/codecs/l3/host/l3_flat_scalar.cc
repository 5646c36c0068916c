// Patches of few colours of profile 1: a row at a time, by masks of its pixels.
#include <cstring>

#include "ops/codecs/l3/host/l3_bits.h"
#include "ops/codecs/l3/host/l3_compact.h"
#include "ops/codecs/l3/host/l3_flat.h"

namespace liquid {
namespace {

// Reads one bit for each pixel of `pixels`, in order.
bool ReadMask(L3BitReader* bits, uint64_t pixels, uint64_t* mask) {
  *mask = 0;
  for (; pixels != 0; pixels &= pixels - 1) {
    uint32_t bit;
    if (!bits->Read(1, &bit)) return false;
    if (bit != 0) *mask |= pixels & -pixels;
  }
  return true;
}

// Which pixels of the row differ from those above them.
bool ReadChanges(L3BitReader* bits, const L3Edges& edges, uint64_t* changed) {
  if (!ReadMask(bits, edges.Both(), changed)) return false;
  const uint64_t calm = edges.all & ~edges.Both();
  uint32_t any = 0;
  if (calm != 0 && !bits->Read(1, &any)) return false;
  if (any == 0) return true;
  uint64_t groups = 0, more;
  for (uint32_t g = 0; g < kL3Groups; ++g) {
    const uint64_t group = L3GroupOf(g) & calm;
    if (group != 0 && !bits->Read(1, &any)) return false;
    if (group != 0 && any != 0) groups |= group;
  }
  if (!ReadMask(bits, groups, &more)) return false;
  *changed |= more;
  return true;
}

// Replaces the row above by the next one. False: it ends early, or names a
// colour that there is not.
bool NextRow(const L3FlatPatch& patch, uint32_t literal_bits, L3BitReader* bits,
             uint8_t* row) {
  const L3Edges edges = FindL3Edges(row, patch.width);
  uint64_t changed, left = 0, next = 0;
  if (!ReadChanges(bits, edges, &changed)) return false;
  if (patch.colours > kL3FewColours) {
    if (!ReadMask(bits, changed & L3MayBeLeft(edges, changed), &left) ||
        !ReadMask(bits, changed & ~left & edges.after, &next)) {
      return false;
    }
  }
  uint8_t above[kL3V2Patch];
  std::memcpy(above, row, kL3V2Patch);
  for (; changed != 0; changed &= changed - 1) {
    const uint32_t x = static_cast<uint32_t>(__builtin_ctzll(changed));
    const uint64_t pixel = uint64_t{1} << x;
    if ((left & pixel) != 0) {
      row[x] = row[x - 1];
    } else if ((next & pixel) != 0) {
      row[x] = above[x + 1];
    } else {
      uint32_t literal;
      if (!bits->Read(literal_bits, &literal)) return false;
      // The colour above is not among those that it numbers.
      if (literal >= above[x]) ++literal;
      if (literal >= patch.colours) return false;
      row[x] = static_cast<uint8_t>(literal);
    }
  }
  return true;
}

void WriteRow(const L3FlatPatch& patch, const uint8_t* row, const L3Rows& rows,
              uint32_t y) {
  const uint32_t bytes = patch.bits / 8;
  uint8_t* out = rows.out + (y - rows.row_begin) * rows.stride;
  for (uint32_t x = rows.x_begin; x < rows.x_end; ++x) {
    for (uint32_t c = 0; c < patch.channels; ++c, out += bytes) {
      std::memcpy(out, patch.palette + (c * patch.colours + row[x]) * bytes,
                  bytes);
    }
  }
}

}  // namespace

L3RowsResult DecodeL3Flat(const L3FlatPatch& patch, const L3Rows& rows,
                          const uint8_t** stopped) {
  L3BitReader bits(patch.begin, patch.end);
  const uint32_t literal_bits = L3LiteralBits(patch.colours);
  uint8_t row[kL3V2Patch] = {};
  for (uint32_t y = 0; y < rows.row_end; ++y) {
    *stopped = bits.Position();
    if (patch.colours > 1 && !NextRow(patch, literal_bits, &bits, row)) {
      return L3RowsResult::kShort;
    }
    if (y >= rows.row_begin) WriteRow(patch, row, rows, y);
  }
  *stopped = bits.Position();
  return rows.row_end == patch.height && bits.Position() != patch.end
             ? L3RowsResult::kLong
             : L3RowsResult::kOk;
}

}  // namespace liquid
