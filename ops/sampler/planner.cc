#include "ops/sampler/planner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ops/core/rng.h"
#include "ops/sampler/mixture.h"

namespace liquid {
namespace {

Status ValidateEpoch(int64_t epoch, const char* name) {
  if (epoch >= 0) return OkStatus();
  return InvalidArgument(std::string(name) + " (" + std::to_string(epoch) +
                         ") must be at least 0");
}

// One format while an epoch is drawn.
class Region {
 public:
  Region(const PlanSpec& spec, uint32_t format, int64_t epoch,
         uint64_t batch_size, uint64_t total, const SampleSet& held,
         SampleSet* kept)
      : shuffle_(spec.shuffle),
        kept_(kept),
        random_(spec.seed, static_cast<uint64_t>(epoch),
                RngPurpose::kRegionDraw, static_cast<uint8_t>(format)),
        order_(spec, format, epoch, &held) {
    const FormatSpec& f = spec.formats[format];
    const uint64_t samples = SampleCount(f);
    held_count_ = held.count();
    on_disk_ = samples - held_count_;
    if (samples == 0) return;
    const uint64_t share = MulDivCeil(batch_size, samples, total);
    const uint64_t fill = std::min(f.fill, samples);
    capacity_ =
        f.cached + std::max(share, fill > f.cached ? fill - f.cached : 0);
    const bool ramp = held_count_ < f.cached;
    const uint64_t start =
        ramp ? std::min(capacity_, std::max(fill, share)) : capacity_;
    if (shuffle_) {
      members_.reserve(std::min(capacity_, samples));
      for (uint64_t i = 0; i < samples; ++i) {
        if (held.contains(i)) {
          members_.push_back({static_cast<uint32_t>(i), Member::kHeld});
        }
      }
    }
    undrawn_ = held_count_;
    while (undrawn_ < start && loads_ < on_disk_) Load();
  }

  uint64_t loads() const { return loads_; }

  Draw Next(uint32_t format, bool keep) {
    Draw draw;
    draw.format = format;
    draw.keep = keep;
    if (shuffle_) {
      Member& drawn = members_[random_.Below(members_.size())];
      draw.sample = drawn.sample;
      draw.load =
          drawn.load == Member::kHeld ? Draw::kHeld : int64_t{drawn.load};
      drawn = members_.back();
      members_.pop_back();
    } else {
      draw.sample = next_stored_++;
      draw.load = draw.sample < held_count_
                      ? Draw::kHeld
                      : static_cast<int64_t>(draw.sample - held_count_);
    }
    --undrawn_;
    if (keep) {
      kept_->insert(draw.sample);
      ++kept_count_;
    }
    for (int i = 0; i < 2; ++i) {
      if (undrawn_ + kept_count_ < capacity_ && loads_ < on_disk_) Load();
    }
    return draw;
  }

 private:
  struct Member {
    static constexpr uint32_t kHeld = 0xFFFFFFFF;
    uint32_t sample;
    uint32_t load;  // which load brought it, or kHeld
  };

  void Load() {
    if (shuffle_) {
      uint64_t sample = 0;
      order_.Next(&sample);
      members_.push_back(
          {static_cast<uint32_t>(sample), static_cast<uint32_t>(loads_)});
    }
    ++loads_;
    ++undrawn_;
  }

  bool shuffle_;
  SampleSet* kept_;  // not owned
  RandomStream random_;
  LoadOrder order_;
  std::vector<Member> members_;  // undrawn, in memory; empty without shuffle
  uint64_t held_count_ = 0;      // when the epoch began
  uint64_t on_disk_ = 0;         // samples that were not held then
  uint64_t capacity_ = 0;        // undrawn and kept together
  uint64_t undrawn_ = 0;
  uint64_t kept_count_ = 0;
  uint64_t loads_ = 0;
  uint64_t next_stored_ = 0;  // next sample without shuffle
};

std::vector<uint64_t> SampleCounts(const PlanSpec& spec) {
  std::vector<uint64_t> counts;
  for (const FormatSpec& f : spec.formats) counts.push_back(SampleCount(f));
  return counts;
}

std::vector<uint64_t> CachedCounts(const PlanSpec& spec) {
  std::vector<uint64_t> counts;
  for (const FormatSpec& f : spec.formats) counts.push_back(f.cached);
  return counts;
}

uint64_t TotalSamples(const PlanSpec& spec) {
  uint64_t total = 0;
  for (const FormatSpec& f : spec.formats) total += SampleCount(f);
  return total;
}

}  // namespace

struct EpochPlan::State {
  State(std::shared_ptr<const PlanSpec> the_spec, int64_t the_epoch,
        HeldSets the_held)
      : spec(std::move(the_spec)),
        epoch(the_epoch),
        held(std::move(the_held)),
        kept(NothingHeld(*spec)),
        size(TotalSamples(*spec)),
        // A batch larger than the epoch is the epoch: bounding it here keeps
        // every product of sizes small.
        batch_size(std::clamp<uint64_t>(spec->batch_size, 1,
                                        std::max<uint64_t>(size, 1))),
        table(SampleCounts(*spec), CachedCounts(*spec), batch_size),
        batch_order(spec->seed, static_cast<uint64_t>(epoch),
                    RngPurpose::kBatchOrder) {
    regions.reserve(spec->formats.size());
    for (uint32_t f = 0; f < spec->formats.size(); ++f) {
      regions.emplace_back(*spec, f, epoch, batch_size, size, held[f],
                           &kept[f]);
    }
    NextBatch();
  }
  // Regions point into `held` and `kept`.
  State(const State&) = delete;
  State& operator=(const State&) = delete;

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
  }

  Draw Next() {
    const Token token = tokens[next_token];
    // In stored order the same samples are kept in every epoch, whatever share
    // of a batch that is.
    const bool keep = spec->shuffle ? token.keep
                                    : drawn_stored[token.format]++ <
                                          spec->formats[token.format].cached;
    const Draw draw = regions[token.format].Next(token.format, keep);
    ++position;
    if (++next_token == tokens.size()) NextBatch();
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
  std::vector<Region> regions;
  std::vector<uint64_t> drawn_stored =
      std::vector<uint64_t>(spec->formats.size());
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
  return state_->regions[format].loads();
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
  // Nothing, everything, or the first samples: known without drawing.
  bool fixed = true;
  for (const FormatSpec& f : spec->formats) {
    fixed &= !spec->shuffle || f.cached == 0 || f.cached == SampleCount(f);
  }
  if (fixed && epoch > first_epoch) {
    for (size_t f = 0; f < held.size(); ++f) {
      for (uint64_t i = 0; i < spec->formats[f].cached; ++i) held[f].insert(i);
    }
    *result = std::move(held);
    return OkStatus();
  }
  for (int64_t e = first_epoch; e < epoch; ++e) {
    std::unique_ptr<EpochPlan> plan;
    LIQUID_RETURN_IF_ERROR(EpochPlan::Create(spec, e, std::move(held), &plan));
    plan->Skip(plan->size());
    held = plan->kept();
  }
  *result = std::move(held);
  return OkStatus();
}

}  // namespace liquid
