// Records: bytes made by hand, real images, and damage.
#include "ops/containers/pcr/pcr_record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ops/codecs/jpeg/jpeg_progressive.h"
#include "ops/codecs/jpeg/jpeg_scans.h"
#include "ops/core/crc32c.h"
#include "tests/ops/codecs/jpeg_testing.h"

namespace liquid::pcr_record_test {
namespace {

using std::string_literals::operator""s;

// Files of hand-made scans; the first has three and the second one.
const std::string kSos = "\xff\xda\x00\x02"s;
const std::string kScans[3] = {"\xff\xd8" + kSos + "one", kSos + "two",
                               kSos + "three"};
const std::string kEnd = "\xff\xd9";
const std::string kLong = kScans[0] + kScans[1] + kScans[2] + kEnd;
const std::string kShort = "\xff\xd8" + kSos + "1" + kEnd;

std::string Text(ByteSpan bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data), bytes.size);
}

struct Written {
  std::string record;
  PcrEntry entry;
};

Written Write(const std::vector<PcrImage>& images,
              const std::vector<int64_t>& group_ends = {}) {
  Written written;
  const Status status =
      WritePcr(images, group_ends, &written.record, &written.entry);
  EXPECT_TRUE(status.ok()) << status.message();
  return written;
}

Written WriteTwo() {
  return Write(
      {{SpanIn(kLong), 3, ByteSpan()}, {SpanIn(kShort), -1, ByteSpan()}});
}

PcrView View(const Written& written, size_t groups) {
  PcrView view;
  const Status status =
      PcrView::Parse(SpanIn(written.record), written.entry, groups, &view);
  EXPECT_TRUE(status.ok()) << status.message();
  return view;
}

std::string Glue(const PcrView& view, size_t image, size_t group) {
  std::string jpeg = "what was there";
  view.Glue(image, group, &jpeg);
  return jpeg;
}

TEST(PcrRecordTest, BytesAreTheGolden) {
  const Written written = WriteTwo();
  const std::string metadata =
      "\x0a\x0b\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x03\x18\x01"s;
  const std::string groups[3] = {
      "\x0a\x09" + kScans[0] + "\x0a\x07\xff\xd8" + kSos + "1",
      "\x0a\x07" + kScans[1] + "\x0a\x00"s,
      "\x0a\x09" + kScans[2] + "\x0a\x00"s};
  EXPECT_EQ(written.record, metadata + groups[0] + groups[1] + groups[2]);
  EXPECT_EQ(written.entry.lengths, (std::vector<uint32_t>{17, 20, 11, 13}));
  EXPECT_EQ(written.entry.crc32cs,
            (std::vector<uint32_t>{
                Crc32c(SpanIn(metadata)), Crc32c(SpanIn(groups[0])),
                Crc32c(SpanIn(groups[1])), Crc32c(SpanIn(groups[2]))}));
}

TEST(PcrRecordTest, EachFidelityIsAPrefixOfTheFile) {
  const Written written = WriteTwo();
  for (size_t groups = 1; groups <= 3; ++groups) {
    const PcrView view = View(written, groups);
    ASSERT_EQ(view.images(), 2);
    EXPECT_EQ(view.label(0), 3);
    EXPECT_EQ(view.label(1), kPcrNoLabel);
    EXPECT_EQ(view.example(0).size, 0);
    std::string expected;
    for (size_t g = 1; g <= groups; ++g) {
      expected += kScans[g - 1];
      EXPECT_EQ(Text(view.chunk(0, g)), kScans[g - 1]);
      EXPECT_EQ(Glue(view, 0, g), expected + kEnd);
      EXPECT_EQ(view.GluedBytes(0, g), expected.size() + 2);
      EXPECT_EQ(Glue(view, 1, g), kShort);
    }
  }
}

TEST(PcrRecordTest, APrefixOfTheBytesIsEnough) {
  Written written = WriteTwo();
  written.record.resize(written.entry.PrefixBytes(2));
  EXPECT_EQ(Glue(View(written, 2), 0, 2), kScans[0] + kScans[1] + kEnd);
}

