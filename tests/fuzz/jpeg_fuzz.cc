#include "tests/fuzz/jpeg_fuzz.h"

#include <cstdio>
#include <cstdlib>

#include "ops/core/crc32c.h"
#include "tests/ops/codecs/jpeg_testing.h"

namespace liquid {
namespace {

void Require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "jpeg fuzzer: %s\n", what.c_str());
  std::abort();
}

bool DecodeByAll(const std::string& file, uint32_t denominator,
                 const Window& window, Bytes* pixels) {
  bool decodes = false;
  const std::string differs =
      DecodeOwn(file, denominator, window, &decodes, pixels);
  Require(differs.empty(), differs);
  return decodes;
}

bool FuzzAt(const std::string& file, const ImageInfo& info,
            uint32_t denominator, Noise* noise) {
  ImageInfo draft = info;
  draft.height = (info.height + denominator - 1) / denominator;
  draft.width = (info.width + denominator - 1) / denominator;
  Bytes whole, part, expected;
  const Window all = {0, 0, draft.height, draft.width};
  const bool taken = DecodeByAll(file, denominator, all, &whole);
  const Window window = RandomWindow(draft, noise);
  const bool partly = DecodeByAll(file, denominator, window, &part);
  if (!taken) return false;
  Require(partly, "the whole decodes, a window does not");
  Require(part == Crop(draft, whole, window), "a window is not the crop");
  const Status status =
      DecodeByLibrary(file, info, denominator, all, &expected);
  Require(status.ok(), "the library refuses it: " + status.message());
#if defined(__x86_64__)
  // Of coefficients that no encoder writes, the library's way differs from one
  // kind of processor to another.
  Require(whole == expected, "the library gives other pixels");
#endif
  return true;
}

}  // namespace

bool FuzzJpegDecode(const uint8_t* data, size_t size) {
  const std::string file(reinterpret_cast<const char*>(data), size);
  DecodeLimits limits;
  limits.max_pixels = 1 << 16;
  ImageInfo info;
  if (!PeekJpeg(SpanIn(file), limits, &info).ok()) return false;
  Noise noise(Crc32c(SpanIn(file)));
  const bool taken = FuzzAt(file, info, 1, &noise);
  for (const uint32_t denominator : {2, 4, 8}) {
    FuzzAt(file, info, denominator, &noise);
  }
  return taken;
}

std::vector<std::string> JpegSeeds() {
  std::vector<std::string> seeds;
  Noise noise(3);
  for (JpegKind kind : kBaselineKinds) {
    for (const int quality : {30, 90}) {
      kind.quality = quality;
      kind.optimize = quality == 30;
      const ImageInfo info =
          Info(1 + noise.Below(40), 9 + noise.Below(40), kind.channels);
      seeds.push_back(
          WriteJpeg(kind, info, MakePixels(info, noise.Next(), 60)));
    }
  }
  return seeds;
}

}  // namespace liquid
