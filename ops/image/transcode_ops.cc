#include "ops/kernel/image_inputs.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace liquid {
namespace {

using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

constexpr char kResize[] =
    "resize: {'none', 'exact', 'shorter', 'longer'} = 'none'";
constexpr char kInterpolation[] =
    "interpolation: {'bilinear', 'bicubic', 'nearest'} = 'bilinear'";

absl::Status ScanImageShape(InferenceContext* c) {
  ShapeHandle unused;
  for (int i = 0; i < 2; ++i) {
    TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 0, &unused));
  }
  for (int i = 0; i < 5; ++i) c->set_output(i, c->Scalar());
  c->set_output(1, c->Vector(3));
  c->set_output(5, c->Vector(3));
  return absl::OkStatus();
}

absl::Status TranscodeImageShape(InferenceContext* c) {
  ShapeHandle unused;
  for (int i = 0; i < 3; ++i) {
    TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 0, &unused));
  }
  for (int i = 0; i < 5; ++i) c->set_output(i, c->Scalar());
  c->set_output(1, c->Vector(3));
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("Liquid>ScanImage")
    .Input("contents: string")
    .Input("orientation: int64")
    .Output("format: string")
    .Output("shape: int64")
    .Output("bits: int32")
    .Output("pixels_hash: int64")
    .Output("error: string")
    .Output("changed_shape: int64")
    .Attr("channels: int >= 0 = 0")
    .Attr("target_bits: int >= 0 = 0")
    .Attr(kResize)
    .Attr("resize_height: int >= 0 = 0")
    .Attr("resize_width: int >= 0 = 0")
    .Attr(kInterpolation)
    .Attr("antialias: bool = true")
    .Attr("decode: bool = true")
    .Attr(kMaxPixels)
    .Attr(kMaxScans)
    .SetShapeFn(ScanImageShape)
    .Doc(R"doc(
Identifies an image file, decodes all of it, changes it and hashes the pixels.

Changes are made in this order: the image is turned, resized, and gets other channels
and another depth.

Never fails for what the file holds: the reason is in `error`, which is empty
where there is none, and the other outputs are then empty or zero.

shape: height, width, channels as decoded, and bits likewise.
pixels_hash: after the changes, as the bits of a uint64.
changed_shape: height, width, channels after them.
orientation: Scalar, 1 to 8, as EXIF numbers them: what is undone; 1: nothing.
channels: as in DecodeImage.
target_bits: 0 as stored; 16 multiplies 8 bits by 257; 8 keeps the upper 8 of 16 bits.
resize: none; exact, to `resize_height` and `resize_width`; or shorter or longer, that
  side to `resize_height`, and the other one in proportion.
interpolation: of that; nearest for masks.
antialias: of that; true gives Pillow's pixels.
decode: false reads the header alone: `pixels_hash` is 0, and nothing changes.
)doc");

REGISTER_OP("Liquid>TranscodeImage")
    .Input("contents: string")
    .Input("target: string")
    .Input("orientation: int64")
    .Output("encoded: string")
    .Output("shape: int64")
    .Output("bits: int32")
    .Output("pixels_hash: int64")
    .Output("error: string")
    .Attr("channels: int >= 0 = 0")
    .Attr("target_bits: int >= 0 = 0")
    .Attr(kResize)
    .Attr("resize_height: int >= 0 = 0")
    .Attr("resize_width: int >= 0 = 0")
    .Attr(kInterpolation)
    .Attr("antialias: bool = true")
    .Attr("png_level: int = 6")
    .Attr("jpeg_quality: int = 95")
    .Attr("jpeg_one_scan: bool = false")
    .Attr("webp_lossless: bool = true")
    .Attr("webp_quality: int = 90")
    .Attr("l3_effort: {'fast', 'default', 'best'} = 'default'")
    .Attr(kMaxPixels)
    .Attr(kMaxScans)
    .SetShapeFn(TranscodeImageShape)
    .Doc(R"doc(
Stores an image file in another format, changed as by ScanImage, and proves that its
pixels are the same.

Never fails for what the file holds, as ScanImage. A file that already has the
format and losslessness asked for, and of which nothing changes, is copied.

target: Scalar: name of a format, or webp-lossy, which is webp with webp_lossless false.
pixels_hash: of what decoding `encoded` gives, as the bits of a uint64.
jpeg_one_scan: makes progressive JPEG files, and others of several scans, sequential ones
  of the same coefficients, where they can be.
)doc");

REGISTER_OP("Liquid>HasJpegScans")
    .Input("contents: string")
    .Output("has_scans: bool")
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle unused;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &unused));
      c->set_output(0, c->Scalar());
      return absl::OkStatus();
    })
    .Doc(R"doc(
Whether a file is a JPEG of several Huffman-coded scans, as progressive ones are.

contents: Scalar, any bytes.
has_scans: Scalar; false where the bytes are no JPEG.
)doc");

}  // namespace liquid
