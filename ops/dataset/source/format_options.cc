#include "ops/dataset/source/format_options.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/codecs/codec.h"
#include "ops/kernel/tf_status.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/platform/errors.h"

namespace liquid {

namespace tfd = ::tensorflow::data;
using ::tensorflow::tstring;

absl::Status FormatInputs::Read(tensorflow::OpKernelContext* ctx) {
  TF_RETURN_IF_ERROR(tfd::ParseScalarArgument<tstring>(ctx, "plan", &plan));
  TF_RETURN_IF_ERROR(
      ToTf(ParseMessage(ByteSpan(plan.data(), plan.size()), &message)));
  const std::vector<int64_t>& splits = message.splits;
  for (size_t i = 1; i < splits.size(); ++i) {
    if (splits[i] > splits[i - 1]) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("splits[", i, "] (", splits[i], ") must be above ",
                     splits[i - 1], ", the one before it"));
  }
  constexpr auto kMost = static_cast<int64_t>(kLastFormat);
  for (const int64_t other : message.replica_formats) {
    if (other <= kMost) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("replica_formats (", other, ") must be in 0..", kMost));
  }
  const tensorflow::Tensor* bits;
  TF_RETURN_IF_ERROR(ctx->input("chosen", &bits));
  if (bits->dims() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "chosen (", bits->shape().DebugString(), ") must have one dimension"));
  }
  chosen = *bits;
  return absl::OkStatus();
}

}  // namespace liquid
