// Paths, addresses and headers of requests to stores of S3.
#include "ops/http/s3_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "ops/http/sigv4.h"

namespace liquid::s3_request_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(S3PathTest, HasABucketAndAKey) {
  S3Path path;
  ASSERT_TRUE(ParseS3Path("s3://bucket/a/b c?#.rec", &path).ok());
  EXPECT_EQ(path.bucket, "bucket");
  EXPECT_EQ(path.key, "a/b c?#.rec");
  for (const char* wrong :
       {"s3://", "s3://bucket", "s3://bucket/", "s3:///a"}) {
    const Status status = ParseS3Path(wrong, &path);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), StartsWith(std::string(wrong) + " must be "));
  }
}

S3Access Access(const std::string& address, const std::string& token = "") {
  return {address, "us-east-1", "KEY", "SECRET", token};
}

// 2013-05-24, 00:00:00 UTC.
constexpr std::time_t kNow = 1369353600;

TEST(SignGetTest, EncodesKeys) {
  const S3Access access = Access("http://127.0.0.1:9000/bucket");
  EXPECT_EQ(SignGet(access, "a/b.rec", kNow).url,
            "http://127.0.0.1:9000/bucket/a/b.rec");
  EXPECT_EQ(SignGet(access, "a b+c?d#e%f~g/../\xc3\xa9", kNow).url,
            "http://127.0.0.1:9000/bucket/a%20b%2Bc%3Fd%23e%25f~g/../%C3%A9");
  EXPECT_EQ(SignGet(access, "/a", kNow).url, "http://127.0.0.1:9000/bucket//a");
}

// The path, the host without a usual port, and the time are what is signed.
TEST(SignGetTest, SignsWhatIsSent) {
  for (const auto& [address, path, host] :
       {std::tuple("https://bucket.s3.amazonaws.com", "/a%20b",
                   "bucket.s3.amazonaws.com"),
        std::tuple("https://store:443/bucket", "/bucket/a%20b", "store"),
        std::tuple("http://store:443/bucket", "/bucket/a%20b", "store:443"),
        std::tuple("http://store:80/bucket", "/bucket/a%20b", "store")}) {
    UnsignedRequest request;
    request.method = "GET";
    request.path = path;
    request.headers = {{"host", host},
                       {"x-amz-content-sha256", kHashOfNothing},
                       {"x-amz-date", "20130524T000000Z"}};
    request.payload_hash = kHashOfNothing;
    EXPECT_THAT(
        SignGet(Access(address), "a b", kNow).headers,
        ElementsAre(
            std::string("x-amz-content-sha256: ") + kHashOfNothing,
            "x-amz-date: 20130524T000000Z",
            "Authorization: " +
                Authorization({"KEY", "SECRET", "us-east-1", "s3"}, request)));
  }
}

TEST(SignGetTest, SignsTokens) {
  const S3Request request =
      SignGet(Access("https://store/bucket", "TOKEN"), "a", kNow);
  EXPECT_THAT(
      request.headers,
      ElementsAre(StartsWith("x-amz-content-sha256"), StartsWith("x-amz-date"),
                  "x-amz-security-token: TOKEN",
                  HasSubstr("x-amz-date;x-amz-security-token,")));
}

}  // namespace
}  // namespace liquid::s3_request_test
