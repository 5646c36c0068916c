#include "ops/codecs/png/png_expand.h"

#include <cstring>

namespace liquid {
namespace {

size_t StoredBytes(const PngLayout& layout) {
  return layout.Channels() * (layout.bit_depth == 16 ? 2 : 1);
}

// Samples of 1, 2 or 4 bits, the first in the highest bits, to a byte each.
void Unpack(const uint8_t* row, size_t x, size_t width, int depth,
            uint8_t* samples) {
  const size_t each = 8 / depth;
  const int mask = (1 << depth) - 1;
  for (size_t i = 0; i < width; ++i, ++x) {
    const int shift = 8 - depth * static_cast<int>(x % each + 1);
    samples[i] = static_cast<uint8_t>(row[x / each] >> shift & mask);
  }
}

// Copies samples to the host's byte order.
void CopySamples(const uint8_t* from, size_t size, bool deep, uint8_t* to) {
  if (!deep || !kHostIsLittleEndian) {
    std::memcpy(to, from, size);
    return;
  }
  for (size_t i = 0; i + 1 < size; i += 2) {
    const uint8_t high = from[i];
    to[i] = from[i + 1];
    to[i + 1] = high;
  }
}

}  // namespace

PngExpander::PngExpander(const PngLayout& layout)
    : layout_(layout),
      stored_bytes_(StoredBytes(layout)),
      keyed_(layout.has_transparency && layout.color != kPngPalette) {
  const uint8_t* transparency = layout.transparency.data;
  if (layout.color == kPngPalette) {
    // Indices past the palette's end, which PNG forbids, are opaque black, as
    // libpng has it.
    for (size_t i = 0; i < 256; ++i) {
      if (3 * i + 2 < layout.palette.size) {
        std::memcpy(colors_[i], layout.palette.data + 3 * i, 3);
      }
      colors_[i][3] = i < layout.transparency.size ? transparency[i] : 255;
    }
    return;
  }
  if (layout.bit_depth < 8) {
    gray_scale_ = static_cast<uint8_t>(255 / ((1 << layout.bit_depth) - 1));
  }
  if (!keyed_) return;
  // tRNS states 16 bits for each sample, of which a smaller depth uses the
  // lowest.
  if (layout.bit_depth == 16) {
    std::memcpy(key_, transparency, stored_bytes_);
    return;
  }
  const int mask = (1 << layout.bit_depth) - 1;
  for (size_t i = 0; i < stored_bytes_; ++i) {
    key_[i] = static_cast<uint8_t>(transparency[2 * i + 1] & mask);
  }
}

Status PngExpander::Allocate() {
  if (layout_.bit_depth >= 8) return OkStatus();
  samples_ = AllocateBuffer(layout_.width);
  return samples_ == nullptr ? OutOfMemory("png", layout_.width) : OkStatus();
}

void PngExpander::Expand(const uint8_t* row, size_t x, size_t width,
                         uint8_t* out) {
  const uint8_t* samples = row + x * stored_bytes_;
  if (layout_.bit_depth < 8) {
    Unpack(row, x, width, layout_.bit_depth, samples_.get());
    samples = samples_.get();
  }
  if (layout_.color == kPngPalette) {
    ExpandPalette(samples, width, out);
  } else if (keyed_) {
    ExpandKeyed(samples, width, out);
  } else if (layout_.bit_depth < 8) {
    ExpandGray(samples, width, out);
  } else {
    CopySamples(samples, width * stored_bytes_, layout_.bit_depth == 16, out);
  }
}

void PngExpander::ExpandPalette(const uint8_t* indices, size_t width,
                                uint8_t* out) const {
  const size_t channels = layout_.has_transparency ? 4 : 3;
  for (size_t x = 0; x < width; ++x, out += channels) {
    std::memcpy(out, colors_[indices[x]], channels);
  }
}

void PngExpander::ExpandGray(const uint8_t* samples, size_t width,
                             uint8_t* out) const {
  for (size_t x = 0; x < width; ++x) {
    out[x] = static_cast<uint8_t>(samples[x] * gray_scale_);
  }
}

void PngExpander::ExpandKeyed(const uint8_t* samples, size_t width,
                              uint8_t* out) const {
  const bool deep = layout_.bit_depth == 16;
  const size_t alpha_bytes = deep ? 2 : 1;
  for (size_t x = 0; x < width; ++x, samples += stored_bytes_) {
    const bool is_key = std::memcmp(samples, key_, stored_bytes_) == 0;
    if (layout_.bit_depth < 8) {
      ExpandGray(samples, 1, out);
    } else {
      CopySamples(samples, stored_bytes_, deep, out);
    }
    std::memset(out + stored_bytes_, is_key ? 0 : 255, alpha_bytes);
    out += stored_bytes_ + alpha_bytes;
  }
}

}  // namespace liquid