TEST(PcrRecordTest, GroupsMergeScans) {
  struct Case {
    std::vector<int64_t> ends;
    std::vector<std::string> chunks;
  };
  for (const Case& c :
       std::vector<Case>{{{1}, {kScans[0] + kScans[1] + kScans[2]}},
                         {{1, 2}, {kScans[0], kScans[1] + kScans[2]}},
                         {{1, 3}, {kScans[0], kScans[1] + kScans[2]}},
                         {{2, 3}, {kScans[0] + kScans[1], kScans[2]}},
                         {{1, 2, 5, 10}, {kScans[0], kScans[1], kScans[2]}},
                         {{5}, {kScans[0] + kScans[1] + kScans[2]}}}) {
    const Written written = Write({{SpanIn(kLong)}, {SpanIn(kShort)}}, c.ends);
    ASSERT_EQ(written.entry.groups(), c.chunks.size());
    const PcrView view = View(written, c.chunks.size());
    EXPECT_EQ(view.metadata().levels, c.chunks.size());
    for (size_t g = 1; g <= c.chunks.size(); ++g) {
      EXPECT_EQ(Text(view.chunk(0, g)), c.chunks[g - 1]);
    }
    EXPECT_EQ(Glue(view, 0, c.chunks.size()), kLong);
    EXPECT_EQ(Glue(view, 1, c.chunks.size()), kShort);
  }
}

TEST(PcrRecordTest, ExamplesAreThereForAllOrNone) {
  const std::string example = "example";
  const Written written =
      Write({{SpanIn(kShort)}, {SpanIn(kShort), 1, SpanIn(example)}});
  const PcrView view = View(written, 1);
  EXPECT_EQ(Text(view.example(0)), "");
  EXPECT_EQ(Text(view.example(1)), example);
  EXPECT_EQ(view.metadata().examples.size(), 2);
}

TEST(PcrRecordTest, WrongArgumentsSaySo) {
  std::string record;
  PcrEntry entry;
  EXPECT_EQ(WritePcr({}, {}, &record, &entry).code(),
            StatusCode::kInvalidArgument);
  for (const std::vector<int64_t>& ends :
       std::vector<std::vector<int64_t>>{{0}, {-1}, {1, 1}, {2, 1}}) {
    EXPECT_EQ(WritePcr({{SpanIn(kShort)}}, ends, &record, &entry).code(),
              StatusCode::kInvalidArgument);
  }
  const std::string cut = kShort.substr(0, 5);
  const Status status =
      WritePcr({{SpanIn(kShort)}, {SpanIn(cut)}}, {}, &record, &entry);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(status.message().find("image 1: jpeg"), 0) << status.message();
}

Status Parse(const std::string& record, const PcrEntry& entry, size_t groups) {
  PcrView view;
  return PcrView::Parse(SpanIn(record), entry, groups, &view);
}

TEST(PcrRecordTest, FidelityIsChecked) {
  const Written written = WriteTwo();
  for (const size_t groups : {0, 4}) {
    EXPECT_EQ(Parse(written.record, written.entry, groups).code(),
              StatusCode::kInvalidArgument);
  }
}

TEST(PcrRecordTest, EveryTruncationIsAnError) {
  const Written written = WriteTwo();
  PcrEntry unchecked = written.entry;
  unchecked.crc32cs.clear();
  for (size_t size = 0; size < written.record.size(); ++size) {
    const std::string cut = written.record.substr(0, size);
    for (size_t groups = 1; groups <= 3; ++groups) {
      const bool enough = size >= written.entry.PrefixBytes(groups);
      EXPECT_EQ(Parse(cut, written.entry, groups).ok(), enough);
      const Status status = Parse(cut, unchecked, groups);
      EXPECT_EQ(status.code(),
                enough ? StatusCode::kOk : StatusCode::kDataLoss);
      if (!enough) {
        EXPECT_NE(status.message().find("offset " + std::to_string(size)),
                  std::string::npos)
            << status.message();
      }
    }
  }
}

TEST(PcrRecordTest, EveryFlippedBitIsNoticed) {
  const Written written = WriteTwo();
  for (size_t at = 0; at < written.record.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = written.record;
      flipped[at] = static_cast<char>(flipped[at] ^ 1 << bit);
      EXPECT_EQ(Parse(flipped, written.entry, 3).code(), StatusCode::kDataLoss);
      const bool before = at < written.entry.PrefixBytes(1);
      EXPECT_EQ(Parse(flipped, written.entry, 1).ok(), !before);
    }
  }
}

TEST(PcrRecordTest, AWrongIndexIsNoticedWithoutChecksums) {
  const Written written = WriteTwo();
  for (size_t part = 0; part < 4; ++part) {
    for (const int change : {-3, -1, 1, 2}) {
      PcrEntry entry = written.entry;
      entry.crc32cs.clear();
      entry.lengths[part] += static_cast<uint32_t>(change);
      if (part < 3) entry.lengths[part + 1] -= static_cast<uint32_t>(change);
      EXPECT_FALSE(Parse(written.record, entry, 3).ok())
          << part << " by " << change;
    }
  }
  PcrEntry entry = written.entry;
  entry.crc32cs.clear();
  entry.lengths.pop_back();
  EXPECT_NE(
      Parse(written.record, entry, 2).message().find("progressive_levels (3)"),
      std::string::npos);
}

