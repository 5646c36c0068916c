// Sub, Average and Paeth make every pixel wait for the one to its left, about
// 13 cycles of latency each. Rows, however, may overlap: a row needs the row
// above only up to the same pixel. So four rows are decoded as a wavefront in
// the four lanes of one vector, each lane one pixel behind the lane above it:
//
//     step      s-1   s
//     row 0     A     B        lane 0 works on pixel s
//     row 1   C D              lane 1 works on pixel s - 1, ...
//
// In such a step the pixel to the left is the lane's own last result, the pixel
// above is the last result of the lane before it, and the pixel above-left is
// what was the pixel above one step ago. One dependency chain then serves four
// pixels. (Pixels over four bytes take two lanes of eight bytes.)
#include "ops/codecs/png/png_defilter.h"

#include <cstdlib>
#include <cstring>
#include <string>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace liquid {
namespace {

enum Filter : uint8_t { kNone, kSub, kUp, kAverage, kPaeth };

uint8_t Paeth(int a, int b, int c) {
  const int pa = std::abs(b - c);
  const int pb = std::abs(a - c);
  const int pc = std::abs(a + b - 2 * c);
  if (pa <= pb && pa <= pc) return static_cast<uint8_t>(a);
  return static_cast<uint8_t>(pb <= pc ? b : c);
}

void DefilterRow(uint8_t filter, uint8_t* row, size_t row_bytes,
                 size_t pixel_bytes, const uint8_t* above) {
  const size_t first = row_bytes < pixel_bytes ? row_bytes : pixel_bytes;
  switch (filter) {
    case kSub:
      for (size_t i = first; i < row_bytes; ++i) row[i] += row[i - pixel_bytes];
      break;
    case kUp:
      for (size_t i = 0; i < row_bytes; ++i) row[i] += above[i];
      break;
    case kAverage:
      for (size_t i = 0; i < first; ++i) row[i] += above[i] / 2;
      for (size_t i = first; i < row_bytes; ++i) {
        row[i] += (row[i - pixel_bytes] + above[i]) / 2;
      }
      break;
    case kPaeth:
      for (size_t i = 0; i < first; ++i) row[i] += above[i];
      for (size_t i = first; i < row_bytes; ++i) {
        row[i] += Paeth(row[i - pixel_bytes], above[i], above[i - pixel_bytes]);
      }
      break;
    default:
      break;
  }
}

#if defined(__SSE2__)

__m128i Select(__m128i mask, __m128i yes, __m128i no) {
  return _mm_or_si128(_mm_and_si128(mask, yes), _mm_andnot_si128(mask, no));
}

// Paeth's choice in bytes. |a + b - 2c| is |b - c| + |a - c| where both
// differences have one sign and the difference of the two otherwise; the sum
// may saturate, as the others are then smaller anyway.
__m128i PaethVector(__m128i a, __m128i b, __m128i c) {
  const __m128i zero = _mm_setzero_si128();
  const __m128i b_over = _mm_subs_epu8(b, c);
  const __m128i a_over = _mm_subs_epu8(a, c);
  const __m128i pa = _mm_or_si128(b_over, _mm_subs_epu8(c, b));
  const __m128i pb = _mm_or_si128(a_over, _mm_subs_epu8(c, a));
  const __m128i signs_differ =
      _mm_xor_si128(_mm_cmpeq_epi8(b_over, zero), _mm_cmpeq_epi8(a_over, zero));
  const __m128i difference =
      _mm_or_si128(_mm_subs_epu8(pa, pb), _mm_subs_epu8(pb, pa));
  const __m128i pc = Select(signs_differ, difference, _mm_adds_epu8(pa, pb));
  const __m128i least = _mm_min_epu8(_mm_min_epu8(pa, pb), pc);
  return Select(_mm_cmpeq_epi8(pa, least), a,
                Select(_mm_cmpeq_epi8(pb, least), b, c));
}

__m128i AverageVector(__m128i a, __m128i b) {
  // The instruction rounds up, PNG rounds down.
  const __m128i odd = _mm_and_si128(_mm_xor_si128(a, b), _mm_set1_epi8(1));
  return _mm_sub_epi8(_mm_avg_epu8(a, b), odd);
}

template <size_t kPixelBytes>
struct Wavefront {
  static constexpr size_t kLaneBytes = kPixelBytes <= 4 ? 4 : 8;
  static constexpr size_t kLanes = 16 / kLaneBytes;

