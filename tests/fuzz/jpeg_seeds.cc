// Writes the seeds of the fuzzer: jpeg_seeds FOLDER writes into FOLDER/decode,
// which must exist.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tests/fuzz/jpeg_fuzz.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: jpeg_seeds FOLDER\n");
    return 2;
  }
  const std::vector<std::string> seeds = liquid::JpegSeeds();
  for (size_t i = 0; i < seeds.size(); ++i) {
    const std::string path =
        std::string(argv[1]) + "/decode/" + std::to_string(i);
    std::ofstream file(path, std::ios::binary);
    file.write(seeds[i].data(), static_cast<std::streamsize>(seeds[i].size()));
    if (!file) {
      std::fprintf(stderr, "cannot write %s\n", path.c_str());
      return 1;
    }
  }
  return 0;
}
