// An image at another size, or a part of it.
//
// For 8 bits the result is that of Pillow's Image.resize, to the bit; for 16
// bits it is that of the same filters without rounding in between. Without
// antialias it is that of tf.image.resize, rounded half to even.
#ifndef LIQUID_OPS_IMAGE_RESAMPLE_H_
#define LIQUID_OPS_IMAGE_RESAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/core/status.h"
#include "ops/image/resample_scratch.h"
#include "ops/image/resample_taps.h"

namespace liquid {

enum class Interpolation : uint8_t { kNearest, kBilinear, kBicubic };

// A resize of a whole image, of whose result `part` is computed.
struct ResampleSpec {
  uint32_t in_height = 0;
  uint32_t in_width = 0;
  uint32_t out_height = 0;
  uint32_t out_width = 0;
  Window part;  // in pixels of the result
  Interpolation interpolation = Interpolation::kBilinear;
  // Whether a smaller image is the mean of what it leaves out. Without it there
  // is no kBicubic.
  bool antialias = true;
  uint32_t bits = 8;  // 8 or 16 a value
};

// Takes the rows of a result as they come about.
template <typename T>
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  // Row `y` of the part, from 0 on and in order: part.width pixels without
  // gaps. The row is valid until the call returns.
  virtual void Row(uint32_t y, const T* row) = 0;
};

// The weights of one resize. Reset keeps the memory of the one before, so that
// a thread makes one resize after the other without allocating. Not
// thread-safe, but for Run, once reset, with a scratch for each thread.
class Resampler {
 public:
  // Error: InvalidArgument for sides that are not in [1, 2^24), a part that is
  // empty or not in the result, bits that are not 8 or 16, and bicubic without
  // antialias. Then the resampler cannot be run.
  // Time and memory: O(part.height + part.width), times the size of the
  // filters where the image gets smaller.
  Status Reset(const ResampleSpec& spec);

  // The part of the input that the result's part depends on, and all that Run
  // reads.
  const Window& needed() const { return needed_; }

  // What Run computes with, for whoever computes it elsewhere; until the next
  // Reset. Filters, taps between two pixels, or single ones have numbers, as
  // the specification asks for.
  struct Weights {
    bool same_height, same_width;  // these have no filter
    bool rows_first;  // a column of the result's height comes of each column
    const FilterTaps &rows, &columns;
    const std::vector<LerpTap>&lerp_rows, &lerp_columns;
    const std::vector<uint32_t>&nearest_rows, &nearest_columns;
  };
  Weights weights() const {
    return {same_height_,  same_width_,   rows_first_,
            rows_,         columns_,      lerp_rows_,
            lerp_columns_, nearest_rows_, nearest_columns_};
  }

  // Computes the part, to the bit as in the whole result, and gives its rows to
  // `writer`. `in` has the pixels of needed(), its rows `in_stride` values of T
  // apart; what lies between rows may be read, but changes nothing. `channels`
  // is 1 to 4; of 2 and 4 the last is opacity, and filters weigh colours by it.
  // T is uint8_t or uint16_t, of as many bits as the specification says.
  template <typename T>
  void Run(const T* in, size_t in_stride, size_t channels, RowWriter<T>* writer,
           ResampleScratch* scratch) const;

 private:
  template <typename T>
  struct Source;

  // Weighted sums in integers and in doubles; between two pixels; one pixel.
  void Filter(Source<uint8_t> in, RowWriter<uint8_t>* writer,
              ResampleScratch* scratch) const;
  void FilterColumnsFirst(const Source<uint8_t>& in, RowWriter<uint8_t>* writer,
                          ResampleScratch* scratch) const;
  void FilterRowsFirst(const Source<uint8_t>& in, RowWriter<uint8_t>* writer,
                       ResampleScratch* scratch) const;
  void Filter(const Source<uint16_t>& in, RowWriter<uint16_t>* writer,
              ResampleScratch* scratch) const;
  template <typename T>
  void Lerp(const Source<T>& in, RowWriter<T>* writer,
            ResampleScratch* scratch) const;
  template <typename T>
  void Pick(const Source<T>& in, RowWriter<T>* writer,
            ResampleScratch* scratch) const;

  ResampleSpec spec_;
  Window needed_;
  bool same_height_ = false;
  bool same_width_ = false;
  bool rows_first_ = false;
  FilterTaps rows_, columns_;
  std::vector<LerpTap> lerp_rows_, lerp_columns_;
  std::vector<uint32_t> nearest_rows_, nearest_columns_;
};

// The pixels of needed().
template <typename T>
struct Resampler::Source {
  const T* pixels;
  size_t stride;  // in values
  size_t channels;

  const T* Row(size_t y) const { return pixels + y * stride; }
};

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_RESAMPLE_H_
