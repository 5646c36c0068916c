#include "ops/kernel/image_inputs.h"
#include "ops/kernel/image_shapes.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace liquid {
namespace {

using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

absl::Status PeekImageShape(InferenceContext* c) {
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &unused));
  c->set_output(0, c->Vector(3));
  c->set_output(1, c->Scalar());
  c->set_output(2, c->Scalar());
  return absl::OkStatus();
}

absl::Status ScalarToScalar(InferenceContext* c) {
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &unused));
  c->set_output(0, c->Scalar());
  return absl::OkStatus();
}

absl::Status OrientationShape(InferenceContext* c) {
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 0, &unused));
  c->set_output(1, c->Scalar());
  return ScalarToScalar(c);
}

}  // namespace

REGISTER_OP("Liquid>DecodeImage")
    .Input("contents: string")
    .Input("window: int32")
    .Output("image: dtype")
    .Attr("format: string = ''")
    .Attr("channels: int >= 0 = 0")
    .Attr("dtype: {uint8, uint16} = DT_UINT8")
    .Attr(kMaxPixels)
    .Attr(kMaxScans)
    .SetShapeFn(DecodeImageShape)
    .Doc(R"doc(
Decodes an image, or a window of it.

contents: Scalar, the bytes of the file.
window: y, x, height, width in pixels; a height of 0 means the whole image.
image: [height, width, channels].
format: its name, as in ops/codecs/formats.h; empty finds it by the first bytes.
channels: 0 as stored, or 1 to 4: alpha that is not opaque and colour that is not
  gray are never dropped.
dtype: uint16 scales images of 8 bits by 257; uint8 keeps the upper 8 of 16 bits.
max_pixels: the largest height * width that is decoded.
max_scans: the most scans of a JPEG that is decoded.
)doc");

REGISTER_OP("Liquid>DecodeImageBatch")
    .Input("contents: string")
    .Input("windows: int32")
    .Output("images: dtype")
    .Attr("format: string = ''")
    .Attr("channels: int >= 0 = 0")
    .Attr("dtype: {uint8, uint16} = DT_UINT8")
    .Attr(kMaxPixels)
    .Attr(kMaxScans)
    .SetShapeFn(DecodeImageBatchShape)
    .Doc(R"doc(
Decodes n images of one size in parallel, straight into one batch.

contents: [n], the bytes of the files.
windows: [n, 4], as in DecodeImage.
images: [n, height, width, channels].
)doc");

REGISTER_OP("Liquid>EncodeImage")
    .Input("image: dtype")
    .Output("contents: string")
    .Attr("dtype: {uint8, uint16}")
    .Attr("format: string")
    .Attr("png_level: int = 6")
    .Attr("jpeg_quality: int = 95")
    .Attr("webp_lossless: bool = true")
    .Attr("webp_quality: int = 90")
    .Attr("l3_effort: {'fast', 'default', 'best'} = 'default'")
    .SetShapeFn(EncodeImageShape)
    .Doc(R"doc(
Encodes an image.

image: [height, width, channels].
contents: Scalar, the bytes of the file.
format: its name, as in ops/codecs/formats.h.
)doc");

REGISTER_OP("Liquid>PeekImage")
    .Input("contents: string")
    .Output("shape: int64")
    .Output("bits: int32")
    .Output("found: string")
    .Attr("format: string = ''")
    .Attr(kMaxPixels)
    .Attr(kMaxScans)
    .SetShapeFn(PeekImageShape)
    .Doc(R"doc(
Reads an image's header without decoding pixels.

contents: Scalar, the bytes of the file.
shape: height, width, channels.
bits: 8 or 16 per channel.
found: the name of the format.
format: the format to expect; empty finds it by the first bytes.
)doc");

REGISTER_OP("Liquid>WhyUnsupported")
    .Input("contents: string")
    .Output("reason: string")
    .Attr(kMaxPixels)
    .Attr(kMaxScans)
    .SetShapeFn(ScalarToScalar)
    .Doc(R"doc(
Says why a file may be an image though the codecs cannot decode it.

reason: Scalar: it is of no known format, or of an unsupported kind of one. Empty
  where it can be decoded, and where it is damaged or over a limit.
)doc");

REGISTER_OP("Liquid>Orientation")
    .Input("contents: string")
    .Input("example: string")
    .Output("orientation: int64")
    .Output("example_without: string")
    .SetShapeFn(OrientationShape)
    .Doc(R"doc(
The orientation of a sample: as its example's feature `orientation` has it, which
exports write, or else as its image's EXIF states it.

contents: Scalar, an image file.
example: Scalar, a serialized tf.train.Example or empty.
orientation: Scalar, 1 to 8; 1 where none is stated, or `example` is none.
example_without: Scalar, `example` without that feature.
)doc");

}  // namespace liquid
