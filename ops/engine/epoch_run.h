// One iterator's way through one epoch, and how it reports what it delivers.
#ifndef LIQUID_OPS_ENGINE_EPOCH_RUN_H_
#define LIQUID_OPS_ENGINE_EPOCH_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/engine/load_ledger.h"

namespace liquid {

// What the stages did for one batch. Waits overlap: each is one stage's.
struct BatchSeconds {
  double read = 0;    // the interleave's, for records
  double decode = 0;  // at work, summed over threads
  double wait = 0;    // the consumer's, for the batch
  double step = 0;    // from the delivery before, or the first request, to this
  double disk = 0;    // at least one read was under way
};

// A sample that was read in another format, since its own record is damaged.
struct Fallback {
  uint32_t format = 0;  // that it was to be read in
  uint64_t sample = 0;
  std::string read_as;  // name of the format that it was read in
  std::string reason;
  bool other_pixels = false;  // whether that one has other pixels: it is lossy
};

// What one delivered batch was made of; vectors have one entry per format.
struct BatchReport {
  int64_t epoch = 0;
  uint64_t first_draw = 0;
  bool full = false;  // batch_size samples
  std::vector<uint32_t> samples;
  std::vector<uint32_t> hits;             // those that cost no load
  std::vector<uint32_t> loads;            // evicted, or not in memory
  std::vector<uint32_t> memory_hits;      // served without a read in this epoch
  std::vector<uint32_t> gpu_hits;         // of them, that lay on a device
  std::vector<uint64_t> bytes;            // encoded bytes of the samples
  std::vector<uint32_t> decodes;          // whose pixels were not in memory
  std::vector<uint32_t> libjpeg_decodes;  // of these, by libjpeg-turbo
  std::vector<double> decode_seconds;     // of decodes, summed over threads
  std::vector<Fallback> fallbacks;        // one for each such sample
  uint64_t disk_bytes = 0;                // read for these samples
  std::shared_ptr<const BatchCost> cost;  // read on account of this batch
  BatchSeconds seconds;
};

struct SkippedRecord {
  uint32_t format = 0;
  uint64_t sample = 0;
  std::string reason;
};

// Counts an image of a delivered batch that a processor decoded after that,
// of a format. Thread-safe; may outlive its run.
using CountDecode =
    std::function<void(uint32_t format, bool by_library, double seconds)>;

// Receives the reports of one epoch's delivery. Thread-safe.
class EpochRun {
 public:
  virtual ~EpochRun() = default;
  virtual CountDecode LaterDecodes() = 0;
  virtual void Delivered(const BatchReport& report) = 0;
  virtual void Skipped(const SkippedRecord& record) = 0;
  // The fidelity of the epoch's batches, as Fidelity::steps() gives it.
  virtual void SetFidelity(const std::vector<int64_t>& steps) = 0;
  // Before the first batch could be drawn `bytes` were read, for which reads
  // were under way for `seconds`: nothing else has held them up.
  virtual void Filled(uint64_t bytes, double seconds) = 0;
  // A record was read through scan group `groups`.
  virtual void ReadGroups(uint32_t groups, uint64_t disk_bytes) = 0;
  // A record of so many bytes was read from the tier.
  virtual void ReadTier(uint64_t bytes) = 0;
  // So many reads of a format were refused by a device, and repeated.
  virtual void Retried(uint32_t format, uint64_t reads) = 0;
  // The last batch was delivered: the next epoch may be taken.
  virtual void Complete() = 0;
  // With how many threads is decoded, and how many batches ahead, from now on.
  virtual void Decoding(int64_t parallelism, int64_t lookahead) = 0;
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_EPOCH_RUN_H_