  uint8_t* pixels[kLanes];  // first pixel of each row
  const uint8_t* above;
  __m128i is_sub, is_up, is_average, is_paeth;
  __m128i left = _mm_setzero_si128();        // last results of the lanes
  __m128i above_left = _mm_setzero_si128();  // last pixels above

  static uint64_t LoadLane(const uint8_t* p) {
    if constexpr (kLaneBytes == 4) {
      uint32_t value;
      std::memcpy(&value, p, 4);
      return value;
    } else {
      uint64_t value;
      std::memcpy(&value, p, 8);
      return value;
    }
  }

  static __m128i Lane0(uint64_t value) {
    return _mm_cvtsi64_si128(static_cast<int64_t>(value));
  }

  static __m128i Join(const uint64_t (&lanes)[kLanes]) {
    if constexpr (kLaneBytes == 4) {
      return _mm_unpacklo_epi64(Lane0(lanes[0] | lanes[1] << 32),
                                Lane0(lanes[2] | lanes[3] << 32));
    } else {
      return _mm_unpacklo_epi64(Lane0(lanes[0]), Lane0(lanes[1]));
    }
  }

  template <bool kAllPaeth>
  __m128i Compute(__m128i filtered, uint64_t above_first) {
    const __m128i a = left;
    const __m128i b =
        _mm_or_si128(_mm_slli_si128(left, kLaneBytes), Lane0(above_first));
    __m128i prediction = PaethVector(a, b, above_left);
    if constexpr (!kAllPaeth) {
      prediction = _mm_or_si128(
          _mm_or_si128(_mm_and_si128(is_paeth, prediction),
                       _mm_and_si128(is_average, AverageVector(a, b))),
          _mm_or_si128(_mm_and_si128(is_sub, a), _mm_and_si128(is_up, b)));
    }
    above_left = b;
    left = _mm_add_epi8(filtered, prediction);
    return left;
  }

  static void StoreLane(uint64_t value, uint8_t* p) {
    std::memcpy(p, &value, kPixelBytes);
  }

  void Store(__m128i result, uint64_t (&lanes)[kLanes]) const {
    const uint64_t low = static_cast<uint64_t>(_mm_cvtsi128_si64(result));
    const uint64_t high = static_cast<uint64_t>(
        _mm_cvtsi128_si64(_mm_unpackhi_epi64(result, result)));
    if constexpr (kLaneBytes == 4) {
      lanes[0] = low;
      lanes[1] = low >> 32;
      lanes[2] = high;
      lanes[3] = high >> 32;
    } else {
      lanes[0] = low;
      lanes[1] = high;
    }
  }

  // A step at either end of the rows, where some lanes have no pixel. Their
  // results are never used: before a row begins they are zero, as the filters
  // want it, and after its end no lane looks at them.
  template <bool kAllPaeth>
  void PartialStep(size_t step, size_t width) {
    uint64_t lanes[kLanes] = {};
    for (size_t k = 0; k < kLanes; ++k) {
      if (step >= k && step - k < width) {
        lanes[k] = LoadLane(pixels[k] + (step - k) * kPixelBytes);
      }
    }
    const uint64_t above_first =
        step < width ? LoadLane(above + step * kPixelBytes) : 0;
    const __m128i result = Compute<kAllPaeth>(Join(lanes), above_first);
    Store(result, lanes);
    for (size_t k = 0; k < kLanes; ++k) {
      if (step >= k && step - k < width) {
        StoreLane(lanes[k], pixels[k] + (step - k) * kPixelBytes);
      }
    }
  }

