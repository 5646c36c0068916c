#include "ops/kernel/image_inputs.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace liquid {
namespace {

using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

absl::Status PlanShape(InferenceContext* c) {
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &unused));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 2, &unused));
  c->set_output(0, c->Vector(c->UnknownDim()));
  c->set_output(1, c->Matrix(c->UnknownDim(), c->UnknownDim()));
  c->set_output(2, c->Matrix(c->UnknownDim(), c->UnknownDim()));
  c->set_output(3, c->Vector(4));
  c->set_output(4, c->Scalar());
  const auto launches = c->UnknownDim();
  c->set_output(5, c->Vector(launches));
  c->set_output(6, c->Matrix(launches, 5));
  return absl::OkStatus();
}

absl::Status ModuleShape(InferenceContext* c) {
  c->set_output(0, c->Scalar());
  c->set_output(1, c->Scalar());
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("Liquid>PlanL3Device")
    .Input("contents: string")
    .Input("windows: int32")
    .Output("bytes: uint8")
    .Output("images: uint8")
    .Output("runs: uint8")
    .Output("shape: int64")
    .Output("bits: int32")
    .Output("kernels: string")
    .Output("launches: int32")
    .Attr(kMaxPixels)
    .SetShapeFn(PlanShape)
    .Doc(R"doc(
Plans how a device decodes a batch of L3 and raw images of one size.

Reads headers and tables, no patch. ops/codecs/l3/device/l3_device.h has the layouts.
Damage to a table is found on the device, and told by CheckL3Device.

contents: [n], the bytes of the files.
windows: [n, 4], y, x, height and width in pixels; a height of 0 is the whole image.
bytes: What the device needs of the files: only patches that a window meets.
images: [n, bytes of an L3DeviceImage], of which the device makes its tasks.
runs: [runs, bytes of an L3DeviceRun], of the images.
shape: n, height, width, channels.
bits: 8 or 16 per channel.
kernels: [launches], the beginning of a kernel's name; its types follow.
launches: [launches, 5], first task, tasks, blocks, threads of a block, bytes of a
  block's shared memory.
max_pixels: The largest height * width of a whole image that is accepted.
)doc");

REGISTER_OP("Liquid>CheckL3Device")
    .Input("contents: string")
    .Input("windows: int32")
    .Input("findings: uint64")
    .Attr(kMaxPixels)
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::NoOutputs)
    .Doc(R"doc(
Fails with DataLoss, naming image, patch and offset, where a task of a device did.

contents: Of PlanL3Device.
windows: Of PlanL3Device.
findings: [2], the least error and the tasks checked: an L3DeviceFindings.
max_pixels: Of PlanL3Device.
)doc");

REGISTER_OP("Liquid>L3DeviceModule")
    .Output("module: string")
    .Output("is_source: bool")
    .SetShapeFn(ModuleShape)
    .Doc(R"doc(
Gives the kernels that this library carries.

module: Scalar, a fatbin, or CUDA C++ in one piece that is to be compiled as C++17.
is_source: Scalar, whether it is the latter.
)doc");

}  // namespace liquid
