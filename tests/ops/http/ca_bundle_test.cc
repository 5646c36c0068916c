#include "ops/http/ca_bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace liquid::ca_bundle_test {
namespace {

using ::testing::HasSubstr;

class CaBundleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("SSL_CERT_FILE");
    std::ofstream(there_) << "certificates";
  }
  void TearDown() override { std::remove(there_.c_str()); }

  const std::string there_ = ::testing::TempDir() + "liquid_ca_bundle";
  std::string path_;
};

TEST_F(CaBundleTest, IsTheFirstThatIsThere) {
  EXPECT_TRUE(FindCaBundle({"/nowhere/a", there_, "/dev/null"}, &path_).ok());
  EXPECT_EQ(path_, there_);
}

TEST_F(CaBundleTest, IsWhatTheEnvironmentNames) {
  setenv("SSL_CERT_FILE", there_.c_str(), 1);
  EXPECT_TRUE(FindCaBundle({"/dev/null"}, &path_).ok());
  EXPECT_EQ(path_, there_);
  // Not another one in its place.
  setenv("SSL_CERT_FILE", "/nowhere/b", 1);
  const Status status = FindCaBundle({there_}, &path_);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("SSL_CERT_FILE (\"/nowhere/b\")"));
  unsetenv("SSL_CERT_FILE");
}

TEST_F(CaBundleTest, SaysWhatToDoWithoutOne) {
  const Status status = FindCaBundle({"/nowhere/a"}, &path_);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("install the package"));
  EXPECT_THAT(status.message(), HasSubstr("SSL_CERT_FILE"));
}

}  // namespace
}  // namespace liquid::ca_bundle_test
