// Orientations in the files of three formats.
#include "ops/codecs/exif.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/ops/codecs/codec_testing.h"

namespace liquid::exif_test {
namespace {

using namespace std::string_literals;  // NOLINT: for bytes with zeros

const std::string kSix = "\x01\x12\0\x03\0\0\0\x01\0\x06\0\0"s;
const std::string kEnd = "\xff\xda\0\x02\xff\xd9"s;

// A directory of one entry.
std::string Tiff(bool big, const std::string& entry) {
  return (big ? "MM\0*\0\0\0\x08\0\x01"s : "II*\0\x08\0\0\0\x01\0"s) + entry;
}

std::string Jpeg(const std::string& tiff) {
  const std::string payload = "Exif\0\0"s + tiff;
  return "\xff\xd8\xff\xe0\0\x02\xff\xe1\0"s +
         static_cast<char>(payload.size() + 2) + payload + kEnd;
}

std::string PngChunk(const std::string& name, const std::string& data) {
  return "\0\0\0"s + static_cast<char>(data.size()) + name + data + "crc.";
}

std::string Png(const std::string& tiff) {
  return "\x89PNG\r\n\x1a\n" + PngChunk("IHDR", "13 bytes of it") +
         PngChunk("IDAT", "") + PngChunk("eXIf", tiff) + PngChunk("IEND", "");
}

std::string WebpChunk(const std::string& name, const std::string& data) {
  return name + static_cast<char>(data.size()) + "\0\0\0"s + data +
         std::string(data.size() % 2, '\0');
}

std::string Webp(const std::string& tiff) {
  return "RIFF....WEBP" + WebpChunk("VP8L", "odd") + WebpChunk("EXIF", tiff);
}

TEST(ExifTest, Orientation) {
  const std::string eight = "\x12\x01\x03\0\x01\0\0\0\x08\0\0\0"s;
  for (const auto& make : {Jpeg, Png, Webp}) {
    EXPECT_EQ(ExifOrientation(SpanIn(make(Tiff(true, kSix)))), 6);
    EXPECT_EQ(ExifOrientation(SpanIn(make(Tiff(false, eight)))), 8);
  }
  EXPECT_EQ(ExifOrientation(SpanIn(Webp("Exif\0\0"s + Tiff(true, kSix)))), 6);
}

TEST(ExifTest, NonsenseIsNoOrientation) {
  EXPECT_EQ(ExifOrientation(ByteSpan()), 1);
  EXPECT_EQ(ExifOrientation(SpanIn("\xff\xd8" + kEnd)), 1);
  EXPECT_EQ(ExifOrientation(SpanIn(Tiff(true, kSix))), 1);
  for (const auto& make : {Jpeg, Png, Webp}) {
    for (const std::string& entry :
         {"\x01\x12\0\x03\0\0\0\x01\0\x09\0\0"s,  // out of range
          "\x01\x12\0\x04\0\0\0\x01\0\x06\0\0"s,  // not a short
          "\x01\x13\0\x03\0\0\0\x01\0\x06\0\0"s,  // another tag
          "\x01\x12\0\x03\0"s}) {                 // cut off
      EXPECT_EQ(ExifOrientation(SpanIn(make(Tiff(true, entry)))), 1);
    }
    // Whatever is cut off, what is behind it is not read.
    const std::string good = make(Tiff(true, kSix));
    const size_t end = good.find(kSix) + kSix.size();
    for (size_t size = 0; size < end; ++size) {
      EXPECT_EQ(ExifOrientation(SpanIn(good.substr(0, size))), 1) << size;
    }
  }
}

}  // namespace
}  // namespace liquid::exif_test
