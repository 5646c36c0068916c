#include "ops/http/http_client.h"

#include <curl/curl.h>
#include <openssl/ssl.h>
#include <pthread.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "ops/core/condition.h"
#include "ops/http/http_loop.h"

namespace liquid {
namespace {

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

}  // namespace

HttpClient::HttpClient(std::unique_ptr<HttpLoop> loop)
    : loop_(std::move(loop)) {}

HttpClient::~HttpClient() { loop_->End(); }

Status HttpClient::Make(const HttpClientOptions& options,
                        std::unique_ptr<HttpClient>* client) {
  if (InitLibraries()) {
    auto loop = std::make_unique<HttpLoop>(options);
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
