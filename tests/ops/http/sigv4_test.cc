// Signatures against the examples that Amazon publishes.
#include "ops/http/sigv4.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace liquid::sigv4_test {
namespace {

using ::testing::EndsWith;
using ::testing::Eq;

// Of the Amazon S3 API Reference, "Signature Calculations for the Authorization
// Header: Transferring Payload in a Single Chunk", the examples.
Signer Example() {
  return {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
          "us-east-1", "s3"};
}

UnsignedRequest Get(const std::string& path, const std::string& query) {
  UnsignedRequest request;
  request.method = "GET";
  request.path = path;
  request.query = query;
  request.headers = {{"host", "examplebucket.s3.amazonaws.com"},
                     {"x-amz-content-sha256", kHashOfNothing},
                     {"x-amz-date", "20130524T000000Z"}};
  request.payload_hash = kHashOfNothing;
  return request;
}

TEST(Sigv4Test, GetsARangeOfAnObject) {
  UnsignedRequest request = Get("/test.txt", "");
  request.headers["range"] = "bytes=0-9";
  EXPECT_THAT(
      Authorization(Example(), request),
      Eq("AWS4-HMAC-SHA256 "
         "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
         "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
         "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036"
         "bdb41"));
}

TEST(Sigv4Test, PutsAnObject) {
  UnsignedRequest request = Get("/test%24file.text", "");
  request.method = "PUT";
  request.payload_hash =
      "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
  request.headers["x-amz-content-sha256"] = request.payload_hash;
  request.headers["date"] = "Fri, 24 May 2013 00:00:00 GMT";
  request.headers["x-amz-storage-class"] = "REDUCED_REDUNDANCY";
  EXPECT_THAT(Authorization(Example(), request),
              EndsWith("Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd7"
                       "7a1b5971af0ece108bd"));
}

TEST(Sigv4Test, SignsQueries) {
  EXPECT_THAT(Authorization(Example(), Get("/", "lifecycle=")),
              EndsWith("Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f9"
                       "1ac7a200a0136783543"));
  EXPECT_THAT(Authorization(Example(), Get("/", "max-keys=2&prefix=J")),
              EndsWith("Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db"
                       "6670ed5711ef69dc6f7"));
}

// Of the test suite of Signature Version 4, "get-vanilla".
TEST(Sigv4Test, SignsForOtherServices) {
  UnsignedRequest request;
  request.method = "GET";
  request.path = "/";
  request.headers = {{"host", "example.amazonaws.com"},
                     {"x-amz-date", "20150830T123600Z"}};
  request.payload_hash = kHashOfNothing;
  EXPECT_THAT(
      Authorization({"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                     "us-east-1", "service"},
                    request),
      EndsWith(
          "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae"
          "1d763fbf31"));
}

}  // namespace
}  // namespace liquid::sigv4_test
