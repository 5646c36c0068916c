#include "tests/fuzz/pcr_fuzz.h"

#include <cstdio>
#include <cstdlib>

#include "ops/codecs/exif.h"
#include "ops/codecs/jpeg/jpeg_progressive.h"
#include "ops/codecs/jpeg/jpeg_scans.h"
#include "ops/containers/pcr/pcr_record.h"
#include "tests/ops/codecs/jpeg_testing.h"

namespace liquid {
namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "pcr fuzzer: %s\n", what);
  std::abort();
}

std::string Text(ByteSpan bytes) {
  return bytes.size == 0
             ? std::string()
             : std::string(reinterpret_cast<const char*>(bytes.data),
                           bytes.size);
}

std::vector<std::string> Texts(const std::vector<ByteSpan>& spans) {
  std::vector<std::string> texts;
  for (const ByteSpan& span : spans) texts.push_back(Text(span));
  return texts;
}

// Whether an error says something.
bool IsGood(const Status& status) {
  Require(status.ok() || !status.message().empty(), "an error without words");
  return status.ok();
}

std::string MakeRecord(const std::vector<std::string>& files, PcrEntry* entry) {
  std::vector<PcrImage> images;
  for (const std::string& file : files) {
    images.push_back({SpanIn(file), static_cast<int32_t>(images.size())});
  }
  std::string record;
  Require(WritePcr(images, {}, &record, entry).ok(), "no record");
  return record;
}

std::string Progressive(const JpegKind& kind, uint32_t height, uint32_t width) {
  const ImageInfo info = Info(height, width, kind.channels);
  const std::string file = WriteJpeg(kind, info, MakePixels(info, 1, 90));
  std::string progressive;
  Require(ToProgressive(SpanIn(file), DecodeLimits(), &progressive).ok(),
          "no transform");
  return progressive;
}

}  // namespace

void FuzzPcrScans(const uint8_t* data, size_t size) {
  const ByteSpan file(data, size);
  ExifOrientation(file);
  CountScans(file);
  std::vector<ByteSpan> chunks;
  if (IsGood(SplitScans(file, &chunks))) {
    PcrEntry entry;
    const std::string record = MakeRecord({Text(file), Text(file)}, &entry);
    PcrView view;
    Require(PcrView::Parse(SpanIn(record), entry, entry.groups(), &view).ok(),
            "a record that was written does not parse");
    Require(view.groups() == chunks.size(), "scans were lost");
    std::string whole, glued;
    for (const ByteSpan& chunk : chunks) whole += Text(chunk);
    Require(Text(file).compare(0, whole.size(), whole) == 0,
            "chunks are not the file");
    view.Glue(1, view.groups(), &glued);
    // The last scan may be its header alone, and that may end as an image does.
    Require(glued == whole + "\xff\xd9" ||
                (glued == whole &&
                 whole.compare(whole.size() - 2, 2, "\xff\xd9") == 0),
            "an image came back changed");
  }
  DecodeLimits limits;
  limits.max_pixels = 1 << 12;
  std::string progressive;
  if (!IsGood(ToProgressive(file, limits, &progressive))) return;
  Require(SplitScans(SpanIn(progressive), &chunks).ok(),
          "what the transform made does not split");
}

