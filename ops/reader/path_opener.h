// Opens files by what their path begins with: local ones directly, those of
// http://, https:// and s3:// by the client of the process.
#ifndef LIQUID_OPS_READER_PATH_OPENER_H_
#define LIQUID_OPS_READER_PATH_OPENER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "ops/core/span.h"
#include "ops/core/status.h"
#include "ops/reader/file.h"
#include "ops/reader/http_file.h"
#include "ops/reader/open_shards.h"
#include "ops/reader/read_engine.h"

namespace liquid {

// Whether a path is that of a local file, with or without "file://"; `*name` is
// then what the system calls it. Null for who does not ask.
bool IsLocalPath(const std::string& path, std::string* name = nullptr);

// How files are read.
struct FileAccess {
  ReadMode mode = ReadMode::kAuto;  // of local ones; kCached allows no others
  double patience = kHttpPatience;  // see OpenHttpFile
};

// Reads all bytes of a file, which `*keep` holds then. Errors: those of
// RandomFile::Read.
Status ReadWhole(const RandomFile& file, uint64_t size, ByteSpan* bytes,
                 std::shared_ptr<const void>* keep);

// Thread-safe. What one file allows, all files of the opener are taken to.
// `others`: opens all other paths.
FileOpener MakeFileOpener(const FileAccess& access, FileOpener others);
// `others`: its `shard` and `load` are those of all other paths.
Opener MakeOpener(const FileAccess& access, Opener others);

}  // namespace liquid

#endif  // LIQUID_OPS_READER_PATH_OPENER_H_
