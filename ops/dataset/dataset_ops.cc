// Registration of the Dataset ops and of those on a snapshot.
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace liquid {
namespace {

using ::tensorflow::shape_inference::NoOutputs;
using ::tensorflow::shape_inference::ScalarShape;

REGISTER_OP("Liquid>FormatDataset")
    .Input("index: string")
    .Input("index_crc32c: int64")
    .Input("pcr_index: string")
    .Input("paths: string")
    .Input("splits: int64")
    .Input("chosen: uint8")
    .Input("format: int64")
    .Input("start: int64")
    .Input("length: int64")
    .Input("threads: int64")
    .Input("lookahead_bytes: int64")
    .Input("reader: string")
    .Input("replica_paths: string")
    .Input("replica_formats: int64")
    .Output("handle: variant")
    .Attr("page_cache: bool = false")
    .Attr("patience: int >= 1 = 120")
    .SetDoNotOptimize()
    .SetShapeFn(ScalarShape)
    .Doc(R"doc(
Reads the records of one format ahead of their use.

Below an InterleaveDataset it reads what the plan says, else in stored order.
Elements are blocks of records: scalar variants that only
Liquid>InterleaveDataset and Liquid>DecodeBatchDataset understand. A record that
cannot be read or fails its checks is passed on with its error.

index: file of the dataset's index.
index_crc32c: of that file; checked where it is not local.
pcr_index: file of the index of its pcr; empty where it has none.
paths: [shards], file of each shard of the manifest, empty for other formats.
splits: [n], numbers of the splits, ascending; read one after the other.
chosen: a bit for each sample number, the first in the lowest bit of byte 0; only
  samples that have one are read. [0] for all.
format: number of the format in the index.
start: first sample of the part to read, in stored order of those that are read.
length: samples of the part, which wraps at the end; -1 for all.
threads: most reads under way at once.
lookahead_bytes: of what is read and not yet used, and of memory to read into.
reader: "auto", or "io_uring", "threads" or "buffered" for one way of reading.
replica_paths: [shards], file of every shard, where every sample is stored in
  several formats: a damaged one is then read in another. [0] where it is not.
replica_formats: these formats, that which is read first in front.
page_cache: whether reads go through the kernel's page cache, and leave their
  pages in it.
patience: seconds in which a read over http:// or s3:// that fails is repeated.
)doc");

REGISTER_OP("Liquid>InterleaveDataset")
    .Input("input_datasets: N * variant")
    .Input("fidelity: M * variant")
    .Input("mixes: K * variant")
    .Input("file_counts: int64")
    .Input("files_per_format: int64")
    .Input("record_samples: int64")
    .Input("sized_records: int64")
    .Input("cached: int64")
    .Input("fill: int64")
    .Input("resident: int64")
    .Input("kept: int64")
    .Input("parts: int64")
    .Input("scan_groups: int64")
    .Input("shares: int64")
    .Input("first_groups: int64")
    .Input("grouped_samples: int64")
    .Input("groups: uint16")
    .Input("record_blocks: uint32")
    .Input("formats: string")
    .Input("view: int64")
    .Input("seed: int64")
    .Input("batch_size: int64")
    .Input("epoch: int64")
    .Input("first_step: int64")
    .Input("steps: int64")
    .Input("initial_epoch: int64")
    .Input("initial_step: int64")
    .Input("cache_bytes: int64")
    .Input("spare_bytes: int64")
    .Input("samples_per_epoch: int64")
    .Input("worker: int64")
    .Input("workers: int64")
    .Input("tier_bytes: int64")
    .Input("tier_queue_bytes: int64")
    .Input("tier: string")
    .Input("snapshot: string")
    .Output("handle: variant")
    .Attr("N: int >= 1")
    .Attr("M: int >= 0")
    .Attr("K: int >= 0")
    .Attr("shuffle: bool = true")
    .Attr("drop_remainder: bool = false")
    .Attr("policy: {'liquid', 'minio', 'page'} = 'liquid'")
    .Attr("shard_policy: {'pad', 'drop', 'uneven'} = 'pad'")
    .Attr("keep_pixels: bool = false")
    .Attr("mask_bytes: int >= 0 = 0")
    .SetDoNotOptimize()
    .SetShapeFn(ScalarShape)
    .Doc(R"doc(
Draws batches from one dataset per format as the planner says.

An iterator runs one epoch: the one after the last complete epoch of the
snapshot, or `epoch`. Elements are blocks of batch_size records.

input_datasets: Liquid>FormatDataset, one per format.
fidelity: none, or one dataset whose one element is the scan groups of each
  batch of the epoch, [batches] of int64; the last value goes on. See
  Liquid>EpochDataset.
mixes: none, or one dataset whose one element says how formats that share their
  samples do so, of some epochs up to the one that is run: tensors cached, fill,
  kept, resident and samples, each [epochs, N] of int64, in this order. They are
  of each format its samples and of these the cached ones; its fill; and most
  records in memory, of which only those of the last epoch count. The mix of an
  epoch that was begun before stays as it was.
file_counts: [files], records in each shard file, format after format.
files_per_format: [N], how many of file_counts are whose.
record_samples: samples of each record, of the formats whose records have many.
sized_records: [N], how many of record_samples are whose; 0 where a record is a
  sample.
cached: [N], records of each format kept between epochs.
fill: [N], samples of each format to shuffle among at least.
resident: [N], most records of each format in memory; the rest is read later,
  at its draw.
kept: [N], most of them that were drawn and are kept.
parts: [0], or with `mixes`, [N]: all samples that formats share, cut into a
  part of each; one of records with many samples has whole ones.
scan_groups: [0], or with `parts`, [N]: the scan groups to read of each input at
  most, where all of them are the same records; their parts move on with each
  epoch.
shares: [groups], of an epoch, in proportion; [0] where each sample is drawn
  once. `cached` are then the samples of greatest share, which stay.
first_groups: [N], the first group of each input; [0] without shares.
grouped_samples: [N], how many of `groups` are whose; 0 where all samples are of
  the first group. [0] without shares.
groups: of each sample its group, counted from the first one of its input.
record_blocks: [0], or with `tier`, of each record of each format the blocks of
  4 KiB that it takes.
formats: [N], names for errors and statistics.
view: a hash of which samples are read: a checkpoint of others does not fit.
seed: of the order of samples.
batch_size: samples in a batch.
epoch: which epoch an iterator runs; -1: the snapshot counts.
first_step: the first batch of `epoch` to run; only where it is given.
steps: how many batches of it to run at most; -1: to its end. What they do not
  draw is not read.
initial_epoch: first epoch that a new snapshot gives out.
initial_step: batches of it to leave out; -1: it has a rest, which must be sought
  (Liquid>SeekSnapshot) before an iterator takes it.
cache_bytes: most bytes kept between epochs.
spare_bytes: most bytes of free memory that a new snapshot keeps for later use.
samples_per_epoch: of all workers, where there are shares.
worker: this one, where there are shares; else the inputs are its part.
workers: how many there are.
tier_bytes: most bytes in the tier of a new snapshot.
tier_queue_bytes: of records that wait to be written there, at most.
tier: a local folder for records between store and memory; empty for none.
snapshot: name of the resource that iterators share; made where there is none.
shard_policy: how workers have epochs of equal length; see Liquid>ShardRanges.
policy: what stays in memory between epochs. "liquid": a constant part of every
  batch. "minio": what was drawn first, for ever. "page": nothing of ours; the
  inputs read through the page cache.
keep_pixels: what stays in memory of a record is its decoded pixels. For formats
  whose records are samples.
mask_bytes: of each pixel, in the masks that are kept with an image.
)doc");

REGISTER_OP("Liquid>EpochDataset")
    .Output("handle: variant")
    .SetDoNotOptimize()
    .SetShapeFn(ScalarShape)
    .Doc(R"doc(
One element, the number of the epoch: as the first input of what gives
Liquid>InterleaveDataset its fidelity.
)doc");

REGISTER_OP("Liquid>DecodeBatchDataset")
    .Input("input_dataset: variant")
    .Input("batch_size: int64")
    .Input("seed: int64")
    .Input("max_pixels: int64")
    .Input("max_scans: int64")
    .Input("lookahead: int64")
    .Input("most_lookahead: int64")
    .Input("parallelism: int64")
    .Input("mean_image: float")
    .Input("min_visible: double")
    .Output("handle: variant")
    .Attr("features: list(string)")
    .Attr("masks: list(string) = []")
    .Attr("ragged: bool = false")
    .Attr("recipe: list(string) = []")
    .Attr("image_bits: int = 8")
    .Attr("skip_errors: bool = false")
    .Attr("repeat_to_fill: bool = false")
    .Attr("round_batch: bool = false")
    .Attr("box_columns: list(string) = []")
    .Attr("box_pad: int >= 0 = 0")
    .Attr("keypoint_flip: list(int) = []")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .SetDoNotOptimize()
    .SetShapeFn(ScalarShape)
    .Doc(R"doc(
Decodes blocks of records straight into batch tensors, in parallel.

batch_size: samples in a full batch.
seed: of all that the recipe leaves to chance.
max_pixels: largest image that is decoded, in pixels.
max_scans: most scans of a JPEG that is decoded.
lookahead: batches in flight; -1: as many as tf.data's autotuner says.
most_lookahead: which says no more than these.
parallelism: threads of tf.data's that decode at once; -1: as many as its
  autotuner says.
mean_image: float [height, width, channels], subtracted from images of that size
  instead of the recipe's mean; empty for none.
min_visible: share of a box's area that must be inside the image that comes out.
features: one per output: image, label, id, format, orientation, window,
  mirrored, size, affine, bytes, example, num_boxes, or one of masks or
  box_columns.
masks: PNG images in the record's tf.train.Example that follow the geometry.
ragged: pixels of a batch as [pixels, channels], one image after another.
recipe: the steps, a line each; see ops/image/recipe_text.h.
image_bits: of the stored image.
skip_errors: a bad record gives its place to the next draw of its format.
repeat_to_fill: then a short batch is filled with repeats.
round_batch: whatever is short in the end repeats its samples in turn.
box_columns: features of the record's tf.train.Example that have a value for
  every box, "boxes" among them: float y0 x0 y1 x1. These and float "keypoints"
  (y, x, v) follow the geometry; boxes that do not stay drop out of all columns.
box_pad: boxes of every sample, [batch, box_pad, ...]: the first ones, then
  zeros, of "box_labels" -1. 0: [boxes, ...], those of one sample after another.
keypoint_flip: of a mirrored image's keypoints, which one becomes each; or none.
)doc");

REGISTER_OP("Liquid>CountedDataset")
    .Input("input_dataset: variant")
    .Input("count: int64")
    .Output("handle: variant")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .SetDoNotOptimize()
    .SetShapeFn(ScalarShape)
    .Doc(R"doc(
The elements of its input, whose number tf.data does not find by itself.

count: how many a whole iteration has. An iterator that begins later, or is one
  of several that share the elements out, has fewer, which is no error.
)doc");

REGISTER_OP("Liquid>SnapshotStats")
    .Input("snapshot: string")
    .Attr("batches: bool = false")
    .Output("json: string")
    .SetIsStateful()
    .SetShapeFn(ScalarShape)
    .Doc(R"doc(
What was delivered so far, as one JSON object.

snapshot: name of the resource.
batches: whether to list every batch.
)doc");

REGISTER_OP("Liquid>SeekSnapshot")
    .Input("snapshot: string")
    .Input("epoch: int64")
    .Input("step: int64")
    .Input("cached: int64")
    .Input("mixes: int64")
    .Input("rest: R * variant")
    .Attr("R: int >= 0")
    .SetIsStateful()
    .SetShapeFn(NoOutputs)
    .Doc(R"doc(
Makes the next new iterator run an epoch from one of its batches on.

snapshot: name of the resource.
epoch: number of the epoch.
step: batches of it to leave out.
cached: [formats], samples of each format kept between epochs from now on; [0]
  leaves it as it is.
mixes: of formats that share samples, the mixes of all epochs that were begun,
  as Liquid>SnapshotStats gives them; [0] leaves them as they are.
rest: none, or a Liquid>InterleaveDataset of the same formats that draws what is
  left of the epoch, where other numbers of workers began it; `step` is then one
  of its batches. Later epochs are the snapshot's own.
)doc");

REGISTER_OP("Liquid>DeleteSnapshot")
    .Input("snapshot: string")
    .SetIsStateful()
    .SetShapeFn(NoOutputs)
    .Doc(R"doc(
Forgets a snapshot; iterators that run keep it until they end.

snapshot: name of the resource.
)doc");

}  // namespace
}  // namespace liquid
