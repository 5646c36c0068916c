#include "ops/engine/epoch_mixes.h"

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/sampler/plan_spec.h"

namespace liquid::epoch_mixes_test {
namespace {

using testing::HasSubstr;

// The same records at several fidelities, as many of them at each as `counts`
// says; without `groups`, formats that share samples.
std::shared_ptr<PlanSpec> Shared(const std::vector<uint64_t>& counts,
                                 bool groups = true) {
  uint64_t records = 0;
  for (const uint64_t count : counts) records += count;
  auto spec = std::make_shared<PlanSpec>();
  spec->seed = 11;
  spec->batch_size = 4;
  uint64_t first = 0;
  for (size_t f = 0; f < counts.size(); ++f) {
    FormatSpec format;
    if (groups) {
      format.files.assign(records, 1);
      format.record_samples.assign(records, 7);
      format.groups = static_cast<uint32_t>(f + 1);
    } else {
      format.files = {records};
    }
    format.first = first;
    format.count = counts[f];
    first += counts[f];
    spec->formats.push_back(format);
  }
  return spec;
}

std::vector<int64_t> Numbers(const PlanSpec& spec) {
  std::vector<int64_t> numbers;
  for (const FormatSpec& format : spec.formats) {
    numbers.push_back(static_cast<int64_t>(SampleCount(format)));
  }
  numbers.resize(EpochMixes::kKinds * spec.formats.size());
  return numbers;
}

// How often each record is in the section of a format, in as many epochs as
// there are records.
std::vector<std::vector<int>> Turns(
    const std::shared_ptr<const PlanSpec>& spec) {
  const uint64_t records = StoredCount(spec->formats[0]);
  EpochMixes mixes(spec);
  std::vector<std::vector<int>> turns(spec->formats.size(),
                                      std::vector<int>(records));
  for (uint64_t epoch = 0; epoch < records; ++epoch) {
    EXPECT_TRUE(mixes.Append(Numbers(*spec)).ok());
    const auto of_epoch = mixes.Of(static_cast<int64_t>(epoch));
    std::set<uint64_t> seen;
    for (size_t f = 0; f < of_epoch->formats.size(); ++f) {
      const FormatSpec& format = of_epoch->formats[f];
      EXPECT_EQ(format.count, spec->formats[f].count);
      for (uint64_t i = 0; i < format.count; ++i) {
        const uint64_t record = RecordAt(format, i, records);
        ++turns[f][record];
        EXPECT_TRUE(seen.insert(record).second);
      }
    }
    EXPECT_EQ(seen.size(), records);
  }
  return turns;
}

TEST(EpochMixesTest, EveryRecordHasItsTurnAtEachFidelityEquallyOften) {
  const std::vector<uint64_t> cases[] = {
      {10, 31}, {10, 30}, {1, 1}, {30, 10}, {5}, {10, 5, 25}, {1, 2, 3, 4}};
  for (const std::vector<uint64_t>& counts : cases) {
    const auto turns = Turns(Shared(counts));
    for (size_t f = 0; f < counts.size(); ++f) {
      EXPECT_THAT(turns[f], testing::Each(static_cast<int>(counts[f])))
          << testing::PrintToString(counts);
    }
  }
}

TEST(EpochMixesTest, TheFirstPartMovesOnByItsLength) {
  const auto spec = Shared({10, 31});
  for (int64_t epoch = 0; epoch < 100; ++epoch) {
    EXPECT_EQ((FirstRecord(*spec, epoch) + 10) % 41,
              FirstRecord(*spec, epoch + 1));
  }
  std::set<uint64_t> begun;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    spec->seed = seed;
    begun.insert(FirstRecord(*spec, 0));
  }
  EXPECT_EQ(begun.size(), 41u);
  // An order across versions.
  spec->seed = 11;
  EXPECT_EQ(FirstRecord(*spec, 0), 16u);
  EXPECT_EQ(FirstRecord(*spec, int64_t{1} << 62), 15u);
}

TEST(EpochMixesTest, PartsOfFormatsStay) {
  const auto turns = Turns(Shared({2, 3}, false));
  EXPECT_THAT(turns[0], testing::ElementsAre(5, 5, 0, 0, 0));
  EpochMixes mixes(Shared({2, 3}, false));
  ASSERT_TRUE(mixes.Append({2, 3, 0, 0, 0, 0}).ok());
  ASSERT_TRUE(mixes.Append({2, 3, 0, 0, 0, 0}).ok());
  EXPECT_EQ(mixes.Of(0), mixes.Of(1));
}

TEST(EpochMixesTest, NumbersSayWhereEachEpochIs) {
  const auto spec = Shared({10, 31});
  EpochMixes mixes(spec), restored(spec);
  for (const int64_t cached : {3, 5, 5}) {
    ASSERT_TRUE(mixes.Append({70, 217, cached, 0, 6, 7}).ok());
  }
  EXPECT_THAT(mixes.Numbers(1), testing::ElementsAre(70, 217, 3, 0, 6, 7));
  ASSERT_TRUE(restored.Assign(mixes.Numbers(3)).ok());
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(restored.Of(epoch)->formats, mixes.Of(epoch)->formats);
  }
  EXPECT_EQ(mixes.Of(0)->formats[0].cached, 3u);
  EXPECT_EQ(mixes.Of(2)->formats[0].cached, 5u);
}

TEST(EpochMixesTest, WhatCannotBeIsNamed) {
  EpochMixes mixes(Shared({10, 31}));
  EXPECT_THAT(mixes.Append({70, 217}).message(), HasSubstr("(2 numbers)"));
  EXPECT_THAT(mixes.Append({70, 218, 0, 0, 0, 0}).message(),
              HasSubstr("sum to 287"));
  EXPECT_THAT(mixes.Append({70, 210, 0, 0, 0, 0}).message(),
              HasSubstr("all that formats share, 287"));
  EXPECT_THAT(mixes.Append({71, 216, 0, 0, 0, 0}).message(),
              HasSubstr("(71 samples of format 0) must be of whole records"));
  EXPECT_THAT(mixes.Append({70, 217, 11, 0, 0, 0}).message(),
              HasSubstr("cached (11)"));
  EXPECT_EQ(mixes.epochs(), 0);
  EXPECT_THAT(mixes.Numbers(0), testing::IsEmpty());
}

}  // namespace
}  // namespace liquid::epoch_mixes_test
