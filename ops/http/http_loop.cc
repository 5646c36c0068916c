#include "ops/http/http_loop.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "ops/core/clock.h"
#include "ops/http/ca_bundle.h"
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

HttpLoop::HttpLoop(const HttpClientOptions& options)
    : options_(options),
      multi_(curl_multi_init()),
      random_(std::random_device()()),
      accesses_(
          std::make_unique<S3Accesses>([this] { curl_multi_wakeup(multi_); })) {
}

HttpLoop::~HttpLoop() {
  accesses_ = nullptr;  // whose thread wakes what goes now
  curl_multi_cleanup(multi_);
}

bool HttpLoop::BeginThread() {
  if (multi_ == nullptr) return false;
  try {
    thread_ = std::thread(&HttpLoop::Run, this);
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void HttpLoop::End() {
  {
    std::lock_guard<std::mutex> lock(mu_);
    closing_ = true;
  }
  curl_multi_wakeup(multi_);
  thread_.join();
}

void HttpLoop::Start(HttpRequest* request) {
  {
    std::lock_guard<std::mutex> lock(mu_);
    incoming_.push_back(request);
  }
  curl_multi_wakeup(multi_);
}

void HttpLoop::Run() {
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
    TakeTurns();
    if (transfers_.empty()) limit_.Idle();
    StartNew();
    curl_multi_poll(multi_, nullptr, 0, Pause(), nullptr);
  }
  new_.clear();
  due_.clear();
  unsigned_.clear();
  while (!jobs_.empty()) {
    Job* const job = &jobs_.begin()->second;
    Finish(job,
           Cancelled(job->request->object->name() + ": reading was cancelled"));
  }
}

bool HttpLoop::TakeIncoming() {
  std::vector<HttpRequest*> incoming;
  bool closing;
  {
    std::lock_guard<std::mutex> lock(mu_);
    incoming.swap(incoming_);
    closing = closing_;
  }
  for (HttpRequest* const request : incoming) {
    Job* const job = &jobs_[++last_number_];
    job->number = last_number_;
    job->request = request;
    new_.push_back(job);
  }
  return !closing;
}

void HttpLoop::StartNew() {
  while (!new_.empty() && transfers_.size() < limit_.most()) {
    Job* const job = new_.front();
    new_.pop_front();
    job->begun = MonotonicSeconds();
    StartTransfer(job);
  }
}

void HttpLoop::StartDue() {
  const double now = MonotonicSeconds();
  while (!due_.empty() && due_.begin()->first <= now) {
    Job* const job = due_.begin()->second;
    due_.erase(due_.begin());
    StartTransfer(job);
  }
}

void HttpLoop::StartUnsigned() {
  std::vector<Job*> jobs;
  jobs.swap(unsigned_);
  for (Job* const job : jobs) StartTransfer(job);
}

bool HttpLoop::Sign(Job* job, S3Request* signed_request) {
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

void HttpLoop::StartTransfer(Job* job) {
  const HttpRequest& request = *job->request;
  ByteRange wanted = {request.offset + job->done,
                      request.offset + Room(request)};
  const std::optional<uint64_t> size = request.object->size();
  if (size) wanted.end = std::min(wanted.end, *size);
  if (wanted.begin >= wanted.end) return Finish(job, OkStatus());
  const bool is_s3 = IsS3Url(request.object->url());
  S3Request s3;
  if (is_s3 && !Sign(job, &s3)) return;
  const auto may_receive = [this, number = job->number] {
    return turns_.Begin(number, MonotonicSeconds());
  };
  const Status made = MakeTransfer(request, wanted, is_s3 ? &s3 : nullptr,
                                   may_receive, &job->transfer);
  if (!made.ok()) return Finish(job, made);
  job->asked = MonotonicSeconds();
  job->doubled = false;
  Begin(job, *job->transfer);
}

Status HttpLoop::MakeTransfer(const HttpRequest& request,
                              const ByteRange& wanted, const S3Request* s3,
                              const std::function<bool()>& may_receive,
                              std::unique_ptr<Transfer>* made) {
  const std::string& name = request.object->name();
  TransferOptions options = {options_.connect_seconds, options_.stall_seconds,
                             "", may_receive};
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

void HttpLoop::Begin(Job* job, const Transfer& transfer) {
  transfers_[transfer.handle()] = job;
  curl_multi_add_handle(multi_, transfer.handle());
}

void HttpLoop::AskAgain() {
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

void HttpLoop::AskAgain(Job* job, const ByteRange& wanted) {
  auto second = std::make_unique<Second>();
  second->memory.resize(wanted.end - wanted.begin);
  second->request.object = job->request->object;
  second->request.offset = wanted.begin;
  second->request.segments = {{second->memory.data(), second->memory.size()}};
  S3Request s3;
  const bool is_s3 = job->access != nullptr;
  if (is_s3) s3 = SignGet(*job->access, job->s3.key, std::time(nullptr));
  const Status made =
      MakeTransfer(second->request, wanted, is_s3 ? &s3 : nullptr,
                   /*may_receive=*/nullptr, &second->transfer);
  if (!made.ok()) return;  // the first is still there
  job->doubled = true;
  job->second = std::move(second);
  Begin(job, *job->second->transfer);
}

void HttpLoop::Drop(std::unique_ptr<Transfer>* transfer) {
  if (*transfer == nullptr) return;
  CURL* const handle = (*transfer)->handle();
  curl_multi_remove_handle(multi_, handle);
  transfers_.erase(handle);
  *transfer = nullptr;
}

void HttpLoop::DropSecond(Job* job) {
  if (job->second == nullptr) return;
  Drop(&job->second->transfer);
  job->second = nullptr;
}

void HttpLoop::Drop(Job* job) {
  DropSecond(job);
  Drop(&job->transfer);
  turns_.End(job->number);
}

void HttpLoop::TakeTurns() {
  while (const std::optional<uint64_t> number =
             turns_.Next(MonotonicSeconds())) {
    CURL* const handle = jobs_.at(*number).transfer->handle();
    const CURLcode code = curl_easy_pause(handle, CURLPAUSE_CONT);
    if (code != CURLE_OK) Ended(handle, code);
  }
}

void HttpLoop::SecondEnded(Job* job, CURLcode code) {
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

void HttpLoop::Ended(CURL* handle, CURLcode code) {
  Job* const job = transfers_.at(handle);
  Transfer* const transfer = job->transfer.get();
  if (handle != transfer->handle()) return SecondEnded(job, code);
  if (transfer->answered() != 0) {
    hedges_.Answered(transfer->answered() - job->asked);
    limit_.Answered(transfer->answered() - job->asked, MonotonicSeconds());
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

void HttpLoop::Repeat(Job* job, const Status& why, double asked_to_wait) {
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

void HttpLoop::Finish(Job* job, const Status& status) {
  Drop(job);
  HttpRequest* const request = job->request;
  request->status = status;
  request->bytes = job->done;
  jobs_.erase(job->number);
  // Whoever waits for it may destroy the request meanwhile.
  const std::function<void()> done = std::move(request->done);
  done();
}

int HttpLoop::Pause() const {
  double seconds = 60;
  if (!due_.empty()) {
    seconds = std::min(seconds, due_.begin()->first - MonotonicSeconds());
  } else if (!unsigned_.empty()) {
    seconds = 1;
  }
  if (const auto wait = turns_.wait(MonotonicSeconds())) {
    seconds = std::min(seconds, *wait);
  }
  if (hedges_.limit() && !transfers_.empty()) {
    seconds = std::min(seconds, std::max(kLook, *hedges_.limit() / 4));
  }
  return static_cast<int>(std::max(0., seconds) * 1000) + 1;
}

}  // namespace liquid
