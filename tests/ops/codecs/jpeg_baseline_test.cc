// The JPEG decoder of our own against libjpeg-turbo. LIQUID_TEST_CASES=10000 in
// the environment (bazel test --test_env=LIQUID_TEST_CASES) makes as many cases
// of each kind.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/ops/codecs/jpeg_testing.h"

namespace liquid::jpeg_baseline_test {
namespace {

int Cases(int few) {
  const char* cases = std::getenv("LIQUID_TEST_CASES");
  return cases == nullptr ? few : std::atoi(cases);
}

bool Decodes(const std::string& file, const Window& window, Bytes* pixels) {
  bool decodes = false;
  EXPECT_EQ(DecodeOwn(file, 1, window, &decodes, pixels), "");
  return decodes;
}

void ExpectLibrarysPixels(const std::string& file, const ImageInfo& info,
                          Noise* noise) {
  const Window whole = {0, 0, info.height, info.width};
  Bytes expected, pixels;
  Status status = DecodeByLibrary(file, info, 1, whole, &expected);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_TRUE(Decodes(file, whole, &pixels));
  ASSERT_EQ(pixels, expected);
  for (int i = 0; i < 6; ++i) {
    const Window window = RandomWindow(info, noise);
    ASSERT_TRUE(Decodes(file, window, &pixels));
    ASSERT_EQ(pixels, Crop(info, expected, window))
        << "y " << window.y << ", x " << window.x << ", " << window.height
        << " x " << window.width;
  }
}

class JpegBaselineTest : public testing::TestWithParam<JpegKind> {};

TEST_P(JpegBaselineTest, GivesTheLibrarysPixels) {
  Noise noise(11);
  const int cases = Cases(60);
  for (int i = 0; i < cases; ++i) {
    JpegKind kind = GetParam();
    kind.quality = 1 + static_cast<int>(noise.Below(100));
    kind.optimize = noise.Below(2) == 0;
    const uint32_t limit = i % 20 == 0 ? 200 : 60;
    // Of two columns of chroma or fewer, the library makes no slope.
    const uint32_t least = kind.h_samp > 1 ? 2 * kind.h_samp + 1 : 1;
    const ImageInfo info =
        Info(1 + noise.Below(limit), least + noise.Below(limit), kind.channels);
    const uint32_t levels[] = {0, 8, 60, 255};
    const std::string file = WriteJpeg(
        kind, info, MakePixels(info, noise.Next(), levels[noise.Below(4)]));
    SCOPED_TRACE(std::to_string(info.height) + " x " +
                 std::to_string(info.width) + ", quality " +
                 std::to_string(kind.quality));
    ExpectLibrarysPixels(file, info, &noise);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, JpegBaselineTest,
                         testing::ValuesIn(kBaselineKinds),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(JpegBaselineTest, LeavesOtherKindsToTheLibrary) {
  int left = 0;
  for (const JpegKind& kind : kJpegKinds) {
    const ImageInfo info = Info(20, 30, kind.channels);
    const std::string file = WriteJpeg(kind, info, MakePixels(info, 3));
    Bytes pixels;
    const bool own = !kind.progressive && !kind.arithmetic &&
                     kind.h_samp * kind.v_samp <= 4 && kind.v_samp <= 2;
    EXPECT_EQ(Decodes(file, {0, 0, 20, 30}, &pixels), own) << kind.name;
    left += !own;
  }
  EXPECT_GT(left, 3);
  const ImageInfo narrow = Info(20, 4, 3);
  Bytes pixels;
  EXPECT_FALSE(Decodes(WriteJpeg({"", 3, 2, 2}, narrow, MakePixels(narrow, 3)),
                       {0, 0, 20, 4}, &pixels));
}

#if defined(__x86_64__)
TEST(JpegBaselineTest, LargeCoefficientsWrapAsTheLibrarysDo) {
  Noise noise(9);
  int taken[9] = {};
  const int cases = Cases(200);
  for (int i = 0; i < cases; ++i) {
    const ImageInfo info = Info(16, 32, 3);
    const std::string file = WriteCoefficients(&noise, info);
    for (const uint32_t denominator : {1u, 2u, 4u, 8u}) {
      const Window whole = {0, 0, info.height / denominator,
                            info.width / denominator};
      Bytes pixels, expected;
      ASSERT_TRUE(
          DecodeByLibrary(file, info, denominator, whole, &expected).ok());
      bool decodes = false;
      ASSERT_EQ(DecodeOwn(file, denominator, whole, &decodes, &pixels), "");
      if (!decodes) continue;
      ++taken[denominator];
      ASSERT_EQ(pixels, expected) << i << " at 1/" << denominator;
    }
  }
  for (const int denominator : {1, 2, 4, 8}) {
    EXPECT_GT(taken[denominator], cases / 100) << denominator;
  }
}
#endif

}  // namespace
}  // namespace liquid::jpeg_baseline_test
