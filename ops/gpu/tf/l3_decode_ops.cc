#include "ops/kernel/image_inputs.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/dataset_stateful_op_allowlist.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace liquid {
namespace {

using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

absl::Status DecodeShape(InferenceContext* c) {
  tensorflow::DataType type;
  TF_RETURN_IF_ERROR(c->GetAttr("T", &type));
  const bool are_records = type == tensorflow::DT_VARIANT;
  ShapeHandle files, windows, unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), are_records ? 0 : 1, &files));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 2, &windows));
  TF_RETURN_IF_ERROR(
      c->Merge(windows,
               c->MakeShape({are_records ? c->MakeDim(0) : c->Dim(files, 0),
                             c->MakeDim(4)}),
               &unused));
  for (int i = 2; i < 5; ++i) {
    TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 1, &unused));
  }
  TF_RETURN_IF_ERROR(c->WithRank(c->input(5), 3, &unused));
  for (int i = 0; i < c->num_outputs(); ++i) c->set_output(i, c->Scalar());
  return absl::OkStatus();
}

absl::Status PixelsShape(InferenceContext* c) {
  ShapeHandle unused, shape;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &unused));
  tensorflow::PartialTensorShape given;
  TF_RETURN_IF_ERROR(c->GetAttr("shape", &given));
  TF_RETURN_IF_ERROR(c->MakeShapeFromPartialTensorShape(given, &shape));
  TF_RETURN_IF_ERROR(c->WithRank(shape, 4, &shape));
  c->set_output(0, shape);
  return absl::OkStatus();
}

absl::Status TotalsShape(InferenceContext* c) {
  for (int i = 0; i < c->num_outputs(); ++i) c->set_output(i, c->Scalar());
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("Liquid>DecodeL3Device")
    .Input("files: T")
    .Input("windows: int32")
    .Input("samples: int64")
    .Input("mean: float")
    .Input("std: float")
    .Input("mean_image: float")
    .Output("pixels: arrays * variant")
    .Attr("arrays: int >= 1 = 1")
    .Attr("T: {string, variant}")
    .Attr("dtype: {uint8, uint16, float, half, bfloat16}")
    .Attr("planar: bool = false")
    .Attr("recipe: list(string) = []")
    .Attr("views: list(string) = []")
    .Attr("view_types: list({uint8, uint16, float, half, bfloat16}) = []")
    .Attr("stacked: bool = false")
    .Attr("device: string = 'GPU:0'")
    .Attr(kMaxPixels)
    .Attr(kMaxScans)
    // Or what it makes of constants would be a constant, which has to be saved.
    .SetIsStateful()
    .SetShapeFn(DecodeShape)
    .Doc(R"doc(
Decodes a batch of L3, raw and JPEG images into the memory of a GPU.

Runs on the processor, and ends when the pixels are complete and checked. JPEG files must be
records; those without an index, and what is no baseline file, the processor decodes.

files: Strings [n], the bytes of the files; or a scalar, the records of a batch of
  Liquid>DecodeBatchDataset, whose bytes are taken from where they were read to, and
  whose plans say which window is decoded, and what becomes of it.
windows: [n, 4], y, x, height and width in pixels; a height of 0 is the whole image.
  [0, 4] with records.
samples: [n], numbers by which errors name the images, or [0].
mean: [1] or [channels], subtracted from the stored values where dtype is floating.
std: [1] or [channels], above 0, by which they are divided then.
mean_image: [height, width, channels], of records alone: what is subtracted from the pixels in
  place of mean, where dtype is floating; or [0, 0, 0]. It is copied to the GPU once, as long
  as it is the same tensor, and stays there.
pixels: Scalars, for Liquid>L3DevicePixels on that GPU: of each view, or of all together.
arrays: 1, or the number of views that are not stacked.
dtype: Of the pixels: the stored one, or a floating one; half with records alone.
planar: Whether channels come before rows.
recipe: That the plans were made of; see ops/image/recipe_text.h.
views: The same of views after the first one, each as lines, with their own mean and std.
view_types: Their dtypes.
stacked: Whether all views are of one array, image by image, each view by view.
device: The GPU, as TensorFlow numbers them.
max_pixels: The largest height * width of a whole image that is accepted.
)doc");

}  // namespace liquid

namespace tensorflow {
namespace data {

// It has no state that a checkpoint would have to hold.
ALLOW_STATEFUL_OP_FOR_DATASET_FUNCTIONS("Liquid>DecodeL3Device");

}  // namespace data
}  // namespace tensorflow

namespace liquid {

REGISTER_OP("Liquid>L3DevicePixels")
    .Input("pixels: variant")
    .Output("images: dtype")
    .Attr("dtype: {uint8, uint16, float, half, bfloat16}")
    .Attr("shape: shape = {unknown_rank: true}")
    .SetShapeFn(PixelsShape)
    .Doc(R"doc(
The images of a batch that Liquid>DecodeL3Device decoded, without a copy.

pixels: Scalar.
images: [n, height, width, channels], or with planar [n, channels, height, width].
shape: What is known of it.
)doc");

REGISTER_OP("Liquid>RegisterRecords")
    .Attr("device: string = 'GPU:0'")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::NoOutputs)
    .Doc(R"doc(
Has records read from now on, by this process, to memory that its GPUs read by themselves.

Where the driver gives no such memory the log says so, once for each call.

device: Whose driver is asked, as TensorFlow numbers them.
)doc");

REGISTER_OP("Liquid>CacheOnDevice")
    .Input("snapshot: string")
    .Input("bytes: int64")
    .Attr("device: string = 'GPU:0'")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::NoOutputs)
    .Doc(R"doc(
Takes memory of a GPU for images that a snapshot keeps between epochs.

It goes with the snapshot. Where the GPU has none, that is a ResourceExhausted error.

snapshot: Name of the snapshot, which is made if there is none.
bytes: Of memory.
device: The GPU, as TensorFlow numbers them.
)doc");

REGISTER_OP("Liquid>L3DeviceTotals")
    .Output("images: int64")
    .Output("bytes: int64")
    .Output("copy_seconds: double")
    .Output("decode_seconds: double")
    // Another answer each time.
    .SetIsStateful()
    .SetShapeFn(TotalsShape)
    .Doc(R"doc(
What Liquid>DecodeL3Device has taken so far, in this process.

images: That were decoded, and found right.
bytes: That crossed the bus for them.
copy_seconds: Of the bus, by the device's clock; of batches at once, the sum.
decode_seconds: Of the device's kernels, likewise.
)doc");

}  // namespace liquid
