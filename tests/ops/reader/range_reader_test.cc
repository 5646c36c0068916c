#include "ops/reader/range_reader.h"

#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ops/containers/recordio/file_parts.h"
#include "tests/ops/containers/recordio/scan.h"

namespace liquid::range_reader_test {
namespace {

std::vector<std::string> Payloads(int seed, size_t count, size_t most) {
  std::mt19937 random(seed);
  std::vector<std::string> payloads;
  for (size_t i = 0; i < count; ++i) {
    payloads.emplace_back(random() % most, static_cast<char>(random()));
    if (i % 3 == 0) payloads.back() += Magic();
  }
  return payloads;
}

class RangeReaderTest : public ::testing::TestWithParam<ReadMode> {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = ::testing::TempDir() + "/range_reader_" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  // `parts` of the files one after another; `restart`: with a new reader from
  // its place after so many records.
  Scan Read(const std::vector<std::string>& paths,
            const std::vector<std::string>& files, int64_t parts, bool repair,
            size_t restart) {
    Scan scan;
    std::vector<uint64_t> sizes;
    for (const std::string& file : files) sizes.push_back(file.size());
    for (int64_t part = 0; part < parts && scan.status.ok(); ++part) {
      std::vector<PartOfFile> pieces;
      EXPECT_TRUE(PartByBytes(sizes, part, parts, &pieces).ok());
      std::vector<FileRange> ranges;
      for (const PartOfFile& one : pieces) {
        ranges.push_back({paths[one.file], one.range, one.records});
      }
      while (ReadSome(&ranges, repair, restart, &scan)) {
      }
    }
    return scan;
  }

 private:
  // Takes what was read off `*ranges`; false at their end.
  bool ReadSome(std::vector<FileRange>* ranges, bool repair, size_t most,
                Scan* scan) {
    RangeReaderOptions options;
    options.mode = GetParam();
    options.block_bytes = 8192;
    options.depth = 3;
    options.repair = repair;
    const FileOpener opener = [](const std::string& path,
                                 std::unique_ptr<RandomFile>* file) {
      return OpenPosixFile(path, DirectReads::kTry, file);
    };
    RangeReader reader(*ranges, opener, options,
                       [&](const std::string&, const RecordLoss& loss) {
                         scan->losses.push_back(loss);
                       });
    for (size_t i = 0; i < most; ++i) {
      ByteSpan payload;
      bool found;
      scan->status = reader.Next(&payload, &found);
      if (!scan->status.ok() || !found) return false;
      scan->payloads.emplace_back(reinterpret_cast<const char*>(payload.data),
                                  payload.size);
    }
    ranges->erase(ranges->begin(), ranges->begin() + reader.range());
    if (!ranges->empty()) {
      RecordRange& first = ranges->front().range;
      first.begins_at_head |= reader.position() > first.begin;
      first.begin = reader.position();
    }
    return true;
  }
};

TEST_P(RangeReaderTest, ReadsFilesInPartsFromAnyPlace) {
  const std::vector<std::vector<std::string>> payloads = {
      Payloads(1, 60, 3000),
      {},
      Payloads(2, 4, 5),
      {std::string(30000, 'l')},
      Payloads(3, 30, 20000)};
  std::vector<std::string> paths, files, all;
  for (const auto& of_file : payloads) {
    files.push_back(Frame(of_file));
    paths.push_back(Write(std::to_string(files.size()), files.back()));
    all.insert(all.end(), of_file.begin(), of_file.end());
  }
  for (const int64_t parts : {1, 2, 7, 100}) {
    for (const size_t restart : {size_t{1} << 40, size_t{1}, size_t{9}}) {
      if (restart == 1 && parts == 100) continue;
      const Scan scan = Read(paths, files, parts, false, restart);
      ASSERT_TRUE(scan.status.ok()) << scan.status.message();
      EXPECT_EQ(scan.payloads, all) << parts << " " << restart;
    }
  }
}

TEST_P(RangeReaderTest, Repairs) {
  std::vector<std::string> payloads = Payloads(1, 40, 3000);
  std::string file = Frame(payloads);
  const Scan sound = ScanText(file, Whole(file), false, 4096);
  for (const size_t k : {size_t{0}, size_t{17}, size_t{39}}) {
    file[sound.offsets[k]] ^= 1;
  }
  const std::string path = Write("damaged", file);
  const Scan strict = Read({path}, {file}, 1, false, 1000);
  EXPECT_EQ(strict.status.message(), path + ": no RecordIO magic at offset 0");
  payloads.erase(payloads.begin() + 39);
  payloads.erase(payloads.begin() + 17);
  payloads.erase(payloads.begin());
  for (const int64_t parts : {1, 3, 50}) {
    const Scan scan = Read({path}, {file}, parts, true, 5);
    EXPECT_EQ(scan.payloads, payloads);
    ASSERT_EQ(scan.losses.size(), 3u);
    EXPECT_EQ(scan.losses[1].offset, sound.offsets[17]);
    EXPECT_EQ(scan.losses[1].length, sound.ends[17] - sound.offsets[17]);
  }
}

TEST_P(RangeReaderTest, Errors) {
  const std::string file = Frame(Payloads(1, 9, 3000));
  const Scan absent = Read({"/absent/a.rec"}, {file}, 1, false, 1000);
  EXPECT_NE(absent.status.message().find("/absent/a.rec"), std::string::npos)
      << absent.status.message();
  // The file has become shorter.
  const std::string path = Write("short", file.substr(0, 5000));
  const Scan cut = Read({path}, {file}, 1, false, 1000);
  EXPECT_EQ(cut.status.code(), StatusCode::kDataLoss);
  EXPECT_NE(cut.status.message().find("ends at byte 5000"), std::string::npos)
      << cut.status.message();
}

INSTANTIATE_TEST_SUITE_P(Modes, RangeReaderTest,
                         ::testing::Values(ReadMode::kAuto, ReadMode::kThreads,
                                           ReadMode::kBuffered));

}  // namespace
}  // namespace liquid::range_reader_test
