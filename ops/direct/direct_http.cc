#include "ops/direct/direct_http.h"

#include <memory>
#include <new>

#include "ops/direct/problem.h"
#include "ops/http/http_client.h"

struct LiquidHttpFile {
  std::shared_ptr<liquid::RemoteObject> object;
};

namespace liquid {
namespace {

// Seconds: somebody may sit before a prompt.
constexpr double kPatience = 15;

LiquidHttpEnd EndOf(StatusCode code) {
  return code == StatusCode::kOk         ? kLiquidHttpDone
         : code == StatusCode::kNotFound ? kLiquidHttpMissing
                                         : kLiquidHttpFailed;
}

Status ReadSize(const LiquidHttpFile& file, uint64_t* size) {
  HttpClient* client = nullptr;
  LIQUID_RETURN_IF_ERROR(HttpClient::Process(&client));
  return client->Size(file.object, kPatience, size);
}

Status ReadBytes(const LiquidHttpFile& file, uint64_t offset, uint8_t* bytes,
                 uint64_t room, uint64_t* size) {
  HttpClient* client = nullptr;
  LIQUID_RETURN_IF_ERROR(HttpClient::Process(&client));
  HttpRequest request;
  request.object = file.object;
  request.offset = offset;
  request.segments = {{bytes, room}};
  request.patience = kPatience;
  client->Read(&request);
  *size = request.bytes;
  return request.status;
}

}  // namespace
}  // namespace liquid

LiquidHttpFile* liquid_direct_http_open(const char* url) {
  try {
    return new LiquidHttpFile{std::make_shared<liquid::RemoteObject>(url)};
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void liquid_direct_http_close(LiquidHttpFile* file) { delete file; }

int32_t liquid_direct_http_size(LiquidHttpFile* file, uint64_t* size,
                                LiquidProblem problem) {
  return liquid::EndOf(
      liquid::Guarded(problem, [&] { return liquid::ReadSize(*file, size); }));
}

int32_t liquid_direct_http_read(LiquidHttpFile* file, uint64_t offset,
                                uint8_t* bytes, uint64_t room, uint64_t* size,
                                LiquidProblem problem) {
  return liquid::EndOf(liquid::Guarded(problem, [&] {
    return liquid::ReadBytes(*file, offset, bytes, room, size);
  }));
}
