// What is decoded: photographs of one size, encoded in every format.
#ifndef LIQUID_OPS_GPU_BENCH_PHOTOGRAPHS_H_
#define LIQUID_OPS_GPU_BENCH_PHOTOGRAPHS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ops/codecs/codec_types.h"
#include "ops/core/status.h"

namespace liquid {

// As rows of the tables name them. All but the last hold the pixels as they
// are.
constexpr const char* kBenchFormats[] = {"l3 v1", "l3 v2", "l3-compact", "raw",
                                         "jpeg"};
constexpr size_t kBenchLossless =
    sizeof(kBenchFormats) / sizeof(kBenchFormats[0]) - 1;

// A JPEG file, with the entry points that `convert` stores beside it.
struct IndexedJpeg {
  ImageInfo info;
  std::string file, index;
  std::vector<uint8_t> pixels;  // that the processors decode
};

struct Photograph {
  std::vector<uint8_t> pixels;  // RGB of 8 bits
  std::string files[kBenchLossless];
  IndexedJpeg jpeg;

  // Of one of kBenchFormats: its file, and what decoding has to give.
  const std::string& File(const std::string& format) const;
  const std::vector<uint8_t>& Pixels(const std::string& format) const;
};

struct Photographs {
  ImageInfo info;
  std::vector<Photograph> images;
  double encode_seconds = 0;
};

// At most eight: of the files in `folder` that are images, by their names; of
// none, made up, with the contrast and grain of photographs. Each is cut to
// width x height, and continued in a mirror where it is smaller. Uses all
// processors, and leaves no thread. Errors: NotFound for a folder without an
// image; those of decoding and encoding.
Status MakePhotographs(const std::string& folder, uint32_t width,
                       uint32_t height, Photographs* photographs);

// At most eight of the folder's JPEG files as they are, with entry points; only
// RGB files that can have them. Errors: NotFound for a folder that cannot be
// read.
Status ReadJpegs(const std::string& folder, std::vector<IndexedJpeg>* jpegs);

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_BENCH_PHOTOGRAPHS_H_
