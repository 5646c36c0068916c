#include "ops/reader/cached_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

namespace liquid::cached_file_test {
namespace {

constexpr uint64_t kPage = 4096;

// A file in the tests' own folder, which should be on a disk.
std::string WriteFile(const std::string& name, uint64_t size) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream file(path, std::ios::binary);
  for (uint64_t i = 0; i < size; ++i) file.put(static_cast<char>(i * 7 >> 3));
  return path;
}

// Takes the file out of the page cache.
void Drop(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(fdatasync(fd), 0);
  ASSERT_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
  close(fd);
}

TEST(CachedFileTest, SaysWhatThePageCacheHadNot) {
  const std::string path = WriteFile("cached_file", 40 * kPage + 100);
  Drop(path);
  std::unique_ptr<RandomFile> file;
  ASSERT_TRUE(OpenCachedFile(path, &file).ok());
  Buffer buffer;
  ByteSpan bytes;
  ReadCount first, second;
  // 10 whole pages, and the ends of two.
  const uint64_t offset = 5 * kPage - 1, length = 10 * kPage + 2;
  ASSERT_TRUE(file->Read(offset, length, &buffer, &bytes, &first).ok());
  ASSERT_EQ(bytes.size, length);
  for (uint64_t i = 0; i < length; ++i) {
    ASSERT_EQ(bytes.data[i], static_cast<uint8_t>((offset + i) * 7 >> 3));
  }
  ASSERT_TRUE(file->Read(offset, length, &buffer, &bytes, &second).ok());
  EXPECT_EQ(second.disk_bytes, 0u) << "it was left in the cache";
  if (first.disk_bytes == 0) GTEST_SKIP() << path << " is on no disk";
  EXPECT_EQ(first.disk_bytes, 12 * kPage);
}

TEST(CachedFileTest, Errors) {
  const std::string path = WriteFile("short_file", 1000);
  std::unique_ptr<RandomFile> file;
  ASSERT_TRUE(OpenCachedFile(path, &file).ok());
  Buffer buffer;
  ByteSpan bytes;
  ReadCount count;
  for (const uint64_t offset : {uint64_t{500}, uint64_t{2000}, ~uint64_t{0}}) {
    const Status status = file->Read(offset, 501, &buffer, &bytes, &count);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(status.message(),
                testing::HasSubstr("short_file: the file ends at byte "));
  }
  EXPECT_EQ(OpenCachedFile(path + ".none", &file).code(),
            StatusCode::kNotFound);
  const std::string empty = WriteFile("empty_file", 0);
  EXPECT_EQ(OpenCachedFile(empty, &file).code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace liquid::cached_file_test
