#include "ops/image/rotate.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "ops/image/sine.h"

namespace liquid {
namespace {

// Pixels of a source, and where a pixel of the result is found in it.
template <typename T, size_t kChannels>
struct Source {
  const T* pixels;
  size_t height, width;
  Affine map;

  const T* At(size_t y, size_t x) const {
    return pixels + (y * width + x) * kChannels;
  }
};

// Calls `body` with the number of channels as a constant.
template <typename Body>
void WithChannels(size_t channels, const Body& body) {
  switch (channels) {
    case 1:
      return body(std::integral_constant<size_t, 1>());
    case 2:
      return body(std::integral_constant<size_t, 2>());
    case 3:
      return body(std::integral_constant<size_t, 3>());
    default:
      return body(std::integral_constant<size_t, 4>());
  }
}

// Calls `body` with the place in the source of every pixel of the result, in
// the order of rows, and with the pixel.
template <typename T, size_t kChannels, typename Body>
void ForEachPlace(const Source<T, kChannels>& source, T* out,
                  const Body& body) {
  const Affine& map = source.map;
  for (size_t y = 0; y < source.height; ++y) {
    const double row = static_cast<double>(y) + 0.5;
    const double row_x = map.xy * row, row_y = map.yy * row;
    for (size_t x = 0; x < source.width; ++x, out += kChannels) {
      const double column = static_cast<double>(x) + 0.5;
      body(map.xx * column + row_x + map.x0, map.yx * column + row_y + map.y0,
           out);
    }
  }
}

// Quantities that may be mixed: colours times their alpha. Of 8 bits they are
// rounded to bytes, in both directions as Pillow does.
uint8_t Weighed(uint8_t colour, uint8_t alpha) {
  const uint32_t product = uint32_t{colour} * alpha + 128;
  return static_cast<uint8_t>((product + (product >> 8)) >> 8);
}
double Weighed(uint16_t colour, uint16_t alpha) {
  return static_cast<double>(colour) * alpha;
}
uint8_t Unweighed(uint8_t weighed, uint8_t alpha) {
  if (alpha == 0) return weighed;
  return static_cast<uint8_t>(std::min(255u * weighed / alpha, 255u));
}

void Settle(double value, uint8_t* out) { *out = static_cast<uint8_t>(value); }
void Settle(double value, uint16_t* out) {
  *out = static_cast<uint16_t>(value + 0.5);
}
void SettleWeighed(double value, double alpha, uint8_t* out) {
  *out = Unweighed(static_cast<uint8_t>(value), static_cast<uint8_t>(alpha));
}
void SettleWeighed(double value, double alpha, uint16_t* out) {
  Settle(alpha > 0 ? std::min(value / alpha, 65535.0) : 0, out);
}

// Four neighbours and how near they are.
template <typename T>
struct Square {
  const T *upper_left, *upper_right, *lower_left, *lower_right;
  double right, down;

