// Opens files through the filesystem that their path names: local ones
// directly, every other scheme through TensorFlow.
#ifndef LIQUID_OPS_DATASET_SOURCE_OPEN_FILE_H_
#define LIQUID_OPS_DATASET_SOURCE_OPEN_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "ops/core/status.h"
#include "ops/reader/read_engine.h"
#include "ops/reader/shard_set.h"
#include "tensorflow/core/platform/env.h"

namespace liquid {

// Turns an error about a file into one of the core, with the file.
Status FromTf(const absl::Status& status, const std::string& path);

// Thread-safe. `mode`: how local files are read. `page_cache`: whether reads go
// through the kernel's page cache, which only local files can, and leave their
// pages in it. What one file allows, all files of the opener are taken to.
FileOpener MakeFileOpener(tensorflow::Env* env, ReadMode mode, bool page_cache);

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_SOURCE_OPEN_FILE_H_
