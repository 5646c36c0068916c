// Recipes on a device: from decoded images in scratch memory to the batch.
//
// A block of threads makes a tile: it resizes what lies there, in two passes
// with the fixed weights and the roundings of ops/image/resample.h, and puts it
// where mirroring says, in the type and layout of the batch. A sum over more
// taps than shared memory holds goes on from one piece of them to the next.
#ifndef LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_CUH_
#define LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_CUH_

#include "ops/image/device/image_device_colour.cuh"
#include "ops/image/device/image_device_each.cuh"

namespace liquid {

// Weighted sums of samples of 8 bits, and what they are rounded to in between.
template <typename Sample>
struct ImageSums {
  using Sum = int32_t;
  using Between = uint8_t;
  using Weight = int32_t;
  static constexpr Sum kZero = 1 << 21;  // a half
  LIQUID_DEVICE static Sum Add(Sum sum, uint32_t sample, Weight weight) {
    return sum + static_cast<int32_t>(sample) * weight;
  }
  LIQUID_DEVICE static Between Round(Sum sum) { return Last(sum); }
  LIQUID_DEVICE static uint8_t Last(Sum sum) {
    const int32_t whole = sum >> 22;
    return static_cast<uint8_t>(whole < 0 ? 0 : whole > 255 ? 255 : whole);
  }
  // A colour times its opacity, and back.
  LIQUID_DEVICE static uint32_t Weigh(uint32_t colour, uint32_t opacity) {
    const uint32_t product = colour * opacity + 128;
    return (product + (product >> 8)) >> 8;
  }
  LIQUID_DEVICE static uint8_t Last(Sum colour, Sum opacity) {
    const uint32_t value = Last(colour), alpha = Last(opacity);
    if (alpha == 0 || alpha == 255) return static_cast<uint8_t>(value);
    const uint32_t whole = value * 255 / alpha;
    return static_cast<uint8_t>(whole > 255 ? 255 : whole);
  }
};

// Of 16 bits, which are rounded at the end alone.
template <>
struct ImageSums<uint16_t> {
  using Sum = double;
  using Between = double;
  using Weight = double;
  static constexpr Sum kZero = 0;
  LIQUID_DEVICE static Sum Add(Sum sum, double sample, Weight weight) {
    return ImageSum(sum, ImageProduct(sample, weight));
  }
  LIQUID_DEVICE static Between Round(Sum sum) { return sum; }
  LIQUID_DEVICE static uint16_t Last(Sum sum) {
    const double least = sum < 0.0 ? 0.0 : sum;
    const double most = least > 65535.0 ? 65535.0 : least;
    return static_cast<uint16_t>(static_cast<int32_t>(ImageSum(most, 0.5)));
  }
  LIQUID_DEVICE static double Weigh(double colour, double opacity) {
    return ImageProduct(colour, opacity);
  }
  LIQUID_DEVICE static uint16_t Last(Sum colour, Sum opacity) {
    return opacity < 0.5 ? 0 : Last(colour / opacity);
  }
};

// One axis of a resize by a filter.
template <typename Weight>
struct ImageTaps {
  const uint32_t* first;
  const Weight* weights;
  uint32_t count, taps, size;

