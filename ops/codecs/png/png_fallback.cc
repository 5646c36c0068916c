#include "ops/codecs/png/png_fallback.h"

#include <spng.h>

#include <cstring>
#include <memory>
#include <string>

#include "ops/codecs/codec_util.h"

namespace liquid {
namespace {

struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};

// Writes chunks one after another; the caller has made room.
class Assembler {
 public:
  explicit Assembler(uint8_t* start) : at_(start) {
    std::memcpy(at_, "\x89PNG\r\n\x1a\n", 8);
    at_ += 8;
  }

  void Append(const char* type, ByteSpan data) {
    StoreBig32(static_cast<uint32_t>(data.size), at_);
    std::memcpy(at_ + 4, type, 4);
    if (data.size > 0) std::memcpy(at_ + 8, data.data, data.size);
    StoreBig32(0, at_ + 8 + data.size);  // the CRC, which is not looked at
    at_ += 12 + data.size;
  }

 private:
  uint8_t* at_;
};

// A file of only the chunks that make pixels, all of which have been checked.
// libspng gives up at damage in the others, and at a thousand of them.
Buffer Assemble(const PngLayout& layout, size_t* size) {
  uint8_t header[13] = {};
  StoreBig32(layout.width, header);
  StoreBig32(layout.height, header + 4);
  header[8] = layout.bit_depth;
  header[9] = layout.color;
  header[12] = layout.interlaced ? 1 : 0;
  *size = 8 + 12 * (4 + layout.data.size()) + sizeof(header) +
          layout.palette.size + layout.transparency.size + layout.data_bytes;
  Buffer file = AllocateBuffer(*size);
  if (file == nullptr) return file;
  std::memset(file.get(), 0, *size);
  Assembler assembler(file.get());
  assembler.Append("IHDR", ByteSpan(header, sizeof(header)));
  if (layout.palette.size > 0) assembler.Append("PLTE", layout.palette);
  if (layout.has_transparency) assembler.Append("tRNS", layout.transparency);
  for (const ByteSpan& data : layout.data) assembler.Append("IDAT", data);
  assembler.Append("IEND", ByteSpan());
  return file;
}

int OutputFormat(const PngLayout& layout) {
  const bool deep = layout.bit_depth == 16;
  switch (layout.color) {
    case kPngGray:
      if (layout.has_transparency) return deep ? SPNG_FMT_GA16 : SPNG_FMT_GA8;
      return deep ? SPNG_FMT_PNG : SPNG_FMT_G8;
    case kPngRgb:
      if (!layout.has_transparency) return SPNG_FMT_PNG;
      return deep ? SPNG_FMT_RGBA16 : SPNG_FMT_RGBA8;
    case kPngPalette:
      return layout.has_transparency ? SPNG_FMT_RGBA8 : SPNG_FMT_RGB8;
    default:
      return SPNG_FMT_PNG;
  }
}

}  // namespace

Status DecodePngWithSpng(const PngLayout& layout, uint8_t* pixels) {
  const auto failed = [](const char* step, int error) {
    return DataLoss(std::string("png: libspng ") + step + ": " +
                    spng_strerror(error));
  };
  size_t file_bytes = 0;
  const Buffer file = Assemble(layout, &file_bytes);
  const std::unique_ptr<spng_ctx, FreeContext> context(
      spng_ctx_new(SPNG_CTX_IGNORE_ADLER32));
  if (file == nullptr || context == nullptr) {
    return OutOfMemory("png", file_bytes);
  }
  int error = spng_set_image_limits(context.get(), INT32_MAX, INT32_MAX);
  if (error == 0) {
    error = spng_set_crc_action(context.get(), SPNG_CRC_USE, SPNG_CRC_USE);
  }
  if (error == 0) {
    error = spng_set_png_buffer(context.get(), file.get(), file_bytes);
  }
  const int format = OutputFormat(layout);
  size_t size = 0;
  if (error == 0) {
    error = spng_decoded_image_size(context.get(), format, &size);
  }
  if (error != 0) return failed("cannot start", error);
  if (size != layout.Info().PixelBytes()) {
    return DataLoss("png: libspng finds " + std::to_string(size) +
                    " bytes of pixels in an image of " +
                    DescribeImage(layout.Info()));
  }
  error = spng_decode_image(context.get(), pixels, size, format,
                            layout.has_transparency ? SPNG_DECODE_TRNS : 0);
  if (error != 0) return failed("cannot decode the pixels", error);
  return OkStatus();
}

}  // namespace liquid
