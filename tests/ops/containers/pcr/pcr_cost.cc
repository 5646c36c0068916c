// What taking images out of a record costs beside decoding them, by group.
//
//   pcr_cost FOLDER
//
// Makes a record of up to 64 JPEG files below FOLDER. Processor time of one
// thread, the least of some rounds: checking, parsing and gluing on one side,
// decoding whole images on the other. Exit code 1 where a group's share passes
// 5 %.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ops/codecs/jpeg/jpeg_progressive.h"
#include "ops/containers/pcr/pcr_record.h"
#include "tests/ops/codecs/codec_testing.h"

namespace liquid {
namespace {

constexpr size_t kImages = 64;
constexpr int kRounds = 5;
constexpr double kMostShare = 0.05;

std::vector<std::string> ProgressiveFiles(const char* folder) {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string jpeg{std::istreambuf_iterator<char>(in), {}};
    std::string progressive;
    if (!ToProgressive(SpanIn(jpeg), DecodeLimits(), &progressive).ok())
      continue;
    files.push_back(std::move(progressive));
    if (files.size() == kImages) break;
  }
  return files;
}

template <typename Work>
double LeastSeconds(const Work& work) {
  std::clock_t least = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::clock_t begin = std::clock();
    work();
    const std::clock_t ticks = std::clock() - begin;
    least = round == 0 ? ticks : std::min(least, ticks);
  }
  return static_cast<double>(least) / CLOCKS_PER_SEC;
}

int Main(const char* folder) {
  const std::vector<std::string> files = ProgressiveFiles(folder);
  std::vector<PcrImage> images;
  for (const std::string& file : files) images.push_back({SpanIn(file)});
  std::string record;
  PcrEntry entry;
  const Status written = WritePcr(images, {}, &record, &entry);
  if (!written.ok()) {
    std::fprintf(stderr, "%s: %s\n", folder, written.message().c_str());
    return 1;
  }
  bool dear = false;
  for (size_t group = 1; group <= entry.groups(); ++group) {
    std::vector<std::string> glued(images.size());
    const double take_out = LeastSeconds([&]() {
      PcrView view;
      if (!PcrView::Parse(SpanIn(record), entry, group, &view).ok())
        std::abort();
      for (size_t i = 0; i < view.images(); ++i) view.Glue(i, group, &glued[i]);
    });
    const double decode = LeastSeconds([&]() {
      for (const std::string& jpeg : glued) {
        ImageInfo info;
        Bytes pixels;
        if (!DecodeFile(Format::kJpeg, jpeg, &info, &pixels).ok()) std::abort();
      }
    });
    const double share = take_out / decode;
    dear = dear || share > kMostShare;
    std::printf("group %zu: %.2f ms of %.1f ms, %.2f %%\n", group,
                take_out * 1e3, decode * 1e3, share * 100);
  }
  return dear ? 1 : 0;
}

}  // namespace
}  // namespace liquid

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: pcr_cost FOLDER (of JPEG files)\n");
    return 2;
  }
  return liquid::Main(argv[1]);
}
