// Files as kernels open them: of any file system of TensorFlow, and of local
// ones only those that are regular.
#ifndef LIQUID_OPS_KERNEL_FILE_H_
#define LIQUID_OPS_KERNEL_FILE_H_

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>

#include "ops/core/regular_file.h"
#include "ops/kernel/tf_status.h"
#include "tensorflow/core/platform/env.h"
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

// Opens a file and tells its size.
inline absl::Status OpenFile(
    tensorflow::Env* env, const std::string& path,
    std::unique_ptr<tensorflow::RandomAccessFile>* file, uint64_t* size) {
  TF_RETURN_IF_ERROR(CheckRegular(path));
  tensorflow::uint64 bytes = 0;
  TF_RETURN_IF_ERROR(env->GetFileSize(path, &bytes));
  *size = bytes;
  return env->NewRandomAccessFile(path, file);
}

}  // namespace liquid

#endif  // LIQUID_OPS_KERNEL_FILE_H_
