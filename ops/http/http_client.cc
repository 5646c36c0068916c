#include "ops/http/http_client.h"

#include <curl/curl.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/core/clock.h"
#include "ops/core/condition.h"
#include "ops/http/ca_bundle.h"
#include "ops/http/s3_accesses.h"
#include "ops/http/s3_request.h"
#include "ops/http/transfer.h"
#include "ops/http/url.h"

namespace liquid {
namespace {

// How often what a server gives may be something else than what it was asked
// for.
constexpr int kMostDistrust = 4;
// How often a store may refuse new credentials.
constexpr int kMostRenewals = 3;

bool InitLibraries() {
  static const bool done = [] {
    // Threads still read when the process ends, and a configuration of the
    // machine may name modules for another OpenSSL.
    OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG,
                     nullptr);
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  }();
  return done;
}

uint64_t Room(const HttpRequest& request) {
  uint64_t bytes = 0;
  for (const iovec& segment : request.segments) bytes += segment.iov_len;
  return bytes;
}

}  // namespace

// What runs on the client's thread.
class HttpClient::Loop {
 public:
  explicit Loop(const HttpClientOptions& options)
      : options_(options),
        multi_(curl_multi_init()),
        random_(std::random_device()()),
        accesses_(std::make_unique<S3Accesses>(
            [this] { curl_multi_wakeup(multi_); })) {}
  // The thread must have ended, or never have begun.
  ~Loop() {
    accesses_ = nullptr;  // whose thread wakes what goes now
    curl_multi_cleanup(multi_);
  }

  bool Begin() {
    if (multi_ == nullptr) return false;
    try {
      thread_ = std::thread(&Loop::Run, this);
    } catch (const std::system_error&) {
      return false;
    }
    return true;
  }

  void End() {
    {
      std::lock_guard<std::mutex> lock(mu_);
      closing_ = true;
    }
    curl_multi_wakeup(multi_);
    thread_.join();
  }

  void Start(HttpRequest* request) {
    {
      std::lock_guard<std::mutex> lock(mu_);
      incoming_.push_back(request);
    }
    curl_multi_wakeup(multi_);
  }

 private:
  // A request on its way.
  struct Job {
    HttpRequest* request = nullptr;
    double begun = 0;
    int attempts = 0;
    int distrusted = 0;
    int renewals = 0;
    S3Path s3;                               // empty for other servers
    std::shared_ptr<const S3Access> access;  // that the transfer is signed by
    uint64_t done = 0;                       // bytes from its offset on
    std::unique_ptr<Transfer> transfer;  // null while it waits to be repeated
  };

