// What the thread of an HttpClient does: it keeps all requests on their way.
#ifndef LIQUID_OPS_HTTP_HTTP_LOOP_H_
#define LIQUID_OPS_HTTP_HTTP_LOOP_H_

#include <curl/curl.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

#include "ops/core/status.h"
#include "ops/http/answer.h"
#include "ops/http/hedge_policy.h"
#include "ops/http/http_client.h"
#include "ops/http/http_request.h"
#include "ops/http/receive_turns.h"
#include "ops/http/request_limit.h"
#include "ops/http/s3_accesses.h"
#include "ops/http/s3_request.h"
#include "ops/http/transfer.h"

namespace liquid {

// libcurl must be initialized. BeginThread, End and Start may be called by any
// thread; all else runs on the loop's.
class HttpLoop {
 public:
  explicit HttpLoop(const HttpClientOptions& options);
  // The thread must have ended, or never have begun.
  ~HttpLoop();
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  // False: the system gives no thread or no memory.
  bool BeginThread();
  // Ends requests that are under way as Cancelled, and the thread.
  void End();
  // Takes a request and returns at once.
  void Start(HttpRequest* request);

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
    uint64_t number = 0;
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

  void Run();
  // False: it is to end.
  bool TakeIncoming();
  // Requests that have not begun, as far as the limit allows.
  void StartNew();
  void StartDue();
  // Those for which credentials may have come.
  void StartUnsigned();
  // False: it waits for credentials, or has ended.
  bool Sign(Job* job, S3Request* signed_request);
  void StartTransfer(Job* job);
  Status MakeTransfer(const HttpRequest& request, const ByteRange& wanted,
                      const S3Request* s3,
                      const std::function<bool()>& may_receive,
                      std::unique_ptr<Transfer>* made);
  void Begin(Job* job, const Transfer& transfer);
  // Asks a second time for what is among the slowest.
  void AskAgain();
  void AskAgain(Job* job, const ByteRange& wanted);
  // Goes on with answers that have waited for their turn.
  void TakeTurns();
  void Ended(CURL* handle, CURLcode code);
  // What the second request gives is taken where it is right, and the first
  // ended then.
  void SecondEnded(Job* job, CURLcode code);
  void Repeat(Job* job, const Status& why, double asked_to_wait);
  void Drop(Job* job);
  void Drop(std::unique_ptr<Transfer>* transfer);
  void DropSecond(Job* job);
  void Finish(Job* job, const Status& status);
  // Milliseconds until something is to be done without an event.
  int Pause() const;

  const HttpClientOptions options_;
  CURLM* const multi_;
  std::mt19937 random_;
  uint64_t last_number_ = 0;
  std::unordered_map<uint64_t, Job> jobs_;  // by number
  std::unordered_map<CURL*, Job*> transfers_;
  std::deque<Job*> new_;             // those that have not begun
  std::multimap<double, Job*> due_;  // those to repeat, by when they begin
  std::vector<Job*> unsigned_;       // those that wait for credentials
  HedgePolicy hedges_;
  RequestLimit limit_;
  double looked_ = 0;  // for those that are slow
  ReceiveTurns turns_;
  std::unique_ptr<S3Accesses> accesses_;
  std::thread thread_;

  std::mutex mu_;
  std::vector<HttpRequest*> incoming_;  // guarded by mu_
  bool closing_ = false;                // guarded by mu_
};

}  // namespace liquid

#endif  // LIQUID_OPS_HTTP_HTTP_LOOP_H_
