#include "ops/kernel/image_inputs.h"
#include "ops/kernel/image_shapes.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace liquid {
namespace {

using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

absl::Status PeekL3Shape(InferenceContext* c) {
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &unused));
  for (int i = 1; i < c->num_outputs(); ++i) c->set_output(i, c->Scalar());
  c->set_output(0, c->Vector(3));
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("Liquid>EncodeL3")
    .Input("image: dtype")
    .Output("contents: string")
    .Attr("dtype: {uint8, uint16}")
    .Attr("version: int = 2")
    .Attr("patch: int = 0")
    .Attr("profile: {'fast', 'compact'} = 'fast'")
    .Attr("effort: {'fast', 'default', 'best'} = 'default'")
    .SetShapeFn(EncodeImageShape)
    .Doc(R"doc(
Encodes an image as L3, without loss.

image: [height, width, channels]; version 1 takes uint8 with 3 channels only.
contents: Scalar, the bytes of the file.
version: 1, the format of the paper, or 2.
patch: side of a patch in pixels: 1 to 255 in version 1, 64 in version 2, or 0 for
  the choice of the version.
profile: of version 2: 'compact' is smaller and takes longer to decode.
effort: what the compact profile spends on finding the smallest file.
)doc");

REGISTER_OP("Liquid>PeekL3")
    .Input("contents: string")
    .Output("shape: int64")
    .Output("bits: int32")
    .Output("version: int32")
    .Output("patch: int32")
    .Output("profile: int32")
    .Attr(kMaxPixels)
    .SetShapeFn(PeekL3Shape)
    .Doc(R"doc(
Reads the header of an L3 image.

contents: Scalar, the bytes of the file.
shape: height, width, channels.
bits: 8 or 16 per channel.
version: 1 or 2.
patch: side of a patch in pixels.
profile: of version 2: 0, fast, or 1, compact; 0 in version 1.
)doc");

REGISTER_OP("Liquid>L3Instructions")
    .Input("use: string")
    .Output("runnable: string")
    .SetIsStateful()
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle unused;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &unused));
      c->set_output(0, c->Vector(InferenceContext::kUnknownDim));
      return absl::OkStatus();
    })
    .Doc(R"doc(
Chooses the instructions that L3 is decoded with in this process, for measurements.
All give the same pixels. Nothing may be decoded at the same time.

use: Scalar, one of `runnable`, or '' to leave them as they are.
runnable: [n], the instruction sets that this machine has, 'scalar' first, the one that
  is used by default last.
)doc");

}  // namespace liquid