  void Run() {
    // Signals are the business of the process's other threads. OpenSSL writes
    // to sockets without a flag against SIGPIPE.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    while (TakeIncoming()) {
      StartUnsigned();
      StartDue();
      int running = 0;
      curl_multi_perform(multi_, &running);
      int left = 0;
      while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
        if (message->msg == CURLMSG_DONE) {
          Ended(message->easy_handle, message->data.result);
        }
      }
      curl_multi_poll(multi_, nullptr, 0, Pause(), nullptr);
    }
    due_.clear();
    unsigned_.clear();
    while (!jobs_.empty()) {
      Job* const job = &jobs_.begin()->second;
      Finish(job, Cancelled(job->request->object->name() +
                            ": reading was cancelled"));
    }
  }

  // False: it is to end.
  bool TakeIncoming() {
    std::vector<HttpRequest*> incoming;
    bool closing;
    {
      std::lock_guard<std::mutex> lock(mu_);
      incoming.swap(incoming_);
      closing = closing_;
    }
    for (HttpRequest* const request : incoming) {
      Job* const job = &jobs_[request];
      job->request = request;
      job->begun = MonotonicSeconds();
      due_.emplace(job->begun, job);
    }
    return !closing;
  }

  void StartDue() {
    const double now = MonotonicSeconds();
    while (!due_.empty() && due_.begin()->first <= now) {
      Job* const job = due_.begin()->second;
      due_.erase(due_.begin());
      StartTransfer(job);
    }
  }

  // Those for which credentials may have come.
  void StartUnsigned() {
    std::vector<Job*> jobs;
    jobs.swap(unsigned_);
    for (Job* const job : jobs) StartTransfer(job);
  }

  // False: it waits for credentials, or has ended.
  bool Sign(Job* job, S3Request* signed_request) {
    const std::string& name = job->request->object->name();
    if (job->s3.bucket.empty()) {
      const Status parsed = ParseS3Path(job->request->object->url(), &job->s3);
      if (!parsed.ok()) {
        Finish(job, parsed);
        return false;
      }
    }
    const double now = MonotonicSeconds();
    const Status found = accesses_->Get(job->s3.bucket, now, &job->access);
    if (!found.ok()) {
      const Status status(found.code(), name + ": " + found.message());
      if (status.code() == StatusCode::kUnavailable) {
        Repeat(job, status, 0);
      } else {
        Finish(job, status);
      }
      return false;
    }
    if (job->access == nullptr) {
      if (now > job->begun + job->request->patience) {
        Finish(job, Unavailable(name + ": no credentials came in time"));
      } else {
        unsigned_.push_back(job);
      }
      return false;
    }
    *signed_request = SignGet(*job->access, job->s3.key, std::time(nullptr));
    return true;
  }

  void StartTransfer(Job* job) {
    const HttpRequest& request = *job->request;
    ByteRange wanted = {request.offset + job->done,
                        request.offset + Room(request)};
    const std::optional<uint64_t> size = request.object->size();
    if (size) wanted.end = std::min(wanted.end, *size);
    if (wanted.begin >= wanted.end) return Finish(job, OkStatus());
    const bool is_s3 = IsS3Url(request.object->url());
    S3Request s3;
    if (is_s3 && !Sign(job, &s3)) return;
    TransferOptions options = {options_.connect_seconds, options_.stall_seconds,
                               ""};
    const Status found = FindCaBundle(SystemCaBundles(), &options.ca_bundle);
    if (!found.ok() && IsHttpsUrl(is_s3 ? s3.url : request.object->url())) {
      return Finish(job,
                    NotFound(request.object->name() + ": " + found.message()));
    }
    job->transfer = std::make_unique<Transfer>(request, wanted, options,
                                               is_s3 ? &s3 : nullptr);
    CURL* const handle = job->transfer->handle();
    if (handle == nullptr) {
      job->transfer = nullptr;
      return Finish(job, Unavailable(request.object->name() +
                                     ": no memory for a request"));
    }
    transfers_[handle] = job;
    curl_multi_add_handle(multi_, handle);
  }

  void Drop(Job* job) {
    if (job->transfer == nullptr) return;
    CURL* const handle = job->transfer->handle();
    curl_multi_remove_handle(multi_, handle);
    transfers_.erase(handle);
    job->transfer = nullptr;
  }

  void Ended(CURL* handle, CURLcode code) {
    Job* const job = transfers_.at(handle);
    Transfer* const transfer = job->transfer.get();
    const Judgement judgement = transfer->Ended(code);
    const double asked_to_wait = transfer->retry_after();
    // What came before a connection broke need not come again.
    if (judgement.verdict == Verdict::kTake ||
        judgement.verdict == Verdict::kRetry) {
      job->done += transfer->received();
    }
    Drop(job);
    switch (judgement.verdict) {
      case Verdict::kTake:
      case Verdict::kFail:
        return Finish(job, judgement.status);
      case Verdict::kDistrust:
        if (++job->distrusted == kMostDistrust) {
          return Finish(job, judgement.status);
        }
        break;
      case Verdict::kRenew:
        if (job->renewals++ == kMostRenewals) {
          return Finish(job, judgement.status);
        }
        accesses_->Renew(job->s3.bucket, job->access);
        break;
      case Verdict::kRetry:
        break;
    }
    Repeat(job, judgement.status, asked_to_wait);
  }

  void Repeat(Job* job, const Status& why, double asked_to_wait) {
    const double now = MonotonicSeconds();
    const double due = now + RetryDelay(options_.delays, ++job->attempts,
                                        random_(), asked_to_wait);
    if (due > job->begun + job->request->patience) {
      const std::string seconds = std::to_string(std::lround(now - job->begun));
      return Finish(job,
                    Status(why.code(), why.message() + " (the last of " +
                                           std::to_string(job->attempts) +
                                           " attempts in " + seconds + " s)"));
    }
    ++job->request->retries;
    due_.emplace(due, job);
  }

  void Finish(Job* job, const Status& status) {
    Drop(job);
    HttpRequest* const request = job->request;
    request->status = status;
    request->bytes = job->done;
    jobs_.erase(request);
    // Whoever waits for it may destroy the request meanwhile.
    const std::function<void()> done = std::move(request->done);
    done();
  }

  // Milliseconds until something is to be done without an event.
  int Pause() const {
    if (due_.empty()) return unsigned_.empty() ? 60'000 : 1'000;
    const double seconds = due_.begin()->first - MonotonicSeconds();
    return static_cast<int>(std::min(60., std::max(0., seconds)) * 1000) + 1;
  }

  const HttpClientOptions options_;
  CURLM* const multi_;
  std::mt19937 random_;
  std::unordered_map<HttpRequest*, Job> jobs_;
  std::unordered_map<CURL*, Job*> transfers_;
  std::multimap<double, Job*> due_;  // those that wait, by when they begin
  std::vector<Job*> unsigned_;       // those that wait for credentials
  std::unique_ptr<S3Accesses> accesses_;
  std::thread thread_;

  std::mutex mu_;
  std::vector<HttpRequest*> incoming_;  // guarded by mu_
  bool closing_ = false;                // guarded by mu_
};

