// Every kind of PNG, plain and interlaced, in every window of a small image:
// the pixels are computed here from the samples, by the specification's words.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "tests/ops/codecs/codec_testing.h"
#include "tests/ops/codecs/png_testing.h"

namespace liquid::png_kinds_test {
namespace {

constexpr int kColors = 5;  // of a palette that lacks some indices
constexpr int kAlphas = 3;  // of these, from the first

struct Kind {
  int color;
  int depth;
  bool transparent;

  int StoredChannels() const {
    return color == 2 ? 3 : color == 4 ? 2 : color == 6 ? 4 : 1;
  }
  int Channels() const {
    return (color == 3 ? 3 : StoredChannels()) + (transparent ? 1 : 0);
  }
  std::string Name() const {
    return "color " + std::to_string(color) + ", " + std::to_string(depth) +
           " bits" + (transparent ? ", tRNS" : "");
  }
};

// [row][column][channel] as stored.
class Samples {
 public:
  Samples(const Kind& kind, int height, int width)
      : kind_(kind), height_(height), width_(width) {
    Noise noise(static_cast<uint64_t>(kind.color * 100 + kind.depth));
    for (int i = 0; i < height * width * kind.StoredChannels(); ++i) {
      // Few values, so that some pixels have the transparent colour.
      const uint32_t value = noise.Below(3) * 0x5503 + 1;
      values_.push_back(value & ((1u << kind.depth) - 1));
    }
    key_.assign(values_.begin(), values_.begin() + kind.StoredChannels());
  }

  std::string Chunks() const {
    std::string chunks;
    if (kind_.color == 3) {
      for (int i = 0; i < 3 * kColors; ++i) chunks += static_cast<char>(40 + i);
      chunks = Chunk("PLTE", chunks);
      if (kind_.transparent) chunks += Chunk("tRNS", Text({7, 8, 9}));
    } else if (kind_.transparent) {
      std::string key;
      for (const uint32_t value : key_) {
        // Bits above the depth do not count.
        const uint32_t stored =
            kind_.depth == 16 ? value : value | ~0u << kind_.depth;
        key += {static_cast<char>(stored >> 8), static_cast<char>(stored)};
      }
      chunks = Chunk("tRNS", key);
    }
    return chunks;
  }

  // The pixels of rows and columns in a raster, each row filtered by Up.
  void Append(int first_row, int row_step, int first_column, int column_step,
              Bytes* rows) const {
    if (first_column >= width_) return;
    Bytes above;
    for (int y = first_row; y < height_; y += row_step) {
      Bytes row;
      int bits = 0;
      for (int x = first_column; x < width_; x += column_step) {
        for (int c = 0; c < kind_.StoredChannels(); ++c) {
          for (int bit = kind_.depth - 1; bit >= 0; --bit, ++bits) {
            if (bits % 8 == 0) row.push_back(0);
            row.back() |= (At(y, x, c) >> bit & 1) << (7 - bits % 8);
          }
        }
      }
      above.resize(row.size());
      rows->push_back(2);
      for (size_t i = 0; i < row.size(); ++i) {
        rows->push_back(static_cast<uint8_t>(row[i] - above[i]));
      }
      above = row;
    }
  }

  void AppendPixel(int y, int x, Bytes* pixels) const {
    if (kind_.color == 3) {
      const int index = static_cast<int>(At(y, x, 0));
      for (int c = 0; c < 3; ++c) {
        AppendSample(index < kColors ? 40 + 3 * index + c : 0, pixels);
      }
      if (kind_.transparent) {
        AppendSample(index < kAlphas ? 7 + index : 255, pixels);
      }
      return;
    }
    bool is_key = true;
    const uint32_t most = (1u << kind_.depth) - 1;
    for (int c = 0; c < kind_.StoredChannels(); ++c) {
      const uint32_t value = At(y, x, c);
      is_key = is_key && value == key_[c];
      AppendSample(kind_.depth < 8 ? value * 255 / most : value, pixels);
    }
    if (kind_.transparent) {
      AppendSample(is_key ? 0 : kind_.depth == 16 ? 65535 : 255, pixels);
    }
  }