  LIQUID_DEVICE ImageTaps(const ImageDeviceAxis& axis, const uint32_t* tables)
      : first(tables + axis.table),
        count(axis.count),
        taps(axis.taps),
        size(axis.size) {
    const uint32_t rounded = sizeof(Weight) == 8 ? count + count % 2 : count;
    weights = reinterpret_cast<const Weight*>(first + rounded);
  }
  // What lies past the end of the image weighs nothing.
  LIQUID_DEVICE uint32_t End(uint32_t i) const {
    return first[i] + taps < size ? first[i] + taps : size;
  }
};

// Where the content of a tile lies, in pixels of the content.
struct ImagePart {
  uint32_t y, x, rows, columns;
};

// `sum`, and pixels [from, end) of one axis with their weights; from one to the
// next are `step` values.
template <typename Sums, typename Taps, typename Value>
LIQUID_DEVICE typename Sums::Sum ImageAdd(typename Sums::Sum sum,
                                          const Taps& taps, uint32_t i,
                                          uint32_t from, uint32_t end,
                                          const Value* values, uint32_t step) {
  const auto* weight = taps.weights + (from - taps.first[i]) * taps.count + i;
  for (; from < end; ++from, values += step, weight += taps.count) {
    sum = Sums::Add(sum, *values, *weight);
  }
  return sum;
}

// Leaves in `sums` those of the second pass, a row of the tile after another,
// kImageTileColumns pixels apart.
template <typename Sample, typename Block, typename Sums = ImageSums<Sample>>
LIQUID_DEVICE void ImageFilter(Block& block, const ImageDeviceSample& sample,
                               const ImagePart& part, uint32_t channels,
                               const uint32_t* tables, const Sample* source,
                               typename Sums::Sum* sums,
                               typename Sums::Between* between) {
  using Sum = typename Sums::Sum;
  using Taps = ImageTaps<typename Sums::Weight>;
  const Taps rows(sample.rows, tables), columns(sample.columns, tables);
  const uint32_t pitch = kImageTileColumns * channels;
  const int64_t down = sample.down * channels;
  const int64_t across = sample.across * channels;
  // From a colour to its opacity, where it has one.
  const auto opacity = [=](uint32_t c) {
    return channels % 2 == 0 ? channels - 1 - c : 0;
  };
  const auto add_source = [&](const Taps& taps, uint32_t i, uint32_t c,
                              const Sample* values, int64_t step) {
    const uint32_t alpha = opacity(c);
    const auto* weight = taps.weights + i;
    Sum sum = Sums::kZero;
    values += c;
    for (uint32_t t = taps.first[i], end = taps.End(i); t < end;
         ++t, values += step, weight += taps.count) {
      sum = alpha == 0
                ? Sums::Add(sum, *values, *weight)
                : Sums::Add(sum, Sums::Weigh(*values, values[alpha]), *weight);
    }
    return Sums::Round(sum);
  };
  const bool rows_first = sample.rows_first != 0;
  const Taps second = rows_first ? columns : rows;
  const uint32_t begin = second.first[rows_first ? part.x : part.y];
  const uint32_t end = second.End(rows_first ? part.x + part.columns - 1
                                             : part.y + part.rows - 1);
  const uint32_t most = rows_first ? kImageTileColumns : kImageTileRows;
  for (uint32_t at = begin; at < end; at += most) {
    const uint32_t stop = at + most < end ? at + most : end;
    if (rows_first) {
      ImageEach(block, part.rows, (stop - at) * channels,
                [&](uint32_t row, uint32_t i) {
                  const uint32_t y = part.y + row;
                  const uint32_t x = ImagePixelOf(i, channels);
                  between[row * pitch + i] = add_source(
                      rows, y, i - x * channels,
                      source + rows.first[y] * down + (at + x) * across, down);
                });
    } else {
      ImageEach(block, stop - at, part.columns * channels,
                [&](uint32_t row, uint32_t i) {
                  const uint32_t pixel = ImagePixelOf(i, channels);
                  const uint32_t x = part.x + pixel;
                  between[row * pitch + i] = add_source(
                      columns, x, i - pixel * channels,
                      source + (at + row) * down + columns.first[x] * across,
                      across);
                });
    }
    ImageEach(
        block, part.rows, part.columns * channels,
        [&](uint32_t row, uint32_t i) {
          const uint32_t pixel = ImagePixelOf(i, channels);
          const uint32_t to = rows_first ? part.x + pixel : part.y + row;
          const uint32_t first = second.first[to], last = second.End(to);
          const uint32_t from = first > at ? first : at;
          Sum& sum = sums[row * pitch + i];
          if (at == begin) sum = Sums::kZero;
          if (from >= last || from >= stop) return;
          const auto* values =
              between + (rows_first ? row * pitch + (from - at) * channels +
                                          (i - pixel * channels)
                                    : (from - at) * pitch + i);
          sum = ImageAdd<Sums>(sum, second, to, from, last < stop ? last : stop,
                               values, rows_first ? channels : pitch);
        });
  }
}

// A value between two pixels each of a column and of a row.
template <typename Sample>
LIQUID_DEVICE uint32_t ImageLerp(const ImageDeviceSample& sample, uint32_t y,
                                 uint32_t x, uint32_t channels,
                                 const uint32_t* tables, const Sample* source) {
  struct Tap {
    uint32_t lower, upper;
    float share;
    LIQUID_DEVICE Tap(const ImageDeviceAxis& axis, const uint32_t* all,
                      uint32_t i)
        : lower(all[axis.table + i]), upper(all[axis.table + axis.count + i]) {
      memcpy(&share, all + axis.table + 2 * axis.count + i, sizeof(share));
    }
  };
  const Tap row(sample.rows, tables, y), column(sample.columns, tables, x);
  const auto between = [](float lower, float upper, float share) {
    return ImageSum(lower, ImageProduct(ImageSum(upper, -lower), share));
  };
  const auto widened = [&](uint32_t from) {
    const Sample* const line =
        source + static_cast<int64_t>(from) * sample.down * channels;
    return between(
        static_cast<float>(line[column.lower * sample.across * channels]),
        static_cast<float>(line[column.upper * sample.across * channels]),
        column.share);
  };
  const float value =
      between(widened(row.lower), widened(row.upper), row.share);
  // Above 2^23 floats are whole, so the sum rounds, to even.
  constexpr float kWhole = 1 << 23;
  return static_cast<uint32_t>(
      static_cast<int32_t>(ImageSum(ImageSum(value, kWhole), -kWhole)));
}

// Finds the mean luma of an image, rounded, from the sums of its tiles.
template <typename Block>
LIQUID_DEVICE void ImageFindMean(Block& block, const uint32_t* luma,
                                 const L3DeviceOutput& output, uint64_t* parts,
                                 int* mean) {
  const uint32_t tiles = ImageTiles(output.height, output.width);
  block.EachThread([&](uint32_t thread) {
    if (thread >= kL3Warp) return;
    uint64_t sum = 0;
    for (uint32_t i = thread; i < tiles; i += kL3Warp) sum += luma[i];
    parts[thread] = sum;
  });
  block.EachThread([&](uint32_t thread) {
    if (thread != 0) return;
    const uint64_t count = uint64_t{output.height} * output.width;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < kL3Warp; ++i) sum += parts[i];
    *mean = ImageMean(sum, count);
  });
}

