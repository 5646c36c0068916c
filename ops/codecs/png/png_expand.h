// Stored samples of a PNG to pixels: bits become bytes, a palette becomes
// colours, and a tRNS chunk becomes alpha.
#ifndef LIQUID_OPS_CODECS_PNG_PNG_EXPAND_H_
#define LIQUID_OPS_CODECS_PNG_PNG_EXPAND_H_

#include <cstddef>
#include <cstdint>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/png/png_layout.h"

namespace liquid {

// Expands defiltered rows of one image. It refers to the layout's bytes, which
// must outlive it. One thread at a time.
class PngExpander {
 public:
  // `layout` was filled by ParsePng.
  explicit PngExpander(const PngLayout& layout);

  // Takes memory for a row of samples. Error: ResourceExhausted.
  Status Allocate();

  // Writes the pixels `x` to `x + width - 1` of a defiltered row, in the host's
  // byte order; `width` is at most that of the image.
  void Expand(const uint8_t* row, size_t x, size_t width, uint8_t* out);

 private:
  void ExpandPalette(const uint8_t* indices, size_t width, uint8_t* out) const;
  void ExpandGray(const uint8_t* samples, size_t width, uint8_t* out) const;
  void ExpandKeyed(const uint8_t* samples, size_t width, uint8_t* out) const;

  const PngLayout& layout_;
  const size_t stored_bytes_;  // of a pixel, samples of few bits taken as bytes
  const bool keyed_;           // a tRNS chunk names one colour
  uint8_t gray_scale_ = 1;     // from samples of few bits to 8
  uint8_t key_[6] = {};        // that colour, as a pixel is stored
  uint8_t colors_[256][4] = {};
  Buffer samples_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_PNG_PNG_EXPAND_H_
