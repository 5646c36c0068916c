// Writes cases of our JPEG decoder: jpeg_cases_write FOLDER. Pixels of whole
// files are compared with libjpeg-turbo's. LIQUID_TEST_CASES=1000 in the
// environment makes as many files of each kind.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/ops/codecs/jpeg_cases.h"
#include "tests/ops/codecs/jpeg_testing.h"

namespace liquid {
namespace {

class Writer {
 public:
  explicit Writer(const std::string& folder)
      : folder_(folder), cases_(folder + "/cases") {}

  void AddFile(const std::string& file, const ImageInfo& info, bool check) {
    const std::string name = std::to_string(count_++);
    const std::string index = IndexOf(file, noise_.Below(3) * 4);
    WriteTo(folder_ + "/" + name, file);
    WriteTo(folder_ + "/" + name + ".index", index);
    for (const uint32_t denominator : {1u, 2u, 4u, 8u}) {
      const ImageInfo draft =
          Info((info.height + denominator - 1) / denominator,
               (info.width + denominator - 1) / denominator, info.channels);
      const Window whole = {0, 0, draft.height, draft.width};
      for (const bool by_index : {false, true}) {
        if (by_index && index.empty()) continue;
        for (const Window& window : {whole, RandomWindow(draft, &noise_)}) {
          const JpegCase made = {name, by_index ? name + ".index" : "-",
                                 denominator, window};
          AddCase(made, file, by_index ? index : "", check ? &info : nullptr);
        }
      }
    }
    if (check && !index.empty()) AddDamaged(name, file, index, info);
  }

  bool IsRight() const { return right_; }

 private:
  // A bit of the index or of the file is another one.
  void AddDamaged(const std::string& name, const std::string& file,
                  const std::string& index, const ImageInfo& info) {
    const Window whole = {0, 0, info.height, info.width};
    for (int i = 0; i < 4; ++i) {
      const bool of_index = i % 2 == 0;
      std::string damaged = of_index ? index : file;
      const uint32_t first = of_index ? 20 : 2;
      const uint32_t at =
          first + noise_.Below(static_cast<uint32_t>(damaged.size()) - first);
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << noise_.Below(8));
      if (of_index) SignIndex(&damaged);
      const std::string other = name + ".damaged" + std::to_string(i);
      WriteTo(folder_ + "/" + other, damaged);
      const JpegCase made = {of_index ? name : other,
                             of_index ? other : name + ".index", 1, whole};
      AddCase(made, of_index ? file : damaged, of_index ? damaged : index,
              nullptr);
    }
  }

  void AddCase(JpegCase made, const std::string& file, const std::string& index,
               const ImageInfo* info) {
    const BaselineResult result =
        RunCase(file, index, made.denominator, made.window, &made.crc);
    made.result = static_cast<int>(result);
    if (info != nullptr && result == BaselineResult::kDecoded) {
      Bytes pixels;
      if (!DecodeByLibrary(file, *info, made.denominator, made.window, &pixels)
               .ok() ||
          Crc32c(ByteSpan(pixels.data(), pixels.size())) != made.crc) {
        std::fprintf(stderr, "other pixels than the library's: %s at 1/%u\n",
                     made.file.c_str(), made.denominator);
        right_ = false;
      }
    }
    cases_ << made;
  }

  const std::string folder_;
  std::ofstream cases_;
  Noise noise_{61};
  int count_ = 0;
  bool right_ = true;
};

}  // namespace
}  // namespace liquid

int main(int argc, char** argv) {
  using namespace liquid;  // NOLINT: of a program
  if (argc != 2) return 2;
  const char* asked = std::getenv("LIQUID_TEST_CASES");
  const int cases = asked == nullptr ? 3 : std::atoi(asked);
  Writer writer(argv[1]);
  Noise noise(59);
  for (JpegKind kind : kBaselineKinds) {
    for (int i = 0; i < cases; ++i) {
      kind.quality = 1 + static_cast<int>(noise.Below(100));
      kind.optimize = noise.Below(2) == 0;
      const uint32_t limit = i % 20 == 0 ? 200 : 80;
      const uint32_t least = kind.h_samp > 1 ? 2 * kind.h_samp + 1 : 1;
      const ImageInfo info = Info(1 + noise.Below(limit),
                                  least + noise.Below(limit), kind.channels);
      const uint32_t levels[] = {0, 8, 60, 255};
      const Bytes pixels =
          MakePixels(info, noise.Next(), levels[noise.Below(4)]);
      writer.AddFile(WriteJpeg(kind, info, pixels), info, true);
    }
  }
  // Coefficients that wrap as they do here, whatever the library does there.
  const ImageInfo info = Info(16, 32, 3);
  for (int i = 0; i < 5 * cases; ++i) {
    writer.AddFile(WriteCoefficients(&noise, info), info, false);
  }
  return writer.IsRight() ? 0 : 1;
}
