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

// Some pixels of a row of the result, whose neighbours, kSide in each
// direction, are first gathered, pixel by pixel, and then mixed, which
// compilers turn into vectors.
template <typename T, size_t kChannels, size_t kSide>
struct Mixer {
  static constexpr size_t kPixels = 64;
  static constexpr size_t kAlpha = kChannels % 2 == 0 ? kChannels - 1 : 0;
  static constexpr ptrdiff_t kBefore = kSide / 2 - 1;
  // A whole pixel, its first channel lowest, as little-endian machines load it.
  using Word = std::conditional_t<sizeof(T) == 1, uint32_t, uint64_t>;

  Word near[kSide][kSide][kPixels];
  double right[kPixels], down[kPixels];
  double mixed[kChannels][kPixels];
  T settled[kChannels][kPixels];

  // Requires a place inside the source.
  LIQUID_INLINE void Gather(const AffineSource<T, kChannels>& source, double x,
                            double y, size_t i) {
    // From the centre of the first pixel on; only the edges are before it.
    x -= 0.5;
    y -= 0.5;
    const ptrdiff_t left = x < 0 ? -1 : static_cast<ptrdiff_t>(x);
    const ptrdiff_t top = y < 0 ? -1 : static_cast<ptrdiff_t>(y);
    right[i] = x - static_cast<double>(left);
    down[i] = y - static_cast<double>(top);
    for (size_t row = 0; row < kSide; ++row) {
      const size_t at_y = Place(top, row, source.height);
      for (size_t column = 0; column < kSide; ++column) {
        near[row][column][i] =
            Load(source.At(at_y, Place(left, column, source.width)));
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

  // Beyond an edge, the pixel at the edge.
  static LIQUID_INLINE size_t Place(ptrdiff_t first, size_t neighbour,
                                    size_t side) {
    const ptrdiff_t at = first + static_cast<ptrdiff_t>(neighbour) - kBefore;
    const auto last = static_cast<ptrdiff_t>(side - 1);
    return static_cast<size_t>(std::min(std::max<ptrdiff_t>(at, 0), last));
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

template <size_t kSide, typename T, size_t kChannels>
LIQUID_INLINE void MixAll(const AffineSource<T, kChannels>& source, T* out) {
  const auto height = static_cast<double>(source.height);
  const auto width = static_cast<double>(source.width);
  Mixer<T, kChannels, kSide> mixer = {};
  for (size_t y = 0; y < source.height; ++y, out += source.width * kChannels) {
    const RowPlaces places(source.map, y);
    const auto inside = [&](size_t x) LIQUID_INLINED {
      return places.X(x) >= 0 && places.X(x) < width && places.Y(x) >= 0 &&
             places.Y(x) < height;
    };
    // Places go one way along a row, and so those inside are next to each
    // other.
    size_t begin = 0, end = source.width;
    while (begin < end && !inside(begin)) ++begin;
    while (begin < end && !inside(end - 1)) --end;
    source.Fill(begin, out);
    source.Fill(source.width - end, out + end * kChannels);
    for (size_t x = begin; x < end; x += mixer.kPixels) {
      const size_t count = std::min(mixer.kPixels, end - x);
      for (size_t i = 0; i < count; ++i) {
        mixer.Gather(source, places.X(x + i), places.Y(x + i), i);
      }
      mixer.Mix(count, out + x * kChannels);
    }
  }
}

}  // namespace

template <typename T>
void SampleBilinear(const T* in, size_t height, size_t width, size_t channels,
                    const Affine& map, const T* fill, T* out) {
  ForChannels(channels, [&](auto count) {
    const AffineSource<T, count()> source{in, height, width, map, fill};
    RunBest([&]() LIQUID_INLINED { MixAll<2>(source, out); });
  });
}

void SampleBicubic(const uint8_t* in, size_t height, size_t width,
                   size_t channels, const Affine& map, const uint8_t* fill,
                   uint8_t* out) {
  const auto sample = [&](auto count) {
    const AffineSource<uint8_t, count()> source{in, height, width, map, fill};
    RunBest([&]() LIQUID_INLINED { MixAll<4>(source, out); });
  };
  if (channels == 1) return sample(std::integral_constant<size_t, 1>());
  sample(std::integral_constant<size_t, 3>());
}

template void SampleBilinear(const uint8_t*, size_t, size_t, size_t,
                             const Affine&, const uint8_t*, uint8_t*);
template void SampleBilinear(const uint16_t*, size_t, size_t, size_t,
                             const Affine&, const uint16_t*, uint16_t*);

}  // namespace liquid
