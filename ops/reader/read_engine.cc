#include "ops/reader/read_engine.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace liquid {
namespace {

class ThreadEngine : public ReadEngine {
 public:
  void Start(ReadRequest* request) override {
    std::lock_guard<std::mutex> lock(mu_);
    started_.push_back(request);
  }
  ReadRequest* Finish() override {
    ReadRequest* request;
    {
      std::lock_guard<std::mutex> lock(mu_);
      request = started_.front();
      started_.pop_front();
    }
    request->status = request->file->ReadInto(
        request->offset, request->segments, &request->count);
    return request;
  }
  int most_waiting() const override { return 1 << 30; }
  int Workers(int depth) const override { return depth; }
  const char* name() const override { return "threads"; }

 private:
  std::mutex mu_;
  std::deque<ReadRequest*> started_;  // guarded by mu_
};

}  // namespace

Status ParseReadMode(const std::string& name, ReadMode* mode) {
  const std::pair<const char*, ReadMode> modes[] = {
      {"auto", ReadMode::kAuto},
      {"io_uring", ReadMode::kIoUring},
      {"threads", ReadMode::kThreads},
      {"buffered", ReadMode::kBuffered},
      {"cached", ReadMode::kCached}};
  for (const auto& [text, value] : modes) {
    if (name != text) continue;
    *mode = value;
    return OkStatus();
  }
  return InvalidArgument(
      "reader (\"" + name +
      "\") must be one of auto, io_uring, threads, buffered, cached");
}

int CheckingWorkers(int depth) {
  const int cores =
      std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return std::max(2, std::min({depth, cores, 8}));
}

std::unique_ptr<ReadEngine> MakeThreadEngine() {
  return std::make_unique<ThreadEngine>();
}

Status MakeReadEngine(ReadMode mode, const RandomFile& file, int depth,
                      std::unique_ptr<ReadEngine>* engine) {
  if (mode != ReadMode::kAuto && mode != ReadMode::kCached && file.fd() < 0) {
    return InvalidArgument("reader must be \"auto\" for " + file.path() +
                           ", which is no local file");
  }
  if (file.asynchronous()) {
    *engine = MakeAsynchronousEngine();
    return OkStatus();
  }
  // Through the page cache a ring would read on threads of the kernel's.
  const bool worthwhile =
      mode == ReadMode::kAuto && file.fd() >= 0 && file.alignment() > 1;
  if (mode == ReadMode::kIoUring || worthwhile) {
    const Status made = MakeIoUringEngine(file, depth, engine);
    if (made.ok() || mode == ReadMode::kIoUring) return made;
  }
  *engine = MakeThreadEngine();
  return OkStatus();
}

}  // namespace liquid
