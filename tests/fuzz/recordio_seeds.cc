// Writes the seeds of the fuzzers: recordio_seeds FOLDER writes FOLDER/scan and
// FOLDER/index, which must exist.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tests/fuzz/recordio_fuzz.h"

namespace {

bool Write(const std::string& folder, const std::vector<std::string>& seeds) {
  for (size_t i = 0; i < seeds.size(); ++i) {
    std::ofstream file(folder + "/" + std::to_string(i), std::ios::binary);
    file.write(seeds[i].data(), static_cast<std::streamsize>(seeds[i].size()));
    if (!file) {
      std::fprintf(stderr, "cannot write to %s\n", folder.c_str());
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: recordio_seeds FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  return Write(folder + "/scan", liquid::RecordIOScanSeeds()) &&
                 Write(folder + "/index", liquid::RecordIOIndexSeeds())
             ? 0
             : 1;
}
