#include "ops/image/rotate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/image/channels.h"
#include "ops/image/sine.h"

// The loops that mix are compiled twice where one binary must run on processors
// with and without wide vectors.
#define LIQUID_INLINE inline __attribute__((always_inline))

namespace liquid {
namespace {

// Pixels of a source, and where a pixel of the result is found in it.
template <typename T, size_t kChannels>
struct Source {
  const T* pixels;
  size_t height, width;
  Affine map;

  LIQUID_INLINE const T* At(size_t y, size_t x) const {
    return pixels + (y * width + x) * kChannels;
  }
};

// Where the pixels of a row of the result are found in the source.
struct RowPlaces {
  LIQUID_INLINE RowPlaces(const Affine& affine, size_t y)
      : map(affine),
        row_x(map.xy * (static_cast<double>(y) + 0.5)),
        row_y(map.yy * (static_cast<double>(y) + 0.5)) {}

  LIQUID_INLINE double X(size_t x) const {
    return map.xx * (static_cast<double>(x) + 0.5) + row_x + map.x0;
  }
  LIQUID_INLINE double Y(size_t x) const {
    return map.yx * (static_cast<double>(x) + 0.5) + row_y + map.y0;
  }
  LIQUID_INLINE bool Inside(size_t x, double height, double width) const {
    return X(x) >= 0 && X(x) < width && Y(x) >= 0 && Y(x) < height;
  }

  const Affine map;
  const double row_x, row_y;
};

// Quantities that may be mixed: colours times their alpha. Of 8 bits they are
// rounded to bytes, in both directions as Pillow does.
template <typename T>
LIQUID_INLINE double Weighed(int32_t colour, int32_t alpha) {
  if (sizeof(T) > 1) return static_cast<double>(colour) * alpha;
  const int32_t product = colour * alpha + 128;
  return (product + (product >> 8)) >> 8;
}

LIQUID_INLINE void Settle(double value, uint8_t* out) {
  *out = static_cast<uint8_t>(static_cast<int>(value));
}
LIQUID_INLINE void Settle(double value, uint16_t* out) {
  *out = static_cast<uint16_t>(static_cast<int>(value + 0.5));
}
LIQUID_INLINE void SettleWeighed(double value, double alpha, uint8_t* out) {
  const int weighed = static_cast<int>(value), weight = static_cast<int>(alpha);
  // A clear pixel keeps its colour. The quotient is rounded down, as it is that
  // of two small integers.
  const int divisor = weight + 255 * (weight == 0);
  const float colour =
      static_cast<float>(255 * weighed) / static_cast<float>(divisor);
  *out = static_cast<uint8_t>(static_cast<int>(std::min(colour, 255.0f)));
}
LIQUID_INLINE void SettleWeighed(double value, double alpha, uint16_t* out) {
  Settle(alpha > 0 ? std::min(value / alpha, 65535.0) : 0, out);
}

// Some pixels of a row of the result, whose four neighbours are first gathered,
// pixel by pixel, and then mixed, which compilers turn into vectors.
template <typename T, size_t kChannels>
struct Mixer {
  static constexpr size_t kPixels = 64;
  static constexpr size_t kAlpha = kChannels % 2 == 0 ? kChannels - 1 : 0;
  // A whole pixel, its first channel lowest, as little-endian machines load it.
  using Word = std::conditional_t<sizeof(T) == 1, uint32_t, uint64_t>;

  Word upper_left[kPixels], upper_right[kPixels];
  Word lower_left[kPixels], lower_right[kPixels];
  double right[kPixels], down[kPixels];
  double mixed[kChannels][kPixels];
  T settled[kChannels][kPixels];

  // Requires a place inside the source.
  LIQUID_INLINE void Gather(const Source<T, kChannels>& source, double x,
                            double y, size_t i) {
    // From the centre of the first pixel on; only the edges are before it.
    x -= 0.5;
    y -= 0.5;
    const ptrdiff_t left = x < 0 ? -1 : static_cast<ptrdiff_t>(x);
    const ptrdiff_t top = y < 0 ? -1 : static_cast<ptrdiff_t>(y);
    const auto x0 = static_cast<size_t>(std::max<ptrdiff_t>(left, 0));
    const auto y0 = static_cast<size_t>(std::max<ptrdiff_t>(top, 0));
    const size_t x1 = std::min(static_cast<size_t>(left + 1), source.width - 1);
    const size_t y1 = std::min(static_cast<size_t>(top + 1), source.height - 1);
    upper_left[i] = Load(source.At(y0, x0));
    upper_right[i] = Load(source.At(y0, x1));
    lower_left[i] = Load(source.At(y1, x0));
    lower_right[i] = Load(source.At(y1, x1));
    right[i] = x - static_cast<double>(left);
    down[i] = y - static_cast<double>(top);
  }

  LIQUID_INLINE void Mix(size_t count, T* out) {
    MixAndSettle(std::make_index_sequence<kChannels>());
    for (size_t i = 0; i < count; ++i) {
      for (size_t c = 0; c < kChannels; ++c) {
        out[i * kChannels + c] = settled[c][i];
      }
    }
  }

