// Addresses of files on servers, and how errors name them.
#ifndef LIQUID_OPS_HTTP_URL_H_
#define LIQUID_OPS_HTTP_URL_H_

#include <string>

namespace liquid {

// Whether a path begins with http:// or https://, in any case.
bool IsHttpUrl(const std::string& path);
bool IsHttpsUrl(const std::string& path);
// Whether a path begins with s3://, in any case.
bool IsS3Url(const std::string& path);
// Whether HttpClient reads a path: one of these.
bool IsClientUrl(const std::string& path);

// What messages may show of a path: of one over HTTP the query may be a
// signature, and the user may have a password. Neither is in it, nor is a
// fragment. Other paths are left as they are.
std::string PublicPath(const std::string& path);

}  // namespace liquid

#endif  // LIQUID_OPS_HTTP_URL_H_
