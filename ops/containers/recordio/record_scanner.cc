#include "ops/containers/recordio/record_scanner.h"

#include <algorithm>
#include <utility>

#include "ops/containers/recordio/recordio.h"

namespace liquid {
namespace {

// Bytes of a fragment that are asked for at once, so that a length that lies is
// found out before half a gigabyte was read for it.
constexpr size_t kStep = size_t{1} << 20;

}  // namespace

RecordScanner::RecordScanner(std::string path, const RecordRange& range,
                             bool repair, ByteStream* stream)
    : path_(std::move(path)),
      range_(range),
      repair_(repair),
      stream_(stream),
      position_(range.begin),
      seek_(!range.begins_at_head),
      met_(range.begins_at_head) {}

Status RecordScanner::Need(size_t size, ByteSpan* bytes) {
  while (true) {
    const size_t joined = joined_.size() - joined_begin_;
    if (joined == 0) {
      joined_.clear();
      joined_begin_ = 0;
      if (rest_.size >= size || at_end_) {
        *bytes = rest_;
        return OkStatus();
      }
    } else if (joined >= size || (at_end_ && rest_.size == 0)) {
      *bytes = ByteSpan(joined_.data() + joined_begin_, joined);
      return OkStatus();
    }
    // No more than asked for: what follows is read in place.
    const size_t moved = std::min(rest_.size, size - joined);
    joined_.insert(joined_.end(), rest_.data, rest_.data + moved);
    rest_ = ByteSpan(rest_.data + moved, rest_.size - moved);
    if (joined + moved == size || at_end_) continue;
    LIQUID_RETURN_IF_ERROR(stream_->Next(&rest_));
    at_end_ = rest_.size == 0;
  }
}

void RecordScanner::Take(size_t size) {
  position_ += size;
  if (joined_.size() > joined_begin_) {
    joined_begin_ += size;
  } else {
    rest_ = ByteSpan(rest_.data + size, rest_.size - size);
  }
}

Status RecordScanner::SeekHead() {
  while (true) {
    ByteSpan bytes;
    LIQUID_RETURN_IF_ERROR(Need(kFragmentHeader, &bytes));
    if (bytes.size < kFragmentHeader) {
      Take(bytes.size);
      return OkStatus();
    }
    const size_t head = FindHead(bytes);
    Take(head);
    if (bytes.size - head >= kFragmentHeader) return OkStatus();
  }
}

Status RecordScanner::CheckData(size_t begin, const Fragment& fragment,
                                ByteSpan* bytes, Status* damage) {
  const size_t end = begin + fragment.framed;
  size_t checked = begin + kFragmentHeader;
  while (checked < end) {
    const size_t wanted = std::min(end, checked + kStep);
    LIQUID_RETURN_IF_ERROR(Need(wanted, bytes));
    const size_t have = std::min(bytes->size, end);
    if (have > checked) {
      const ByteSpan data(bytes->data + checked, have - checked);
      const size_t magic = FindMagic(data);
      if (magic != data.size) {
        *damage = DataLoss(
            "fragment of " + std::to_string(fragment.size) + " bytes" +
            AtOffset(position_ + begin) + " has a magic inside its data" +
            AtOffset(position_ + checked + magic) + ": its length is wrong");
        return OkStatus();
      }
    }
    if (bytes->size < wanted) {
      *damage = DataLoss("fragment of " + std::to_string(fragment.size) +
                         " bytes" + AtOffset(position_ + begin) +
                         " passes the end of the file, " +
                         std::to_string(position_ + bytes->size));
      return OkStatus();
    }
    checked = std::min(bytes->size / 4 * 4, end);
  }
  return OkStatus();
}

Status RecordScanner::Read(ByteSpan* payload, Status* damage) {
  size_t framed = 0;
  size_t size = 0;
  while (true) {
    ByteSpan bytes;
    LIQUID_RETURN_IF_ERROR(Need(framed + kFragmentHeader, &bytes));
    Fragment fragment;
    *damage = ParseFragment(bytes, framed, position_, framed > 0, &fragment);
    if (!damage->ok() && framed > 0) {
      *damage =
          DataLoss("record" + AtOffset(position_) + ": " + damage->message());
    }
    if (!damage->ok()) return OkStatus();
    size += fragment.size + (framed > 0 ? 4 : 0);
    if (size > kRecordIOMaxSize) {
      *damage = DataLoss("record" + AtOffset(position_) +
                         " has 2^29 bytes or more, which no writer writes");
      return OkStatus();
    }
    LIQUID_RETURN_IF_ERROR(CheckData(framed, fragment, &bytes, damage));
    if (!damage->ok()) return OkStatus();
    framed += fragment.framed;
    if (fragment.flag != kWhole && fragment.flag != kLast) continue;
    // An empty fragment needed no more bytes than its header.
    if (bytes.size < framed) {
      LIQUID_RETURN_IF_ERROR(Need(framed, &bytes));
    }
    taken_ = framed;
    return ParseRecord(ByteSpan(bytes.data, framed), &scratch_, payload);
  }
}

Status RecordScanner::Lose(const Status& damage) {
  if (!repair_) return Status(damage.code(), path_ + ": " + damage.message());
  RecordLoss loss{position_, 0, damage.message()};
  ByteSpan bytes;
  // Heads lie at multiples of 4, also where an index says otherwise.
  LIQUID_RETURN_IF_ERROR(Need(4 - position_ % 4, &bytes));
  Take(std::min<size_t>(bytes.size, 4 - position_ % 4));
  LIQUID_RETURN_IF_ERROR(SeekHead());
  loss.length = position_ - loss.offset;
  losses_.push_back(std::move(loss));
  return OkStatus();
}

Status RecordScanner::Next(ByteSpan* payload, bool* found) {
  *found = false;
  Take(taken_);
  taken_ = 0;
  if (seek_) LIQUID_RETURN_IF_ERROR(SeekHead());
  seek_ = false;
  while (!done_) {
    const bool behind = position_ >= range_.end;
    if (behind && (range_.ends_at_head || !met_)) break;
    ByteSpan bytes;
    LIQUID_RETURN_IF_ERROR(Need(kFragmentHeader, &bytes));
    if (bytes.size == 0) break;
    Status damage;
    if (behind) {
      done_ = true;
      // What is not a head here would be passed over by the next range.
      Fragment fragment;
      damage = ParseFragment(bytes, 0, position_, false, &fragment);
      if (damage.ok()) break;
    } else {
      met_ = true;
      LIQUID_RETURN_IF_ERROR(Read(payload, &damage));
      *found = damage.ok();
      offset_ = position_;
      if (*found) return OkStatus();
    }
    LIQUID_RETURN_IF_ERROR(Lose(damage));
  }
  done_ = true;
  return OkStatus();
}

}  // namespace liquid
