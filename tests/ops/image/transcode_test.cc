#include "ops/image/transcode.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/codecs/pixels.h"
#include "tests/ops/codecs/codec_testing.h"
#include "tests/ops/image/changes_testing.h"

namespace liquid::transcode_test {
namespace {

std::string Make(Format format, const ImageInfo& info, const Bytes& pixels,
                 const EncodeOptions& options = EncodeOptions()) {
  std::string file;
  const Status status = Encode(format, options, info, pixels.data(), &file);
  EXPECT_TRUE(status.ok()) << status.message();
  return file;
}

Image MakeImage(const ImageInfo& info, const Bytes& pixels) {
  Image image;
  image.info = info;
  image.pixels.reset(new uint8_t[pixels.size()]);
  std::copy(pixels.begin(), pixels.end(), image.pixels.get());
  return image;
}

Bytes PixelsOf(const Image& image) {
  return Bytes(image.pixels.get(),
               image.pixels.get() + image.info.PixelBytes());
}

TEST(ChangeChannelsTest, LosesNothing) {
  Image image = MakeImage(Info(1, 2, 1), {7, 9});
  ASSERT_TRUE(ChangeChannels(4, &image).ok());
  EXPECT_EQ(image.info.channels, 4);
  EXPECT_EQ(PixelsOf(image), (Bytes{7, 7, 7, 255, 9, 9, 9, 255}));
  ASSERT_TRUE(ChangeChannels(3, &image).ok());
  EXPECT_EQ(PixelsOf(image), (Bytes{7, 7, 7, 9, 9, 9}));
  ASSERT_TRUE(ChangeChannels(2, &image).ok());
  EXPECT_EQ(PixelsOf(image), (Bytes{7, 255, 9, 255}));
  ASSERT_TRUE(ChangeChannels(0, &image).ok());
  ASSERT_TRUE(ChangeChannels(1, &image).ok());
  EXPECT_EQ(PixelsOf(image), (Bytes{7, 9}));
}

TEST(ChangeChannelsTest, RefusesWhatWouldLoseSomething) {
  Image clear = MakeImage(Info(2, 1, 4), {1, 2, 3, 255, 1, 2, 3, 254});
  Status status = ChangeChannels(3, &clear);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("y 1, x 0 is not opaque"), std::string::npos)
      << status.message();
  EXPECT_EQ(clear.info.channels, 4);

  Image colored = MakeImage(Info(1, 2, 3), {1, 1, 1, 1, 1, 2});
  status = ChangeChannels(1, &colored);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("y 0, x 1 is not gray"), std::string::npos)
      << status.message();
  for (const int channels : {-1, 5}) {
    EXPECT_EQ(ChangeChannels(channels, &colored).code(),
              StatusCode::kInvalidArgument);
  }
}

TEST(ChangeChannelsTest, SixteenBitsHaveAWideOpaque) {
  const uint16_t samples[] = {0x1234, 0x00FF};
  Bytes pixels(4);
  std::memcpy(pixels.data(), samples, 4);
  Image image = MakeImage(Info(1, 1, 2, 16), pixels);
  EXPECT_FALSE(ChangeChannels(1, &image).ok());
  image = MakeImage(Info(1, 2, 1, 16), pixels);
  ASSERT_TRUE(ChangeChannels(2, &image).ok());
  uint16_t out[4];
  std::memcpy(out, image.pixels.get(), 8);
  EXPECT_EQ(out[0], 0x1234);
  EXPECT_EQ(out[1], 0xFFFF);
  EXPECT_EQ(out[2], 0x00FF);
  EXPECT_EQ(out[3], 0xFFFF);
}

TEST(ChangeBitsTest, ThereAndBack) {
  Image image = MakeImage(Info(1, 3, 1), {0, 128, 255});
  ASSERT_TRUE(ChangeBits(16, &image).ok());
  uint16_t samples[3];
  std::memcpy(samples, image.pixels.get(), 6);
  EXPECT_EQ(samples[0], 0);
  EXPECT_EQ(samples[1], 0x8080);
  EXPECT_EQ(samples[2], 0xFFFF);
  ASSERT_TRUE(ChangeBits(8, &image).ok());
  EXPECT_EQ(PixelsOf(image), (Bytes{0, 128, 255}));
  EXPECT_EQ(ChangeBits(12, &image).code(), StatusCode::kInvalidArgument);
}

