#include "ops/image/changes.h"

#include <cstring>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "ops/image/transcode.h"
#include "tests/ops/codecs/codec_testing.h"

namespace liquid::changes_test {
namespace {

Image MakeImage(const ImageInfo& info, const Bytes& pixels) {
  Image image;
  image.info = info;
  image.pixels.reset(new uint8_t[pixels.size()]);
  std::memcpy(image.pixels.get(), pixels.data(), pixels.size());
  return image;
}

Bytes PixelsOf(const Image& image) {
  return Bytes(image.pixels.get(),
               image.pixels.get() + image.info.PixelBytes());
}

Changes Resized(ResizeStep::Kind kind, uint32_t height, uint32_t width = 0) {
  Changes changes;
  changes.resize.kind = kind;
  changes.resize.height = height;
  changes.resize.width = width;
  return changes;
}

TEST(ApplyChangesTest, TurnsThenResizesThenChangesChannels) {
  Image image = MakeImage(Info(2, 4, 1), {0, 10, 20, 30,  //
                                          0, 10, 20, 30});
  Changes changes = Resized(ResizeStep::Kind::kExact, 2, 1);
  changes.orientation = 6;
  changes.channels = 3;
  changes.resize.interpolation = Interpolation::kNearest;
  ASSERT_TRUE(ApplyChanges(changes, DecodeLimits(), &image).ok());
  EXPECT_EQ(image.info.height, 2u);
  EXPECT_EQ(image.info.width, 1u);
  // Rows 1 and 3 of the turned image, whose rows are columns of the other.
  EXPECT_EQ(PixelsOf(image), (Bytes{10, 10, 10, 30, 30, 30}));
}

TEST(ApplyChangesTest, OneColourStaysOneWhateverTheKindOfPixels) {
  for (const int bits : {8, 16}) {
    for (const int channels : {1, 2, 3, 4}) {
      for (const Interpolation interpolation :
           {Interpolation::kBilinear, Interpolation::kBicubic,
            Interpolation::kNearest}) {
        const ImageInfo info = Info(9, 14, channels, bits);
        Image image = MakeImage(info, Bytes(info.PixelBytes(), 255));
        Changes changes = Resized(ResizeStep::Kind::kShorter, 5);
        changes.resize.interpolation = interpolation;
        ASSERT_TRUE(ApplyChanges(changes, DecodeLimits(), &image).ok());
        EXPECT_EQ(image.info.height, 5u);
        EXPECT_EQ(image.info.width, 7u);
        EXPECT_EQ(PixelsOf(image), Bytes(image.info.PixelBytes(), 255));
      }
    }
  }
}

TEST(ApplyChangesTest, WrongOnesAreRefused) {
  const ImageInfo info = Info(1, 50, 1);
  Image image = MakeImage(info, MakePixels(info, 1));
  DecodeLimits limits;
  limits.max_pixels = 10 * 500 - 1;
  Status status =
      ApplyChanges(Resized(ResizeStep::Kind::kShorter, 10), limits, &image);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message().find("resize: 10 x 500 pixels are over"), 0u)
      << status.message();
  for (const int orientation : {0, 9}) {
    Changes changes;
    changes.orientation = static_cast<uint8_t>(orientation);
    EXPECT_EQ(ApplyChanges(changes, limits, &image).code(),
              StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(image.info.width, 50u);
}

TEST(KeepsPlacesTest, WhereNeitherTurnedNorResized) {
  const ImageInfo info = Info(20, 30, 3);
  EXPECT_TRUE(KeepsPlaces(Changes(), info));
  EXPECT_TRUE(KeepsPlaces(Resized(ResizeStep::Kind::kShorter, 20), info));
  EXPECT_TRUE(KeepsPlaces(Resized(ResizeStep::Kind::kExact, 20, 30), info));
  EXPECT_FALSE(KeepsPlaces(Resized(ResizeStep::Kind::kShorter, 30), info));
  Changes turned;
  turned.orientation = 3;
  EXPECT_FALSE(KeepsPlaces(turned, info));
}

TEST(TranscodeChangesTest, FilesAreCopiedOnlyWhereNothingMoves) {
  const ImageInfo info = Info(20, 30, 3);
  const Bytes pixels = MakePixels(info, 1);
  for (const Format format : {Format::kPng, Format::kJpeg, Format::kRaw}) {
    std::string file, encoded;
    ASSERT_TRUE(
        Encode(format, EncodeOptions(), info, pixels.data(), &file).ok());
    const ByteSpan span(file.data(), file.size());
    Scan scan, result;
    const auto transcode = [&](const Changes& changes) {
      ASSERT_TRUE(ScanImage(span, DecodeLimits(), changes, &scan).ok());
      const Status status = Transcode(span, DecodeLimits(), changes, format,
                                      EncodeOptions(), &encoded, &result);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(scan.info.height, 20u);
      EXPECT_EQ(scan.changed.height, result.info.height);
      EXPECT_EQ(scan.changed.width, result.info.width);
      EXPECT_EQ(scan.pixels_hash == result.pixels_hash,
                format != Format::kJpeg || encoded == file);
    };
    transcode(Resized(ResizeStep::Kind::kLonger, 30));
    EXPECT_EQ(encoded, file);
    transcode(Resized(ResizeStep::Kind::kLonger, 15));
    EXPECT_EQ(result.info.height, 10u);
    EXPECT_EQ(result.info.width, 15u);
    Changes turned;
    turned.orientation = 8;
    transcode(turned);
    EXPECT_EQ(result.info.height, 30u);
    EXPECT_EQ(result.info.width, 20u);
  }
}

}  // namespace
}  // namespace liquid::changes_test
