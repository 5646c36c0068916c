// The resampler for Python's ctypes.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/image/resample.h"
#include "ops/image/resample_targets.h"

namespace {

template <typename T>
class Copy : public liquid::RowWriter<T> {
 public:
  Copy(T* out, size_t size) : out_(out), size_(size) {}
  void Row(uint32_t y, const T* row) override {
    std::copy_n(row, size_, out_ + y * size_);
  }

 private:
  T* const out_;
  const size_t size_;
};

template <typename T>
void Run(const liquid::Resampler& resampler, const void* image, size_t width,
         size_t channels, size_t part_width, void* out) {
  static liquid::ResampleScratch scratch;
  const liquid::Window& needed = resampler.needed();
  const T* const first =
      static_cast<const T*>(image) + (needed.y * width + needed.x) * channels;
  Copy<T> copy(static_cast<T*>(out), part_width * channels);
  resampler.Run(first, width * channels, channels, &copy, &scratch);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int targets() {
  return static_cast<int>(liquid::ResampleRunnableTargets().size());
}

// Resizes the dense image `in`. `part` is y, x, height, width. Returns 0, or 1
// for a refused specification.
__attribute__((visibility("default"))) int resample(
    const void* in, uint32_t height, uint32_t width, uint32_t channels,
    uint32_t bits, uint32_t out_height, uint32_t out_width,
    const uint32_t* part, int interpolation, int antialias, int target,
    void* out) {
  const liquid::ScopedResampleTarget scoped(
      liquid::ResampleRunnableTargets()[target]);
  liquid::ResampleSpec spec;
  spec.in_height = height;
  spec.in_width = width;
  spec.out_height = out_height;
  spec.out_width = out_width;
  spec.part = {part[0], part[1], part[2], part[3]};
  spec.interpolation = static_cast<liquid::Interpolation>(interpolation);
  spec.antialias = antialias != 0;
  spec.bits = bits;
  static liquid::Resampler resampler;
  if (!resampler.Reset(spec).ok()) return 1;
  if (bits == 8) {
    Run<uint8_t>(resampler, in, width, channels, spec.part.width, out);
  } else {
    Run<uint16_t>(resampler, in, width, channels, spec.part.width, out);
  }
  return 0;
}

}  // extern "C"
