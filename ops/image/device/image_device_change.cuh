// Operations on a device, from one canvas to another: a block makes a tile of
// the result, as ops/image/operations.h and rotate.h make it, to the bit.
#ifndef LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_CHANGE_CUH_
#define LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_CHANGE_CUH_

#include "ops/image/device/image_device_colour.cuh"
#include "ops/image/device/image_device_each.cuh"

namespace liquid {

// An image that is read.
template <typename Sample>
struct ImageCanvas {
  const Sample* pixels;
  int32_t height, width;
  uint32_t channels;

  LIQUID_DEVICE const Sample* At(int32_t y, int32_t x) const {
    return pixels + (static_cast<int64_t>(y) * width + x) * channels;
  }
  // Beyond an edge, the pixel at the edge.
  LIQUID_DEVICE const Sample* Near(int32_t y, int32_t x) const {
    const auto inside = [](int32_t at, int32_t side) {
      return at < 0 ? 0 : at < side ? at : side - 1;
    };
    return At(inside(y, height), inside(x, width));
  }
};

// One of two coordinates of a place, see RowPlaces in affine_source.h.
LIQUID_DEVICE inline double ImagePlace(const double* map, uint32_t y,
                                       uint32_t x) {
  const double along =
      ImageProduct(map[0], ImageSum(static_cast<double>(x), 0.5));
  const double down =
      ImageProduct(map[1], ImageSum(static_cast<double>(y), 0.5));
  return ImageSum(ImageSum(along, down), map[2]);
}

// Where a place inside the source lies among the pixels in a direction.
struct ImageNear {
  LIQUID_DEVICE explicit ImageNear(double at) {
    at = ImageSum(at, -0.5);
    first = at < 0 ? -1 : static_cast<int32_t>(at);
    part = ImageSum(at, -static_cast<double>(first));
  }
  int32_t first;
  double part;
};

LIQUID_DEVICE inline double ImageBetween(const double (&near)[2], double part) {
  return ImageSum(near[0], ImageProduct(ImageSum(near[1], -near[0]), part));
}
LIQUID_DEVICE inline double ImageBetween(const double (&near)[4], double part) {
  const double slope = ImageSum(near[2], -near[0]);
  const double twice = ImageProduct(2.0, ImageSum(near[0], -near[1]));
  const double bend = ImageSum(ImageSum(twice, near[2]), -near[3]);
  const double twist =
      ImageSum(ImageSum(ImageSum(near[1], -near[0]), -near[2]), near[3]);
  const double bent = ImageSum(bend, ImageProduct(part, twist));
  const double sloped = ImageSum(slope, ImageProduct(part, bent));
  return ImageSum(near[1], ImageProduct(part, sloped));
}

// A colour times its opacity, to be mixed.
LIQUID_DEVICE inline double ImageWeighed(uint8_t colour, uint8_t opacity) {
  const int32_t product = colour * opacity + 128;
  return (product + (product >> 8)) >> 8;
}
LIQUID_DEVICE inline double ImageWeighed(uint16_t colour, uint16_t opacity) {
  return ImageProduct(static_cast<double>(colour),
                      static_cast<double>(opacity));
}

LIQUID_DEVICE inline void ImageSettle(double value, uint8_t* out) {
  *out = static_cast<uint8_t>(static_cast<int32_t>(value));
}
LIQUID_DEVICE inline void ImageSettle(double value, uint16_t* out) {
  *out = static_cast<uint16_t>(static_cast<int32_t>(ImageSum(value, 0.5)));
}
LIQUID_DEVICE inline void ImageSettle(double value, double opacity,
                                      uint8_t* out) {
  const auto weighed = static_cast<int32_t>(value);
  const auto weight = static_cast<int32_t>(opacity);
  const int32_t colour = weight == 0 ? weighed : 255 * weighed / weight;
  *out = static_cast<uint8_t>(colour > 255 ? 255 : colour);
}
LIQUID_DEVICE inline void ImageSettle(double value, double opacity,
                                      uint16_t* out) {
  const double colour = opacity > 0 ? value / opacity : 0.0;
  ImageSettle(colour > 65535.0 ? 65535.0 : colour, out);
}

// A channel of the `kSide` pixels in each direction about a place; with an
// opacity, weighed with it.
template <uint32_t kSide, typename Sample>
LIQUID_DEVICE double ImageMix(const ImageCanvas<Sample>& source,
                              const ImageNear& along, const ImageNear& across,
                              uint32_t c, uint32_t opacity) {
  constexpr int32_t kBefore = kSide / 2 - 1;
  // Shifted, so that a thread need not hold all pixels at once.
  double rows[kSide] = {};
  LIQUID_SELDOM
  for (uint32_t row = 0; row < kSide; ++row) {
    double values[kSide];
    LIQUID_UNROLL
    for (uint32_t column = 0; column < kSide; ++column) {
      const Sample* const pixel =
          source.Near(along.first + static_cast<int32_t>(row) - kBefore,
                      across.first + static_cast<int32_t>(column) - kBefore);
      values[column] =
          c < opacity ? ImageWeighed(pixel[c], pixel[opacity]) : pixel[c];
    }
    LIQUID_UNROLL
    for (uint32_t i = 1; i < kSide; ++i) rows[i - 1] = rows[i];
    rows[kSide - 1] = ImageBetween(values, across.part);
  }
  return ImageBetween(rows, along.part);
}

template <uint32_t kSide, typename Sample>
LIQUID_DEVICE void ImageMixPixel(const ImageCanvas<Sample>& source, double y,
                                 double x, Sample* out) {
  const ImageNear along(y), across(x);
  const uint32_t channels = source.channels;
  const uint32_t opacity = channels % 2 == 0 ? channels - 1 : 0;
  double weight = 0;
  if (opacity > 0) {
    weight = ImageMix<kSide>(source, along, across, opacity, 0);
    ImageSettle(weight, out + opacity);
  }
  LIQUID_SELDOM
  for (uint32_t c = 0; c < (opacity > 0 ? opacity : channels); ++c) {
    double value = ImageMix<kSide>(source, along, across, c, opacity);
    if (opacity > 0) {
      ImageSettle(value, weight, out + c);
      continue;
    }
    // Overshoots.
    if (kSide > 2) value = value < 0 ? 0.0 : value > 255 ? 255.0 : value;
    ImageSettle(value, out + c);
  }
}

LIQUID_DEVICE inline ImagePixel ImageAt(const uint8_t* pixel,
                                        uint32_t channels) {
  const bool one = channels != 3;
  return {pixel[0], pixel[one ? 0 : 1], pixel[one ? 0 : 2]};
}

// The sum of pixels of a line at `pixel`, `step` values apart, each as often as
// one from `at` - radius to `at` + radius falls on it; beyond an end, on the
// last one.
LIQUID_DEVICE inline uint32_t ImageBoxSum(const uint8_t* pixel, int64_t step,
                                          int32_t at, int32_t size,
                                          uint32_t radius) {
  const int64_t begin = static_cast<int64_t>(at) - radius;
  const int64_t end = static_cast<int64_t>(at) + radius + 1;
  const auto first = static_cast<int32_t>(begin < 0 ? 0 : begin);
  const auto last = static_cast<int32_t>(end > size ? size : end);
  uint32_t sum = static_cast<uint32_t>(first - begin) * pixel[0] +
                 static_cast<uint32_t>(end - last) * pixel[(size - 1) * step];
  for (int32_t i = first; i < last; ++i) sum += pixel[i * step];
  return sum;
}

// A tile on its way from one canvas to another.
template <typename Sample, typename Block>
struct ImageMove {
  Block& block;
  const ImageDeviceOperation& operation;
  ImageTile place;
  ImageCanvas<Sample> source;
  Sample* result;

