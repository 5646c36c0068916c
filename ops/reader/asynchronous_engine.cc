#include <deque>
#include <mutex>
#include <utility>

#include "ops/core/condition.h"
#include "ops/reader/read_engine.h"

namespace liquid {
namespace {

class AsynchronousEngine : public ReadEngine {
 public:
  void Start(ReadRequest* request) override {
    if (!request->file->asynchronous()) return Add(request, &waiting_);
    request->file->Start(request->offset, request->segments, &request->count,
                         &request->status,
                         [this, request] { Add(request, &ended_); });
  }
  ReadRequest* Finish() override {
    std::unique_lock<std::mutex> lock(mu_);
    changed_.Wait(lock,
                  [this] { return !ended_.empty() || !waiting_.empty(); });
    if (!ended_.empty()) return Take(&ended_);
    ReadRequest* const request = Take(&waiting_);
    lock.unlock();
    request->status = request->file->ReadInto(
        request->offset, request->segments, &request->count);
    return request;
  }
  int most_waiting() const override { return 1; }
  int Workers(int depth) const override { return CheckingWorkers(depth); }
  const char* name() const override { return "asynchronous"; }

 private:
  void Add(ReadRequest* request, std::deque<ReadRequest*>* requests) {
    // Held to the end: the engine may go away when it has all of them back.
    std::lock_guard<std::mutex> lock(mu_);
    requests->push_back(request);
    changed_.NotifyOne();
  }
  static ReadRequest* Take(std::deque<ReadRequest*>* requests) {
    ReadRequest* const request = requests->front();
    requests->pop_front();
    return request;
  }

  std::mutex mu_;
  Condition changed_;
  // Guarded by mu_.
  std::deque<ReadRequest*> waiting_;  // of other files: for Finish to read
  std::deque<ReadRequest*> ended_;
};

}  // namespace

std::unique_ptr<ReadEngine> MakeAsynchronousEngine() {
  return std::make_unique<AsynchronousEngine>();
}

}  // namespace liquid
