// What the tests of scanning share.
#ifndef LIQUID_TESTS_OPS_CONTAINERS_RECORDIO_SCAN_H_
#define LIQUID_TESTS_OPS_CONTAINERS_RECORDIO_SCAN_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "ops/containers/recordio/record_scanner.h"
#include "ops/containers/recordio/recordio.h"

namespace liquid {

inline const std::string& Magic() {
  static const std::string* const kMagic = new std::string("\x0a\x23\xd7\xce");
  return *kMagic;
}

// The bytes of a file that holds `payloads`.
inline std::string Frame(const std::vector<std::string>& payloads) {
  std::string file;
  for (const std::string& payload : payloads) {
    EXPECT_TRUE(
        AppendRecord(ByteSpan(payload.data(), payload.size()), &file).ok());
  }
  return file;
}

// A file from memory, in pieces.
class TextStream : public ByteStream {
 public:
  TextStream(std::string file, uint64_t begin, size_t piece)
      : file_(std::move(file)), next_(begin), piece_(piece) {}
  Status Next(ByteSpan* bytes) override {
    // A copy, so that what is kept too long is found.
    last_ = next_ < file_.size() ? file_.substr(next_, piece_) : std::string();
    next_ += last_.size();
    *bytes = ByteSpan(last_.data(), last_.size());
    return OkStatus();
  }

 private:
  const std::string file_;
  size_t next_;
  const size_t piece_;
  std::string last_;
};

struct Scan {
  std::vector<std::string> payloads;
  std::vector<uint64_t> offsets;
  std::vector<uint64_t> ends;  // of each record
  std::vector<RecordLoss> losses;
  Status status;
};

inline Scan ScanText(const std::string& file, const RecordRange& range,
                     bool repair, size_t piece) {
  Scan scan;
  TextStream stream(file, range.begin, piece);
  RecordScanner scanner("a.rec", range, repair, &stream);
  while (true) {
    ByteSpan payload;
    bool found;
    scan.status = scanner.Next(&payload, &found);
    if (!scan.status.ok() || !found) break;
    scan.payloads.emplace_back(reinterpret_cast<const char*>(payload.data),
                               payload.size);
    scan.offsets.push_back(scanner.offset());
    scan.ends.push_back(scanner.position());
  }
  scan.losses = scanner.losses();
  return scan;
}

inline RecordRange Whole(const std::string& file) {
  return {0, file.size(), true, true};
}

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_CONTAINERS_RECORDIO_SCAN_H_
