// Records that are read from a tier where that has them.
#ifndef LIQUID_OPS_READER_TIERED_SOURCE_H_
#define LIQUID_OPS_READER_TIERED_SOURCE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "ops/reader/record_source.h"
#include "ops/reader/tier.h"

namespace liquid {

// Thread-safe. A position is a record, and whether it is read from the tier:
// see PositionOf. What is of no use there is read from the store.
class TieredSource : public RecordSource {
 public:
  // `store`: records of one format that are samples, by their numbers.
  TieredSource(std::shared_ptr<RecordSource> store, std::shared_ptr<Tier> tier,
               uint32_t format);

  // Of a record that is to be read now. It stays in the tier until it was.
  uint64_t PositionOf(uint64_t record);

  IndexRow row(uint64_t position) const override;
  std::shared_ptr<Record> Describe(uint64_t position) const override;
  Status Open(uint64_t position, std::shared_ptr<RandomFile>* file) override;
  Status OpenStore(uint64_t position,
                   std::shared_ptr<RandomFile>* file) override;
  void Forget(uint64_t position) override;
  Status Check(Record* record) const override;
  bool Elsewhere(const Status& read, Record* record) override;

 private:
  std::shared_ptr<const TierPlace> Pinned(uint64_t record) const;

  const std::shared_ptr<RecordSource> store_;
  const std::shared_ptr<Tier> tier_;
  const uint32_t format_;
  mutable std::mutex mu_;
  // That are not opened yet; guarded by mu_.
  std::unordered_multimap<uint64_t, std::shared_ptr<const TierPlace>> pinned_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_TIERED_SOURCE_H_
