// From decoded rows to the batch: type, layout, and stores of 16 bytes.
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_STORE_CUH_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_STORE_CUH_

#include "ops/codecs/l3/device/l3_device_team.cuh"

namespace liquid {

// The upper half of a float.
struct L3BFloat16 {
  uint16_t bits;
};

// The compiler at run time has no <type_traits>.
template <typename A, typename B>
constexpr bool L3IsSame = false;
template <typename A>
constexpr bool L3IsSame<A, A> = true;

LIQUID_DEVICE inline void L3Finish(uint32_t sample, float /*mean*/,
                                   float /*std*/, uint8_t* out) {
  *out = static_cast<uint8_t>(sample);
}

LIQUID_DEVICE inline void L3Finish(uint32_t sample, float /*mean*/,
                                   float /*std*/, uint16_t* out) {
  *out = static_cast<uint16_t>(sample);
}

LIQUID_DEVICE inline void L3Finish(uint32_t sample, float mean, float std,
                                   float* out) {
  *out = (static_cast<float>(sample) - mean) / std;
}

// Rounds to the nearest, ties to even.
LIQUID_DEVICE inline void L3Round(float value, L3BFloat16* out) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  const bool is_nan = (bits & 0x7FFFFFFF) > 0x7F800000;
  const uint32_t rounded = bits + 0x7FFF + (bits >> 16 & 1);
  out->bits = static_cast<uint16_t>((is_nan ? bits | 0x400000 : rounded) >> 16);
}

LIQUID_DEVICE inline void L3Finish(uint32_t sample, float mean, float std,
                                   L3BFloat16* out) {
  float value;
  L3Finish(sample, mean, std, &value);
  L3Round(value, out);
}

// Rows of pixels as a raw image has them: samples side by side, little-endian,
// at any address.
template <typename Sample>
struct L3SourceRows {
  const uint8_t* first;
  uint32_t row_bytes, channels;
};

template <typename Sample>
LIQUID_DEVICE uint32_t L3ReadSample(const uint8_t* from) {
  uint32_t value = from[0];
  if (sizeof(Sample) == 2) value |= uint32_t{from[1]} << 8;
  return value;
}

// 16 bytes at any address. Reads no word that holds none of them.
LIQUID_DEVICE inline L3Piece L3ReadAnywhere(const uint8_t* from) {
  const uint32_t skew =
      static_cast<uint32_t>(reinterpret_cast<size_t>(from) % kL3PieceBytes);
  if (skew == 0) return L3Read<L3Piece>(from);
  const uint8_t* words = from - skew % 4;
  uint32_t word = L3Read<uint32_t>(words);
  L3Piece piece;
  LIQUID_UNROLL
  for (uint32_t i = 0; i < 4; ++i) {
    // Where all lie on words, the fourth's next is the fourth.
    const uint32_t next = L3Read<uint32_t>(
        i < 3 || skew % 4 != 0 ? words + 4 * i + 4 : words + 12);
    piece.words[i] = L3Funnel(word, next, 8 * skew);
    word = next;
  }
  return piece;
}

// Where a task's pixels go: lines, each a row of pixels, or with planar output
// a row of one channel.
template <typename Out>
struct L3Lines {
  Out* first;
  size_t row_pitch, plane_pitch;  // elements
  uint32_t per_row;               // lines; and from one sample of a line to the
                                  // next, in the source
  uint32_t elements;              // of a line

  LIQUID_DEVICE L3Lines(const L3DeviceTask& task, const L3DeviceOutput& output,
                        Out* pixels)
      : per_row(output.planar != 0 ? output.channels : 1) {
    const uint32_t turns = output.planar != 0 ? 1 : output.channels;
    elements = (task.x_end - task.x_begin) * turns;
    row_pitch = size_t{output.width} * turns;
    plane_pitch = row_pitch * output.height;
    first = pixels + task.image * plane_pitch * per_row +
            task.out_y * row_pitch + size_t{task.out_x} * turns;
  }
};

// A line is stored by a team of threads: a row of a patch of RGB has twelve
// pieces of 16 bytes. At most 15 elements lie before the first, or behind the
// last piece.
constexpr uint32_t kL3Team = 16;

