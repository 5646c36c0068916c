#include "ops/sampler/plan_message.h"

#include <string>
#include <utility>

namespace liquid {
namespace {

// Error: scan groups that some formats have and others have not, or no
// sections.
Status CheckScanGroups(const PlanMessage& message) {
  bool any = false;
  for (const FormatPlanMessage& format : message.formats) {
    any = any || format.scan_groups != 0;
  }
  if (!any) return OkStatus();
  for (size_t f = 0; f < message.formats.size(); ++f) {
    const int64_t groups = message.formats[f].scan_groups;
    if (groups != 0 && !message.sections.empty()) continue;
    return InvalidArgument("formats[" + std::to_string(f) + "].scan_groups (" +
                           std::to_string(groups) + ") must be " +
                           (groups == 0
                                ? "at least 1, as those of other formats"
                                : "0 where formats have no sections"));
  }
  return OkStatus();
}

}  // namespace

Status MakeSpec(const PlanMessage& message, PlanSpec* spec) {
  PlanSpec made;
  made.seed = static_cast<uint64_t>(message.seed);
  made.batch_size = static_cast<uint64_t>(message.batch_size);
  made.shuffle = message.shuffle;
  if (message.policy == "minio") made.policy = CachePolicy::kMinio;
  if (message.policy == "page") made.policy = CachePolicy::kPage;
  LIQUID_RETURN_IF_ERROR(CheckScanGroups(message));
  for (const FormatPlanMessage& planned : message.formats) {
    FormatSpec format;
    format.files.assign(planned.files.begin(), planned.files.end());
    format.record_samples.assign(planned.record_samples.begin(),
                                 planned.record_samples.end());
    format.cached = static_cast<uint64_t>(planned.cached);
    format.fill = static_cast<uint64_t>(planned.fill);
    if (planned.scan_groups != 0) {
      format.groups = static_cast<uint32_t>(planned.scan_groups);
    }
    made.formats.push_back(std::move(format));
  }
  if (!message.sections.empty()) {
    if (message.sections.size() != message.formats.size()) {
      return InvalidArgument(
          "sections (" + std::to_string(message.sections.size()) +
          " numbers) must be none, or one for each of the " +
          std::to_string(message.formats.size()) + " formats");
    }
    LIQUID_RETURN_IF_ERROR(CutSections(message.sections, &made));
  }
  *spec = std::move(made);
  return OkStatus();
}

}  // namespace liquid
