#include "ops/engine/stats.h"

#include <cstdio>
#include <sstream>
#include <utility>

namespace liquid {
namespace {

std::string Quote(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", c);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

// `values`: one for each format.
template <typename Iterator>
void WriteByFormat(const char* name, const std::vector<std::string>& formats,
                   Iterator values, std::ostream& out) {
  out << '"' << name << "\":{";
  for (size_t f = 0; f < formats.size(); ++f) {
    out << (f == 0 ? "" : ",") << Quote(formats[f]) << ':' << *values++;
  }
  out << '}';
}

void WriteSeconds(const BatchSeconds& seconds, std::ostream& out) {
  out << "\"seconds\":{\"read\":" << seconds.read
      << ",\"decode\":" << seconds.decode << ",\"wait\":" << seconds.wait
      << ",\"step\":" << seconds.step << ",\"disk\":" << seconds.disk << '}';
}

void WriteCount(const char* name, const Tier::Count& count, std::ostream& out) {
  out << '"' << name << "\":{\"records\":" << count.records
      << ",\"bytes\":" << count.bytes << "},";
}

void WriteTier(const Tier::Counters& tier, std::ostream& out) {
  out << ",\"tier\":{\"bytes\":" << tier.bytes << ',';
  WriteCount("there", tier.there, out);
  WriteCount("read", tier.read, out);
  WriteCount("written", tier.written, out);
  out << "\"left_out\":" << tier.left_out << ",\"failed\":" << tier.failed
      << ",\"off\":" << Quote(tier.off) << '}';
}

// Only of epochs that have read scan groups, or were told how many to.
void WriteFidelity(const std::vector<int64_t>& steps,
                   const std::map<uint32_t, uint64_t>& bytes_by_group,
                   std::ostream& out) {
  if (steps.empty() && bytes_by_group.empty()) return;
  out << ",\"fidelity\":[";
  for (size_t i = 0; i + 1 < steps.size(); i += 2) {
    out << (i == 0 ? "[" : ",[") << steps[i] << ',' << steps[i + 1] << ']';
  }
  out << "],\"bytes_by_group\":{";
  const char* comma = "";
  for (const auto& [groups, bytes] : bytes_by_group) {
    out << comma << '"' << groups << "\":" << bytes;
    comma = ",";
  }
  out << '}';
}

template <typename T, typename Sum>
void Add(const std::vector<T>& values, std::vector<Sum>* sums) {
  for (size_t f = 0; f < values.size() && f < sums->size(); ++f) {
    (*sums)[f] += values[f];
  }
}

void Add(const BatchSeconds& seconds, BatchSeconds* sums) {
  sums->read += seconds.read;
  sums->decode += seconds.decode;
  sums->wait += seconds.wait;
  sums->step += seconds.step;
  sums->disk += seconds.disk;
}

}  // namespace

const std::pair<const char*, std::vector<uint64_t> StatsBoard::Epoch::*>
    StatsBoard::kCounts[] = {{"samples", &Epoch::samples},
                             {"hits", &Epoch::hits},
                             {"loads", &Epoch::loads},
                             {"memory_hits", &Epoch::memory_hits},
                             {"gpu_hits", &Epoch::gpu_hits},
                             {"bytes", &Epoch::bytes},
                             {"skipped", &Epoch::skipped},
                             {"fallbacks", &Epoch::fallbacks},
                             {"retries", &Epoch::retries},
                             {"decodes", &Epoch::decodes},
                             {"libjpeg_decodes", &Epoch::libjpeg_decodes}};

void StatsBoard::SetFormats(std::vector<std::string> formats) {
  std::lock_guard<std::mutex> lock(mu_);
  formats_ = std::move(formats);
}

StatsBoard::Epoch StatsBoard::NewEpoch() const {
  Epoch epoch;
  for (const auto& [name, counts] : kCounts) {
    (epoch.*counts).resize(formats_.size());
  }
  epoch.decode_seconds.resize(formats_.size());
  return epoch;
}

StatsBoard::Epoch& StatsBoard::At(int64_t number) {
  const auto found = epochs_.find(number);
  if (found != epochs_.end()) return found->second;
  if (epochs_.size() == kMaxEpochs) {
    const Epoch& oldest = epochs_.begin()->second;
    if (earlier_count_++ == 0) earlier_ = NewEpoch();
    for (const auto& [name, counts] : kCounts) {
      Add(oldest.*counts, &(earlier_.*counts));
    }
    Add(oldest.decode_seconds, &earlier_.decode_seconds);
    earlier_.batches += oldest.batches;
    earlier_.disk_bytes += oldest.disk_bytes;
    earlier_.tier.records += oldest.tier.records;
    earlier_.tier.bytes += oldest.tier.bytes;
    Add(oldest.seconds, &earlier_.seconds);
    epochs_.erase(epochs_.begin());
  }
  return epochs_[number] = NewEpoch();
}

void StatsBoard::SetReading(uint32_t format, const std::string& method) {
  std::lock_guard<std::mutex> lock(mu_);
  reading_[format] = method;
}

void StatsBoard::AddBatch(const BatchReport& report) {
  std::lock_guard<std::mutex> lock(mu_);
  Epoch& entry = At(report.epoch);
  ++entry.batches;
  Add(report.samples, &entry.samples);
  Add(report.hits, &entry.hits);
  Add(report.loads, &entry.loads);
  Add(report.memory_hits, &entry.memory_hits);
  Add(report.gpu_hits, &entry.gpu_hits);
  Add(report.bytes, &entry.bytes);
  Add(report.decodes, &entry.decodes);
  Add(report.libjpeg_decodes, &entry.libjpeg_decodes);
  Add(report.decode_seconds, &entry.decode_seconds);
  entry.disk_bytes += report.disk_bytes;
  for (const Fallback& fallback : report.fallbacks) {
    AddFallback(fallback, &entry);
  }
  Add(report.seconds, &entry.seconds);
  batches_.push_back({report.epoch, report.first_draw, report.full, report.cost,
                      report.seconds});
  for (const auto* counts :
       {&report.samples, &report.hits, &report.loads, &report.memory_hits}) {
    for (size_t f = 0; f < formats_.size(); ++f) {
      counts_.push_back(f < counts->size() ? (*counts)[f] : 0);
    }
  }
  if (batches_.size() > kMaxBatches) {
    batches_.pop_front();
    counts_.erase(counts_.begin(), counts_.begin() + 4 * formats_.size());
  }
}

void StatsBoard::AddFallback(const Fallback& fallback, Epoch* epoch) {
  if (fallback.format < epoch->fallbacks.size()) {
    ++epoch->fallbacks[fallback.format];
  }
  ++fallbacks_total_;
  other_pixels_ += fallback.other_pixels;
  if (fallbacks_.size() < kMaxSkipped) fallbacks_.push_back(fallback);
}

void StatsBoard::SetFidelity(int64_t epoch, std::vector<int64_t> steps) {
  std::lock_guard<std::mutex> lock(mu_);
  At(epoch).fidelity = std::move(steps);
}

void StatsBoard::SetFill(int64_t epoch, uint64_t bytes, double seconds) {
  std::lock_guard<std::mutex> lock(mu_);
  Epoch& entry = At(epoch);
  entry.fill_bytes = bytes;
  entry.fill_seconds = seconds;
}

void StatsBoard::AddRead(int64_t epoch, uint32_t groups, uint64_t disk_bytes) {
  std::lock_guard<std::mutex> lock(mu_);
  At(epoch).bytes_by_group[groups] += disk_bytes;
}

void StatsBoard::AddTierRead(int64_t epoch, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mu_);
  Tier::Count& count = At(epoch).tier;
  ++count.records;
  count.bytes += bytes;
}

void StatsBoard::AddDecode(int64_t epoch, uint32_t format, bool by_library,
                           double seconds) {
  std::lock_guard<std::mutex> lock(mu_);
  Epoch& entry = At(epoch);
  if (format >= entry.decodes.size()) return;
  ++entry.decodes[format];
  entry.libjpeg_decodes[format] += by_library;
  entry.decode_seconds[format] += seconds;
}

void StatsBoard::AddRetries(int64_t epoch, uint32_t format, uint64_t reads) {
  std::lock_guard<std::mutex> lock(mu_);
  Epoch& entry = At(epoch);
  if (format < entry.retries.size()) entry.retries[format] += reads;
}

void StatsBoard::AddSkipped(int64_t epoch, const SkippedRecord& record) {
  std::lock_guard<std::mutex> lock(mu_);
  Epoch& entry = At(epoch);
  if (record.format < entry.skipped.size()) ++entry.skipped[record.format];
  ++skipped_total_;
  if (skipped_.size() < kMaxSkipped) skipped_.push_back(record);
}

void StatsBoard::SetDecoding(int64_t epoch, int64_t parallelism,
                             int64_t lookahead) {
  std::lock_guard<std::mutex> lock(mu_);
  Epoch& entry = At(epoch);
  entry.parallelism = parallelism;
  entry.lookahead = lookahead;
}

void StatsBoard::WriteEpoch(const Epoch& epoch, std::ostream& out) const {
  out << "\"batches\":" << epoch.batches
      << ",\"disk_bytes\":" << epoch.disk_bytes << ',';
  WriteCount("tier", epoch.tier, out);
  WriteSeconds(epoch.seconds, out);
  out << ",\"fill\":{\"bytes\":" << epoch.fill_bytes
      << ",\"seconds\":" << epoch.fill_seconds << '}';
  out << ",\"decoding\":{\"parallelism\":" << epoch.parallelism
      << ",\"lookahead\":" << epoch.lookahead << '}';
  for (const auto& [name, counts] : kCounts) {
    out << ',';
    WriteByFormat(name, formats_, (epoch.*counts).begin(), out);
  }
  out << ',';
  WriteByFormat("decode_seconds", formats_, epoch.decode_seconds.begin(), out);
  WriteFidelity(epoch.fidelity, epoch.bytes_by_group, out);
}

void StatsBoard::WriteBatches(std::ostream& out) const {
  auto counts = counts_.begin();
  const char* comma = "";
  for (const Batch& batch : batches_) {
    out << comma << "{\"epoch\":" << batch.epoch
        << ",\"first_draw\":" << batch.first_draw
        << ",\"full\":" << (batch.full ? "true" : "false")
        << ",\"disk_bytes\":" << batch.cost->disk_bytes << ',';
    WriteSeconds(batch.seconds, out);
    for (const char* name : {"samples", "hits", "loads", "memory_hits"}) {
      out << ',';
      WriteByFormat(name, formats_, counts, out);
      counts += static_cast<std::ptrdiff_t>(formats_.size());
    }
    out << '}';
    comma = ",";
  }
}

std::string StatsBoard::Json(const Now& now, bool with_batches) const {
  std::lock_guard<std::mutex> lock(mu_);
  std::ostringstream out;
  out << "{\"next_epoch\":" << now.next_epoch
      << ",\"cached\":{\"records\":" << now.cached_records
      << ",\"bytes\":" << now.cached_bytes
      << "},\"pool\":{\"used\":" << now.pool_used
      << ",\"kept\":" << now.pool_kept << '}';
  if (now.tier) WriteTier(*now.tier, out);
  if (now.arena) {
    out << ",\"gpu\":{\"bytes\":" << now.arena->bytes << ',';
    WriteCount("there", now.device_records, out);
    out << "\"used\":" << now.arena->used << '}';
  }
  out << ",\"mixes\":[";
  for (size_t i = 0; i < now.mixes.size(); ++i) {
    out << (i == 0 ? "" : ",") << now.mixes[i];
  }
  out << "],\"formats\":[";
  for (size_t f = 0; f < formats_.size(); ++f) {
    out << (f == 0 ? "" : ",") << Quote(formats_[f]);
  }
  out << "],\"reading\":{";
  bool first = true;
  for (const auto& [format, method] : reading_) {
    if (format >= formats_.size()) continue;
    out << (first ? "" : ",") << Quote(formats_[format]) << ':'
        << Quote(method);
    first = false;
  }
  out << "},\"epochs\":[";
  first = true;
  for (const auto& [number, epoch] : epochs_) {
    out << (first ? "" : ",") << "{\"epoch\":" << number << ',';
    WriteEpoch(epoch, out);
    out << '}';
    first = false;
  }
  out << "],\"earlier\":{\"count\":" << earlier_count_ << ',';
  WriteEpoch(earlier_count_ > 0 ? earlier_ : NewEpoch(), out);
  out << "},\"skipped\":{\"count\":" << skipped_total_ << ",\"first\":[";
  for (size_t i = 0; i < skipped_.size(); ++i) {
    out << (i == 0 ? "" : ",") << "{\"sample\":" << skipped_[i].sample
        << ",\"reason\":" << Quote(skipped_[i].reason) << '}';
  }
  out << "]},\"fallbacks\":{\"count\":" << fallbacks_total_
      << ",\"other_pixels\":" << other_pixels_ << ",\"first\":[";
  for (size_t i = 0; i < fallbacks_.size(); ++i) {
    out << (i == 0 ? "" : ",") << "{\"sample\":" << fallbacks_[i].sample
        << ",\"read_as\":" << Quote(fallbacks_[i].read_as)
        << ",\"reason\":" << Quote(fallbacks_[i].reason) << '}';
  }
  out << "]}";
  if (with_batches) {
    out << ",\"batches\":[";
    WriteBatches(out);
    out << ']';
  }
  out << '}';
  return out.str();
}

}  // namespace liquid
