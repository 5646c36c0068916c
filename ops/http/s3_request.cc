#include "ops/http/s3_request.h"

#include <cctype>
#include <cstring>
#include <utility>

#include "ops/http/sigv4.h"

namespace liquid {
namespace {

// All but what RFC 3986 calls unreserved, and "/".
std::string PercentEncode(const std::string& key) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 128 && std::isalnum(byte) != 0;
    if (plain || (c != '\0' && std::strchr("-._~/", c) != nullptr)) {
      text += c;
    } else {
      text += '%';
      text += kDigits[byte >> 4];
      text += kDigits[byte & 15];
    }
  }
  return text;
}

// The host that a client names: without a port that its scheme has anyway.
std::string HostOf(const std::string& authority, bool tls) {
  const std::string usual = tls ? ":443" : ":80";
  const size_t size = authority.size();
  const bool named =
      size > usual.size() &&
      authority.compare(size - usual.size(), usual.size(), usual) == 0;
  return authority.substr(0, named ? size - usual.size() : size);
}

std::string TimeOf(std::time_t now) {
  std::tm parts = {};
  gmtime_r(&now, &parts);
  char text[32];
  const size_t size =
      std::strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &parts);
  return std::string(text, size);
}

}  // namespace

Status ParseS3Path(const std::string& path, S3Path* parsed) {
  const size_t bucket = path.find("://") + 3;
  const size_t slash = path.find('/', bucket);
  if (slash == std::string::npos || slash == bucket ||
      slash + 1 == path.size()) {
    return InvalidArgument(path + " must be s3://bucket/key");
  }
  parsed->bucket = path.substr(bucket, slash - bucket);
  parsed->key = path.substr(slash + 1);
  return OkStatus();
}

S3Request SignGet(const S3Access& access, const std::string& key,
                  std::time_t now) {
  S3Request request;
  request.url = access.address + "/" + PercentEncode(key);
  const size_t begin = request.url.find("://") + 3;
  const size_t slash = request.url.find('/', begin);

  UnsignedRequest parts;
  parts.method = "GET";
  parts.path = request.url.substr(slash);
  parts.headers = {{"host", HostOf(request.url.substr(begin, slash - begin),
                                   begin == std::strlen("https://"))},
                   {"x-amz-content-sha256", kHashOfNothing},
                   {"x-amz-date", TimeOf(now)}};
  if (!access.token.empty()) {
    parts.headers["x-amz-security-token"] = access.token;
  }
  parts.payload_hash = kHashOfNothing;
  for (const auto& header : parts.headers) {
    // The client names the host itself.
    if (header.first == "host") continue;
    request.headers.push_back(header.first + ": " + header.second);
  }
  const Signer signer = {access.key, access.secret, access.region, "s3"};
  request.headers.push_back("Authorization: " + Authorization(signer, parts));
  return request;
}

}  // namespace liquid
