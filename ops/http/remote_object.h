// A file on a server, as its first answer describes it.
#ifndef LIQUID_OPS_HTTP_REMOTE_OBJECT_H_
#define LIQUID_OPS_HTTP_REMOTE_OBJECT_H_

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "ops/core/status.h"

namespace liquid {

// What an answer says of the file that it is about; empty where it does not.
struct ObjectVersion {
  std::string etag;
  std::string last_modified;
  std::optional<uint64_t> size;
};

// Thread-safe. The first version is kept: answers about another one are errors,
// so that all that is read through an object is of one file.
class RemoteObject {
 public:
  explicit RemoteObject(std::string url);

  // May hold secrets; never for a message.
  const std::string& url() const { return url_; }
  // For messages.
  const std::string& name() const { return name_; }

  // Compares what both have: by the date only where there is no ETag. What was
  // not known is known from now on. Error: DataLoss for another version.
  Status Accept(const ObjectVersion& version);
  // None before the first answer that tells.
  std::optional<uint64_t> size() const;
  // The ETag that the server is to compare itself, which it can do with strong
  // ones; else empty.
  std::string condition() const;

 private:
  const std::string url_;
  const std::string name_;
  mutable std::mutex mu_;
  ObjectVersion first_;  // guarded by mu_
};

}  // namespace liquid

#endif  // LIQUID_OPS_HTTP_REMOTE_OBJECT_H_
