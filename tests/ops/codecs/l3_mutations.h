// Damage to files of L3 version 2 that gets past their checksums.
#ifndef LIQUID_TESTS_OPS_CODECS_L3_MUTATIONS_H_
#define LIQUID_TESTS_OPS_CODECS_L3_MUTATIONS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tests/ops/codecs/codec_testing.h"

namespace liquid {

// Where a patch is in its file: bytes [begin, end).
struct L3PatchBytes {
  size_t number;
  size_t begin;
  size_t end;
};

// The patches that the table leaves in the file.
std::vector<L3PatchBytes> L3PatchesIn(const std::string& file);

// Makes the checksums of a file right again, wherever the table leaves a patch
// in the file.
void MendL3(std::string* file);

// Makes the last patch of a file end where the file does, and in a compact
// patch of residuals the last channel's segment too, so that a file whose size
// has changed is not refused for that.
void MendL3Sizes(std::string* file);

// Damages a file in 1 to 4 places and mends its checksums: header, table,
// headers of patches and channels, streams. Bytes may come and go; then the
// table and the segments of the patch follow. `other` gives bytes of a sound
// stream.
std::string MutateL3(std::string file, const std::string& other, Noise* noise);

// Takes the last `bytes` bytes of a patch away, and mends the rest.
std::string ShortenL3(const std::string& file, size_t patch, size_t bytes);

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_CODECS_L3_MUTATIONS_H_
