// Opens files by what their path begins with: local ones directly, those of
// http://, https:// and s3:// by a client of our own, every other scheme
// through TensorFlow.
#ifndef LIQUID_OPS_KERNEL_OPEN_FILE_H_
#define LIQUID_OPS_KERNEL_OPEN_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "ops/core/buffer_pool.h"
#include "ops/core/span.h"
#include "ops/core/status.h"
#include "ops/reader/file.h"
#include "ops/reader/http_file.h"
#include "ops/reader/read_engine.h"
#include "ops/reader/shard_set.h"
#include "tensorflow/core/platform/env.h"

namespace liquid {

// Turns an error about a file into one of the core, with the file.
Status FromTf(const absl::Status& status, const std::string& path);

// Opens a file to read some of it on the calling thread, and tells its size. Of
// local files only regular ones are opened, and the page cache is used.
Status OpenFile(tensorflow::Env* env, const std::string& path,
                std::unique_ptr<RandomFile>* file, uint64_t* size);

// All bytes of a file, which `*buffer` holds then. Error: also DataLoss where
// fewer come than it says to have.
Status ReadWhole(tensorflow::Env* env, const std::string& path, Buffer* buffer,
                 ByteSpan* bytes);

// How files are read.
struct FileAccess {
  ReadMode mode = ReadMode::kAuto;  // of local ones
  // Whether through the kernel's page cache, which only local files can,
  // leaving their pages in it.
  bool page_cache = false;
  double patience = kHttpPatience;  // see OpenHttpFile
};

// Thread-safe. What one file allows, all files of the opener are taken to.
FileOpener MakeFileOpener(tensorflow::Env* env, const FileAccess& access);

}  // namespace liquid

#endif  // LIQUID_OPS_KERNEL_OPEN_FILE_H_
