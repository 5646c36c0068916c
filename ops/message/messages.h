// What is constant in a dataset's op, in one message each: what they mean.
// messages.cc has the number of each field, and what values it may have.
#ifndef LIQUID_OPS_MESSAGE_MESSAGES_H_
#define LIQUID_OPS_MESSAGE_MESSAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

// What is planned of one format.
struct FormatPlanMessage {
  std::vector<int64_t> files;  // records in each shard, stored order
  // Samples of each record; empty where a record is a sample.
  std::vector<int64_t> record_samples;
  int64_t cached = 0;       // records kept between epochs
  int64_t fill = 0;         // samples to shuffle among at least
  int64_t scan_groups = 0;  // to read at most; 0: those of the batch
};

// What decides the order of samples, where none has a weight.
struct PlanMessage {
  int64_t seed = 0;
  int64_t batch_size = 0;
  bool shuffle = false;  // false: stored order
  // What stays in memory between epochs. "liquid": a constant part of every
  // batch. "minio": what was drawn first, for ever. "page": nothing of ours;
  // the inputs read through the page cache.
  std::string policy;
  std::vector<FormatPlanMessage> formats;
  // Samples of each format, where all have the same ones; else empty. They are
  // cut into these sections; one of records with many samples has whole ones.
  std::vector<int64_t> sections;
};

// What an interleave knows of one of its inputs.
struct SourceMessage {
  std::string name;  // for errors and statistics
  // Most records in memory; the rest is read later, at its draw.
  int64_t resident = 0;
  int64_t kept = 0;         // most of them that were drawn and are kept
  int64_t first_group = 0;  // of its samples, where there are shares
  // Entries of the input `groups` that are its own; 0 where all of its samples
  // are of the first group.
  int64_t grouped_samples = 0;
};

// Of Liquid>InterleaveDataset.
struct InterleaveMessage {
  PlanMessage plan;
  std::vector<SourceMessage> sources;  // one a format
  // A hash of which samples are read: a checkpoint of others does not fit.
  int64_t view = 0;
  bool drop_remainder = false;
  int64_t initial_epoch = 0;  // first one that a new snapshot gives out
  // Batches of it to leave out; -1: it has a rest, which must be sought
  // (Liquid>SeekSnapshot) before an iterator takes it.
  int64_t initial_step = 0;
  int64_t cache_bytes = 0;  // most kept between epochs
  // Most of free memory that a new snapshot keeps for later use.
  int64_t spare_bytes = 0;
  // What stays in memory of a record is its decoded pixels. For formats whose
  // records are samples.
  bool keep_pixels = false;
  int64_t mask_bytes = 0;  // of a pixel, in masks that are kept with an image
  // Of each group, of an epoch, in proportion; empty where each sample is drawn
  // once. `cached` are then the samples of greatest share, which stay.
  std::vector<int64_t> shares;
  int64_t samples_per_epoch = 0;  // of all workers, where there are shares
  int64_t worker = 0;  // where there are shares; else the inputs are its part
  int64_t workers = 1;
  std::string shard_policy;  // see Liquid>ShardRanges
  // A local folder for records between store and memory; empty for none.
  std::string tier;
  int64_t tier_bytes = 0;        // most in the tier of a new snapshot
  int64_t tier_queue_bytes = 0;  // most of records that wait to be written
  // Of the bytes of images that are kept, those that are to lie on a device,
  // where the snapshot has memory of one.
  int64_t device_millionths = 0;
};

// Of Liquid>FormatDataset.
struct FormatMessage {
  std::string index;         // file of the dataset's index
  int64_t index_crc32c = 0;  // of that file; checked where it is not local
  std::string pcr_index;     // file of the index of its pcr; empty for none
  // File of each shard of the manifest, empty for other formats.
  std::vector<std::string> paths;
  std::vector<int64_t> splits;  // ascending; read one after the other
  int64_t format = 0;           // its number in the index
  // The part to read: its first sample, in stored order of those that are read,
  // and how many, which wrap at the end; -1 for all.
  int64_t start = 0;
  int64_t length = -1;
  int64_t threads = 0;          // most reads under way at once
  int64_t lookahead_bytes = 0;  // of what is read, or read into, and not used
  // "auto", or the name of one way of reading: see ReadMode.
  std::string reader;
  // File of every shard, where each sample is stored in several formats: a
  // damaged one is then read in another. Empty where it is not.
  std::vector<std::string> replica_paths;
  // These formats, that which is read first in front.
  std::vector<int64_t> replica_formats;
  // Seconds in which a read over http:// or s3:// that fails is repeated.
  int64_t patience = 0;
};

// A view of an image beside its first one.
struct ViewMessage {
  std::string feature;              // the name of its pixels
  int64_t seed = 0;                 // as of DecodeMessage
  std::vector<std::string> recipe;  // likewise
};

// Of Liquid>DecodeBatchDataset.
struct DecodeMessage {
  int64_t batch_size = 0;  // samples in a full batch
  int64_t seed = 0;        // of all that the recipe leaves to chance
  int64_t max_pixels = 0;  // of an image that is decoded
  int64_t max_scans = 0;   // of a JPEG that is decoded
  // Batches in flight; -1: as many as tf.data's autotuner says, which says no
  // more than `most_lookahead`.
  int64_t lookahead = 0;
  int64_t most_lookahead = 0;
  // Threads of tf.data's that decode at once; -1: as its autotuner says.
  int64_t parallelism = 0;
  // Share of a box's area that must be inside the image that comes out.
  double min_visible = 0;
  // One per output: image, label, id, format, source, orientation, window,
  // mirrored, size, affine, bytes, image[stored], example, num_boxes, partner,
  // lam, one of the next two, or one of `views`.
  std::vector<std::string> features;
  // PNG images in the record's tf.train.Example that follow the geometry.
  std::vector<std::string> masks;
  // Features of the record's tf.train.Example that have a value for every box,
  // "boxes" among them: float y0 x0 y1 x1. These and float "keypoints"
  // (y, x, v) follow the geometry; boxes that do not stay drop out of all
  // columns.
  std::vector<std::string> box_columns;
  // Boxes of every sample, [batch, box_pad, ...]: the first ones, then zeros,
  // of "box_labels" -1. 0: [boxes, ...], those of one sample after another.
  int64_t box_pad = 0;
  // Of a mirrored image's keypoints, which one becomes each; or none.
  std::vector<int64_t> keypoint_flip;
  // Pixels of a batch as [pixels, channels], one image after another.
  bool ragged = false;
  std::vector<std::string> recipe;  // see ops/image/recipe_text.h
  int64_t image_bits = 0;           // as stored
  // A bad record gives its place to the next draw of its format.
  bool skip_errors = false;
  bool repeat_to_fill = false;  // then a short batch is filled with repeats
  // Whatever is short in the end repeats its samples in turn.
  bool round_batch = false;
  // Views 1, 2, ... of the image; `recipe` makes view 0. All are of one decode.
  std::vector<ViewMessage> views;
  // All views are one output, the image: [batch, views, ...].
  bool stacked = false;
};

// Error: InvalidArgument that names field, value and constraint; `*message` is
// then unspecified.
Status ParseMessage(ByteSpan bytes, PlanMessage* message);
Status ParseMessage(ByteSpan bytes, InterleaveMessage* message);
Status ParseMessage(ByteSpan bytes, FormatMessage* message);
Status ParseMessage(ByteSpan bytes, DecodeMessage* message);

}  // namespace liquid

#endif  // LIQUID_OPS_MESSAGE_MESSAGES_H_
