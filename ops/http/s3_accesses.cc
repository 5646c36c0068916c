#include "ops/http/s3_accesses.h"

#include <signal.h>

#include <system_error>
#include <utility>

#include "ops/core/clock.h"
#include "ops/http/s3_provider.h"

namespace liquid {
namespace {

// Seconds. botocore gives credentials that hold for ten minutes at least, where
// their source gives such.
constexpr double kFresh = 240;
constexpr double kProblem = 1;

}  // namespace

S3Accesses::S3Accesses(std::function<void()> changed)
    : changed_(std::move(changed)) {}

S3Accesses::~S3Accesses() {
  {
    std::lock_guard<std::mutex> lock(mu_);
    closing_ = true;
    wanted_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

Status S3Accesses::Get(const std::string& bucket, double now,
                       std::shared_ptr<const S3Access>* access) {
  std::lock_guard<std::mutex> lock(mu_);
  Entry& entry = entries_[bucket];
  *access = entry.access;
  const double age = now - entry.asked;
  if (entry.access != nullptr && age < kFresh) return OkStatus();
  if (!entry.problem.ok() && age < kProblem) {
    return entry.problem;
  }
  if (entry.asking) return OkStatus();
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread(&S3Accesses::Run, this);
    } catch (const std::system_error&) {
      return Unavailable("the system has no thread to ask for credentials");
    }
  }
  entry.asking = true;
  queue_.push_back(bucket);
  wanted_.NotifyOne();
  return OkStatus();
}

void S3Accesses::Renew(const std::string& bucket,
                       const std::shared_ptr<const S3Access>& refused) {
  std::lock_guard<std::mutex> lock(mu_);
  Entry& entry = entries_[bucket];
  // Of requests that were refused together, the first one is enough.
  if (entry.access != refused) return;
  entry.access = nullptr;
  entry.renew = true;
}

void S3Accesses::Run() {
  // As the client's thread.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::unique_lock<std::mutex> lock(mu_);
  while (true) {
    wanted_.Wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (closing_) return;
    const std::string bucket = queue_.front();
    queue_.pop_front();
    const bool renew = std::exchange(entries_[bucket].renew, false);
    lock.unlock();
    auto access = std::make_shared<S3Access>();
    const Status status = AskForS3Access(bucket, renew, access.get());
    lock.lock();
    Entry& entry = entries_[bucket];
    entry.asking = false;
    entry.asked = MonotonicSeconds();
    entry.problem = status;
    if (status.ok()) {
      entry.access = std::move(access);
    } else {
      entry.renew = entry.renew || renew;
    }
    lock.unlock();
    changed_();
    lock.lock();
  }
}

}  // namespace liquid