void FuzzPcrMessages(const uint8_t* data, size_t size) {
  const ByteSpan bytes(data, size);
  PcrMetadata metadata, metadata_again;
  std::string out;
  if (IsGood(ParsePcrMetadata(bytes, 0, &metadata))) {
    AppendPcrMetadata(metadata, &out);
    Require(ParsePcrMetadata(SpanIn(out), 0, &metadata_again).ok() &&
                metadata_again.labels == metadata.labels &&
                metadata_again.levels == metadata.levels &&
                metadata_again.version == metadata.version &&
                Texts(metadata_again.examples) == Texts(metadata.examples),
            "metadata came back changed");
  }
  std::vector<ByteSpan> chunks, chunks_again;
  if (IsGood(ParseScanGroup(bytes, 0, &chunks))) {
    out.clear();
    AppendScanGroup(chunks, &out);
    Require(ParseScanGroup(SpanIn(out), 0, &chunks_again).ok() &&
                Texts(chunks_again) == Texts(chunks),
            "a scan group came back changed");
  }
  std::vector<PcrEntry> entries, entries_again;
  if (IsGood(ParsePcrIndex(bytes, &entries))) {
    out.clear();
    AppendPcrIndex(entries, &out);
    Require(ParsePcrIndex(SpanIn(out), &entries_again).ok(),
            "an index that was written does not parse");
    // A name that begins with several slashes loses one each time.
    for (size_t i = 0; i < entries_again.size(); ++i) {
      Require(entries_again[i].groups() >= 1, "an entry without a group");
    }
  }
}

void FuzzPcrView(const uint8_t* data, size_t size) {
  if (size < 1) return;
  const size_t parts = 2 + data[0] % 16;
  if (size < 1 + 2 * parts) return;
  PcrEntry entry;
  for (size_t i = 0; i < parts; ++i) {
    entry.lengths.push_back(data[1 + 2 * i] | data[2 + 2 * i] << 8);
  }
  const ByteSpan record(data + 1 + 2 * parts, size - 1 - 2 * parts);
  for (size_t groups = 1; groups <= entry.groups(); ++groups) {
    PcrView view;
    if (!IsGood(PcrView::Parse(record, entry, groups, &view))) return;
    std::string glued;
    for (size_t i = 0; i < view.images(); ++i) {
      view.label(i);
      view.example(i);
      view.Glue(i, groups, &glued);
      Require(glued.size() == view.GluedBytes(i, groups), "a wrong size");
      Require(glued.size() >= 3 &&
                  glued.compare(glued.size() - 2, 2, "\xff\xd9") == 0,
              "an image without an end");
    }
  }
}

std::vector<std::string> PcrScansSeeds() {
  std::vector<std::string> seeds;
  for (const JpegKind& kind : kJpegKinds) {
    const ImageInfo info = Info(9, 11, kind.channels);
    seeds.push_back(WriteJpeg(kind, info, MakePixels(info, 1, 90)));
    seeds.push_back(Progressive(kind, 17, 9));
  }
  return seeds;
}

std::vector<std::string> PcrMessagesSeeds() {
  std::vector<std::string> seeds(3);
  const std::string a = "example", b = "chunk";
  PcrMetadata metadata;
  metadata.labels = {1, -1, 300};
  metadata.levels = 10;
  metadata.version = 1;
  metadata.examples = {SpanIn(a), SpanIn(b), ByteSpan()};
  AppendPcrMetadata(metadata, &seeds[0]);
  AppendScanGroup({SpanIn(a), ByteSpan(), SpanIn(b)}, &seeds[1]);
  PcrEntry entry;
  entry.name = "/PCR_0.pcr";
  entry.lengths = {5, 1 << 20, 300};
  entry.crc32cs = {1, 2, 3};
  AppendPcrIndex({entry, entry}, &seeds[2]);
  seeds.push_back("\x08\x05\x10\x01\x18\x01");
  return seeds;
}

std::vector<std::string> PcrViewSeeds() {
  std::vector<std::string> seeds;
  for (size_t i = 0; i + 1 < std::size(kJpegKinds); ++i) {
    PcrEntry entry;
    const std::string record =
        MakeRecord({Progressive(kJpegKinds[i], 8, 8),
                    Progressive(kJpegKinds[i + 1], 8, 9)},
                   &entry);
    std::string seed(1, static_cast<char>(entry.lengths.size() - 2));
    for (const uint32_t length : entry.lengths) {
      seed += static_cast<char>(length & 255);
      seed += static_cast<char>(length >> 8);
    }
    seeds.push_back(seed + record);
  }
  return seeds;
}

}  // namespace liquid