  template <bool kAllPaeth>
  void Run(size_t width) {
    for (size_t step = 0; step < kLanes - 1; ++step) {
      PartialStep<kAllPaeth>(step, width);
    }
    uint8_t* at[kLanes];
    for (size_t k = 0; k < kLanes; ++k) {
      at[k] = pixels[k] + (kLanes - 1 - k) * kPixelBytes;
    }
    const uint8_t* above_at = above + (kLanes - 1) * kPixelBytes;
    for (size_t step = kLanes - 1; step < width; ++step) {
      uint64_t lanes[kLanes];
      for (size_t k = 0; k < kLanes; ++k) lanes[k] = LoadLane(at[k]);
      const __m128i result =
          Compute<kAllPaeth>(Join(lanes), LoadLane(above_at));
      Store(result, lanes);
      for (size_t k = 0; k < kLanes; ++k) {
        StoreLane(lanes[k], at[k]);
        at[k] += kPixelBytes;
      }
      above_at += kPixelBytes;
    }
    for (size_t step = width; step < width + kLanes - 1; ++step) {
      PartialStep<kAllPaeth>(step, width);
    }
  }
};

// Defilters one group of Wavefront<kPixelBytes>::kLanes rows of at least as
// many pixels.
template <size_t kPixelBytes>
void DefilterGroup(uint8_t* first, size_t row_bytes, const uint8_t* above) {
  using Front = Wavefront<kPixelBytes>;
  Front front;
  front.above = above;
  alignas(16) uint8_t masks[kPaeth + 1][16] = {};
  bool all_paeth = true;
  for (size_t k = 0; k < Front::kLanes; ++k) {
    uint8_t* row = first + k * (1 + row_bytes);
    front.pixels[k] = row + 1;
    std::memset(masks[row[0]] + k * Front::kLaneBytes, 0xFF, Front::kLaneBytes);
    all_paeth = all_paeth && row[0] == kPaeth;
  }
  const auto load = [&](Filter filter) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(masks[filter]));
  };
  front.is_sub = load(kSub);
  front.is_up = load(kUp);
  front.is_average = load(kAverage);
  front.is_paeth = load(kPaeth);
  const size_t width = row_bytes / kPixelBytes;
  if (all_paeth) {
    front.template Run<true>(width);
  } else {
    front.template Run<false>(width);
  }
}

void DefilterGroup(uint8_t* first, size_t row_bytes, size_t pixel_bytes,
                   const uint8_t* above) {
  switch (pixel_bytes) {
    case 1:
      return DefilterGroup<1>(first, row_bytes, above);
    case 2:
      return DefilterGroup<2>(first, row_bytes, above);
    case 3:
      return DefilterGroup<3>(first, row_bytes, above);
    case 4:
      return DefilterGroup<4>(first, row_bytes, above);
    case 6:
      return DefilterGroup<6>(first, row_bytes, above);
    default:
      return DefilterGroup<8>(first, row_bytes, above);
  }
}

// None and Up have no chain along the row and need no wavefront.
bool IsParallel(uint8_t filter) { return filter == kNone || filter == kUp; }

#endif  // __SSE2__

}  // namespace

Status DefilterPngRows(uint8_t* first, size_t rows, size_t row_bytes,
                       size_t pixel_bytes, const uint8_t* above) {
  const size_t pitch = 1 + row_bytes;
  for (size_t y = 0; y < rows; ++y) {
    const uint8_t filter = first[y * pitch];
    if (filter > kPaeth) {
      return DataLoss("png: filter (" + std::to_string(filter) +
                      ") must be 0 to 4");
    }
  }
  size_t y = 0;
  while (y < rows) {
    uint8_t* row = first + y * pitch;
#if defined(__SSE2__)
    const size_t lanes = pixel_bytes <= 4 ? 4 : 2;
    bool parallel = true;
    for (size_t k = 0; k < lanes && y + k < rows; ++k) {
      parallel = parallel && IsParallel(row[k * pitch]);
    }
    if (!parallel && rows - y >= lanes && row_bytes / pixel_bytes >= lanes) {
      DefilterGroup(row, row_bytes, pixel_bytes, above);
      above = row + (lanes - 1) * pitch + 1;
      y += lanes;
      continue;
    }
#endif
    DefilterRow(row[0], row + 1, row_bytes, pixel_bytes, above);
    above = row + 1;
    ++y;
  }
  return OkStatus();
}

}  // namespace liquid
