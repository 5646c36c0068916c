// Checks cases of our JPEG decoder, with each vector set of this machine:
// jpeg_cases_check FOLDER. It needs no JPEG library.
#include <cstdio>
#include <fstream>
#include <string>

#include "ops/codecs/jpeg/jpeg_index.h"
#include "tests/ops/codecs/jpeg_cases.h"

namespace liquid {
namespace {

struct Counts {
  int cases = 0, decoded = 0, by_index = 0, drafts = 0, disagree = 0;
  int wrong = 0;
};

void Check(const std::string& folder, const JpegCase& made, Counts* counts) {
  const std::string file = ReadFrom(folder + "/" + made.file);
  const std::string index =
      made.index == "-" ? "" : ReadFrom(folder + "/" + made.index);
  const auto is_wrong = [&](const char* how) {
    ++counts->wrong;
    std::fprintf(stderr, "%s: file %s, index %s, 1/%u\n", how,
                 made.file.c_str(), made.index.c_str(), made.denominator);
  };
  for (const VectorTarget target : RunnableTargets()) {
    const ScopedBaselineTarget scoped(target);
    uint32_t crc = 0;
    const BaselineResult result =
        RunCase(file, index, made.denominator, made.window, &crc);
    if (static_cast<int>(result) != made.result || crc != made.crc) {
      is_wrong(VectorTargetName(target));
    }
    if (made.index != made.file + ".index") continue;
    // The same index is made here.
    std::string again;
    if (!AppendJpegIndex(SpanIn(file), DecodeLimits(),
                         static_cast<uint8_t>(index[8]), &again)
             .ok() ||
        again != index) {
      is_wrong("another index");
    }
  }
  const bool decodes =
      made.result == static_cast<int>(BaselineResult::kDecoded);
  ++counts->cases;
  counts->decoded += decodes;
  counts->by_index += decodes && !index.empty();
  counts->drafts += decodes && made.denominator > 1;
  counts->disagree +=
      made.result == static_cast<int>(BaselineResult::kDisagrees);
}

}  // namespace
}  // namespace liquid

int main(int argc, char** argv) {
  using namespace liquid;  // NOLINT: of a program
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  std::ifstream cases(folder + "/cases");
  Counts counts;
  for (JpegCase made; cases >> made;) Check(folder, made, &counts);
  std::printf(
      "jpeg: %d cases, %d decoded, of them %d by an index and %d drafts; %d "
      "disagree with their index\n",
      counts.cases, counts.decoded, counts.by_index, counts.drafts,
      counts.disagree);
  const bool enough = counts.by_index > counts.cases / 4 &&
                      counts.drafts > counts.cases / 4 &&
                      counts.disagree > counts.cases / 100;
  return counts.wrong == 0 && enough ? 0 : 1;
}
