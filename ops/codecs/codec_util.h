// Checks and byte access that every codec shares.
#ifndef LIQUID_OPS_CODECS_CODEC_UTIL_H_
#define LIQUID_OPS_CODECS_CODEC_UTIL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "ops/codecs/codec.h"
#include "ops/core/status.h"

namespace liquid {

inline uint16_t LoadLittle16(const uint8_t* p) {
  return static_cast<uint16_t>(p[0] | p[1] << 8);
}
inline uint32_t LoadLittle32(const uint8_t* p) {
  return uint32_t{p[0]} | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 |
         uint32_t{p[3]} << 24;
}
inline uint64_t LoadLittle64(const uint8_t* p) {
  return LoadLittle32(p) | uint64_t{LoadLittle32(p + 4)} << 32;
}
inline uint32_t LoadBig32(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 |
         uint32_t{p[3]};
}
inline void StoreLittle16(uint16_t value, uint8_t* p) {
  p[0] = static_cast<uint8_t>(value);
  p[1] = static_cast<uint8_t>(value >> 8);
}
inline void StoreLittle32(uint32_t value, uint8_t* p) {
  StoreLittle16(static_cast<uint16_t>(value), p);
  StoreLittle16(static_cast<uint16_t>(value >> 16), p + 2);
}
inline void StoreBig32(uint32_t value, uint8_t* p) {
  p[0] = static_cast<uint8_t>(value >> 24);
  p[1] = static_cast<uint8_t>(value >> 16);
  p[2] = static_cast<uint8_t>(value >> 8);
  p[3] = static_cast<uint8_t>(value);
}

constexpr bool kHostIsLittleEndian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

// Uninitialised memory whose size a header decided: null where there is none.
using Buffer = std::unique_ptr<uint8_t[]>;
inline Buffer AllocateBuffer(size_t size) {
  return Buffer(new (std::nothrow) uint8_t[size]);
}
Status OutOfMemory(const char* codec, size_t size);

// "480 x 640 x 3, 8 bits"
std::string DescribeImage(const ImageInfo& info);

// Checks the size that a header states. Errors: DataLoss for an empty image,
// ResourceExhausted for one over the limit.
Status CheckImageSize(const char* codec, uint64_t height, uint64_t width,
                      const DecodeLimits& limits);

// Checks what Decode was asked for against what the bytes hold.
Status CheckRequest(const char* codec, const ImageInfo& stored,
                    const ImageInfo& expected, const Window& window,
                    size_t row_stride);

// Checks an image to encode: a size, channels in `channels` (a string of the
// digits allowed) and at most `max_bits` bits.
Status CheckEncodable(const char* codec, const ImageInfo& info,
                      const char* channels, int max_bits);

inline bool CoversImage(const Window& window, const ImageInfo& info) {
  return window.y == 0 && window.x == 0 && window.height == info.height &&
         window.width == info.width;
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_CODEC_UTIL_H_
