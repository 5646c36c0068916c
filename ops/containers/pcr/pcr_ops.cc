#include <utility>
#include <vector>

#include "ops/kernel/image_inputs.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace liquid {
namespace {

using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

// Ranks of the inputs and outputs of an op; lengths are not known before.
struct Ranks {
  std::vector<int> inputs, outputs;
};

auto HasRanks(Ranks ranks) {
  return [ranks = std::move(ranks)](InferenceContext* c) {
    ShapeHandle unused;
    for (size_t i = 0; i < ranks.inputs.size(); ++i) {
      TF_RETURN_IF_ERROR(c->WithRank(c->input(i), ranks.inputs[i], &unused));
    }
    for (size_t i = 0; i < ranks.outputs.size(); ++i) {
      c->set_output(i, c->UnknownShapeOfRank(ranks.outputs[i]));
    }
    return absl::OkStatus();
  };
}

REGISTER_OP("Liquid>WritePcr")
    .Input("images: string")
    .Input("labels: int32")
    .Input("examples: string")
    .Output("record: string")
    .Output("lengths: int64")
    .Output("crc32cs: int64")
    .Attr("groups: list(int) = []")
    .SetShapeFn(HasRanks({{1, 1, 1}, {0, 1, 1}}))
    .Doc(R"doc(
Makes a progressive compressed record.

images: Shape [n], progressive JPEG files.
labels: Shape [n]; -1 for none.
examples: Shape [n], serialized tf.train.Examples; all empty for a record without.
record: Scalar, the record's bytes.
lengths: Shape [1 + L], bytes of the metadata and of each scan group.
crc32cs: Shape [1 + L], CRC-32C of each of these.
groups: The last scan of each scan group; empty: a group for each scan.
)doc");

REGISTER_OP("Liquid>ReadPcr")
    .Input("prefix: string")
    .Input("lengths: int64")
    .Input("crc32cs: int64")
    .Input("fidelity: int64")
    .Output("images: string")
    .Output("labels: int32")
    .Output("examples: string")
    .SetShapeFn(HasRanks({{0, 1, 1, 0}, {1, 1, 1}}))
    .Doc(R"doc(
Takes a progressive compressed record apart.

prefix: Scalar, the record's bytes through scan group `fidelity`, at least.
lengths: Shape [1 + L], as the index has them.
crc32cs: Shape [1 + L]; or [0], nothing is checked then.
fidelity: Scalar, at least 1; above L means L.
images: Shape [n], JPEG files.
labels: Shape [n]; -1 where there is none.
examples: Shape [n]; empty where there is none.
)doc");

REGISTER_OP("Liquid>ReadPcrIndex")
    .Input("contents: string")
    .Output("names: string")
    .Output("parts: int64")
    .Output("lengths: int64")
    .Output("checksums: int64")
    .Output("crc32cs: int64")
    .SetShapeFn(HasRanks({{0}, {1, 1, 1, 1, 1}}))
    .Doc(R"doc(
Reads an index of progressive compressed records.

contents: Scalar, the bytes of PCR_index.pb.
names: Shape [r], names of the records' files.
parts: Shape [r], how many lengths each record has.
lengths: Shape [sum of parts], the records' lengths, one record behind the other.
checksums: Shape [r], how many checksums each has: as many, or none.
crc32cs: Shape [sum of checksums].
)doc");

REGISTER_OP("Liquid>WritePcrIndex")
    .Input("names: string")
    .Input("parts: int64")
    .Input("lengths: int64")
    .Input("checksums: int64")
    .Input("crc32cs: int64")
    .Output("contents: string")
    .SetShapeFn(HasRanks({{1, 1, 1, 1, 1}, {0}}))
    .Doc(R"doc(
Makes an index of progressive compressed records; the inverse of ReadPcrIndex.

names: Shape [r].
parts: Shape [r].
lengths: Shape [sum of parts].
checksums: Shape [r].
crc32cs: Shape [sum of checksums].
contents: Scalar.
)doc");

REGISTER_OP("Liquid>VerifyPcr")
    .Input("record: string")
    .Input("lengths: int64")
    .Input("crc32cs: int64")
    .Input("rows: uint8")
    .Input("images: int64")
    .Output("problem: string")
    .Output("problems: string")
    .Output("examples: string")
    .Output("labels: int32")
    .Attr(kMaxPixels)
    .Attr(kMaxScans)
    .SetShapeFn(HasRanks({{0, 1, 1, 2, 0}, {0, 1, 1, 1}}))
    .Doc(R"doc(
Checks a record of a dataset and, in parallel, images of it: their length,
CRC-32C, size and pixels against the rows of the index.

record: Scalar, the whole record.
lengths: Shape [1 + L].
crc32cs: Shape [1 + L].
rows: Shape [n, 56], rows of index.npy as bytes, one for each image to check.
images: Scalar, how many images the record must have.
problem: Scalar, what is wrong with the record; empty where nothing is.
problems: Shape [n], what is wrong with each image; all empty where `problem` is not.
examples: Shape [n], each image's serialized tf.train.Example or empty.
labels: Shape [n], -1 for none.
max_pixels: A larger image is a problem.
max_scans: So is one of more scans.
)doc");

}  // namespace
}  // namespace liquid
