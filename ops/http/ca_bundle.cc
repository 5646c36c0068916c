#include "ops/http/ca_bundle.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace liquid {

const std::vector<std::string>& SystemCaBundles() {
  static const auto* const places = new std::vector<std::string>{
      "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch
      "/etc/pki/tls/certs/ca-bundle.crt",    // Fedora, RHEL
      "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
      "/etc/ssl/ca-bundle.pem",  // openSUSE
      "/etc/ssl/cert.pem",       // Alpine
  };
  return *places;
}

Status FindCaBundle(const std::vector<std::string>& places, std::string* path) {
  const char* const named = std::getenv("SSL_CERT_FILE");
  if (named != nullptr && *named != '\0') {
    if (access(named, R_OK) == 0) {
      *path = named;
      return OkStatus();
    }
    return NotFound(std::string("the environment's SSL_CERT_FILE (\"") + named +
                    "\") cannot be read: " + std::strerror(errno));
  }
  for (const std::string& place : places) {
    if (access(place.c_str(), R_OK) != 0) continue;
    *path = place;
    return OkStatus();
  }
  return NotFound(
      "there are no certificates to check servers of https:// by: install the "
      "package ca-certificates, or name a file of them in the environment's "
      "SSL_CERT_FILE");
}

}  // namespace liquid
