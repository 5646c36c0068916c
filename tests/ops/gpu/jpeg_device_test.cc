// The kernels of JPEG, run on the host, give what libjpeg-turbo does: for every
// sampling, in windows, whatever order the threads run in.
// LIQUID_TEST_CASES=1000 in the environment (bazel test
// --test_env=LIQUID_TEST_CASES) makes as many batches of each kind.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>

#include "ops/codecs/raw/raw_codec.h"
#include "ops/gpu/plan/jpeg_files.h"
#include "ops/gpu/plan/jpeg_plan.h"
#include "tests/ops/codecs/jpeg_testing.h"
#include "tests/ops/gpu/host_device.h"

namespace liquid::jpeg_device_test {
namespace {

int Cases(int few) {
  const char* cases = std::getenv("LIQUID_TEST_CASES");
  return cases == nullptr ? few : std::atoi(cases);
}

struct Image {
  ImageInfo info;
  std::string file, index;
  Window window;
  Bytes expected;  // of the window
};

Bytes Decoded(const std::string& file, const ImageInfo& info,
              const Window& window) {
  const Window whole = {0, 0, info.height, info.width};
  Bytes pixels;
  const Status status = DecodeByLibrary(file, info, 1, whole, &pixels);
  EXPECT_TRUE(status.ok()) << status.message();
  return Crop(info, pixels, window);
}

Image RandomImage(JpegKind kind, uint32_t limit, Noise* noise) {
  Image image;
  kind.quality = 1 + static_cast<int>(noise->Below(100));
  kind.optimize = noise->Below(2) == 0;
  if (noise->Below(4) == 0) kind.restart_interval = 1 + noise->Below(9);
  // Of two columns of chroma or fewer, the library makes no slope.
  const uint32_t least = kind.h_samp > 1 ? 2 * kind.h_samp + 1 : 1;
  image.info =
      Info(1 + noise->Below(limit), least + noise->Below(limit), kind.channels);
  const uint32_t levels[] = {0, 8, 60, 255};
  image.file =
      WriteJpeg(kind, image.info,
                MakePixels(image.info, noise->Next(), levels[noise->Below(4)]));
  const uint32_t spacings[] = {kJpegIndexRow, 16, 8, 1, 3, 7, 5000};
  image.index = IndexOf(image.file, spacings[noise->Below(7)]);
  image.window = noise->Below(3) == 0
                     ? Window{0, 0, image.info.height, image.info.width}
                     : RandomWindow(image.info, noise);
  image.expected = Decoded(image.file, image.info, image.window);
  return image;
}

bool Plan(const Image& image, JpegDevicePlan* plan) {
  return PlanJpegDevice(SpanIn(image.file), SpanIn(image.index), {},
                        DecodeLimits(), image.window, plan);
}

// What a device makes of a batch of JPEG files, and of raw ones where their
// index is empty.
struct Made {
  Status status;
  L3DeviceBatch batch;
  std::vector<Bytes> pixels;
};

// With chunks of `at_once` images.
Made MakeOnHost(const std::vector<Image>& images, uint32_t at_once,
                HostOrder order) {
  Made made;
  const uint32_t channels = images[0].info.channels;
  std::vector<JpegDevicePlan> plans(images.size());
  std::vector<L3DeviceFile> files;
  std::vector<ImageDeviceChunk> chunks;
  for (uint32_t i = 0; i < images.size(); ++i) {
    const Image& image = images[i];
    L3DeviceFile file = {SpanIn(image.file), image.window, 100 + i};
    if (!image.index.empty()) {
      EXPECT_TRUE(Plan(image, &plans[i]));
      file.jpeg = &plans[i];
    }
    files.push_back(file);
    if (i % at_once == 0) chunks.push_back({i, 0, 0, 0});
    ImageDeviceChunk* chunk = &chunks.back();
    ++chunk->count;
    chunk->height = std::max(chunk->height, image.window.height);
    chunk->width = std::max(chunk->width, image.window.width);
  }
  L3DeviceBatch& batch = made.batch;
  made.status = PlanL3Device(files, DecodeLimits(), &batch, chunks);
  if (!made.status.ok()) return made;
  const HostMemory bytes(batch.bytes), jpeg(batch.jpeg.size());
  FillL3Device(files, batch, bytes.data());
  if (!batch.jpeg.empty()) {
    std::memcpy(jpeg.data(), batch.jpeg.data(), batch.jpeg.size());
  }
  std::vector<uint32_t> results(batch.tasks.size(), kL3NotDone), raw_results;
  const std::vector<L3DeviceTask> raw_tasks =
      PlanOnHost(batch, bytes.data(), order, &raw_results);
  size_t launch = 0;
  for (uint32_t c = 0; c < chunks.size(); ++c) {
    const ImageDeviceChunk& chunk = chunks[c];
    const size_t place = size_t{chunk.height} * chunk.width * channels;
    const HostMemory scratch(batch.jpeg_scratch_bytes + chunk.count * place);
    uint8_t* const pixels = scratch.data() + batch.jpeg_scratch_bytes;
    const L3DeviceOutput output = {chunk.height, chunk.width, channels, 0,
                                   {},           {},          0,        0};
    for (; launch < batch.launches.size() && batch.launches[launch].chunk == c;
         ++launch) {
      const L3DeviceLaunch& now = batch.launches[launch];
      EXPECT_LE(now.shared_bytes, 48u * 1024);
      const auto run = [&](auto kernel) {
        kernel(reinterpret_cast<const JpegDeviceImage*>(jpeg.data()),
               &batch.tasks[now.first], now.count, bytes.data(), scratch.data(),
               &results[now.first], now.threads, now.shared_bytes, order);
      };
      if (now.kind == L3TaskKind::kJpegCodes) {
        run(DoJpegTasksOnHost<L3TaskKind::kJpegCodes>);
      } else if (now.kind == L3TaskKind::kJpegBlocks) {
        run(DoJpegTasksOnHost<L3TaskKind::kJpegBlocks>);
      } else if (now.kind == L3TaskKind::kJpegPixels) {
        run(DoJpegTasksOnHost<L3TaskKind::kJpegPixels>);
      } else {
        DoTasksOnHost<L3TaskKind::kRaw, uint8_t, uint8_t>(
            output, &raw_tasks[now.first], now.count, bytes.data(),
            pixels - chunk.first * place, &raw_results[now.first], now.threads,
            now.shared_bytes, order);
      }
    }
    for (uint32_t i = 0; i < chunk.count; ++i) {
      const Window& window = images[chunk.first + i].window;
      made.pixels.emplace_back();
      for (uint32_t y = 0; y < window.height; ++y) {
        const uint8_t* row =
            pixels + i * place + size_t{y} * chunk.width * channels;
        made.pixels.back().insert(made.pixels.back().end(), row,
                                  row + size_t{window.width} * channels);
        // Nothing is written beside it.
        for (uint32_t x = window.width * channels; x < chunk.width * channels;
             ++x) {
          EXPECT_EQ(row[x], 0xA5);
        }
      }
    }
  }
  EXPECT_EQ(launch, batch.launches.size());
  L3DeviceFindings findings;
  CheckOnHost(batch.tasks, results, order, &findings);
  CheckOnHost(raw_tasks, raw_results, order, &findings);
  made.status = CheckL3Device(files, batch, findings);
  return made;
}

class JpegDeviceTest : public testing::TestWithParam<JpegKind> {};

TEST_P(JpegDeviceTest, GivesTheLibrarysPixels) {
  Noise noise(17);
  const int cases = Cases(30);
  for (int i = 0; i < cases; ++i) {
    SCOPED_TRACE(i);
    std::vector<Image> images;
    const uint32_t count = 1 + noise.Below(4);
    for (uint32_t k = 0; k < count; ++k) {
      images.push_back(RandomImage(GetParam(), i % 10 == 0 ? 300 : 70, &noise));
      ASSERT_FALSE(images.back().index.empty());
      if (noise.Below(5) > 0) continue;
      // What a batch has beside it, or the host has decoded.
      Image& raw = images.back();
      raw.index.clear();
      raw.info.height = raw.window.height;
      raw.info.width = raw.window.width;
      raw.window.y = raw.window.x = 0;
      raw.file.clear();
      ASSERT_TRUE(Encode(Format::kRaw, EncodeOptions(), raw.info,
                         raw.expected.data(), &raw.file)
                      .ok());
    }
    const Made made = MakeOnHost(images, 1 + noise.Below(3),
                                 static_cast<HostOrder>(noise.Below(3)));
    ASSERT_TRUE(made.status.ok()) << made.status.message();
    for (uint32_t k = 0; k < count; ++k) {
      const Image& image = images[k];
      ASSERT_EQ(made.pixels[k], image.expected)
          << "image " << k << ", " << image.info.height << " x "
          << image.info.width << ": y " << image.window.y << ", x "
          << image.window.x << ", " << image.window.height << " x "
          << image.window.width;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, JpegDeviceTest,
                         testing::ValuesIn(kBaselineKinds),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(JpegDevicePlanTest, OrderIsTheScans) {
  for (uint32_t i = 0; i < kJpegBlockSize; ++i) {
    EXPECT_EQ(kJpegOrder[i], kNaturalOrder[i]);
  }
}

// Blocks of five images do not lie in scratch memory at once, and those of one
// need more than there is by rule.
TEST(JpegDevicePlanTest, BlocksOfManyImagesTakeTurns) {
  Noise noise(5);
  const JpegKind kind = {"S444", 3, 1, 1};
  std::vector<Image> images;
  for (int i = 0; i < 5; ++i) {
    Image image;
    image.info = i == 3 ? Info(2500, 2400, 3) : Info(1100, 1500, 3);
    image.file =
        WriteJpeg(kind, image.info, MakePixels(image.info, noise.Next(), 8));
    image.index = IndexOf(image.file, 16);
    image.window = {0, 0, image.info.height, image.info.width};
    image.expected = Decoded(image.file, image.info, image.window);
    images.push_back(image);
  }
  const Made made = MakeOnHost(images, 5, HostOrder::kScattered);
  ASSERT_TRUE(made.status.ok()) << made.status.message();
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(made.pixels[i] == images[i].expected) << i;
  }
  // Three times: three images, the large one, and the last one.
  EXPECT_EQ(made.batch.launches.size(), 9);
  const uint64_t most = uint64_t{2504} * 2400 * 3 * sizeof(int16_t);
  EXPECT_EQ(made.batch.jpeg_scratch_bytes, (most + 255) / 256 * 256);
}

// Of a file that lies on a device the host has the header, the index and the
// outline.
TEST_P(JpegDeviceTest, AnOutlineIsEnoughToPlan) {
  Noise noise(11);
  for (int i = 0; i < Cases(20); ++i) {
    const Image image = RandomImage(GetParam(), 300, &noise);
    JpegDevicePlan wanted, found;
    ASSERT_TRUE(Plan(image, &wanted));
    uint64_t head = 0;
    std::string outline;
    ASSERT_TRUE(OutlineJpeg(SpanIn(image.file), SpanIn(image.index),
                            DecodeLimits(), &head, &outline));
    const std::string begin = image.file.substr(0, head);
    const ByteSpan file(begin.data(), image.file.size());
    ASSERT_TRUE(PlanJpegDevice(file, SpanIn(image.index), SpanIn(outline),
                               DecodeLimits(), image.window, &found));
    EXPECT_EQ(std::memcmp(&found.device, &wanted.device, sizeof(wanted.device)),
              0);
    ASSERT_EQ(found.ranges.size(), wanted.ranges.size());
    for (size_t r = 0; r < found.ranges.size(); ++r) {
      EXPECT_EQ(found.ranges[r].begin, wanted.ranges[r].begin);
      EXPECT_EQ(found.ranges[r].end, wanted.ranges[r].end);
    }
    ASSERT_EQ(found.segments.size(), wanted.segments.size());
    EXPECT_EQ(std::memcmp(found.segments.data(), wanted.segments.data(),
                          found.segments.size() * sizeof(JpegDeviceSegment)),
              0);
  }
}

TEST(JpegDevicePlanTest, SendsWhatTheWindowNeeds) {
  const JpegKind kind = {"S420", 3, 2, 2};
  Image image;
  image.info = Info(640, 640, 3);
  image.file = WriteJpeg(kind, image.info, MakePixels(image.info, 3, 60));
  const size_t size = image.file.size();
  image.window = {320, 320, 64, 64};
  image.index = IndexOf(image.file, 4);
  JpegDevicePlan plan;
  ASSERT_TRUE(Plan(image, &plan));
  // Six rows of MCUs, of which six columns and what lies before an entry.
  EXPECT_EQ(plan.ranges.size(), 6);
  uint64_t sent = 0;
  for (const auto& range : plan.ranges) sent += range.end - range.begin;
  EXPECT_LT(sent, size * 6 * 8 * 3 / 2 / (40 * 40));
  // What lies behind the image is not sent.
  image.file += std::string(100000, '\x7f');
  image.index = IndexOf(image.file, 4);
  image.window = {0, 0, 640, 640};
  ASSERT_TRUE(Plan(image, &plan));
  ASSERT_EQ(plan.ranges.size(), 1);
  EXPECT_EQ(plan.ranges[0].end, size);
}

TEST(JpegDevicePlanTest, LeavesOthersToTheHost) {
  Noise noise(6);
  JpegDevicePlan plan;
  for (const JpegKind& kind : kJpegKinds) {
    SCOPED_TRACE(kind.name);
    Image image;
    image.info = Info(40, 50, kind.channels);
    image.file =
        WriteJpeg(kind, image.info, MakePixels(image.info, noise.Next(), 9));
    image.index = IndexOf(image.file, 2);
    image.window = {0, 0, 40, 50};
    EXPECT_EQ(Plan(image, &plan), !image.index.empty());
    if (image.index.empty()) continue;
    Image other = image;
    other.index[30] ^= 1;
    EXPECT_FALSE(Plan(other, &plan));
    other.index.clear();
    EXPECT_FALSE(Plan(other, &plan));
    other.index = image.index;
    other.window.height = 41;
    EXPECT_FALSE(Plan(other, &plan));
    DecodeLimits limits;
    limits.max_pixels = 40 * 50 - 1;
    EXPECT_FALSE(PlanJpegDevice(SpanIn(image.file), SpanIn(image.index), {},
                                limits, image.window, &plan));
  }
  L3DeviceBatch batch;
  Image image = RandomImage(kBaselineKinds[3], 50, &noise);
  ASSERT_TRUE(Plan(image, &plan));
  L3DeviceFile file = {SpanIn(image.file), image.window};
  file.jpeg = &plan;
  EXPECT_EQ(PlanL3Device({file}, DecodeLimits(), &batch).message(),
            "image 0: jpeg: a device decodes it for a recipe alone");
}

// All files of a batch, one after the other.
void OneByOne(int64_t count, int64_t /*cycles*/,
              const std::function<void(int64_t, int64_t)>& part) {
  for (int64_t i = 0; i < count; ++i) part(i, i + 1);
}

TEST(JpegDeviceFilesTest, AreForTheDeviceOrDecoded) {
  Noise noise(9);
  std::vector<Image> images;
  for (int i = 0; i < 4; ++i) {
    images.push_back(RandomImage(kBaselineKinds[3], 60, &noise));
  }
  images[1].index.clear();
  const JpegKind progressive = {"S420Progressive", 3, 2, 2, true};
  images[2].file = WriteJpeg(progressive, images[2].info,
                             MakePixels(images[2].info, noise.Next(), 9));
  images[2].index.clear();
  images[2].expected =
      Decoded(images[2].file, images[2].info, images[2].window);
  std::vector<L3DeviceFile> files;
  for (const Image& image : images) {
    files.push_back({SpanIn(image.file), image.window});
    files.back().index = SpanIn(image.index);
  }
  const L3DeviceFile other = {ByteSpan(images[3].expected.data(), 10), {}};
  files.push_back(other);
  JpegDeviceFiles jpeg;
  const Status status = jpeg.Prepare(DecodeLimits(), OneByOne, &files);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_NE(files[0].jpeg, nullptr);
  EXPECT_NE(files[3].jpeg, nullptr);
  EXPECT_EQ(files[4].bytes.data, other.bytes.data);
  ASSERT_EQ(jpeg.on_host().size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const JpegDeviceFiles::OnHost& found = jpeg.on_host()[i];
    const L3DeviceFile& file = files[found.number];
    EXPECT_EQ(found.number, i + 1);
    EXPECT_EQ(found.by_library, i == 1);
    EXPECT_EQ(file.jpeg, nullptr);
    const Image& image = images[found.number];
    ImageInfo info;
    ASSERT_TRUE(Peek(Format::kRaw, file.bytes, DecodeLimits(), &info).ok());
    EXPECT_EQ(info.height, image.window.height);
    EXPECT_EQ(info.width, image.window.width);
    const uint8_t* pixels = file.bytes.data + kRawHeaderBytes;
    EXPECT_EQ(Bytes(pixels, file.bytes.data + file.bytes.size), image.expected);
    EXPECT_TRUE(file.window.y == 0 && file.window.x == 0 &&
                file.window.height == info.height);
  }
}

TEST(JpegDeviceFilesTest, ErrorsNameTheImage) {
  Noise noise(10);
  std::vector<Image> images;
  std::vector<L3DeviceFile> files;
  for (int i = 0; i < 3; ++i) {
    images.push_back(RandomImage(kBaselineKinds[2], 60, &noise));
  }
  images[1].index.back() ^= 1;
  images[2].file.resize(30);
  for (const Image& image : images) {
    files.push_back({SpanIn(image.file), image.window, 7});
    files.back().index = SpanIn(image.index);
  }
  JpegDeviceFiles jpeg;
  const Status status = jpeg.Prepare(DecodeLimits(), OneByOne, &files);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(status.message(),
            "image 1 (sample 7): jpeg: the index is damaged: its checksum is "
            "wrong");
}

TEST(JpegDeviceDamageTest, NamesTheImageAndThePlace) {
  Noise noise(8);
  const JpegKind kind = {"S444", 3, 1, 1};
  std::vector<Image> images;
  for (int i = 0; i < 3; ++i) {
    Image image;
    image.info = Info(64, 96, 3);
    image.file =
        WriteJpeg(kind, image.info, MakePixels(image.info, noise.Next(), 60));
    image.index = IndexOf(image.file, 4);
    image.window = {0, 0, 64, 96};
    images.push_back(image);
  }
  JpegDevicePlan plan;
  ASSERT_TRUE(Plan(images[1], &plan));
  ASSERT_EQ(plan.segments.size(), 8u * 3);
  // No code is all ones: the bytes are stuffed, so that none is a marker.
  const JpegDeviceSegment& segment = plan.segments[3 * 3 + 1];
  for (uint32_t i = 4; i < 12; i += 2) {
    images[1].file[segment.begin + i] = '\xff';
    images[1].file[segment.begin + i + 1] = 0;
  }
  const Made made = MakeOnHost(images, 2, HostOrder::kForward);
  EXPECT_EQ(made.status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(made.status.message().find(
                "image 1 (sample 101): jpeg: row 3 of MCUs, from column 4 on, "
                "behind offset "),
            0)
      << made.status.message();
}

// Whatever becomes of a file or its index: pixels that are right, or an error.
TEST_P(JpegDeviceTest, DamageIsFoundOrDoesNoHarm) {
  Noise noise(19);
  const int cases = Cases(150);
  int found = 0, planned = 0;
  for (int i = 0; i < cases; ++i) {
    SCOPED_TRACE(i);
    Image image = RandomImage(GetParam(), 70, &noise);
    const bool of_index = noise.Below(2) == 0;
    std::string* bytes = of_index ? &image.index : &image.file;
    for (uint32_t n = 1 + noise.Below(3); n > 0; --n) {
      // Behind the headers, mostly.
      const size_t from = of_index              ? 24
                          : noise.Below(8) == 0 ? 0
                                                : image.file.size() / 2;
      const size_t at =
          from + noise.Below(static_cast<uint32_t>(bytes->size() - from));
      (*bytes)[at] = static_cast<char>((*bytes)[at] ^ 1 << noise.Below(8));
    }
    SignIndex(&image.index);
    JpegDevicePlan plan;
    if (!Plan(image, &plan)) continue;
    ++planned;
    const Made made = MakeOnHost({image}, 1, HostOrder::kBackward);
    if (!made.status.ok()) {
      EXPECT_EQ(made.status.code(), StatusCode::kDataLoss);
      ++found;
      continue;
    }
    if (made.pixels[0] == image.expected) continue;
    // What damage leaves of a file is another one.
    Bytes now;
    const Status status =
        DecodeByIndex(image.file, image.index, image.info, image.window, &now);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(made.pixels[0], now);
  }
  EXPECT_GT(planned, cases / 4);
  EXPECT_GT(found, cases / 16);
}

}  // namespace
}  // namespace liquid::jpeg_device_test
