#include "ops/kernel/image_inputs.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace liquid {
namespace {

using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ScalarShape;
using ::tensorflow::shape_inference::ShapeHandle;

absl::Status AllScalars(InferenceContext* c) {
  ShapeHandle unused;
  for (int i = 0; i < c->num_inputs(); ++i) {
    TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 0, &unused));
  }
  for (int i = 0; i < c->num_outputs(); ++i) c->set_output(i, c->Scalar());
  return absl::OkStatus();
}

REGISTER_OP("Liquid>ReadFile")
    .Input("path: string")
    .Output("contents: string")
    .Output("crc32c: int64")
    .Output("error: string")
    .Attr("max_bytes: int >= 1 = 536870911")
    .SetIsStateful()
    .SetShapeFn(AllScalars)
    .Doc(R"doc(
Reads a whole file and says in `error` why it cannot, instead of failing.

path: Scalar, a path of any registered file system.
contents: Scalar, the file's bytes; empty where `error` is not.
crc32c: Scalar, CRC-32C of `contents`.
error: Scalar, empty where the file was read.
max_bytes: A longer file is an error and is not read.
)doc");

REGISTER_OP("Liquid>Crc32c")
    .Input("contents: string")
    .Input("crc: int64")
    .Output("crc32c: int64")
    .SetShapeFn(AllScalars)
    .Doc(R"doc(
Extends a CRC-32C by bytes.

contents: Scalar, the bytes.
crc: Scalar, the CRC-32C of the bytes before them, 0 to start.
crc32c: Scalar in [0, 2^32).
)doc");

REGISTER_OP("Liquid>PackRecord")
    .Input("image: string")
    .Input("labels: float32")
    .Input("id: int64")
    .Input("example: string")
    .Output("framed: string")
    .Output("index_bytes: int64")
    .Attr("jpeg_index: int >= -1 = -1")
    .Attr(kMaxPixels)
    .Attr(kMaxScans)
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle unused;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &unused));
      TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &unused));
      TF_RETURN_IF_ERROR(c->WithRank(c->input(2), 0, &unused));
      TF_RETURN_IF_ERROR(c->WithRank(c->input(3), 0, &unused));
      c->set_output(0, c->Scalar());
      c->set_output(1, c->Scalar());
      return absl::OkStatus();
    })
    .Doc(R"doc(
Makes the RecordIO record of one sample (MXNet's image record, framed).

image: Scalar, an encoded image.
labels: Shape [k]; none, one or several.
id: Scalar, the sample's number.
example: Scalar, a serialized tf.train.Example or empty.
framed: Scalar, the record's bytes on disk, a multiple of 4.
index_bytes: Scalar, of the index in it, 0 for none.
jpeg_index: The spacing of the index that a JPEG gets: an entry a row of MCUs
  (0), or every so many MCUs; -1 for no index. What libjpeg-turbo has to decode,
  is damaged or is no JPEG gets none.
max_pixels: A larger image gets no index.
max_scans: Nor does a JPEG of more scans.
)doc");

REGISTER_OP("Liquid>UnpackRecord")
    .Input("framed: string")
    .Output("image: string")
    .Output("labels: float32")
    .Output("id: int64")
    .Output("example: string")
    .Output("index: string")
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle unused;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &unused));
      c->set_output(0, c->Scalar());
      c->set_output(1, c->Vector(InferenceContext::kUnknownDim));
      c->set_output(2, c->Scalar());
      c->set_output(3, c->Scalar());
      c->set_output(4, c->Scalar());
      return absl::OkStatus();
    })
    .Doc(R"doc(
Takes the RecordIO record of one sample apart; the inverse of PackRecord.

framed: Scalar, the record's bytes on disk.
image: Scalar, the encoded image.
labels: Shape [k]; empty for a sample without labels.
id: Scalar, the sample's number.
example: Scalar, a serialized tf.train.Example or empty.
index: Scalar, the entry points of `image`, or empty.
)doc");

REGISTER_OP("Liquid>VerifyRecords")
    .Input("path: string")
    .Input("rows: uint8")
    .Output("problems: string")
    .Output("examples: string")
    .Output("labels: float")
    .Output("label_counts: int64")
    .Output("index_bytes: int64")
    .Attr(kMaxPixels)
    .Attr(kMaxScans)
    .Attr("decode: bool = true")
    .SetIsStateful()
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle unused, rows;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &unused));
      TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 2, &rows));
      c->set_output(0, c->Vector(c->Dim(rows, 0)));
      c->set_output(1, c->Vector(c->Dim(rows, 0)));
      c->set_output(2, c->Vector(InferenceContext::kUnknownDim));
      c->set_output(3, c->Vector(c->Dim(rows, 0)));
      c->set_output(4, c->Vector(c->Dim(rows, 0)));
      return absl::OkStatus();
    })
    .Doc(R"doc(
Checks records of one shard, in parallel: length, CRC-32C, framing, sample
number, and with `decode` that the image decodes to the index's size and hash,
and that an index of a JPEG is the one that its file makes.

path: Scalar, the shard.
rows: Shape [n, 56], rows of index.npy as bytes.
problems: Shape [n], what is wrong with each record; empty where nothing is.
examples: Shape [n], each record's serialized tf.train.Example or empty.
labels: Labels of all records, one after another; none of one with a problem.
label_counts: Shape [n], how many each record has.
index_bytes: Shape [n], of the index of each record's JPEG; 0 for none.
max_pixels: A larger image is a problem.
max_scans: So is a JPEG of more scans.
decode: Whether to decode the images.
)doc");

}  // namespace
}  // namespace liquid
