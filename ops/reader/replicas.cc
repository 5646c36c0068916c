#include "ops/reader/replicas.h"

#include <tuple>

#include "ops/codecs/codec.h"
#include "ops/reader/read_alone.h"
#include "ops/sampler/fidelity.h"

namespace liquid {
namespace {

uint32_t Bit(uint8_t format) { return uint32_t{1} << (format % 32); }

// Where `row` stands among the rows of its split and format, which ascend by
// shard and offset.
uint64_t PlaceOf(const IndexRow& row, const IndexView& rows) {
  uint64_t low = 0;
  uint64_t high = rows.size();
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const IndexRow at = rows[middle];
    if (std::tie(at.shard, at.offset) < std::tie(row.shard, row.offset)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool SameImage(const IndexRow& a, const IndexRow& b) {
  return std::tie(a.sample, a.height, a.width, a.channels, a.bits,
                  a.orientation) == std::tie(b.sample, b.height, b.width,
                                             b.channels, b.bits, b.orientation);
}

}  // namespace

RecordPtr Replicas::Read(const Record& bad, const Status& why) const {
  Replaced replaced = {why.message(), bad.row.pixels_hash, 0};
  if (bad.replaced != nullptr) replaced = *bad.replaced;
  replaced.tried |= Bit(bad.row.format);
  for (const uint8_t format : formats_) {
    if (replaced.tried & Bit(format)) continue;
    replaced.tried |= Bit(format);
    const std::shared_ptr<Record> record = ReadIn(format, bad.row);
    if (record == nullptr) continue;
    if (!record->status.ok() && !LacksMachine(record->status)) continue;
    record->position = bad.position;
    record->disk_bytes += bad.disk_bytes;
    record->replicas = bad.replicas;
    record->replaced = std::make_shared<Replaced>(std::move(replaced));
    return record;
  }
  return nullptr;
}

std::shared_ptr<Record> Replicas::ReadIn(uint8_t format,
                                         const IndexRow& row) const {
  const Source& source = SourceOf(row.split, format);
  const uint64_t place = PlaceOf(row, index_.Of(row.split, row.format));
  if (source.samples == nullptr || place >= source.samples->size() ||
      !SameImage(source.samples->row(place), row)) {
    return nullptr;
  }
  uint64_t retries = 0;
  if (source.pcr == nullptr) {
    std::shared_ptr<Record> record = source.samples->Describe(place);
    ReadAlone(source.samples.get(), /*asked=*/0, record.get(), &retries);
    return record;
  }
  const uint64_t position =
      source.pcr->PositionOf(source.pcr->RecordOf(place), kFullFidelity);
  const std::shared_ptr<Record> whole = source.pcr->Describe(position);
  ReadAlone(source.pcr.get(), /*asked=*/0, whole.get(), &retries);
  std::shared_ptr<Record> record =
      whole->samples->Get(*whole, place, kFullFidelity);
  record->disk_bytes = whole->disk_bytes;
  return record;
}

const Replicas::Source& Replicas::SourceOf(uint8_t split,
                                           uint8_t format) const {
  std::lock_guard<std::mutex> lock(mu_);
  const auto [found, is_new] = sources_.try_emplace({split, format});
  Source& source = found->second;
  if (!is_new) return source;
  std::unique_ptr<ShardSet> samples;
  if (!ShardSet::Create(SelectedRows(index_, {split}, format, {}), paths_,
                        opener_, &samples)
           .ok()) {
    return source;
  }
  std::shared_ptr<ShardSet> shared = std::move(samples);
  if (format == static_cast<uint8_t>(Format::kPcr) &&
      !open_pcr_(shared, &source.pcr).ok()) {
    return source;
  }
  source.samples = std::move(shared);
  return source;
}

}  // namespace liquid
