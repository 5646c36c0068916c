#include "ops/sampler/weights.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "ops/core/crc32c.h"
#include "ops/sampler/mixture.h"
#include "ops/sampler/plan_spec.h"

namespace liquid {
namespace {

using Wide = unsigned __int128;

// A sum of shares below it leaves room for products with draws and epochs.
constexpr uint64_t kShareLimit = uint64_t{1} << 63;

uint32_t Extend(uint32_t crc, const void* data, size_t bytes) {
  return ExtendCrc32c(crc, ByteSpan(static_cast<const uint8_t*>(data), bytes));
}

}  // namespace

// Number k of n comes at (2k + 1) / 2n of a pass; of equal ones the source in
// front comes first.
uint64_t MergedCount(const std::vector<uint64_t>& sizes, size_t which,
                     uint64_t draws) {
  const uint64_t n = sizes[which];
  uint64_t all = 0;
  for (const uint64_t size : sizes) all += size;
  if (n == 0) return 0;
  const uint64_t passes = draws / all;
  const uint64_t rest = draws % all;
  const auto place_of = [&](uint64_t k) {
    uint64_t place = k;
    for (size_t s = 0; s < sizes.size(); ++s) {
      if (s == which) continue;
      const Wide at = static_cast<Wide>(2 * k + 1) * sizes[s];
      // The greatest odd number before it, of those that are 2k' + 1.
      const auto most = static_cast<uint64_t>((s < which ? at : at - 1) / n);
      if (sizes[s] > 0) place += std::min(sizes[s], (most + 1) / 2);
    }
    return place;
  };
  uint64_t least = 0, most = n;
  while (least < most) {
    const uint64_t middle = least + (most - least) / 2;
    if (place_of(middle) < rest) {
      least = middle + 1;
    } else {
      most = middle;
    }
  }
  return passes * n + least;
}

Weights::Weights(Options options) : options_(std::move(options)) {}

Status Weights::Create(Options options, std::shared_ptr<const Weights>* made) {
  if (options.samples_per_epoch < 1 ||
      options.samples_per_epoch > kMaxFormatSamples) {
    return InvalidArgument(
        "samples_per_epoch (" + std::to_string(options.samples_per_epoch) +
        ") must be between 1 and " + std::to_string(kMaxFormatSamples));
  }
  std::shared_ptr<Weights> weights(new Weights(std::move(options)));
  LIQUID_RETURN_IF_ERROR(weights->CountSizes());
  LIQUID_RETURN_IF_ERROR(weights->CheckShares());
  const Options& o = weights->options_;
  WorkerPart part;
  LIQUID_RETURN_IF_ERROR(MakeWorkerPart({o.samples_per_epoch}, o.worker,
                                        o.workers, o.policy, &part));
  weights->epoch_size_ = part.formats[0].length;
  uint32_t crc = 0;
  for (const uint64_t number : {o.samples_per_epoch, o.worker, o.workers,
                                static_cast<uint64_t>(o.policy)}) {
    crc = Extend(crc, &number, sizeof(number));
  }
  crc = Extend(crc, o.shares.data(), o.shares.size() * sizeof(uint64_t));
  for (const SourceGroups& source : o.sources) {
    crc = Extend(crc, &source.first, sizeof(source.first));
    crc = Extend(crc, &source.samples, sizeof(source.samples));
    crc = Extend(crc, source.entries.data(),
                 source.entries.size() * sizeof(uint16_t));
  }
  weights->fingerprint_ = crc;
  weights->first_spans_ = weights->Spans(0);
  *made = std::move(weights);
  return OkStatus();
}

Status Weights::CountSizes() {
  group_sizes_.resize(options_.shares.size());
  for (size_t s = 0; s < options_.sources.size(); ++s) {
    const SourceGroups& source = options_.sources[s];
    const std::string name = "sources[" + std::to_string(s) + "]";
    if (source.samples > kMaxFormatSamples ||
        (!source.entries.empty() && source.entries.size() != source.samples)) {
      return InvalidArgument(
          name + ".entries (" + std::to_string(source.entries.size()) +
          ") must be none, or one for each of its samples, " +
          std::to_string(source.samples) + ", at most " +
          std::to_string(kMaxFormatSamples));
    }
    std::vector<uint64_t> sizes;
    if (source.entries.empty()) {
      if (source.samples > 0) sizes = {source.samples};
    } else {
      sizes.resize(
          *std::max_element(source.entries.begin(), source.entries.end()) +
          size_t{1});
      for (const uint16_t entry : source.entries) ++sizes[entry];
    }
    if (source.first + sizes.size() > options_.shares.size()) {
      return InvalidArgument(
          name + " (groups " + std::to_string(source.first) + " to " +
          std::to_string(source.first + sizes.size() - 1) +
          ") must have groups below " + std::to_string(options_.shares.size()) +
          ", the number of shares");
    }
    for (uint32_t k = 0; k < sizes.size(); ++k) {
      if (sizes[k] == 0) continue;
      group_sizes_[source.first + k] += sizes[k];
      places_.push_back(
          {source.first + k, static_cast<uint32_t>(s), k, sizes[k]});
    }
    sizes_.push_back(std::move(sizes));
  }
  std::stable_sort(
      places_.begin(), places_.end(),
      [](const Place& a, const Place& b) { return a.group < b.group; });
  return OkStatus();
}

Status Weights::CheckShares() {
  uint64_t& total = total_;
  for (size_t g = 0; g < options_.shares.size(); ++g) {
    const uint64_t share = options_.shares[g];
    const std::string name = "shares[" + std::to_string(g) + "]";
    if (share >= kShareLimit - total) {
      return InvalidArgument(name + " (" + std::to_string(share) +
                             ") must leave the sum of shares below 2^63");
    }
    total += share;
    if (share > 0 && group_sizes_[g] == 0) {
      return InvalidArgument(name + " (" + std::to_string(share) +
                             ") must be 0: the group has no samples");
    }
  }
  if (total > 0) return OkStatus();
  return InvalidArgument("shares must not all be 0");
}

// Groups of one dataset stand together; taking those of all datasets by turns
// keeps what chance is left away from the sums of datasets.
std::vector<uint32_t> Weights::EvenOrder() const {
  const auto groups = static_cast<uint32_t>(options_.shares.size());
  std::vector<uint32_t> starts = {0, groups};
  for (const SourceGroups& source : options_.sources) {
    starts.push_back(source.first);
  }
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  struct Place {
    uint64_t at, of;
    uint32_t group;
  };
  std::vector<Place> places;
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    const uint64_t count = starts[i + 1] - starts[i];
    for (uint32_t k = 0; k < count; ++k) {
      places.push_back({2 * k + uint64_t{1}, count, starts[i] + k});
    }
  }
  std::stable_sort(
      places.begin(), places.end(),
      [](const Place& a, const Place& b) { return a.at * b.of < b.at * a.of; });
  std::vector<uint32_t> order;
  order.reserve(places.size());
  for (const Place& place : places) order.push_back(place.group);
  return order;
}

