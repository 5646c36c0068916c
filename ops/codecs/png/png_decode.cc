#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/png/png_codec.h"
#include "ops/codecs/png/png_defilter.h"
#include "ops/codecs/png/png_expand.h"
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

// Where the pixels of a window go.
struct Target {
  const Window& window;
  uint8_t* out;
  size_t row_stride;
  size_t pixel_bytes;

  size_t EndRow() const { return size_t{window.y} + window.height; }
  size_t EndColumn() const { return size_t{window.x} + window.width; }
};

// Puts the defiltered rows of a pass into their places, one after another.
class PassWriter {
 public:
  PassWriter(const PngPass& pass, const Target& target, PngExpander* expander)
      : pass_(pass),
        target_(target),
        expander_(expander),
        first_(pass.Columns(target.window.x)),
        end_(pass.Columns(target.EndColumn())) {}

  // Error: ResourceExhausted.
  Status Allocate() {
    if (pass_.column_step == 1 || first_ == end_) return OkStatus();
    const size_t size = (end_ - first_) * target_.pixel_bytes;
    pixels_ = AllocateBuffer(size);
    return pixels_ == nullptr ? OutOfMemory("png", size) : OkStatus();
  }

  // After the last row that the window has.
  size_t EndRow() const { return pass_.Rows(target_.EndRow()); }

  // `row` is the number `index` of the pass.
  void Write(size_t index, const uint8_t* row) {
    const size_t y = pass_.first_row + index * pass_.row_step;
    if (y < target_.window.y || y >= target_.EndRow() || first_ == end_) return;
    uint8_t* to = target_.out + (y - target_.window.y) * target_.row_stride;
    if (pass_.column_step == 1) {
      expander_->Expand(row, first_, end_ - first_, to);
      return;
    }
    expander_->Expand(row, first_, end_ - first_, pixels_.get());
    const size_t bytes = target_.pixel_bytes;
    const uint8_t* from = pixels_.get();
    size_t x = pass_.first_column + first_ * pass_.column_step;
    for (; x < target_.EndColumn(); x += pass_.column_step, from += bytes) {
      std::memcpy(to + (x - target_.window.x) * bytes, from, bytes);
    }
  }

 private:
  const PngPass& pass_;
  const Target& target_;
  PngExpander* const expander_;
  const size_t first_;  // column of the pass that the window has
  const size_t end_;    // after the last one
  Buffer pixels_;
};

// Defilters and writes a pass of `rows` rows, a group at a time, so that a
// group is still in the nearest cache when it is copied out. `zeros` is a row
// of them.
Status DecodePass(const PngLayout& layout, size_t rows, size_t row_bytes,
                  const uint8_t* zeros, uint8_t* filtered, PassWriter* writer) {
  const size_t pixel_bytes =
      std::max<size_t>(1, layout.Channels() * layout.bit_depth / 8);
  const size_t pitch = 1 + row_bytes;
  const uint8_t* above = zeros;
  for (size_t y = 0; y < writer->EndRow(); y += kPngRowGroup) {
    const size_t count = std::min<size_t>(kPngRowGroup, rows - y);
    uint8_t* group = filtered + y * pitch;
    const Status status =
        DefilterPngRows(group, count, row_bytes, pixel_bytes, above);
    if (!status.ok()) {
      return DataLoss(
          status.message() + " in rows " + std::to_string(y) + " to " +
          std::to_string(y + count - 1) +
          (layout.interlaced ? " of an interlaced image's pass" : ""));
    }
    for (size_t k = 0; k < count; ++k) {
      writer->Write(y + k, group + k * pitch + 1);
    }
    above = group + (count - 1) * pitch + 1;
  }
  return OkStatus();
}

Status DecodePasses(const PngLayout& layout, const Target& target,
                    uint8_t* filtered) {
  const size_t zero_bytes = layout.RowBytes(layout.width) + kPngRowPadding;
  const Buffer zeros = AllocateBuffer(zero_bytes);
  if (zeros == nullptr) return OutOfMemory("png", zero_bytes);
  std::memset(zeros.get(), 0, zero_bytes);
  PngExpander expander(layout);
  LIQUID_RETURN_IF_ERROR(expander.Allocate());
  for (const PngPass& pass : layout.Passes()) {
    const uint64_t columns = pass.Columns(layout.width);
    if (columns == 0) continue;
    const size_t row_bytes = layout.RowBytes(columns);
    PassWriter writer(pass, target, &expander);
    LIQUID_RETURN_IF_ERROR(writer.Allocate());
    const uint64_t rows = pass.Rows(layout.height);
    LIQUID_RETURN_IF_ERROR(
        DecodePass(layout, rows, row_bytes, zeros.get(), filtered, &writer));
    filtered += rows * (1 + row_bytes);
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
  Buffer filtered;
  LIQUID_RETURN_IF_ERROR(Inflate(layout, &filtered));
  const Target target = {window, out, row_stride,
                         layout.Info().BytesPerPixel()};
  return DecodePasses(layout, target, filtered.get());
}

}  // namespace liquid
