#include "ops/http/remote_object.h"

#include <utility>

#include "ops/http/url.h"

namespace liquid {
namespace {

std::string Describe(const ObjectVersion& version) {
  return "ETag " + (version.etag.empty() ? "unknown" : version.etag) + ", of " +
         (version.last_modified.empty() ? "no date" : version.last_modified) +
         ", " + (version.size ? std::to_string(*version.size) : "unknown") +
         " bytes";
}

bool Differ(const ObjectVersion& one, const ObjectVersion& other) {
  if (one.size && other.size && one.size != other.size) return true;
  if (!one.etag.empty() && !other.etag.empty()) return one.etag != other.etag;
  return !one.last_modified.empty() && !other.last_modified.empty() &&
         one.last_modified != other.last_modified;
}

}  // namespace

RemoteObject::RemoteObject(std::string url)
    : url_(std::move(url)), name_(PublicPath(url_)) {}

Status RemoteObject::Accept(const ObjectVersion& version) {
  std::lock_guard<std::mutex> lock(mu_);
  if (Differ(first_, version)) {
    return DataLoss(name_ +
                    ": has changed on the server since it was opened (" +
                    Describe(first_) + "; now " + Describe(version) +
                    "): files of a dataset must not change; open it again");
  }
  if (first_.etag.empty()) first_.etag = version.etag;
  if (first_.last_modified.empty())
    first_.last_modified = version.last_modified;
  if (!first_.size) first_.size = version.size;
  return OkStatus();
}

std::optional<uint64_t> RemoteObject::size() const {
  std::lock_guard<std::mutex> lock(mu_);
  return first_.size;
}

std::string RemoteObject::condition() const {
  std::lock_guard<std::mutex> lock(mu_);
  // A weak one begins with W/.
  return !first_.etag.empty() && first_.etag[0] == '"' ? first_.etag : "";
}

}  // namespace liquid
