// Damaged files of every format: cut at every byte, bytes flipped, headers that
// lie. Nothing may be read or written out of bounds (the sanitizers watch), and
// what is cut off is an error.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/image/transcode.h"
#include "tests/ops/codecs/codec_testing.h"

namespace liquid::damage_test {
namespace {

struct DamagedKind {
  FormatKind kind;
  bool webp_lossless = true;
};

void PrintTo(const DamagedKind& damaged, std::ostream* out) {
  PrintTo(damaged.kind, out);
}

// Of each format its fewest and its most channels, and RGB; and lossy WebP.
std::vector<DamagedKind> DamagedKinds() {
  std::vector<DamagedKind> some;
  for (const FormatKind& kind : FormatKinds()) {
    const FormatRow& row = *kind.row;
    const bool first = kind.bits == 8 && kind.channels == row.channels[0] - '0';
    const bool last =
        kind.bits == row.bits &&
        kind.channels == row.channels[std::strlen(row.channels) - 1] - '0';
    const bool rgb = kind.bits == 8 && kind.channels == 3;
    if (first || last || rgb) some.push_back({kind});
  }
  for (const int channels : {3, 4}) {
    some.push_back({{FindFormat(Format::kWebp), channels, 8}, false});
  }
  return some;
}

class DamageTest : public testing::TestWithParam<DamagedKind> {
 protected:
  DamageTest() {
    const FormatKind& kind = GetParam().kind;
    info_ = Info(19, 23, kind.channels, kind.bits);
    EncodeOptions options;
    options.webp_lossless = GetParam().webp_lossless;
    const Bytes pixels = MakePixels(info_, 4);
    EXPECT_TRUE(
        Encode(kind.row->format, options, info_, pixels.data(), &file_).ok());
  }

  // Decodes bytes that end exactly where an allocation does, whole and in part.
  Status Open(const std::string& file) {
    const Format format = GetParam().kind.row->format;
    const std::unique_ptr<uint8_t[]> copy(new uint8_t[file.size()]);
    std::copy(file.begin(), file.end(), copy.get());
    const ByteSpan bytes(copy.get(), file.size());
    DecodeLimits limits;
    limits.max_pixels = 1 << 20;
    ImageInfo info;
    LIQUID_RETURN_IF_ERROR(Peek(format, bytes, limits, &info));
    Bytes pixels(info.PixelBytes());
    const Window part = {info.height / 3, info.width / 3, (info.height + 2) / 3,
                         (info.width + 2) / 3};
    const Status windowed =
        Decode(format, bytes, limits, info, part, pixels.data(),
               part.width * info.BytesPerPixel());
    (void)windowed;  // may miss damage outside the window
    return Decode(format, bytes, limits, info, {0, 0, info.height, info.width},
                  pixels.data(), info.RowBytes());
  }

  ImageInfo info_;
  std::string file_;
};

TEST_P(DamageTest, CutAtEveryByte) {
  ASSERT_TRUE(Open(file_).ok());
  for (size_t size = 0; size < file_.size(); ++size) {
    const Status status = Open(file_.substr(0, size));
    ASSERT_FALSE(status.ok()) << size << " of " << file_.size() << " bytes";
    ASSERT_FALSE(status.message().empty());
  }
}

TEST_P(DamageTest, FlippedBytesDoNoHarm) {
  for (size_t i = 0; i < file_.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::string damaged = file_;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      const Status status = Open(damaged);
      ASSERT_EQ(status.ok(), status.message().empty());
    }
  }
}

TEST_P(DamageTest, RandomDamageDoesNoHarm) {
  Noise noise(1);
  for (int i = 0; i < 400; ++i) {
    std::string damaged = file_;
    const uint32_t changes = 1 + noise.Below(8);
    for (uint32_t k = 0; k < changes; ++k) {
      const size_t at = noise.Below(static_cast<uint32_t>(damaged.size()));
      switch (noise.Below(3)) {
        case 0:
          damaged[at] = static_cast<char>(noise.Next());
          break;
        case 1:
          damaged.erase(at, 1 + noise.Below(4));
          break;
        default:
          damaged.insert(at, 1 + noise.Below(4),
                         static_cast<char>(noise.Next()));
      }
      if (damaged.empty()) break;
    }
    (void)Open(damaged);
    Scan scan;
    DecodeLimits limits;
    limits.max_pixels = 1 << 20;
    (void)ScanImage(SpanIn(damaged), limits, {}, &scan);
  }
}

TEST_P(DamageTest, OtherFormatsAreRefused) {
  for (const FormatRow& row : kFormats) {
    // One decoder reads both profiles of L3, and another one JPEG and pcr: the
    // header tells what it is.
    if (row.decode == GetParam().kind.row->decode) continue;
    ImageInfo info;
    EXPECT_EQ(Peek(row.format, SpanIn(file_), DecodeLimits(), &info).code(),
              StatusCode::kDataLoss)
        << row.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, DamageTest, testing::ValuesIn(DamagedKinds()),
                         [](const auto& info) {
                           return info.param.kind.Name() +
                                  (info.param.webp_lossless ? "" : "_lossy");
                         });

TEST(RawTest, HeaderThatLies) {
  const ImageInfo info = Info(2, 3, 1);
  std::string good;
  ASSERT_TRUE(Encode(Format::kRaw, EncodeOptions(), info,
                     MakePixels(info, 1).data(), &good)
                  .ok());
  ASSERT_EQ(good.substr(0, 16),
            std::string("LRAW\2\0\0\0\3\0\0\0\1\x08\0\0", 16));
  ImageInfo found;
  for (const auto& [at, value] : std::vector<std::pair<int, char>>{{4, 1},
                                                                   {4, 3},
                                                                   {4, 0},
                                                                   {8, 4},
                                                                   {12, 2},
                                                                   {12, 0},
                                                                   {12, 5},
                                                                   {13, 16},
                                                                   {13, 1},
                                                                   {14, 1},
                                                                   {15, 1}}) {
    std::string file = good;
    file[at] = value;
    EXPECT_EQ(Peek(Format::kRaw, SpanIn(file), DecodeLimits(), &found).code(),
              StatusCode::kDataLoss)
        << "byte " << at << " = " << static_cast<int>(value);
  }
  // 2^63 bytes of pixels must not wrap around to the size of the file.
  std::string huge = good;
  for (const int at : {4, 5, 6, 7, 8, 9, 10, 11}) huge[at] = '\xFF';
  DecodeLimits no_limit;
  no_limit.max_pixels = UINT64_MAX;
  EXPECT_FALSE(Peek(Format::kRaw, SpanIn(huge), no_limit, &found).ok());
}

}  // namespace
}  // namespace liquid::damage_test
