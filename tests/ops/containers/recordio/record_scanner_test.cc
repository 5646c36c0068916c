#include "ops/containers/recordio/record_scanner.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ops/containers/recordio/file_parts.h"
#include "tests/ops/containers/recordio/scan.h"

namespace liquid::record_scanner_test {
namespace {

std::vector<std::string> Payloads() {
  return {"",
          "a",
          "abcd",
          Magic(),
          "x" + Magic(),
          "abcd" + Magic() + Magic() + "e",
          std::string(70, 'y'),
          "1234" + Magic()};
}

// All parts of a file one after another.
Scan ScanParts(const std::string& file, int64_t parts, bool repair) {
  Scan all;
  for (int64_t part = 0; part < parts; ++part) {
    std::vector<PartOfFile> ranges;
    EXPECT_TRUE(PartByBytes({file.size()}, part, parts, &ranges).ok());
    for (const PartOfFile& piece : ranges) {
      const Scan scan = ScanText(file, piece.range, repair, 16);
      EXPECT_TRUE(scan.status.ok() || !repair) << scan.status.message();
      all.payloads.insert(all.payloads.end(), scan.payloads.begin(),
                          scan.payloads.end());
      all.offsets.insert(all.offsets.end(), scan.offsets.begin(),
                         scan.offsets.end());
      all.losses.insert(all.losses.end(), scan.losses.begin(),
                        scan.losses.end());
      if (all.status.ok()) all.status = scan.status;
    }
  }
  return all;
}

// Records and losses cover the file, each byte once.
void ExpectCovered(const std::string& file, const Scan& scan) {
  uint64_t position = 0;
  size_t record = 0, loss = 0;
  while (record < scan.offsets.size() || loss < scan.losses.size()) {
    if (record < scan.offsets.size() && scan.offsets[record] == position) {
      position = scan.ends[record++];
      continue;
    }
    ASSERT_LT(loss, scan.losses.size()) << position;
    ASSERT_EQ(scan.losses[loss].offset, position);
    ASSERT_GT(scan.losses[loss].length, 0u);
    ASSERT_FALSE(scan.losses[loss].reason.empty());
    position += scan.losses[loss++].length;
  }
  EXPECT_EQ(position, file.size());
}

void ExpectSame(const Scan& a, const Scan& b) {
  EXPECT_EQ(a.payloads, b.payloads);
  EXPECT_EQ(a.offsets, b.offsets);
  ASSERT_EQ(a.losses.size(), b.losses.size());
  for (size_t i = 0; i < a.losses.size(); ++i) {
    EXPECT_EQ(a.losses[i].offset, b.losses[i].offset);
    EXPECT_EQ(a.losses[i].length, b.losses[i].length);
    EXPECT_EQ(a.losses[i].reason, b.losses[i].reason);
  }
}

TEST(RecordScannerTest, ReadsWhateverThePiecesAre) {
  const std::string file = Frame(Payloads());
  for (size_t piece = 1; piece <= file.size() + 1; ++piece) {
    const Scan scan = ScanText(file, Whole(file), false, piece);
    ASSERT_TRUE(scan.status.ok()) << scan.status.message();
    EXPECT_EQ(scan.payloads, Payloads()) << piece;
    ExpectCovered(file, scan);
  }
}

TEST(RecordScannerTest, PiecesLargerThanAStep) {
  // Data of several megabytes is asked for in steps.
  const std::vector<std::string> payloads = {
      std::string(5 << 20, 'a'), "b", std::string((3 << 20) + 1, 'c') + "d"};
  const std::string file = Frame(payloads);
  for (const size_t piece : {size_t{4096}, size_t{1} << 20, file.size()}) {
    EXPECT_EQ(ScanText(file, Whole(file), false, piece).payloads, payloads);
  }
}

TEST(RecordScannerTest, EmptyFile) {
  const Scan scan = ScanText("", {0, 0, true, true}, false, 8);
  EXPECT_TRUE(scan.status.ok());
  EXPECT_TRUE(scan.payloads.empty());
}

TEST(RecordScannerTest, AnyPartsAreTheWhole) {
  const std::string file = Frame(Payloads());
  const Scan whole = ScanText(file, Whole(file), false, 64);
  for (int64_t parts = 1; parts <= 100; ++parts) {
    ExpectSame(ScanParts(file, parts, false), whole);
  }
}

// However one byte is changed, repair leaves a file that is covered, loses no
// record but those that the byte is of, and parts report the same.
TEST(RecordScannerTest, EveryChangedByte) {
  const std::vector<std::string> payloads = Payloads();
  const std::string file = Frame(payloads);
  const Scan sound = ScanText(file, Whole(file), false, 64);
  for (size_t i = 0; i < file.size(); ++i) {
    for (const int change : {1, 0x20, 0x80, 0xff}) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      const Scan scan = ScanText(damaged, Whole(damaged), true, 64);
      ASSERT_TRUE(scan.status.ok());
      ExpectCovered(damaged, scan);
      for (size_t k = 0; k < payloads.size(); ++k) {
        const bool hit = i >= sound.offsets[k] && i < sound.ends[k];
        if (hit) continue;
        const auto found = std::find(scan.offsets.begin(), scan.offsets.end(),
                                     sound.offsets[k]);
        ASSERT_NE(found, scan.offsets.end()) << "byte " << i << " record " << k;
        EXPECT_EQ(scan.payloads[found - scan.offsets.begin()], payloads[k]);
      }
      for (const int64_t parts : {2, 3, 7, 40}) {
        ExpectSame(ScanParts(damaged, parts, true), scan);
      }
      const Scan strict = ScanText(damaged, Whole(damaged), false, 64);
      EXPECT_EQ(strict.status.ok(), scan.losses.empty());
      EXPECT_EQ(ScanParts(damaged, 5, false).status.ok(), scan.losses.empty());
      if (strict.status.ok()) continue;
      EXPECT_EQ(strict.status.code(), StatusCode::kDataLoss);
      EXPECT_EQ(strict.status.message(), "a.rec: " + scan.losses[0].reason);
      EXPECT_NE(strict.status.message().find("offset"), std::string::npos);
    }
  }
}

TEST(RecordScannerTest, EveryTruncation) {
  const std::string file = Frame(Payloads());
  const Scan sound = ScanText(file, Whole(file), false, 64);
  for (size_t size = 0; size < file.size(); ++size) {
    const std::string cut = file.substr(0, size);
    const Scan scan = ScanText(cut, Whole(cut), true, 16);
    ASSERT_TRUE(scan.status.ok());
    ExpectCovered(cut, scan);
    size_t whole = 0;
    while (whole < sound.ends.size() && sound.ends[whole] <= size) ++whole;
    EXPECT_EQ(scan.payloads.size(), whole) << size;
    EXPECT_EQ(scan.losses.size(),
              size == (whole ? sound.ends[whole - 1] : 0) ? 0u : 1u);
    for (const int64_t parts : {2, 5, 50}) {
      ExpectSame(ScanParts(cut, parts, true), scan);
    }
  }
}

TEST(RecordScannerTest, ALengthThatSwallowsTheNextRecord) {
  std::string file = Frame({"abcdefgh", "ijkl", "mnop"});
  file[4] = 8 + 12;  // up to the end of the second record
  const Scan strict = ScanText(file, Whole(file), false, 64);
  EXPECT_TRUE(strict.payloads.empty());
  EXPECT_EQ(
      strict.status.message(),
      "a.rec: fragment of 20 bytes at offset 0 has a magic inside its data "
      "at offset 16: its length is wrong");
  const Scan repaired = ScanText(file, Whole(file), true, 64);
  EXPECT_EQ(repaired.payloads, (std::vector<std::string>{"ijkl", "mnop"}));
}

TEST(RecordScannerTest, ALongPayloadInPartsIsRefused) {
  // Each fragment is short enough; together they are not.
  class Parts : public ByteStream {
   public:
    Status Next(ByteSpan* bytes) override {
      if (++count_ % 2 == 1) {
        text_ = Magic() + (count_ == 1 ? std::string("\0\0\0\x30", 4)
                                       : std::string("\0\0\0\x50", 4));
      } else {
        text_.assign(1 << 28, 'x');
      }
      *bytes = ByteSpan(text_.data(), text_.size());
      return OkStatus();
    }
    int count_ = 0;
    std::string text_;
  } stream;
  RecordScanner scanner("a.rec", {0, 8, true, true}, false, &stream);
  ByteSpan payload;
  bool found;
  EXPECT_EQ(scanner.Next(&payload, &found).message(),
            "a.rec: record at offset 0 has 2^29 bytes or more, which no writer "
            "writes");
  EXPECT_EQ(stream.count_, 3);  // the second fragment's data was not read
}

}  // namespace
}  // namespace liquid::record_scanner_test
