#include <algorithm>
#include <cstring>
#include <type_traits>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/l3/host/l3_decode.h"
#include "ops/codecs/l3/host/l3_format.h"
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
    width_ = std::min(kL3V2Patch, info_.width - x0);
    height_ = std::min(kL3V2Patch, info_.height - y0);
    groups_ = (width_ + kL3Group - 1) / kL3Group;
    Load(x0, y0);
    if (info_.channels >= 3) {
      ChooseColours();
    } else {
      for (uint32_t c = 0; c < info_.channels; ++c) {
        words_[c] = static_cast<uint32_t>(L3Colour::kPlain) << 2;
      }
    }
    for (uint32_t c = 0; c < info_.channels; ++c) ChooseCoding(c);
    Write(number, out);
  }

 private:
  using Signed = std::make_signed_t<Sample>;
  using Plane = Sample[kL3V2Patch][kL3V2Patch];

  // Reads the channels into planes. What lies right of the image repeats its
  // last column, which costs a group nothing.
  void Load(uint32_t x0, uint32_t y0) {
    for (uint32_t y = 0; y < height_; ++y) {
      const uint8_t* source = pixels_ + size_t{y0 + y} * info_.RowBytes() +
                              size_t{x0} * info_.BytesPerPixel();
      switch (info_.channels) {
        case 1:
          Deinterleave<1>(source, y);
          break;
        case 2:
          Deinterleave<2>(source, y);
          break;
        case 3:
          Deinterleave<3>(source, y);
          break;
        default:
          Deinterleave<4>(source, y);
      }
      for (uint32_t c = 0; c < info_.channels; ++c) {
        for (uint32_t x = width_; x < groups_ * kL3Group; ++x) {
          planes_[c][y][x] = planes_[c][y][width_ - 1];
        }
      }
    }
  }

  template <uint32_t kChannels>
  void Deinterleave(const uint8_t* source, uint32_t y) {
    for (uint32_t x = 0; x < width_; ++x) {
      Sample pixel[kChannels];
      std::memcpy(pixel, source + x * sizeof(pixel), sizeof(pixel));
      for (uint32_t c = 0; c < kChannels; ++c) planes_[c][y][x] = pixel[c];
    }
  }

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

  // Replaces red and blue by what green, or green and red, leaves of them,
  // where that is smaller.
  void ChooseColours() {
    L3Colour red = L3Colour::kPlain, blue = L3Colour::kPlain;
    Plane& less_green = trials_[0];
    Plane& less_mean = trials_[1];
    for (uint32_t y = 0; y < height_; ++y) {
      for (uint32_t x = 0; x < kL3V2Patch; ++x) {
        const Sample r = planes_[0][y][x], g = planes_[1][y][x];
        less_green[y][x] = static_cast<Sample>(planes_[2][y][x] - g);
        less_mean[y][x] = static_cast<Sample>(
            planes_[2][y][x] - ((r >> 1) + (g >> 1) + ((r | g) & 1)));
      }
    }
    uint32_t least = ColourCost(planes_[2]);
    if (const uint32_t cost = ColourCost(less_green); cost < least) {
      least = cost;
      blue = L3Colour::kLessGreen;
    }
    if (ColourCost(less_mean) < least) blue = L3Colour::kLessMean;
    if (blue != L3Colour::kPlain) {
      std::memcpy(planes_[2],
                  blue == L3Colour::kLessMean ? less_mean : less_green,
                  sizeof(Plane));
    }
    for (uint32_t y = 0; y < height_; ++y) {
      for (uint32_t x = 0; x < kL3V2Patch; ++x) {
        less_green[y][x] =
            static_cast<Sample>(planes_[0][y][x] - planes_[1][y][x]);
      }
    }
    if (ColourCost(less_green) < ColourCost(planes_[0])) {
      red = L3Colour::kLessGreen;
      std::memcpy(planes_[0], less_green, sizeof(Plane));
    }
    for (uint32_t c = 0; c < info_.channels; ++c) words_[c] = 0;
    words_[0] = static_cast<uint32_t>(red) << 2;
    words_[2] = static_cast<uint32_t>(blue) << 2;
  }

  // Chooses predictor and widths of a channel and completes its word.
  void ChooseCoding(uint32_t c) {
    const Plane& plane = planes_[c];
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
          Residuals(planes_[c], y,
                    static_cast<L3Predictor>(L3PredictorOf(words_[c])), row);
          residuals = row;
        }
        for (uint32_t g = 0; g < groups_; ++g) {
          const uint32_t width = kept[c][widths_[c][y][g]];
          PackGroup(residuals + g * kL3Group, width, at);
          at += width;
        }
      }
    }
    uint8_t stored_number[4];
    StoreLittle32(number, stored_number);
    const size_t size = static_cast<size_t>(at - bytes_);
    StoreLittle32(ExtendCrc32c(Crc32c(ByteSpan(stored_number, 4)),
                               ByteSpan(bytes_ + 4, size - 4)),
                  bytes_);
    out->append(reinterpret_cast<const char*>(bytes_), size);
  }

  // Writes 16 bytes, of which `width` count.
  static void PackGroup(const Sample* residuals, uint32_t width, uint8_t* at) {
    if (width == 0) return;
    const uint32_t bias = 1u << (width - 1);
    const uint32_t mask = (1u << width) - 1;
    uint64_t halves[2] = {0, 0};  // of 4 pixels each
    for (uint32_t k = 0; k < kL3Group; ++k) {
      halves[k / 4] |= uint64_t{(residuals[k] + bias) & mask}
                       << (width * (k % 4));
    }
    const uint32_t shift = 4 * width;
    uint64_t low = halves[0], high = halves[1];
    if (shift < 64) {
      low |= halves[1] << shift;
      high = halves[1] >> (64 - shift);
    }
    StoreLittle32(static_cast<uint32_t>(low), at);
    StoreLittle32(static_cast<uint32_t>(low >> 32), at + 4);
    StoreLittle32(static_cast<uint32_t>(high), at + 8);
    StoreLittle32(static_cast<uint32_t>(high >> 32), at + 12);
  }

  const ImageInfo info_;
  const uint8_t* const pixels_;
  uint32_t width_ = 0, height_ = 0, groups_ = 0;  // of the patch
  Plane planes_[kL3MaxChannels] = {};
  Plane trials_[2] = {};
  Sample first_rows_[kL3MaxChannels][kL3V2Patch];
  uint8_t widths_[kL3MaxChannels][kL3V2Patch][kL3Groups] = {};
  uint32_t words_[kL3MaxChannels];
  uint8_t bytes_[4 + 4 * kL3MaxChannels +
                 kL3MaxChannels * kL3V2Patch *
                     (4 + kL3Groups * 8 * sizeof(Sample)) +
                 16];
};

template <typename Sample>
Status EncodePatches(const ImageInfo& info, const uint8_t* pixels,
                     size_t table_at, std::string* out) {
  const uint64_t across = L3PatchesAcross(info.width, kL3V2Patch);
  const uint64_t down = L3PatchesAcross(info.height, kL3V2Patch);
  const size_t data_at = out->size();
  const std::unique_ptr<PatchEncoder<Sample>> encoder(
      new (std::nothrow) PatchEncoder<Sample>(info, pixels));
  if (encoder == nullptr) {
    return OutOfMemory("l3", sizeof(PatchEncoder<Sample>));
  }
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

Status EncodeL3V2(const ImageInfo& info, const uint8_t* pixels,
                  std::string* out) {
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
  header[15] = 0;
  StoreLittle32(Crc32c(ByteSpan(header, 16)), header + 16);
  StoreLittle32(0, header + kL3V2HeaderBytes);
  const size_t table_at = start + kL3V2HeaderBytes;
  const Status status =
      info.bits == 8 ? EncodePatches<uint8_t>(info, pixels, table_at, out)
                     : EncodePatches<uint16_t>(info, pixels, table_at, out);
  if (!status.ok()) out->resize(start);
  return status;
}

}  // namespace liquid
