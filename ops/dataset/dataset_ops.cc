// Registration of the Dataset ops and of those on a snapshot.
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace liquid {
namespace {

using ::tensorflow::shape_inference::NoOutputs;
using ::tensorflow::shape_inference::ScalarShape;

REGISTER_OP("Liquid>FormatDataset")
    .Input("plan: string")
    .Input("chosen: uint8")
    .Output("handle: variant")
    .SetDoNotOptimize()
    .SetShapeFn(ScalarShape)
    .Doc(R"doc(
Reads the records of one format ahead of their use.

Below an InterleaveDataset it reads what the plan says, else in stored order.
Elements are blocks of records: scalar variants that only
Liquid>InterleaveDataset and Liquid>DecodeBatchDataset understand. A record that
cannot be read or fails its checks is passed on with its error.

plan: a FormatMessage, see ops/message/messages.h.
chosen: a bit for each sample number, the first in the lowest bit of byte 0; only
  samples that have one are read. [0] for all.
)doc");

REGISTER_OP("Liquid>InterleaveDataset")
    .Input("input_datasets: N * variant")
    .Input("fidelity: M * variant")
    .Input("mixes: K * variant")
    .Input("plan: string")
    .Input("range: int64")
    .Input("groups: uint16")
    .Input("record_blocks: uint32")
    .Input("snapshot: string")
    .Output("handle: variant")
    .Attr("N: int >= 1")
    .Attr("M: int >= 0")
    .Attr("K: int >= 0")
    .SetDoNotOptimize()
    .SetShapeFn(ScalarShape)
    .Doc(R"doc(
Draws batches from one dataset per format as the planner says.

An iterator runs one epoch: the one after the last complete epoch of the
snapshot, or that of `range`. Elements are blocks of batch_size records.

input_datasets: Liquid>FormatDataset, one per format.
fidelity: none, or one dataset whose one element is the scan groups of each
  batch of the epoch, [batches] of int64; the last value goes on. See
  Liquid>EpochDataset.
mixes: none, or where the plan has sections, one dataset whose one element says how
  formats that share their samples do so, of some epochs up to the one that is
  run: tensors cached, fill, kept, resident and samples, each [epochs, N] of
  int64, in this order. They are of each format its samples and of these the
  cached ones; its fill; and most records in memory, of which only those of the
  last epoch count. The mix of an epoch that was begun before stays as it was.
plan: an InterleaveMessage, see ops/message/messages.h.
range: [epoch, first_step, steps]. Which epoch an iterator runs; -1: the snapshot
  counts. The first batch of it to run, 0 where the snapshot counts. How many
  batches of it to run at most; -1: to its end. What they do not draw is not
  read.
groups: of each sample its group, counted from the first one of its input, of
  those inputs whose samples have several.
record_blocks: [0], or with a tier, of each record of each format the blocks of
  4 KiB that it takes.
snapshot: name of the resource that iterators share; made where there is none.
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
    .Input("plan: string")
    .Input("mean_image: float")
    .Output("handle: variant")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .SetDoNotOptimize()
    .SetShapeFn(ScalarShape)
    .Doc(R"doc(
Decodes blocks of records straight into batch tensors, in parallel.

plan: a DecodeMessage, see ops/message/messages.h.
mean_image: float [height, width, channels], subtracted from images of that size
  instead of the recipe's mean; empty for none.
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
Forgets a snapshot, and what it keeps; iterators that run go on, and leave nothing.

snapshot: name of the resource.
)doc");

}  // namespace
}  // namespace liquid
