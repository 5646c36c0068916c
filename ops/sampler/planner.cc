#include "ops/sampler/planner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ops/core/rng.h"
#include "ops/sampler/mixture.h"
#include "ops/sampler/open_records.h"
#include "ops/sampler/random_draws.h"
#include "ops/sampler/region.h"
#include "ops/sampler/weighted_source.h"

namespace liquid {
namespace {

Status ValidateEpoch(int64_t epoch, const char* name) {
  if (epoch >= 0) return OkStatus();
  return InvalidArgument(std::string(name) + " (" + std::to_string(epoch) +
                         ") must be at least 0");
}

std::vector<uint64_t> SampleCounts(const PlanSpec& spec) {
  std::vector<uint64_t> counts;
  for (const FormatSpec& f : spec.formats) counts.push_back(SampleCount(f));
  return counts;
}

// Samples that are kept one by one; where records of many are kept, their
// open records see to it.
std::vector<uint64_t> CachedCounts(const PlanSpec& spec) {
  std::vector<uint64_t> counts;
  for (const FormatSpec& f : spec.formats) {
    counts.push_back(f.record_samples.empty() ? f.cached : 0);
  }
  return counts;
}

}  // namespace

struct EpochPlan::State {
  State(std::shared_ptr<const PlanSpec> the_spec, int64_t the_epoch,
        HeldSets the_held)
      : spec(std::move(the_spec)),
        epoch(the_epoch),
        held(std::move(the_held)),
        kept(NothingHeld(*spec)),
        size(EpochSize(*spec)),
        // A batch larger than the epoch is the epoch: bounding it here keeps
        // every product of sizes small.
        batch_size(std::clamp<uint64_t>(spec->batch_size, 1,
                                        std::max<uint64_t>(size, 1))),
        table({}, {}, 1),
        batch_order(spec->seed, static_cast<uint64_t>(epoch),
                    RngPurpose::kBatchOrder) {
    regions.resize(spec->formats.size());
    open.resize(spec->formats.size());
    random.resize(spec->formats.size());
    if (spec->weights != nullptr) {
      BeginWeighted();
      NextBatch();
      return;
    }
    table = BatchTable(SampleCounts(*spec), CachedCounts(*spec), batch_size);
    for (uint32_t f = 0; f < spec->formats.size(); ++f) {
      const FormatSpec& format = spec->formats[f];
      if (!format.record_samples.empty()) {
        open[f] = std::make_unique<OpenRecords>(*spec, f, epoch, batch_size,
                                                size, held[f], &kept[f]);
        continue;
      }
      if (spec->shuffle && spec->policy != CachePolicy::kLiquid) {
        random[f] =
            std::make_unique<RandomDraws>(*spec, f, epoch, held[f], &kept[f]);
        continue;
      }
      Region::Size room;
      const uint64_t samples = SampleCount(format);
      if (samples > 0) room.share = MulDivCeil(batch_size, samples, size);
      room.fill = format.fill;
      regions[f] = std::make_unique<Region>(*spec, f, epoch, room, held[f]);
    }
    NextBatch();
  }
  // All of these point into `held` and `kept`.
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void BeginWeighted() {
    kept = held;
    const auto spans = spec->weights->Spans(epoch);
    std::vector<uint64_t> draws, resident;
    for (uint32_t f = 0; f < spec->formats.size(); ++f) {
      weighted.push_back(std::make_unique<WeightedSource>(
          *spec, f, epoch, spans[f], held[f], &kept[f]));
      draws.push_back(weighted[f]->draws());
      resident.push_back(weighted[f]->resident_draws());
      weighted[f]->Begin(batch_size, size);
    }
    table = BatchTable(draws, resident, batch_size);
  }

  // A draw of a batch: its format, and whether it is kept.
  struct Token {
    uint8_t format;
    bool keep;
  };

  void NextBatch() {
    tokens.clear();
    next_token = 0;
    if (!table.Next(&batch)) return;
    for (size_t f = 0; f < batch.size(); ++f) {
      const Token kept_token = {static_cast<uint8_t>(f), true};
      const Token evicted_token = {static_cast<uint8_t>(f), false};
      tokens.insert(tokens.end(), batch[f].kept, kept_token);
      tokens.insert(tokens.end(), batch[f].drawn - batch[f].kept,
                    evicted_token);
    }
    if (spec->shuffle) batch_order.Shuffle(&tokens);
    for (size_t f = 0; f < batch.size(); ++f) {
      if (open[f] != nullptr) open[f]->BeginBatch(batch[f].drawn);
    }
  }

  Draw Next() {
    const Draw draw = DrawFor(tokens[next_token]);
    ++position;
    if (++next_token == tokens.size()) NextBatch();
    return draw;
  }

  Draw DrawFor(const Token& token) {
    const uint32_t f = token.format;
    if (!weighted.empty()) return weighted[f]->Next(token.keep);
    if (open[f] != nullptr) return open[f]->Next();
    if (random[f] != nullptr) return random[f]->Next(f);
    return NextSample(token);
  }

