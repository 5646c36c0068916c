// Places in one stretch of memory that the process may not be able to read,
// such as a device's.
#ifndef LIQUID_OPS_CORE_ARENA_H_
#define LIQUID_OPS_CORE_ARENA_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace liquid {

// Thread-safe. Held by std::shared_ptr; pieces hold it.
class Arena : public std::enable_shared_from_this<Arena> {
 public:
  static constexpr uint64_t kAlignment = 256;

  // A place, which is free again when this goes.
  class Piece {
   public:
    Piece(std::shared_ptr<Arena> arena, uint64_t address, uint64_t size)
        : arena_(std::move(arena)), address_(address), size_(size) {}
    ~Piece() { arena_->GiveBack(address_, size_); }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

    uint64_t address() const { return address_; }  // a multiple of kAlignment
    uint64_t size() const { return size_; }

   private:
    const std::shared_ptr<Arena> arena_;
    const uint64_t address_, size_;
  };

  struct Counters {
    uint64_t bytes = 0;  // that there are
    uint64_t used = 0;   // of them, in pieces
  };

  // Of the memory that `owner`, whatever it is, owns; `where` names whose it
  // is.
  Arena(uint64_t address, uint64_t size, std::string where,
        std::shared_ptr<const void> owner);

  const std::string& where() const { return where_; }

  // Takes a place of at least so many bytes, the smallest that is free. Null
  // where there is none.
  std::shared_ptr<const Piece> Take(uint64_t size);
  Counters counters() const;

 private:
  void GiveBack(uint64_t address, uint64_t size);
  void AddFree(uint64_t address, uint64_t size);

  const std::string where_;
  const std::shared_ptr<const void> owner_;
  mutable std::mutex mu_;
  // Guarded by mu_: what is free, no two of which touch, by address and by
  // size.
  std::map<uint64_t, uint64_t> free_;
  std::set<std::pair<uint64_t, uint64_t>> by_size_;
  Counters counters_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_CORE_ARENA_H_
