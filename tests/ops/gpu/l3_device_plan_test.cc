// What a device plans is what the host does: of ten thousand random batches,
// mixed, in windows and chunks, whole and damaged, the same tasks to the bit,
// or an error where the host has one.
#include "ops/codecs/l3/device/l3_device_plan.cuh"

#include <gtest/gtest.h>

#include <cstring>

#include "ops/codecs/raw/raw_codec.h"
#include "tests/ops/codecs/l3_testing.h"
#include "tests/ops/gpu/host_device.h"

namespace liquid::l3_device_plan_test {
namespace {

constexpr int kBatches = RandomCases(10000);

DecodeLimits Limits() {
  DecodeLimits limits;
  limits.max_pixels = 1 << 20;
  return limits;
}

struct File {
  ImageInfo info;
  std::string bytes;
};

// Files of `channels` and `bits`, of every kind that has such images.
std::vector<File> MakeFiles(int channels, int bits, Noise* noise) {
  std::vector<File> files;
  for (int i = 0; i < 24; ++i) {
    // Some rows of a raw image are several tasks, and so are its columns.
    const bool is_long = i % 8 == 0;
    const ImageInfo info =
        Info(1 + noise->Below(is_long ? 20 : 230),
             1 + noise->Below(is_long ? 2300 : 230), channels, bits);
    const Bytes pixels =
        MakeContent(static_cast<Content>(i % kContents), info, noise);
    const bool has_v1 = channels == 3 && bits == 8;
    File file = {info, {}};
    switch (i % 4) {
      case 0:
        EXPECT_TRUE(Encode(Format::kRaw, EncodeOptions(), info, pixels.data(),
                           &file.bytes)
                        .ok());
        break;
      case 1:
        if (has_v1) {
          file.bytes =
              EncodeAsL3(L3Version::kV1, static_cast<int>(1 + noise->Below(90)),
                         info, pixels);
          break;
        }
        [[fallthrough]];
      case 2:
        file.bytes = EncodeAsL3(L3Version::kV2, 0, info, pixels);
        break;
      default:
        file.bytes =
            EncodeAsL3(L3Version::kV2, 0, info, pixels, L3Profile::kCompact);
    }
    files.push_back(file);
  }
  return files;
}

// Damages what a plan reads, and mends the checksum of a header or not.
void Damage(Noise* noise, std::string* file) {
  const auto size = static_cast<uint32_t>(file->size());
  switch (noise->Below(8)) {
    case 0:
      file->resize(noise->Below(size));
      return;
    case 1:
      file->append(1 + noise->Below(9), '\0');
      return;
    default:
      break;
  }
  const uint32_t begin = noise->Below(4) == 0 ? 0 : 20;
  const uint32_t end = std::min(size, begin + 4 + noise->Below(80));
  if (begin >= end) return;
  for (uint32_t changes = 1 + noise->Below(2); changes > 0; --changes) {
    const size_t at = begin + noise->Below(end - begin);
    char& byte = (*file)[at];
    switch (noise->Below(3)) {
      case 0:  // near what was there
        byte = static_cast<char>(byte + static_cast<int>(noise->Below(9)) - 4);
        break;
      case 1:
        byte = static_cast<char>(byte ^ 1 << noise->Below(8));
        break;
      default:
        byte = static_cast<char>(noise->Next());
    }
  }
  if (noise->Below(2) == 0 && size >= kL3V2HeaderBytes &&
      file->compare(0, 4, kL3V2Magic) == 0) {
    MendL3(file);
  }
}

// Files whose bytes end where their allocations do.
class Batch {
 public:
  void Add(const std::string& bytes, const Window& window) {
    copies_.emplace_back(new uint8_t[bytes.size()]);
    std::copy(bytes.begin(), bytes.end(), copies_.back().get());
    files.push_back({ByteSpan(copies_.back().get(), bytes.size()), window});
  }
  std::vector<L3DeviceFile> files;
  std::vector<ImageDeviceChunk> chunks;

