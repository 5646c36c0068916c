#include "ops/image/orient.h"

#if defined(__x86_64__)
#include <tmmintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace liquid {
namespace {

// A side of the tiles in which images are transposed: both the rows that a tile
// reads and those that it writes stay in the first cache.
constexpr size_t kTile = 32;

// How the upright image reads the stored one.
struct Turn {
  bool transposed;  // a row of the one is a column of the other
  bool from_bottom;
  bool from_right;
};

Turn TurnOf(int orientation) {
  switch (orientation) {
    case 2:
      return {false, false, true};
    case 3:
      return {false, true, true};
    case 4:
      return {false, true, false};
    case 5:
      return {true, false, false};
    case 6:
      return {true, true, false};
    case 7:
      return {true, true, true};
    case 8:
      return {true, false, true};
    default:
      return {false, false, false};
  }
}

template <size_t kPixel>
void MirrorPixels(const uint8_t* in, size_t width, uint8_t* out) {
  for (out += width * kPixel; width > 0; --width, in += kPixel) {
    out -= kPixel;
    std::memcpy(out, in, kPixel);
  }
}

#if defined(__x86_64__)
// Five pixels of three bytes at a time. Each load and store takes a sixteenth
// byte along: of the pixel to the right, which the next store overwrites.
__attribute__((target("ssse3"))) void MirrorTriples(const uint8_t* in,
                                                    size_t width,
                                                    uint8_t* out) {
  const __m128i opposite =
      _mm_setr_epi8(12, 13, 14, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2, 15);
  size_t x = 0;
  const auto single = [&] {
    std::memcpy(out + 3 * x, in + 3 * (width - 1 - x), 3);
    ++x;
  };
  // So that the first load ends inside the row.
  if (width > 0) single();
  while (x + 6 <= width) {
    const __m128i five = _mm_loadu_si128(
        reinterpret_cast<const __m128i*>(in + 3 * (width - x - 5)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * x),
                     _mm_shuffle_epi8(five, opposite));
    x += 5;
  }
  while (x < width) single();
}
#endif

template <size_t kPixel>
void Mirror(const uint8_t* in, size_t width, uint8_t* out) {
#if defined(__x86_64__)
  static const bool kShuffles = __builtin_cpu_supports("ssse3");
  if (kPixel == 3 && kShuffles) return MirrorTriples(in, width, out);
#endif
  MirrorPixels<kPixel>(in, width, out);
}

// Here height and width are those of the upright image.
template <size_t kPixel>
void Transpose(const uint8_t* in, size_t stride, size_t height, size_t width,
               const Turn& turn, uint8_t* out) {
  const auto stored = [&](size_t y, size_t x) {
    return in + (turn.from_bottom ? width - 1 - x : x) * stride +
           (turn.from_right ? height - 1 - y : y) * kPixel;
  };
  const auto step = turn.from_bottom ? -static_cast<ptrdiff_t>(stride)
                                     : static_cast<ptrdiff_t>(stride);
  for (size_t top = 0; top < height; top += kTile) {
    const size_t bottom = std::min(top + kTile, height);
    for (size_t left = 0; left < width; left += kTile) {
      const size_t count = std::min(kTile, width - left);
      for (size_t y = top; y < bottom; ++y) {
        const uint8_t* from = stored(y, left);
        uint8_t* to = out + (y * width + left) * kPixel;
        for (size_t i = 0; i < count; ++i) {
          std::memcpy(to + i * kPixel, from + static_cast<ptrdiff_t>(i) * step,
                      kPixel);
        }
      }
    }
  }
}

template <size_t kPixel>
void OrientPixels(const uint8_t* in, size_t stride, size_t height, size_t width,
                  const Turn& turn, uint8_t* out) {
  if (turn.transposed) {
    return Transpose<kPixel>(in, stride, width, height, turn, out);
  }
  for (size_t y = 0; y < height; ++y, out += width * kPixel) {
    const uint8_t* row = in + (turn.from_bottom ? height - 1 - y : y) * stride;
    if (turn.from_right) {
      Mirror<kPixel>(row, width, out);
    } else {
      std::memcpy(out, row, width * kPixel);
    }
  }
}

// Calls `body` with the size of a pixel as a constant, which makes copies of
// pixels single instructions.
template <typename Body>
void WithPixel(size_t pixel, const Body& body) {
  switch (pixel) {
    case 1:
      return body(std::integral_constant<size_t, 1>());
    case 2:
      return body(std::integral_constant<size_t, 2>());
    case 3:
      return body(std::integral_constant<size_t, 3>());
    case 4:
      return body(std::integral_constant<size_t, 4>());
    case 6:
      return body(std::integral_constant<size_t, 6>());
    default:
      return body(std::integral_constant<size_t, 8>());
  }
}

}  // namespace

void OrientedSize(int orientation, uint32_t* height, uint32_t* width) {
  if (TurnOf(orientation).transposed) std::swap(*height, *width);
}

Window StoredWindow(int orientation, const Window& upright, uint32_t height,
                    uint32_t width) {
  const Turn turn = TurnOf(orientation);
  Window stored = upright;
  if (turn.transposed) {
    stored = {upright.x, upright.y, upright.width, upright.height};
  }
  if (turn.from_bottom) stored.y = height - stored.y - stored.height;
  if (turn.from_right) stored.x = width - stored.x - stored.width;
  return stored;
}

Affine OrientMap(int orientation, uint32_t height, uint32_t width) {
  const Turn turn = TurnOf(orientation);
  Affine map;
  if (turn.from_right) map.xx = -1, map.x0 = width;
  if (turn.from_bottom) map.yy = -1, map.y0 = height;
  if (turn.transposed) map = Then(map, {0, 1, 0, 1, 0, 0});
  return map;
}

void Orient(const uint8_t* in, size_t stride, size_t height, size_t width,
            size_t pixel, int orientation, uint8_t* out) {
  const Turn turn = TurnOf(orientation);
  WithPixel(pixel, [&](auto size) {
    OrientPixels<size()>(in, stride, height, width, turn, out);
  });
}

void MirrorRow(const uint8_t* in, size_t width, size_t pixel, uint8_t* out) {
  WithPixel(pixel, [&](auto size) { Mirror<size()>(in, width, out); });
}

}  // namespace liquid
