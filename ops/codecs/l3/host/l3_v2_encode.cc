#include <algorithm>
#include <cstring>
#include <type_traits>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/l3/host/l3_arithmetic.h"
#include "ops/codecs/l3/host/l3_bits.h"
#include "ops/codecs/l3/host/l3_colours.h"
#include "ops/codecs/l3/host/l3_compact_encode.h"
#include "ops/codecs/l3/host/l3_format.h"
#include "ops/codecs/l3/host/l3_planes.h"
#include "ops/codecs/l3/host/l3_widths.h"
#include "ops/core/crc32c.h"

namespace liquid {
namespace {

constexpr uint32_t kPredictors = 4;

// Encodes the patches of images whose samples are `Sample`.
template <typename Sample>
class PatchEncoder {
 public:
  PatchEncoder(const ImageInfo& info, const uint8_t* pixels)
      : info_(info), pixels_(pixels) {}

  // Appends patch number `number` to `*out`.
  void Encode(uint32_t number, uint32_t x0, uint32_t y0, std::string* out) {
    planes_.Load(info_, pixels_, x0, y0);
    height_ = planes_.height;
    groups_ = planes_.groups;
    L3Colour colours[kL3MaxChannels];
    ChooseL3Colours(
        info_.channels,
        [this](const Plane& plane) { return ColourCost(plane); }, &planes_,
        colours);
    for (uint32_t c = 0; c < info_.channels; ++c) {
      words_[c] = static_cast<uint32_t>(colours[c]) << 2;
      ChooseCoding(c);
    }
    Write(number, out);
  }

 private:
  using Signed = std::make_signed_t<Sample>;
  using Plane = L3Plane<Sample>;

  // What a predictor leaves of row y > 0.
  void Residuals(const Plane& plane, uint32_t y, L3Predictor predictor,
                 Sample* residuals) const {
    const Sample* row = plane[y];
    const Sample* above = plane[y - 1];
    residuals[0] = static_cast<Sample>(row[0] - above[0]);
    switch (predictor) {
      case L3Predictor::kTop:
        for (uint32_t x = 1; x < kL3V2Patch; ++x) {
          residuals[x] = static_cast<Sample>(row[x] - above[x]);
        }
        break;
      case L3Predictor::kLeft:
        for (uint32_t x = 1; x < kL3V2Patch; ++x) {
          residuals[x] = static_cast<Sample>(row[x] - row[x - 1]);
        }
        break;
      case L3Predictor::kGradient:
        for (uint32_t x = 1; x < kL3V2Patch; ++x) {
          residuals[x] = static_cast<Sample>(row[x] - row[x - 1] - above[x] +
                                             above[x - 1]);
        }
        break;
      case L3Predictor::kThreeQuarter:
        for (uint32_t x = 1; x < kL3V2Patch; ++x) {
          const Signed slope = static_cast<Signed>(above[x] - above[x - 1]);
          residuals[x] =
              static_cast<Sample>(row[x] - row[x - 1] - slope + (slope >> 2));
        }
        break;
    }
  }

  // Widths of the eight groups of a row: enough for the largest residual, where
  // r and -1 - r are alike.
  static void Widths(const Sample* residuals, uint8_t* widths) {
    Sample folded[kL3V2Patch];
    for (uint32_t x = 0; x < kL3V2Patch; ++x) {
      const Signed r = static_cast<Signed>(residuals[x]);
      const Signed sign = static_cast<Signed>(r >> (8 * sizeof(Sample) - 1));
      // Twice the magnitude, and 1 for what is not 0: the bits of both are the
      // width.
      folded[x] = static_cast<Sample>((r ^ sign) << 1 | (r != 0));
    }
    for (uint32_t g = 0; g < kL3Groups; ++g) {
      uint64_t any;
      std::memcpy(&any, folded + g * kL3Group, 8);
      if (sizeof(Sample) == 2) {
        uint64_t more;
        std::memcpy(&more,
                    reinterpret_cast<const uint8_t*>(folded + g * kL3Group) + 8,
                    8);
        any |= more;
      }
      any |= any >> 32;
      any |= any >> 16;
      if (sizeof(Sample) == 1) any |= any >> 8;
      const uint32_t all = static_cast<Sample>(any);
      widths[g] = static_cast<uint8_t>(32 - __builtin_clz(all << 1 | 1) - 1);
    }
  }

