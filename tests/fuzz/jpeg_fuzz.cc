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

// Of a file that our own decoder takes.
void FuzzByIndex(const std::string& file, const ImageInfo& info, Noise* noise) {
  const Window all = {0, 0, info.height, info.width};
  const Window window = RandomWindow(info, noise);
  Bytes whole, pixels;
  DecodeByAll(file, 1, all, &whole);
  const std::string index =
      IndexOf(file, noise->Below(2) == 0 ? kJpegIndexRow : 1 + noise->Below(9));
  Require(!index.empty(), "it has no index");
  Require(
      DecodeByIndex(file, index, info, all, &pixels).ok() && pixels == whole,
      "the index gives other pixels");
  Require(DecodeByIndex(file, index, info, window, &pixels).ok() &&
              pixels == Crop(info, whole, window),
          "the index gives other pixels in a window");
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
  if (taken) FuzzByIndex(file, info, &noise);
  return taken;
}

bool FuzzJpegIndex(const uint8_t* data, size_t size) {
  static const std::vector<std::string>* seeds =
      new std::vector<std::string>(JpegSeeds());
  if (size == 0) return false;
  const std::string& file = (*seeds)[data[0] % seeds->size()];
  std::string index = IndexOf(file, data[0] % 7).substr(0, 20);
  index.append(reinterpret_cast<const char*>(data + 1), size - 1);
  StoreLittle32(static_cast<uint32_t>(index.size()),
                reinterpret_cast<uint8_t*>(&index[4]));
  SignIndex(&index);
  ImageInfo info;
  Require(PeekJpeg(SpanIn(file), DecodeLimits(), &info).ok(), "no seed");
  Noise noise(Crc32c(SpanIn(index)));
  bool decoded = false;
  for (int i = 0; i < 2; ++i) {
    const Window window = i == 0 ? Window{0, 0, info.height, info.width}
                                 : RandomWindow(info, &noise);
    Bytes first;
    bool first_ok = false;
    for (const VectorTarget target : RunnableTargets()) {
      const ScopedBaselineTarget scoped(target);
      Bytes pixels;
      const bool ok = DecodeByIndex(file, index, info, window, &pixels).ok();
      if (target == VectorTarget::kScalar) {
        first = pixels;
        first_ok = ok;
      }
      Require(ok == first_ok && (!ok || pixels == first), "targets disagree");
    }
    if (i == 0) decoded = first_ok;
  }
  return decoded;
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

std::vector<std::string> JpegIndexSeeds() {
  const std::vector<std::string> files = JpegSeeds();
  std::vector<std::string> seeds;
  for (size_t i = 0; i < files.size(); ++i) {
    seeds.push_back(std::string(1, static_cast<char>(i)) +
                    IndexOf(files[i], static_cast<uint32_t>(i % 7)).substr(20));
  }
  return seeds;
}

}  // namespace liquid
