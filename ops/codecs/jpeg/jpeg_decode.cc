#include <algorithm>
#include <cstring>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/jpeg/baseline/baseline_decode.h"
#include "ops/codecs/jpeg/baseline/baseline_targets.h"
#include "ops/codecs/jpeg/jpeg_codec.h"
#include "ops/codecs/jpeg/jpeg_errors.h"
#include "ops/codecs/jpeg/jpeg_library.h"
#include "ops/codecs/jpeg/jpeg_scans.h"

namespace liquid {
namespace {

thread_local uint64_t library_decodes = 0;

class Reader {
 public:
  Reader() { std::memset(&library_, 0, sizeof(library_)); }
  ~Reader() { jpeg_destroy_decompress(&library_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Status ReadHeader(ByteSpan bytes, const DecodeLimits& limits);
  // Before decoding: at a part of the size.
  Status Scale(uint32_t denominator);
  // `window` lies in the image.
  Status Decode(const Window& window, uint8_t* out, size_t row_stride);

  const ImageInfo& info() const { return info_; }

 private:
  Status DecodeAll(uint8_t* out, size_t row_stride);
  Status DecodeWindow(const Window& window, uint8_t* out, size_t row_stride);
  Status ParseHeader(ByteSpan bytes);
  Status CheckScans(ByteSpan bytes, const DecodeLimits& limits);
  Status ReadWindow(const Window& window, uint8_t* row_buffer, uint8_t* out,
                    size_t row_stride);

  jpeg_decompress_struct library_;
  JpegErrors errors_;
  ImageInfo info_;
};

Status Reader::ParseHeader(ByteSpan bytes) {
  library_.err = errors_.Init();
  if (setjmp(errors_.jump) != 0) return errors_.ToStatus();
  jpeg_create_decompress(&library_);
  jpeg_mem_src(&library_, bytes.data, bytes.size);
  jpeg_read_header(&library_, TRUE);
  return OkStatus();
}

Status Reader::CheckScans(ByteSpan bytes, const DecodeLimits& limits) {
  if (!jpeg_has_multiple_scans(&library_)) return OkStatus();
  const size_t scans = CountScans(bytes);
  if (scans <= limits.max_scans) return OkStatus();
  return ResourceExhausted("jpeg: " + std::to_string(scans) +
                           " scans are over the limit of " +
                           std::to_string(limits.max_scans) +
                           ": raise it with limits=Limits(scans=N)");
}

Status Reader::ReadHeader(ByteSpan bytes, const DecodeLimits& limits) {
  LIQUID_RETURN_IF_ERROR(CheckFrame(bytes));
  LIQUID_RETURN_IF_ERROR(ParseHeader(bytes));
  LIQUID_RETURN_IF_ERROR(CheckImageSize("jpeg", library_.image_height,
                                        library_.image_width, limits));
  LIQUID_RETURN_IF_ERROR(CheckScans(bytes, limits));
  switch (library_.jpeg_color_space) {
    case JCS_GRAYSCALE:
      library_.out_color_space = JCS_GRAYSCALE;
      info_.channels = 1;
      break;
    case JCS_YCbCr:
    case JCS_RGB:
      library_.out_color_space = JCS_RGB;
      info_.channels = 3;
      break;
    case JCS_CMYK:
    case JCS_YCCK:
      return Unimplemented(
          "jpeg: CMYK and YCCK images are not supported; convert the file to "
          "RGB");
    default:
      return Unimplemented("jpeg: an image of " +
                           std::to_string(library_.num_components) +
                           " components is not supported; gray and RGB are");
  }
  info_.height = library_.image_height;
  info_.width = library_.image_width;
  info_.bits = 8;
  library_.dct_method = JDCT_ISLOW;
  library_.do_fancy_upsampling = TRUE;
  library_.do_block_smoothing = TRUE;
  return OkStatus();
}

Status Reader::Scale(uint32_t denominator) {
  if (setjmp(errors_.jump) != 0) return errors_.ToStatus();
  library_.scale_num = 1;
  library_.scale_denom = denominator;
  jpeg_calc_output_dimensions(&library_);
  info_.height = library_.output_height;
  info_.width = library_.output_width;
  return OkStatus();
}

Status Reader::DecodeAll(uint8_t* out, size_t row_stride) {
  if (setjmp(errors_.jump) != 0) return errors_.ToStatus();
  jpeg_start_decompress(&library_);
  while (library_.output_scanline < library_.output_height) {
    constexpr JDIMENSION kRows = 16;
    JSAMPROW rows[kRows];
    const JDIMENSION first = library_.output_scanline;
    const JDIMENSION count = std::min(kRows, library_.output_height - first);
    for (JDIMENSION k = 0; k < count; ++k)
      rows[k] = out + (first + k) * row_stride;
    jpeg_read_scanlines(&library_, rows, count);
  }
  // Reads up to the end of the file, so that a missing end is noticed.
  jpeg_finish_decompress(&library_);
  return OkStatus();
}

Status Reader::ReadWindow(const Window& window, uint8_t* row_buffer,
                          uint8_t* out, size_t row_stride) {
  if (setjmp(errors_.jump) != 0) return errors_.ToStatus();
  jpeg_start_decompress(&library_);
  const JDIMENSION end = window.y + window.height;
  while (library_.output_scanline < end) {
    const JDIMENSION y = library_.output_scanline;
    jpeg_read_scanlines(&library_, &row_buffer, 1);
    if (y < window.y) continue;
    std::memcpy(out + (y - window.y) * row_stride,
                row_buffer + window.x * info_.BytesPerPixel(),
                window.width * info_.BytesPerPixel());
  }
  jpeg_abort_decompress(&library_);
  return OkStatus();
}

Status Reader::DecodeWindow(const Window& window, uint8_t* out,
                            size_t row_stride) {
  const Buffer row_buffer = AllocateBuffer(info_.RowBytes());
  if (row_buffer == nullptr) return OutOfMemory("jpeg", info_.RowBytes());
  return ReadWindow(window, row_buffer.get(), out, row_stride);
}

Status Reader::Decode(const Window& window, uint8_t* out, size_t row_stride) {
  LIQUID_RETURN_IF_ERROR(CoversImage(window, info_)
                             ? DecodeAll(out, row_stride)
                             : DecodeWindow(window, out, row_stride));
  ++library_decodes;
  return OkStatus();
}

// Whether our own decoder takes the file, by its header, and within `limits`.
bool IsBaseline(ByteSpan bytes, const DecodeLimits& limits,
                BaselineHeader* header) {
  return ReadBaselineHeader(bytes, header) &&
         CheckImageSize("jpeg", header->height, header->width, limits).ok();
}

// Checks what was asked of an image, and of its draft.
Status CheckDraft(const ImageInfo& info, const ImageInfo& expected,
                  const ImageInfo& draft, const Window& window,
                  size_t row_stride) {
  const Window whole = {0, 0, info.height, info.width};
  LIQUID_RETURN_IF_ERROR(
      CheckRequest("jpeg", info, expected, whole, info.RowBytes()));
  return CheckRequest("jpeg", draft, draft, window, row_stride);
}

}  // namespace

Status PeekJpeg(ByteSpan bytes, const DecodeLimits& limits, ImageInfo* info) {
  BaselineHeader header;
  if (IsBaseline(bytes, limits, &header)) {
    *info = BaselineInfo(header, 1);
    return OkStatus();
  }
  Reader reader;
  LIQUID_RETURN_IF_ERROR(reader.ReadHeader(bytes, limits));
  *info = reader.info();
  return OkStatus();
}

Status DecodeJpeg(ByteSpan bytes, const DecodeLimits& limits,
                  const ImageInfo& expected, const Window& window, uint8_t* out,
                  size_t row_stride) {
  return DecodeJpegDraft(bytes, ByteSpan(), limits, expected, 1, window, out,
                         row_stride);
}

Status DecodeJpegDraft(ByteSpan bytes, ByteSpan index,
                       const DecodeLimits& limits, const ImageInfo& expected,
                       uint32_t denominator, const Window& window, uint8_t* out,
                       size_t row_stride) {
  const bool indexed = index.size > 0;
  BaselineHeader header;
  Status damage;
  if (IsBaseline(bytes, limits, &header)) {
    LIQUID_RETURN_IF_ERROR(CheckDraft(BaselineInfo(header, 1), expected,
                                      BaselineInfo(header, denominator), window,
                                      row_stride));
    BaselineIndex entries;
    if (indexed) damage = entries.Read(index, bytes.size, header);
    if (damage.ok() && HasBaselineVectors()) {
      switch (DecodeBaseline(bytes, header, indexed ? &entries : nullptr,
                             denominator, window, out, row_stride)) {
        case BaselineResult::kDecoded:
          return OkStatus();
        case BaselineResult::kLibrarys:
          break;
        case BaselineResult::kDisagrees:
          damage = DataLoss(
              "jpeg: the file and its index do not fit each other: one of them "
              "is damaged");
      }
    }
  } else if (indexed) {
    damage = DataLoss("jpeg: the index is of another file: this kind has none");
  }
  // It says more about a file that is damaged.
  LIQUID_RETURN_IF_ERROR(DecodeJpegByLibrary(
      bytes, limits, expected, denominator, window, out, row_stride));
  return damage;
}

Status DecodeJpegByLibrary(ByteSpan bytes, const DecodeLimits& limits,
                           const ImageInfo& expected, uint32_t denominator,
                           const Window& window, uint8_t* out,
                           size_t row_stride) {
  Reader reader;
  LIQUID_RETURN_IF_ERROR(reader.ReadHeader(bytes, limits));
  const ImageInfo whole = reader.info();
  LIQUID_RETURN_IF_ERROR(reader.Scale(denominator));
  LIQUID_RETURN_IF_ERROR(
      CheckDraft(whole, expected, reader.info(), window, row_stride));
  return reader.Decode(window, out, row_stride);
}

uint64_t JpegLibraryDecodes() { return library_decodes; }

}  // namespace liquid