  template <size_t... kAll>
  LIQUID_INLINE void MixAndSettle(std::index_sequence<kAll...>) {
    (MixOne<kAll>(), ...);
    (SettleOne<kAll>(), ...);
  }

  template <size_t kChannel>
  LIQUID_INLINE void MixOne() {
    for (size_t i = 0; i < kPixels; ++i) {
      const double ul = Value<kChannel>(upper_left[i]);
      const double ur = Value<kChannel>(upper_right[i]);
      const double ll = Value<kChannel>(lower_left[i]);
      const double lr = Value<kChannel>(lower_right[i]);
      const double upper = ul + (ur - ul) * right[i];
      const double lower = ll + (lr - ll) * right[i];
      mixed[kChannel][i] = upper + (lower - upper) * down[i];
    }
  }

  template <size_t kChannel>
  LIQUID_INLINE void SettleOne() {
    for (size_t i = 0; i < kPixels; ++i) {
      if constexpr (kChannel < kAlpha) {
        SettleWeighed(mixed[kChannel][i], mixed[kAlpha][i],
                      &settled[kChannel][i]);
      } else {
        Settle(mixed[kChannel][i], &settled[kChannel][i]);
      }
    }
  }

  // In as few loads as its size allows.
  static LIQUID_INLINE Word Load(const T* pixel) {
    using Pair = std::conditional_t<sizeof(T) == 1, uint16_t, uint32_t>;
    Word word = pixel[0];
    if constexpr (kChannels == 4) {
      std::memcpy(&word, pixel, sizeof(word));
    } else if constexpr (kChannels > 1) {
      Pair pair;
      std::memcpy(&pair, pixel, sizeof(pair));
      word = pair;
      if constexpr (kChannels == 3) word |= Word{pixel[2]} << 16 * sizeof(T);
    }
    return word;
  }
  template <size_t kChannel>
  static LIQUID_INLINE int32_t Channel(Word word) {
    constexpr Word kMask = std::numeric_limits<T>::max();
    return static_cast<int32_t>(word >> (8 * sizeof(T) * kChannel) & kMask);
  }
  template <size_t kChannel>
  static LIQUID_INLINE double Value(Word word) {
    if constexpr (kChannel < kAlpha) {
      return Weighed<T>(Channel<kChannel>(word), Channel<kAlpha>(word));
    }
    return Channel<kChannel>(word);
  }
};

template <typename T, size_t kChannels>
LIQUID_INLINE void Bilinear(const Source<T, kChannels>& source, T fill,
                            T* out) {
  const Affine& map = source.map;
  const auto height = static_cast<double>(source.height);
  const auto width = static_cast<double>(source.width);
  Mixer<T, kChannels> mixer = {};
  for (size_t y = 0; y < source.height; ++y, out += source.width * kChannels) {
    const RowPlaces places(map, y);
    // Places go one way along a row, and so those inside are next to each
    // other.
    size_t begin = 0, end = source.width;
    while (begin < end && !places.Inside(begin, height, width)) ++begin;
    while (begin < end && !places.Inside(end - 1, height, width)) --end;
    std::fill(out, out + begin * kChannels, fill);
    std::fill(out + end * kChannels, out + source.width * kChannels, fill);
    for (size_t x = begin; x < end; x += mixer.kPixels) {
      const size_t count = std::min(mixer.kPixels, end - x);
      for (size_t i = 0; i < count; ++i) {
        mixer.Gather(source, places.X(x + i), places.Y(x + i), i);
      }
      mixer.Mix(count, out + x * kChannels);
    }
  }
}

template <typename T, size_t kChannels>
void PlainBilinear(const Source<T, kChannels>& source, T fill, T* out) {
  Bilinear(source, fill, out);
}

#if defined(__x86_64__)
template <typename T, size_t kChannels>
__attribute__((target("avx2"))) void WideBilinear(
    const Source<T, kChannels>& source, T fill, T* out) {
  Bilinear(source, fill, out);
}
#endif

template <typename T, size_t kChannels>
void BestBilinear(const Source<T, kChannels>& source, T fill, T* out) {
#if defined(__x86_64__)
  static const bool kHasWide = __builtin_cpu_supports("avx2");
  if (kHasWide) return WideBilinear(source, fill, out);
#endif
  PlainBilinear(source, fill, out);
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
  for (size_t y = 0; y < source.height; ++y) {
    const RowPlaces places(source.map, y);
    for (size_t x = 0; x < source.width; ++x, out += kChannels) {
      CopyNearest(source, whole(places.X(x)), whole(places.Y(x)), fill, out);
    }
  }
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
  ForChannels(channels, [&](auto count) {
    BestBilinear(Source<T, count()>{in, height, width, map}, fill, out);
  });
}

template <typename T>
void RotateNearest(const T* in, size_t height, size_t width, size_t channels,
                   double degrees, T fill, T* out) {
  const Affine map = RotateSource(degrees, height, width);
  ForChannels(channels, [&](auto count) {
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
