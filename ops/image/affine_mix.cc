#include "ops/image/affine_mix.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "ops/image/affine_sample.h"
#include "ops/image/affine_source.h"
#include "ops/image/channels.h"

namespace liquid {
namespace {

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

// The value `part` of the way from the middle of neighbours to the next one.
LIQUID_INLINE double Between(const double (&near)[2], double part) {
  return near[0] + (near[1] - near[0]) * part;
}
// Overshoots are cut by who takes the last of these.
LIQUID_INLINE double Between(const double (&near)[4], double part) {
  const double slope = near[2] - near[0];
  const double bend = 2 * (near[0] - near[1]) + near[2] - near[3];
  const double twist = near[1] - near[0] - near[2] + near[3];
  return near[1] + part * (slope + part * (bend + part * twist));
}

// Where the place `at`, inside the source, lies among the pixels in a
// direction.
struct Near {
  LIQUID_INLINE explicit Near(double at) {
    // From the centre of the first pixel on; only the edges are before it.
    at -= 0.5;
    first = at < 0 ? -1 : static_cast<ptrdiff_t>(at);
    part = at - static_cast<double>(first);
  }

  // The pixel that is `i`-th of kSide; beyond an edge, the one at the edge.
  template <size_t kSide>
  LIQUID_INLINE size_t Place(size_t i, size_t side) const {
    constexpr ptrdiff_t kBefore = kSide / 2 - 1;
    const ptrdiff_t at = first + static_cast<ptrdiff_t>(i) - kBefore;
    const auto last = static_cast<ptrdiff_t>(side - 1);
    return static_cast<size_t>(std::min(std::max<ptrdiff_t>(at, 0), last));
  }

  ptrdiff_t first;  // of the two pixels about the place
  double part;      // of the way from it to the other
};

// Some pixels of a row of the result, whose neighbours, kSide in each
// direction, are first gathered, pixel by pixel, and then mixed, which
// compilers turn into vectors.
template <typename T, size_t kChannels, size_t kSide>
struct Mixer {
  static constexpr size_t kPixels = 64;
  static constexpr size_t kAlpha = kChannels % 2 == 0 ? kChannels - 1 : 0;
  // A whole pixel, its first channel lowest, as little-endian machines load it.
  using Word = std::conditional_t<sizeof(T) == 1, uint32_t, uint64_t>;

  Word near[kSide][kSide][kPixels];
  double right[kPixels], down[kPixels];
  double mixed[kChannels][kPixels];
  T settled[kChannels][kPixels];

  // Requires a place inside the source.
  LIQUID_INLINE void Gather(const AffineSource<T, kChannels>& source, double x,
                            double y, size_t i) {
    const Near across(x), along(y);
    right[i] = across.part;
    down[i] = along.part;
    for (size_t row = 0; row < kSide; ++row) {
      const size_t at_y = along.Place<kSide>(row, source.height);
      for (size_t column = 0; column < kSide; ++column) {
        near[row][column][i] =
            Load(source.At(at_y, across.Place<kSide>(column, source.width)));
      }
    }
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
      double rows[kSide];
      for (size_t row = 0; row < kSide; ++row) {
        double values[kSide];
        for (size_t column = 0; column < kSide; ++column) {
          values[column] = Value<kChannel>(near[row][column][i]);
        }
        rows[row] = Between(values, right[i]);
      }
      mixed[kChannel][i] = Between(rows, down[i]);
    }
  }

