// Version 2 of L3 with AVX2 and BMI2: `pdep` spreads a group of 8 pixels over 8
// bytes, and whatever follows works on 32 pixels at a time.
#include "ops/codecs/l3/host/l3_avx2.h"
#include "ops/codecs/l3/host/l3_wide.h"

#if defined(__x86_64__)

namespace liquid {
namespace l3_avx2 {
namespace {

struct Row {
  __m256i low, high;  // pixels 0 to 31, 32 to 63
};

// Byte g of `bytes` eight times, for g = 0..3 or 4..7.
LIQUID_L3_AVX2 inline __m256i Repeat(__m128i bytes, bool high) {
  const __m256i pattern =
      _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,
                       2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i all = _mm256_broadcastsi128_si256(bytes);
  return _mm256_shuffle_epi8(
      all, high ? _mm256_or_si256(pattern, _mm256_set1_epi8(4)) : pattern);
}

// Sums of every 16 bytes up to and with each.
LIQUID_L3_AVX2 inline __m256i LaneSums(__m256i x) {
  x = _mm256_add_epi8(x, _mm256_bslli_epi128(x, 1));
  x = _mm256_add_epi8(x, _mm256_bslli_epi128(x, 2));
  x = _mm256_add_epi8(x, _mm256_bslli_epi128(x, 4));
  return _mm256_add_epi8(x, _mm256_bslli_epi128(x, 8));
}

// Sums of all 64 bytes up to and with each.
LIQUID_L3_AVX2 inline Row Sums(Row row) {
  const __m256i last = _mm256_set1_epi8(15);
  row.low = LaneSums(row.low);
  row.high = LaneSums(row.high);
  const __m256i low = _mm256_shuffle_epi8(row.low, last);
  const __m256i high = _mm256_shuffle_epi8(row.high, last);
  row.low = _mm256_add_epi8(row.low, _mm256_permute2x128_si256(low, low, 0x08));
  row.high =
      _mm256_add_epi8(row.high, _mm256_permute2x128_si256(high, high, 0x08));
  const __m256i carry = _mm256_add_epi8(
      low, _mm256_permute2x128_si256(low, low, 0x01));  // all of low
  row.high = _mm256_add_epi8(row.high, carry);
  return row;
}

// Three quarters of above - above-left; 0 for the first pixel.
LIQUID_L3_AVX2 inline Row Slopes(Row above) {
  const __m256i first =
      _mm256_set1_epi8(static_cast<char>(_mm256_extract_epi8(above.low, 0)));
  const __m256i before_low = _mm256_permute2x128_si256(first, above.low, 0x20);
  const __m256i before_high =
      _mm256_permute2x128_si256(above.low, above.high, 0x21);
  const __m256i mask = _mm256_set1_epi8(0x3F), sign = _mm256_set1_epi8(0x20);
  const __m256i low =
      _mm256_sub_epi8(above.low, _mm256_alignr_epi8(above.low, before_low, 15));
  const __m256i high = _mm256_sub_epi8(
      above.high, _mm256_alignr_epi8(above.high, before_high, 15));
  const __m256i low4 = _mm256_sub_epi8(
      _mm256_xor_si256(_mm256_and_si256(_mm256_srli_epi16(low, 2), mask), sign),
      sign);
  const __m256i high4 = _mm256_sub_epi8(
      _mm256_xor_si256(_mm256_and_si256(_mm256_srli_epi16(high, 2), mask),
                       sign),
      sign);
  return {_mm256_sub_epi8(low, low4), _mm256_sub_epi8(high, high4)};
}

LIQUID_L3_AVX2 inline Row Add(Row a, Row b) {
  return {_mm256_add_epi8(a.low, b.low), _mm256_add_epi8(a.high, b.high)};
}

template <uint32_t kChannels>
LIQUID_L3_AVX2 L3RowsResult DecodeV2(const L3V2Patch& patch, const L3Rows& rows,
                                     const uint8_t** stopped) {
  const __m128i biases =
      _mm_setr_epi8(0, 1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0);
  Row above[kChannels];
  __m128i tables[kChannels];
  const uint8_t* codes[kChannels];
  uint64_t spread[kChannels];
  for (uint32_t c = 0; c < kChannels; ++c) {
    const __m256i base =
        _mm256_set1_epi8(static_cast<char>(patch.channel[c].base));
    above[c] = {base, base};
    tables[c] = _mm_loadu_si128(
        reinterpret_cast<const __m128i*>(patch.channel[c].widths));
    codes[c] = patch.channel[c].codes;
    spread[c] = kSpread[patch.channel[c].code_bits];
  }
  const uint32_t groups = (patch.width + kL3Group - 1) / kL3Group;
  const uint64_t groups_mask = ~uint64_t{0} >> (64 - 8 * groups);
  const uint8_t* payload = patch.payload;
  const uint32_t pixels = rows.x_end - rows.x_begin;
  for (uint32_t y = 0; y < rows.row_end; ++y) {
    for (uint32_t c = 0; c < kChannels; ++c) {
      const L3Channel& channel = patch.channel[c];
      const __m128i code_bytes = _mm_cvtsi64_si128(
          static_cast<int64_t>(_pdep_u64(Load64(codes[c]), spread[c])));
      codes[c] += channel.code_bits;
      const uint64_t widths = static_cast<uint64_t>(_mm_cvtsi128_si64(
                                  _mm_shuffle_epi8(tables[c], code_bytes))) &
                              groups_mask;
      // Byte g: where group g ends. At most 64, so no byte overflows.
      const uint64_t ends = widths * kOnes;
      const size_t size = ends >> 56;
      if (static_cast<size_t>(patch.end - payload) < size) {
        *stopped = payload;
        return L3RowsResult::kShort;
      }
      const uint64_t begins = ends << 8;
      alignas(32) uint64_t spread_groups[kL3Groups];
      for (uint32_t g = 0; g < kL3Groups; ++g) {
        spread_groups[g] = _pdep_u64(Load64(payload + (begins >> 8 * g & 0xFF)),
                                     kSpread[widths >> 8 * g & 0xFF]);
      }
      payload += size;
      const __m128i bias = _mm_shuffle_epi8(
          biases, _mm_cvtsi64_si128(static_cast<int64_t>(widths)));
      Row row;
      row.low = _mm256_sub_epi8(
          _mm256_load_si256(reinterpret_cast<const __m256i*>(spread_groups)),
          Repeat(bias, false));
      row.high = _mm256_sub_epi8(
          _mm256_load_si256(
              reinterpret_cast<const __m256i*>(spread_groups + 4)),
          Repeat(bias, true));
      const L3Predictor predictor =
          y == 0 ? L3Predictor::kLeft : channel.predictor;
      if (predictor == L3Predictor::kTop) {
        above[c] = Add(above[c], row);
        continue;
      }
      if (predictor == L3Predictor::kGradient) {
        above[c] = Add(above[c], Sums(row));
        continue;
      }
      if (predictor == L3Predictor::kThreeQuarter) {
        row = Add(row, Slopes(above[c]));
      }
      const __m256i left =
          _mm256_broadcastb_epi8(_mm256_castsi256_si128(above[c].low));
      above[c] = Add(Sums(row), {left, left});
    }
    if (y < rows.row_begin) continue;
    Row plane[kChannels];
    for (uint32_t c = 0; c < kChannels; ++c) plane[c] = above[c];
    if (kChannels >= 3) {
      constexpr uint32_t kGreen = kChannels >= 3 ? 1 : 0;
      constexpr uint32_t kBlue = kChannels >= 3 ? 2 : 0;
      if (patch.channel[0].colour == L3Colour::kLessGreen) {
        plane[0] = Add(plane[0], plane[kGreen]);
      }
      if (patch.channel[kBlue].colour == L3Colour::kLessGreen) {
        plane[kBlue] = Add(plane[kBlue], plane[kGreen]);
      } else if (patch.channel[kBlue].colour == L3Colour::kLessMean) {
        plane[kBlue] = Add(
            plane[kBlue], {_mm256_avg_epu8(plane[0].low, plane[kGreen].low),
                           _mm256_avg_epu8(plane[0].high, plane[kGreen].high)});
      }
    }
    // A row that is whole goes straight to where it belongs.
    uint8_t* const out = rows.out + (y - rows.row_begin) * rows.stride;
    uint8_t part[kChannels * kL3V2Patch];
    uint8_t* const to = pixels == kL3V2Patch ? out : part;
    for (uint32_t i = 0; i < 4; ++i) {
      __m128i block[kChannels];
      for (uint32_t c = 0; c < kChannels; ++c) {
        const __m256i half = i < 2 ? plane[c].low : plane[c].high;
        block[c] = i % 2 == 0 ? _mm256_castsi256_si128(half)
                              : _mm256_extracti128_si256(half, 1);
      }
      uint8_t* const at = to + kChannels * 16 * i;
      __m128i* const vectors = reinterpret_cast<__m128i*>(at);
      if (kChannels == 1) {
        _mm_storeu_si128(vectors, block[0]);
      } else if (kChannels == 3) {
        Interleave3(block[0], block[kChannels > 1 ? 1 : 0],
                    block[kChannels > 2 ? 2 : 0], at);
      } else {
        const __m128i low =
            _mm_unpacklo_epi8(block[0], block[kChannels > 1 ? 1 : 0]);
        const __m128i high =
            _mm_unpackhi_epi8(block[0], block[kChannels > 1 ? 1 : 0]);
        if (kChannels == 2) {
          _mm_storeu_si128(vectors, low);
          _mm_storeu_si128(vectors + 1, high);
        } else {
          const __m128i other_low = _mm_unpacklo_epi8(
              block[kChannels > 2 ? 2 : 0], block[kChannels > 3 ? 3 : 0]);
          const __m128i other_high = _mm_unpackhi_epi8(
              block[kChannels > 2 ? 2 : 0], block[kChannels > 3 ? 3 : 0]);
          _mm_storeu_si128(vectors, _mm_unpacklo_epi16(low, other_low));
          _mm_storeu_si128(vectors + 1, _mm_unpackhi_epi16(low, other_low));
          _mm_storeu_si128(vectors + 2, _mm_unpacklo_epi16(high, other_high));
          _mm_storeu_si128(vectors + 3, _mm_unpackhi_epi16(high, other_high));
        }
      }
    }
    if (pixels != kL3V2Patch) {
      std::memcpy(out, part + kChannels * rows.x_begin, kChannels * pixels);
    }
  }
  *stopped = payload;
  return rows.row_end == patch.height && payload != patch.end
             ? L3RowsResult::kLong
             : L3RowsResult::kOk;
}

L3RowsResult DecodeAnyV2(const L3V2Patch& patch, const L3Rows& rows,
                         const uint8_t** stopped) {
  switch (patch.channels) {
    case 1:
      return DecodeV2<1>(patch, rows, stopped);
    case 2:
      return DecodeV2<2>(patch, rows, stopped);
    case 3:
      return DecodeV2<3>(patch, rows, stopped);
    default:
      return DecodeV2<4>(patch, rows, stopped);
  }
}

}  // namespace
}  // namespace l3_avx2

const L3RowDecoders kL3Avx2Decoders = {l3_avx2::DecodeV1, l3_avx2::DecodeAnyV2,
                                       DecodeL3Wide, l3_avx2::PredictRowV1};

}  // namespace liquid

#endif  // defined(__x86_64__)