// Makes tile number `tile` of a sample. `memory` is a block's shared memory, a
// multiple of 16, of ImageSharedBytes. With `luma` it makes no pixels, but the
// sum of the tile's luma before contrast.
template <typename Sample, typename Out, typename Block>
LIQUID_DEVICE void ImageMakeTile(Block& block, const ImageDeviceSample& sample,
                                 uint32_t tile, const L3DeviceOutput& output,
                                 const uint32_t* tables, const Sample* scratch,
                                 Out* pixels, uint8_t* memory,
                                 uint32_t* luma = nullptr) {
  using Sums = ImageSums<Sample>;
  const uint32_t channels = output.channels;
  const ImageTile place(output, tile);
  const uint32_t top = place.top, left = place.left;
  const uint32_t rows = place.rows, columns = place.columns;
  const auto least = [](uint32_t a, uint32_t b) { return a < b ? a : b; };
  const auto most = [](uint32_t a, uint32_t b) { return a > b ? a : b; };
  // What comes of the image.
  const ImageDeviceAxis &down = sample.rows, &across = sample.columns;
  const uint32_t y = most(top, down.begin), x = most(left, across.begin);
  const uint32_t y_end = least(top + rows, down.begin + down.count);
  const uint32_t x_end = least(left + columns, across.begin + across.count);
  const bool any = y < y_end && x < x_end;
  const ImagePart part = {y - down.begin, x - across.begin, y_end - y,
                          x_end - x};
  const uint32_t pitch = kImageTileColumns * channels;
  auto* const sums = reinterpret_cast<typename Sums::Sum*>(memory);
  auto* const between = reinterpret_cast<typename Sums::Between*>(
      memory + kImageTileRows * pitch * sizeof(typename Sums::Sum));
  const Sample* const source = scratch + sample.first * channels;
  int* const mean = reinterpret_cast<int*>(reinterpret_cast<uint8_t*>(between) +
                                           kImageTileRows * pitch);
  const bool changes = sizeof(Sample) == 1 && sample.colours.changes != 0;
  if (changes && luma == nullptr && NeedsMean(sample.colours)) {
    const auto* const sums_of_tiles = reinterpret_cast<const uint32_t*>(
        reinterpret_cast<const uint8_t*>(scratch) + sample.luma);
    ImageFindMean(block, sums_of_tiles, output,
                  reinterpret_cast<uint64_t*>(sums), mean);
  }
  if (any && sample.method == ImageDeviceMethod::kFilter) {
    ImageFilter<Sample>(block, sample, part, channels, tables, source, sums,
                        between);
  }
  const auto value = [&](uint32_t row, uint32_t column,
                         uint32_t c) -> uint32_t {
    // Unsigned: places before the content are beyond it, too.
    const uint32_t in_y = top + row - y, in_x = left + column - x;
    if (!any || in_y >= part.rows || in_x >= part.columns) return sample.fill;
    const uint32_t from_y = part.y + in_y, from_x = part.x + in_x;
    switch (sample.method) {
      case ImageDeviceMethod::kFilter: {
        const auto* const sum = sums + in_y * pitch + in_x * channels;
        return channels % 2 == 0 && c + 1 < channels
                   ? Sums::Last(sum[c], sum[channels - 1])
                   : Sums::Last(sum[c]);
      }
      case ImageDeviceMethod::kLerp:
        return ImageLerp(sample, from_y, from_x, channels, tables, source + c);
      case ImageDeviceMethod::kPick:
        return source[(tables[down.table + from_y] * sample.down +
                       tables[across.table + from_x] * sample.across) *
                          channels +
                      c];
      default:
        return source[(from_y * sample.down + from_x * sample.across) *
                          channels +
                      c];
    }
  };
  const auto pixel_at = [&](uint32_t row, uint32_t column) -> ImagePixel {
    const int first = static_cast<int>(value(row, column, 0));
    if (channels != 3) return {first, first, first};
    return {first, static_cast<int>(value(row, column, 1)),
            static_cast<int>(value(row, column, 2))};
  };
  if (luma != nullptr) {
    auto* const parts = reinterpret_cast<uint32_t*>(between);
    block.EachThread([&](uint32_t thread) {
      uint32_t sum = 0;
      for (uint32_t i = thread; i < rows * columns; i += block.Threads()) {
        sum += static_cast<uint32_t>(ImageLuma(ImageChanged<true>(
            sample.colours, 0, pixel_at(i / columns, i % columns))));
      }
      parts[thread] = sum;
    });
    block.EachThread([&](uint32_t thread) {
      if (thread != 0) return;
      uint32_t sum = 0;
      for (uint32_t i = 0; i < block.Threads(); ++i) sum += parts[i];
      *luma = sum;
    });
    return;
  }
  if constexpr (sizeof(Sample) == 1) {
    if (changes) {
      ImageEach(block, rows, columns, [&](uint32_t row, uint32_t column) {
        const ImagePixel pixel =
            ImageChanged<false>(sample.colours, *mean, pixel_at(row, column));
        auto* const to = between + row * pitch + column * channels;
        to[0] = static_cast<uint8_t>(pixel.red);
        if (channels != 3) return;
        to[1] = static_cast<uint8_t>(pixel.green);
        to[2] = static_cast<uint8_t>(pixel.blue);
      });
    }
  }
  const bool planar = output.planar != 0;
  Out* const first =
      pixels + size_t{sample.image} * output.height * output.width * channels;
  const L3Global means(reinterpret_cast<const void*>(output.mean_image));
  ImageEach(
      block, planar ? rows * channels : rows,
      planar ? columns : columns * channels, [&](uint32_t line, uint32_t i) {
        const uint32_t c =
            planar ? line / rows : i - ImagePixelOf(i, channels) * channels;
        const uint32_t row = planar ? line - c * rows : line;
        const uint32_t column = planar ? i : ImagePixelOf(i, channels);
        const uint32_t to_y =
            sample.flipped != 0 ? output.height - 1 - top - row : top + row;
        const uint32_t to_x = sample.mirrored != 0
                                  ? output.width - 1 - left - column
                                  : left + column;
        const size_t pixel =
            (planar ? size_t{c} * output.height + to_y : to_y) * output.width +
            to_x;
        const size_t in_image = planar ? pixel : pixel * channels + c;
        const uint32_t made =
            changes ? static_cast<uint32_t>(
                          between[row * pitch + column * channels + c])
                    : value(row, column, c);
        float mean = output.mean[c];
        if (sizeof(Out) > 1 && output.mean_image != 0) {
          const uint32_t bits = means.Word(static_cast<uint32_t>(in_image));
          memcpy(&mean, &bits, sizeof(mean));
        }
        L3Finish(made, mean, output.std[c], first + in_image);
      });
}