// Calls, for what thread number `place` of the team does of a line, one(i) for
// its element i, and whole(i) for the elements of a piece that begins with i.
template <typename Out, typename One, typename Whole>
LIQUID_DEVICE void L3EachPiece(const Out* line, uint32_t elements,
                               uint32_t place, One one, Whole whole) {
  constexpr uint32_t kElements = kL3PieceBytes / sizeof(Out);
  const uint32_t to_piece =
      static_cast<uint32_t>(0 - reinterpret_cast<size_t>(line)) %
      kL3PieceBytes / sizeof(Out);
  const uint32_t head = to_piece < elements ? to_piece : elements;
  const uint32_t tail = elements - (elements - head) % kElements;
  if (place < head) one(place);
  // Once, mostly.
  LIQUID_SELDOM
  for (uint32_t i = head + place * kElements; i < tail;
       i += kL3Team * kElements) {
    whole(i);
  }
  if (tail + place < elements) one(tail + place);
}

// Copies bytes as they are.
LIQUID_DEVICE inline void L3CopyLine(const uint8_t* from, uint8_t* line,
                                     uint32_t bytes, uint32_t place) {
  L3EachPiece(
      line, bytes, place, [&](uint32_t i) { line[i] = from[i]; },
      [&](uint32_t i) { L3Write(L3ReadAnywhere(from + i), line + i); });
}

// Converts the samples of a line, which lie `step` bytes apart. They are of one
// channel, or with `turns` of each in turn.
template <typename Sample, typename Out>
LIQUID_DEVICE void L3ConvertLine(const uint8_t* from, uint32_t step, Out* line,
                                 uint32_t elements, uint32_t channel,
                                 bool turns, uint32_t place,
                                 const L3DeviceOutput& output) {
  const auto convert = [&](uint32_t i, uint32_t c, Out* out) {
    L3Finish(L3ReadSample<Sample>(from + i * step), output.mean[c],
             output.std[c], out);
  };
  const auto channel_of = [&](uint32_t i) {
    return turns ? i % output.channels : channel;
  };
  L3EachPiece(
      line, elements, place,
      [&](uint32_t i) { convert(i, channel_of(i), &line[i]); },
      [&](uint32_t i) {
        constexpr uint32_t kElements = kL3PieceBytes / sizeof(Out);
        Out values[kElements];
        uint32_t c = channel_of(i);
        LIQUID_UNROLL
        for (uint32_t k = 0; k < kElements; ++k) {
          convert(i + k, c, &values[k]);
          if (turns) c = c + 1 == output.channels ? 0 : c + 1;
        }
        L3Piece whole;
        memcpy(&whole, values, sizeof(whole));
        L3Write(whole, line + i);
      });
}

// Stores rows [y, y + rows) of the task's patch, which `source` numbers from 0,
// as far as they are wanted.
template <typename Sample, typename Out, typename Block>
LIQUID_DEVICE void L3Store(Block& block, const L3DeviceTask& task, uint32_t y,
                           uint32_t rows, const L3SourceRows<Sample>& source,
                           const L3Lines<Out>& lines,
                           const L3DeviceOutput& output) {
  constexpr uint32_t kSampleBytes = sizeof(Sample);
  const uint32_t begin = y < task.row_begin ? task.row_begin : y;
  const uint32_t end = y + rows < task.row_end ? y + rows : task.row_end;
  block.EachThread([&](uint32_t thread) {
    const uint32_t teams = block.Threads() / kL3Team, place = thread % kL3Team;
    const uint32_t first = begin + thread / kL3Team;
    for (uint32_t channel = 0; channel < lines.per_row; ++channel) {
      const uint8_t* from =
          source.first + size_t{first - y} * source.row_bytes +
          (task.x_begin * source.channels + channel) * kSampleBytes;
      Out* line = lines.first + (first - task.row_begin) * lines.row_pitch +
                  channel * lines.plane_pitch;
      for (uint32_t row = first; row < end; row += teams) {
        bool copied = false;
        if constexpr (L3IsSame<Sample, Out>) {
          copied = lines.per_row == 1;
          if (copied) {
            L3CopyLine(from, reinterpret_cast<uint8_t*>(line),
                       lines.elements * kSampleBytes, place);
          }
        }
        if (!copied) {
          L3ConvertLine<Sample>(from, lines.per_row * kSampleBytes, line,
                                lines.elements, channel, lines.per_row == 1,
                                place, output);
        }
        from += size_t{teams} * source.row_bytes;
        line += teams * lines.row_pitch;
      }
    }
  });
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_STORE_CUH_
