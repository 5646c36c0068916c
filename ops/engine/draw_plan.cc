#include "ops/engine/draw_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ops/core/crc32c.h"
#include "ops/sampler/plan_message.h"
#include "ops/sampler/planner.h"

namespace liquid {
namespace {

template <typename T>
void AppendList(const std::vector<T>& values, std::string* text) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) *text += ",";
    *text += std::to_string(values[i]);
  }
}

}  // namespace

Status DrawPlan::SetRange(Span<int64_t> range) {
  if (range.size != 3) {
    return InvalidArgument("range (" + std::to_string(range.size) +
                           " numbers) must be [epoch, first_step, steps]");
  }
  const struct {
    const char* name;
    int64_t* value;
    int64_t least;
  } parts[] = {{"epoch", &epoch, -1},
               {"first_step", &first_step, 0},
               {"steps", &steps, -1}};
  for (size_t i = 0; i < 3; ++i) {
    *parts[i].value = range.data[i];
    if (range.data[i] >= parts[i].least) continue;
    return InvalidArgument(std::string("range: ") + parts[i].name + " (" +
                           std::to_string(range.data[i]) +
                           ") must be at least " +
                           std::to_string(parts[i].least));
  }
  if (epoch < 0 && (first_step != 0 || steps >= 0)) {
    return InvalidArgument(
        "range: first_step and steps need an epoch: give one, or 0 and -1");
  }
  return OkStatus();
}

uint64_t DrawPlan::EndDraw(uint64_t samples) const {
  const auto batch = static_cast<uint64_t>(message.plan.batch_size);
  const uint64_t batches = (samples + batch - 1) / batch;
  const auto first = static_cast<uint64_t>(first_step);
  const uint64_t left = batches - std::min(batches, first);
  if (steps < 0 || static_cast<uint64_t>(steps) >= left) return samples;
  return std::min(samples, (first + static_cast<uint64_t>(steps)) * batch);
}

Status DrawPlan::MakeWeights(PlanSpec* spec) const {
  if (message.shares.empty()) return OkStatus();
  Weights::Options options;
  options.samples_per_epoch = static_cast<uint64_t>(message.samples_per_epoch);
  options.shares.assign(message.shares.begin(), message.shares.end());
  options.worker = static_cast<uint64_t>(message.worker);
  options.workers = static_cast<uint64_t>(message.workers);
  if (message.shard_policy == "drop") options.policy = PartPolicy::kDrop;
  if (message.shard_policy == "uneven") options.policy = PartPolicy::kUneven;
  size_t next = 0;
  for (size_t s = 0; s < spec->formats.size(); ++s) {
    const SourceMessage& given = message.sources[s];
    SourceGroups source;
    source.first = static_cast<uint32_t>(given.first_group);
    source.samples = StoredCount(spec->formats[s]);
    const auto own = static_cast<size_t>(given.grouped_samples);
    if (own > groups.size - next) {
      return InvalidArgument(
          "sources[" + std::to_string(s) + "].grouped_samples (" +
          std::to_string(own) + ") must be at most " +
          std::to_string(groups.size - next) + ", what groups has left");
    }
    source.entries.assign(groups.data + next, groups.data + next + own);
    next += own;
    options.sources.push_back(std::move(source));
  }
  return Weights::Create(std::move(options), &spec->weights);
}

Status DrawPlan::MakeTier(const PlanSpec& spec, Tier::Options* options) const {
  options->folder = message.tier;
  if (options->folder.empty()) return OkStatus();
  options->bytes = static_cast<uint64_t>(message.tier_bytes);
  options->queue_bytes = static_cast<uint64_t>(message.tier_queue_bytes);
  size_t next = 0;
  for (const FormatSpec& format : spec.formats) {
    const uint64_t records = StoredCount(format);
    if (records > record_blocks.size - next) break;
    const uint32_t* const begin = record_blocks.data + next;
    options->blocks.emplace_back(begin, begin + records);
    next += records;
  }
  if (next == record_blocks.size &&
      options->blocks.size() == spec.formats.size()) {
    return OkStatus();
  }
  return InvalidArgument(
      "record_blocks (" + std::to_string(record_blocks.size) +
      " numbers) must be one for each record where there is a tier");
}

Status DrawPlan::MakeSpec(size_t datasets,
                          std::shared_ptr<const PlanSpec>* spec) const {
  const std::pair<const char*, size_t> lists[] = {
      {"plan.formats", message.plan.formats.size()},
      {"sources", message.sources.size()}};
  for (const auto& [name, size] : lists) {
    if (size == datasets) continue;
    return InvalidArgument(std::string(name) + " (" + std::to_string(size) +
                           " entries) must be one for each of the " +
                           std::to_string(datasets) + " input datasets");
  }
  auto made = std::make_shared<PlanSpec>();
  LIQUID_RETURN_IF_ERROR(liquid::MakeSpec(message.plan, made.get()));
  LIQUID_RETURN_IF_ERROR(MakeWeights(made.get()));
  // Names every wrong number now rather than at the first batch.
  std::unique_ptr<EpochPlan> probe;
  LIQUID_RETURN_IF_ERROR(
      EpochPlan::Create(made, 0, NothingHeld(*made), &probe));
  *spec = std::move(made);
  return OkStatus();
}

Status DrawPlan::MakeConfig(std::shared_ptr<const PlanSpec> spec,
                            Snapshot::Config* config) const {
  for (const SourceMessage& source : message.sources) {
    config->formats.push_back(source.name);
  }
  config->initial_epoch = message.initial_epoch;
  config->initial_step = static_cast<uint64_t>(message.initial_step);
  config->spare_bytes = static_cast<uint64_t>(message.spare_bytes);
  LIQUID_RETURN_IF_ERROR(MakeTier(*spec, &config->tier));
  config->spec = std::move(spec);
  return OkStatus();
}

int64_t Fingerprint(const PlanSpec& spec, int64_t view) {
  std::string text = std::to_string(kPlanVersion) + "/" + std::to_string(view) +
                     "/" + std::to_string(spec.seed) + "/" +
                     std::to_string(spec.batch_size) + "/" +
                     std::to_string(static_cast<int>(spec.shuffle)) + "/" +
                     std::to_string(static_cast<int>(spec.policy));
  for (const FormatSpec& format : spec.formats) {
    // The fill of a section is as the mix is.
    text +=
        ";" + (HasSections(spec) ? "part" : std::to_string(format.fill)) + ":";
    AppendList(format.files, &text);
    if (!format.record_samples.empty()) {
      text += ":";
      AppendList(format.record_samples, &text);
    }
    // Unlike a mix, it has the same sections in all epochs.
    if (format.groups != kFullFidelity) {
      text += ":groups " + std::to_string(format.groups) + " of " +
              std::to_string(format.count);
    }
  }
  if (spec.weights != nullptr) {
    text += ";weights:" + std::to_string(spec.weights->fingerprint());
  }
  return int64_t{Crc32c(ByteSpan(text.data(), text.size()))};
}

}  // namespace liquid
