#include "ops/reader/http_file.h"

#include <functional>
#include <utility>
#include <vector>

#include "ops/http/http_client.h"
#include "ops/http/url.h"

namespace liquid {
namespace {

class HttpFile : public RandomFile {
 public:
  HttpFile(const std::string& url, double patience)
      : object_(std::make_shared<RemoteObject>(url)), patience_(patience) {}

  Status ReadInto(uint64_t offset, const std::vector<iovec>& segments,
                  ReadCount* count) const override {
    HttpClient* client = nullptr;
    LIQUID_RETURN_IF_ERROR(HttpClient::Process(&client));
    HttpRequest request = Request(offset, segments);
    client->Read(&request);
    Count(request, count);
    return request.status;
  }

  Status Size(uint64_t* size) const {
    HttpClient* client = nullptr;
    LIQUID_RETURN_IF_ERROR(HttpClient::Process(&client));
    return client->Size(object_, patience_, size);
  }

  bool asynchronous() const override { return true; }
  void Start(uint64_t offset, const std::vector<iovec>& segments,
             ReadCount* count, Status* status,
             std::function<void()> done) const override {
    HttpClient* client = nullptr;
    *status = HttpClient::Process(&client);
    if (!status->ok()) return done();
    // It owns itself until it has ended.
    auto request = std::make_shared<HttpRequest>(Request(offset, segments));
    request->done = [request, count, status, done = std::move(done)] {
      Count(*request, count);
      *status = request->status;
      done();
    };
    client->Start(request.get());
  }

  bool remote() const override { return true; }
  bool persistent() const override { return true; }
  const char* method() const override {
    return IsS3Url(object_->url()) ? "s3" : "http";
  }
  const std::string& path() const override { return object_->name(); }

 private:
  HttpRequest Request(uint64_t offset,
                      const std::vector<iovec>& segments) const {
    HttpRequest request;
    request.object = object_;
    request.offset = offset;
    request.segments = segments;
    request.patience = patience_;
    return request;
  }
  static void Count(const HttpRequest& request, ReadCount* count) {
    count->bytes = count->disk_bytes = request.bytes;
    count->retries += request.retries;
  }

  const std::shared_ptr<RemoteObject> object_;
  const double patience_;
};

}  // namespace

Status OpenHttpFile(const std::string& url, double patience,
                    std::unique_ptr<RandomFile>* file) {
  *file = std::make_unique<HttpFile>(url, patience);
  return OkStatus();
}

Status OpenHttpFile(const std::string& url, double patience,
                    std::unique_ptr<RandomFile>* file, uint64_t* size) {
  auto opened = std::make_unique<HttpFile>(url, patience);
  LIQUID_RETURN_IF_ERROR(opened->Size(size));
  *file = std::move(opened);
  return OkStatus();
}

}  // namespace liquid
