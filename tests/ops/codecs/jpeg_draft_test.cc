// Drafts of the JPEG decoder of our own against libjpeg-turbo's.
// LIQUID_TEST_CASES=10000 in the environment (bazel test
// --test_env=LIQUID_TEST_CASES) makes as many cases of each kind.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "ops/codecs/jpeg/jpeg_index.h"
#include "tests/ops/codecs/jpeg_testing.h"

namespace liquid::jpeg_draft_test {
namespace {

constexpr uint32_t kDenominators[] = {2, 4, 8};

int Cases(int few) {
  const char* cases = std::getenv("LIQUID_TEST_CASES");
  return cases == nullptr ? few : std::atoi(cases);
}

ImageInfo Drafted(const ImageInfo& info, uint32_t denominator) {
  return Info((info.height + denominator - 1) / denominator,
              (info.width + denominator - 1) / denominator, info.channels);
}

struct File {
  ImageInfo info;
  std::string bytes, index;
  uint32_t denominator = 0;
};

// Each way to decode a window gives the library's pixels of it. Whether our own
// decoder took it.
bool IsTaken(const File& file, const Bytes& expected, const Window& window) {
  const ImageInfo draft = Drafted(file.info, file.denominator);
  const Bytes wanted = Crop(draft, expected, window);
  const size_t row_bytes = window.width * draft.BytesPerPixel();
  Bytes pixels;
  bool taken = false;
  EXPECT_EQ(DecodeOwn(file.bytes, file.denominator, window, &taken, &pixels),
            "");
  if (taken) {
    EXPECT_EQ(pixels, wanted) << "our own";
  }
  for (const std::string& index : {std::string(), file.index}) {
    pixels.assign(wanted.size(), 0x5A);
    const Status status = DecodeDraft(
        Format::kJpeg, SpanIn(file.bytes), SpanIn(index), DecodeLimits(),
        file.info, file.denominator, window, pixels.data(), row_bytes);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(pixels, wanted) << "index of " << index.size();
  }
  return taken;
}

class JpegDraftTest : public testing::TestWithParam<JpegKind> {};

TEST_P(JpegDraftTest, GivesTheLibrarysPixels) {
  Noise noise(23);
  const int cases = Cases(30);
  int taken = 0;
  for (int i = 0; i < cases; ++i) {
    JpegKind kind = GetParam();
    kind.quality = 1 + static_cast<int>(noise.Below(100));
    kind.optimize = noise.Below(2) == 0;
    const uint32_t limit = i % 20 == 0 ? 300 : 80;
    File file;
    file.info =
        Info(1 + noise.Below(limit), 1 + noise.Below(limit), kind.channels);
    const uint32_t levels[] = {0, 8, 60, 255};
    file.bytes =
        WriteJpeg(kind, file.info,
                  MakePixels(file.info, noise.Next(), levels[noise.Below(4)]));
    ASSERT_TRUE(AppendJpegIndex(SpanIn(file.bytes), DecodeLimits(),
                                noise.Below(3) * 4, &file.index)
                    .ok());
    for (const uint32_t denominator : kDenominators) {
      SCOPED_TRACE(std::to_string(file.info.height) + " x " +
                   std::to_string(file.info.width) + ", quality " +
                   std::to_string(kind.quality) + ", 1/" +
                   std::to_string(denominator));
      file.denominator = denominator;
      const ImageInfo draft = Drafted(file.info, denominator);
      const Window whole = {0, 0, draft.height, draft.width};
      Bytes expected(draft.PixelBytes());
      const Status status = DecodeJpegByLibrary(
          SpanIn(file.bytes), DecodeLimits(), file.info, denominator, whole,
          expected.data(), draft.RowBytes());
      ASSERT_TRUE(status.ok()) << status.message();
      taken += IsTaken(file, expected, whole);
      for (int k = 0; k < 3; ++k) {
        const Window window = RandomWindow(draft, &noise);
        SCOPED_TRACE("y " + std::to_string(window.y) + ", x " +
                     std::to_string(window.x) + ", " +
                     std::to_string(window.height) + " x " +
                     std::to_string(window.width));
        IsTaken(file, expected, window);
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(taken, cases * 2);
}

INSTANTIATE_TEST_SUITE_P(Kinds, JpegDraftTest,
                         testing::ValuesIn(kBaselineKinds),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace liquid::jpeg_draft_test
