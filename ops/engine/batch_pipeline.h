// Batches of decoded samples, made ahead of their delivery.
#ifndef LIQUID_OPS_ENGINE_BATCH_PIPELINE_H_
#define LIQUID_OPS_ENGINE_BATCH_PIPELINE_H_

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ops/core/status.h"
#include "ops/engine/batch_assembler.h"
#include "ops/engine/batch_decoder.h"
#include "ops/engine/batch_mixer.h"
#include "ops/engine/batch_queue.h"
#include "ops/engine/batch_repair.h"
#include "ops/engine/record_block.h"
#include "ops/engine/work_queue.h"
#include "ops/message/messages.h"

namespace liquid {

// One thread calls Produce, which reads blocks and adds their slots to the work
// of the threads that `runner` starts; another one calls Next, which waits for
// the first batch that is done. The state is that of the last *delivered*
// batch.
//
// Thread-safe.
class BatchPipeline {
 public:
  // What is read: a block, or the end.
  struct Input {
    std::shared_ptr<const RecordBlock> block;  // null at the end
    // Where the input stands behind the block, for its reader.
    std::shared_ptr<void> token;
  };

  // What surrounds it. All are called from several threads.
  struct Surroundings {
    std::function<Status(Input*)> read;
    WorkQueue::Runner runner;
    std::function<int64_t()> parallelism;  // threads that decode
    std::function<int64_t()> lookahead;    // batches in flight
    // Told of batches that come in and go out, with the bytes of their pixels.
    std::function<void(int64_t bytes, int64_t batches)> buffered;
    // Calls `work`, which decodes so many samples of a batch and returns the
    // nanoseconds that it took.
    std::function<void(const PendingBatch& batch, size_t samples,
                       const std::function<int64_t()>& work)>
        decode;
  };

  // What the one who asks for a batch is told meanwhile.
  struct Caller {
    // That it waits, or does no longer.
    std::function<void(bool waits)> waits;
    // The token of every batch that the state passes: that which is given, and
    // those of which nothing could be used.
    std::function<void(void* token)> passed;
  };

  struct Batch {
    std::vector<Output> outputs;
    std::shared_ptr<void> token;          // of its input
    std::shared_ptr<PendingBatch> holds;  // texts of the outputs
    bool end = false;                     // there is none
  };

  // `decoder` and `features` must outlive it.
  BatchPipeline(const BatchDecoder* decoder,
                const std::vector<OutputFeature>* features,
                const DecodeMessage& message, Surroundings surroundings);
  // Cancel must have been called, and the thread of Produce be gone.
  ~BatchPipeline() { work_.Drain(); }

  // Whether this process was forked from the one that made it: a child has
  // memory and no threads, so what one of them would have done never happens,
  // and a lock that one held is never free.
  bool Forked() const { return getpid() != process_; }
  static Status ForkedError();

  // Reads until the end, an error or Cancel.
  void Produce();
  // The next batch. Errors: the input's; those of BatchRepair and BuildOutputs;
  // DataLoss for an epoch without a usable sample.
  Status Next(const Caller& caller, Batch* batch);
  // Makes Produce and Next return.
  void Cancel();

  // The state, for a checkpoint: see BatchRepair.
  std::vector<int64_t> Borrowed() const;
  std::vector<int64_t> Skipped() const;
  void Restore(const std::vector<int64_t>& borrowed,
               std::vector<int64_t> skipped);

 private:
  void PushEnd(const Status& status, std::shared_ptr<PendingBatch> batch);
  void Decoded(const std::shared_ptr<PendingBatch>& batch);
  void Finished(PendingBatch* batch);
  // Whether a decoded batch is delivered as it is.
  bool Stays(const PendingBatch& batch) const;
  Status MixNow(PendingBatch* batch);
  // These need mu_.
  Status Deliver(PendingBatch* batch, std::vector<Output>* outputs);
  void Report(const PendingBatch& batch, BatchReport report);
  Status Empty() const;

  const pid_t process_ = getpid();
  const BatchDecoder* const decoder_;
  const std::vector<OutputFeature>* const features_;
  const DecodeMessage message_;
  const Surroundings around_;
  WorkQueue work_;
  BatchQueue queue_;

  mutable std::mutex mu_;
  // All below guarded by mu_.
  BatchRepair repair_;
  // The epoch began here, and all of it until now was bad.
  bool nothing_delivered_ = false;
  BatchSeconds seconds_;     // since the last delivery
  double delivered_at_ = 0;  // or asked first; a moment
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_BATCH_PIPELINE_H_
