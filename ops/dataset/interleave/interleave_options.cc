#include "ops/dataset/interleave/interleave_options.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/dataset/dataset.h"
#include "ops/kernel/tf_status.h"
#include "ops/sampler/plan_message.h"
#include "ops/sampler/planner.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow/core/platform/logging.h"

namespace liquid {

absl::Status InterleaveInputs::ReadRange(tensorflow::OpKernelContext* ctx) {
  TF_RETURN_IF_ERROR(ReadVector(ctx, "range", &range));
  if (range.NumElements() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("range (", range.NumElements(),
                     " numbers) must be [epoch, first_step, steps]"));
  }
  const auto numbers = range.vec<int64_t>();
  const struct {
    const char* name;
    int64_t* value;
    int64_t least;
  } parts[] = {{"epoch", &epoch, -1},
               {"first_step", &first_step, 0},
               {"steps", &steps, -1}};
  for (int i = 0; i < 3; ++i) {
    *parts[i].value = numbers(i);
    if (numbers(i) >= parts[i].least) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("range: ", parts[i].name, " (", numbers(i),
                     ") must be at least ", parts[i].least));
  }
  if (epoch < 0 && (first_step != 0 || steps >= 0)) {
    return absl::InvalidArgumentError(
        "range: first_step and steps need an epoch: give one, or 0 and -1");
  }
  return absl::OkStatus();
}

absl::Status InterleaveInputs::Read(tensorflow::OpKernelContext* ctx) {
  TF_RETURN_IF_ERROR(ReadPlan(ctx, &plan, &message));
  TF_RETURN_IF_ERROR(ReadRange(ctx));
  TF_RETURN_IF_ERROR(ReadVector(ctx, "groups", &groups));
  TF_RETURN_IF_ERROR(ReadVector(ctx, "record_blocks", &record_blocks));
  TF_RETURN_IF_ERROR(
      tensorflow::data::ParseScalarArgument(ctx, "snapshot", &snapshot));
  if (snapshot.empty()) {
    return absl::InvalidArgumentError("snapshot (\"\") must be a name");
  }
  return absl::OkStatus();
}

uint64_t InterleaveInputs::EndDraw(uint64_t samples) const {
  const auto batch = static_cast<uint64_t>(message.plan.batch_size);
  const uint64_t batches = (samples + batch - 1) / batch;
  const auto first = static_cast<uint64_t>(first_step);
  const uint64_t left = batches - std::min(batches, first);
  if (steps < 0 || static_cast<uint64_t>(steps) >= left) return samples;
  return std::min(samples, (first + static_cast<uint64_t>(steps)) * batch);
}

absl::Status InterleaveInputs::MakeWeights(PlanSpec* spec) const {
  if (message.shares.empty()) return absl::OkStatus();
  Weights::Options options;
  options.samples_per_epoch = static_cast<uint64_t>(message.samples_per_epoch);
  options.shares.assign(message.shares.begin(), message.shares.end());
  options.worker = static_cast<uint64_t>(message.worker);
  options.workers = static_cast<uint64_t>(message.workers);
  if (message.shard_policy == "drop") options.policy = PartPolicy::kDrop;
  if (message.shard_policy == "uneven") options.policy = PartPolicy::kUneven;
  const auto of_samples = groups.vec<uint16_t>();
  int64_t next = 0;
  for (size_t s = 0; s < spec->formats.size(); ++s) {
    const SourceMessage& given = message.sources[s];
    SourceGroups source;
    source.first = static_cast<uint32_t>(given.first_group);
    source.samples = StoredCount(spec->formats[s]);
    if (given.grouped_samples > of_samples.size() - next) {
      return absl::InvalidArgumentError(
          absl::StrCat("sources[", s, "].grouped_samples (",
                       given.grouped_samples, ") must be at most ",
                       of_samples.size() - next, ", what groups has left"));
    }
    const uint16_t* const begin = of_samples.data() + next;
    source.entries.assign(begin, begin + given.grouped_samples);
    next += given.grouped_samples;
    options.sources.push_back(std::move(source));
  }
  return ToTf(Weights::Create(std::move(options), &spec->weights));
}

absl::Status InterleaveInputs::MakeTier(const PlanSpec& spec,
                                        Tier::Options* options) const {
  options->folder = message.tier;
  if (options->folder.empty()) return absl::OkStatus();
  options->bytes = static_cast<uint64_t>(message.tier_bytes);
  options->queue_bytes = static_cast<uint64_t>(message.tier_queue_bytes);
  const auto blocks = record_blocks.vec<uint32_t>();
  int64_t next = 0;
  for (const FormatSpec& format : spec.formats) {
    const auto records = static_cast<int64_t>(StoredCount(format));
    if (records > blocks.size() - next) break;
    const uint32_t* const begin = blocks.data() + next;
    options->blocks.emplace_back(begin, begin + records);
    next += records;
  }
  if (next != blocks.size() || options->blocks.size() != spec.formats.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("record_blocks (", blocks.size(),
                     " numbers) must be one for each record where there is a "
                     "tier"));
  }
  options->warn = [](const std::string& why) {
    LOG(WARNING) << "the tier of the cache is off, and training goes on "
                    "without it: "
                 << why;
  };
  return absl::OkStatus();
}

absl::Status InterleaveInputs::MakeSpec(
    size_t datasets, std::shared_ptr<const PlanSpec>* spec) const {
  const std::pair<const char*, size_t> lists[] = {
      {"plan.formats", message.plan.formats.size()},
      {"sources", message.sources.size()}};
  for (const auto& [name, size] : lists) {
    if (size == datasets) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, " (", size, " entries) must be one for each of the ",
                     datasets, " input datasets"));
  }
  auto made = std::make_shared<PlanSpec>();
  TF_RETURN_IF_ERROR(ToTf(liquid::MakeSpec(message.plan, made.get())));
  TF_RETURN_IF_ERROR(MakeWeights(made.get()));
  // Names every wrong number now rather than at the first batch.
  std::unique_ptr<EpochPlan> probe;
  TF_RETURN_IF_ERROR(
      ToTf(EpochPlan::Create(made, 0, NothingHeld(*made), &probe)));
  *spec = std::move(made);
  return absl::OkStatus();
}

}  // namespace liquid
