// Adaptive filtering by the least sum of absolute differences, as the PNG
// specification recommends, and libdeflate, which at the same level gives
// smaller files in less time than zlib.
#include <libdeflate.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/png/png_codec.h"
#include "ops/codecs/png/png_layout.h"

namespace liquid {
namespace {

struct FreeCompressor {
  void operator()(libdeflate_compressor* compressor) const {
    libdeflate_free_compressor(compressor);
  }
};

// Chunks are limited to 2^31 - 1 bytes; readers expect far smaller ones.
constexpr size_t kMaxDataChunk = size_t{1} << 30;

void AppendChunk(const char* type, const uint8_t* data, size_t size,
                 std::string* out) {
  const size_t start = out->size();
  out->resize(start + 12 + size);
  uint8_t* p = reinterpret_cast<uint8_t*>(&(*out)[start]);
  StoreBig32(static_cast<uint32_t>(size), p);
  std::memcpy(p + 4, type, 4);
  if (size > 0) std::memcpy(p + 8, data, size);
  StoreBig32(libdeflate_crc32(0, p + 4, size + 4), p + 8 + size);
}

// The loops below are free of branches and of chains along the row, so that the
// compiler makes vector code of them.
void FilterSub(const uint8_t* row, const uint8_t* left,
               const uint8_t* /*above*/, const uint8_t* /*corner*/, size_t size,
               uint8_t* out) {
  for (size_t i = 0; i < size; ++i) out[i] = row[i] - left[i];
}

void FilterUp(const uint8_t* row, const uint8_t* /*left*/, const uint8_t* above,
              const uint8_t* /*corner*/, size_t size, uint8_t* out) {
  for (size_t i = 0; i < size; ++i) out[i] = row[i] - above[i];
}

void FilterAverage(const uint8_t* row, const uint8_t* left,
                   const uint8_t* above, const uint8_t* /*corner*/, size_t size,
                   uint8_t* out) {
  for (size_t i = 0; i < size; ++i) {
    out[i] = static_cast<uint8_t>(row[i] - ((left[i] + above[i]) >> 1));
  }
}

void FilterPaeth(const uint8_t* row, const uint8_t* left, const uint8_t* above,
                 const uint8_t* corner, size_t size, uint8_t* out) {
  for (size_t i = 0; i < size; ++i) {
    const int16_t a = left[i], b = above[i], c = corner[i];
    const int16_t to_a = b - c, to_b = a - c, to_c = to_a + to_b;
    const int16_t pa = to_a < 0 ? -to_a : to_a;
    const int16_t pb = to_b < 0 ? -to_b : to_b;
    const int16_t pc = to_c < 0 ? -to_c : to_c;
    const int16_t b_or_c = pb <= pc ? b : c;
    const int16_t least = pb <= pc ? pb : pc;
    out[i] = static_cast<uint8_t>(row[i] - (pa <= least ? a : b_or_c));
  }
}

uint64_t Cost(const uint8_t* filtered, size_t size) {
  uint64_t total = 0;
  // Sums of a few hundred bytes fit 16 bits, which vectors hold more of.
  for (size_t start = 0; start < size; start += 256) {
    const size_t end = start + 256 < size ? start + 256 : size;
    uint16_t sum = 0;
    for (size_t i = start; i < end; ++i) {
      const int8_t value = static_cast<int8_t>(filtered[i]);
      sum += static_cast<uint16_t>(value < 0 ? -value : value);
    }
    total += sum;
  }
  return total;
}

// Filters all rows into `out`, each behind its filter byte.
void FilterImage(const ImageInfo& info, const uint8_t* pixels, uint8_t* out) {
  using FilterFunction =
      void (*)(const uint8_t*, const uint8_t*, const uint8_t*, const uint8_t*,
               size_t, uint8_t*);
  static constexpr FilterFunction kFilters[] = {FilterSub, FilterUp,
                                                FilterAverage, FilterPaeth};
  const size_t pixel_bytes = info.BytesPerPixel();
  const size_t row_bytes = info.RowBytes();
  // Two rows, each behind one pixel of zeros: what lies left of the image.
  const size_t pitch = pixel_bytes + row_bytes;
  std::vector<uint8_t> rows(2 * pitch);
  std::vector<uint8_t> candidate(row_bytes);
  for (size_t y = 0; y < info.height; ++y) {
    uint8_t* left = rows.data() + (y % 2) * pitch;
    uint8_t* row = left + pixel_bytes;
    const uint8_t* corner = rows.data() + ((y + 1) % 2) * pitch;
    const uint8_t* above = corner + pixel_bytes;
    const uint8_t* source = pixels + y * row_bytes;
    if (info.bits == 16 && kHostIsLittleEndian) {
      for (size_t i = 0; i < row_bytes; i += 2) {
        row[i] = source[i + 1];
        row[i + 1] = source[i];
      }
    } else {
      std::memcpy(row, source, row_bytes);
    }
    uint8_t* chosen = out + y * (1 + row_bytes);
    chosen[0] = 0;
    std::memcpy(chosen + 1, row, row_bytes);
    uint64_t least = Cost(row, row_bytes);
    for (uint8_t filter = 1; filter <= 4; ++filter) {
      kFilters[filter - 1](row, left, above, corner, row_bytes,
                           candidate.data());
      const uint64_t cost = Cost(candidate.data(), row_bytes);
      if (cost >= least) continue;
      least = cost;
      chosen[0] = filter;
      std::memcpy(chosen + 1, candidate.data(), row_bytes);
    }
  }
}

}  // namespace

Status EncodePng(const EncodeOptions& options, const ImageInfo& info,
                 const uint8_t* pixels, std::string* out) {
  if (options.png_level < 0 || options.png_level > 12) {
    return InvalidArgument("png: png_level (" +
                           std::to_string(options.png_level) +
                           ") must be 0 to 12");
  }
  if (info.height > INT32_MAX || info.width > INT32_MAX) {
    return InvalidArgument("png: height and width (" + DescribeImage(info) +
                           ") must be under 2^31");
  }
  const size_t filtered_bytes = info.height * (1 + info.RowBytes());
  const Buffer filtered = AllocateBuffer(filtered_bytes);
  if (filtered == nullptr) return OutOfMemory("png", filtered_bytes);
  FilterImage(info, pixels, filtered.get());

  const std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor(
      libdeflate_alloc_compressor(options.png_level));
  if (compressor == nullptr) return OutOfMemory("png", filtered_bytes);
  const size_t bound =
      libdeflate_zlib_compress_bound(compressor.get(), filtered_bytes);
  const Buffer stream = AllocateBuffer(bound);
  if (stream == nullptr) return OutOfMemory("png", bound);
  const size_t stream_bytes = libdeflate_zlib_compress(
      compressor.get(), filtered.get(), filtered_bytes, stream.get(), bound);
  if (stream_bytes == 0)
    return Internal("png: libdeflate ran out of its bound");

  static constexpr uint8_t kColors[] = {kPngGray, kPngGrayAlpha, kPngRgb,
                                        kPngRgba};
  uint8_t header[13] = {};
  StoreBig32(info.width, header);
  StoreBig32(info.height, header + 4);
  header[8] = info.bits;
  header[9] = kColors[info.channels - 1];
  out->append("\x89PNG\r\n\x1a\n", 8);
  AppendChunk("IHDR", header, sizeof(header), out);
  for (size_t at = 0; at < stream_bytes; at += kMaxDataChunk) {
    const size_t rest = stream_bytes - at;
    AppendChunk("IDAT", stream.get() + at,
                rest < kMaxDataChunk ? rest : kMaxDataChunk, out);
  }
  AppendChunk("IEND", nullptr, 0, out);
  return OkStatus();
}

}  // namespace liquid
