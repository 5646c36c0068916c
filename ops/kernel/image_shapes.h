// Shape functions that the ops of several codecs share.
#ifndef LIQUID_OPS_KERNEL_IMAGE_SHAPES_H_
#define LIQUID_OPS_KERNEL_IMAGE_SHAPES_H_

#include "tensorflow/core/framework/shape_inference.h"

namespace liquid {

inline tensorflow::shape_inference::DimensionHandle ChannelDim(
    tensorflow::shape_inference::InferenceContext* c) {
  int channels = 0;
  if (!c->GetAttr("channels", &channels).ok() || channels == 0) {
    return c->UnknownDim();
  }
  return c->MakeDim(channels);
}

inline absl::Status DecodeImageShape(
    tensorflow::shape_inference::InferenceContext* c) {
  tensorflow::shape_inference::ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &unused));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &unused));
  tensorflow::shape_inference::DimensionHandle height = c->UnknownDim(),
                                               width = c->UnknownDim();
  const tensorflow::Tensor* window = c->input_tensor(1);
  if (window != nullptr && window->NumElements() == 4 &&
      window->flat<int32_t>()(2) > 0 && window->flat<int32_t>()(3) > 0) {
    height = c->MakeDim(window->flat<int32_t>()(2));
    width = c->MakeDim(window->flat<int32_t>()(3));
  }
  c->set_output(0, c->MakeShape({height, width, ChannelDim(c)}));
  return absl::OkStatus();
}

inline absl::Status DecodeImageBatchShape(
    tensorflow::shape_inference::InferenceContext* c) {
  tensorflow::shape_inference::ShapeHandle contents, windows;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &contents));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 2, &windows));
  tensorflow::shape_inference::DimensionHandle n;
  TF_RETURN_IF_ERROR(c->Merge(c->Dim(contents, 0), c->Dim(windows, 0), &n));
  c->set_output(
      0, c->MakeShape({n, c->UnknownDim(), c->UnknownDim(), ChannelDim(c)}));
  return absl::OkStatus();
}

inline absl::Status EncodeImageShape(
    tensorflow::shape_inference::InferenceContext* c) {
  tensorflow::shape_inference::ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 3, &unused));
  c->set_output(0, c->Scalar());
  return absl::OkStatus();
}

}  // namespace liquid

#endif  // LIQUID_OPS_KERNEL_IMAGE_SHAPES_H_
