#include "ops/codecs/webp/webp_codec.h"

#include <webp/decode.h>
#include <webp/encode.h>

#include <algorithm>
#include <cstring>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/formats.h"

namespace liquid {
namespace {

static_assert(FindFormat(Format::kWebp)->side == WEBP_MAX_DIMENSION);

constexpr size_t kRiffHeaderBytes = 12;
constexpr size_t kChunkHeaderBytes = 8;

const char* Explain(VP8StatusCode code) {
  switch (code) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return "no memory";
    case VP8_STATUS_BITSTREAM_ERROR:
      return "the bitstream is damaged";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "an unsupported feature";
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "the file is cut off";
    default:
      return "an invalid request";
  }
}

Status Failed(VP8StatusCode code) {
  const std::string message = std::string("webp: ") + Explain(code);
  if (code == VP8_STATUS_OUT_OF_MEMORY) return Unavailable(message);
  if (code == VP8_STATUS_UNSUPPORTED_FEATURE) return Unimplemented(message);
  return DataLoss(message);
}

Status GetFeatures(ByteSpan bytes, const DecodeLimits& limits,
                   WebPBitstreamFeatures* features, ImageInfo* info) {
  // libwebp also takes bare VP8 data; a file has the container.
  if (bytes.size < kRiffHeaderBytes ||
      std::memcmp(bytes.data, "RIFF", 4) != 0 ||
      std::memcmp(bytes.data + 8, "WEBP", 4) != 0) {
    return DataLoss("webp: no RIFF header of type WEBP");
  }
  const uint64_t riff_bytes = uint64_t{LoadLittle32(bytes.data + 4)} + 8;
  if (riff_bytes > bytes.size) {
    return DataLoss("webp: the RIFF header states " +
                    std::to_string(riff_bytes) + " bytes; there are " +
                    std::to_string(bytes.size));
  }
  const VP8StatusCode code = WebPGetFeatures(bytes.data, bytes.size, features);
  if (code != VP8_STATUS_OK) return Failed(code);
  if (features->has_animation) {
    return Unimplemented("webp: animations are not supported");
  }
  LIQUID_RETURN_IF_ERROR(CheckImageSize(
      "webp", static_cast<uint64_t>(std::max(features->height, 0)),
      static_cast<uint64_t>(std::max(features->width, 0)), limits));
  info->height = static_cast<uint32_t>(features->height);
  info->width = static_cast<uint32_t>(features->width);
  info->channels = features->has_alpha ? 4 : 3;
  info->bits = 8;
  return OkStatus();
}

// Decodes `crop`, or the whole image where it is null.
Status DecodeInto(ByteSpan bytes, const ImageInfo& info, const Window* crop,
                  uint8_t* out, size_t row_stride, size_t rows) {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) {
    return Internal("webp: the library is not of the version built against");
  }
  if (row_stride > INT32_MAX) {
    return InvalidArgument("webp: row_stride (" + std::to_string(row_stride) +
                           ") must be under 2^31");
  }
  if (crop != nullptr) {
    config.options.use_cropping = 1;
    config.options.crop_left = static_cast<int>(crop->x);
    config.options.crop_top = static_cast<int>(crop->y);
    config.options.crop_width = static_cast<int>(crop->width);
    config.options.crop_height = static_cast<int>(crop->height);
  }
  config.output.colorspace = info.channels == 4 ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = out;
  config.output.u.RGBA.stride = static_cast<int>(row_stride);
  config.output.u.RGBA.size = row_stride * rows;
  const VP8StatusCode code = WebPDecode(bytes.data, bytes.size, &config);
  WebPFreeDecBuffer(&config.output);
  if (code != VP8_STATUS_OK) return Failed(code);
  return OkStatus();
}

// The colour of a lossy pixel depends on its neighbours' through upsampling,
// and the decoder moves a crop to even coordinates: a margin around the window,
// on even coordinates itself, leaves the window's own pixels as they are.
Window WithMargin(const Window& window, const ImageInfo& info) {
  constexpr uint32_t kMargin = 4;
  Window wide;
  wide.y = window.y < kMargin ? 0 : (window.y - kMargin) & ~1u;
  wide.x = window.x < kMargin ? 0 : (window.x - kMargin) & ~1u;
  wide.height =
      std::min(info.height, window.y + window.height + kMargin) - wide.y;
  wide.width = std::min(info.width, window.x + window.width + kMargin) - wide.x;
  return wide;
}

int WriteToString(const uint8_t* data, size_t size,
                  const WebPPicture* picture) {
  static_cast<std::string*>(picture->custom_ptr)
      ->append(reinterpret_cast<const char*>(data), size);
  return 1;
}

