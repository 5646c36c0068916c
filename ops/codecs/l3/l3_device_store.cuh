// From decoded rows to the batch: colour, type, layout, and stores of 16 bytes.
#ifndef LIQUID_OPS_CODECS_L3_L3_DEVICE_STORE_CUH_
#define LIQUID_OPS_CODECS_L3_L3_DEVICE_STORE_CUH_

#include "ops/codecs/l3/l3_device_team.cuh"

namespace liquid {

// The upper half of a float.
struct L3BFloat16 {
  uint16_t bits;
};

LIQUID_DEVICE inline void L3Finish(uint32_t sample, uint32_t /*channel*/,
                                   const L3DeviceOutput& /*output*/,
                                   uint8_t* out) {
  *out = static_cast<uint8_t>(sample);
}

LIQUID_DEVICE inline void L3Finish(uint32_t sample, uint32_t /*channel*/,
                                   const L3DeviceOutput& /*output*/,
                                   uint16_t* out) {
  *out = static_cast<uint16_t>(sample);
}

LIQUID_DEVICE inline void L3Finish(uint32_t sample, uint32_t channel,
                                   const L3DeviceOutput& output, float* out) {
  *out =
      (static_cast<float>(sample) - output.mean[channel]) / output.std[channel];
}

// Rounds to the nearest, ties to even.
LIQUID_DEVICE inline void L3Finish(uint32_t sample, uint32_t channel,
                                   const L3DeviceOutput& output,
                                   L3BFloat16* out) {
  float value;
  L3Finish(sample, channel, output, &value);
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  const bool is_nan = (bits & 0x7FFFFFFF) > 0x7F800000;
  const uint32_t rounded = bits + 0x7FFF + (bits >> 16 & 1);
  out->bits = static_cast<uint16_t>((is_nan ? bits | 0x400000 : rounded) >> 16);
}

// Rows of planes in shared memory, whose colours are still transformed.
template <typename Sample>
struct L3PlaneRows {
  const Sample* first;  // of channel 0, the first row and column
  uint32_t row_stride, plane_stride;
  L3Colour red, blue;  // of channels 0 and 2

  LIQUID_DEVICE uint32_t operator()(uint32_t row, uint32_t x,
                                    uint32_t channel) const {
    const Sample* at = first + row * row_stride + x;
    const uint32_t value = at[channel * plane_stride];
    if (channel == 0 && red != L3Colour::kPlain) {
      return static_cast<Sample>(value + at[plane_stride]);
    }
    if (channel != 2 || blue == L3Colour::kPlain) return value;
    const uint32_t green = at[plane_stride];
    if (blue == L3Colour::kLessGreen) {
      return static_cast<Sample>(value + green);
    }
    uint32_t r = at[0];
    if (red != L3Colour::kPlain) r = static_cast<Sample>(r + green);
    return static_cast<Sample>(value + (r + green + 1) / 2);
  }
};

// Rows of a raw image in the batch's bytes, little-endian.
template <typename Sample>
struct L3RawRows {
  const uint8_t* first;
  uint32_t row_bytes, channels;

  LIQUID_DEVICE uint32_t operator()(uint32_t row, uint32_t x,
                                    uint32_t channel) const {
    const uint8_t* at = first + size_t{row} * row_bytes +
                        (size_t{x} * channels + channel) * sizeof(Sample);
    uint32_t value = at[0];
    if (sizeof(Sample) == 2) value |= uint32_t{at[1]} << 8;
    return value;
  }
};

// A line of the result: a row of pixels, or of one channel with planar output.
template <typename Out>
struct L3Line {
  Out* out;
  uint32_t elements;
  uint32_t row;       // of the source
  uint32_t channel;   // planar only
  uint32_t channels;  // that take turns: 1 with planar output
};

// Writes what of a line lies in the 16 aligned bytes `piece` after its start.
template <typename Out, typename Source>
LIQUID_DEVICE void L3StorePiece(const Source& source, uint32_t x_begin,
                                const L3Line<Out>& line, uint32_t piece,
                                const L3DeviceOutput& output) {
  constexpr uint32_t kElements = sizeof(L3Piece) / sizeof(Out);
  // Elements of the first piece that lie before the line.
  const uint32_t before = static_cast<uint32_t>(
      reinterpret_cast<size_t>(line.out) % sizeof(L3Piece) / sizeof(Out));
  const uint32_t place = piece * kElements;
  const uint32_t begin = place < before ? 0 : place - before;
  if (begin >= line.elements) return;
  const uint32_t to_next = place + kElements - before;
  const uint32_t end = to_next < line.elements ? to_next : line.elements;
  uint32_t x = x_begin + begin / line.channels;
  uint32_t c = line.channel + begin % line.channels;
  const auto next = [&](Out* out) {
    L3Finish(source(line.row, x, c), c, output, out);
    if (line.channels > 1 && ++c < line.channels) return;
    if (line.channels > 1) c = 0;
    ++x;
  };
  if (end - begin < kElements) {
    LIQUID_SELDOM
    for (uint32_t i = begin; i < end; ++i) next(&line.out[i]);
    return;
  }
  Out values[kElements];
  for (Out& value : values) next(&value);
  L3Piece whole;
  memcpy(&whole, values, sizeof(whole));
  L3WritePiece(whole, line.out + begin);
}

// Stores rows [y, y + rows) of the task's patch, which `source` numbers from 0,
// as far as they are wanted.
template <typename Out, typename Block, typename Source>
LIQUID_DEVICE void L3Store(Block& block, const L3DeviceTask& task, uint32_t y,
                           uint32_t rows, const Source& source,
                           const L3DeviceOutput& output, Out* pixels) {
  constexpr uint32_t kElements = sizeof(L3Piece) / sizeof(Out);
  const uint32_t begin = y < task.row_begin ? task.row_begin : y;
  const uint32_t end = y + rows < task.row_end ? y + rows : task.row_end;
  const uint32_t columns = task.x_end - task.x_begin;
  const bool planar = output.planar != 0;
  const uint32_t lines_per_row = planar ? output.channels : 1;
  const uint32_t lines = begin < end ? (end - begin) * lines_per_row : 0;
  L3Line<Out> line;
  line.channels = planar ? 1 : output.channels;
  line.elements = columns * line.channels;
  // One more than the elements take, for a line that begins inside a piece.
  const uint32_t pieces = (line.elements + 2 * kElements - 2) / kElements;
  block.EachThread([&](uint32_t thread) {
    for (uint32_t i = thread; i < lines * pieces; i += block.Threads()) {
      const uint32_t number = i / pieces;
      const uint32_t row = begin + number / lines_per_row;
      L3Line<Out> mine = line;
      mine.channel = number % lines_per_row;
      mine.row = row - y;
      const uint64_t out_y = task.out_y + (row - task.row_begin);
      const uint64_t plane =
          planar ? uint64_t{task.image} * output.channels + mine.channel
                 : task.image;
      mine.out = pixels +
                 ((plane * output.height + out_y) * output.width + task.out_x) *
                     line.channels;
      L3StorePiece(source, task.x_begin, mine, i % pieces, output);
    }
  });
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_L3_DEVICE_STORE_CUH_
