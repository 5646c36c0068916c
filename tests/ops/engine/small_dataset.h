// A dataset on disk, of a few small images, and what a loader of it is told.
#ifndef LIQUID_TESTS_OPS_ENGINE_SMALL_DATASET_H_
#define LIQUID_TESTS_OPS_ENGINE_SMALL_DATASET_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/containers/recordio/recordio.h"
#include "ops/core/crc32c.h"
#include "ops/engine/loader.h"
#include "ops/reader/path_opener.h"
#include "tests/ops/containers/recordio/packed_rows.h"

namespace liquid {

// Sample s has the number s, the label 10 s, and an image of its own. Files lie
// in a folder of the test that runs.
class SmallDataset {
 public:
  struct Part {
    Format format;             // above that of the part before
    std::vector<int> records;  // of each of its shards
  };

  static constexpr int kHeight = 6, kWidth = 5, kChannels = 3;
  static constexpr int64_t kBatch = 5;

  // `shared`: every part has the same samples; else each has its own.
  explicit SmallDataset(std::vector<Part> parts = {{Format::kRaw, {7, 6}},
                                                   {Format::kPng, {5, 4}}},
                        bool shared = false)
      : parts_(std::move(parts)) {
    const auto* const test =
        testing::UnitTest::GetInstance()->current_test_info();
    prefix_ = testing::TempDir() + "/" + test->test_suite_name() + "_" +
              test->name() + "_";
    uint64_t sample = 0;
    std::string packed;
    for (const Part& part : parts_) {
      if (shared) sample = 0;
      for (const int records : part.records) {
        const auto shard = static_cast<uint32_t>(paths_.size());
        paths_.push_back(prefix_ + "shard" + std::to_string(shard));
        std::string file;
        for (int i = 0; i < records; ++i, ++sample) {
          rows_.push_back(Append(part.format, shard, sample, &file));
          AppendRow(rows_.back(), &packed);
        }
        Write(paths_.back(), file);
      }
    }
    index_ = prefix_ + "index.npy";
    const std::string npy = Npy(packed, std::to_string(rows_.size()));
    Write(index_, npy);
    index_crc32c_ = Crc32c(ByteSpan(npy.data(), npy.size()));
  }

  const std::vector<std::string>& paths() const { return paths_; }
  size_t rows() const { return rows_.size(); }
  // Of the i-th record of a part, in stored order.
  uint64_t SampleOf(size_t part, uint64_t i) const {
    size_t first = 0;
    for (size_t p = 0; p < part; ++p) first += Count(p);
    return rows_[first + i].sample;
  }
  static std::vector<uint8_t> Pixels(uint64_t sample) {
    std::vector<uint8_t> pixels(kHeight * kWidth * kChannels);
    for (size_t i = 0; i < pixels.size(); ++i) {
      pixels[i] = static_cast<uint8_t>(31 * sample + 7 * i);
    }
    return pixels;
  }

  // Changes a byte of each stored image of a sample.
  void Damage(uint64_t sample) const {
    for (const IndexRow& row : rows_) {
      if (row.sample != sample) continue;
      std::fstream file(paths_[row.shard],
                        std::ios::in | std::ios::out | std::ios::binary);
      const auto at = static_cast<std::streamoff>(row.offset + row.length - 8);
      file.seekg(at);
      const int byte = file.get();
      file.seekp(at);
      file.put(static_cast<char>(byte ^ 1));
    }
  }

  // All samples, shuffled; of each part `cached[p]` stay between epochs.
  DrawConfig Draws(const std::vector<int64_t>& cached) const {
    DrawConfig draws;
    PlanMessage& plan = draws.message.plan;
    plan.seed = 11;
    plan.batch_size = kBatch;
    plan.shuffle = true;
    plan.policy = "liquid";
    draws.message.cache_bytes = 1 << 20;
    draws.message.shard_policy = "pad";
    for (size_t p = 0; p < parts_.size(); ++p) {
      FormatPlanMessage format;
      format.files = {parts_[p].records.begin(), parts_[p].records.end()};
      format.cached = cached[p];
      plan.formats.push_back(format);
      SourceMessage source;
      source.name = FormatName(parts_[p].format);
      source.resident = source.kept = 100;
      draws.message.sources.push_back(source);
      draws.formats.push_back(Files(p));
    }
    draws.chosen.resize(parts_.size());
    return draws;
  }

  LoaderConfig Config(const std::vector<int64_t>& cached) const {
    LoaderConfig config;
    config.draws = Draws(cached);
    DecodeMessage& decode = config.decode;
    decode.batch_size = kBatch;
    decode.max_pixels = 1 << 20;
    decode.max_scans = 100;
    decode.lookahead = decode.most_lookahead = 2;
    decode.parallelism = 2;
    decode.features = {"image", "label", "id", "format"};
    decode.image_bits = 8;
    config.outputs = {{DType::kUint8, {-1, kHeight, kWidth, kChannels}},
                      {DType::kInt64, {-1}},
                      {DType::kInt64, {-1}},
                      {DType::kString, {-1}}};
    config.opener = [](const FormatMessage& message, ReadMode mode) {
      return MakeOpener({mode, static_cast<double>(message.patience)}, {});
    };
    return config;
  }

 private:
  static void Write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  size_t Count(size_t part) const {
    size_t count = 0;
    for (const int records : parts_[part].records) count += records;
    return count;
  }

  static IndexRow Append(Format format, uint32_t shard, uint64_t sample,
                         std::string* file) {
    ImageInfo info;
    info.height = kHeight;
    info.width = kWidth;
    info.channels = kChannels;
    info.bits = 8;
    const std::vector<uint8_t> pixels = Pixels(sample);
    std::string image, payload;
    EXPECT_TRUE(Encode(format, {}, info, pixels.data(), &image).ok());
    SampleRecord record;
    record.id = sample;
    record.labels = {static_cast<float>(10 * sample)};
    record.image = ByteSpan(image.data(), image.size());
    EXPECT_TRUE(AppendSamplePayload(record, &payload).ok());
    IndexRow row;
    row.sample = sample;
    row.format = static_cast<uint8_t>(format);
    row.shard = shard;
    row.offset = file->size();
    EXPECT_TRUE(
        AppendRecord(ByteSpan(payload.data(), payload.size()), file).ok());
    row.length = file->size() - row.offset;
    row.crc32c = Crc32c(ByteSpan(&(*file)[row.offset], row.length));
    row.height = info.height;
    row.width = info.width;
    row.channels = info.channels;
    row.bits = info.bits;
    row.pixels_hash = PixelHash(info, pixels.data());
    return row;
  }

  FormatMessage Files(size_t part) const {
    FormatMessage files;
    files.index = index_;
    files.index_crc32c = index_crc32c_;
    files.paths.resize(paths_.size());
    for (const IndexRow& row : rows_) {
      if (row.format != static_cast<uint8_t>(parts_[part].format)) continue;
      files.paths[row.shard] = paths_[row.shard];
    }
    files.splits = {0};
    files.format = static_cast<int64_t>(parts_[part].format);
    files.threads = 2;
    files.lookahead_bytes = 1 << 20;
    files.reader = "auto";
    files.patience = 1;
    return files;
  }

  const std::vector<Part> parts_;
  std::string prefix_;
  std::vector<std::string> paths_;
  std::vector<IndexRow> rows_;
  std::string index_;
  uint32_t index_crc32c_ = 0;
};

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_ENGINE_SMALL_DATASET_H_
