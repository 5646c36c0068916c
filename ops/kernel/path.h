// Paths as TensorFlow takes them apart, and which of them may be opened.
#ifndef LIQUID_OPS_KERNEL_PATH_H_
#define LIQUID_OPS_KERNEL_PATH_H_

#include <sys/stat.h>

#include <string>

#include "ops/core/regular_file.h"
#include "ops/kernel/tf_status.h"
#include "tensorflow/core/platform/path.h"

namespace liquid {

// Whether a path has no scheme but file://.
inline bool IsLocal(const std::string& path) {
  absl::string_view scheme, host, rest;
  tensorflow::io::ParseURI(path, &scheme, &host, &rest);
  return scheme.empty() || scheme == "file";
}

// A local path without its scheme.
inline std::string LocalName(const std::string& path) {
  absl::string_view scheme, host, rest;
  tensorflow::io::ParseURI(path, &scheme, &host, &rest);
  return std::string(rest);
}

// Must come before TensorFlow opens a path, which it does without a look at it.
// OK too where there is nothing: opening it says so.
inline absl::Status CheckRegular(const std::string& path) {
  struct stat info = {};
  if (!IsLocal(path) || stat(LocalName(path).c_str(), &info) != 0) {
    return absl::OkStatus();
  }
  return ToTf(CheckRegular(path, info.st_mode));
}

}  // namespace liquid

#endif  // LIQUID_OPS_KERNEL_PATH_H_
