// From decoded slots to the arrays of a batch: gaps that bad records left
// are filled from later batches, then every requested feature is built.
#ifndef LIQUID_OPS_ENGINE_BATCH_ASSEMBLER_H_
#define LIQUID_OPS_ENGINE_BATCH_ASSEMBLER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/engine/batch_decoder.h"

namespace liquid {

// Features by name; any other name is a pixel feature of the Example.
//   image    pixels: [n, h, w, c], or [sum of h * w, c] where ragged
//   label    int64 [n], or float32 [n, k]
//   id       int64 [n], sample number in the dataset
//   format   string [n]
//   source   int32 [n], position in the plan of what it was read from
//   orientation  int64 [n], of the stored image's EXIF, 1 to 8
//   window   int32 [n, 4]: y, x, height, width of the crop, in the turned image
//   mirrored bool [n]: left to right, after that
//   size     int32 [n, 2]: height and width of what comes out
//   affine   float64 [n, 2, 3]: gives (y, x) in what comes out for (y, x, 1) in
//            the stored image, in continuous pixel coordinates
//   bytes    string [n], the encoded image
//   image[stored]  records [], those that hold the encoded images, not copied
//   example  string [n], serialized tf.train.Example of the other features
//   partner  int32 [n], the place in the batch of what a sample was mixed with
//   lam      float32 [n], the sample's own share of its label
// With a mixer and stacked views, these two and the label are [n, views, ...].
//   num_boxes  int32 [n], boxes that stay, where box columns are asked for
// and each box column by its own: [n, pad, ...], or [boxes of all samples, ...]
// where nothing is padded.
struct OutputFeature {
  std::string name;
  DType dtype = DType::kUint8;
  int64_t label_size = 0;  // of a float32 label
  Smoothed smoothed;       // likewise, of one that is a class: mixed
  int64_t views = 0;       // what is mixed has a value of each; 0: one
  int pixel = -1;          // index in DecodeConfig::pixels, or -1
  bool mixed = false;      // made of these pixels by the mixer
  int box_column = -1;     // likewise, in BoxConfig::columns
  int64_t box_pad = 0;     // boxes of every sample; 0: as many as it has
  std::vector<int64_t> box_shape;  // of one box's value
};

// One feature of a batch: numbers, texts, or records.
struct Output {
  // A text that the batch holds. `blob` is set where only it does.
  struct Text {
    ByteSpan bytes;
    std::shared_ptr<Blob> blob;
  };

  DType dtype = DType::kUint8;
  std::vector<int64_t> shape;
  Array numbers;                   // of other types than these
  std::vector<Text> texts;         // of kString, in the order of the shape
  std::vector<RecordPtr> records;  // of kRecords, in the order of the samples
  // What is to become of their images: of each, one view after the other.
  std::vector<SamplePlan> plans;
  // And then of all images of the batch; none where none is mixed with another.
  std::vector<Blend> blends;
  std::vector<std::shared_ptr<DeviceMove>> moves;  // of each; null for most
  std::vector<uint32_t> formats;                   // as the plan numbers them
  CountDecode count_decode;                        // null where nobody counts
};

bool IsBad(const Slot& slot);

// Moves the pixels and the record of donor slot `from` into gap `to`.
void FillGap(PendingBatch* batch, size_t to, PendingBatch* donor, size_t from);

// A batch of one: a copy of a good slot. Error: Unavailable.
Status CopySample(const PendingBatch& batch, size_t slot,
                  BatchAllocator* allocator,
                  std::unique_ptr<PendingBatch>* copy);

// Removes the slots that stayed bad or were taken by an earlier batch. Error:
// Unavailable.
Status DropGaps(BatchAllocator* allocator, PendingBatch* batch);

// Repeats the batch's samples in turn until it has `size`. Error:
// Unavailable.
Status FillUp(BatchAllocator* allocator, PendingBatch* batch, size_t size);

// Builds one output per feature from slots that are all good, and takes what it
// needs of them; the batch must outlive the texts. Errors: DataLoss,
// Unavailable.
Status BuildOutputs(const std::vector<OutputFeature>& features, bool ragged,
                    BatchAllocator* allocator, PendingBatch* batch,
                    std::vector<Output>* outputs);

// What the batch was made of.
BatchReport MakeReport(const PendingBatch& batch);

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_BATCH_ASSEMBLER_H_
