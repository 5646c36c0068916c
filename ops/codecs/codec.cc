#include "ops/codecs/codec.h"

#include <cstring>

#include "ops/codecs/bmp/bmp_codec.h"
#include "ops/codecs/codec_util.h"
#include "ops/codecs/jpeg/jpeg_codec.h"
#include "ops/codecs/l3/host/l3_codec.h"
#include "ops/codecs/png/png_codec.h"
#include "ops/codecs/raw/raw_codec.h"
#include "ops/codecs/webp/webp_codec.h"

// TensorFlow exports another version of the library's functions.
#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

namespace liquid {
namespace {

Status PeekL3Image(ByteSpan bytes, const DecodeLimits& limits,
                   ImageInfo* info) {
  L3Info found;
  LIQUID_RETURN_IF_ERROR(PeekL3(bytes, limits, &found));
  *info = found.image;
  return OkStatus();
}

Status EncodeL3Fast(const EncodeOptions& /*options*/, const ImageInfo& info,
                    const uint8_t* pixels, std::string* out) {
  return EncodeL3(L3Options(), info, pixels, out);
}

Status EncodeL3Compact(const EncodeOptions& options, const ImageInfo& info,
                       const uint8_t* pixels, std::string* out) {
  L3Options compact;
  compact.profile = L3Profile::kCompact;
  compact.effort = options.l3_effort;
  return EncodeL3(compact, info, pixels, out);
}

// Fewer rows than this are not worth a thread's start.
constexpr uint32_t kMinBandRows = 64;

struct Codec {
  Format format;
  const char* name;
  Status (*peek)(ByteSpan, const DecodeLimits&, ImageInfo*);
  Status (*decode)(ByteSpan, const DecodeLimits&, const ImageInfo&,
                   const Window&, uint8_t*, size_t);
  Status (*encode)(const EncodeOptions&, const ImageInfo&, const uint8_t*,
                   std::string*);
};

// An image of a pcr, glued, is a JPEG file.
constexpr Codec kCodecs[] = {
    {Format::kRaw, "raw", PeekRaw, DecodeRaw, EncodeRaw},
    {Format::kPng, "png", PeekPng, DecodePng, EncodePng},
    {Format::kJpeg, "jpeg", PeekJpeg, DecodeJpeg, EncodeJpeg},
    {Format::kWebp, "webp", PeekWebp, DecodeWebp, EncodeWebp},
    {Format::kBmp, "bmp", PeekBmp, DecodeBmp, EncodeBmp},
    {Format::kL3, "l3", PeekL3Image, DecodeL3, EncodeL3Fast},
    {Format::kPcr, "pcr", PeekJpeg, DecodeJpeg, nullptr},
    {Format::kL3Compact, "l3-compact", PeekL3Image, DecodeL3, EncodeL3Compact},
};

Status FindCodec(Format format, const Codec** found) {
  for (const Codec& codec : kCodecs) {
    if (codec.format != format) continue;
    *found = &codec;
    return OkStatus();
  }
  return InvalidArgument("format (" + std::to_string(static_cast<int>(format)) +
                         ") is not the number of a known format");
}

bool StartsWith(ByteSpan bytes, const char* prefix, size_t size) {
  return bytes.size >= size && std::memcmp(bytes.data, prefix, size) == 0;
}

}  // namespace

const char* FormatName(Format format) {
  for (const Codec& codec : kCodecs) {
    if (codec.format == format) return codec.name;
  }
  return nullptr;
}

Status ParseFormat(const std::string& name, Format* format) {
  std::string names;
  for (const Codec& codec : kCodecs) {
    if (name == codec.name) {
      *format = codec.format;
      return OkStatus();
    }
    if (codec.encode == nullptr) continue;
    if (!names.empty()) names += ", ";
    names += codec.name;
  }
  return InvalidArgument("format (\"" + name + "\") must be one of " + names);
}

Status SniffFormat(ByteSpan bytes, Format* format) {
  if (StartsWith(bytes, "LRAW", 4)) {
    *format = Format::kRaw;
  } else if (StartsWith(bytes, "\x89PNG\r\n\x1a\n", 8)) {
    *format = Format::kPng;
  } else if (StartsWith(bytes, "\xFF\xD8\xFF", 3)) {
    *format = Format::kJpeg;
  } else if (bytes.size >= 12 && StartsWith(bytes, "RIFF", 4) &&
             std::memcmp(bytes.data + 8, "WEBP", 4) == 0) {
    *format = Format::kWebp;
  } else if (StartsWith(bytes, "BM", 2)) {
    *format = Format::kBmp;
  } else if (IsL3(bytes)) {
    *format = IsL3Compact(bytes) ? Format::kL3Compact : Format::kL3;
  } else {
    static const char kDigits[] = "0123456789abcdef";
    std::string start;
    for (size_t i = 0; i < bytes.size && i < 8; ++i) {
      if (i > 0) start += ' ';
      start += kDigits[bytes.data[i] >> 4];
      start += kDigits[bytes.data[i] & 15];
    }
    return InvalidArgument(
        "the bytes begin with [" + start + "] (" + std::to_string(bytes.size) +
        " in all), which is no raw, png, jpeg, webp, bmp or l3 image");
  }
  return OkStatus();
}

Status Peek(Format format, ByteSpan bytes, const DecodeLimits& limits,
            ImageInfo* info) {
  const Codec* codec;
  LIQUID_RETURN_IF_ERROR(FindCodec(format, &codec));
  return codec->peek(bytes, limits, info);
}

Status Decode(Format format, ByteSpan bytes, const DecodeLimits& limits,
              const ImageInfo& expected, const Window& window, uint8_t* out,
              size_t row_stride) {
  const Codec* codec;
  LIQUID_RETURN_IF_ERROR(FindCodec(format, &codec));
  return codec->decode(bytes, limits, expected, window, out, row_stride);
}

bool HasDrafts(Format format) {
  return format == Format::kJpeg || format == Format::kPcr;
}

Status DecodeDraft(Format format, ByteSpan bytes, const DecodeLimits& limits,
                   const ImageInfo& expected, uint32_t denominator,
                   const Window& window, uint8_t* out, size_t row_stride) {
  if (!HasDrafts(format) ||
      (denominator != 2 && denominator != 4 && denominator != 8)) {
    return InvalidArgument("only jpeg and pcr are decoded at 1/2, 1/4 or 1/8");
  }
  return DecodeJpegDraft(bytes, limits, expected, denominator, window, out,
                         row_stride);
}

uint32_t BandRows(Format format, ByteSpan bytes, const DecodeLimits& limits) {
  L3Info info;
  const bool is_l3 = format == Format::kL3 || format == Format::kL3Compact;
  if (!is_l3 || !PeekL3(bytes, limits, &info).ok() || info.patch == 0) {
    return 0;
  }
  return (kMinBandRows + info.patch - 1) / info.patch * info.patch;
}

Status Encode(Format format, const EncodeOptions& options,
              const ImageInfo& info, const uint8_t* pixels, std::string* out) {
  const Codec* codec;
  LIQUID_RETURN_IF_ERROR(FindCodec(format, &codec));
  if (codec->encode == nullptr) {
    return Unimplemented(std::string(codec->name) +
                         ": images of the format are encoded many at a time");
  }
  return codec->encode(options, info, pixels, out);
}

uint64_t PixelHash(const ImageInfo& info, const uint8_t* pixels) {
  uint8_t header[kRawHeaderBytes];
  StoreRawHeader(info, header);
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, header, sizeof(header));
  if (info.bits == 16 && !kHostIsLittleEndian) {
    for (size_t i = 0; i + 1 < info.PixelBytes(); i += 2) {
      const uint8_t sample[2] = {pixels[i + 1], pixels[i]};
      XXH3_64bits_update(&state, sample, sizeof(sample));
    }
  } else {
    XXH3_64bits_update(&state, pixels, info.PixelBytes());
  }
  return XXH3_64bits_digest(&state);
}

}  // namespace liquid