  // What every `step`-th row from row 1 on costs under one predictor: enough to
  // tell which of several is least.
  uint32_t Cost(const Plane& plane, L3Predictor predictor,
                uint32_t step) const {
    Sample residuals[kL3V2Patch];
    uint8_t widths[kL3Groups];
    uint32_t bytes = 0;
    for (uint32_t y = 1; y < height_; y += step) {
      Residuals(plane, y, predictor, residuals);
      Widths(residuals, widths);
      for (uint32_t g = 0; g < groups_; ++g) bytes += widths[g];
    }
    return bytes;
  }

  uint32_t ColourCost(const Plane& plane) const {
    return Cost(plane, L3Predictor::kThreeQuarter, 4);
  }

  // Chooses predictor and widths of a channel and completes its word.
  void ChooseCoding(uint32_t c) {
    const Plane& plane = planes_.of[c];
    uint32_t least = UINT32_MAX;
    L3Predictor predictor = L3Predictor::kTop;
    for (uint32_t p = 0; p < kPredictors; ++p) {
      const L3Predictor trial = static_cast<L3Predictor>(p);
      const uint32_t cost = Cost(plane, trial, 2);
      if (cost >= least) continue;
      least = cost;
      predictor = trial;
    }
    Sample residuals[kL3V2Patch];
    for (uint32_t y = 1; y < height_; ++y) {
      Residuals(plane, y, predictor, residuals);
      Widths(residuals, widths_[c][y]);
    }
    const uint32_t base =
        static_cast<uint32_t>(plane[0][0]) >> (8 * (sizeof(Sample) - 1));
    FirstRow(plane, base, first_rows_[c]);
    Widths(first_rows_[c], widths_[c][0]);
    uint32_t needed[kL3Widths] = {0};
    for (uint32_t y = 0; y < height_; ++y) {
      for (uint32_t g = 0; g < groups_; ++g) ++needed[widths_[c][y][g]];
    }
    uint32_t set = 0;
    (void)ChooseL3Widths(needed, height_, &set);
    words_[c] |= static_cast<uint32_t>(predictor) | set << 4 | base << 24;
  }

  void FirstRow(const Plane& plane, uint32_t base, Sample* residuals) const {
    residuals[0] =
        static_cast<Sample>(plane[0][0] - (base << (8 * (sizeof(Sample) - 1))));
    for (uint32_t x = 1; x < kL3V2Patch; ++x) {
      residuals[x] = static_cast<Sample>(plane[0][x] - plane[0][x - 1]);
    }
  }

  void Write(uint32_t number, std::string* out) {
    const uint32_t channels = info_.channels;
    uint8_t* at = bytes_ + 4;
    for (uint32_t c = 0; c < channels; ++c, at += 4) {
      StoreLittle32(words_[c], at);
    }
    // Code and kept width by the width needed.
    uint8_t codes[kL3MaxChannels][kL3Widths], kept[kL3MaxChannels][kL3Widths];
    for (uint32_t c = 0; c < channels; ++c) {
      uint8_t table[16];
      const uint32_t set = L3WidthSetOf(words_[c]);
      const uint32_t bits = L3WidthTable(set, table);
      const uint32_t count = static_cast<uint32_t>(__builtin_popcount(set));
      for (uint32_t n = 0, code = 0; n < kL3Widths; ++n) {
        while (code + 1 < count && table[code] < n) ++code;
        codes[c][n] = static_cast<uint8_t>(code);
        kept[c][n] = table[code];
      }
      for (uint32_t y = 0; y < height_; ++y) {
        uint32_t row = 0;
        for (uint32_t g = 0; g < groups_; ++g) {
          row |= uint32_t{codes[c][widths_[c][y][g]]} << (bits * g);
        }
        for (uint32_t i = 0; i < bits; ++i) {
          *at++ = static_cast<uint8_t>(row >> (8 * i));
        }
      }
    }
    Sample row[kL3V2Patch];
    for (uint32_t y = 0; y < height_; ++y) {
      for (uint32_t c = 0; c < channels; ++c) {
        const Sample* residuals = first_rows_[c];
        if (y > 0) {
          Residuals(planes_.of[c], y,
                    static_cast<L3Predictor>(L3PredictorOf(words_[c])), row);
          residuals = row;
        }
        for (uint32_t g = 0; g < groups_; ++g) {
          const uint32_t width = kept[c][widths_[c][y][g]];
          const uint32_t bias = width == 0 ? 0 : 1u << (width - 1);
          L3PackGroup(residuals + g * kL3Group, bias, width, at);
          at += width;
        }
      }
    }
    AppendL3Patch(number, bytes_, static_cast<size_t>(at - bytes_), out);
  }

