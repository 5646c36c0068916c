// The outcome of an operation of the TensorFlow-free core.
//
// A value type: cheap when OK, carries one sentence otherwise. Kernels turn it
// into an absl::Status; nothing in the core throws or asserts on its input.
#ifndef LIQUID_OPS_CORE_STATUS_H_
#define LIQUID_OPS_CORE_STATUS_H_

#include <memory>
#include <string>
#include <utility>

namespace liquid {

enum class StatusCode {
  kOk,
  kInvalidArgument,    // the caller's argument is wrong
  kNotFound,           // a file or record does not exist
  kDataLoss,           // bytes are damaged, truncated or lie about themselves
  kResourceExhausted,  // a stated limit (pixels, bytes) would be passed
  kUnimplemented,      // a valid file uses a feature that is not supported
  kUnavailable,        // the machine lacks memory or file handles just now
  kCancelled,
  kFailedPrecondition,  // the object is not in the state that this needs
  kInternal,
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  // `foreign`: what another library said, for those who gave it to have it back
  // as it was.
  Status(StatusCode code, std::string message,
         std::shared_ptr<const void> foreign = nullptr)
      : code_(code),
        message_(std::move(message)),
        foreign_(std::move(foreign)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::shared_ptr<const void>& foreign() const { return foreign_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
  std::shared_ptr<const void> foreign_;
};

inline Status OkStatus() { return Status(); }
inline Status InvalidArgument(std::string message) {
  return Status(StatusCode::kInvalidArgument, std::move(message));
}
inline Status NotFound(std::string message) {
  return Status(StatusCode::kNotFound, std::move(message));
}
inline Status DataLoss(std::string message) {
  return Status(StatusCode::kDataLoss, std::move(message));
}
inline Status ResourceExhausted(std::string message) {
  return Status(StatusCode::kResourceExhausted, std::move(message));
}
inline Status Unimplemented(std::string message) {
  return Status(StatusCode::kUnimplemented, std::move(message));
}
inline Status Unavailable(std::string message) {
  return Status(StatusCode::kUnavailable, std::move(message));
}
inline Status Cancelled(std::string message) {
  return Status(StatusCode::kCancelled, std::move(message));
}
inline Status Internal(std::string message) {
  return Status(StatusCode::kInternal, std::move(message));
}

// Whether the machine lacked something, so that trying again later may work:
// nothing is wrong with the data.
inline bool LacksMachine(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kCancelled;
}

}  // namespace liquid

#define LIQUID_RETURN_IF_ERROR(expression)           \
  do {                                               \
    ::liquid::Status liquid_status_ = (expression);  \
    if (!liquid_status_.ok()) return liquid_status_; \
  } while (false)

#endif  // LIQUID_OPS_CORE_STATUS_H_
