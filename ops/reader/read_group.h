// Streams that read from one disk, or over one network.
#ifndef LIQUID_OPS_READER_READ_GROUP_H_
#define LIQUID_OPS_READER_READ_GROUP_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "ops/reader/depth_tuner.h"
#include "ops/reader/read_clock.h"

namespace liquid {

// Says which stream begins the next read: the one whose records are needed
// first. If each began what it may, the disk would give all of them as much.
// Then one that needs less than its part would read far ahead, and the others
// would be waited for.
//
// All streams of a group have one mutex, so that each may look at the others.
class ReadGroup {
 public:
  // A stream; all is called with mu() held.
  class Member {
   public:
    virtual ~Member() = default;
    // When the next read is needed, if it could begin now. The streams of a
    // group count alike.
    virtual std::optional<uint64_t> NextTurn() = 0;
    // Its next read may begin now.
    virtual void Wake() = 0;
  };

  std::mutex& mu() { return mu_; }
  const ReadClock& clock() const { return clock_; }  // of the reads of all

  // All below with mu() held.

  // `depth`: most reads of all streams under way at once, as the first to join
  // says.
  void Join(Member* member, int depth);
  // Idempotent.
  void Leave(Member* member);
  // Reads come over a network, where it is the waiting that costs: as many as
  // may be are under way from the start.
  void ReadFar();
  // Whether there is room for one more read.
  bool HasRoom() const { return under_way_ < tuner_->depth(); }
  // Whether no other stream has an earlier turn. If one has, that is woken.
  bool IsFirst(const Member* member, uint64_t turn);
  void Begin(const Member* member);
  // A read that has brought so many bytes came back at `seconds`.
  void CameBack(uint64_t bytes, double seconds);
  void End(const Member* member, uint64_t bytes);

 private:
  void WakeOthers(const Member* member);

  std::mutex mu_;
  ReadClock clock_;
  // All below guarded by mu_.
  std::vector<Member*> members_;
  std::unique_ptr<DepthTuner> tuner_;  // null before the first joins
  int depth_ = 0;
  bool far_ = false;
  int under_way_ = 0;  // reads that were begun and have not ended
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_READ_GROUP_H_