  const ImageInfo info_;
  const uint8_t* const pixels_;
  uint32_t height_ = 0, groups_ = 0;  // of the patch
  L3Planes<Sample> planes_ = {};
  Sample first_rows_[kL3MaxChannels][kL3V2Patch];
  uint8_t widths_[kL3MaxChannels][kL3V2Patch][kL3Groups] = {};
  uint32_t words_[kL3MaxChannels];
  uint8_t bytes_[4 + 4 * kL3MaxChannels +
                 kL3MaxChannels * kL3V2Patch *
                     (4 + kL3Groups * 8 * sizeof(Sample)) +
                 16];
};

// Appends all patches by an `Encoder`.
template <typename Encoder, typename... Options>
Status EncodePatches(const ImageInfo& info, const uint8_t* pixels,
                     size_t table_at, std::string* out, Options... options) {
  const uint64_t across = L3PatchesAcross(info.width, kL3V2Patch);
  const uint64_t down = L3PatchesAcross(info.height, kL3V2Patch);
  const size_t data_at = out->size();
  const std::unique_ptr<Encoder> encoder(new (std::nothrow)
                                             Encoder(info, pixels, options...));
  if (encoder == nullptr) return OutOfMemory("l3", sizeof(Encoder));
  uint64_t number = 0;
  for (uint64_t py = 0; py < down; ++py) {
    for (uint64_t px = 0; px < across; ++px) {
      encoder->Encode(static_cast<uint32_t>(number),
                      static_cast<uint32_t>(px * kL3V2Patch),
                      static_cast<uint32_t>(py * kL3V2Patch), out);
      ++number;
      if (out->size() - data_at > UINT32_MAX) {
        return InvalidArgument("l3: image (" + DescribeImage(info) +
                               ") must take less than 2^32 bytes encoded; "
                               "divide it");
      }
      StoreLittle32(static_cast<uint32_t>(out->size() - data_at),
                    reinterpret_cast<uint8_t*>(&(*out)[table_at + 4 * number]));
    }
  }
  return OkStatus();
}

}  // namespace

void AppendL3Patch(uint32_t number, uint8_t* bytes, size_t size,
                   std::string* out) {
  uint8_t stored_number[4];
  StoreLittle32(number, stored_number);
  StoreLittle32(ExtendCrc32c(Crc32c(ByteSpan(stored_number, 4)),
                             ByteSpan(bytes + 4, size - 4)),
                bytes);
  out->append(reinterpret_cast<const char*>(bytes), size);
}

Status EncodeL3V2(const L3Options& options, const ImageInfo& info,
                  const uint8_t* pixels, std::string* out) {
  const uint64_t patches = L3PatchesAcross(info.width, kL3V2Patch) *
                           L3PatchesAcross(info.height, kL3V2Patch);
  const size_t start = out->size();
  out->resize(start + kL3V2HeaderBytes + 4 * (patches + 1));
  uint8_t* header = reinterpret_cast<uint8_t*>(&(*out)[start]);
  std::memcpy(header, kL3V2Magic, 4);
  StoreLittle32(info.height, header + 4);
  StoreLittle32(info.width, header + 8);
  header[12] = info.channels;
  header[13] = info.bits;
  header[14] = kL3V2Patch;
  header[15] = static_cast<uint8_t>(options.profile);
  StoreLittle32(Crc32c(ByteSpan(header, 16)), header + 16);
  StoreLittle32(0, header + kL3V2HeaderBytes);
  const size_t table_at = start + kL3V2HeaderBytes;
  Status status;
  if (options.profile == L3Profile::kCompact) {
    status = info.bits == 8 ? EncodePatches<L3CompactEncoder<uint8_t>>(
                                  info, pixels, table_at, out, options.effort)
                            : EncodePatches<L3CompactEncoder<uint16_t>>(
                                  info, pixels, table_at, out, options.effort);
  } else {
    status = info.bits == 8 ? EncodePatches<PatchEncoder<uint8_t>>(
                                  info, pixels, table_at, out)
                            : EncodePatches<PatchEncoder<uint16_t>>(
                                  info, pixels, table_at, out);
  }
  if (!status.ok()) out->resize(start);
  return status;
}

}  // namespace liquid
