// Decoding by a JPEG index against libjpeg-turbo. LIQUID_TEST_CASES=10000 in
// the environment (bazel test --test_env=LIQUID_TEST_CASES) makes as many cases
// of each kind.
#include "ops/codecs/jpeg/jpeg_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "ops/codecs/codec_util.h"
#include "tests/ops/codecs/jpeg_testing.h"

namespace liquid::jpeg_index_test {
namespace {

int Cases(int few) {
  const char* cases = std::getenv("LIQUID_TEST_CASES");
  return cases == nullptr ? few : std::atoi(cases);
}

std::string IndexOf(const std::string& file, uint32_t spacing) {
  std::string index;
  const Status status =
      AppendJpegIndex(SpanIn(file), DecodeLimits(), spacing, &index);
  EXPECT_TRUE(status.ok()) << status.message();
  return index;
}

// Both end where an allocation does.
Status DecodeBy(const std::string& file, const std::string& index,
                const ImageInfo& info, const Window& window, Bytes* pixels) {
  const Bytes bytes(file.begin(), file.end());
  const Bytes entries(index.begin(), index.end());
  const size_t row_bytes = window.width * info.BytesPerPixel();
  pixels->assign(window.height * row_bytes, 0xA5);
  return DecodeIndexed(Format::kJpeg, ByteSpan(bytes.data(), bytes.size()),
                       ByteSpan(entries.data(), entries.size()), DecodeLimits(),
                       info, window, pixels->data(), row_bytes);
}

struct Image {
  ImageInfo info;
  std::string file;
  std::string index;
  uint32_t spacing;
};

Image RandomImage(JpegKind kind, uint32_t limit, Noise* noise) {
  Image image;
  kind.quality = 1 + static_cast<int>(noise->Below(100));
  kind.optimize = noise->Below(2) == 0;
  // Of two columns of chroma or fewer, the library makes no slope.
  const uint32_t least = kind.h_samp > 1 ? 2 * kind.h_samp + 1 : 1;
  image.info =
      Info(1 + noise->Below(limit), least + noise->Below(limit), kind.channels);
  const uint32_t levels[] = {0, 8, 60, 255};
  image.file =
      WriteJpeg(kind, image.info,
                MakePixels(image.info, noise->Next(), levels[noise->Below(4)]));
  const uint32_t spacings[] = {kJpegIndexRow, 16, 8, 1, 3, 7, 5000};
  image.spacing = spacings[noise->Below(7)];
  image.index = IndexOf(image.file, image.spacing);
  return image;
}

class JpegIndexTest : public testing::TestWithParam<JpegKind> {};

TEST_P(JpegIndexTest, GivesTheLibrarysPixels) {
  Noise noise(31);
  const int cases = Cases(30);
  for (int i = 0; i < cases; ++i) {
    const Image image = RandomImage(GetParam(), i % 20 == 0 ? 300 : 60, &noise);
    const ImageInfo& info = image.info;
    SCOPED_TRACE(std::to_string(info.height) + " x " +
                 std::to_string(info.width) + ", spacing " +
                 std::to_string(image.spacing));
    ASSERT_FALSE(image.index.empty());
    const Window whole = {0, 0, info.height, info.width};
    Bytes expected, pixels;
    Status status = DecodeByLibrary(image.file, info, 1, whole, &expected);
    ASSERT_TRUE(status.ok()) << status.message();
    for (const VectorTarget target : RunnableTargets()) {
      const ScopedBaselineTarget scoped(target);
      for (int w = 0; w < 6; ++w) {
        const Window window = w == 0 ? whole : RandomWindow(info, &noise);
        status = DecodeBy(image.file, image.index, info, window, &pixels);
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_EQ(pixels, Crop(info, expected, window))
            << VectorTargetName(target) << ": y " << window.y << ", x "
            << window.x << ", " << window.height << " x " << window.width;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, JpegIndexTest,
                         testing::ValuesIn(kBaselineKinds),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace liquid::jpeg_index_test
