#include "tests/fuzz/l3_fuzz.h"

#include <cstdio>
#include <cstdlib>

#include "ops/core/crc32c.h"
#include "tests/ops/codecs/l3_testing.h"

namespace liquid {
namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "l3 fuzzer: %s\n", what);
  std::abort();
}

Status DecodeByAll(const std::string& file, const ImageInfo& info,
                   const Window& window, Bytes* pixels) {
  Status status;
  const std::string differs =
      DecodeByTargets(file, info, window, &status, pixels);
  Require(differs.empty(), differs.c_str());
  return status;
}

}  // namespace

void FuzzL3Decode(const uint8_t* data, size_t size) {
  const std::string file(reinterpret_cast<const char*>(data), size);
  DecodeLimits limits;
  limits.max_pixels = 1 << 16;
  L3Info info;
  const Status status = PeekL3(SpanIn(file), limits, &info);
  if (!status.ok()) {
    Require(!status.message().empty(), "an error without a message");
    return;
  }
  Bytes whole, part;
  const ImageInfo& image = info.image;
  const bool ok =
      DecodeByAll(file, image, {0, 0, image.height, image.width}, &whole).ok();
  Noise noise(Crc32c(SpanIn(file)));
  const Window window = RandomWindow(image, &noise);
  const Status partly = DecodeByAll(file, image, window, &part);
  if (!ok) return;
  Require(partly.ok(), "the whole decodes, a window does not");
  Require(part == Crop(image, whole, window), "a window is not the crop");
}

void FuzzL3RoundTrip(const uint8_t* data, size_t size) {
  if (size < 6) return;
  L3Options options;
  options.version = data[0] % 4 == 1 ? L3Version::kV1 : L3Version::kV2;
  ImageInfo info = Info(1 + data[3] % 96, 1 + data[4] % 96, 1 + data[2] % 4,
                        data[2] & 0x80 ? 16 : 8);
  options.profile = data[0] % 4 > 1 ? L3Profile::kCompact : L3Profile::kFast;
  options.effort = static_cast<Effort>(data[1] % 3);
  if (options.version == L3Version::kV1) {
    options.patch = data[1];
    info.channels = 3;
    info.bits = 8;
  }
  Bytes pixels(info.PixelBytes());
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = data[5 + i % (size - 5)];
  }
  std::string file;
  Require(EncodeL3(options, info, pixels.data(), &file).ok(), "no encoding");
  Bytes decoded;
  Require(
      DecodeByAll(file, info, {0, 0, info.height, info.width}, &decoded).ok(),
      "what was encoded does not decode");
  Require(decoded == pixels, "what was encoded comes back changed");
}

std::vector<std::string> L3DecodeSeeds() {
  std::vector<std::string> seeds;
  Noise noise(3);
  for (const Content content :
       {Content::kSlope, Content::kMixed, Content::kFlat, Content::kNoise}) {
    for (int channels = 1; channels <= 4; ++channels) {
      for (const int bits : {8, 16}) {
        const ImageInfo info = Info(3 + noise.Below(9), 66, channels, bits);
        const Bytes pixels = MakeContent(content, info, &noise);
        for (const L3Profile profile :
             {L3Profile::kFast, L3Profile::kCompact}) {
          seeds.push_back(EncodeAsL3(L3Version::kV2, 0, info, pixels, profile));
        }
        if (channels == 3 && bits == 8) {
          seeds.push_back(EncodeAsL3(L3Version::kV1, 0, info, pixels));
          seeds.push_back(EncodeAsL3(L3Version::kV1, 4, info, pixels));
        }
      }
    }
  }
  return seeds;
}

std::vector<std::string> L3RoundTripSeeds() {
  std::vector<std::string> seeds;
  Noise noise(2);
  for (int i = 0; i < 24; ++i) {
    std::string seed;
    for (int k = 0; k < 5; ++k) seed += static_cast<char>(noise.Next());
    const uint32_t mask = (1u << noise.Below(9)) - 1;
    const uint32_t samples = 1 + noise.Below(600);
    for (uint32_t k = 0; k < samples; ++k) {
      seed += static_cast<char>(noise.Next() & mask);
    }
    seeds.push_back(seed);
  }
  return seeds;
}

}  // namespace liquid
