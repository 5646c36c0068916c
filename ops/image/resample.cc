#include "ops/image/resample.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "ops/image/channels.h"
#include "ops/image/resample_lerp.h"
#include "ops/image/resample_targets.h"

namespace liquid {
namespace {

constexpr uint32_t kMaxSide = (1u << 24) - 1;

std::string Size(uint32_t height, uint32_t width) {
  return std::to_string(height) + "x" + std::to_string(width);
}

Status Check(const ResampleSpec& spec) {
  for (const uint32_t side :
       {spec.in_height, spec.in_width, spec.out_height, spec.out_width}) {
    if (side < 1 || side > kMaxSide) {
      return InvalidArgument(
          "cannot resize an image of " + Size(spec.in_height, spec.in_width) +
          " to " + Size(spec.out_height, spec.out_width) +
          ": each side must be 1 to " + std::to_string(kMaxSide) + " pixels");
    }
  }
  const Window& part = spec.part;
  if (part.height < 1 || part.width < 1 || part.y > spec.out_height ||
      part.x > spec.out_width || part.height > spec.out_height - part.y ||
      part.width > spec.out_width - part.x) {
    return InvalidArgument(
        "cannot take " + Size(part.height, part.width) + " pixels from row " +
        std::to_string(part.y) + ", column " + std::to_string(part.x) +
        " on of an image resized to " + Size(spec.out_height, spec.out_width) +
        ": the part must be in the image and not empty");
  }
  if (spec.bits != 8 && spec.bits != 16) {
    return InvalidArgument("cannot resize an image of " +
                           std::to_string(spec.bits) +
                           " bits: it must have 8 or 16");
  }
  if (spec.interpolation == Interpolation::kBicubic && !spec.antialias) {
    return InvalidArgument(
        "cannot resize with bicubic interpolation and antialias=false: use "
        "bilinear, or antialias=true");
  }
  return OkStatus();
}

}  // namespace

Status Resampler::Reset(const ResampleSpec& spec) {
  LIQUID_RETURN_IF_ERROR(Check(spec));
  spec_ = spec;
  const Window& part = spec.part;
  same_height_ = spec.in_height == spec.out_height;
  same_width_ = spec.in_width == spec.out_width;
  // What Pillow 13 takes for less work. Only with 8 bits is something rounded
  // in between, so that the order matters.
  rows_first_ = spec.bits == 8 && spec.out_height < spec.in_height &&
                int64_t{spec.in_height} - spec.out_height >
                    2 * (int64_t{spec.in_width} - spec.out_width);
  const ResampleAxis y = {spec.in_height, spec.out_height, part.y, part.height};
  const ResampleAxis x = {spec.in_width, spec.out_width, part.x, part.width};
  ResampleSpan rows = {part.y, part.y + part.height};
  ResampleSpan columns = {part.x, part.x + part.width};
  if (spec.interpolation == Interpolation::kNearest) {
    rows = MakeNearestTaps(y, spec.antialias, &nearest_rows_);
    columns = MakeNearestTaps(x, spec.antialias, &nearest_columns_);
  } else if (!spec.antialias) {
    rows = MakeLerpTaps(y, &lerp_rows_);
    columns = MakeLerpTaps(x, &lerp_columns_);
  } else {
    const ResampleFilter filter = spec.interpolation == Interpolation::kBicubic
                                      ? ResampleFilter::kCubic
                                      : ResampleFilter::kTriangle;
    const bool exact = spec.bits == 16;
    if (!same_height_) rows = MakeFilterTaps(y, filter, exact, &rows_);
    if (!same_width_) columns = MakeFilterTaps(x, filter, exact, &columns_);
  }
  needed_ = {rows.begin, columns.begin, rows.end - rows.begin,
             columns.end - columns.begin};
  return OkStatus();
}

template <typename T>
void Resampler::Run(const T* in, size_t in_stride, size_t channels,
                    RowWriter<T>* writer, ResampleScratch* scratch) const {
  const Source<T> source = {in, in_stride, channels};
  if (same_height_ && same_width_) {
    for (uint32_t y = 0; y < needed_.height; ++y) {
      writer->Row(y, source.Row(y));
    }
  } else if (spec_.interpolation == Interpolation::kNearest) {
    Pick(source, writer, scratch);
  } else if (!spec_.antialias) {
    Lerp(source, writer, scratch);
  } else {
    Filter(source, writer, scratch);
  }
}

namespace {

template <size_t kChannels, typename T>
void PickColumns(const T* row, const std::vector<uint32_t>& columns, T* out) {
  for (const size_t column : columns) {
    const T* const pixel = row + column * kChannels;
    for (size_t c = 0; c < kChannels; ++c) *out++ = pixel[c];
  }
}

}  // namespace

template <typename T>
void Resampler::Pick(const Source<T>& in, RowWriter<T>* writer,
                     ResampleScratch* scratch) const {
  T* const result =
      scratch->Get<T>(ResampleScratch::kResult, spec_.part.width * in.channels);
  uint32_t made = needed_.height;  // the row that `result` is made of
  for (uint32_t y = 0; y < nearest_rows_.size(); ++y) {
    if (nearest_rows_[y] != made) {
      made = nearest_rows_[y];
      ForChannels(in.channels, [&](auto channels) {
        PickColumns<channels>(in.Row(made), nearest_columns_, result);
      });
    }
    writer->Row(y, result);
  }
}

namespace {

// A row at the result's width.
void Widen(const uint8_t* row, size_t channels,
           const std::vector<LerpTap>& columns, float* out) {
  CurrentResampleKernels().lerp_columns(row, channels, columns.data(),
                                        columns.size(), out);
}

void Widen(const uint16_t* row, size_t channels,
           const std::vector<LerpTap>& columns, float* out) {
  LerpColumns(row, channels, columns.data(), columns.size(), out);
}

// Between two rows. The values are between two of T, and so in its range.
template <typename T>
void LerpRows(const float* lower, const float* upper, float part, size_t size,
              T* out) {
  // Above 2^23 floats are whole, so the sum rounds, to even.
  constexpr float kWhole = 1 << 23;
  for (size_t i = 0; i < size; ++i) {
    const float value = lower[i] + (upper[i] - lower[i]) * part;
    out[i] = static_cast<T>(static_cast<int32_t>((value + kWhole) - kWhole));
  }
}

}  // namespace

template <typename T>
void Resampler::Lerp(const Source<T>& in, RowWriter<T>* writer,
                     ResampleScratch* scratch) const {
  const size_t size = spec_.part.width * in.channels;
  // Neighbours among the result's rows share rows of the input.
  float* lower =
      scratch->Get<float>(ResampleScratch::kBetween, size_t{2} * size);
  float* upper = lower + size;
  uint32_t lower_row = needed_.height, upper_row = needed_.height;
  T* const result = scratch->Get<T>(ResampleScratch::kResult, size);
  for (uint32_t y = 0; y < lerp_rows_.size(); ++y) {
    const LerpTap& row = lerp_rows_[y];
    if (row.lower == upper_row) {
      std::swap(lower, upper);
      std::swap(lower_row, upper_row);
    }
    if (row.lower != lower_row) {
      Widen(in.Row(row.lower), in.channels, lerp_columns_, lower);
      lower_row = row.lower;
    }
    if (row.upper != upper_row && row.upper != lower_row) {
      Widen(in.Row(row.upper), in.channels, lerp_columns_, upper);
      upper_row = row.upper;
    }
    LerpRows(lower, row.upper == lower_row ? lower : upper, row.part, size,
             result);
    writer->Row(y, result);
  }
}

template void Resampler::Run(const uint8_t*, size_t, size_t,
                             RowWriter<uint8_t>*, ResampleScratch*) const;
template void Resampler::Run(const uint16_t*, size_t, size_t,
                             RowWriter<uint16_t>*, ResampleScratch*) const;

}  // namespace liquid
