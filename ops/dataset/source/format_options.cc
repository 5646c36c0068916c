#include "ops/dataset/source/format_options.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "ops/codecs/codec.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/platform/errors.h"

namespace liquid {

namespace tfd = ::tensorflow::data;
using ::tensorflow::tstring;

absl::Status FormatInputs::Read(tensorflow::OpKernelContext* ctx) {
  TF_RETURN_IF_ERROR(tfd::ParseScalarArgument<tstring>(ctx, "index", &index));
  TF_RETURN_IF_ERROR(
      tfd::ParseScalarArgument<tstring>(ctx, "pcr_index", &pcr_index));
  TF_RETURN_IF_ERROR(tfd::ParseVectorArgument<tstring>(ctx, "paths", &paths));
  TF_RETURN_IF_ERROR(tfd::ParseScalarArgument<tstring>(ctx, "reader", &reader));
  TF_RETURN_IF_ERROR(tfd::ParseVectorArgument<int64_t>(ctx, "splits", &splits));
  for (size_t i = 0; i < splits.size(); ++i) {
    const bool ascends = i == 0 || splits[i] > splits[i - 1];
    if (splits[i] >= 0 && splits[i] <= 255 && ascends) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("splits (", splits[i], ") must be in 0..255, and ascend"));
  }
  const tensorflow::Tensor* bits;
  TF_RETURN_IF_ERROR(ctx->input("chosen", &bits));
  if (bits->dims() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "chosen (", bits->shape().DebugString(), ") must have one dimension"));
  }
  chosen = *bits;
  const struct {
    const char* name;
    int64_t* value;
    int64_t least;
    int64_t most;
  } scalars[] = {{"index_crc32c", &index_crc32c, 0, UINT32_MAX},
                 {"format", &format, 0, 255},
                 {"start", &start, 0, INT64_MAX},
                 {"length", &length, -1, INT64_MAX},
                 {"threads", &threads, 1, 256},
                 {"lookahead_bytes", &lookahead_bytes, 0, INT64_MAX}};
  for (const auto& [name, value, least, most] : scalars) {
    TF_RETURN_IF_ERROR(tfd::ParseScalarArgument<int64_t>(ctx, name, value));
    if (*value >= least && *value <= most) continue;
    const std::string range = most == INT64_MAX
                                  ? absl::StrCat("at least ", least)
                                  : absl::StrCat("in ", least, "..", most);
    return absl::InvalidArgumentError(
        absl::StrCat(name, " (", *value, ") must be ", range));
  }
  TF_RETURN_IF_ERROR(
      tfd::ParseVectorArgument<tstring>(ctx, "replica_paths", &replica_paths));
  TF_RETURN_IF_ERROR(tfd::ParseVectorArgument<int64_t>(ctx, "replica_formats",
                                                       &replica_formats));
  constexpr auto kMost = static_cast<int64_t>(kLastFormat);
  for (const int64_t other : replica_formats) {
    if (other >= 0 && other <= kMost) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("replica_formats (", other, ") must be in 0..", kMost));
  }
  return absl::OkStatus();
}

}  // namespace liquid
