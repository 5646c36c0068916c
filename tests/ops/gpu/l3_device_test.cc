// The kernels' own code, run on the host, gives what the CPU's decoder does: on
// ten thousand random patches of each version, in windows, in every type and
// layout, whatever order the threads run in.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <utility>

#include "ops/codecs/l3/host/l3_targets.h"
#include "tests/ops/codecs/l3_testing.h"
#include "tests/ops/gpu/host_device.h"

namespace liquid::l3_device_test {
namespace {

constexpr int kPatches = RandomCases(10000);

// What a batch's tensor should hold, element by element.
template <typename Sample, typename Out>
class Expected {
 public:
  explicit Expected(const L3DeviceOutput& output) : output_(output) {}

  void Check(const std::vector<Bytes>& images, const Out* pixels) const {
    const L3DeviceOutput& o = output_;
    for (size_t n = 0; n < images.size(); ++n) {
      for (uint32_t i = 0; i < o.height * o.width * o.channels; ++i) {
        const uint32_t c = i % o.channels, x = i / o.channels % o.width,
                       y = i / o.channels / o.width;
        const size_t at =
            o.planar ? ((n * o.channels + c) * o.height + y) * o.width + x
                     : ((n * o.height + y) * o.width + x) * o.channels + c;
        Sample sample;
        std::memcpy(&sample, &images[n][i * sizeof(Sample)], sizeof(Sample));
        ASSERT_TRUE(IsIt(sample, c, pixels[at]))
            << "image " << n << " y " << y << " x " << x << " channel " << c;
      }
    }
  }

 private:
  bool IsIt(Sample sample, uint32_t c, Sample out) const {
    (void)c;
    return sample == out;
  }
  float Normal(Sample sample, uint32_t c) const {
    return (static_cast<float>(sample) - output_.mean[c]) / output_.std[c];
  }
  bool IsIt(Sample sample, uint32_t c, float out) const {
    return Normal(sample, c) == out;
  }
  // No other bfloat16 is nearer; of two that are as near, the even one.
  bool IsIt(Sample sample, uint32_t c, L3BFloat16 out) const {
    const double wanted = Normal(sample, c);
    const double error = std::fabs(Widened(out.bits) - wanted);
    for (const int step : {-1, 1}) {
      const double other =
          std::fabs(Widened(static_cast<uint16_t>(out.bits + step)) - wanted);
      if (other < error || (other == error && out.bits % 2 == 1)) return false;
    }
    return true;
  }
  static double Widened(uint16_t half) {
    const uint32_t bits = uint32_t{half} << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }

  const L3DeviceOutput output_;
};

// A batch whose images have one window size, and the pixels of their windows.
struct RandomBatch {
  ImageInfo image;
  std::vector<std::string> files;
  std::vector<Window> windows;
  std::vector<Bytes> expected;

