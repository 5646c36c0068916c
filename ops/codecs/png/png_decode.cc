#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/png/png_codec.h"
#include "ops/codecs/png/png_defilter.h"
#include "ops/codecs/png/png_fallback.h"
#include "ops/codecs/png/png_layout.h"

namespace liquid {
namespace {

// A deflate stream of n bytes cannot give more than 1032 n (a match of 258
// bytes takes at least two bits), so a small file that claims a huge image is
// refused before memory is taken for it.
constexpr uint64_t kMaxDeflateRatio = 1032;

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* decompressor) const {
    libdeflate_free_decompressor(decompressor);
  }
};

// Inflates the image's zlib stream, which must give exactly `size` bytes and
// have the right Adler-32, into a new buffer with kPngRowPadding bytes more.
Status Inflate(const PngLayout& layout, Buffer* filtered) {
  const uint64_t size = layout.FilteredBytes();
  if (size / kMaxDeflateRatio > layout.data_bytes) {
    return DataLoss("png: " + std::to_string(layout.data_bytes) +
                    " bytes of IDAT cannot hold the image of " +
                    DescribeImage(layout.Info()) + " that IHDR states");
  }
  ByteSpan stream = layout.data[0];
  Buffer joined;
  if (layout.data.size() > 1) {
    joined = AllocateBuffer(layout.data_bytes);
    if (joined == nullptr) return OutOfMemory("png", layout.data_bytes);
    size_t at = 0;
    for (const ByteSpan& part : layout.data) {
      std::memcpy(joined.get() + at, part.data, part.size);
      at += part.size;
    }
    stream = ByteSpan(joined.get(), at);
  }
  *filtered = AllocateBuffer(size + kPngRowPadding);
  const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(
      libdeflate_alloc_decompressor());
  if (*filtered == nullptr || decompressor == nullptr) {
    return OutOfMemory("png", size);
  }
  std::memset(filtered->get() + size, 0, kPngRowPadding);
  switch (libdeflate_zlib_decompress(decompressor.get(), stream.data,
                                     stream.size, filtered->get(), size,
                                     nullptr)) {
    case LIBDEFLATE_SUCCESS:
      return OkStatus();
    case LIBDEFLATE_SHORT_OUTPUT:
      return DataLoss(
          "png: the IDAT chunks hold fewer pixels than IHDR states,"
          " an image of " +
          DescribeImage(layout.Info()));
    case LIBDEFLATE_INSUFFICIENT_SPACE:
      return DataLoss(
          "png: the IDAT chunks hold more pixels than IHDR states,"
          " an image of " +
          DescribeImage(layout.Info()));
    default:
      return DataLoss(
          "png: the zlib stream in the IDAT chunks is damaged or cut off");
  }
}

// Copies defiltered samples to the caller's memory in the host's byte order.
void CopySamples(const uint8_t* from, size_t size, int bits, uint8_t* to) {
  if (bits == 8 || !kHostIsLittleEndian) {
    std::memcpy(to, from, size);
    return;
  }
  for (size_t i = 0; i + 1 < size; i += 2) {
    const uint8_t high = from[i];
    to[i] = from[i + 1];
    to[i + 1] = high;
  }
}

// The colours of a palette as the bytes of an output pixel. Indices past its
// end, which PNG forbids, are opaque black, as libpng has it.
struct Palette {
  size_t channels = 3;
  uint8_t colors[256][4] = {};

  explicit Palette(const PngLayout& layout) {
    channels = layout.has_transparency ? 4 : 3;
    for (size_t i = 0; i < 256; ++i) {
      if (3 * i + 2 < layout.palette.size) {
        std::memcpy(colors[i], layout.palette.data + 3 * i, 3);
      }
      colors[i][3] =
          i < layout.transparency.size ? layout.transparency.data[i] : 255;
    }
  }

  void Expand(const uint8_t* indices, size_t width, uint8_t* out) const {
    for (size_t x = 0; x < width; ++x, out += channels) {
      std::memcpy(out, colors[indices[x]], channels);
    }
  }
};

