// Rows of patches of few colours, 8 bits a sample: beside Select and AnyFrom of
// l3_rice_loops.h and the verbs of l3_row_loops.h a source that includes this
// has
//
//   Planes(patch, row_end, sink)  gives `sink` the rows, by l3_flat_planes.h
//   Look(palette, colours, row)   palette[byte] for each byte of the row; those
//                                 from `colours` (up to 256) on are anything
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_FLAT_LOOPS_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_FLAT_LOOPS_H_

#include <algorithm>
#include <cstring>

#include "ops/codecs/l3/host/l3_compact.h"
#include "ops/codecs/l3/host/l3_flat.h"
#include "ops/codecs/l3/host/l3_row_loops.h"

namespace liquid {
namespace {

// Writes rows of indices of kPlanes bits.
template <uint32_t kChannels, uint32_t kPlanes>
class FlatRows final : public L3FlatSink {
 public:
  FlatRows(const L3FlatPatch& patch, const L3Rows& rows)
      : colours_(patch.colours), rows_(rows) {
    for (uint32_t c = 0; c < kChannels; ++c) {
      std::memcpy(palette_[c], patch.palette + c * patch.colours,
                  patch.colours);
    }
  }

  LIQUID_L3_TARGET void Take(const uint64_t* planes, uint32_t begin,
                             uint32_t end) override {
    Row row = Fill(0);
    for (uint32_t j = 0; j < kPlanes; ++j) {
      row = Add(
          row, Select(planes[j], Fill(static_cast<uint8_t>(1u << j)), Fill(0)));
    }
    if (colours_ < 1u << kPlanes) {
      good_ &= !AnyFrom(row, static_cast<uint8_t>(colours_));
    }
    Row plane[kChannels];
    for (uint32_t c = 0; c < kChannels; ++c) {
      plane[c] = Look(palette_[c], colours_, row);
    }
    for (uint32_t y = std::max(begin, rows_.row_begin); y < end; ++y) {
      WritePlanes<kChannels>(plane, rows_, y);
    }
  }

  // Whether all indices were in the palette.
  bool Good() const { return good_; }

 private:
  const uint32_t colours_;
  const L3Rows rows_;
  bool good_ = true;
  uint8_t palette_[kChannels][kL3MaxColours];
};

template <uint32_t kChannels, uint32_t kPlanes>
bool DecodeFlat(const L3FlatPatch& patch, const L3Rows& rows) {
  FlatRows<kChannels, kPlanes> sink(patch, rows);
  return Planes(patch, rows.row_end, &sink) && sink.Good();
}

template <uint32_t kChannels>
bool DecodeFlat(const L3FlatPatch& patch, const L3Rows& rows) {
  switch (L3IndexBits(patch.colours)) {
    case 0:
      return DecodeFlat<kChannels, 0>(patch, rows);
    case 1:
      return DecodeFlat<kChannels, 1>(patch, rows);
    case 2:
      return DecodeFlat<kChannels, 2>(patch, rows);
    case 3:
      return DecodeFlat<kChannels, 3>(patch, rows);
    case 4:
      return DecodeFlat<kChannels, 4>(patch, rows);
    default:
      return DecodeFlat<kChannels, 8>(patch, rows);
  }
}

bool DecodeFlat(const L3FlatPatch& patch, const L3Rows& rows) {
  switch (patch.channels) {
    case 1:
      return DecodeFlat<1>(patch, rows);
    case 2:
      return DecodeFlat<2>(patch, rows);
    case 3:
      return DecodeFlat<3>(patch, rows);
    default:
      return DecodeFlat<4>(patch, rows);
  }
}

L3RowsResult DecodeAnyFlat(const L3FlatPatch& patch, const L3Rows& rows,
                           const uint8_t** stopped) {
  if (patch.bits == 8 && DecodeFlat(patch, rows)) return L3RowsResult::kOk;
  // The reference says where the mistake is.
  return DecodeL3Flat(patch, rows, stopped);
}

}  // namespace
}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_FLAT_LOOPS_H_