  std::vector<L3DeviceFile> Files() const {
    std::vector<L3DeviceFile> list;
    for (size_t i = 0; i < files.size(); ++i) {
      list.push_back({SpanIn(files[i]), windows[i]});
    }
    return list;
  }
};

RandomBatch MakeBatch(L3Version version, int channels, int bits, int content,
                      Noise* noise, L3Profile profile = L3Profile::kFast) {
  RandomBatch batch;
  batch.image =
      Info(1 + noise->Below(150), 1 + noise->Below(150), channels, bits);
  const uint32_t n = 1 + noise->Below(3);
  for (uint32_t i = 0; i < n; ++i) {
    const ImageInfo info =
        Info(batch.image.height + noise->Below(80),
             batch.image.width + noise->Below(80), channels, bits);
    const Bytes pixels =
        MakeContent(static_cast<Content>(content % kContents), info, noise);
    const Window window = {noise->Below(info.height - batch.image.height + 1),
                           noise->Below(info.width - batch.image.width + 1),
                           batch.image.height, batch.image.width};
    std::string file;
    if (i == 1) {  // a mixed batch, where there is a second image
      EXPECT_TRUE(
          Encode(Format::kRaw, EncodeOptions(), info, pixels.data(), &file)
              .ok());
    } else {
      // Many small patches, and some of every size.
      const int side =
          static_cast<int>(1 + noise->Below(noise->Below(3) == 0 ? 255 : 40));
      file = EncodeAsL3(version, version == L3Version::kV1 ? side : 0, info,
                        pixels, profile);
    }
    Bytes decoded;
    const Status status = DecodeWindow(i == 1 ? Format::kRaw : Format::kL3,
                                       file, info, window, &decoded);
    EXPECT_TRUE(status.ok()) << status.message();
    batch.files.push_back(file);
    batch.windows.push_back(window);
    batch.expected.push_back(decoded);
  }
  return batch;
}

template <typename Sample, typename Out, typename Variant = L3FastV1>
void DecodeAndCheck(const RandomBatch& random, bool planar, HostOrder order,
                    uint32_t misplaced, int* patches) {
  L3DeviceBatch batch;
  const Status planned = PlanL3Device(random.Files(), DecodeLimits(), &batch);
  ASSERT_TRUE(planned.ok()) << planned.message();
  // A kernel gets no more without asking for it.
  for (const L3DeviceLaunch& launch : batch.launches) {
    ASSERT_LE(launch.shared_bytes, 48u * 1024);
  }
  const HostMemory bytes(batch.bytes);
  FillL3Device(random.Files(), batch, bytes.data());
  const ImageInfo& image = batch.image;
  L3DeviceOutput output = {image.height,
                           image.width,
                           image.channels,
                           planar,
                           {123.675f, 1.5f, 103.5f, 0.f},
                           {58.395f, 3.f, 57.375f, 1.f},
                           0,
                           0};
  const size_t elements =
      size_t{image.height} * image.width * image.channels * random.files.size();
  // The tensor ends where the memory does, and begins off a multiple of 16.
  const HostMemory memory((misplaced + elements) * sizeof(Out));
  Out* pixels = reinterpret_cast<Out*>(memory.data()) + misplaced;
  const L3DeviceFindings findings = DoOnHost<Sample, Out, Variant>(
      batch, bytes.data(), output, pixels, order);
  const Status status = CheckL3Device(random.Files(), batch, findings);
  ASSERT_TRUE(status.ok()) << status.message();
  for (uint32_t i = 0; i < misplaced * sizeof(Out); ++i) {
    ASSERT_EQ(memory.data()[i], 0xA5);
  }
  Expected<Sample, Out>(output).Check(random.expected, pixels);
  for (const L3DeviceLaunch& launch : batch.launches) {
    if (launch.kind != L3TaskKind::kRaw) *patches += launch.count;
  }
}

template <typename Sample>
void CheckRandomPatches(L3Version version, int fewest_channels,
                        L3Profile profile = L3Profile::kFast) {
  Noise noise(static_cast<uint64_t>(version) * 100 + sizeof(Sample));
  int patches = 0;
  for (int i = 0; patches < kPatches; ++i) {
    const int channels =
        version == L3Version::kV1
            ? 3
            : fewest_channels + static_cast<int>(noise.Below(3));
    const RandomBatch random = MakeBatch(version, channels, 8 * sizeof(Sample),
                                         i / 4, &noise, profile);
    const HostOrder order = static_cast<HostOrder>(noise.Below(3));
    const bool planar = noise.Below(2) == 0;
    const uint32_t misplaced = noise.Below(16);
    SCOPED_TRACE(i);
    switch (i % 4) {
      case 0:
        ASSERT_NO_FATAL_FAILURE((DecodeAndCheck<Sample, float>(
            random, planar, order, misplaced, &patches)));
        break;
      case 1:
        ASSERT_NO_FATAL_FAILURE((DecodeAndCheck<Sample, L3BFloat16>(
            random, planar, order, misplaced, &patches)));
        break;
      default:
        ASSERT_NO_FATAL_FAILURE((DecodeAndCheck<Sample, Sample>(
            random, planar, order, misplaced, &patches)));
    }
  }
}

TEST(L3DeviceTest, RandomPatchesOfVersion1) {
  CheckRandomPatches<uint8_t>(L3Version::kV1, 3);
}

TEST(L3DeviceTest, RandomPatchesOfVersion2) {
  CheckRandomPatches<uint8_t>(L3Version::kV2, 1);
}

TEST(L3DeviceTest, RandomPatchesOfVersion2With16Bits) {
  CheckRandomPatches<uint16_t>(L3Version::kV2, 2);
}

TEST(L3DeviceTest, RandomPatchesOfTheCompactProfile) {
  CheckRandomPatches<uint8_t>(L3Version::kV2, 1, L3Profile::kCompact);
}

TEST(L3DeviceTest, RandomPatchesOfTheCompactProfileWith16Bits) {
  CheckRandomPatches<uint16_t>(L3Version::kV2, 1, L3Profile::kCompact);
}

TEST(L3DeviceTest, EveryStepOfTheAblationGivesTheSamePixels) {
  Noise noise(5);
  int patches = 0;
  for (int i = 0; i < 60; ++i) {
    const RandomBatch random = MakeBatch(L3Version::kV1, 3, 8, i, &noise);
    const HostOrder order = static_cast<HostOrder>(i % 3);
    ASSERT_NO_FATAL_FAILURE(
        (DecodeAndCheck<uint8_t, uint8_t, L3VariantV1<false, false>>(
            random, false, order, 0, &patches)));
    ASSERT_NO_FATAL_FAILURE(
        (DecodeAndCheck<uint8_t, uint8_t, L3VariantV1<true, false>>(
            random, false, order, 0, &patches)));
    ASSERT_NO_FATAL_FAILURE(
        (DecodeAndCheck<uint8_t, uint8_t, L3VariantV1<false, true>>(
            random, false, order, 0, &patches)));
  }
  EXPECT_GT(patches, 1000);
}

// The largest patches there are: noise of 16 bits in 4 channels, and patches of
// 255 pixels.
TEST(L3DeviceTest, LargestPatches) {
  Noise noise(9);
  const std::pair<L3Version, L3Profile> kinds[] = {
      {L3Version::kV1, L3Profile::kFast},
      {L3Version::kV2, L3Profile::kFast},
      {L3Version::kV2, L3Profile::kCompact}};
  for (const auto& [version, profile] : kinds) {
    const bool first = version == L3Version::kV1;
    const ImageInfo info = Info(300, 257, first ? 3 : 4, first ? 8 : 16);
    RandomBatch random;
    random.image = info;
    random.expected = {MakeContent(Content::kNoise, info, &noise)};
    random.files = {EncodeAsL3(version, first ? 255 : 0, info,
                               random.expected[0], profile)};
    random.windows = {{}};
    int patches = 0;
    if (first) {
      ASSERT_NO_FATAL_FAILURE((DecodeAndCheck<uint8_t, uint8_t>(
          random, false, HostOrder::kBackward, 0, &patches)));
    } else {
      ASSERT_NO_FATAL_FAILURE((DecodeAndCheck<uint16_t, uint16_t>(
          random, false, HostOrder::kBackward, 0, &patches)));
    }
  }
}

TEST(L3DeviceTest, AWindowSendsOnlyThePatchesThatItMeets) {
  const ImageInfo info = Info(512, 512, 3);
  const std::string file =
      EncodeAsL3(L3Version::kV2, 0, info, MakePixels(info, 3));
  L3DeviceBatch whole, window;
  ASSERT_TRUE(
      PlanL3Device({{SpanIn(file), Window()}}, DecodeLimits(), &whole).ok());
  ASSERT_TRUE(PlanL3Device({{SpanIn(file), {64, 64, 128, 128}}}, DecodeLimits(),
                           &window)
                  .ok());
  EXPECT_EQ(whole.n_tasks, 64u);
  EXPECT_EQ(window.n_tasks, 4u);
  EXPECT_LT(window.bytes, whole.bytes / 10);
  EXPECT_LE(whole.bytes, file.size() + kL3ReadOn);
  // Two patches beside each other lie beside each other in the file; and what
  // the table says of them is sent.
  EXPECT_EQ(window.copies.size(), 3u);
  EXPECT_EQ(window.runs.size(), 2u);
  EXPECT_EQ(whole.runs.size(), 1u);
  EXPECT_EQ(whole.copies.size(), 1u);
}

TEST(L3DeviceTest, BatchesOfUnequalImagesAreRefused) {
  const ImageInfo a = Info(30, 40, 3), b = Info(30, 41, 3);
  const std::string first = EncodeAsL3(L3Version::kV2, 0, a, MakePixels(a, 3));
  const std::string second = EncodeAsL3(L3Version::kV2, 0, b, MakePixels(b, 3));
  L3DeviceBatch batch;
  const Status status =
      PlanL3Device({{SpanIn(first), Window()}, {SpanIn(second), Window()}},
                   DecodeLimits(), &batch);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("image 1: "), std::string::npos);
  EXPECT_NE(status.message().find("30 x 41 x 3"), std::string::npos)
      << status.message();
  EXPECT_EQ(PlanL3Device({}, DecodeLimits(), &batch).code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace liquid::l3_device_test