  template <size_t kChannel>
  LIQUID_INLINE void SettleOne() {
    for (size_t i = 0; i < kPixels; ++i) {
      if constexpr (kChannel < kAlpha) {
        SettleWeighed(mixed[kChannel][i], mixed[kAlpha][i],
                      &settled[kChannel][i]);
      } else if constexpr (kSide > 2) {
        Settle(std::min(std::max(mixed[kChannel][i], 0.0), 255.0),
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

#if defined(__x86_64__)
// A single pixel.
template <size_t kSide>
void MixOne(const AffineSource<uint8_t, 3>& source, double x, double y,
            uint8_t* out) {
  const Near across(x), along(y);
  for (size_t c = 0; c < 3; ++c) {
    double rows[kSide];
    for (size_t row = 0; row < kSide; ++row) {
      double values[kSide];
      for (size_t column = 0; column < kSide; ++column) {
        values[column] =
            source.At(along.Place<kSide>(row, source.height),
                      across.Place<kSide>(column, source.width))[c];
      }
      rows[row] = Between(values, across.part);
    }
    Settle(std::min(std::max(Between(rows, along.part), 0.0), 255.0), out + c);
  }
}
#endif

// Steps from `begin` to `end` (excluded).
struct Span {
  size_t begin, end;
};

// Those between which `inside` holds, which is one span: places go one way
// along a row.
template <typename Inside>
LIQUID_INLINE Span SpanWhere(const Inside& inside, Span span) {
  while (span.begin < span.end && !inside(span.begin)) ++span.begin;
  while (span.begin < span.end && !inside(span.end - 1)) --span.end;
  return span;
}

// The pixels of a row of the result that have a place in the source.
template <typename T, size_t kChannels>
LIQUID_INLINE Span InSource(const AffineSource<T, kChannels>& source,
                            const RowPlaces& places) {
  const auto height = static_cast<double>(source.height);
  const auto width = static_cast<double>(source.width);
  return SpanWhere(
      [&](size_t x) LIQUID_INLINED {
        return places.X(x) >= 0 && places.X(x) < width && places.Y(x) >= 0 &&
               places.Y(x) < height;
      },
      {0, source.width});
}

template <size_t kSide, typename T, size_t kChannels>
LIQUID_INLINE void MixAll(const AffineSource<T, kChannels>& source, T* out) {
  Mixer<T, kChannels, kSide> mixer = {};
  for (size_t y = 0; y < source.height; ++y, out += source.width * kChannels) {
    const RowPlaces places(source.map, y);
    const Span span = InSource(source, places);
    source.Fill(span.begin, out);
    for (size_t x = span.begin; x < span.end; x += mixer.kPixels) {
      const size_t count = std::min(mixer.kPixels, span.end - x);
      for (size_t i = 0; i < count; ++i) {
        mixer.Gather(source, places.X(x + i), places.Y(x + i), i);
      }
      mixer.Mix(count, out + x * kChannels);
    }
    source.Fill(source.width - span.end, out + span.end * kChannels);
  }
}

#if defined(__x86_64__)
// As above, with the edges of the source apart.
template <size_t kSide>
void MixAllAvx2(const AffineSource<uint8_t, 3>& source, uint8_t* out) {
  constexpr double kBefore = kSide / 2 - 1, kAfter = kSide / 2;
  const auto mix_inner = kSide == 2 ? BilinearInnerAvx2 : BicubicInnerAvx2;
  const double height = static_cast<double>(source.height) - kAfter;
  const double width = static_cast<double>(source.width) - kAfter - 1;
  for (size_t y = 0; y < source.height; ++y, out += source.width * 3) {
    const RowPlaces places(source.map, y);
    const Span span = InSource(source, places);
    const Span inner = SpanWhere(
        [&](size_t at) {
          const double x = places.X(at) - 0.5, y = places.Y(at) - 0.5;
          return x >= kBefore && x < width && y >= kBefore && y < height;
        },
        span);
    const auto mix_edge = [&](size_t begin, size_t end) {
      for (size_t x = begin; x < end; ++x) {
        MixOne<kSide>(source, places.X(x), places.Y(x), out + 3 * x);
      }
    };
    source.Fill(span.begin, out);
    mix_edge(span.begin, inner.begin);
    mix_inner(source, places, inner.begin, inner.end, out);
    mix_edge(inner.end, span.end);
    source.Fill(source.width - span.end, out + 3 * span.end);
  }
}
#endif

template <size_t kSide, typename T, size_t kChannels>
void MixBest(const AffineSource<T, kChannels>& source, T* out) {
#if defined(__x86_64__)
  if constexpr (sizeof(T) == 1 && kChannels == 3) {
    static const bool kHasWide = __builtin_cpu_supports("avx2");
    if (kHasWide) return MixAllAvx2<kSide>(source, out);
  }
#endif
  RunBest([&]() LIQUID_INLINED { MixAll<kSide>(source, out); });
}

}  // namespace

template <typename T>
void SampleBilinear(const T* in, size_t height, size_t width, size_t channels,
                    const Affine& map, const T* fill, T* out) {
  ForChannels(channels, [&](auto count) {
    MixBest<2>(AffineSource<T, count()>{in, height, width, map, fill}, out);
  });
}

void SampleBicubic(const uint8_t* in, size_t height, size_t width,
                   size_t channels, const Affine& map, const uint8_t* fill,
                   uint8_t* out) {
  if (channels == 1) {
    MixBest<4>(AffineSource<uint8_t, 1>{in, height, width, map, fill}, out);
  } else {
    MixBest<4>(AffineSource<uint8_t, 3>{in, height, width, map, fill}, out);
  }
}

template void SampleBilinear(const uint8_t*, size_t, size_t, size_t,
                             const Affine&, const uint8_t*, uint8_t*);
template void SampleBilinear(const uint16_t*, size_t, size_t, size_t,
                             const Affine&, const uint16_t*, uint16_t*);

}  // namespace liquid
