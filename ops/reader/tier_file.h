// The file of a tier, and the places in it that records have.
#ifndef LIQUID_OPS_READER_TIER_FILE_H_
#define LIQUID_OPS_READER_TIER_FILE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ops/core/span.h"
#include "ops/core/status.h"
#include "ops/reader/file.h"
#include "ops/reader/free_blocks.h"

namespace liquid {

class TierPlace;

// A file without a name: the system takes its space back when the process ends,
// however it does. Read and written past the page cache where the file system
// allows it. Thread-safe.
class TierFile : public std::enable_shared_from_this<TierFile> {
 public:
  // As O_DIRECT wants it.
  static constexpr uint64_t kBlock = kDirectAlignment;
  static uint64_t BlocksFor(uint64_t bytes) {
    return (bytes + kBlock - 1) / kBlock;
  }

  // Takes all of its space at once, where the file system can. Error: that of
  // FromErrno for the call that failed.
  static Status Create(const std::string& folder, uint64_t blocks,
                       std::shared_ptr<TierFile>* file);
  ~TierFile();
  TierFile(const TierFile&) = delete;
  TierFile& operator=(const TierFile&) = delete;

  // Room for so many bytes; null where it is not free.
  std::shared_ptr<TierPlace> Reserve(uint64_t bytes);

 private:
  friend class TierPlace;
  TierFile(std::string path, int fd, bool direct, uint64_t blocks)
      : path_(std::move(path)), fd_(fd), direct_(direct), free_(blocks) {}

  const std::string path_;  // that it had
  const int fd_;
  const bool direct_;
  std::mutex mu_;
  FreeBlocks free_;  // guarded by mu_
};

// Blocks for one record, which are free again when nobody has it. Those that do
// not lie in one piece are addressed as if they followed the first ones.
class TierPlace : public RandomFile {
 public:
  TierPlace(std::shared_ptr<TierFile> file, std::vector<Extent> extents)
      : file_(std::move(file)), extents_(std::move(extents)) {}
  ~TierPlace() override;

  uint64_t begin() const { return extents_[0].begin * TierFile::kBlock; }
  // Writes whole blocks, from an address of that alignment. Once, before it is
  // read. Error: that of FromErrno.
  Status Write(ByteSpan blocks) const;

  Status ReadInto(uint64_t offset, const std::vector<iovec>& segments,
                  ReadCount* count) const override;
  uint64_t alignment() const override { return TierFile::kBlock; }
  int fd() const override { return extents_.size() == 1 ? file_->fd_ : -1; }
  void Forget(uint64_t offset, uint64_t length) const override;
  const char* method() const override { return "tier"; }
  const std::string& path() const override { return file_->path_; }

 private:
  struct Piece {
    uint64_t offset = 0;  // in the file
    uint64_t bytes = 0;   // to its end; 0 behind the last
  };
  Piece At(uint64_t offset) const;

  const std::shared_ptr<TierFile> file_;
  const std::vector<Extent> extents_;  // at least one
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_TIER_FILE_H_
