// The decoders of JPEG for Python's ctypes: a benchmark compares them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "ops/codecs/jpeg/baseline/baseline_targets.h"
#include "ops/codecs/jpeg/jpeg_codec.h"
#include "ops/codecs/jpeg/jpeg_errors.h"
#include "ops/codecs/jpeg/jpeg_index.h"
#include "ops/codecs/jpeg/jpeg_library.h"
#include "ops/codecs/vector_target.h"

#define LIQUID_TEXT_OF(words) #words
#define LIQUID_TEXT(macro) LIQUID_TEXT_OF(macro)
#define LIQUID_EXPORT __attribute__((visibility("default")))

namespace {

// Decodes a window as programs do that know libjpeg-turbo: rows above it are
// skipped, and columns beside it cut off, but for a block that fancy upsampling
// looks at. `row` has room for a row of the image. False for an error.
bool DecodeByCrop(const liquid::ByteSpan& file, const liquid::Window& window,
                  uint8_t* row, uint8_t* out) {
  jpeg_decompress_struct library;
  liquid::JpegErrors errors;
  library.err = errors.Init();
  if (setjmp(errors.jump) != 0) {
    jpeg_destroy_decompress(&library);
    return false;
  }
  jpeg_create_decompress(&library);
  jpeg_mem_src(&library, file.data, file.size);
  jpeg_read_header(&library, TRUE);
  library.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&library);
  const JDIMENSION across = DCTSIZE * library.max_h_samp_factor;
  const JDIMENSION down = DCTSIZE * library.max_v_samp_factor;
  JDIMENSION left = window.x < across ? 0 : window.x - across;
  JDIMENSION width =
      std::min(library.output_width, window.x + window.width + across) - left;
  if (width < library.output_width) {
    jpeg_crop_scanline(&library, &left, &width);
  }
  if (window.y >= 2 * down) {
    jpeg_skip_scanlines(&library, (window.y / down - 1) * down);
  }
  const size_t pixel = library.output_components;
  while (library.output_scanline < window.y + window.height) {
    const JDIMENSION y = library.output_scanline;
    jpeg_read_scanlines(&library, &row, 1);
    if (y < window.y) continue;
    std::memcpy(out + (y - window.y) * window.width * pixel,
                row + (window.x - left) * pixel, window.width * pixel);
  }
  jpeg_destroy_decompress(&library);
  return true;
}

}  // namespace

extern "C" {

// The version of libjpeg-turbo.
LIQUID_EXPORT const char* library_version() {
  return LIQUID_TEXT(LIBJPEG_TURBO_VERSION);
}

// The name of the vector set of this number; null where there are no more.
LIQUID_EXPORT const char* target_name(size_t number) {
  const std::vector<liquid::VectorTarget> targets = liquid::RunnableTargets();
  return number < targets.size() ? liquid::VectorTargetName(targets[number])
                                 : nullptr;
}

// Writes the file's index to `out`, of `room` bytes. Returns its size: 0 where
// the library has to decode the file; -1 for an error, or too little room.
LIQUID_EXPORT int64_t make_index(const void* file, size_t size,
                                 uint32_t spacing, void* out, size_t room) {
  std::string index;
  const liquid::Status status = liquid::AppendJpegIndex(
      {file, size}, liquid::DecodeLimits(), spacing, &index);
  if (!status.ok() || index.size() > room) return -1;
  std::copy(index.begin(), index.end(), static_cast<char*>(out));
  return static_cast<int64_t>(index.size());
}

// Decodes `window` (y, x, height, width) into dense pixels, by the vector set
// of this number, or by the library where that is negative. `index` may be
// empty; `image` is the file's height, width and channels. Returns 0, or 1 for
// an error.
LIQUID_EXPORT int decode(const void* file, size_t size, const void* index,
                         size_t index_size, const uint32_t* image,
                         const uint32_t* window, int target, uint8_t* out) {
  liquid::ImageInfo info;
  info.height = image[0];
  info.width = image[1];
  info.channels = static_cast<uint8_t>(image[2]);
  const liquid::Window part = {window[0], window[1], window[2], window[3]};
  const size_t stride = part.width * info.BytesPerPixel();
  const liquid::ByteSpan bytes(file, size), entries(index, index_size);
  const liquid::DecodeLimits limits;
  const bool whole = part.height == info.height && part.width == info.width;
  liquid::Status status;
  if (target >= 0) {
    const liquid::ScopedBaselineTarget scoped(
        liquid::RunnableTargets()[static_cast<size_t>(target)]);
    status = liquid::DecodeJpegDraft(bytes, entries, limits, info, 1, part, out,
                                     stride);
  } else if (whole) {
    status =
        liquid::DecodeJpegByLibrary(bytes, limits, info, 1, part, out, stride);
  } else {
    std::vector<uint8_t> row(info.RowBytes());
    return DecodeByCrop(bytes, part, row.data(), out) ? 0 : 1;
  }
  return status.ok() ? 0 : 1;
}

}  // extern "C"
