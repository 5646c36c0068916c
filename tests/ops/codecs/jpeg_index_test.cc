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
        status = DecodeByIndex(image.file, image.index, info, window, &pixels);
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

// Changes a byte or some, or the size.
std::string Mutate(std::string bytes, uint32_t changes, Noise* noise) {
  for (; changes > 0 && !bytes.empty(); --changes) {
    const size_t at = noise->Below(static_cast<uint32_t>(bytes.size()));
    switch (noise->Below(5)) {
      case 0:
        bytes.resize(at);
        break;
      case 1:
        bytes.erase(at, 1);
        break;
      case 2:
        bytes.insert(at, 1, static_cast<char>(noise->Next()));
        break;
      default:
        bytes[at] = static_cast<char>(bytes[at] ^ 1 << noise->Below(8));
    }
  }
  return bytes;
}

class JpegIndexDamageTest : public testing::TestWithParam<JpegKind> {
 protected:
  void SetUp() override {
    image_ = RandomImage(GetParam(), 90, &noise_);
    const Window whole = {0, 0, image_.info.height, image_.info.width};
    ASSERT_TRUE(
        DecodeByLibrary(image_.file, image_.info, 1, whole, &expected_).ok());
  }

  // A window that ends where rows do, so that all that it reads is checked, or
  // the image.
  Window CheckedWindow() {
    Window window = RandomWindow(image_.info, &noise_);
    window.width = image_.info.width - window.x;
    // Nothing follows the last row but the file's end, which only the whole
    // image checks.
    if (noise_.Below(3) == 0 ||
        window.y + window.height + 16 >= image_.info.height) {
      window = {0, 0, image_.info.height, image_.info.width};
    }
    return window;
  }

  // Whether the pixels are those of the file as it was, or what the library
  // makes of `file`.
  bool AreRight(const std::string& file, const Window& window,
                const Bytes& pixels) const {
    if (pixels == Crop(image_.info, expected_, window)) return true;
    Bytes whole, part;
    const Window all = {0, 0, image_.info.height, image_.info.width};
    if (DecodeByLibrary(file, image_.info, 1, all, &whole).ok() &&
        pixels == Crop(image_.info, whole, window)) {
      return true;
    }
    return DecodeByLibrary(file, image_.info, 1, window, &part).ok() &&
           pixels == part;
  }

  Noise noise_{47};
  Image image_;
  Bytes expected_;
};

TEST_P(JpegIndexDamageTest, OfTheIndexIsSaid) {
  Bytes pixels;
  const int cases = Cases(100);
  for (int i = 0; i < cases; ++i) {
    const std::string index =
        Mutate(image_.index, 1 + noise_.Below(3), &noise_);
    if (index == image_.index || index.empty()) continue;
    const Status status =
        DecodeByIndex(image_.file, index, image_.info,
                      RandomWindow(image_.info, &noise_), &pixels);
    ASSERT_EQ(status.code(), StatusCode::kDataLoss) << i;
    ASSERT_NE(status.message().find("jpeg: the index is"), std::string::npos)
        << status.message();
  }
}

TEST_P(JpegIndexDamageTest, OfEntriesIsSaidOrHarmless) {
  Bytes pixels;
  const int cases = Cases(100);
  int said = 0;
  for (int i = 0; i < cases; ++i) {
    std::string index = image_.index;
    for (uint32_t n = 1 + noise_.Below(2); n > 0; --n) {
      const uint32_t at =
          20 + noise_.Below(static_cast<uint32_t>(index.size()) - 20);
      index[at] = static_cast<char>(index[at] ^ 1 << noise_.Below(8));
    }
    SignIndex(&index);
    Window window = CheckedWindow();
    Status status =
        DecodeByIndex(image_.file, index, image_.info, window, &pixels);
    said += !status.ok();
    if (status.ok()) {
      ASSERT_EQ(pixels, Crop(image_.info, expected_, window)) << i;
    } else {
      ASSERT_EQ(status.code(), StatusCode::kDataLoss);
      ASSERT_NE(status.message().find("index"), std::string::npos);
    }
    // Not all that this one reads is checked: only that it ends.
    window = RandomWindow(image_.info, &noise_);
    (void)DecodeByIndex(image_.file, index, image_.info, window, &pixels).ok();
  }
  EXPECT_GT(said, cases / 4);
}

TEST_P(JpegIndexDamageTest, OfTheFileIsSaidOrHarmless) {
  Bytes pixels;
  const int cases = Cases(100);
  int said = 0;
  for (int i = 0; i < cases; ++i) {
    // One change: of two, the library may refuse one and we see the other. The
    // index knows the file's size.
    std::string file = Mutate(image_.file, 1, &noise_);
    file.resize(image_.file.size(), static_cast<char>(noise_.Next()));
    Window window = CheckedWindow();
    const Status status =
        DecodeByIndex(file, image_.index, image_.info, window, &pixels);
    said += !status.ok();
    if (status.ok()) {
      ASSERT_TRUE(AreRight(file, window, pixels))
          << i << ": y " << window.y << ", x " << window.x << ", "
          << window.height << " x " << window.width;
    } else {
      ASSERT_EQ(status.message().compare(0, 5, "jpeg:"), 0);
    }
    window = RandomWindow(image_.info, &noise_);
    (void)DecodeByIndex(file, image_.index, image_.info, window, &pixels).ok();
  }
  EXPECT_GT(said, cases / 4);
}

