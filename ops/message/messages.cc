// The field numbers of all messages. liquid_tf/_native/messages.py writes by
// them; tests/liquid_tf/native/messages_test.py shows that both agree.
#include "ops/message/messages.h"

#include "ops/message/message_fields.h"

namespace liquid {
namespace {

// Appends what `read` finds in an entry to a list of messages.
template <typename Entry>
MessageFields::ReadEntry AppendTo(std::vector<Entry>* entries,
                                  Status (*read)(ByteSpan, const std::string&,
                                                 Entry*)) {
  return [=](ByteSpan bytes, const std::string& path) {
    entries->emplace_back();
    return read(bytes, path, &entries->back());
  };
}

Status Read(ByteSpan bytes, const std::string& path, FormatPlanMessage* m) {
  return MessageFields()
      .Numbers(1, "files", &m->files, 0)
      .Numbers(2, "record_samples", &m->record_samples, 0, UINT32_MAX)
      .Number(3, "cached", &m->cached, 0)
      .Number(4, "fill", &m->fill, 0)
      .Number(5, "scan_groups", &m->scan_groups, 0, UINT32_MAX - 1)
      .Read(bytes, path);
}

Status Read(ByteSpan bytes, const std::string& path, PlanMessage* m) {
  return MessageFields()
      .Number(1, "seed", &m->seed)
      .Number(2, "batch_size", &m->batch_size, 1)
      .Flag(3, "shuffle", &m->shuffle)
      .Text(4, "policy", &m->policy, {"liquid", "minio", "page"})
      .Messages(5, "formats", AppendTo(&m->formats, &Read))
      .Numbers(6, "sections", &m->sections, 0)
      .Read(bytes, path);
}

Status Read(ByteSpan bytes, const std::string& path, SourceMessage* m) {
  return MessageFields()
      .Text(1, "name", &m->name)
      .Number(2, "resident", &m->resident, 0)
      .Number(3, "kept", &m->kept, 0)
      .Number(4, "first_group", &m->first_group, 0, UINT32_MAX)
      .Number(5, "grouped_samples", &m->grouped_samples, 0)
      .Read(bytes, path);
}

Status Read(ByteSpan bytes, const std::string& path, InterleaveMessage* m) {
  const auto read_plan = [m](ByteSpan plan, const std::string& name) {
    return Read(plan, name, &m->plan);
  };
  return MessageFields()
      .Message(1, "plan", read_plan)
      .Messages(2, "sources", AppendTo(&m->sources, &Read))
      .Number(3, "view", &m->view)
      .Flag(4, "drop_remainder", &m->drop_remainder)
      .Number(5, "initial_epoch", &m->initial_epoch, 0)
      .Number(6, "initial_step", &m->initial_step, -1)
      .Number(7, "cache_bytes", &m->cache_bytes, 0)
      .Number(8, "spare_bytes", &m->spare_bytes, 0)
      .Flag(9, "keep_pixels", &m->keep_pixels)
      .Number(10, "mask_bytes", &m->mask_bytes, 0)
      .Numbers(11, "shares", &m->shares, 0)
      .Number(12, "samples_per_epoch", &m->samples_per_epoch, 0)
      .Number(13, "worker", &m->worker, 0)
      .Number(14, "workers", &m->workers, 1)
      .Text(15, "shard_policy", &m->shard_policy, {"pad", "drop", "uneven"})
      .Text(16, "tier", &m->tier)
      .Number(17, "tier_bytes", &m->tier_bytes, 0)
      .Number(18, "tier_queue_bytes", &m->tier_queue_bytes, 0)
      .Number(19, "device_millionths", &m->device_millionths, 0, 1000000)
      .Read(bytes, path);
}

Status Read(ByteSpan bytes, const std::string& path, FormatMessage* m) {
  return MessageFields()
      .Text(1, "index", &m->index)
      .Number(2, "index_crc32c", &m->index_crc32c, 0, UINT32_MAX)
      .Text(3, "pcr_index", &m->pcr_index)
      .Texts(4, "paths", &m->paths)
      .Numbers(5, "splits", &m->splits, 0, 255)
      .Number(6, "format", &m->format, 0, 255)
      .Number(7, "start", &m->start, 0)
      .Number(8, "length", &m->length, -1)
      .Number(9, "threads", &m->threads, 1, 256)
      .Number(10, "lookahead_bytes", &m->lookahead_bytes, 0)
      .Text(11, "reader", &m->reader)
      .Texts(12, "replica_paths", &m->replica_paths)
      .Numbers(13, "replica_formats", &m->replica_formats, 0, 255)
      .Number(14, "patience", &m->patience, 1)
      .Read(bytes, path);
}

Status Read(ByteSpan bytes, const std::string& path, ViewMessage* m) {
  return MessageFields()
      .Text(1, "feature", &m->feature)
      .Number(2, "seed", &m->seed)
      .Texts(3, "recipe", &m->recipe)
      .Read(bytes, path);
}

Status Read(ByteSpan bytes, const std::string& path, DecodeMessage* m) {
  return MessageFields()
      .Number(1, "batch_size", &m->batch_size, 1, 1 << 30)
      .Number(2, "seed", &m->seed)
      .Number(3, "max_pixels", &m->max_pixels, 1)
      .Number(4, "max_scans", &m->max_scans, 1)
      .Number(5, "lookahead", &m->lookahead, -1, 1 << 20)
      .Number(6, "most_lookahead", &m->most_lookahead, 1, 1 << 20)
      .Number(7, "parallelism", &m->parallelism, -1, 1 << 16)
      .Real(8, "min_visible", &m->min_visible, 0, 1)
      .Texts(9, "features", &m->features)
      .Texts(10, "masks", &m->masks)
      .Texts(11, "box_columns", &m->box_columns)
      .Number(12, "box_pad", &m->box_pad, 0, 1 << 20)
      .Numbers(13, "keypoint_flip", &m->keypoint_flip, 0)
      .Flag(14, "ragged", &m->ragged)
      .Texts(15, "recipe", &m->recipe)
      .Number(16, "image_bits", &m->image_bits, 8, 16)
      .Flag(17, "skip_errors", &m->skip_errors)
      .Flag(18, "repeat_to_fill", &m->repeat_to_fill)
      .Flag(19, "round_batch", &m->round_batch)
      .Messages(20, "views", AppendTo(&m->views, &Read))
      .Flag(21, "stacked", &m->stacked)
      .Read(bytes, path);
}

template <typename Message>
Status Parse(ByteSpan bytes, Message* message) {
  *message = Message();
  return Read(bytes, "", message);
}

}  // namespace

Status ParseMessage(ByteSpan bytes, PlanMessage* message) {
  return Parse(bytes, message);
}
Status ParseMessage(ByteSpan bytes, InterleaveMessage* message) {
  return Parse(bytes, message);
}
Status ParseMessage(ByteSpan bytes, FormatMessage* message) {
  return Parse(bytes, message);
}
Status ParseMessage(ByteSpan bytes, DecodeMessage* message) {
  return Parse(bytes, message);
}

}  // namespace liquid
