// Opens files by what their path begins with: local ones directly, those of
// http://, https:// and s3:// by a client of our own, every other scheme
// through TensorFlow.
#ifndef LIQUID_OPS_KERNEL_OPEN_FILE_H_
#define LIQUID_OPS_KERNEL_OPEN_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "ops/core/status.h"
#include "ops/reader/file.h"
#include "ops/reader/http_file.h"
#include "ops/reader/open_shards.h"
#include "ops/reader/read_engine.h"
#include "tensorflow/core/platform/env.h"

namespace liquid {

// Opens a file to read some of it on the calling thread, and tells its size. Of
// local files only regular ones are opened, and the page cache is used.
Status OpenFile(tensorflow::Env* env, const std::string& path,
                std::unique_ptr<RandomFile>* file, uint64_t* size);

// How files are read.
struct FileAccess {
  ReadMode mode = ReadMode::kAuto;  // of local ones; kCached allows no others
  double patience = kHttpPatience;  // see OpenHttpFile
};

// Thread-safe. What one file allows, all files of the opener are taken to.
FileOpener MakeFileOpener(tensorflow::Env* env, const FileAccess& access);
Opener MakeOpener(tensorflow::Env* env, const FileAccess& access);

}  // namespace liquid

#endif  // LIQUID_OPS_KERNEL_OPEN_FILE_H_
