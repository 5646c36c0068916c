#include "ops/codecs/l3/host/l3_flat_encode.h"

#include <cstring>

#include "ops/codecs/l3/host/l3_bits.h"
#include "ops/codecs/l3/host/l3_compact.h"
#include "ops/codecs/l3/host/l3_flat.h"

namespace liquid {
namespace {

// Numbers colours as they come.
class Palette {
 public:
  // Sets `*index` to the number of a colour. False: it is one too many.
  bool Find(uint64_t colour, uint8_t* index) {
    size_t slot = colour * 0x9E3779B97F4A7C15 >> (64 - kSlotBits);
    for (;; slot = (slot + 1) % kSlots) {
      if (numbers_[slot] == 0) break;
      if (colours_[numbers_[slot] - 1] == colour) {
        *index = static_cast<uint8_t>(numbers_[slot] - 1);
        return true;
      }
    }
    if (count_ == kL3MaxColours) return false;
    colours_[count_] = colour;
    *index = static_cast<uint8_t>(count_);
    numbers_[slot] = static_cast<uint16_t>(++count_);
    return true;
  }

  uint32_t Count() const { return count_; }
  uint64_t Colour(uint32_t index) const { return colours_[index]; }

 private:
  static constexpr uint32_t kSlotBits = 10, kSlots = 1 << kSlotBits;

  uint16_t numbers_[kSlots] = {};  // from 1 on; 0: free
  uint64_t colours_[kL3MaxColours];
  uint32_t count_ = 0;
};

void WriteMask(uint64_t pixels, uint64_t mask, L3BitWriter* bits) {
  for (; pixels != 0; pixels &= pixels - 1) {
    bits->Write((mask & pixels & -pixels) != 0, 1);
  }
}

void WriteRow(const uint8_t* above, const uint8_t* row, uint32_t width,
              uint32_t colours, L3BitWriter* bits) {
  const L3Edges edges = FindL3Edges(above, width);
  uint64_t changed = 0, left = 0, next = 0;
  for (uint32_t x = 0; x < width; ++x) {
    const uint64_t pixel = uint64_t{1} << x;
    if (row[x] != above[x]) changed |= pixel;
    if (x > 0 && row[x] == row[x - 1]) left |= pixel;
    if (x + 1 < width && row[x] == above[x + 1]) next |= pixel;
  }
  WriteMask(edges.Both(), changed, bits);
  const uint64_t calm = edges.all & ~edges.Both();
  if (calm != 0) {
    bits->Write((calm & changed) != 0, 1);
    uint64_t groups = 0;
    for (uint32_t g = 0; g < kL3Groups && (calm & changed) != 0; ++g) {
      const uint64_t group = L3GroupOf(g) & calm;
      if (group == 0) continue;
      bits->Write((group & changed) != 0, 1);
      if ((group & changed) != 0) groups |= group;
    }
    WriteMask(groups, changed, bits);
  }
  uint64_t literals = changed;
  if (colours > kL3FewColours) {
    const uint64_t may_be_left = changed & L3MayBeLeft(edges, changed);
    WriteMask(may_be_left, left, bits);
    literals &= ~(may_be_left & left);
    const uint64_t may_be_next = literals & edges.after;
    WriteMask(may_be_next, next, bits);
    literals &= ~(may_be_next & next);
  }
  const uint32_t literal_bits = L3LiteralBits(colours);
  for (; literals != 0; literals &= literals - 1) {
    const int x = __builtin_ctzll(literals);
    bits->Write(row[x] - (row[x] > above[x] ? 1u : 0u), literal_bits);
  }
}

}  // namespace

template <typename Sample>
uint32_t EncodeL3Flat(const L3Planes<Sample>& planes, uint32_t channels,
                      uint8_t* out) {
  Palette palette;
  uint8_t rows[1 + kL3V2Patch][kL3V2Patch] = {};  // the first: above them all
  for (uint32_t y = 0; y < planes.height; ++y) {
    for (uint32_t x = 0; x < planes.width; ++x) {
      uint64_t colour = 0;
      for (uint32_t c = 0; c < channels; ++c) {
        colour |= uint64_t{planes.of[c][y][x]} << (16 * c);
      }
      if (!palette.Find(colour, &rows[1 + y][x])) return 0;
    }
  }
  const uint32_t colours = palette.Count();
  out[0] = static_cast<uint8_t>(colours - 1);
  out[1] = 0x80;
  uint8_t* at = out + 2;
  for (uint32_t c = 0; c < channels; ++c) {
    for (uint32_t i = 0; i < colours; ++i, at += sizeof(Sample)) {
      const Sample sample = static_cast<Sample>(palette.Colour(i) >> (16 * c));
      std::memcpy(at, &sample, sizeof(Sample));
    }
  }
  L3BitWriter bits(at);
  for (uint32_t y = 0; y < planes.height && colours > 1; ++y) {
    WriteRow(rows[y], rows[1 + y], planes.width, colours, &bits);
  }
  return static_cast<uint32_t>(at - out + bits.Finish());
}

template uint32_t EncodeL3Flat(const L3Planes<uint8_t>& planes,
                               uint32_t channels, uint8_t* out);
template uint32_t EncodeL3Flat(const L3Planes<uint16_t>& planes,
                               uint32_t channels, uint8_t* out);

}  // namespace liquid
