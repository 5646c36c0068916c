// One record in memory: what a source reads, the interleave draws and keeps,
// and the decoder consumes.
#ifndef LIQUID_OPS_READER_RECORD_H_
#define LIQUID_OPS_READER_RECORD_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ops/containers/recordio/dataset_index.h"
#include "ops/containers/recordio/recordio.h"
#include "ops/core/arena.h"
#include "ops/core/buffer_pool.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

class Replicas;
struct Record;
using RecordPtr = std::shared_ptr<const Record>;

// The samples of a record that holds many. Thread-safe.
class RecordSamples {
 public:
  virtual ~RecordSamples() = default;
  // One of them as a record of its own, of at most `groups` scan groups; bad
  // where `record`, whose samples these are, is. O(bytes of the sample).
  virtual std::shared_ptr<Record> Get(const Record& record, uint64_t sample,
                                      uint32_t groups) const = 0;
};

// What becomes of a record that is kept for its pixels, or that goes to a
// device: whoever decodes it says. Thread-safe.
class RecordPromise {
 public:
  void Fulfil(RecordPtr record) {
    std::lock_guard<std::mutex> lock(mu_);
    record_ = std::move(record);
  }
  // Null until then.
  RecordPtr Get() const {
    std::lock_guard<std::mutex> lock(mu_);
    return record_;
  }

 private:
  mutable std::mutex mu_;
  RecordPtr record_;  // guarded by mu_
};

// The encoding of a sample that was to be read, where another one was.
// Immutable.
struct Replaced {
  std::string reason;        // what is wrong with it, and where it lies
  uint64_t pixels_hash = 0;  // that it was to have
  uint32_t tried = 0;        // formats of the sample that were read, a bit each
};

// Immutable once it is shared. Owns its bytes alone, so that keeping one
// record never pins its neighbours.
struct Record {
  uint64_t position = 0;    // the planner's record number in its format
  IndexRow row;             // what the index says of it
  std::string shard;        // path of its file
  uint64_t number = 0;      // which record of the file
  bool is_block = false;    // no record, but any bytes of a file
  bool in_tier = false;     // it was read from a tier, not from its file
  Status status;            // why it cannot be used; content is then empty
  uint64_t disk_bytes = 0;  // its part of what was read for it
  Buffer memory;            // holds framed
  ByteSpan framed;          // the record as it is stored
  std::string joined;       // the payload, where the record is in fragments
  SampleRecord content;     // points into framed or joined

  // Of a record that holds many samples: these, the scan groups that were read,
  // and all that it has. `content` is then empty.
  std::unique_ptr<RecordSamples> samples;
  uint32_t groups = 0;
  uint32_t all_groups = 0;

  // Where its pixels are in memory instead of its stored bytes: images in the
  // format raw, by the name of the mask, or "" for the image itself.
  std::vector<std::pair<std::string, ByteSpan>> pixels;
  // Of a record that has nothing of this, until somebody has decoded it.
  std::shared_ptr<RecordPromise> promise;

  // Where the stored image lies in a device's memory; null for most. Of its
  // `image_bytes`, `content.image` then has only the first ones.
  std::shared_ptr<const Arena::Piece> on_device;
  uint64_t image_bytes = 0;
  ByteSpan image_outline;  // of a JPEG file there: see OutlineJpeg

  // Of a dataset that has every sample in several formats: where the others
  // lie.
  std::shared_ptr<const Replicas> replicas;
  // Of a record that was read in place of a damaged one; null for all others.
  std::shared_ptr<const Replaced> replaced;

  uint64_t bytes() const { return row.length; }
  // About what it takes in memory.
  uint64_t footprint() const {
    return memory.capacity() + joined.capacity() + sizeof(Record);
  }
  // "FILE, record N (sample I, offset O)"; of a record with many samples the
  // file and its scan groups, of a block the file and its bytes.
  std::string Where() const;

  // The sound record that was read in place of this one, once somebody has
  // found this one damaged: memory then keeps that. Thread-safe; null for most.
  RecordPtr substitute() const { return std::atomic_load(&substitute_); }
  void set_substitute(RecordPtr record) const {
    std::atomic_store(&substitute_, std::move(record));
  }

 private:
  mutable RecordPtr substitute_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_RECORD_H_