  // The next draw from the region of a format whose records are samples.
  Draw NextSample(const Token& token) {
    Region& region = *regions[token.format];
    const Region::Taken taken = region.Take();
    Draw draw;
    draw.format = token.format;
    draw.sample = draw.record = taken.record;
    draw.load = taken.load;
    // In stored order the same samples are kept in every epoch, whatever share
    // of a batch that is.
    draw.keep = spec->shuffle
                    ? token.keep
                    : taken.record < spec->formats[token.format].cached;
    if (draw.keep) kept[token.format].insert(taken.record);
    region.Turn(draw.keep);
    return draw;
  }

  const std::shared_ptr<const PlanSpec> spec;
  const int64_t epoch;
  const HeldSets held;
  HeldSets kept;
  const uint64_t size;
  const uint64_t batch_size;
  BatchTable table;
  RandomStream batch_order;
  // Of each format one of the four.
  std::vector<std::unique_ptr<Region>> regions;
  std::vector<std::unique_ptr<OpenRecords>> open;
  std::vector<std::unique_ptr<RandomDraws>> random;
  std::vector<std::unique_ptr<WeightedSource>> weighted;
  std::vector<BatchPart> batch;
  std::vector<Token> tokens;  // of the batch that is being drawn
  size_t next_token = 0;
  uint64_t position = 0;
};

EpochPlan::EpochPlan(std::unique_ptr<State> state) : state_(std::move(state)) {}
EpochPlan::~EpochPlan() = default;

Status EpochPlan::Create(std::shared_ptr<const PlanSpec> spec, int64_t epoch,
                         HeldSets held, std::unique_ptr<EpochPlan>* plan) {
  LIQUID_RETURN_IF_ERROR(Validate(*spec));
  LIQUID_RETURN_IF_ERROR(ValidateEpoch(epoch, "epoch"));
  LIQUID_RETURN_IF_ERROR(ValidateHeld(*spec, held));
  plan->reset(new EpochPlan(
      std::make_unique<State>(std::move(spec), epoch, std::move(held))));
  return OkStatus();
}

uint64_t EpochPlan::size() const { return state_->size; }
uint64_t EpochPlan::position() const { return state_->position; }
int64_t EpochPlan::epoch() const { return state_->epoch; }
const PlanSpec& EpochPlan::spec() const { return *state_->spec; }
const HeldSets& EpochPlan::held() const { return state_->held; }
const HeldSets& EpochPlan::kept() const { return state_->kept; }

uint32_t EpochPlan::PeekFormat() const {
  return state_->tokens[state_->next_token].format;
}

uint64_t EpochPlan::loads(uint32_t format) const {
  if (!state_->weighted.empty()) return state_->weighted[format]->loads();
  if (state_->random[format] != nullptr) return 0;
  const auto& open = state_->open[format];
  return open != nullptr ? open->loads() : state_->regions[format]->loads();
}

BatchPart EpochPlan::turns(uint32_t format) const {
  return state_->open[format]->turns();
}

void EpochPlan::TellLoads(uint32_t format) {
  state_->weighted[format]->TellLoads();
}

bool EpochPlan::TakeLoad(uint32_t format, uint64_t* record) {
  return state_->weighted[format]->TakeLoad(record);
}

Draw EpochPlan::Next() { return state_->Next(); }

void EpochPlan::Skip(uint64_t draws) {
  draws = std::min(draws, state_->size - state_->position);
  for (uint64_t i = 0; i < draws; ++i) state_->Next();
}

Status HeldAt(std::shared_ptr<const PlanSpec> spec, int64_t first_epoch,
              HeldSets held, int64_t epoch, HeldSets* result) {
  LIQUID_RETURN_IF_ERROR(Validate(*spec));
  LIQUID_RETURN_IF_ERROR(ValidateEpoch(first_epoch, "first_epoch"));
  LIQUID_RETURN_IF_ERROR(ValidateHeld(*spec, held));
  if (epoch < first_epoch) {
    return InvalidArgument("epoch (" + std::to_string(epoch) +
                           ") must be at least first_epoch, " +
                           std::to_string(first_epoch));
  }
  if (spec->weights != nullptr) {
    *result = PinnedAt(*spec, first_epoch, std::move(held), epoch);
    return OkStatus();
  }
  // Nothing, everything, or the first samples: known without drawing.
  bool fixed = true;
  for (const FormatSpec& f : spec->formats) {
    fixed &= !spec->shuffle || f.cached == 0 || f.cached == RecordCount(f);
  }
  if (fixed && epoch > first_epoch) {
    for (size_t f = 0; f < held.size(); ++f) {
      const FormatSpec& format = spec->formats[f];
      const uint64_t stored = StoredCount(format);
      for (uint64_t i = 0; i < format.cached; ++i) {
        held[f].insert(RecordAt(format, i, stored));
      }
    }
    *result = std::move(held);
    return OkStatus();
  }
  for (int64_t e = first_epoch; e < epoch; ++e) {
    std::unique_ptr<EpochPlan> plan;
    LIQUID_RETURN_IF_ERROR(EpochPlan::Create(spec, e, std::move(held), &plan));
    plan->Skip(plan->size());
    held = plan->kept();
    // What MinIO's cache holds once, it holds for ever.
    if (spec->policy == CachePolicy::kMinio) break;
  }
  *result = std::move(held);
  return OkStatus();
}

}  // namespace liquid