 private:
  std::vector<std::unique_ptr<uint8_t[]>> copies_;
};

void MakeBatch(const std::vector<File>& of, bool damages, Noise* noise,
               Batch* batch) {
  const uint32_t n = 1 + noise->Below(6);
  std::vector<const File*> chosen;
  uint32_t height = UINT32_MAX, width = UINT32_MAX;
  for (uint32_t i = 0; i < n; ++i) {
    chosen.push_back(&of[noise->Below(static_cast<uint32_t>(of.size()))]);
    height = std::min(height, chosen.back()->info.height);
    width = std::min(width, chosen.back()->info.width);
  }
  // With chunks, as recipes have them, windows differ in size.
  const bool has_chunks = noise->Below(2) == 0;
  for (uint32_t i = 0; has_chunks && i < n;) {
    const uint32_t count = 1 + noise->Below(n - i);
    batch->chunks.push_back({i, count, 0, 0});
    i += count;
  }
  height = 1 + noise->Below(height);
  width = noise->Below(3) == 0 ? width : 1 + noise->Below(width);
  for (const File* file : chosen) {
    Window window = {noise->Below(file->info.height - height + 1),
                     noise->Below(file->info.width - width + 1), height, width};
    if (has_chunks || n == 1) {
      window =
          noise->Below(2) == 0 ? Window() : RandomWindow(file->info, noise);
    }
    std::string bytes = file->bytes;
    if (damages && noise->Below(2) == 0) Damage(noise, &bytes);
    batch->Add(bytes, window);
  }
}

// Where in its file what lies at `at` in the batch is from.
uint64_t OffsetInFile(const L3DeviceBatch& batch, uint32_t file, uint64_t at) {
  for (const L3DeviceCopy& copy : batch.copies) {
    if (copy.file == file && at - copy.to < copy.size) {
      return copy.from + (at - copy.to);
    }
  }
  return UINT64_MAX;
}

void CheckTasks(const L3TaskPlan& host, const L3DeviceBatch& device,
                const std::vector<L3DeviceTask>& tasks) {
  ASSERT_EQ(host.tasks.size(), tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    ASSERT_EQ(std::memcmp(&host.tasks[i], &tasks[i], sizeof(L3DeviceTask)), 0)
        << "task " << i;
    // By the copies, whatever both made of the runs.
    const L3DeviceTask& task = tasks[i];
    for (int c = 0; c < (task.kind == L3TaskKind::kV1 ? 3 : 1); ++c) {
      const uint32_t size = task.kind == L3TaskKind::kRaw ? 1 : task.size[c];
      if (size == 0) continue;
      const uint64_t begin = OffsetInFile(device, task.image, task.begin[c]);
      ASSERT_EQ(begin, host.origins[i].offset[c]);
      ASSERT_EQ(
          OffsetInFile(device, task.image, task.begin[c] + size - 1) - begin,
          size - 1);
    }
  }
  ASSERT_EQ(host.batch.launches.size(), device.launches.size());
  for (size_t i = 0; i < host.batch.launches.size(); ++i) {
    ASSERT_EQ(std::memcmp(&host.batch.launches[i], &device.launches[i],
                          sizeof(L3DeviceLaunch)),
              0);
    ASSERT_LE(device.launches[i].shared_bytes, 48u * 1024);
  }
}

struct Counts {
  int whole = 0, refused_by_host = 0, refused_by_device = 0, tasks = 0;
};

void PlanBoth(const Batch& batch, HostOrder order, Counts* counts) {
  L3TaskPlan host;
  L3DeviceBatch device;
  const Status expected =
      PlanL3Tasks(batch.files, Limits(), &host, batch.chunks);
  const Status planned =
      PlanL3Device(batch.files, Limits(), &device, batch.chunks);
  if (!planned.ok()) {
    ASSERT_EQ(planned.code(), expected.code());
    ASSERT_EQ(planned.message(), expected.message());
    ++counts->refused_by_host;
    return;
  }
  const HostMemory bytes(device.bytes);
  FillL3Device(batch.files, device, bytes.data());
  std::vector<uint32_t> results;
  const std::vector<L3DeviceTask> tasks =
      PlanOnHost(device, bytes.data(), order, &results);
  ASSERT_EQ(results, std::vector<uint32_t>(tasks.size(), kL3NotDone));
  results.assign(tasks.size(), 0);
  L3DeviceFindings findings;
  CheckOnHost(tasks, results, order, &findings);
  const Status status = CheckL3Device(batch.files, device, findings);
  ASSERT_EQ(status.code(), expected.code());
  ASSERT_EQ(status.message(), expected.message());
  if (expected.ok()) {
    ++counts->whole;
    counts->tasks += static_cast<int>(tasks.size());
    ASSERT_NO_FATAL_FAILURE(CheckTasks(host, device, tasks));
    return;
  }
  ++counts->refused_by_device;
  ASSERT_EQ(L3ErrorOfKey(findings.first_error), L3ErrorOf::kTable);
  const std::string image =
      "image " + std::to_string(L3ImageOfKey(findings.first_error)) + ": ";
  ASSERT_EQ(expected.message().substr(0, image.size()), image);
  // Whatever became of other patches, that is the error; and what has no place
  // is given bytes that were sent.
  std::fill(results.begin(), results.end(), 1);
  L3DeviceFindings again;
  CheckOnHost(tasks, results, order, &again);
  ASSERT_EQ(again.first_error, findings.first_error);
  for (const L3DeviceTask& task : tasks) {
    if (task.row_end == 0) {
      ASSERT_LE(task.begin[0] + task.size[0], device.bytes);
    }
  }
}

TEST(L3DevicePlanTest, TheDevicePlansWhatTheHostDoes) {
  Noise noise(21);
  std::vector<std::vector<File>> files;
  for (const auto& [channels, bits] :
       {std::pair(3, 8), {1, 8}, {4, 16}, {3, 16}, {3, 8}}) {
    files.push_back(MakeFiles(channels, bits, &noise));
  }
  Counts counts;
  for (int i = 0; i < kBatches; ++i) {
    SCOPED_TRACE(i);
    Batch batch;
    MakeBatch(files[i % files.size()], i % 2 == 0, &noise, &batch);
    ASSERT_NO_FATAL_FAILURE(
        PlanBoth(batch, static_cast<HostOrder>(i % 3), &counts));
  }
  // Otherwise the batches would test one way only.
  EXPECT_GT(counts.whole, kBatches / 2);
  EXPECT_GT(counts.refused_by_host, kBatches / 10);
  EXPECT_GT(counts.refused_by_device, kBatches / 100);
  EXPECT_GT(counts.tasks, 5 * kBatches);
}

// Of errors the first image's comes first, then its first patch's, whoever of
// its tasks is done first.
TEST(L3DevicePlanTest, KeysAreInTheOrderOfTheErrors) {
  std::vector<uint64_t> keys;
  for (const L3ErrorOf of : {L3ErrorOf::kTable, L3ErrorOf::kPatch}) {
    for (const uint32_t image : {0u, 1u, 77u, kL3MostImages - 1}) {
      for (const uint32_t patch : {0u, 1u, 1u << 31, UINT32_MAX}) {
        const uint32_t result =
            L3DeviceResult(L3DeviceError::kCode, of == L3ErrorOf::kPatch);
        const uint64_t key = L3ErrorKey(of, image, patch, result);
        EXPECT_LT(key, kL3NoError);
        EXPECT_EQ(L3ErrorOfKey(key), of);
        EXPECT_EQ(L3ImageOfKey(key), image);
        EXPECT_EQ(L3PatchOfKey(key), patch);
        EXPECT_EQ(L3ResultOfKey(key), result);
        keys.push_back(key);
      }
    }
  }
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  EXPECT_TRUE(std::adjacent_find(keys.begin(), keys.end()) == keys.end());
}

TEST(L3DevicePlanTest, WhatWasNotDoneIsAnError) {
  const ImageInfo info = Info(70, 130, 3);
  const std::string file =
      EncodeAsL3(L3Version::kV2, 0, info, MakePixels(info, 3));
  Batch batch;
  batch.Add(file, {});
  L3DeviceBatch device;
  ASSERT_TRUE(PlanL3Device(batch.files, Limits(), &device).ok());
  EXPECT_EQ(CheckL3Device(batch.files, device, {}).code(),
            StatusCode::kInternal);
  const HostMemory bytes(device.bytes);
  FillL3Device(batch.files, device, bytes.data());
  std::vector<uint32_t> results;
  const std::vector<L3DeviceTask> tasks =
      PlanOnHost(device, bytes.data(), HostOrder::kForward, &results);
  std::fill(results.begin(), results.begin() + 4, 0);
  L3DeviceFindings findings;
  CheckOnHost(tasks, results, HostOrder::kScattered, &findings);
  const Status status = CheckL3Device(batch.files, device, findings);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("image 0: l3: patch 4 at"), std::string::npos)
      << status.message();
  // A device that is broken may name what there is not.
  for (const uint32_t image : {0u, 1u, kL3MostImages - 1}) {
    findings.first_error = L3ErrorKey(L3ErrorOf::kPatch, image, 1 << 20, 1);
    EXPECT_EQ(CheckL3Device(batch.files, device, findings).code(),
              StatusCode::kInternal);
  }
}

// Of a file that lies on the device, a header is all that is looked at.
TEST(L3DevicePlanTest, WhatTakesMoreThan32BitsIsRefused) {
  DecodeLimits limits;
  limits.max_pixels = uint64_t{1} << 56;
  const struct {
    ImageInfo image;
    const char* message;
  } cases[] = {
      {{1u << 28, 1u << 28, 1, 8},
       "l3: a batch for a device has up to 2^32 - 1 patches, this has "
       "4398046511104: make batches smaller"},
      {{1, 1u << 29, 4, 16},
       "image 0: raw: a device takes rows of up to 2^32 - 1 bytes: decode the "
       "image on the processors"},
  };
  for (const auto& one : cases) {
    uint8_t header[kRawHeaderBytes];
    StoreRawHeader(one.image, header);
    L3DeviceFile file;
    file.bytes = ByteSpan(header, kRawHeaderBytes + one.image.PixelBytes());
    file.on_device = 4096;
    L3DeviceBatch batch;
    const Status status = PlanL3Device({file}, limits, &batch);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), one.message);
  }
}

// Entries that wrap around 32 bits lie in no file.
TEST(L3DevicePlanTest, DifferencesThatOverflowAreFound) {
  const ImageInfo info = Info(64, 64 * 3, 3);
  const std::string good =
      EncodeAsL3(L3Version::kV2, 0, info, MakePixels(info, 3));
  const uint32_t values[] = {0,          1,          100,        0x7FFFFFFF,
                             0x80000000, 0xFFFFFFF0, 0xFFFFFFFF, 0xFFFF0000};
  Counts counts;
  for (int entry = 0; entry < 3; ++entry) {
    for (const uint32_t value : values) {
      std::string bytes = good;
      StoreLittle32(value, reinterpret_cast<uint8_t*>(
                               &bytes[kL3V2HeaderBytes + 4 * entry]));
      for (const Window& window :
           {Window(), Window{0, 0, 64, 64}, Window{0, 64, 64, 64},
            Window{0, 128, 9, 9}}) {
        Batch batch;
        batch.Add(bytes, window);
        ASSERT_NO_FATAL_FAILURE(PlanBoth(batch, HostOrder::kForward, &counts));
      }
    }
  }
  EXPECT_GT(counts.refused_by_device, 10);
}

}  // namespace
}  // namespace liquid::l3_device_plan_test