TEST(DecodeAsTest, WindowChannelsAndBitsTogether) {
  const ImageInfo info = Info(8, 9, 1);
  const Bytes pixels = MakePixels(info, 1);
  const std::string file = Make(Format::kPng, info, pixels);
  DecodeRequest request;
  request.window = {2, 3, 4, 5};
  request.channels = 3;
  request.bits = 16;
  DecodePlan plan;
  ASSERT_TRUE(PlanDecode(Format::kPng, SpanIn(file), request, &plan).ok());
  ASSERT_EQ(plan.output.PixelBytes(), 4u * 5 * 3 * 2);
  std::vector<uint16_t> out(4 * 5 * 3);
  ASSERT_TRUE(DecodeAs(Format::kPng, SpanIn(file), request.limits, plan,
                       reinterpret_cast<uint8_t*>(out.data()))
                  .ok());
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t pixel = i / 3;
    const size_t at = (2 + pixel / 5) * 9 + 3 + pixel % 5;
    ASSERT_EQ(out[i], pixels[at] * 257);
  }
  request.window = {5, 0, 4, 1};
  EXPECT_EQ(PlanDecode(Format::kPng, SpanIn(file), request, &plan).code(),
            StatusCode::kInvalidArgument);
}

// Those that hold such images of 8 bits.
std::vector<Format> LosslessFormats(int channels) {
  std::vector<Format> formats;
  for (const FormatKind& kind : LosslessKinds()) {
    if (kind.channels == channels && kind.bits == 8) {
      formats.push_back(kind.row->format);
    }
  }
  return formats;
}

TEST(ScanTest, HashIsTheSameInEveryLosslessFormat) {
  const ImageInfo info = Info(12, 13, 3);
  const Bytes pixels = MakePixels(info, 1);
  for (const Format format : LosslessFormats(3)) {
    Scan scan;
    ASSERT_TRUE(
        ScanImage(SpanIn(Make(format, info, pixels)), DecodeLimits(), {}, &scan)
            .ok());
    EXPECT_EQ(scan.format, format);
    EXPECT_EQ(scan.info.width, 13u);
    EXPECT_EQ(scan.pixels_hash, PixelHash(info, pixels.data()));
  }
}

TEST(TranscodeTest, EveryPairOfLosslessFormats) {
  for (const int channels : {3, 4}) {
    const std::vector<Format> formats = LosslessFormats(channels);
    const ImageInfo info = Info(12, 13, channels);
    const Bytes pixels = MakePixels(info, 1);
    for (const Format from : formats) {
      const std::string file = Make(from, info, pixels);
      for (const Format to : formats) {
        std::string encoded = "old";
        Scan result;
        const Status status = Transcode(SpanIn(file), DecodeLimits(), {}, to,
                                        EncodeOptions(), &encoded, &result);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(result.format, to);
        EXPECT_EQ(result.pixels_hash, PixelHash(info, pixels.data()));
        EXPECT_EQ(encoded == file, from == to) << FormatName(from);
        Scan scan;
        ASSERT_TRUE(ScanImage(SpanIn(encoded), DecodeLimits(), {}, &scan).ok());
        EXPECT_EQ(scan.format, to);
        EXPECT_EQ(scan.pixels_hash, result.pixels_hash);
      }
    }
  }
}

TEST(TranscodeTest, LossyTargetsAreDescribedByWhatTheyDecodeTo) {
  const ImageInfo info = Info(40, 40, 3);
  const Bytes pixels = MakePixels(info, 1, 90);
  const std::string file = Make(Format::kPng, info, pixels);
  EncodeOptions options;
  options.webp_lossless = false;
  for (const Format to : {Format::kJpeg, Format::kWebp}) {
    std::string encoded;
    Scan result, scan;
    ASSERT_TRUE(Transcode(SpanIn(file), DecodeLimits(), {}, to, options,
                          &encoded, &result)
                    .ok());
    EXPECT_NE(result.pixels_hash, PixelHash(info, pixels.data()));
    ASSERT_TRUE(ScanImage(SpanIn(encoded), DecodeLimits(), {}, &scan).ok());
    EXPECT_EQ(scan.pixels_hash, result.pixels_hash);
  }
}

TEST(TranscodeTest, JpegIsCopiedAndItsPixelsKeptElsewhere) {
  const ImageInfo info = Info(40, 40, 3);
  const std::string file = Make(Format::kJpeg, info, MakePixels(info, 1, 90));
  Scan source, result;
  ASSERT_TRUE(ScanImage(SpanIn(file), DecodeLimits(), {}, &source).ok());
  std::string encoded;
  ASSERT_TRUE(Transcode(SpanIn(file), DecodeLimits(), ChangesTo(3),
                        Format::kJpeg, EncodeOptions(), &encoded, &result)
                  .ok());
  EXPECT_EQ(encoded, file);
  EXPECT_EQ(result.pixels_hash, source.pixels_hash);
  ASSERT_TRUE(Transcode(SpanIn(file), DecodeLimits(), {}, Format::kPng,
                        EncodeOptions(), &encoded, &result)
                  .ok());
  EXPECT_EQ(result.pixels_hash, source.pixels_hash);
}