TEST_P(JpegIndexDamageTest, TruncationIsSaid) {
  Bytes pixels;
  const Window window = {0, 0, 1, 1};
  const size_t step = 1 + image_.file.size() / Cases(100);
  for (size_t size = 0; size < image_.file.size(); size += step) {
    EXPECT_FALSE(DecodeByIndex(image_.file.substr(0, size), image_.index,
                               image_.info, window, &pixels)
                     .ok());
  }
  for (size_t size = 1; size < image_.index.size(); ++size) {
    EXPECT_EQ(DecodeByIndex(image_.file, image_.index.substr(0, size),
                            image_.info, window, &pixels)
                  .code(),
              StatusCode::kDataLoss);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, JpegIndexDamageTest,
                         testing::ValuesIn(kBaselineKinds),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(JpegIndexTest, IsOfFilesThatOurDecoderTakes) {
  for (const JpegKind& kind : kJpegKinds) {
    const ImageInfo info = Info(20, 30, kind.channels);
    const std::string file = WriteJpeg(kind, info, MakePixels(info, 3));
    const bool own = !kind.progressive && !kind.arithmetic &&
                     kind.h_samp * kind.v_samp <= 4 && kind.v_samp <= 2;
    EXPECT_EQ(!IndexOf(file, 16).empty(), own) << kind.name;
    // One whose end is missing is not either.
    EXPECT_EQ(IndexOf(file.substr(0, file.size() - 2), 16), "") << kind.name;
  }
}

#if defined(__x86_64__)
TEST(JpegIndexTest, LargeCoefficientsHaveNoneOrTheLibrarysPixels) {
  Noise noise(9);
  int taken = 0;
  const int cases = Cases(100);
  for (int i = 0; i < cases; ++i) {
    const ImageInfo info = Info(16, 32, 3);
    const std::string file = WriteCoefficients(&noise, info);
    const std::string index = IndexOf(file, noise.Below(4));
    const Window whole = {0, 0, info.height, info.width};
    Bytes pixels, expected;
    bool decodes = false;
    ASSERT_EQ(DecodeOwn(file, 1, whole, &decodes, &pixels), "");
    ASSERT_EQ(!index.empty(), decodes);
    if (!decodes) continue;
    ++taken;
    ASSERT_TRUE(DecodeByLibrary(file, info, 1, whole, &expected).ok());
    const Window window = RandomWindow(info, &noise);
    ASSERT_TRUE(DecodeByIndex(file, index, info, window, &pixels).ok());
    ASSERT_EQ(pixels, Crop(info, expected, window)) << i;
  }
  EXPECT_GT(taken, cases / 50);
}
#endif

TEST(JpegIndexTest, SaysWhatIsWrong) {
  const ImageInfo info = Info(40, 60, 3);
  const Window whole = {0, 0, 40, 60};
  const auto write = [](const ImageInfo& of) {
    return WriteJpeg({"", 3, 2, 2}, of, MakePixels(of, 3));
  };
  const std::string file = write(info), index = IndexOf(file, 2);
  const auto message = [&](const std::string& other_file,
                           const std::string& other) {
    Bytes pixels;
    const Status status =
        DecodeByIndex(other_file, other, info, whole, &pixels);
    return status.ok() ? "" : status.message();
  };
  EXPECT_EQ(message(file, index), "");
  EXPECT_EQ(message(file, ""), "");
  std::string other = index;
  other[30] = static_cast<char>(other[30] ^ 1);
  EXPECT_EQ(message(file, other),
            "jpeg: the index is damaged: its checksum is wrong");
  EXPECT_EQ(message(file, index.substr(0, 40)),
            "jpeg: the index is damaged: it says " +
                std::to_string(index.size()) + " bytes and has 40");
  EXPECT_EQ(message(file + "x", index),
            "jpeg: the index is of another file: it says " +
                std::to_string(file.size()) + " bytes, and the file has " +
                std::to_string(file.size() + 1));
  // Of as many bytes, with more entries.
  other = IndexOf(file, 1);
  other[8] = 2;
  SignIndex(&other);
  EXPECT_EQ(message(file, other)
                .find("jpeg: the index is of another file: it "
                      "has"),
            0u);
  size_t size = 7;
  EXPECT_TRUE(JpegIndexSize(SpanIn(index + "more"), &size).ok());
  EXPECT_EQ(size, index.size());
  EXPECT_TRUE(JpegIndexSize(SpanIn(file), &size).ok());
  EXPECT_EQ(size, 0u);
  EXPECT_TRUE(JpegIndexSize(ByteSpan(), &size).ok());
  EXPECT_EQ(size, 0u);
  for (const size_t cut : {size_t{4}, size_t{7}, index.size() - 1}) {
    EXPECT_EQ(JpegIndexSize(SpanIn(index.substr(0, cut)), &size).code(),
              StatusCode::kDataLoss);
    EXPECT_EQ(size, 0u);
  }
  Bytes pixels(info.PixelBytes());
  EXPECT_EQ(
      DecodeIndexed(Format::kPng, SpanIn(file), SpanIn(index), DecodeLimits(),
                    info, whole, pixels.data(), info.RowBytes())
          .code(),
      StatusCode::kInvalidArgument);
}

TEST(JpegIndexTest, IsSmall) {
  // Noise that takes about 5 bits a pixel, as photographs of high quality do.
  const ImageInfo info = Info(376, 500, 3);
  JpegKind kind = {"", 3, 1, 1};
  kind.quality = 92;
  const std::string file = WriteJpeg(kind, info, MakePixels(info, 5, 24));
  EXPECT_GT(file.size(), info.PixelBytes() / 6);
  EXPECT_LT(IndexOf(file, 16).size(), file.size() / 100);
  EXPECT_LT(IndexOf(file, kJpegIndexRow).size(), file.size() / 300);
}

}  // namespace
}  // namespace liquid::jpeg_index_test