  template <typename Value>
  double Mix(const Value& value) const {
    const double ul = value(upper_left), ur = value(upper_right);
    const double ll = value(lower_left), lr = value(lower_right);
    const double upper = ul + (ur - ul) * right;
    const double lower = ll + (lr - ll) * right;
    return upper + (lower - upper) * down;
  }
};

// Requires a place inside the source.
template <typename T, size_t kChannels>
Square<T> SquareAt(const Source<T, kChannels>& source, double x, double y) {
  // From the centre of the first pixel on; only the edges are before it.
  x -= 0.5;
  y -= 0.5;
  const ptrdiff_t left = x < 0 ? -1 : static_cast<ptrdiff_t>(x);
  const ptrdiff_t top = y < 0 ? -1 : static_cast<ptrdiff_t>(y);
  const auto inside = [](ptrdiff_t at, size_t side) {
    return std::min(static_cast<size_t>(std::max<ptrdiff_t>(at, 0)), side - 1);
  };
  const size_t x0 = inside(left, source.width);
  const size_t x1 = inside(left + 1, source.width);
  const size_t y0 = inside(top, source.height);
  const size_t y1 = inside(top + 1, source.height);
  return {source.At(y0, x0),
          source.At(y0, x1),
          source.At(y1, x0),
          source.At(y1, x1),
          x - static_cast<double>(left),
          y - static_cast<double>(top)};
}

template <typename T, size_t kChannels>
void Bilinear(const Source<T, kChannels>& source, T fill, T* out) {
  const auto height = static_cast<double>(source.height);
  const auto width = static_cast<double>(source.width);
  ForEachPlace(source, out, [&](double x, double y, T* pixel) {
    if (!(x >= 0 && x < width && y >= 0 && y < height)) {
      std::fill_n(pixel, kChannels, fill);
      return;
    }
    const Square<T> square = SquareAt(source, x, y);
    if constexpr (kChannels % 2 == 0) {
      constexpr size_t kAlpha = kChannels - 1;
      const double alpha =
          square.Mix([](const T* at) -> double { return at[kAlpha]; });
      for (size_t c = 0; c < kAlpha; ++c) {
        SettleWeighed(square.Mix([c](const T* at) -> double {
          return Weighed(at[c], at[kAlpha]);
        }),
                      alpha, &pixel[c]);
      }
      Settle(alpha, &pixel[kAlpha]);
    } else {
      for (size_t c = 0; c < kChannels; ++c) {
        Settle(square.Mix([c](const T* at) -> double { return at[c]; }),
               &pixel[c]);
      }
    }
  });
}

// Whether 16 bits hold the whole part of every place.
bool FitsFixedPoint(const Affine& map, size_t height, size_t width) {
  for (const double y : {0.0, static_cast<double>(height)}) {
    for (const double x : {0.0, static_cast<double>(width)}) {
      if (!(std::fabs(map.xx * x + map.xy * y + map.x0) < 32768 &&
            std::fabs(map.yx * x + map.yy * y + map.y0) < 32768)) {
        return false;
      }
    }
  }
  return true;
}

template <typename T, size_t kChannels>
void CopyNearest(const Source<T, kChannels>& source, int64_t x, int64_t y,
                 T fill, T* pixel) {
  // As unsigned numbers, negative ones are beyond every side.
  if (static_cast<uint64_t>(x) < source.width &&
      static_cast<uint64_t>(y) < source.height) {
    std::copy_n(source.At(static_cast<size_t>(y), static_cast<size_t>(x)),
                kChannels, pixel);
  } else {
    std::fill_n(pixel, kChannels, fill);
  }
}

// By steps of 2^-16.
template <typename T, size_t kChannels>
void NearestFixed(const Source<T, kChannels>& source, T fill, T* out) {
  const Affine& map = source.map;
  const auto fixed = [](double value) {
    return static_cast<int64_t>(std::floor(value * 65536 + 0.5));
  };
  const int64_t xx = fixed(map.xx), xy = fixed(map.xy);
  const int64_t yx = fixed(map.yx), yy = fixed(map.yy);
  int64_t row_x = fixed(map.x0 + map.xx * 0.5 + map.xy * 0.5);
  int64_t row_y = fixed(map.y0 + map.yx * 0.5 + map.yy * 0.5);
  for (size_t y = 0; y < source.height; ++y, row_x += xy, row_y += yy) {
    int64_t at_x = row_x, at_y = row_y;
    for (size_t x = 0; x < source.width; ++x, out += kChannels) {
      CopyNearest(source, at_x >> 16, at_y >> 16, fill, out);
      at_x += xx;
      at_y += yx;
    }
  }
}

template <typename T, size_t kChannels>
void Nearest(const Source<T, kChannels>& source, T fill, T* out) {
  if (sizeof(T) == 1 &&
      FitsFixedPoint(source.map, source.height, source.width)) {
    return NearestFixed(source, fill, out);
  }
  const auto whole = [](double at) {
    return at < 0 ? -1 : static_cast<int64_t>(at);
  };
  ForEachPlace(source, out, [&](double x, double y, T* pixel) {
    CopyNearest(source, whole(x), whole(y), fill, pixel);
  });
}

// The rotation whose matrix is (cosine, sine; -sine, cosine), of places below
// which y grows, about the centre.
Affine AboutCentre(double cosine, double sine, size_t height, size_t width) {
  const double x = static_cast<double>(width) / 2;
  const double y = static_cast<double>(height) / 2;
  return {cosine, sine,   cosine * -x + sine * -y + x,
          -sine,  cosine, -sine * -x + cosine * -y + y};
}

}  // namespace

Affine RotateMap(double degrees, size_t height, size_t width) {
  const SineCosine turn = RoundedSineCosine(degrees);
  return AboutCentre(turn.cosine, turn.sine, height, width);
}

Affine RotateSource(double degrees, size_t height, size_t width) {
  const SineCosine turn = RoundedSineCosine(degrees);
  return AboutCentre(turn.cosine, -turn.sine, height, width);
}

template <typename T>
void RotateBilinear(const T* in, size_t height, size_t width, size_t channels,
                    double degrees, T fill, T* out) {
  // Pixels then lie on pixels: nothing is mixed, nor is alpha rounded.
  if (std::fmod(degrees, 180) == 0 ||
      (std::fmod(degrees, 90) == 0 && height == width)) {
    return RotateNearest(in, height, width, channels, degrees, fill, out);
  }
  const Affine map = RotateSource(degrees, height, width);
  WithChannels(channels, [&](auto count) {
    Bilinear(Source<T, count()>{in, height, width, map}, fill, out);
  });
}

template <typename T>
void RotateNearest(const T* in, size_t height, size_t width, size_t channels,
                   double degrees, T fill, T* out) {
  const Affine map = RotateSource(degrees, height, width);
  WithChannels(channels, [&](auto count) {
    Nearest(Source<T, count()>{in, height, width, map}, fill, out);
  });
}

template void RotateBilinear(const uint8_t*, size_t, size_t, size_t, double,
                             uint8_t, uint8_t*);
template void RotateBilinear(const uint16_t*, size_t, size_t, size_t, double,
                             uint16_t, uint16_t*);
template void RotateNearest(const uint8_t*, size_t, size_t, size_t, double,
                            uint8_t, uint8_t*);
template void RotateNearest(const uint16_t*, size_t, size_t, size_t, double,
                            uint16_t, uint16_t*);

}  // namespace liquid