// Images whose stored samples are whole bytes in the order of the output (or
// indices): defiltered a group of rows at a time, so that a group is still in
// the nearest cache when it is copied out.
Status DecodeFast(const PngLayout& layout, const Window& window,
                  Buffer filtered, uint8_t* out, size_t row_stride) {
  const ImageInfo info = layout.Info();
  const bool indexed = layout.color == kPngPalette;
  const size_t pixel_bytes = indexed ? 1 : info.BytesPerPixel();
  const size_t row_bytes = info.width * pixel_bytes;
  const size_t pitch = 1 + row_bytes;
  const Buffer zeros = AllocateBuffer(row_bytes + kPngRowPadding);
  if (zeros == nullptr) return OutOfMemory("png", row_bytes);
  std::memset(zeros.get(), 0, row_bytes + kPngRowPadding);
  std::unique_ptr<Palette> palette;
  if (indexed) palette = std::make_unique<Palette>(layout);

  const uint8_t* above = zeros.get();
  const size_t end = size_t{window.y} + window.height;
  for (size_t y = 0; y < end; y += kPngRowGroup) {
    const size_t rows = std::min<size_t>(kPngRowGroup, info.height - y);
    uint8_t* group = filtered.get() + y * pitch;
    const Status status =
        DefilterPngRows(group, rows, row_bytes, pixel_bytes, above);
    if (!status.ok()) {
      return DataLoss(status.message() + " in rows " + std::to_string(y) +
                      " to " + std::to_string(y + rows - 1));
    }
    for (size_t k = 0; k < rows; ++k) {
      if (y + k < window.y || y + k >= end) continue;
      const uint8_t* from = group + k * pitch + 1 + window.x * pixel_bytes;
      uint8_t* to = out + (y + k - window.y) * row_stride;
      if (indexed) {
        palette->Expand(from, window.width, to);
      } else {
        CopySamples(from, window.width * pixel_bytes, info.bits, to);
      }
    }
    above = group + (rows - 1) * pitch + 1;
  }
  return OkStatus();
}

Status DecodeRare(const PngLayout& layout, const Window& window, uint8_t* out,
                  size_t row_stride) {
  const ImageInfo info = layout.Info();
  if (CoversImage(window, info) && row_stride == info.RowBytes()) {
    return DecodePngWithSpng(layout, out);
  }
  const Buffer pixels = AllocateBuffer(info.PixelBytes());
  if (pixels == nullptr) return OutOfMemory("png", info.PixelBytes());
  LIQUID_RETURN_IF_ERROR(DecodePngWithSpng(layout, pixels.get()));
  for (size_t y = 0; y < window.height; ++y) {
    std::memcpy(out + y * row_stride,
                pixels.get() + (window.y + y) * info.RowBytes() +
                    window.x * info.BytesPerPixel(),
                window.width * info.BytesPerPixel());
  }
  return OkStatus();
}

}  // namespace

Status PeekPng(ByteSpan bytes, const DecodeLimits& limits, ImageInfo* info) {
  PngLayout layout;
  LIQUID_RETURN_IF_ERROR(ParsePngHeader(bytes, limits, &layout));
  *info = layout.Info();
  return OkStatus();
}

Status DecodePng(ByteSpan bytes, const DecodeLimits& limits,
                 const ImageInfo& expected, const Window& window, uint8_t* out,
                 size_t row_stride) {
  PngLayout layout;
  LIQUID_RETURN_IF_ERROR(ParsePng(bytes, limits, &layout));
  LIQUID_RETURN_IF_ERROR(
      CheckRequest("png", layout.Info(), expected, window, row_stride));
  // The rare kinds are inflated here as well, which is how the sizes and the
  // checksum of every PNG are held to the same rules.
  Buffer filtered;
  LIQUID_RETURN_IF_ERROR(Inflate(layout, &filtered));
  const bool is_color_key =
      layout.has_transparency && layout.color != kPngPalette;
  if (layout.interlaced || layout.bit_depth < 8 || is_color_key) {
    filtered.reset();
    return DecodeRare(layout, window, out, row_stride);
  }
  return DecodeFast(layout, window, std::move(filtered), out, row_stride);
}

}  // namespace liquid
