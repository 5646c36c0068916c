#include "ops/codecs/bmp/bmp_codec.h"

#include <algorithm>
#include <cstring>

#include "ops/codecs/codec_util.h"

namespace liquid {
namespace {

constexpr size_t kFileHeaderBytes = 14;
constexpr size_t kV4HeaderBytes = 108;

enum Compression : uint32_t {
  kUncompressed = 0,
  kBitFields = 3,
  kAlphaBitFields = 6,
};

struct Layout {
  ImageInfo info;
  bool top_down = false;
  int bits_per_pixel = 0;
  size_t pixel_offset = 0;
  size_t row_bytes = 0;               // on disk, padded to 4
  uint8_t byte_of[4] = {2, 1, 0, 3};  // where R, G, B, A lie in a pixel
  uint8_t palette[256][3] = {};       // RGB
};

Status Damaged(const std::string& what) { return DataLoss("bmp: " + what); }

// Finds the byte that a mask of BITFIELDS selects.
bool ByteOfMask(uint32_t mask, uint8_t* byte) {
  for (uint8_t i = 0; i < 4; ++i) {
    if (mask == uint32_t{0xFF} << (8 * i)) {
      *byte = i;
      return true;
    }
  }
  return false;
}

Status ReadMasks(ByteSpan bytes, uint32_t header_bytes, uint32_t compression,
                 Layout* layout) {
  const size_t masks = kFileHeaderBytes + 40;
  const bool has_alpha_mask =
      header_bytes >= 56 || compression == kAlphaBitFields;
  if (bytes.size < masks + (has_alpha_mask ? 16 : 12)) {
    return Damaged("the file ends inside its colour masks");
  }
  bool whole_bytes = true;
  for (int channel = 0; channel < 3; ++channel) {
    whole_bytes = whole_bytes &&
                  ByteOfMask(LoadLittle32(bytes.data + masks + 4 * channel),
                             &layout->byte_of[channel]);
  }
  const uint32_t alpha =
      has_alpha_mask ? LoadLittle32(bytes.data + masks + 12) : 0;
  if (alpha != 0) {
    whole_bytes = whole_bytes && ByteOfMask(alpha, &layout->byte_of[3]);
    layout->info.channels = 4;
  }
  if (!whole_bytes) {
    return Unimplemented(
        "bmp: colour masks that are not whole bytes are not supported");
  }
  return OkStatus();
}

Status ReadPalette(ByteSpan bytes, size_t start, size_t entry_bytes,
                   uint32_t stated_colors, Layout* layout) {
  const size_t colors =
      stated_colors == 0 || stated_colors > 256 ? 256 : stated_colors;
  if (start > layout->pixel_offset || layout->pixel_offset > bytes.size) {
    return Damaged("the palette goes past the pixels or the end of the file");
  }
  // Some writers state 256 colours and store fewer: those missing are black.
  const size_t stored =
      std::min(colors, (layout->pixel_offset - start) / entry_bytes);
  bool is_gray_ramp = stored == 256;
  for (size_t i = 0; i < stored; ++i) {
    const uint8_t* entry = bytes.data + start + i * entry_bytes;
    for (int channel = 0; channel < 3; ++channel) {
      layout->palette[i][channel] = entry[2 - channel];
      is_gray_ramp = is_gray_ramp && entry[channel] == i;
    }
  }
  layout->info.channels = is_gray_ramp ? 1 : 3;
  return OkStatus();
}

Status ReadLayout(ByteSpan bytes, const DecodeLimits& limits, Layout* layout) {
  if (bytes.size < kFileHeaderBytes + 4 || bytes.data[0] != 'B' ||
      bytes.data[1] != 'M') {
    return Damaged("no header that begins with \"BM\"");
  }
  const uint8_t* p = bytes.data;
  const uint32_t header_bytes = LoadLittle32(p + 14);
  layout->pixel_offset = LoadLittle32(p + 10);
  const bool is_core = header_bytes == 12;
  if (!is_core && header_bytes != 40 && header_bytes != 52 &&
      header_bytes != 56 && header_bytes != 64 && header_bytes != 108 &&
      header_bytes != 124) {
    return Damaged("header size at offset 14 (" + std::to_string(header_bytes) +
                   ") must be 12, 40, 52, 56, 64, 108 or 124");
  }
  const size_t headers = kFileHeaderBytes + header_bytes;
  if (bytes.size < headers) return Damaged("the file ends inside its header");

  int64_t width, height;
  int planes;
  uint32_t compression = kUncompressed, colors = 0;
  if (is_core) {
    width = LoadLittle16(p + 18);
    height = LoadLittle16(p + 20);
    planes = LoadLittle16(p + 22);
    layout->bits_per_pixel = LoadLittle16(p + 24);
  } else {
    width = static_cast<int32_t>(LoadLittle32(p + 18));
    height = static_cast<int32_t>(LoadLittle32(p + 22));
    planes = LoadLittle16(p + 26);
    layout->bits_per_pixel = LoadLittle16(p + 28);
    compression = LoadLittle32(p + 30);
    colors = LoadLittle32(p + 46);
  }
  if (width < 0 || planes != 1) {
    return Damaged("the header states a negative width or planes (" +
                   std::to_string(planes) + ") other than 1");
  }
  layout->top_down = height < 0;
  height = height < 0 ? -height : height;
  const int depth = layout->bits_per_pixel;
  const bool has_masks =
      depth == 32 &&
      (compression == kBitFields || compression == kAlphaBitFields) &&
      header_bytes != 64;
  if ((depth != 8 && depth != 24 && depth != 32) ||
      (compression != kUncompressed && !has_masks)) {
    return Unimplemented(
        "bmp: " + std::to_string(depth) + " bits per pixel with compression " +
        std::to_string(compression) +
        " is not supported; 8, 24 and 32 bits uncompressed are, and 32 bits "
        "with masks (3, 6)");
  }
  LIQUID_RETURN_IF_ERROR(CheckImageSize("bmp", static_cast<uint64_t>(height),
                                        static_cast<uint64_t>(width), limits));
  layout->info.height = static_cast<uint32_t>(height);
  layout->info.width = static_cast<uint32_t>(width);
  layout->info.channels = 3;
  layout->info.bits = 8;
  if (has_masks) {
    LIQUID_RETURN_IF_ERROR(ReadMasks(bytes, header_bytes, compression, layout));
  } else if (depth == 8) {
    LIQUID_RETURN_IF_ERROR(
        ReadPalette(bytes, headers, is_core ? 3 : 4, colors, layout));
  }
  layout->row_bytes =
      (static_cast<size_t>(width) * static_cast<size_t>(depth) + 31) / 32 * 4;
  const uint64_t pixel_bytes = uint64_t{layout->row_bytes} * height;
  if (layout->pixel_offset < headers || layout->pixel_offset > bytes.size ||
      pixel_bytes > bytes.size - layout->pixel_offset) {
    return Damaged(std::to_string(pixel_bytes) + " bytes of pixels at offset " +
                   std::to_string(layout->pixel_offset) +
                   " do not lie behind the header and inside the file of " +
                   std::to_string(bytes.size) + " bytes");
  }
  return OkStatus();
}

void DecodeRow(const Layout& layout, const uint8_t* from, size_t width,
               uint8_t* to) {
  const size_t channels = layout.info.channels;
  if (layout.bits_per_pixel == 8) {
    if (channels == 1) {
      std::memcpy(to, from, width);
      return;
    }
    for (size_t x = 0; x < width; ++x) {
      std::memcpy(to + 3 * x, layout.palette[from[x]], 3);
    }
    return;
  }
  if (layout.bits_per_pixel == 24) {
    for (size_t x = 0; x < width; ++x, from += 3, to += 3) {
      to[0] = from[2];
      to[1] = from[1];
      to[2] = from[0];
    }
    return;
  }
  for (size_t x = 0; x < width; ++x, from += 4, to += channels) {
    for (size_t channel = 0; channel < channels; ++channel) {
      to[channel] = from[layout.byte_of[channel]];
    }
  }
}

}  // namespace

Status PeekBmp(ByteSpan bytes, const DecodeLimits& limits, ImageInfo* info) {
  Layout layout;
  LIQUID_RETURN_IF_ERROR(ReadLayout(bytes, limits, &layout));
  *info = layout.info;
  return OkStatus();
}

Status DecodeBmp(ByteSpan bytes, const DecodeLimits& limits,
                 const ImageInfo& expected, const Window& window, uint8_t* out,
                 size_t row_stride) {
  Layout layout;
  LIQUID_RETURN_IF_ERROR(ReadLayout(bytes, limits, &layout));
  LIQUID_RETURN_IF_ERROR(
      CheckRequest("bmp", layout.info, expected, window, row_stride));
  const uint8_t* pixels = bytes.data + layout.pixel_offset;
  const size_t left = size_t{window.x} * layout.bits_per_pixel / 8;
  for (size_t y = 0; y < window.height; ++y) {
    const size_t row = window.y + y;
    const size_t stored_row =
        layout.top_down ? row : layout.info.height - 1 - row;
    DecodeRow(layout, pixels + stored_row * layout.row_bytes + left,
              window.width, out + y * row_stride);
  }
  return OkStatus();
}

Status EncodeBmp(const EncodeOptions& /*options*/, const ImageInfo& info,
                 const uint8_t* pixels, std::string* out) {
  const size_t row_bytes = (info.RowBytes() + 3) / 4 * 4;
  const size_t header_bytes = info.channels == 4 ? kV4HeaderBytes : 40;
  const size_t palette_bytes = info.channels == 1 ? 1024 : 0;
  const size_t offset = kFileHeaderBytes + header_bytes + palette_bytes;
  const uint64_t size = offset + uint64_t{row_bytes} * info.height;
  if (size > UINT32_MAX || info.height > INT32_MAX || info.width > INT32_MAX) {
    return InvalidArgument("bmp: an image of " + DescribeImage(info) +
                           " is over the 4 GiB that the format can state");
  }
  const size_t start = out->size();
  out->resize(start + size);
  uint8_t* p = reinterpret_cast<uint8_t*>(&(*out)[start]);
  p[0] = 'B';
  p[1] = 'M';
  StoreLittle32(static_cast<uint32_t>(size), p + 2);
  StoreLittle32(static_cast<uint32_t>(offset), p + 10);
  StoreLittle32(static_cast<uint32_t>(header_bytes), p + 14);
  StoreLittle32(info.width, p + 18);
  StoreLittle32(info.height, p + 22);
  StoreLittle16(1, p + 26);
  StoreLittle16(static_cast<uint16_t>(8 * info.channels), p + 28);
  StoreLittle32(static_cast<uint32_t>(size - offset), p + 34);
  StoreLittle32(2835, p + 38);  // 72 dots per inch, in dots per metre
  StoreLittle32(2835, p + 42);
  if (info.channels == 4) {
    StoreLittle32(kBitFields, p + 30);
    StoreLittle32(0x00FF0000, p + 54);
    StoreLittle32(0x0000FF00, p + 58);
    StoreLittle32(0x000000FF, p + 62);
    StoreLittle32(0xFF000000, p + 66);
    StoreLittle32(0x73524742, p + 70);  // colour space "sRGB"
  } else if (info.channels == 1) {
    StoreLittle32(256, p + 46);
    uint8_t* palette = p + kFileHeaderBytes + header_bytes;
    for (size_t i = 0; i < 256; ++i) {
      std::memset(palette + 4 * i, static_cast<int>(i), 3);
    }
  }
  for (size_t y = 0; y < info.height; ++y) {
    const uint8_t* from = pixels + y * info.RowBytes();
    uint8_t* to = p + offset + (info.height - 1 - y) * row_bytes;
    if (info.channels == 1) {
      std::memcpy(to, from, info.width);
      continue;
    }
    for (size_t x = 0; x < info.width; ++x) {
      to[0] = from[2];
      to[1] = from[1];
      to[2] = from[0];
      if (info.channels == 4) to[3] = from[3];
      from += info.channels;
      to += info.channels;
    }
  }
  return OkStatus();
}

}  // namespace liquid
