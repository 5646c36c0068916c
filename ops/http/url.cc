#include "ops/http/url.h"

#include <strings.h>

#include <algorithm>
#include <cstring>

namespace liquid {
namespace {

bool HasScheme(const std::string& path, const char* scheme) {
  return strncasecmp(path.c_str(), scheme, std::strlen(scheme)) == 0;
}

}  // namespace

bool IsHttpsUrl(const std::string& path) { return HasScheme(path, "https://"); }

bool IsHttpUrl(const std::string& path) {
  return HasScheme(path, "http://") || IsHttpsUrl(path);
}

bool IsS3Url(const std::string& path) { return HasScheme(path, "s3://"); }

bool IsClientUrl(const std::string& path) {
  return IsHttpUrl(path) || IsS3Url(path);
}

std::string PublicPath(const std::string& path) {
  if (!IsHttpUrl(path)) return path;
  std::string shown = path.substr(0, path.find_first_of("?#"));
  const size_t host = shown.find("://") + 3;
  const size_t end = std::min(shown.find('/', host), shown.size());
  // The last one: a password may hold others.
  const size_t at = shown.rfind('@', end);
  if (at != std::string::npos && at >= host) shown.erase(host, at + 1 - host);
  return shown;
}

}  // namespace liquid
