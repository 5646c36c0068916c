// PNG files made by hand, chunk by chunk.
#ifndef LIQUID_TESTS_OPS_CODECS_PNG_TESTING_H_
#define LIQUID_TESTS_OPS_CODECS_PNG_TESTING_H_

#include <libdeflate.h>

#include <string>

#include "tests/ops/codecs/codec_testing.h"

namespace liquid {

inline constexpr char kPngSignature[] = "\x89PNG\r\n\x1a\n";

inline std::string Big32(uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) {
    text += static_cast<char>(value >> shift);
  }
  return text;
}

inline std::string Text(const Bytes& bytes) {
  return std::string(bytes.begin(), bytes.end());
}

inline std::string Chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  return Big32(static_cast<uint32_t>(data.size())) + body +
         Big32(libdeflate_crc32(0, body.data(), body.size()));
}

inline std::string Header(uint32_t width, uint32_t height, int depth, int color,
                          int interlace = 0) {
  return Chunk("IHDR", Big32(width) + Big32(height) +
                           Text({static_cast<uint8_t>(depth),
                                 static_cast<uint8_t>(color), 0, 0,
                                 static_cast<uint8_t>(interlace)}));
}

inline std::string Deflate(const Bytes& rows) {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(6);
  std::string stream(libdeflate_zlib_compress_bound(compressor, rows.size()),
                     '\0');
  stream.resize(libdeflate_zlib_compress(compressor, rows.data(), rows.size(),
                                         &stream[0], stream.size()));
  libdeflate_free_compressor(compressor);
  return stream;
}

inline std::string File(const std::string& before_data, const Bytes& rows) {
  return kPngSignature + before_data + Chunk("IDAT", Deflate(rows)) +
         Chunk("IEND", "");
}

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_CODECS_PNG_TESTING_H_
