// Which batch is charged for which read.
//
// A batch makes the disk work by the draws that need a read: of evicted
// samples, in whose places others are loaded, or of samples that are not in
// memory. The n-th read of a format belongs to its n-th such draw. It may come
// before that draw, since the region has a slack, or after it, since nothing
// waits for a sample that is not yet drawn; the batch may have been delivered
// by then.
#ifndef LIQUID_OPS_ENGINE_LOAD_LEDGER_H_
#define LIQUID_OPS_ENGINE_LOAD_LEDGER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

namespace liquid {

// What a batch has made the disk read so far. Thread-safe.
struct BatchCost {
  std::atomic<uint64_t> disk_bytes{0};
};

// One format's, in one epoch. Thread-compatible; O(1), and 16 bytes at most for
// each read and draw that has not found the other yet.
class LoadLedger {
 public:
  // A draw of `batch` needs a read.
  void Need(std::shared_ptr<BatchCost> batch) {
    if (early_.empty()) {
      needs_.push_back(std::move(batch));
    } else {
      batch->disk_bytes += early_.front();
      early_.pop_front();
    }
  }
  // The next read has come.
  void Read(uint64_t disk_bytes) {
    if (needs_.empty()) {
      early_.push_back(disk_bytes);
    } else {
      needs_.front()->disk_bytes += disk_bytes;
      needs_.pop_front();
    }
  }

 private:
  // One of them is empty.
  std::deque<std::shared_ptr<BatchCost>> needs_;
  std::deque<uint64_t> early_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_LOAD_LEDGER_H_
