// From decoded rows to rows of a batch: mirrored, normalised, in the type and
// layout that was asked for.
#ifndef LIQUID_OPS_IMAGE_FINISH_H_
#define LIQUID_OPS_IMAGE_FINISH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/core/status.h"
#include "ops/image/finish_kernels.h"

namespace liquid {

enum class PixelType : uint8_t {
  kUint8,
  kUint16,
  kFloat32,
  kFloat16,
  kBfloat16,
};

size_t BytesOf(PixelType type);

struct FinishSpec {
  PixelType stored = PixelType::kUint8;  // kUint8 or kUint16
  PixelType type = PixelType::kUint8;    // the stored one, or a float
  size_t channels = 3;
  // Nothing, one number, or one for each channel: what is subtracted, and by
  // what the difference is then divided, each in float32 and rounded once.
  std::vector<float> mean;
  std::vector<float> std;
  // In place of `mean`: of every value of the result, [height, width,
  // channels].
  std::vector<float> mean_image;
  size_t mean_height = 0;
  size_t mean_width = 0;
  bool channels_first = false;
};

// The mean image of a spec, its values in the order of those of the result.
std::vector<float> MeanInLayout(const FinishSpec& spec);
// Error: InvalidArgument where images of that size have a mean image of
// another one.
Status CheckMeanSize(size_t mean_height, size_t mean_width, size_t height,
                     size_t width);

// Immutable, and so thread-safe.
class Finisher {
 public:
  // Error: InvalidArgument for numbers that do not fit the channels, or that
  // are given for a result of integers.
  static Status Create(const FinishSpec& spec, Finisher* finisher);

  const FinishSpec& spec() const { return spec_; }
  // Whether rows come out as they are, but for mirroring.
  bool copies() const {
    return spec_.type == spec_.stored && !spec_.channels_first;
  }
  size_t ImageBytes(size_t height, size_t width) const {
    return height * width * spec_.channels * BytesOf(spec_.type);
  }
  // What Row needs beside it, in bytes.
  size_t ScratchBytes(size_t width) const {
    return 2 * width * spec_.channels * BytesOf(spec_.stored);
  }
  // Error: InvalidArgument where the mean image is of another size.
  Status CheckSize(size_t height, size_t width) const;

  // Bytes of a stored pixel.
  size_t PixelBytes() const { return spec_.channels * BytesOf(spec_.stored); }

  // Writes row `y`, of `width` pixels of the stored type, into an image of
  // `height` rows at `image`, aligned to its type. `scratch` may be null where
  // copies().
  void Row(const void* row, size_t height, size_t width, size_t y,
           bool mirrored, void* scratch, void* image) const;

  // Row `y` by itself, of a type of float32: channels together, or one after
  // the other.
  void FloatRow(const void* row, size_t height, size_t width, size_t y,
                void* scratch, float* out) const;

  // Puts values that need no more than to be rounded, channels last, into `n`
  // pixels from (y, x) on. Requires a floating-point type.
  void Put(const float* values, size_t height, size_t width, size_t y, size_t x,
           size_t n, void* image) const;

  // Writes `n` such values where they belong; or first mixes two of them, in
  // float32, each product and the sum rounded. Require a floating-point type.
  void Round(const float* values, size_t n, uint8_t* out) const;
  void Mix(const float* a, const float* b, float share, float rest, size_t n,
           uint8_t* out) const;

 private:
  // Where a row goes: its first value, and the bytes between channels that lie
  // one after the other.
  struct Place {
    uint8_t* first;
    size_t plane;
  };

  template <typename T>
  void MirrorTo(const T* row, size_t width, uint8_t* out) const;
  template <typename T>
  void Write(const T* row, size_t n, const float* mean, size_t mean_step,
             const float* std, uint8_t* out) const;
  template <typename T>
  void WriteRow(const T* row, size_t height, size_t width, size_t y,
                bool mirrored, T* scratch, const Place& place) const;
  void WriteAny(const void* row, size_t height, size_t width, size_t y,
                bool mirrored, void* scratch, const Place& place) const;

  FinishSpec spec_;
  const FinishKernels* kernels_ = nullptr;
  // kFinishPeriod numbers each: interleaved, or by channel one after the other.
  std::vector<float> means_;
  std::vector<float> stds_;
  std::vector<float> planes_;  // the mean image in the result's layout
};

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_FINISH_H_
