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
#include "ops/reader/open_shards.h"
#include "ops/reader/path_opener.h"
#include "tensorflow/core/platform/env.h"

namespace liquid {

// Opens a file to read some of it on the calling thread, and tells its size. Of
// local files only regular ones are opened, and the page cache is used.
Status OpenFile(tensorflow::Env* env, const std::string& path,
                std::unique_ptr<RandomFile>* file, uint64_t* size);

// As those of path_opener.h, with TensorFlow for all other paths.
FileOpener MakeFileOpener(tensorflow::Env* env, const FileAccess& access);
Opener MakeOpener(tensorflow::Env* env, const FileAccess& access);

}  // namespace liquid

#endif  // LIQUID_OPS_KERNEL_OPEN_FILE_H_
