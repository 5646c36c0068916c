// The one place where a status of the core becomes one of TensorFlow.
#ifndef LIQUID_OPS_KERNEL_TF_STATUS_H_
#define LIQUID_OPS_KERNEL_TF_STATUS_H_

#include "absl/status/status.h"
#include "ops/core/status.h"

namespace liquid {

inline absl::Status ToTf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return absl::OkStatus();
    case StatusCode::kInvalidArgument:
      return absl::InvalidArgumentError(status.message());
    case StatusCode::kNotFound:
      return absl::NotFoundError(status.message());
    case StatusCode::kDataLoss:
      return absl::DataLossError(status.message());
    case StatusCode::kResourceExhausted:
      return absl::ResourceExhaustedError(status.message());
    case StatusCode::kUnimplemented:
      return absl::UnimplementedError(status.message());
    case StatusCode::kUnavailable:  // what TensorFlow says of memory
      return absl::ResourceExhaustedError(status.message());
    case StatusCode::kCancelled:
      return absl::CancelledError(status.message());
    case StatusCode::kInternal:
      return absl::InternalError(status.message());
  }
  return absl::InternalError(status.message());
}

}  // namespace liquid

#endif  // LIQUID_OPS_KERNEL_TF_STATUS_H_
