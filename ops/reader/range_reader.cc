#include "ops/reader/range_reader.h"

#include <algorithm>
#include <utility>

#include "ops/http/url.h"

namespace liquid {
namespace {

// Of the file behind a range, for its last record.
constexpr uint64_t kTail = uint64_t{256} << 10;

std::vector<FileStretch> Stretches(const std::vector<FileRange>& ranges) {
  std::vector<FileStretch> stretches;
  for (const FileRange& range : ranges) {
    stretches.push_back({range.path, range.range.begin, range.range.end});
  }
  return stretches;
}

TurnSource AllBlocks(uint64_t blocks) {
  return [next = uint64_t{0}, blocks](ReadTurn* read) mutable {
    if (next == blocks) return false;
    read->position = next++;
    return true;
  };
}

StreamOptions MakeStreamOptions(const RangeReaderOptions& options) {
  StreamOptions stream;
  stream.mode = options.mode;
  stream.depth = options.depth;
  stream.max_read_bytes = options.block_bytes;
  stream.lookahead_bytes = options.block_bytes * static_cast<uint64_t>(std::max(
                                                     16, 2 * options.depth));
  return stream;
}

}  // namespace

// The bytes of one range from its blocks, and those behind it as they are asked
// for.
class RangeReader::Bytes : public ByteStream {
 public:
  Bytes(size_t range, uint64_t begin, BlockSource* source, RecordStream* stream)
      : range_(range),
        offset_(begin),
        blocks_(source->blocks(range)),
        source_(source),
        stream_(stream) {}

  Status Next(ByteSpan* bytes) override {
    *bytes = ByteSpan();
    if (blocks_ == 0) return NextBehind(bytes);
    --blocks_;
    std::vector<RecordPtr> blocks;
    LIQUID_RETURN_IF_ERROR(stream_->Next(1, &blocks));
    if (blocks.empty()) return Internal("a stream of blocks ended early");
    block_ = std::move(blocks.front());
    LIQUID_RETURN_IF_ERROR(block_->status);
    *bytes = block_->framed;
    offset_ += bytes->size;
    return OkStatus();
  }

 private:
  Status NextBehind(ByteSpan* bytes) {
    if (file_ == nullptr) {
      LIQUID_RETURN_IF_ERROR(source_->OpenStretch(range_, &file_));
    }
    if (!Reserve(kTail, &tail_)) {
      return Unavailable(file_->path() + ": no memory for a read of " +
                         std::to_string(kTail) + " bytes");
    }
    const uint64_t begin = file_->AlignedBegin(offset_);
    ReadCount count;
    LIQUID_RETURN_IF_ERROR(
        file_->ReadInto(begin, {{tail_.data(), kTail}}, &count));
    const uint64_t before = offset_ - begin;
    if (count.bytes <= before) return OkStatus();
    *bytes = ByteSpan(tail_.data() + before, count.bytes - before);
    offset_ += bytes->size;
    return OkStatus();
  }

  const size_t range_;
  uint64_t offset_;
  uint64_t blocks_;
  BlockSource* const source_;
  RecordStream* const stream_;
  RecordPtr block_;
  std::shared_ptr<RandomFile> file_;
  Buffer tail_;
};

RangeReader::RangeReader(std::vector<FileRange> ranges, FileOpener opener,
                         const RangeReaderOptions& options, LossListener lost)
    : ranges_(std::move(ranges)),
      options_(options),
      lost_(std::move(lost)),
      source_(std::make_shared<BlockSource>(
          Stretches(ranges_), options.block_bytes, std::move(opener))),
      spare_(BufferPool::Process().Allow(
          MakeStreamOptions(options).lookahead_bytes)),
      stream_(std::make_unique<RecordStream>(
          source_, AllBlocks(source_->blocks()), MakeStreamOptions(options))) {}

RangeReader::~RangeReader() = default;

uint64_t RangeReader::position() const {
  return failed_                   ? failed_->position
         : scanner_ != nullptr     ? scanner_->position()
         : range_ < ranges_.size() ? ranges_[range_].range.begin
                                   : 0;
}

Status RangeReader::NextOfRange(ByteSpan* payload, bool* found) {
  const FileRange& range = ranges_[range_];
  if (scanner_ == nullptr) {
    records_ = 0;
    losses_ = 0;
    bytes_ = std::make_unique<Bytes>(range_, range.range.begin, source_.get(),
                                     stream_.get());
    scanner_ = std::make_unique<RecordScanner>(
        PublicPath(range.path), range.range, options_.repair, bytes_.get());
  }
  LIQUID_RETURN_IF_ERROR(scanner_->Next(payload, found));
  for (; losses_ < scanner_->losses().size(); ++losses_) {
    lost_(PublicPath(range.path), scanner_->losses()[losses_]);
  }
  if (*found) ++records_;
  // One too many is told at once.
  const bool wrong =
      *found ? records_ > range.records : records_ < range.records;
  if (range.records >= 0 && wrong && !options_.repair) {
    return DataLoss(PublicPath(range.path) + ": " +
                    (*found ? "at least " : "") + std::to_string(records_) +
                    " records in the bytes " +
                    std::to_string(range.range.begin) + " to " +
                    std::to_string(range.range.end) + ", but its index has " +
                    std::to_string(range.records) +
                    ": use the index that was written with it");
  }
  if (*found) return OkStatus();
  scanner_ = nullptr;
  ++range_;
  return OkStatus();
}

Status RangeReader::Next(ByteSpan* payload, bool* found) {
  *found = false;
  while (!failed_ && range_ < ranges_.size() && !*found) {
    const Place before = {position(), scanner_ == nullptr ? 0 : records_};
    const Status status = NextOfRange(payload, found);
    if (status.ok()) continue;
    *found = false;
    failed_ = before;
    return status;
  }
  return OkStatus();
}

}  // namespace liquid
