#include "ops/dataset/interleave/epoch_mixes.h"

#include <string>
#include <utility>

namespace liquid {

bool HasParts(const PlanSpec& spec) {
  return !spec.formats.empty() && spec.formats[0].count != FormatSpec::kWhole;
}

EpochMixes::EpochMixes(std::shared_ptr<const PlanSpec> base)
    : base_(std::move(base)) {
  for (const FormatSpec& format : base_->formats) {
    samples_ += SampleCount(format);
  }
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
  uint64_t first = 0;
  for (size_t f = 0; f < formats; ++f) {
    FormatSpec& format = made->formats[f];
    const int64_t count = numbers[f];
    if (count < 0 || static_cast<uint64_t>(count) > samples_ - first) {
      return InvalidArgument("a mix's samples (" + std::to_string(count) +
                             " of format " + std::to_string(f) +
                             ") must be at least 0 and sum to " +
                             std::to_string(samples_));
    }
    format.first = first;
    format.count = static_cast<uint64_t>(count);
    // What is negative is too much: the planner says so.
    format.cached = static_cast<uint64_t>(numbers[formats + f]);
    format.fill = static_cast<uint64_t>(numbers[2 * formats + f]);
    first += format.count;
  }
  if (first != samples_) {
    return InvalidArgument("a mix's samples (" + std::to_string(first) +
                           ") must be all that formats share, " +
                           std::to_string(samples_));
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
  return OkStatus();
}

std::vector<int64_t> EpochMixes::Numbers(int64_t epochs) const {
  std::vector<int64_t> numbers;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    const std::vector<FormatSpec>& formats = Of(epoch)->formats;
    for (const auto member :
         {&FormatSpec::count, &FormatSpec::cached, &FormatSpec::fill}) {
      for (const FormatSpec& format : formats) {
        numbers.push_back(static_cast<int64_t>(format.*member));
      }
    }
  }
  return numbers;
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
  specs_ = std::move(made.specs_);
  return OkStatus();
}

}  // namespace liquid
