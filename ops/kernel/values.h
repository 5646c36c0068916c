// Reading inputs and setting outputs of kernels.
#ifndef LIQUID_OPS_KERNEL_VALUES_H_
#define LIQUID_OPS_KERNEL_VALUES_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "ops/core/span.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/tstring.h"

namespace liquid {

inline ByteSpan Bytes(const tensorflow::tstring& text) {
  return ByteSpan(text.data(), text.size());
}

inline void Assign(ByteSpan bytes, tensorflow::tstring* text) {
  text->assign(reinterpret_cast<const char*>(bytes.data), bytes.size);
}

// Finds an input by its number or its name, and how errors call it.
inline absl::Status FindInput(tensorflow::OpKernelContext* context, int index,
                              const tensorflow::Tensor** tensor,
                              std::string* called) {
  *tensor = &context->input(index);
  *called = "input " + std::to_string(index);
  return absl::OkStatus();
}

inline absl::Status FindInput(tensorflow::OpKernelContext* context,
                              const char* name,
                              const tensorflow::Tensor** tensor,
                              std::string* called) {
  *called = name;
  return context->input(name, tensor);
}

// The same of one that has `dims` dimensions, 0 or 1. Error: InvalidArgument.
template <typename Key>
absl::Status FindInput(tensorflow::OpKernelContext* context, Key key, int dims,
                       const tensorflow::Tensor** tensor) {
  std::string called;
  TF_RETURN_IF_ERROR(FindInput(context, key, tensor, &called));
  if ((*tensor)->dims() == dims) return absl::OkStatus();
  return absl::InvalidArgumentError(
      called + " must be a " + (dims == 0 ? "scalar" : "vector") +
      ", its shape is " + (*tensor)->shape().DebugString());
}

// Reads a scalar input. The bytes of a ByteSpan are the input's own. Error:
// InvalidArgument.
template <typename Key, typename T>
absl::Status Scalar(tensorflow::OpKernelContext* context, Key key, T* value) {
  const tensorflow::Tensor* tensor;
  TF_RETURN_IF_ERROR(FindInput(context, key, 0, &tensor));
  if constexpr (std::is_same_v<T, ByteSpan>) {
    *value = Bytes(tensor->scalar<tensorflow::tstring>()());
  } else if constexpr (std::is_same_v<T, std::string>) {
    *value = tensor->scalar<tensorflow::tstring>()();
  } else {
    *value = tensor->scalar<T>()();
  }
  return absl::OkStatus();
}

// Reads a vector. Error: InvalidArgument.
template <typename Key, typename T>
absl::Status Vector(tensorflow::OpKernelContext* context, Key key,
                    std::vector<T>* values) {
  const tensorflow::Tensor* tensor;
  TF_RETURN_IF_ERROR(FindInput(context, key, 1, &tensor));
  const auto flat = tensor->flat<T>();
  values->assign(flat.data(), flat.data() + flat.size());
  return absl::OkStatus();
}

// Reads a vector of numbers of at least 0. Error: InvalidArgument.
inline absl::Status Counts(tensorflow::OpKernelContext* context,
                           const char* name, std::vector<uint64_t>* counts) {
  std::vector<int64_t> given;
  TF_RETURN_IF_ERROR(Vector(context, name, &given));
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] >= 0) continue;
    return absl::InvalidArgumentError(
        std::string(name) + "[" + std::to_string(i) + "] (" +
        std::to_string(given[i]) + ") must not be negative");
  }
  counts->assign(given.begin(), given.end());
  return absl::OkStatus();
}

// Sets output `index` to a scalar.
template <typename T>
absl::Status SetScalar(tensorflow::OpKernelContext* context, int index,
                       const T& value) {
  tensorflow::Tensor* tensor = nullptr;
  TF_RETURN_IF_ERROR(
      context->allocate_output(index, tensorflow::TensorShape({}), &tensor));
  tensor->scalar<T>()() = value;
  return absl::OkStatus();
}

inline absl::Status SetScalar(tensorflow::OpKernelContext* context, int index,
                              ByteSpan bytes) {
  tensorflow::Tensor* tensor = nullptr;
  TF_RETURN_IF_ERROR(
      context->allocate_output(index, tensorflow::TensorShape({}), &tensor));
  Assign(bytes, &tensor->scalar<tensorflow::tstring>()());
  return absl::OkStatus();
}

// Makes output `index` a vector to be filled.
inline absl::Status MakeVector(tensorflow::OpKernelContext* context, int index,
                               size_t size, tensorflow::Tensor** tensor) {
  return context->allocate_output(
      index, tensorflow::TensorShape({static_cast<int64_t>(size)}), tensor);
}

// Moves `values` to output `index`.
template <typename T, typename Values>
absl::Status SetVector(tensorflow::OpKernelContext* context, int index,
                       Values values) {
  tensorflow::Tensor* tensor = nullptr;
  TF_RETURN_IF_ERROR(MakeVector(context, index, values.size(), &tensor));
  std::move(values.begin(), values.end(), tensor->vec<T>().data());
  return absl::OkStatus();
}

}  // namespace liquid

#endif  // LIQUID_OPS_KERNEL_VALUES_H_
