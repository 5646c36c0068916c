#include "ops/http/http_client.h"

#include <curl/curl.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
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
#include "ops/http/hedge_policy.h"
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
// Of a request that is asked for a second time, which takes memory of its own.
constexpr uint64_t kMostHedged = uint64_t{32} << 20;
// Seconds between two looks for those that are slow, at least.
constexpr double kLook = .01;

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

// Copies to the bytes of segments from `place` on.
void Scatter(const char* from, size_t size, size_t place,
             const std::vector<iovec>& segments) {
  for (const iovec& segment : segments) {
    if (place >= segment.iov_len) {
      place -= segment.iov_len;
      continue;
    }
    const size_t part = std::min(size, segment.iov_len - place);
    std::memcpy(static_cast<char*>(segment.iov_base) + place, from, part);
    from += part;
    size -= part;
    place = 0;
    if (size == 0) return;
  }
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

  bool BeginThread() {
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
  // A second request for what the first has not answered. It has memory of its
  // own, so that only one of them writes the reader's.
  struct Second {
    std::vector<char> memory;
    HttpRequest request;
    std::unique_ptr<Transfer> transfer;
  };

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
    double asked = 0;                    // when that began
    bool doubled = false;                // it was asked for a second time
    std::unique_ptr<Second> second;      // null for most
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
      AskAgain();
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
    const Status made =
        MakeTransfer(request, wanted, is_s3 ? &s3 : nullptr, &job->transfer);
    if (!made.ok()) return Finish(job, made);
    job->asked = MonotonicSeconds();
    job->doubled = false;
    Begin(job, *job->transfer);
  }

  Status MakeTransfer(const HttpRequest& request, const ByteRange& wanted,
                      const S3Request* s3, std::unique_ptr<Transfer>* made) {
    const std::string& name = request.object->name();
    TransferOptions options = {options_.connect_seconds, options_.stall_seconds,
                               ""};
    const Status found = FindCaBundle(SystemCaBundles(), &options.ca_bundle);
    const std::string& url = s3 != nullptr ? s3->url : request.object->url();
    if (!found.ok() && IsHttpsUrl(url)) {
      return NotFound(name + ": " + found.message());
    }
    auto transfer = std::make_unique<Transfer>(request, wanted, options, s3);
    if (transfer->handle() == nullptr) {
      return Unavailable(name + ": no memory for a request");
    }
    *made = std::move(transfer);
    return OkStatus();
  }

  void Begin(Job* job, const Transfer& transfer) {
    transfers_[transfer.handle()] = job;
    curl_multi_add_handle(multi_, transfer.handle());
  }

  // Asks a second time for what is among the slowest.
  void AskAgain() {
    const std::optional<double> limit = hedges_.limit();
    const double now = MonotonicSeconds();
    if (!limit || now < looked_ + kLook) return;
    looked_ = now;
    std::vector<Job*> slow;
    for (const auto& [handle, job] : transfers_) {
      if (!job->doubled && job->transfer->answered() == 0 &&
          now > job->asked + *limit) {
        slow.push_back(job);
      }
    }
    for (Job* const job : slow) {
      const ByteRange& wanted = job->transfer->wanted();
      if (wanted.end - wanted.begin > kMostHedged) continue;
      if (!hedges_.Take()) return;
      AskAgain(job, wanted);
    }
  }

  void AskAgain(Job* job, const ByteRange& wanted) {
    auto second = std::make_unique<Second>();
    second->memory.resize(wanted.end - wanted.begin);
    second->request.object = job->request->object;
    second->request.offset = wanted.begin;
    second->request.segments = {{second->memory.data(), second->memory.size()}};
    S3Request s3;
    const bool is_s3 = job->access != nullptr;
    if (is_s3) s3 = SignGet(*job->access, job->s3.key, std::time(nullptr));
    const Status made = MakeTransfer(second->request, wanted,
                                     is_s3 ? &s3 : nullptr, &second->transfer);
    if (!made.ok()) return;  // the first is still there
    job->doubled = true;
    job->second = std::move(second);
    Begin(job, *job->second->transfer);
  }

  void Drop(std::unique_ptr<Transfer>* transfer) {
    if (*transfer == nullptr) return;
    CURL* const handle = (*transfer)->handle();
    curl_multi_remove_handle(multi_, handle);
    transfers_.erase(handle);
    *transfer = nullptr;
  }

  void DropSecond(Job* job) {
    if (job->second == nullptr) return;
    Drop(&job->second->transfer);
    job->second = nullptr;
  }

  void Drop(Job* job) {
    DropSecond(job);
    Drop(&job->transfer);
  }

  // What the second request gives is taken where it is right, and the first
  // ended then.
  void SecondEnded(Job* job, CURLcode code) {
    Transfer* const transfer = job->second->transfer.get();
    const Judgement judgement = transfer->Ended(code);
    if (judgement.verdict != Verdict::kTake) return DropSecond(job);
    hedges_.Answered(MonotonicSeconds() - job->asked);
    Scatter(job->second->memory.data(), transfer->received(), job->done,
            job->request->segments);
    job->done += transfer->received();
    Drop(job);
    Finish(job, judgement.status);
  }

  void Ended(CURL* handle, CURLcode code) {
    Job* const job = transfers_.at(handle);
    Transfer* const transfer = job->transfer.get();
    if (handle != transfer->handle()) return SecondEnded(job, code);
    if (transfer->answered() != 0) {
      hedges_.Answered(transfer->answered() - job->asked);
    }
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
    double seconds = 60;
    if (!due_.empty()) {
      seconds = std::min(seconds, due_.begin()->first - MonotonicSeconds());
    } else if (!unsigned_.empty()) {
      seconds = 1;
    }
    if (hedges_.limit() && !transfers_.empty()) {
      seconds = std::min(seconds, std::max(kLook, *hedges_.limit() / 4));
    }
    return static_cast<int>(std::max(0., seconds) * 1000) + 1;
  }

  const HttpClientOptions options_;
  CURLM* const multi_;
  std::mt19937 random_;
  std::unordered_map<HttpRequest*, Job> jobs_;
  std::unordered_map<CURL*, Job*> transfers_;
  std::multimap<double, Job*> due_;  // those that wait, by when they begin
  std::vector<Job*> unsigned_;       // those that wait for credentials
  HedgePolicy hedges_;
  double looked_ = 0;  // for those that are slow
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
    if (loop->BeginThread()) {
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