#if defined(__CUDACC__)

// `count` tiles, those of the samples one after another.
template <typename Sample, typename Out>
__device__ void ImageMakeTiles(const L3DeviceOutput* __restrict__ output,
                               const ImageDeviceSample* __restrict__ samples,
                               uint32_t count,
                               const uint32_t* __restrict__ tables,
                               void* __restrict__ pixels,
                               const void* __restrict__ scratch) {
  extern __shared__ uint4 liquid_l3_memory[];
  L3DeviceBlock block;
  const uint32_t tiles = ImageTiles(output->height, output->width);
  for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
    const ImageDeviceSample sample = samples[i / tiles];
    ImageMakeTile<Sample, Out>(block, sample, i % tiles, *output, tables,
                               static_cast<const Sample*>(scratch),
                               static_cast<Out*>(pixels),
                               reinterpret_cast<uint8_t*>(liquid_l3_memory));
  }
}

// What contrast needs: the sum of each tile's luma, where a sample needs it.
__device__ inline void ImageSumTiles(
    const L3DeviceOutput* __restrict__ output,
    const ImageDeviceSample* __restrict__ samples, uint32_t count,
    const uint32_t* __restrict__ tables, uint32_t* __restrict__ luma,
    const uint8_t* __restrict__ scratch) {
  extern __shared__ uint4 liquid_l3_memory[];
  L3DeviceBlock block;
  const uint32_t tiles = ImageTiles(output->height, output->width);
  for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
    const ImageDeviceSample sample = samples[i / tiles];
    if (!NeedsMean(sample.colours)) continue;
    ImageMakeTile<uint8_t, uint8_t>(
        block, sample, i % tiles, *output, tables, scratch,
        static_cast<uint8_t*>(nullptr),
        reinterpret_cast<uint8_t*>(liquid_l3_memory), luma + i);
  }
}

#endif  // defined(__CUDACC__)

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_CUH_
