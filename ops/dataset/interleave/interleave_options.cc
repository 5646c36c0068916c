#include "ops/dataset/interleave/interleave_options.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/kernel/tf_status.h"
#include "ops/sampler/planner.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow/core/platform/logging.h"

namespace liquid {

namespace tfd = ::tensorflow::data;
using ::tensorflow::tstring;

absl::Status InterleaveAttributes::Read(tensorflow::OpKernelConstruction* ctx) {
  TF_RETURN_IF_ERROR(ctx->GetAttr("shuffle", &shuffle));
  TF_RETURN_IF_ERROR(ctx->GetAttr("drop_remainder", &drop_remainder));
  TF_RETURN_IF_ERROR(ctx->GetAttr("policy", &policy));
  TF_RETURN_IF_ERROR(ctx->GetAttr("shard_policy", &shard_policy));
  TF_RETURN_IF_ERROR(ctx->GetAttr("keep_pixels", &keep_pixels));
  return ctx->GetAttr("mask_bytes", &mask_bytes);
}

absl::Status InterleaveInputs::Read(tensorflow::OpKernelContext* ctx) {
  const std::pair<const char*, std::vector<int64_t>*> vectors[] = {
      {"file_counts", &file_counts},
      {"files_per_format", &files_per_format},
      {"record_samples", &record_samples},
      {"sized_records", &sized_records},
      {"cached", &cached},
      {"fill", &fill},
      {"resident", &resident},
      {"kept", &kept},
      {"parts", &parts},
      {"scan_groups", &scan_groups},
      {"shares", &shares},
      {"first_groups", &first_groups},
      {"grouped_samples", &grouped_samples}};
  for (const auto& [name, value] : vectors) {
    TF_RETURN_IF_ERROR(tfd::ParseVectorArgument<int64_t>(ctx, name, value));
    for (const int64_t number : *value) {
      if (number < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " (", number, ") must be at least 0"));
      }
    }
  }
  TF_RETURN_IF_ERROR(
      tfd::ParseVectorArgument<tstring>(ctx, "formats", &formats));
  const struct {
    const char* name;
    int64_t* value;
    int64_t least;
  } scalars[] = {{"view", &view, INT64_MIN},
                 {"seed", &seed, INT64_MIN},
                 {"batch_size", &batch_size, 1},
                 {"epoch", &epoch, -1},
                 {"first_step", &first_step, 0},
                 {"steps", &steps, -1},
                 {"initial_epoch", &initial_epoch, 0},
                 {"initial_step", &initial_step, -1},
                 {"cache_bytes", &cache_bytes, 0},
                 {"spare_bytes", &spare_bytes, 0},
                 {"samples_per_epoch", &samples_per_epoch, 0},
                 {"worker", &worker, 0},
                 {"workers", &workers, 1},
                 {"tier_bytes", &tier_bytes, 0},
                 {"tier_queue_bytes", &tier_queue_bytes, 0}};
  for (const auto& scalar : scalars) {
    TF_RETURN_IF_ERROR(
        tfd::ParseScalarArgument<int64_t>(ctx, scalar.name, scalar.value));
    if (*scalar.value < scalar.least) {
      return absl::InvalidArgumentError(
          absl::StrCat(scalar.name, " (", *scalar.value, ") must be at least ",
                       scalar.least));
    }
  }
  if (epoch < 0 && (first_step != 0 || steps >= 0)) {
    return absl::InvalidArgumentError(
        "first_step and steps need an epoch: give one, or 0 and -1");
  }
  const tensorflow::Tensor* of_samples;
  TF_RETURN_IF_ERROR(ctx->input("groups", &of_samples));
  if (of_samples->dims() != 1) {
    return absl::InvalidArgumentError("groups must be a vector");
  }
  groups = *of_samples;
  const tensorflow::Tensor* of_records;
  TF_RETURN_IF_ERROR(ctx->input("record_blocks", &of_records));
  if (of_records->dims() != 1) {
    return absl::InvalidArgumentError("record_blocks must be a vector");
  }
  record_blocks = *of_records;
  TF_RETURN_IF_ERROR(tfd::ParseScalarArgument<tstring>(ctx, "tier", &tier));
  TF_RETURN_IF_ERROR(
      tfd::ParseScalarArgument<tstring>(ctx, "snapshot", &snapshot));
  if (snapshot.empty()) {
    return absl::InvalidArgumentError("snapshot (\"\") must be a name");
  }
  return absl::OkStatus();
}

uint64_t InterleaveInputs::EndDraw(uint64_t samples) const {
  const auto batch = static_cast<uint64_t>(batch_size);
  const uint64_t batches = (samples + batch - 1) / batch;
  const auto first = static_cast<uint64_t>(first_step);
  const uint64_t left = batches - std::min(batches, first);
  if (steps < 0 || static_cast<uint64_t>(steps) >= left) return samples;
  return std::min(samples, (first + static_cast<uint64_t>(steps)) * batch);
}

