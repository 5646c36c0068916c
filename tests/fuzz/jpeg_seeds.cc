// Writes the seeds of the fuzzers: jpeg_seeds FOLDER writes into FOLDER/decode
// and FOLDER/index, which must exist.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tests/fuzz/jpeg_fuzz.h"

namespace {

bool Write(const std::string& folder, const std::vector<std::string>& seeds) {
  for (size_t i = 0; i < seeds.size(); ++i) {
    const std::string path = folder + "/" + std::to_string(i);
    std::ofstream file(path, std::ios::binary);
    file.write(seeds[i].data(), static_cast<std::streamsize>(seeds[i].size()));
    if (!file) {
      std::fprintf(stderr, "cannot write %s\n", path.c_str());
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: jpeg_seeds FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  return Write(folder + "/decode", liquid::JpegSeeds()) &&
                 Write(folder + "/index", liquid::JpegIndexSeeds())
             ? 0
             : 1;
}
