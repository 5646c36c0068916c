// A read of a file on a server.
#ifndef LIQUID_OPS_HTTP_HTTP_REQUEST_H_
#define LIQUID_OPS_HTTP_HTTP_REQUEST_H_

#include <sys/uio.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "ops/core/status.h"
#include "ops/http/remote_object.h"

namespace liquid {

// Consecutive bytes, into memory of the caller's. The caller owns it, and keeps
// it and the memory until `done` is called.
struct HttpRequest {
  std::shared_ptr<RemoteObject> object;
  uint64_t offset = 0;
  std::vector<iovec> segments;
  double patience = 120;       // seconds in which what fails is repeated
  std::function<void()> done;  // called by another thread; must not wait

  // What came of it.
  Status status;
  uint64_t bytes = 0;    // that were read; fewer than there is room for only at
                         // the file's end, or after an error
  uint64_t retries = 0;  // requests that had to be repeated
};

}  // namespace liquid

#endif  // LIQUID_OPS_HTTP_HTTP_REQUEST_H_
