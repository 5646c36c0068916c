// From decoded slots to the tensors of a batch: gaps that bad records left
// are filled from later batches, then every requested feature is built.
#ifndef LIQUID_OPS_DATASET_DECODE_BATCH_ASSEMBLER_H_
#define LIQUID_OPS_DATASET_DECODE_BATCH_ASSEMBLER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/dataset/decode/batch_decoder.h"
#include "tensorflow/core/framework/tensor.h"

namespace liquid {

// Features by name; any other name is a pixel feature of the Example.
//   image    pixels: [n, h, w, c], or [sum of h * w, c] where ragged
//   label    int64 [n], or float32 [n, k]
//   id       int64 [n], sample number in the dataset
//   format   string [n]
//   orientation  int64 [n], of the stored image's EXIF, 1 to 8
//   window   int32 [n, 4]: y, x, height, width of the crop, in the turned image
//   mirrored bool [n]: left to right, after that
//   size     int32 [n, 2]: height and width of what comes out
//   affine   float64 [n, 2, 3]: gives (y, x) in what comes out for (y, x, 1) in
//            the stored image, in continuous pixel coordinates
//   bytes    string [n], the encoded image
//   example  string [n], serialized tf.train.Example of the other features
//   num_boxes  int32 [n], boxes that stay, where box columns are asked for
// and each box column by its own: [n, pad, ...], or [boxes of all samples, ...]
// where nothing is padded.
struct OutputFeature {
  std::string name;
  tensorflow::DataType dtype = tensorflow::DT_UINT8;
  int64_t label_size = 0;  // of a float32 label
  int pixel = -1;          // index in DecodeConfig::pixels, or -1
  int box_column = -1;     // likewise, in BoxConfig::columns
  int64_t box_pad = 0;     // boxes of every sample; 0: as many as it has
  std::vector<int64_t> box_shape;  // of one box's value
};

bool IsBad(const Slot& slot);

// Moves the pixels and the record of donor slot `from` into gap `to`.
void FillGap(PendingBatch* batch, size_t to, PendingBatch* donor, size_t from);

// A batch of one: a copy of a good slot. Error: ResourceExhausted.
absl::Status CopySample(const PendingBatch& batch, size_t slot,
                        std::unique_ptr<PendingBatch>* copy);

// Removes the slots that stayed bad or were taken by an earlier batch. Error:
// ResourceExhausted.
absl::Status DropGaps(PendingBatch* batch);

// Repeats the batch's samples in turn until it has `size`. Error:
// ResourceExhausted.
absl::Status FillUp(PendingBatch* batch, size_t size);

// Builds one tensor per feature from slots that are all good, and takes what it
// needs of them. Errors: DataLoss, ResourceExhausted.
absl::Status BuildOutputs(const std::vector<OutputFeature>& features,
                          PendingBatch* batch, bool ragged,
                          std::vector<tensorflow::Tensor>* outputs);

// What the batch was made of.
BatchReport MakeReport(const PendingBatch& batch);

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_DECODE_BATCH_ASSEMBLER_H_