std::vector<std::vector<CycleSpan>> Weights::Spans(int64_t epoch) const {
  std::vector<uint64_t> begin, count;
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (schedule_ == nullptr || schedule_->epoch() > epoch) {
      schedule_ = std::make_unique<GroupSchedule>(options_.samples_per_epoch,
                                                  options_.shares, EvenOrder());
    }
    while (schedule_->epoch() < epoch) schedule_->Advance();
    begin = schedule_->before();
    GroupSchedule next = *schedule_;
    next.Advance();
    count = next.before();
  }
  for (size_t g = 0; g < begin.size(); ++g) count[g] -= begin[g];
  WorkerPart part;
  // What Create has checked cannot fail here.
  const Status made = MakeWorkerPart(count, options_.worker, options_.workers,
                                     options_.policy, &part);
  std::vector<std::vector<CycleSpan>> spans(sizes_.size());
  if (!made.ok()) return spans;
  for (size_t s = 0; s < sizes_.size(); ++s) {
    spans[s].resize(sizes_[s].size());
  }
  for (size_t i = 0, end; i < places_.size(); i = end) {
    const uint32_t g = places_[i].group;
    std::vector<uint64_t> sizes;
    for (end = i; end < places_.size() && places_[end].group == g; ++end) {
      sizes.push_back(places_[end].samples);
    }
    const uint64_t first = begin[g] + part.formats[g].start;
    const uint64_t last = first + part.formats[g].length;
    for (size_t p = i; p < end; ++p) {
      CycleSpan& span = spans[places_[p].source][places_[p].entry];
      span.start = MergedCount(sizes, p - i, first);
      span.length = MergedCount(sizes, p - i, last) - span.start;
    }
  }
  return spans;
}

bool Weights::HasFixedParts(size_t source, size_t entry) const {
  const size_t group = options_.sources[source].first + entry;
  return options_.workers > 1 &&
         static_cast<Wide>(options_.samples_per_epoch) *
                 options_.shares[group] ==
             static_cast<Wide>(total_) * group_sizes_[group];
}

std::vector<uint64_t> Weights::Greatest(size_t source, uint64_t most) const {
  const std::vector<uint64_t>& sizes = sizes_[source];
  const uint32_t first = options_.sources[source].first;
  std::vector<uint32_t> entries;
  for (uint32_t k = 0; k < sizes.size(); ++k) {
    if (sizes[k] > 0 && options_.shares[first + k] > 0) entries.push_back(k);
  }
  // A sample has its group's share over the group's size.
  const auto above = [&](uint32_t a, uint32_t b) {
    return static_cast<Wide>(options_.shares[first + a]) *
               group_sizes_[first + b] >
           static_cast<Wide>(options_.shares[first + b]) *
               group_sizes_[first + a];
  };
  std::stable_sort(entries.begin(), entries.end(), above);
  std::vector<uint64_t> greatest(sizes.size());
  for (size_t i = 0, end; i < entries.size() && most > 0; i = end) {
    uint64_t equal = 0;
    for (end = i; end < entries.size() && !above(entries[i], entries[end]);
         ++end) {
      equal += sizes[entries[end]];
    }
    const uint64_t taken = std::min(equal, most);
    uint64_t before = 0;
    for (size_t j = i; j < end; ++j) {
      const uint64_t after = before + sizes[entries[j]];
      greatest[entries[j]] =
          MulDivFloor(taken, after, equal) - MulDivFloor(taken, before, equal);
      before = after;
    }
    most -= taken;
  }
  return greatest;
}

}  // namespace liquid
