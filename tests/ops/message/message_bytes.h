// Messages as liquid_tf/_native/messages.py writes them.
#ifndef LIQUID_TESTS_OPS_MESSAGE_MESSAGE_BYTES_H_
#define LIQUID_TESTS_OPS_MESSAGE_MESSAGE_BYTES_H_

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "ops/message/messages.h"

namespace liquid {

// Adds the fields of a message, the first of which has the number 1.
class FieldWriter {
 public:
  void Add(int64_t value) { writer_.add_int64(number_++, value); }
  void Add(double value) { writer_.add_double(number_++, value); }
  void Add(const std::string& value) { writer_.add_string(number_++, value); }
  void Add(const std::vector<int64_t>& values) {
    // add_packed leaves out what is empty.
    if (values.empty()) {
      writer_.add_bytes(number_++, "");
    } else {
      writer_.add_packed_int64(number_++, values.begin(), values.end());
    }
  }
  // Texts, or messages.
  void Add(const std::vector<std::string>& entries) {
    for (const std::string& entry : entries) {
      writer_.add_string(number_, entry);
    }
    ++number_;
  }
  template <typename... Values>
  static std::string Bytes(const Values&... values) {
    FieldWriter fields;
    (fields.Add(values), ...);
    return fields.bytes_;
  }

 private:
  std::string bytes_;
  protozero::pbf_writer writer_{bytes_};
  uint32_t number_ = 1;
};

inline std::string MessageBytes(const FormatPlanMessage& m) {
  return FieldWriter::Bytes(m.files, m.record_samples, m.cached, m.fill,
                            m.scan_groups);
}

inline std::string MessageBytes(const SourceMessage& m) {
  return FieldWriter::Bytes(m.name, m.resident, m.kept, m.first_group,
                            m.grouped_samples);
}

template <typename Message>
std::vector<std::string> EntryBytes(const std::vector<Message>& messages) {
  std::vector<std::string> entries;
  for (const Message& message : messages) {
    entries.push_back(MessageBytes(message));
  }
  return entries;
}

inline std::string MessageBytes(const PlanMessage& m) {
  return FieldWriter::Bytes(m.seed, m.batch_size, int64_t{m.shuffle}, m.policy,
                            EntryBytes(m.formats), m.sections);
}

inline std::string MessageBytes(const InterleaveMessage& m) {
  return FieldWriter::Bytes(
      MessageBytes(m.plan), EntryBytes(m.sources), m.view,
      int64_t{m.drop_remainder}, m.initial_epoch, m.initial_step, m.cache_bytes,
      m.spare_bytes, int64_t{m.keep_pixels}, m.mask_bytes, m.shares,
      m.samples_per_epoch, m.worker, m.workers, m.shard_policy, m.tier,
      m.tier_bytes, m.tier_queue_bytes, m.device_millionths);
}

inline std::string MessageBytes(const FormatMessage& m) {
  return FieldWriter::Bytes(m.index, m.index_crc32c, m.pcr_index, m.paths,
                            m.splits, m.format, m.start, m.length, m.threads,
                            m.lookahead_bytes, m.reader, m.replica_paths,
                            m.replica_formats, m.patience);
}

inline std::string MessageBytes(const ViewMessage& m) {
  return FieldWriter::Bytes(m.feature, m.seed, m.recipe);
}

inline std::string MessageBytes(const DecodeMessage& m) {
  return FieldWriter::Bytes(
      m.batch_size, m.seed, m.max_pixels, m.max_scans, m.lookahead,
      m.most_lookahead, m.parallelism, m.min_visible, m.features, m.masks,
      m.box_columns, m.box_pad, m.keypoint_flip, int64_t{m.ragged}, m.recipe,
      m.image_bits, int64_t{m.skip_errors}, int64_t{m.repeat_to_fill},
      int64_t{m.round_batch}, EntryBytes(m.views), int64_t{m.stacked});
}

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_MESSAGE_MESSAGE_BYTES_H_
