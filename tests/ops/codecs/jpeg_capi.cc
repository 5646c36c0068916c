// The decoders of JPEG for Python's ctypes: a benchmark compares them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/codecs/jpeg/baseline/baseline_targets.h"
#include "ops/codecs/jpeg/jpeg_codec.h"
#include "ops/codecs/jpeg/jpeg_index.h"
#include "ops/codecs/jpeg/jpeg_library.h"
#include "ops/codecs/vector_target.h"

#define LIQUID_TEXT_OF(words) #words
#define LIQUID_TEXT(macro) LIQUID_TEXT_OF(macro)
#define LIQUID_EXPORT __attribute__((visibility("default")))

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
  liquid::Status status;
  if (target < 0) {
    status =
        liquid::DecodeJpegByLibrary(bytes, limits, info, part, out, stride);
  } else {
    const liquid::ScopedBaselineTarget scoped(
        liquid::RunnableTargets()[static_cast<size_t>(target)]);
    status = index_size == 0
                 ? liquid::DecodeJpeg(bytes, limits, info, part, out, stride)
                 : liquid::DecodeJpegIndexed(bytes, entries, limits, info, part,
                                             out, stride);
  }
  return status.ok() ? 0 : 1;
}

}  // extern "C"