TEST(TranscodeTest, WebpIsCopiedOnlyIfAsLossless) {
  const ImageInfo info = Info(40, 40, 4);
  const Bytes pixels = MakePixels(info, 1, 90);
  EncodeOptions lossy, lossless;
  lossy.webp_lossless = false;
  const std::string lossy_file = Make(Format::kWebp, info, pixels, lossy);
  const std::string lossless_file = Make(Format::kWebp, info, pixels, lossless);
  Scan source, result;
  ASSERT_TRUE(ScanImage(SpanIn(lossy_file), DecodeLimits(), {}, &source).ok());
  std::string encoded;
  ASSERT_TRUE(Transcode(SpanIn(lossy_file), DecodeLimits(), {}, Format::kWebp,
                        lossless, &encoded, &result)
                  .ok());
  EXPECT_NE(encoded, lossy_file);
  EXPECT_EQ(result.pixels_hash, source.pixels_hash);
  ASSERT_TRUE(Transcode(SpanIn(lossy_file), DecodeLimits(), {}, Format::kWebp,
                        lossy, &encoded, &result)
                  .ok());
  EXPECT_EQ(encoded, lossy_file);
  ASSERT_TRUE(Transcode(SpanIn(lossless_file), DecodeLimits(), {},
                        Format::kWebp, lossy, &encoded, &result)
                  .ok());
  EXPECT_NE(encoded, lossless_file);
}

TEST(TranscodeTest, ChannelsThatTheTargetCannotHold) {
  const ImageInfo info = Info(5, 5, 1);
  const Bytes pixels = MakePixels(info, 1);
  const std::string file = Make(Format::kPng, info, pixels);
  std::string encoded;
  Scan result;
  EXPECT_EQ(Transcode(SpanIn(file), DecodeLimits(), {}, Format::kWebp,
                      EncodeOptions(), &encoded, &result)
                .code(),
            StatusCode::kInvalidArgument);
  EXPECT_TRUE(Transcode(SpanIn(file), DecodeLimits(), ChangesTo(3),
                        Format::kWebp, EncodeOptions(), &encoded, &result)
                  .ok());
  EXPECT_EQ(result.info.channels, 3);
  EXPECT_EQ(Transcode(SpanIn("no image"), DecodeLimits(), {}, Format::kPng,
                      EncodeOptions(), &encoded, &result)
                .code(),
            StatusCode::kInvalidArgument);
}

TEST(TranscodeTest, DepthsChangeByTheOneRule) {
  const ImageInfo deep = Info(1, 3, 1, 16);
  const uint16_t samples[] = {0x00FF, 0x1280, 0xFFFF};
  Bytes pixels(6);
  std::memcpy(pixels.data(), samples, 6);
  const std::string file = Make(Format::kPng, deep, pixels);
  const ImageInfo flat = Info(1, 3, 1);
  const uint8_t upper[] = {0x00, 0x12, 0xFF};

  Scan scan, result;
  ASSERT_TRUE(
      ScanImage(SpanIn(file), DecodeLimits(), ChangesTo(0, 8), &scan).ok());
  EXPECT_EQ(scan.info.bits, 16);
  EXPECT_EQ(scan.pixels_hash, PixelHash(flat, upper));
  std::string encoded;
  ASSERT_TRUE(Transcode(SpanIn(file), DecodeLimits(), ChangesTo(0, 8),
                        Format::kPng, EncodeOptions(), &encoded, &result)
                  .ok());
  EXPECT_NE(encoded, file);
  EXPECT_EQ(result.info.bits, 8);
  EXPECT_EQ(result.pixels_hash, scan.pixels_hash);

  // Once more, and back to 16 bits.
  ASSERT_TRUE(
      ScanImage(SpanIn(encoded), DecodeLimits(), ChangesTo(3, 16), &scan).ok());
  EXPECT_EQ(scan.info.bits, 8);
  EXPECT_EQ(scan.info.channels, 1);
  std::string wide;
  ASSERT_TRUE(Transcode(SpanIn(encoded), DecodeLimits(), ChangesTo(3, 16),
                        Format::kRaw, EncodeOptions(), &wide, &result)
                  .ok());
  EXPECT_EQ(result.info.bits, 16);
  EXPECT_EQ(result.info.channels, 3);
  EXPECT_EQ(result.pixels_hash, scan.pixels_hash);
}

}  // namespace
}  // namespace liquid::transcode_test
