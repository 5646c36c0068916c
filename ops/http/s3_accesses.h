// What an HttpClient signs its requests to stores of S3 with.
#ifndef LIQUID_OPS_HTTP_S3_ACCESSES_H_
#define LIQUID_OPS_HTTP_S3_ACCESSES_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "ops/core/condition.h"
#include "ops/core/status.h"
#include "ops/http/s3_request.h"

namespace liquid {

// Asks the process's provider on a thread of its own, which begins with the
// first bucket: a provider may wait, and nobody who reads waits with it while
// what it gave last still serves.
//
// Thread-safe. The destructor waits for a provider that is being called.
class S3Accesses {
 public:
  // `changed` is called by the thread, after each answer.
  explicit S3Accesses(std::function<void()> changed);
  ~S3Accesses();
  S3Accesses(const S3Accesses&) = delete;
  S3Accesses& operator=(const S3Accesses&) = delete;

  // The access to a bucket at `now`, a monotonic time in seconds. Null and OK:
  // it is being asked for. Errors: those of AskForS3Access, for a second.
  Status Get(const std::string& bucket, double now,
             std::shared_ptr<const S3Access>* access);
  // The store does not accept `refused`: the next Get gives another one.
  void Renew(const std::string& bucket,
             const std::shared_ptr<const S3Access>& refused);

 private:
  struct Entry {
    std::shared_ptr<const S3Access> access;
    Status problem;
    double asked = 0;     // when the last answer came
    bool asking = false;  // it is in queue_, or the provider is called
    bool renew = false;
  };

  void Run();

  const std::function<void()> changed_;
  std::thread thread_;

  std::mutex mu_;
  Condition wanted_;
  // Guarded by mu_.
  std::map<std::string, Entry> entries_;
  std::deque<std::string> queue_;
  bool closing_ = false;
};

}  // namespace liquid

#endif  // LIQUID_OPS_HTTP_S3_ACCESSES_H_