HttpClient::HttpClient(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

HttpClient::~HttpClient() { loop_->End(); }

Status HttpClient::Make(const HttpClientOptions& options,
                        std::unique_ptr<HttpClient>* client) {
  if (InitLibraries()) {
    auto loop = std::make_unique<Loop>(options);
    if (loop->Begin()) {
      client->reset(new HttpClient(std::move(loop)));
      return OkStatus();
    }
  }
  return Unavailable("the system has no thread or memory to read over HTTP");
}

Status HttpClient::Process(HttpClient** client) {
  static std::atomic<HttpClient*> shared{nullptr};
  // A forked child has none of the threads.
  static const int registered [[maybe_unused]] =
      pthread_atfork(nullptr, nullptr, [] { shared.store(nullptr); });
  *client = shared.load();
  if (*client != nullptr) return OkStatus();
  std::unique_ptr<HttpClient> made;
  LIQUID_RETURN_IF_ERROR(Make(HttpClientOptions(), &made));
  // Null still, or what another thread has made meanwhile.
  if (shared.compare_exchange_strong(*client, made.get())) {
    *client = made.release();
  }
  return OkStatus();
}

void HttpClient::Start(HttpRequest* request) { loop_->Start(request); }

void HttpClient::Read(HttpRequest* request) {
  std::mutex mu;
  Condition changed;
  bool ended = false;
  request->done = [&] {
    std::lock_guard<std::mutex> lock(mu);
    ended = true;
    changed.NotifyAll();
  };
  Start(request);
  std::unique_lock<std::mutex> lock(mu);
  changed.Wait(lock, [&] { return ended; });
}

Status HttpClient::Size(const std::shared_ptr<RemoteObject>& object,
                        double patience, uint64_t* size) {
  if (!object->size()) {
    char first;
    HttpRequest request;
    request.object = object;
    request.segments = {{&first, 1}};
    request.patience = patience;
    Read(&request);
    LIQUID_RETURN_IF_ERROR(request.status);
  }
  if (!object->size()) {
    return Unimplemented(object->name() +
                         ": the server does not tell the file's size");
  }
  *size = *object->size();
  return OkStatus();
}

}  // namespace liquid
