// The one place where a status of the core becomes one of TensorFlow, and back.
#ifndef LIQUID_OPS_KERNEL_TF_STATUS_H_
#define LIQUID_OPS_KERNEL_TF_STATUS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "ops/core/status.h"

namespace liquid {

// A status of TensorFlow on its way through the core, which ToTf gives back.
inline Status FromTf(const absl::Status& status) {
  if (status.ok()) return OkStatus();
  const StatusCode code = absl::IsCancelled(status) ? StatusCode::kCancelled
                                                    : StatusCode::kInternal;
  return Status(code, std::string(status.message()),
                std::make_shared<const absl::Status>(status));
}

inline absl::Status ToTf(const Status& status) {
  if (status.foreign() != nullptr) {
    return *static_cast<const absl::Status*>(status.foreign().get());
  }
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
    case StatusCode::kFailedPrecondition:
      return absl::FailedPreconditionError(status.message());
    case StatusCode::kInternal:
      return absl::InternalError(status.message());
  }
  return absl::InternalError(status.message());
}

}  // namespace liquid

#endif  // LIQUID_OPS_KERNEL_TF_STATUS_H_
