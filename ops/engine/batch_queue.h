// Batches in flight between the thread that pulls blocks, the decoding tasks,
// and the consumer, in the order of delivery.
#ifndef LIQUID_OPS_ENGINE_BATCH_QUEUE_H_
#define LIQUID_OPS_ENGINE_BATCH_QUEUE_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

#include "ops/core/condition.h"
#include "ops/engine/batch_decoder.h"

namespace liquid {

// Thread-safe, for one producer and one consumer.
class BatchQueue {
 public:
  // Producer: waits until fewer than `limit` batches are in flight, beside one
  // that the consumer is given. False when cancelled.
  bool WaitForRoom(size_t limit);
  // Producer: appends a batch. `decoding`: Finished will be called for it;
  // else it is complete, and the last.
  void Push(std::shared_ptr<PendingBatch> batch, bool decoding);
  // A decoding task: the batch is decoded.
  void Finished(PendingBatch* batch);

  // Consumer: waits until batch `i` is decoded, making room for it. The result
  // is null when the input ends before it. Error: Cancelled.
  Status Wait(size_t i, PendingBatch** batch);
  // Consumer: batch `i` if it is decoded by now, else null.
  PendingBatch* Peek(size_t i);
  // Consumer: takes the first batch, which Wait has given.
  std::shared_ptr<PendingBatch> Pop();
  // What the input said at its end, once Wait has given null.
  Status input_status() const;

  // Makes WaitForRoom and Wait return.
  void Cancel();

 private:
  mutable std::mutex mu_;
  Condition changed_;
  // All below guarded by mu_.
  size_t wanted_ = 0;  // batches that the consumer waits for
  bool cancelled_ = false;
  std::deque<std::shared_ptr<PendingBatch>> batches_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_BATCH_QUEUE_H_
