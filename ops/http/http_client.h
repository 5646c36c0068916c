// Reads files over HTTP and HTTPS, and of stores of S3, many at once, on a
// thread of its own.
#ifndef LIQUID_OPS_HTTP_HTTP_CLIENT_H_
#define LIQUID_OPS_HTTP_HTTP_CLIENT_H_

#include <memory>

#include "ops/core/status.h"
#include "ops/http/http_request.h"
#include "ops/http/retry_delay.h"

namespace liquid {

class HttpLoop;

struct HttpClientOptions {
  double connect_seconds = 10;  // for a connection, TLS included
  int stall_seconds = 15;       // at under 1 KB/s, until an answer is given up
  RetryDelays delays;
};

// Keeps connections for later requests. What passes, such as a broken
// connection, 429 or 5xx, is repeated while the request's patience lasts, from
// the byte on that is missing; what is among the slowest per cent is asked for
// a second time (hedge_policy.h); a few answers are received at a time
// (receive_turns.h); proxies are those of the environment. Each
// request to s3://bucket/key is signed anew, by what the process's provider
// gives (s3_provider.h), which is asked again where the store refuses that.
//
// Thread-safe. The destructor ends requests that are under way as Cancelled.
class HttpClient {
 public:
  // Error: Unavailable where the system gives no thread or no memory.
  static Status Make(const HttpClientOptions& options,
                     std::unique_ptr<HttpClient>* client);
  // That of the process, which is never destroyed; a forked child has its own.
  static Status Process(HttpClient** client);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Returns at once. Ends by the request's `done`: when it is begun, as soon as
  // others leave room, within its patience and what the last attempt takes.
  // Errors, each with the file and what to do:
  // NotFound; DataLoss for a file that has changed, or answers that are not
  // what was asked for; Unavailable where the patience ended; Unimplemented for
  // a server without ranges; Cancelled; Internal for what else it refuses.
  void Start(HttpRequest* request);
  // The same, and waits; `done` is not called.
  void Read(HttpRequest* request);
  // The size of a file, by a read of its first byte where it is not known.
  // Error: also Unimplemented for a server that does not tell.
  Status Size(const std::shared_ptr<RemoteObject>& object, double patience,
              uint64_t* size);

 private:
  explicit HttpClient(std::unique_ptr<HttpLoop> loop);
  const std::unique_ptr<HttpLoop> loop_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_HTTP_HTTP_CLIENT_H_
