#include "ops/reader/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace liquid::file_test {
namespace {

using ::testing::HasSubstr;

constexpr size_t kSize =
    5 * kDirectAlignment + 123;  // no whole block at its end

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::mt19937 random(1);
    content_.resize(kSize);
    for (char& c : content_) c = static_cast<char>(random());
    path_ = Write("content", content_);
    ASSERT_TRUE(OpenPosixFile(path_, DirectReads::kTry, &file_).ok());
  }
  void TearDown() override {
    for (const std::string& path : written_) std::remove(path.c_str());
  }

  std::string Write(const std::string& name, const std::string& content) {
    const std::string path = ::testing::TempDir() + "liquid_file_test_" + name;
    std::ofstream(path, std::ios::binary) << content;
    written_.push_back(path);
    return path;
  }

  std::string content_;
  std::string path_;
  std::vector<std::string> written_;
  std::unique_ptr<RandomFile> file_;
};

TEST_F(FileTest, ReadsAnyRange) {
  EXPECT_EQ(file_->path(), path_);
  Buffer buffer;
  const uint64_t edges[] = {0,    1,     4095,      4096,  4097,
                            8192, 20479, kSize - 1, kSize, 20480};
  for (const uint64_t begin : edges) {
    for (const uint64_t end : edges) {
      if (begin >= end) continue;
      ByteSpan bytes;
      ReadCount count;
      const Status status =
          file_->Read(begin, end - begin, &buffer, &bytes, &count);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(std::string(bytes.data, bytes.data + bytes.size),
                content_.substr(begin, end - begin));
      EXPECT_GE(count.disk_bytes, end - begin);
      EXPECT_LE(count.disk_bytes, end - begin + 2 * kDirectAlignment);
    }
  }
}

TEST_F(FileTest, ChargesWholeBlocksToADirectRead) {
  if (std::string(file_->method()) != "direct") {
    GTEST_SKIP() << "no O_DIRECT in " << ::testing::TempDir();
  }
  Buffer buffer;
  ByteSpan bytes;
  ReadCount count;
  ASSERT_TRUE(file_->Read(4095, 2, &buffer, &bytes, &count).ok());
  EXPECT_EQ(count.disk_bytes, 2 * kDirectAlignment);
  ASSERT_TRUE(file_->Read(kSize - 1, 1, &buffer, &bytes, &count).ok());
  EXPECT_EQ(count.disk_bytes, 123u);
}

TEST_F(FileTest, SaysWhereATruncatedFileEnds) {
  Buffer buffer;
  ByteSpan bytes;
  ReadCount count;
  const uint64_t offsets[] = {kSize - 10, kSize, kSize + 100000};
  for (const uint64_t offset : offsets) {
    const Status status = file_->Read(offset, 11, &buffer, &bytes, &count);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << offset;
    EXPECT_THAT(status.message(), HasSubstr(path_));
    EXPECT_THAT(status.message(), HasSubstr("truncated"));
    EXPECT_THAT(status.message(), HasSubstr(std::to_string(offset + 11)));
  }
}

TEST_F(FileTest, NamesAFileThatCannotBeOpened) {
  std::unique_ptr<RandomFile> file;
  Status status = OpenPosixFile(path_ + ".missing", DirectReads::kTry, &file);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr(path_ + ".missing: cannot open"));
  EXPECT_EQ(file, nullptr);
}

TEST_F(FileTest, AnEmptyFileOpensAndHasNothing) {
  std::unique_ptr<RandomFile> file;
  ASSERT_TRUE(OpenPosixFile(Write("empty", ""), DirectReads::kTry, &file).ok());
  Buffer buffer;
  ByteSpan bytes;
  ReadCount count;
  EXPECT_EQ(file->Read(0, 1, &buffer, &bytes, &count).code(),
            StatusCode::kDataLoss);
}

TEST_F(FileTest, IsReadByManyThreads) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t, &wrong] {
      std::mt19937 random(t);
      Buffer buffer;
      for (int i = 0; i < 50; ++i) {
        const uint64_t offset = random() % (kSize - 500);
        ByteSpan bytes;
        ReadCount count;
        const Status status = file_->Read(offset, 500, &buffer, &bytes, &count);
        wrong[t] += !status.ok() ||
                    content_.compare(offset, 500,
                                     reinterpret_cast<const char*>(bytes.data),
                                     500) != 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ::testing::Each(0));
}

TEST_F(FileTest, ReadsThroughThePageCacheWhereAsked) {
  ASSERT_TRUE(OpenPosixFile(path_, DirectReads::kNo, &file_).ok());
  EXPECT_STREQ(file_->method(), "buffered");
  EXPECT_EQ(file_->alignment(), 1u);
  Buffer buffer;
  ByteSpan bytes;
  ReadCount count;
  ASSERT_TRUE(file_->Read(7, kSize - 9, &buffer, &bytes, &count).ok());
  EXPECT_EQ(std::string(bytes.data, bytes.data + bytes.size),
            content_.substr(7, kSize - 9));
  EXPECT_EQ(count.disk_bytes, kSize - 9);
}

TEST_F(FileTest, FillsSegmentsInTurn) {
  Buffer a, b;
  ASSERT_TRUE(Reserve(kDirectAlignment, &a) &&
              Reserve(6 * kDirectAlignment, &b));
  ReadCount count;
  const Status status = file_->ReadInto(
      kDirectAlignment,
      {{a.data(), kDirectAlignment}, {b.data(), 6 * kDirectAlignment}}, &count);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(count.bytes, kSize - kDirectAlignment);  // the file's end
  EXPECT_EQ(
      content_.compare(kDirectAlignment, kDirectAlignment,
                       reinterpret_cast<char*>(a.data()), kDirectAlignment),
      0);
  EXPECT_EQ(content_.compare(2 * kDirectAlignment, std::string::npos,
                             reinterpret_cast<char*>(b.data()),
                             kSize - 2 * kDirectAlignment),
            0);
}

TEST(ReserveTest, GrowsAndStaysAligned) {
  Buffer buffer;
  size_t last = 0;
  const size_t sizes[] = {1, 4096, 4097, 100, 1 << 20};
  for (const size_t size : sizes) {
    ASSERT_TRUE(Reserve(size, &buffer));
    EXPECT_GE(buffer.capacity(), std::max(size, last));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kDirectAlignment,
              0u);
    last = buffer.capacity();
  }
  EXPECT_FALSE(Reserve(size_t{1} << 60, &buffer));
  EXPECT_EQ(buffer.capacity(), 0u);
}

}  // namespace
}  // namespace liquid::file_test
