#include "tests/fuzz/recordio_fuzz.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "ops/containers/recordio/file_parts.h"
#include "ops/containers/recordio/record_index.h"
#include "ops/containers/recordio/record_scanner.h"
#include "ops/containers/recordio/recordio.h"

namespace liquid {
namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "recordio fuzzer: %s\n", what);
  std::abort();
}

// Whether an error says something.
bool IsGood(const Status& status) {
  Require(status.ok() || !status.message().empty(), "an error without words");
  return status.ok();
}

std::string Text(ByteSpan span) {
  return std::string(span.data, span.data + span.size);
}

// Takes a payload apart as a sample's.
void ReadSample(ByteSpan payload) {
  SampleRecord sample, again;
  if (!IsGood(ParseSamplePayload(payload, &sample))) return;
  const uint8_t* at = sample.image.data;
  Require(at >= payload.data, "an image before the payload");
  for (const ByteSpan part : {sample.image, sample.index, sample.example}) {
    Require(part.data == at, "a gap between the parts of a sample");
    at += part.size;
  }
  Require(at == payload.data + payload.size, "bytes behind a sample");
  std::string made;
  if (!IsGood(AppendSamplePayload(sample, &made))) return;
  Require(ParseSamplePayload(ByteSpan(made.data(), made.size()), &again).ok() &&
              again.id == sample.id &&
              again.labels.size() == sample.labels.size() &&
              Text(again.image) == Text(sample.image) &&
              Text(again.index) == Text(sample.index) &&
              Text(again.example) == Text(sample.example),
          "a sample came back changed");
}

class Pieces : public ByteStream {
 public:
  Pieces(ByteSpan file, uint64_t begin, size_t piece)
      : file_(file),
        next_(std::min<uint64_t>(begin, file.size)),
        piece_(piece) {}
  Status Next(ByteSpan* bytes) override {
    const size_t size = std::min<size_t>(piece_, file_.size - next_);
    // A copy of its own, so that a read beside it is found.
    last_.assign(file_.data + next_, file_.data + next_ + size);
    next_ += size;
    *bytes = ByteSpan(last_.data(), size);
    return OkStatus();
  }

 private:
  const ByteSpan file_;
  size_t next_;
  const size_t piece_;
  std::vector<uint8_t> last_;
};

struct Found {
  // Records and losses: (offset, end, payload or reason).
  struct Stretch {
    uint64_t offset;
    uint64_t end;
    std::string text;
    bool operator==(const Stretch& other) const {
      return offset == other.offset && end == other.end && text == other.text;
    }
  };
  std::vector<Stretch> records;
  std::vector<Stretch> losses;
  bool ok = true;
};

void Read(ByteSpan file, const RecordRange& range, bool repair, size_t piece,
          Found* found) {
  Pieces pieces(file, range.begin, piece);
  RecordScanner scanner("a.rec", range, repair, &pieces);
  while (true) {
    ByteSpan payload;
    bool one;
    found->ok = IsGood(scanner.Next(&payload, &one)) && found->ok;
    if (!found->ok || !one) break;
    const std::string text = Text(payload);
    std::string framed, scratch;
    ByteSpan again;
    Require(AppendRecord(payload, &framed).ok() &&
                ParseRecord(ByteSpan(framed.data(), framed.size()), &scratch,
                            &again)
                    .ok() &&
                Text(again) == text,
            "a payload came back changed");
    ReadSample(payload);
    found->records.push_back({scanner.offset(), scanner.position(), text});
  }
  Require(found->ok || !repair, "an error in spite of repair");
  for (const RecordLoss& loss : scanner.losses()) {
    found->losses.push_back(
        {loss.offset, loss.offset + loss.length, loss.reason});
  }
}

void RequireCovered(const Found& found, uint64_t size) {
  std::vector<Found::Stretch> all = found.records;
  all.insert(all.end(), found.losses.begin(), found.losses.end());
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  uint64_t position = 0;
  for (const Found::Stretch& stretch : all) {
    Require(stretch.offset == position, "a gap, or an overlap");
    Require(stretch.end > position, "a stretch without bytes");
    position = stretch.end;
  }
  Require(position == size, "the end of the file is missing");
}

void AppendFragment(uint32_t flag, const std::string& data, std::string* out) {
  const uint32_t words[] = {kRecordIOMagic,
                            flag << 29 | static_cast<uint32_t>(data.size())};
  for (const uint32_t word : words) {
    for (int i = 0; i < 4; ++i) *out += static_cast<char>(word >> (8 * i));
  }
  *out += data;
  out->append((4 - data.size() % 4) % 4, '\0');
}

