// The certificates that servers of https:// are checked against.
#ifndef LIQUID_OPS_HTTP_CA_BUNDLE_H_
#define LIQUID_OPS_HTTP_CA_BUNDLE_H_

#include <string>
#include <vector>

#include "ops/core/status.h"

namespace liquid {

// Where systems keep theirs.
const std::vector<std::string>& SystemCaBundles();

// The file that the environment's SSL_CERT_FILE names, else the first of
// `places` that can be read. Error: NotFound, which says what to do.
Status FindCaBundle(const std::vector<std::string>& places, std::string* path);

}  // namespace liquid

#endif  // LIQUID_OPS_HTTP_CA_BUNDLE_H_