absl::Status InterleaveInputs::MakeWeights(
    const InterleaveAttributes& attributes, PlanSpec* spec) const {
  if (shares.empty()) return absl::OkStatus();
  const size_t sources = spec->formats.size();
  if (first_groups.size() != sources || grouped_samples.size() != sources) {
    return absl::InvalidArgumentError(
        absl::StrCat("first_groups and grouped_samples must have one number "
                     "for each of the ",
                     sources, " input datasets where there are shares"));
  }
  Weights::Options options;
  options.samples_per_epoch = static_cast<uint64_t>(samples_per_epoch);
  options.shares.assign(shares.begin(), shares.end());
  options.worker = static_cast<uint64_t>(worker);
  options.workers = static_cast<uint64_t>(workers);
  if (attributes.shard_policy == "drop") options.policy = ShardPolicy::kDrop;
  if (attributes.shard_policy == "uneven") {
    options.policy = ShardPolicy::kUneven;
  }
  const auto of_samples = groups.vec<uint16_t>();
  int64_t next = 0;
  for (size_t s = 0; s < sources; ++s) {
    SourceGroups source;
    // What is too much is none: its samples say so.
    source.first =
        static_cast<uint32_t>(std::min<int64_t>(first_groups[s], UINT32_MAX));
    source.samples = StoredCount(spec->formats[s]);
    if (grouped_samples[s] > of_samples.size() - next) {
      return absl::InvalidArgumentError(
          "grouped_samples names more samples than groups has");
    }
    const uint16_t* const begin = of_samples.data() + next;
    source.entries.assign(begin, begin + grouped_samples[s]);
    next += grouped_samples[s];
    options.sources.push_back(std::move(source));
  }
  return ToTf(Weights::Create(std::move(options), &spec->weights));
}

absl::Status InterleaveInputs::MakeTier(const PlanSpec& spec,
                                        Tier::Options* options) const {
  options->folder = std::string(tier);
  if (options->folder.empty()) return absl::OkStatus();
  options->bytes = static_cast<uint64_t>(tier_bytes);
  options->queue_bytes = static_cast<uint64_t>(tier_queue_bytes);
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
    size_t datasets, const InterleaveAttributes& attributes,
    std::shared_ptr<const PlanSpec>* spec) const {
  if (files_per_format.size() != datasets || cached.size() != datasets ||
      fill.size() != datasets || resident.size() != datasets ||
      kept.size() != datasets || formats.size() != datasets ||
      sized_records.size() != datasets) {
    return absl::InvalidArgumentError(absl::StrCat(
        "files_per_format, sized_records, cached, fill, resident, kept and "
        "formats must have one entry for each of the ",
        datasets, " input datasets"));
  }
  if (!parts.empty() && parts.size() != datasets) {
    return absl::InvalidArgumentError(
        absl::StrCat("parts (", parts.size(),
                     " numbers) must be none, or one for each of "
                     "the ",
                     datasets, " input datasets"));
  }
  if (!scan_groups.empty() && scan_groups.size() != parts.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("scan_groups (", scan_groups.size(),
                     " numbers) must be none, or one for each of the ",
                     parts.size(), " parts"));
  }
  for (const int64_t groups : scan_groups) {
    if (groups >= 1 && groups < kFullFidelity) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "scan_groups (", groups, ") must be in 1..", kFullFidelity - 1));
  }
  auto made = std::make_shared<PlanSpec>();
  made->seed = static_cast<uint64_t>(seed);
  made->batch_size = static_cast<uint64_t>(batch_size);
  made->shuffle = attributes.shuffle;
  if (attributes.policy == "minio") made->policy = CachePolicy::kMinio;
  if (attributes.policy == "page") made->policy = CachePolicy::kPage;
  size_t next = 0;
  size_t next_record = 0;
  for (size_t f = 0; f < datasets; ++f) {
    const auto files = static_cast<size_t>(files_per_format[f]);
    if (files > file_counts.size() - next) {
      return absl::InvalidArgumentError(
          "files_per_format names more files than file_counts has");
    }
    FormatSpec format;
    for (size_t i = 0; i < files; ++i) {
      format.files.push_back(static_cast<uint64_t>(file_counts[next++]));
    }
    const auto records = static_cast<size_t>(sized_records[f]);
    if (records > record_samples.size() - next_record) {
      return absl::InvalidArgumentError(
          "sized_records names more records than record_samples has");
    }
    for (size_t i = 0; i < records; ++i) {
      // What is too much is none: the planner says so.
      const int64_t samples = record_samples[next_record++];
      format.record_samples.push_back(
          samples > UINT32_MAX ? 0 : static_cast<uint32_t>(samples));
    }
    format.cached = static_cast<uint64_t>(cached[f]);
    format.fill = static_cast<uint64_t>(fill[f]);
    if (!scan_groups.empty()) {
      format.groups = static_cast<uint32_t>(scan_groups[f]);
    }
    made->formats.push_back(std::move(format));
  }
  if (!parts.empty()) {
    const Status cut = CutParts(parts, made.get());
    if (!cut.ok()) return ToTf(cut);
  }
  TF_RETURN_IF_ERROR(MakeWeights(attributes, made.get()));
  // Names every wrong number now rather than at the first batch.
  std::unique_ptr<EpochPlan> probe;
  const Status valid = EpochPlan::Create(made, 0, NothingHeld(*made), &probe);
  if (!valid.ok()) return ToTf(valid);
  *spec = std::move(made);
  return absl::OkStatus();
}

}  // namespace liquid
