#include "ops/image/affine_nearest.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "ops/image/affine_sample.h"
#include "ops/image/affine_source.h"
#include "ops/image/channels.h"

namespace liquid {
namespace {

// Steps `begin` to `end` (excluded).
struct Span {
  int64_t begin, end;
};

int64_t RoundedUp(int64_t dividend, int64_t divisor) {
  return (dividend + divisor - 1) / divisor;
}

// The first `count` steps i for which start + i * step is in [0, limit).
Span StepsInside(int64_t start, int64_t step, int64_t limit, int64_t count) {
  if (step < 0) {
    start = limit - 1 - start;
    step = -step;
  }
  if (step == 0) return {0, start >= 0 && start < limit ? count : 0};
  const int64_t begin = start < 0 ? RoundedUp(-start, step) : 0;
  const int64_t end = start < limit ? RoundedUp(limit - start, step) : 0;
  return {begin, std::min(end, count)};
}

// Pixels next to each other, all of which are found in the source.
template <size_t kChannels>
LIQUID_INLINE void CopySteps(const AffineSource<uint8_t, kChannels> source,
                             int64_t x, int64_t y, int64_t xx, int64_t yx,
                             int64_t count, uint8_t* out) {
  int64_t i = 0;
  if constexpr (kChannels == 3) {
    // Four bytes are copied in fewer instructions than three: the fourth is
    // overwritten by the next pixel. Beyond the last row none may be read.
    const int64_t lowest = std::max(y, y + (count - 1) * yx) >> 16;
    if (lowest + 1 < static_cast<int64_t>(source.height)) {
      for (; i + 1 < count; ++i, x += xx, y += yx, out += 3) {
        std::memcpy(out, source.At(y >> 16, x >> 16), 4);
      }
    }
  }
  for (; i < count; ++i, x += xx, y += yx, out += kChannels) {
    source.Copy(y >> 16, x >> 16, out);
  }
}

// By steps of 2^-16.
template <size_t kChannels>
void ByFixedSteps(const AffineSource<uint8_t, kChannels>& source,
                  uint8_t* out) {
  constexpr int64_t kOne = 65536;
  const auto height = static_cast<int64_t>(source.height);
  const auto width = static_cast<int64_t>(source.width);
  const NearestSteps steps = NearestStepsOf(source.map);
  const int64_t xx = steps.xx, yx = steps.yx;
  int64_t row_x = steps.x0, row_y = steps.y0;
  for (int64_t y = 0; y < height; ++y, row_x += steps.xy, row_y += steps.yy) {
    const Span by_x = StepsInside(row_x, xx, width * kOne, width);
    const Span by_y = StepsInside(row_y, yx, height * kOne, width);
    const int64_t begin = std::min(std::max(by_x.begin, by_y.begin), width);
    const int64_t end = std::max(std::min(by_x.end, by_y.end), begin);
    source.Fill(begin, out);
    out += begin * kChannels;
    const int64_t x = row_x + begin * xx, at_y = row_y + begin * yx;
    const int64_t count = end - begin;
    if (xx == kOne && yx == 0 && count > 0) {
      std::copy_n(source.At(at_y >> 16, x >> 16), count * kChannels, out);
    } else {
      CopySteps(source, x, at_y, xx, yx, count, out);
    }
    out += count * kChannels;
    source.Fill(width - end, out);
    out += (width - end) * kChannels;
  }
}

template <typename T, size_t kChannels>
LIQUID_INLINE void CopyOrFill(const AffineSource<T, kChannels>& source,
                              double x, double y, T* out) {
  const ptrdiff_t at_x = NearestPlace(x, source.width);
  const ptrdiff_t at_y = NearestPlace(y, source.height);
  if (at_x >= 0 && at_y >= 0) {
    source.Copy(at_y, at_x, out);
  } else {
    source.Fill(1, out);
  }
}

// Steps along both axes add up.
template <size_t kChannels>
void ByFloatSteps(const AffineSource<uint8_t, kChannels>& source,
                  uint8_t* out) {
  const Affine& map = source.map;
  double row_x = map.x0 + map.xx * 0.5 + map.xy * 0.5;
  double row_y = map.y0 + map.yx * 0.5 + map.yy * 0.5;
  for (size_t y = 0; y < source.height; ++y, row_x += map.xy, row_y += map.yy) {
    double at_x = row_x, at_y = row_y;
    for (size_t x = 0; x < source.width; ++x, out += kChannels) {
      CopyOrFill(source, at_x, at_y, out);
      at_x += map.xx;
      at_y += map.yx;
    }
  }
}

// Rows stay rows.
template <size_t kChannels>
void Scale(const AffineSource<uint8_t, kChannels>& source, uint8_t* out) {
  constexpr size_t kBlock = 512;
  const Affine& map = source.map;
  double at_x = map.x0 + map.xx * 0.5;
  for (size_t block = 0; block < source.width; block += kBlock) {
    const size_t count = std::min(kBlock, source.width - block);
    ptrdiff_t places[kBlock];
    for (size_t i = 0; i < count; ++i, at_x += map.xx) {
      places[i] = NearestPlace(at_x, source.width);
    }
    // Places go one way, and so those inside are next to each other.
    size_t begin = 0, end = count;
    while (begin < end && places[begin] < 0) ++begin;
    while (begin < end && places[end - 1] < 0) --end;
    bool copies = true;
    for (size_t i = begin + 1; i < end; ++i) {
      copies = copies && places[i] == places[i - 1] + 1;
    }
    double at_y = map.y0 + map.yy * 0.5;
    uint8_t* row = out + block * kChannels;
    for (size_t y = 0; y < source.height;
         ++y, row += source.width * kChannels, at_y += map.yy) {
      const ptrdiff_t from = NearestPlace(at_y, source.height);
      if (from < 0 || begin == end) {
        source.Fill(count, row);
        continue;
      }
      source.Fill(begin, row);
      source.Fill(count - end, row + end * kChannels);
      if (copies) {
        std::copy_n(source.At(from, places[begin]), (end - begin) * kChannels,
                    row + begin * kChannels);
      } else {
        for (size_t i = begin; i < end; ++i) {
          source.Copy(from, places[i], row + i * kChannels);
        }
      }
    }
  }
}

template <size_t kChannels>
void Nearest(const AffineSource<uint8_t, kChannels>& source, uint8_t* out) {
  switch (NearestWayOf(source.map, source.height, source.width)) {
    case NearestWay::kScale:
      return Scale(source, out);
    case NearestWay::kFixedSteps:
      return ByFixedSteps(source, out);
    case NearestWay::kFloatSteps:
      return ByFloatSteps(source, out);
  }
}

template <size_t kChannels>
void Nearest(const AffineSource<uint16_t, kChannels>& source, uint16_t* out) {
  for (size_t y = 0; y < source.height; ++y) {
    const RowPlaces places(source.map, y);
    for (size_t x = 0; x < source.width; ++x, out += kChannels) {
      CopyOrFill(source, places.X(x), places.Y(x), out);
    }
  }
}

}  // namespace

NearestWay NearestWayOf(const Affine& map, size_t height, size_t width) {
  if (map.xy == 0 && map.yx == 0) return NearestWay::kScale;
  for (const double y : {0.0, static_cast<double>(height)}) {
    for (const double x : {0.0, static_cast<double>(width)}) {
      if (!(std::fabs(map.xx * x + map.xy * y + map.x0) < 32768 &&
            std::fabs(map.yx * x + map.yy * y + map.y0) < 32768)) {
        return NearestWay::kFloatSteps;
      }
    }
  }
  return NearestWay::kFixedSteps;
}

NearestSteps NearestStepsOf(const Affine& map) {
  const auto fixed = [](double value) {
    return static_cast<int64_t>(std::floor(value * 65536 + 0.5));
  };
  return {fixed(map.xx),
          fixed(map.xy),
          fixed(map.x0 + map.xx * 0.5 + map.xy * 0.5),
          fixed(map.yx),
          fixed(map.yy),
          fixed(map.y0 + map.yx * 0.5 + map.yy * 0.5)};
}

template <typename T>
void SampleNearest(const T* in, size_t height, size_t width, size_t channels,
                   const Affine& map, const T* fill, T* out) {
  ForChannels(channels, [&](auto count) {
    Nearest(AffineSource<T, count()>{in, height, width, map, fill}, out);
  });
}

template void SampleNearest(const uint8_t*, size_t, size_t, size_t,
                            const Affine&, const uint8_t*, uint8_t*);
template void SampleNearest(const uint16_t*, size_t, size_t, size_t,
                            const Affine&, const uint16_t*, uint16_t*);

}  // namespace liquid