// A payload with all parts that there are.
std::string Sample() {
  const std::string image = "image", example = "example";
  const std::string index =
      std::string("LJX1\x28\0\0\0", 8) + std::string(32, 'i');
  SampleRecord sample;
  sample.id = 3;
  sample.labels = {1.0f, 2.0f};
  sample.image = ByteSpan(image.data(), image.size());
  sample.index = ByteSpan(index.data(), index.size());
  sample.example = ByteSpan(example.data(), example.size());
  std::string payload;
  if (!AppendSamplePayload(sample, &payload).ok()) std::abort();
  return payload;
}

}  // namespace

void FuzzRecordIOScan(const uint8_t* data, size_t size) {
  if (size < 2) return;
  const size_t piece = 1 + data[0];
  const int64_t parts = 1 + data[1] % 20;
  const ByteSpan file(data + 2, size - 2);
  const RecordRange whole = {0, file.size, true, true};
  Found repaired, strict, split;
  Read(file, whole, true, piece, &repaired);
  RequireCovered(repaired, file.size);
  Read(file, whole, false, piece, &strict);
  Require(strict.ok == repaired.losses.empty(), "repair and error disagree");
  Require(strict.records.size() <= repaired.records.size() &&
              std::equal(strict.records.begin(), strict.records.end(),
                         repaired.records.begin()),
          "repair changes what comes before the damage");
  for (int64_t part = 0; part < parts; ++part) {
    std::vector<PartOfFile> ranges;
    Require(PartByBytes({file.size}, part, parts, &ranges).ok(), "no split");
    for (const PartOfFile& range : ranges) {
      Read(file, range.range, true, piece, &split);
    }
  }
  Require(split.records == repaired.records, "parts have other records");
  Require(split.losses == repaired.losses, "parts have other losses");
}

void FuzzRecordIOIndex(const uint8_t* data, size_t size) {
  std::vector<RecordIndexEntry> entries, again;
  if (!IsGood(ParseRecordIndex(ByteSpan(data, size), &entries))) return;
  std::string text;
  AppendRecordIndex(entries, &text);
  Require(ParseRecordIndex(ByteSpan(text.data(), text.size()), &again).ok() &&
              again.size() == entries.size(),
          "an index that was written does not parse");
  std::vector<uint64_t> offsets;
  uint64_t end = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    Require(
        again[i].key == entries[i].key && again[i].offset == entries[i].offset,
        "an index came back changed");
    offsets.push_back(entries[i].offset);
    end = std::max(end, entries[i].offset + 1);
  }
  int64_t records = 0;
  for (int64_t part = 0; part < 3; ++part) {
    std::vector<PartOfFile> ranges;
    Require(PartByCount({end}, {offsets}, part, 3, &ranges).ok(), "no split");
    for (const PartOfFile& range : ranges) {
      Require(range.range.begin <= range.range.end && range.range.end <= end,
              "a range beside the file");
      records += range.records;
    }
  }
  Require(records == static_cast<int64_t>(entries.size()), "records got lost");
  if (end > 0) {
    std::vector<PartOfFile> ranges;
    Require(!IsGood(PartByCount({end - 1}, {offsets}, 0, 1, &ranges)),
            "a record behind the end");
  }
}

std::vector<std::string> RecordIOScanSeeds() {
  const std::string magic = "\x0a\x23\xd7\xce";
  std::string sound, odd;
  for (const std::string& payload :
       {std::string(), std::string("abc"), magic, "abcd" + magic + magic + "e",
        std::string(50, 'x'), Sample()}) {
    if (!AppendRecord(ByteSpan(payload.data(), payload.size()), &sound).ok()) {
      std::abort();
    }
  }
  AppendFragment(0, "before", &odd);
  AppendFragment(1, "first", &odd);
  AppendFragment(2, "", &odd);
  AppendFragment(0, "whole", &odd);
  AppendFragment(3, "last", &odd);
  AppendFragment(7, "none", &odd);
  AppendFragment(0, "a" + magic, &odd);
  AppendFragment(0, "abcd" + magic, &odd);
  return {std::string("\x10\x03", 2) + sound, std::string("\x03\x07", 2) + odd,
          std::string("\xff\x00", 2) + sound + odd + sound,
          std::string("\x07\x13", 2) + sound.substr(0, sound.size() - 5)};
}

std::vector<std::string> RecordIOIndexSeeds() {
  return {"0\t0\n1\t8\n2\t1000\n", "7 16\r\n\n-3\t \t9223372036854775806",
          "5\t9223372036854775807\n", "1\n", ""};
}

}  // namespace liquid
