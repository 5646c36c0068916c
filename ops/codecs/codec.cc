#include "ops/codecs/codec.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "ops/codecs/codec_util.h"

// TensorFlow exports another version of the library's functions.
#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

namespace liquid {
namespace {

// Fewer rows than this are not worth a thread's start.
constexpr uint32_t kMinBandRows = 64;

// Finds a format that the caller did not check. Error: InvalidArgument.
Status FindCodec(Format format, const FormatRow** found) {
  *found = FindFormat(format);
  if (*found != nullptr) return OkStatus();
  return InvalidArgument("format (" + std::to_string(static_cast<int>(format)) +
                         ") is not the number of a known format");
}

// How many bytes of `pattern` the bytes begin with: all, or 0.
size_t Matched(ByteSpan bytes, const char* pattern) {
  const size_t size = pattern == nullptr ? 0 : std::strlen(pattern);
  if (bytes.size < size) return 0;
  for (size_t i = 0; i < size; ++i) {
    if (pattern[i] != '?' && bytes.data[i] != static_cast<uint8_t>(pattern[i]))
      return 0;
  }
  return size;
}

// The names of the codecs: of formats that one decoder reads, the first.
std::string CodecNames() {
  std::vector<const FormatRow*> codecs;
  for (const FormatRow& row : kFormats) {
    if (std::none_of(codecs.begin(), codecs.end(), [&](const FormatRow* other) {
          return other->decode == row.decode;
        })) {
      codecs.push_back(&row);
    }
  }
  std::string names = codecs.front()->name;
  for (size_t i = 1; i < codecs.size(); ++i) {
    names += (i + 1 < codecs.size() ? ", " : " or ");
    names += codecs[i]->name;
  }
  return names;
}

Status CheckHolds(const FormatRow& row, const ImageInfo& info) {
  LIQUID_RETURN_IF_ERROR(
      CheckEncodable(row.name, info, row.channels, row.bits));
  if (std::max(info.height, info.width) <= row.side) return OkStatus();
  return InvalidArgument(std::string(row.name) + ": height and width (" +
                         DescribeImage(info) + ") must be at most " +
                         std::to_string(row.side));
}

}  // namespace

const char* FormatName(Format format) {
  const FormatRow* row = FindFormat(format);
  return row == nullptr ? nullptr : row->name;
}

Status ParseFormat(const std::string& name, Format* format) {
  std::string names;
  for (const FormatRow& row : kFormats) {
    if (name == row.name) {
      *format = row.format;
      return OkStatus();
    }
    if (row.encode == nullptr) continue;
    if (!names.empty()) names += ", ";
    names += row.name;
  }
  return InvalidArgument("format (\"" + name + "\") must be one of " + names);
}

Status SniffFormat(ByteSpan bytes, Format* format) {
  size_t most = 0;
  for (const FormatRow& row : kFormats) {
    for (const char* pattern : row.first_bytes) {
      const size_t matched = Matched(bytes, pattern);
      if (matched <= most) continue;
      most = matched;
      *format = row.format;
    }
  }
  if (most > 0) return OkStatus();
  static const char kDigits[] = "0123456789abcdef";
  std::string start;
  for (size_t i = 0; i < bytes.size && i < 8; ++i) {
    if (i > 0) start += ' ';
    start += kDigits[bytes.data[i] >> 4];
    start += kDigits[bytes.data[i] & 15];
  }
  return InvalidArgument("the bytes begin with [" + start + "] (" +
                         std::to_string(bytes.size) + " in all), which is no " +
                         CodecNames() + " image");
}

Status Peek(Format format, ByteSpan bytes, const DecodeLimits& limits,
            ImageInfo* info) {
  const FormatRow* codec;
  LIQUID_RETURN_IF_ERROR(FindCodec(format, &codec));
  return codec->peek(bytes, limits, info);
}

Status Decode(Format format, ByteSpan bytes, const DecodeLimits& limits,
              const ImageInfo& expected, const Window& window, uint8_t* out,
              size_t row_stride) {
  const FormatRow* codec;
  LIQUID_RETURN_IF_ERROR(FindCodec(format, &codec));
  return codec->decode(bytes, limits, expected, window, out, row_stride);
}

Status DecodeIndexed(Format format, ByteSpan bytes, ByteSpan index,
                     const DecodeLimits& limits, const ImageInfo& expected,
                     const Window& window, uint8_t* out, size_t row_stride) {
  if (index.size == 0) {
    return Decode(format, bytes, limits, expected, window, out, row_stride);
  }
  if (format != Format::kJpeg) {
    return InvalidArgument("only a jpeg has an index beside it");
  }
  return DecodeJpegDraft(bytes, index, limits, expected, 1, window, out,
                         row_stride);
}

bool HasDrafts(Format format) {
  return format == Format::kJpeg || format == Format::kPcr;
}

Status DecodeDraft(Format format, ByteSpan bytes, ByteSpan index,
                   const DecodeLimits& limits, const ImageInfo& expected,
                   uint32_t denominator, const Window& window, uint8_t* out,
                   size_t row_stride) {
  if (!HasDrafts(format) ||
      (denominator != 2 && denominator != 4 && denominator != 8)) {
    return InvalidArgument("only jpeg and pcr are decoded at 1/2, 1/4 or 1/8");
  }
  return DecodeJpegDraft(bytes, index, limits, expected, denominator, window,
                         out, row_stride);
}

uint64_t LibraryDecodes() { return JpegLibraryDecodes(); }

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
  const FormatRow* codec;
  LIQUID_RETURN_IF_ERROR(FindCodec(format, &codec));
  if (codec->encode == nullptr) {
    return Unimplemented(std::string(codec->name) +
                         ": images of the format are encoded many at a time");
  }
  LIQUID_RETURN_IF_ERROR(CheckHolds(*codec, info));
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
