#include "ops/engine/epoch_mixes.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "ops/core/rng.h"

namespace liquid {
namespace {

// Whether formats are the same records at several fidelities.
bool SectionsMove(const PlanSpec& spec) {
  return HasSections(spec) && spec.formats[0].groups != kFullFidelity;
}

}  // namespace

bool HasSections(const PlanSpec& spec) {
  return !spec.formats.empty() && spec.formats[0].count != FormatSpec::kWhole;
}

uint64_t FirstRecord(const PlanSpec& spec, int64_t epoch) {
  const uint64_t records = StoredCount(spec.formats[0]);
  if (records == 0) return 0;
  // Beginnings are as far apart as the greatest common divisor of a step and
  // all records says. Where that divides a section, it has each record equally
  // often.
  const auto fair = [&](uint64_t step) {
    const uint64_t apart = std::gcd(step, records);
    return std::all_of(spec.formats.begin(), spec.formats.end(),
                       [apart](const FormatSpec& format) {
                         return format.count % apart == 0;
                       });
  };
  uint64_t step = spec.formats[0].count;
  while (!fair(step)) ++step;
  RandomStream random(spec.seed, 0, RngPurpose::kFirstSection);
  // Neither factor has more than 32 bits: see kMaxFormatSamples.
  const uint64_t moved =
      static_cast<uint64_t>(epoch) % records * (step % records) % records;
  return (random.Below(records) + moved) % records;
}

EpochMixes::EpochMixes(std::shared_ptr<const PlanSpec> base)
    : base_(std::move(base)) {}

std::shared_ptr<const PlanSpec> EpochMixes::Of(int64_t epoch) const {
  const auto& spec = specs_[static_cast<size_t>(epoch)];
  if (!SectionsMove(*spec)) return spec;
  const uint64_t first = FirstRecord(*spec, epoch);
  auto moved = std::make_shared<PlanSpec>(*spec);
  for (FormatSpec& format : moved->formats) {
    format.first = (format.first + first) % StoredCount(format);
  }
  return moved;
}

Status EpochMixes::MakeSpec(const std::vector<int64_t>& numbers,
                            std::shared_ptr<const PlanSpec>* spec) const {
  auto made = std::make_shared<PlanSpec>(*base_);
  const size_t formats = made->formats.size();
  if (numbers.size() != kKinds * formats) {
    return InvalidArgument("a mix (" + std::to_string(numbers.size()) +
                           " numbers) must have " + std::to_string(kKinds) +
                           " for each of the " + std::to_string(formats) +
                           " formats");
  }
  const std::vector<int64_t> samples(
      numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(formats));
  LIQUID_RETURN_IF_ERROR(CutSections(samples, made.get()));
  for (size_t f = 0; f < formats; ++f) {
    // What is negative is too much: the planner says so.
    made->formats[f].cached = static_cast<uint64_t>(numbers[formats + f]);
    made->formats[f].fill = static_cast<uint64_t>(numbers[2 * formats + f]);
  }
  LIQUID_RETURN_IF_ERROR(Validate(*made));
  *spec = std::move(made);
  return OkStatus();
}

Status EpochMixes::Append(const std::vector<int64_t>& numbers) {
  std::shared_ptr<const PlanSpec> spec;
  LIQUID_RETURN_IF_ERROR(MakeSpec(numbers, &spec));
  const bool as_before =
      !specs_.empty() && specs_.back()->formats == spec->formats;
  specs_.push_back(as_before ? specs_.back() : std::move(spec));
  numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  return OkStatus();
}

std::vector<int64_t> EpochMixes::Numbers(int64_t epochs) const {
  const auto each = static_cast<std::ptrdiff_t>(kKinds * base_->formats.size());
  return {numbers_.begin(), numbers_.begin() + epochs * each};
}

Status EpochMixes::Assign(const std::vector<int64_t>& numbers) {
  const size_t each = kKinds * base_->formats.size();
  if (numbers.size() % each != 0) {
    return InvalidArgument("mixes (" + std::to_string(numbers.size()) +
                           " numbers) must have " + std::to_string(each) +
                           " for each epoch");
  }
  EpochMixes made(base_);
  for (size_t at = 0; at < numbers.size(); at += each) {
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(at);
    LIQUID_RETURN_IF_ERROR(made.Append(std::vector<int64_t>(
        begin, begin + static_cast<std::ptrdiff_t>(each))));
  }
  *this = std::move(made);
  return OkStatus();
}

}  // namespace liquid
