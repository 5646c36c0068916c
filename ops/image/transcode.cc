#include "ops/image/transcode.h"

#include <cstring>
#include <utility>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/jpeg/jpeg_color.h"
#include "ops/codecs/jpeg/jpeg_one_scan.h"
#include "ops/codecs/jpeg/jpeg_progressive.h"
#include "ops/codecs/jpeg/jpeg_scans.h"
#include "ops/codecs/pixels.h"
#include "ops/image/changes.h"

namespace liquid {
namespace {

bool IsLosslessTarget(Format format, const EncodeOptions& options) {
  return FindFormat(format)->lossless &&
         (format != Format::kWebp || options.webp_lossless);
}

// Whether a WebP file's pixels are coded without loss: the kind of its first
// image chunk says so.
bool IsLosslessWebp(ByteSpan file) {
  size_t at = 12;
  while (at + 8 <= file.size) {
    if (std::memcmp(file.data + at, "VP8L", 4) == 0) return true;
    if (std::memcmp(file.data + at, "VP8 ", 4) == 0) return false;
    const uint64_t size = LoadLittle32(file.data + at + 4);
    if (size > file.size - at - 8) return false;
    at += 8 + size + (size & 1);
  }
  return false;
}

// Makes JPEG of JPEG without loss, progressive for a pcr and else of one scan.
// Where `is_gray`, a gray file becomes one of three channels.
Status TransformJpeg(ByteSpan file, const DecodeLimits& limits, bool is_gray,
                     Format target, std::string* encoded) {
  if (!is_gray && target == Format::kJpeg) return ToOneScan(file, encoded);
  if (!is_gray) return ToProgressive(file, limits, encoded);
  std::string color;
  LIQUID_RETURN_IF_ERROR(GrayToColor(file, limits, &color));
  if (target == Format::kPcr) {
    return ToProgressive(ByteSpan(color.data(), color.size()), limits, encoded);
  }
  *encoded = std::move(color);
  return OkStatus();
}

Status EncodePixels(Format target, const DecodeLimits& limits,
                    const EncodeOptions& options, const Image& image,
                    std::string* encoded) {
  const bool is_pcr = target == Format::kPcr;
  std::string file;
  LIQUID_RETURN_IF_ERROR(Encode(is_pcr ? Format::kJpeg : target, options,
                                image.info, image.pixels.get(), &file));
  if (is_pcr) {
    return ToProgressive(ByteSpan(file.data(), file.size()), limits, encoded);
  }
  *encoded = std::move(file);
  return OkStatus();
}

}  // namespace

Status ScanImage(ByteSpan file, const DecodeLimits& limits,
                 const Changes& changes, Scan* scan) {
  LIQUID_RETURN_IF_ERROR(SniffFormat(file, &scan->format));
  Image image;
  LIQUID_RETURN_IF_ERROR(DecodeWhole(scan->format, file, limits, &image));
  scan->info = image.info;
  LIQUID_RETURN_IF_ERROR(ApplyChanges(changes, limits, &image));
  scan->changed = image.info;
  scan->pixels_hash = PixelHash(image.info, image.pixels.get());
  return OkStatus();
}

Status ScanHeader(ByteSpan file, const DecodeLimits& limits, Scan* scan) {
  LIQUID_RETURN_IF_ERROR(SniffFormat(file, &scan->format));
  LIQUID_RETURN_IF_ERROR(Peek(scan->format, file, limits, &scan->info));
  scan->changed = scan->info;
  scan->pixels_hash = 0;
  return OkStatus();
}

Status Transcode(ByteSpan file, const DecodeLimits& limits,
                 const Changes& changes, Format target,
                 const EncodeOptions& options, std::string* encoded,
                 Scan* result) {
  encoded->clear();
  Format source;
  LIQUID_RETURN_IF_ERROR(SniffFormat(file, &source));
  Image image;
  LIQUID_RETURN_IF_ERROR(DecodeWhole(source, file, limits, &image));
  const int channels = changes.channels;
  const bool keeps_channels = channels == 0 || channels == image.info.channels;
  const bool repeats_gray = image.info.channels == 1 && channels == 3;
  const bool keeps_bits = changes.bits == 0 || changes.bits == image.info.bits;
  const bool keeps_rest = keeps_bits && KeepsPlaces(changes, image.info);
  LIQUID_RETURN_IF_ERROR(ApplyChanges(changes, limits, &image));
  result->format = target;
  result->info = result->changed = image.info;
  result->pixels_hash = PixelHash(image.info, image.pixels.get());

  const bool same_loss =
      target != Format::kWebp || IsLosslessWebp(file) == options.webp_lossless;
  const bool joins_scans =
      target == Format::kJpeg && options.jpeg_one_scan && HasScans(file);
  if (source == target && keeps_channels && keeps_rest && same_loss &&
      !joins_scans) {
    encoded->assign(reinterpret_cast<const char*>(file.data), file.size);
    return OkStatus();
  }
  const bool is_jpeg = target == Format::kJpeg || target == Format::kPcr;
  const bool keeps_coefficients = is_jpeg && source == Format::kJpeg &&
                                  keeps_rest &&
                                  (keeps_channels || repeats_gray);
  if (keeps_coefficients) {
    LIQUID_RETURN_IF_ERROR(
        TransformJpeg(file, limits, repeats_gray, target, encoded));
  } else {
    LIQUID_RETURN_IF_ERROR(
        EncodePixels(target, limits, options, image, encoded));
  }
  Image stored;
  LIQUID_RETURN_IF_ERROR(DecodeWhole(
      target, ByteSpan(encoded->data(), encoded->size()), limits, &stored));
  const uint64_t stored_hash = PixelHash(stored.info, stored.pixels.get());
  const bool is_lossless =
      keeps_coefficients || IsLosslessTarget(target, options);
  if (is_lossless && stored_hash != result->pixels_hash) {
    return Internal(std::string(FormatName(target)) +
                    ": decoding what was encoded gives an image of " +
                    DescribeImage(stored.info) +
                    " with other pixels than the source of " +
                    DescribeImage(image.info));
  }
  result->info = stored.info;
  result->pixels_hash = stored_hash;
  return OkStatus();
}

}  // namespace liquid
