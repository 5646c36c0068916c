#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace liquid {
namespace {

using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

REGISTER_OP("Liquid>ReadSample")
    .Input("path: string")
    .Input("offset: int64")
    .Input("length: int64")
    .Output("image: string")
    .Output("labels: float32")
    .Output("example: string")
    .Output("crc32c: int64")
    .Output("error: string")
    .Attr("foreign: bool = false")
    .SetIsStateful()
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle unused;
      for (int i = 0; i < c->num_inputs(); ++i) {
        TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 0, &unused));
      }
      for (int i = 0; i < c->num_outputs(); ++i) c->set_output(i, c->Scalar());
      c->set_output(1, c->Vector(InferenceContext::kUnknownDim));
      return absl::OkStatus();
    })
    .Doc(R"doc(
Reads the RecordIO record of one sample, and says in `error` why it cannot,
instead of failing.

path: Scalar, a path of any registered file system.
offset: Scalar, of the record's first byte.
length: Scalar, of the record: every fragment, header and padding.
image: Scalar, the encoded image; empty where `error` is not.
labels: Shape [k]; none, one or several.
example: Scalar, a serialized tf.train.Example or empty.
crc32c: Scalar, CRC-32C of the record's bytes; 0 where they cannot be read.
error: Scalar, empty where the sample was read.
foreign: Whether id2 may be anything, as in records of others: then what
  stands behind the first id2 bytes, and an index of the JPEG, is an example
  only if it can be parsed as one, and all is the image if not.
)doc");

}  // namespace
}  // namespace liquid
