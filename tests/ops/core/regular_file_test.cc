#include "ops/core/regular_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace liquid::regular_file_test {
namespace {

class RegularFileTest : public testing::Test {
 protected:
  void SetUp() override {
    // A pipe that is waited for would hang the test.
    alarm(20);
    std::string name = testing::TempDir() + "/regular_file_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { alarm(0); }

  // The error of opening `path`.
  static std::string Error(const std::string& path) {
    int fd = 0;
    const Status status = OpenRegular(path, 0, &fd);
    EXPECT_EQ(fd, -1);
    EXPECT_FALSE(status.ok());
    return status.message();
  }

  std::string folder_;
};

TEST_F(RegularFileTest, AFileIsOpenedWithTheFlagsAskedFor) {
  const std::string path = folder_ + "/file";
  close(open(path.c_str(), O_CREAT | O_WRONLY, 0600));
  int fd = -1;
  ASSERT_TRUE(OpenRegular(path, O_NOATIME, &fd).ok());
  EXPECT_EQ(fcntl(fd, F_GETFL) & (O_NONBLOCK | O_NOATIME), O_NOATIME);
  EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  close(fd);
}

TEST_F(RegularFileTest, WhatIsNoFileIsAnErrorAtOnce) {
  const std::string path = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(Error(path), path + ": is a pipe, and must be a regular file");
  EXPECT_EQ(Error(folder_),
            folder_ + ": is a folder, and must be a regular file");
  EXPECT_EQ(Error("/dev/zero"),
            "/dev/zero: is a device, and must be a regular file");
}

TEST_F(RegularFileTest, AMissingFileSaysSo) {
  int fd = 0;
  const Status status = OpenRegular(folder_ + "/none", 0, &fd);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.message(),
            folder_ + "/none: cannot open: No such file or directory");
}

}  // namespace
}  // namespace liquid::regular_file_test