// libwebp stores an opaque image of four channels without saying that it has
// alpha. This says so: by the hint in a lossless header, or by an extended
// header in front of lossy data.
Status MarkAlpha(const ImageInfo& info, size_t start, std::string* out) {
  uint8_t* file = reinterpret_cast<uint8_t*>(&(*out)[start]);
  const size_t size = out->size() - start;
  uint8_t* chunk = file + kRiffHeaderBytes;
  if (size < kRiffHeaderBytes + kChunkHeaderBytes + 5) {
    return Internal("webp: libwebp wrote a file of " + std::to_string(size) +
                    " bytes");
  }
  if (std::memcmp(chunk, "VP8L", 4) == 0) {
    // After the signature byte: 14 bits of width, 14 of height, the hint.
    chunk[kChunkHeaderBytes + 4] |= 0x10;
    return OkStatus();
  }
  if (std::memcmp(chunk, "VP8 ", 4) != 0) return OkStatus();
  uint8_t extended[kChunkHeaderBytes + 10] = {'V', 'P', '8', 'X', 10, 0, 0, 0};
  extended[kChunkHeaderBytes] = 0x10;  // has alpha
  StoreLittle32(info.width - 1, extended + kChunkHeaderBytes + 4);
  // Both sizes take 24 bits; the height's first byte replaces the width's last.
  StoreLittle16(static_cast<uint16_t>(info.height - 1),
                extended + kChunkHeaderBytes + 7);
  extended[kChunkHeaderBytes + 9] =
      static_cast<uint8_t>((info.height - 1) >> 16);
  StoreLittle32(LoadLittle32(file + 4) + sizeof(extended), file + 4);
  out->insert(start + kRiffHeaderBytes, reinterpret_cast<char*>(extended),
              sizeof(extended));
  return OkStatus();
}

}  // namespace

Status PeekWebp(ByteSpan bytes, const DecodeLimits& limits, ImageInfo* info) {
  WebPBitstreamFeatures features;
  return GetFeatures(bytes, limits, &features, info);
}

Status DecodeWebp(ByteSpan bytes, const DecodeLimits& limits,
                  const ImageInfo& expected, const Window& window, uint8_t* out,
                  size_t row_stride) {
  WebPBitstreamFeatures features;
  ImageInfo info;
  LIQUID_RETURN_IF_ERROR(GetFeatures(bytes, limits, &features, &info));
  LIQUID_RETURN_IF_ERROR(
      CheckRequest("webp", info, expected, window, row_stride));
  if (CoversImage(window, info)) {
    return DecodeInto(bytes, info, nullptr, out, row_stride, info.height);
  }
  const Window wide = WithMargin(window, info);
  const size_t wide_bytes = wide.width * info.BytesPerPixel();
  const Buffer pixels = AllocateBuffer(wide_bytes * wide.height);
  if (pixels == nullptr) return OutOfMemory("webp", wide_bytes * wide.height);
  LIQUID_RETURN_IF_ERROR(
      DecodeInto(bytes, info, &wide, pixels.get(), wide_bytes, wide.height));
  for (size_t y = 0; y < window.height; ++y) {
    std::memcpy(out + y * row_stride,
                pixels.get() + (window.y - wide.y + y) * wide_bytes +
                    (window.x - wide.x) * info.BytesPerPixel(),
                window.width * info.BytesPerPixel());
  }
  return OkStatus();
}

Status EncodeWebp(const EncodeOptions& options, const ImageInfo& info,
                  const uint8_t* pixels, std::string* out) {
  if (options.webp_quality < 0 || options.webp_quality > 100) {
    return InvalidArgument("webp: webp_quality (" +
                           std::to_string(options.webp_quality) +
                           ") must be 0 to 100");
  }
  WebPConfig config;
  WebPPicture picture;
  if (!WebPConfigInit(&config) || !WebPPictureInit(&picture)) {
    return Internal("webp: the library is not of the version built against");
  }
  if (options.webp_lossless) {
    WebPConfigLosslessPreset(&config, 6);
    config.exact = 1;
  } else {
    config.quality = static_cast<float>(options.webp_quality);
  }
  picture.use_argb = options.webp_lossless ? 1 : 0;
  picture.width = static_cast<int>(info.width);
  picture.height = static_cast<int>(info.height);
  const int stride = static_cast<int>(info.RowBytes());
  const int imported = info.channels == 4
                           ? WebPPictureImportRGBA(&picture, pixels, stride)
                           : WebPPictureImportRGB(&picture, pixels, stride);
  const size_t start = out->size();
  picture.writer = WriteToString;
  picture.custom_ptr = out;
  const bool encoded = imported && WebPEncode(&config, &picture);
  const WebPEncodingError error = picture.error_code;
  WebPPictureFree(&picture);
  if (!encoded) {
    out->resize(start);
    return error == VP8_ENC_ERROR_OUT_OF_MEMORY ||
                   error == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY || !imported
               ? OutOfMemory("webp", info.PixelBytes())
               : Internal("webp: libwebp cannot encode an image of " +
                          DescribeImage(info) + ", error " +
                          std::to_string(static_cast<int>(error)));
  }
  return info.channels == 4 ? MarkAlpha(info, start, out) : OkStatus();
}

}  // namespace liquid
