// Requests for objects of s3://bucket/key.
#ifndef LIQUID_OPS_HTTP_S3_REQUEST_H_
#define LIQUID_OPS_HTTP_S3_REQUEST_H_

#include <ctime>
#include <string>
#include <vector>

#include "ops/core/status.h"

namespace liquid {

struct S3Path {
  std::string bucket;
  std::string key;  // any bytes
};

// Error: InvalidArgument for a path without a bucket or a key.
Status ParseS3Path(const std::string& path, S3Path* parsed);

// What requests for a bucket's objects need. Holds secrets: never for a
// message.
struct S3Access {
  std::string address;  // of the bucket: "https://bucket.s3.amazonaws.com"
  std::string region;
  std::string key;  // the access key's identifier
  std::string secret;
  std::string token;  // of a session, or empty
};

// A request to get an object, for a client that adds nothing to what is signed.
struct S3Request {
  std::string url;
  std::vector<std::string> headers;  // "name: value"
};

// Signed for the minutes after `now`. Other headers, such as Range, may be
// added: they need no signature.
S3Request SignGet(const S3Access& access, const std::string& key,
                  std::time_t now);

}  // namespace liquid

#endif  // LIQUID_OPS_HTTP_S3_REQUEST_H_