 private:
  uint32_t At(int y, int x, int c) const {
    return values_[(y * width_ + x) * kind_.StoredChannels() + c];
  }
  void AppendSample(uint32_t value, Bytes* pixels) const {
    if (kind_.depth < 16) {
      pixels->push_back(static_cast<uint8_t>(value));
      return;
    }
    const uint16_t sample = static_cast<uint16_t>(value);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&sample);
    pixels->insert(pixels->end(), bytes, bytes + 2);
  }

  const Kind kind_;
  const int height_;
  const int width_;
  std::vector<uint32_t> values_;
  std::vector<uint32_t> key_;
};

Bytes Interlaced(const Samples& samples) {
  Bytes rows;
  samples.Append(0, 8, 0, 8, &rows);
  samples.Append(0, 8, 4, 8, &rows);
  samples.Append(4, 8, 0, 4, &rows);
  samples.Append(0, 4, 2, 4, &rows);
  samples.Append(2, 4, 0, 2, &rows);
  samples.Append(0, 2, 1, 2, &rows);
  samples.Append(1, 2, 0, 1, &rows);
  return rows;
}

Bytes Plain(const Samples& samples) {
  Bytes rows;
  samples.Append(0, 1, 0, 1, &rows);
  return rows;
}

void ExpectWindows(const std::string& file, const Samples& samples,
                   const ImageInfo& info) {
  ImageInfo found;
  ASSERT_TRUE(Peek(Format::kPng, SpanIn(file), DecodeLimits(), &found).ok());
  ASSERT_EQ(found.channels, info.channels);
  ASSERT_EQ(found.bits, info.bits);
  for (uint32_t y = 0; y < info.height; ++y) {
    for (uint32_t x = 0; x < info.width; ++x) {
      for (uint32_t height = 1; y + height <= info.height; ++height) {
        for (uint32_t width = 1; x + width <= info.width; ++width) {
          Bytes expected;
          for (uint32_t i = 0; i < height; ++i) {
            for (uint32_t j = 0; j < width; ++j) {
              samples.AppendPixel(y + i, x + j, &expected);
            }
          }
          Bytes pixels;
          const Status status = DecodeWindow(Format::kPng, file, info,
                                             {y, x, height, width}, &pixels);
          ASSERT_TRUE(status.ok()) << status.message();
          ASSERT_EQ(pixels, expected)
              << y << " " << x << " of " << height << " x " << width;
        }
      }
    }
  }
}

TEST(PngKindsTest, EveryKindInEveryWindow) {
  const std::vector<std::pair<int, std::vector<int>>> kinds = {
      {0, {1, 2, 4, 8, 16}},
      {2, {8, 16}},
      {3, {1, 2, 4, 8}},
      {4, {8, 16}},
      {6, {8, 16}}};
  for (const auto& [color, depths] : kinds) {
    for (const int depth : depths) {
      for (const bool transparent : {false, true}) {
        if (transparent && color >= 4) continue;
        const Kind kind = {color, depth, transparent};
        // Sizes that leave passes empty, and one that fills all.
        for (const auto& [height, width] :
             std::vector<std::pair<int, int>>{{1, 1}, {2, 5}, {9, 11}}) {
          SCOPED_TRACE(kind.Name() + ", " + std::to_string(height) + " x " +
                       std::to_string(width));
          const Samples samples(kind, height, width);
          const ImageInfo info =
              Info(height, width, kind.Channels(), std::max(8, depth));
          ExpectWindows(
              File(Header(width, height, depth, color) + samples.Chunks(),
                   Plain(samples)),
              samples, info);
          ExpectWindows(
              File(Header(width, height, depth, color, 1) + samples.Chunks(),
                   Interlaced(samples)),
              samples, info);
        }
      }
    }
  }
}

}  // namespace
}  // namespace liquid::png_kinds_test