// A record of parts made by hand.
Status ParseParts(const std::vector<std::string>& parts) {
  std::string record;
  PcrEntry entry;
  for (const std::string& part : parts) {
    record += part;
    entry.lengths.push_back(static_cast<uint32_t>(part.size()));
  }
  return Parse(record, entry, entry.groups());
}

TEST(PcrRecordTest, PartsThatDisagreeSaySo) {
  const std::string one = "\x10\x01\x18\x01"s, two = "\x10\x02\x18\x01"s;
  const std::string group = "\x0a\x01x\x0a\x01y"s;
  EXPECT_TRUE(ParseParts({one, group}).ok());
  EXPECT_TRUE(ParseParts({two, group, group}).ok());
  const auto expect = [](const std::vector<std::string>& parts, StatusCode code,
                         const std::string& text) {
    const Status status = ParseParts(parts);
    EXPECT_EQ(status.code(), code);
    EXPECT_NE(status.message().find(text), std::string::npos)
        << status.message();
  };
  const StatusCode damage = StatusCode::kDataLoss;
  expect({"\x10\x01\x18\x02"s, group}, StatusCode::kUnimplemented, "version 2");
  expect({"\x10\x01"s, group}, damage, "version (0)");
  expect({"\x18\x01"s, group}, damage, "progressive_levels (0)");
  expect({one, ""}, damage, "scan group 1 has no image");
  expect({one, "\x0a\x01x\x0a\x00"s}, damage, "image 1 has nothing");
  expect({two, group, "\x0a\x01x"s}, damage,
         "scan group 2 has 1 for 2 images at offset 10");
  expect({"\x08\x01" + one, group}, damage, "labels in the metadata has 1");
  expect({"\x22\x01z" + one, group}, damage, "examples in the metadata has 1");
}

TEST(PcrRecordTest, AnEndThatIsThereIsNotRepeated) {
  // Another writer may leave the marker in a chunk, or across two.
  const std::string two = "\x10\x02\x18\x01"s;
  struct Case {
    std::string first, second, glued;
  };
  for (const Case& c : std::vector<Case>{{"x", "\xff\xd9"s, "x\xff\xd9"s},
                                         {"x\xff", "\xd9"s, "x\xff\xd9"s},
                                         {"x\xff\xd9"s, "", "x\xff\xd9"s},
                                         {"x", "\xd9"s, "x\xd9\xff\xd9"s},
                                         {"\xd9"s, "", "\xd9\xff\xd9"s}}) {
    Written written;
    const auto part = [&](const std::string& text) {
      written.record += text;
      written.entry.lengths.push_back(static_cast<uint32_t>(text.size()));
    };
    part(two);
    part("\x0a" + std::string(1, static_cast<char>(c.first.size())) + c.first);
    part("\x0a" + std::string(1, static_cast<char>(c.second.size())) +
         c.second);
    EXPECT_EQ(Glue(View(written, 2), 0, 2), c.glued);
  }
}

TEST(PcrRecordTest, ImagesOfManyKinds) {
  std::vector<std::string> files;
  std::vector<PcrImage> images;
  for (const JpegKind& kind : kJpegKinds) {
    const ImageInfo info = Info(33 + files.size(), 57, kind.channels);
    std::string progressive;
    ASSERT_TRUE(
        ToProgressive(
            SpanIn(WriteJpeg(kind, info, MakePixels(info, files.size(), 90))),
            DecodeLimits(), &progressive)
            .ok());
    files.push_back(progressive);
  }
  for (const std::string& file : files) {
    images.push_back({SpanIn(file), static_cast<int32_t>(images.size())});
  }
  const Written written = Write(images);
  ASSERT_EQ(written.entry.groups(), 10);
  const PcrView view = View(written, 10);
  ASSERT_EQ(view.images(), files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    EXPECT_EQ(Glue(view, i, 10), files[i]);
    EXPECT_EQ(view.label(i), i);
    std::vector<ByteSpan> chunks;
    ASSERT_TRUE(SplitScans(SpanIn(files[i]), &chunks).ok());
    for (size_t g = 1; g <= 10; ++g) {
      EXPECT_EQ(Text(view.chunk(i, g)),
                g <= chunks.size() ? Text(chunks[g - 1]) : "");
      ImageInfo info;
      Bytes pixels;
      const Status status =
          DecodeFile(Format::kJpeg, Glue(view, i, g), &info, &pixels);
      ASSERT_TRUE(status.ok()) << status.message();
    }
  }
}

}  // namespace
}  // namespace liquid::pcr_record_test
