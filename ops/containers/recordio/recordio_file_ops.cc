// Ops of RecordIO files by themselves, other people's included; what
// liquid_tf.recordio is made of.
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace liquid {
namespace {

using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ScalarShape;
using ::tensorflow::shape_inference::ShapeHandle;

REGISTER_OP("Liquid>RecordIODataset")
    .Input("paths: string")
    .Input("ranges: int64")
    .Input("depth: int64")
    .Input("block_bytes: int64")
    .Input("reader: string")
    .Output("handle: variant")
    .Attr("repair: bool = false")
    .SetDoNotOptimize()
    .SetShapeFn(ScalarShape)
    .Doc(R"doc(
Reads records of RecordIO files in their order; elements are scalar strings.

paths: Shape [f].
ranges: Shape [k, 6], rows of SplitRecords.
depth: Scalar, most reads under way at once.
block_bytes: Scalar, bytes of a read, a multiple of 4096 from 128 KiB to 8 MiB.
reader: Scalar, "auto", or "io_uring", "threads" or "buffered" for one way of reading.
repair: whether to pass over damage, and say so in the log; else it is an error.
)doc");

REGISTER_OP("Liquid>ReadRecords")
    .Input("path: string")
    .Input("range: int64")
    .Input("repair: bool")
    .Input("max_bytes: int64")
    .Input("block_bytes: int64")
    .Output("records: string")
    .Output("offsets: int64")
    .Output("next: int64")
    .Output("lost_offsets: int64")
    .Output("lost_lengths: int64")
    .Output("lost_reasons: string")
    .SetIsStateful()
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle unused;
      const int ranks[] = {0, 1, 0, 0, 0};
      for (int i = 0; i < 5; ++i) {
        TF_RETURN_IF_ERROR(c->WithRank(c->input(i), ranks[i], &unused));
      }
      for (int i = 0; i < 6; ++i) {
        c->set_output(i, c->Vector(InferenceContext::kUnknownDim));
      }
      c->set_output(2, c->Scalar());
      return absl::OkStatus();
    })
    .Doc(R"doc(
Reads records of a RecordIO file: those whose first byte lies in a range, or the
first of them.

path: Scalar, a path of any registered file system.
range: Shape [6], a row of SplitRecords.
repair: Scalar, whether to pass over damage; else it is an error.
max_bytes: Scalar, at least 1: no record is begun after so many bytes of payloads.
block_bytes: Scalar, bytes of a read.
records: Shape [n], the payloads.
offsets: Shape [n], of each record's first byte in the file.
next: Scalar, where the next record is looked for; -1 at the end of the range.
lost_offsets: Shape [k], of the first byte of each stretch without a record.
lost_lengths: Shape [k], its bytes.
lost_reasons: Shape [k], what is wrong there.
)doc");

REGISTER_OP("Liquid>ReadRecordIndex")
    .Input("contents: string")
    .Output("keys: int64")
    .Output("offsets: int64")
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle unused;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &unused));
      const auto entries = c->Vector(InferenceContext::kUnknownDim);
      c->set_output(0, entries);
      c->set_output(1, entries);
      return absl::OkStatus();
    })
    .Doc(R"doc(
Reads the index of a RecordIO file.

contents: Scalar, the bytes of a .idx file.
keys: Shape [n], as the index has them.
offsets: Shape [n], of each record's first byte.
)doc");

REGISTER_OP("Liquid>WriteRecordIndex")
    .Input("keys: int64")
    .Input("offsets: int64")
    .Output("contents: string")
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle keys, offsets;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &keys));
      TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &offsets));
      TF_RETURN_IF_ERROR(c->Merge(keys, offsets, &keys));
      c->set_output(0, c->Scalar());
      return absl::OkStatus();
    })
    .Doc(R"doc(
Makes the index of a RecordIO file, or the end of one.

keys: Shape [n], of the records.
offsets: Shape [n], of each record's first byte, at least 0.
contents: Scalar, the bytes of a .idx file.
)doc");

REGISTER_OP("Liquid>SplitRecords")
    .Input("sizes: int64")
    .Input("offsets: int64")
    .Input("counts: int64")
    .Input("part: int64")
    .Input("parts: int64")
    .Output("ranges: int64")
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle unused;
      const int ranks[] = {1, 1, 1, 0, 0};
      for (int i = 0; i < 5; ++i) {
        TF_RETURN_IF_ERROR(c->WithRank(c->input(i), ranks[i], &unused));
      }
      c->set_output(0, c->Matrix(InferenceContext::kUnknownDim, 6));
      return absl::OkStatus();
    })
    .Doc(R"doc(
One of n parts of RecordIO files, as MXNet's InputSplit makes them.

sizes: Shape [f], bytes of each file.
offsets: Shape [n], of all records, file by file; used with `counts`.
counts: Shape [f], how many of `offsets` each file has: divided by count. Shape [0]:
  divided by bytes.
part: Scalar in [0, parts).
parts: Scalar, at least 1.
ranges: Shape [k, 6]: position of the file; begin and end, of the first bytes of the
  range's records; whether a record must begin there, and at the end, 0 or 1; number
  of records, -1 where nobody knows.
)doc");

}  // namespace
}  // namespace liquid