  LIQUID_DEVICE ImageMove(Block& of_block, const ImageDeviceOperation& given,
                          uint32_t tile, const L3DeviceOutput& output,
                          Sample* canvases)
      : block(of_block),
        operation(given),
        place(output, tile),
        source{canvases + given.from * output.channels,
               static_cast<int32_t>(output.height),
               static_cast<int32_t>(output.width), output.channels},
        result(canvases + given.to * output.channels) {}

  // Calls f(y, x, out) of every pixel.
  template <typename F>
  LIQUID_DEVICE void Each(F f) const {
    ImageEach(block, place.rows, place.columns, [&](uint32_t row, uint32_t i) {
      const uint32_t y = place.top + row, x = place.left + i;
      const auto width = static_cast<size_t>(source.width);
      f(y, x, result + (y * width + x) * source.channels);
    });
  }
  LIQUID_DEVICE bool Has(double y, double x) const {
    return x >= 0 && x < source.width && y >= 0 && y < source.height;
  }
  // The pixel at (y, x), or what lies outside.
  LIQUID_DEVICE void Take(bool is_inside, int32_t y, int32_t x,
                          Sample* out) const {
    const Sample* const from = source.At(is_inside ? y : 0, is_inside ? x : 0);
    for (uint32_t c = 0; c < source.channels; ++c) {
      out[c] = is_inside ? from[c] : static_cast<Sample>(operation.fill[c]);
    }
  }
  // Through the `kSide` pixels in each direction.
  template <uint32_t kSide>
  LIQUID_DEVICE void Mix() const {
    Each([&](uint32_t y, uint32_t x, Sample* out) {
      const double at_x = ImagePlace(operation.map, y, x);
      const double at_y = ImagePlace(operation.map + 3, y, x);
      if (Has(at_y, at_x)) {
        ImageMixPixel<kSide>(source, at_y, at_x, out);
      } else {
        Take(false, 0, 0, out);
      }
    });
  }
  // By a table of each channel, `step` bytes apart.
  LIQUID_DEVICE void LookUp(const uint8_t* table, uint32_t step) const {
    Each([&](uint32_t y, uint32_t x, Sample* out) {
      const Sample* const from = source.At(y, x);
      for (uint32_t c = 0; c < source.channels; ++c) {
        out[c] = table[c * step + from[c]];
      }
    });
  }
};

// Makes tile number `tile` of the result. `found` is what ImageFind left.
template <typename Sample, typename Block>
LIQUID_DEVICE void ImageOperate(Block& block,
                                const ImageDeviceOperation& operation,
                                uint32_t tile, const L3DeviceOutput& output,
                                const uint32_t* tables, Sample* canvases,
                                const uint8_t* found) {
  const ImageMove<Sample, Block> move(block, operation, tile, output, canvases);
  const ImageCanvas<Sample>& source = move.source;
  const uint32_t channels = output.channels;
  switch (operation.kind) {
    case ImageOperation::kNearest:
      return move.Each([&](uint32_t y, uint32_t x, Sample* out) {
        const double at_x = ImagePlace(operation.map, y, x);
        const double at_y = ImagePlace(operation.map + 3, y, x);
        move.Take(move.Has(at_y, at_x), static_cast<int32_t>(at_y),
                  static_cast<int32_t>(at_x), out);
      });
    case ImageOperation::kBilinear:
      return move.template Mix<2>();
    case ImageOperation::kSteps:
      return move.Each([&](uint32_t y, uint32_t x, Sample* out) {
        const auto at = [&](const double* map) {
          return (static_cast<int64_t>(map[0]) * x +
                  static_cast<int64_t>(map[1]) * y +
                  static_cast<int64_t>(map[2])) >>
                 16;
        };
        const int64_t at_x = at(operation.map), at_y = at(operation.map + 3);
        move.Take(at_x >= 0 && at_x < source.width && at_y >= 0 &&
                      at_y < source.height,
                  static_cast<int32_t>(at_y), static_cast<int32_t>(at_x), out);
      });
    case ImageOperation::kPlaces:
      return move.Each([&](uint32_t y, uint32_t x, Sample* out) {
        const uint32_t* const table = tables + operation.table;
        const auto at_x = static_cast<int32_t>(table[x]);
        const auto at_y = static_cast<int32_t>(table[output.width + y]);
        move.Take(at_x >= 0 && at_y >= 0, at_y, at_x, out);
      });
    default:
      break;
  }
  // The others are of bytes.
  if constexpr (sizeof(Sample) == 1) {
    switch (operation.kind) {
      case ImageOperation::kBicubic:
        return move.template Mix<4>();
      case ImageOperation::kColours:
        return move.Each([&](uint32_t y, uint32_t x, Sample* out) {
          int mean = 0;
          if (NeedsMean(operation.colours)) {
            mean = static_cast<int>(*reinterpret_cast<const uint32_t*>(found));
          }
          const ImagePixel pixel = ImageChanged<false>(
              operation.colours, mean, ImageAt(source.At(y, x), channels));
          out[0] = static_cast<uint8_t>(pixel.red);
          if (channels != 3) return;
          out[1] = static_cast<uint8_t>(pixel.green);
          out[2] = static_cast<uint8_t>(pixel.blue);
        });
      case ImageOperation::kTones:
        return move.LookUp(
            reinterpret_cast<const uint8_t*>(tables + operation.table), 0);
      case ImageOperation::kAutoContrast:
      case ImageOperation::kEqualize:
        return move.LookUp(found, 256);
      case ImageOperation::kSharpen:
        return move.Each([&](uint32_t y, uint32_t x, Sample* out) {
          if (y == 0 || x == 0 || y + 1 == output.height ||
              x + 1 == output.width) {
            return move.Take(true, y, x, out);
          }
          for (uint32_t c = 0; c < channels; ++c) {
            const uint8_t* const in = source.At(y, x) + c;
            const int64_t row = int64_t{source.width} * channels;
            const int64_t next = channels;
            const uint32_t ring = in[-row - next] + in[-row] + in[-row + next] +
                                  in[-next] + in[next] + in[row - next] +
                                  in[row] + in[row + next];
            const uint32_t smooth = ((ring + 5u * in[0] + 6) * 5042) >> 16;
            out[c] = static_cast<uint8_t>(
                ImageBlend(static_cast<int>(smooth), in[0], operation.factor));
          }
        });
      case ImageOperation::kBlurRows:
      case ImageOperation::kBlurColumns: {
        const bool along_rows = operation.kind == ImageOperation::kBlurRows;
        const int64_t step =
            along_rows ? channels : int64_t{source.width} * channels;
        const int32_t size = along_rows ? source.width : source.height;
        return move.Each([&](uint32_t y, uint32_t x, Sample* out) {
          const uint8_t* const line =
              along_rows ? source.At(y, 0) : source.At(0, x);
          const auto at = static_cast<int32_t>(along_rows ? x : y);
          const int64_t reach = int64_t{operation.radius} + 1;
          const int64_t before = at < reach ? 0 : at - reach;
          const int64_t after = at + reach < size ? at + reach : size - 1;
          for (uint32_t c = 0; c < channels; ++c) {
            const uint32_t sum =
                ImageBoxSum(line + c, step, at, size, operation.radius);
            const uint32_t edges =
                uint32_t{line[before * step + c]} + line[after * step + c];
            out[c] = static_cast<uint8_t>((sum * operation.weight +
                                           edges * operation.edge_weight +
                                           (1u << 23)) >>
                                          24);
          }
        });
      }
      default:
        break;
    }
  }
}

// What AutoContrastTable and EqualizeTable make of a channel's counts.
LIQUID_DEVICE inline void ImageToneTable(ImageOperation kind,
                                         const uint32_t* counts,
                                         uint64_t pixels, uint8_t* table) {
  int32_t low = 0, high = 255;
  while (low < high && counts[low] == 0) ++low;
  while (low < high && counts[high] == 0) --high;
  if (kind == ImageOperation::kAutoContrast) {
    const double scale = low == high ? 1.0 : 255.0 / (high - low);
    const double offset =
        low == high ? 0.0 : ImageProduct(static_cast<double>(-low), scale);
    LIQUID_SELDOM
    for (int32_t value = 0; value < 256; ++value) {
      const double spread =
          ImageSum(ImageProduct(static_cast<double>(value), scale), offset);
      table[value] =
          static_cast<uint8_t>(static_cast<int32_t>(spread < 0     ? 0.0
                                                    : spread > 255 ? 255.0
                                                                   : spread));
    }
    return;
  }
  const uint64_t step = (pixels - counts[high]) / 255;
  uint64_t below = step / 2;
  LIQUID_SELDOM
  for (uint32_t value = 0; value < 256; ++value) {
    const uint64_t rank = step == 0 ? value : below / step;
    table[value] = static_cast<uint8_t>(rank > 255 ? 255 : rank);
    below += counts[value];
  }
}

// What an operation needs of the whole image, of 8 bits: a mean, or a table for
// each channel. `memory` is a block's shared memory, of kImageFindSharedBytes.
template <typename Block>
LIQUID_DEVICE void ImageFind(Block& block,
                             const ImageDeviceOperation& operation,
                             const L3DeviceOutput& output,
                             const uint8_t* canvases, uint8_t* memory,
                             uint8_t* found) {
  const uint32_t channels = output.channels;
  const uint8_t* const source = canvases + operation.from * channels;
  const uint64_t pixels = uint64_t{output.height} * output.width;
  if (operation.kind == ImageOperation::kColours) {
    auto* const parts = reinterpret_cast<uint64_t*>(memory);
    block.EachThread([&](uint32_t thread) {
      uint64_t sum = 0;
      for (uint64_t i = thread; i < pixels; i += block.Threads()) {
        sum += static_cast<uint32_t>(ImageLuma(ImageChanged<true>(
            operation.colours, 0, ImageAt(source + i * channels, channels))));
      }
      parts[thread] = sum;
    });
    block.EachThread([&](uint32_t thread) {
      if (thread >= kL3Warp) return;
      uint64_t sum = 0;
      for (uint32_t i = thread; i < block.Threads(); i += kL3Warp) {
        sum += parts[i];
      }
      parts[thread] = sum;
    });
    block.EachThread([&](uint32_t thread) {
      if (thread != 0) return;
      uint64_t sum = 0;
      for (uint32_t i = 0; i < kL3Warp; ++i) sum += parts[i];
      *reinterpret_cast<uint32_t*>(found) =
          static_cast<uint32_t>(ImageMean(sum, pixels));
    });
    return;
  }
  auto* const counts = reinterpret_cast<uint32_t*>(memory);
  block.EachThread([&](uint32_t thread) {
    for (uint32_t i = thread; i < 256 * channels; i += block.Threads()) {
      counts[i] = 0;
    }
  });
  block.EachThread([&](uint32_t thread) {
    for (uint64_t i = thread; i < pixels; i += block.Threads()) {
      for (uint32_t c = 0; c < channels; ++c) {
        L3AtomicAdd(uint32_t{1}, counts + 256 * c + source[i * channels + c]);
      }
    }
  });
  block.EachThread([&](uint32_t thread) {
    if (thread >= channels) return;
    ImageToneTable(operation.kind, counts + 256 * thread, pixels,
                   found + 256 * thread);
  });
}

#if defined(__CUDACC__)

// `count` tiles, those of the operations one after another.
template <typename Sample>
__device__ void ImageOperateTiles(
    const L3DeviceOutput* __restrict__ output,
    const ImageDeviceOperation* __restrict__ operations, uint32_t count,
    const uint32_t* __restrict__ tables, Sample* canvases,
    const uint8_t* __restrict__ found) {
  L3DeviceBlock block;
  const uint32_t tiles = ImageTiles(output->height, output->width);
  for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
    const uint32_t number = i / tiles;
    ImageOperate(block, operations[number], i % tiles, *output, tables,
                 canvases, found + size_t{number} * kImageFoundBytes);
  }
}

// What `count` operations need, a block for each.
__device__ inline void ImageFindAll(
    const L3DeviceOutput* __restrict__ output,
    const ImageDeviceOperation* __restrict__ operations, uint32_t count,
    uint8_t* __restrict__ found, const uint8_t* __restrict__ canvases) {
  extern __shared__ uint4 liquid_l3_memory[];
  L3DeviceBlock block;
  for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
    if (!NeedsWhole(operations[i])) continue;
    ImageFind(block, operations[i], *output, canvases,
              reinterpret_cast<uint8_t*>(liquid_l3_memory),
              found + size_t{i} * kImageFoundBytes);
  }
}

#endif  // defined(__CUDACC__)

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_CHANGE_CUH_
