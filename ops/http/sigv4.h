// Signatures of requests to Amazon's services, and to stores that do as S3.
//
// By "Authenticating Requests: Using the Authorization Header (AWS Signature
// Version 4)" of the Amazon S3 API Reference.
#ifndef LIQUID_OPS_HTTP_SIGV4_H_
#define LIQUID_OPS_HTTP_SIGV4_H_

#include <map>
#include <string>

namespace liquid {

// Who signs, for which service.
struct Signer {
  std::string key;  // the access key's identifier
  std::string secret;
  std::string region;
  std::string service;
};

struct UnsignedRequest {
  std::string method;
  std::string path;   // percent-encoded, as it is sent
  std::string query;  // percent-encoded, in the order of its names
  // That are signed, by names in lower case; of them x-amz-date must be one, as
  // "20130524T000000Z".
  std::map<std::string, std::string> headers;
  std::string payload_hash;  // SHA-256 of the body in hexadecimal
};

// SHA-256 of no bytes, in hexadecimal.
extern const char* const kHashOfNothing;

// The value of the header Authorization.
std::string Authorization(const Signer& signer, const UnsignedRequest& request);

}  // namespace liquid

#endif  // LIQUID_OPS_HTTP_SIGV4_H_
