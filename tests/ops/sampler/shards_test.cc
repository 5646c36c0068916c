#include "ops/sampler/shards.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ops/sampler/random_spec.h"

namespace liquid {
namespace {

std::vector<Shard> AllShards(const std::vector<uint64_t>& samples,
                             uint64_t count, ShardPolicy policy) {
  std::vector<Shard> shards(count);
  for (uint64_t i = 0; i < count; ++i) {
    const Status status = MakeShard(samples, i, count, policy, &shards[i]);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return shards;
}

uint64_t Total(const Shard& shard) {
  uint64_t total = 0;
  for (const ShardRange& range : shard.formats) total += range.length;
  return total;
}

void CheckShards(const std::vector<uint64_t>& samples, uint64_t count,
                 ShardPolicy policy) {
  const std::vector<Shard> shards = AllShards(samples, count, policy);
  uint64_t all = 0, least = ~uint64_t{0}, most = 0;
  uint64_t repeated = 0, dropped = 0, times_more = 0, missing = 0;
  for (const Shard& shard : shards) {
    ASSERT_EQ(shard.formats.size(), samples.size());
    least = std::min(least, Total(shard));
    most = std::max(most, Total(shard));
    EXPECT_LE(shard.repeated, 1u);
    EXPECT_LE(shard.dropped, 1u);
    repeated += shard.repeated;
    dropped += shard.dropped;
  }
  for (size_t f = 0; f < samples.size(); ++f) {
    all += samples[f];
    std::vector<uint64_t> times(samples[f]);
    uint64_t least_part = ~uint64_t{0}, most_part = 0;
    for (const Shard& shard : shards) {
      const ShardRange& range = shard.formats[f];
      least_part = std::min(least_part, range.length);
      most_part = std::max(most_part, range.length);
      if (range.length == 0) continue;
      EXPECT_LE(range.start + range.length, samples[f] + shard.repeated);
      for (uint64_t i = 0; i < range.length; ++i) {
        ++times[(range.start + i) % samples[f]];
      }
    }
    EXPECT_LE(most_part, least_part + 1);
    for (uint64_t t : times) {
      missing += t == 0;
      times_more += t > 1 ? t - 1 : 0;
    }
  }
  EXPECT_EQ(times_more, repeated);
  EXPECT_EQ(missing, dropped);
  for (const Shard& shard : shards) {
    EXPECT_EQ(shard.repeated_in_all, repeated);
    EXPECT_EQ(shard.dropped_in_all, dropped);
  }
  switch (policy) {
    case ShardPolicy::kPad:
      EXPECT_EQ(least, (all + count - 1) / count);
      EXPECT_EQ(most, least);
      EXPECT_EQ(dropped, 0u);
      break;
    case ShardPolicy::kDrop:
      EXPECT_EQ(most, all / count);
      EXPECT_EQ(most, least);
      EXPECT_EQ(repeated, 0u);
      break;
    case ShardPolicy::kUneven:
      EXPECT_EQ(least, all / count);
      EXPECT_LE(most, least + 1);
      EXPECT_EQ(repeated + dropped, 0u);
  }
}

constexpr ShardPolicy kPolicies[] = {ShardPolicy::kPad, ShardPolicy::kDrop,
                                     ShardPolicy::kUneven};

TEST(MakeShardTest, PartsAndTotalsDifferByAtMostOne) {
  RandomStream random = TestStream(1);
  for (int i = 0; i < 3000 && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const uint64_t count = 1 + random.Below(20);
    std::vector<uint64_t> samples(1 + random.Below(6));
    for (uint64_t& s : samples) {
      s = random.Below(random.Below(3) == 0 ? 4 : 100);
    }
    for (ShardPolicy policy : kPolicies) CheckShards(samples, count, policy);
  }
}

TEST(MakeShardTest, HundredAndThirtySamplesOverSixteenShards) {
  for (ShardPolicy policy : kPolicies) {
    CheckShards({130}, 16, policy);
    CheckShards({78, 52}, 16, policy);
  }
  const std::vector<Shard> shards = AllShards({130}, 16, ShardPolicy::kPad);
  EXPECT_EQ(shards[0].formats[0].start, 0u);
  EXPECT_EQ(shards[1].formats[0].start, 9u);
  EXPECT_EQ(shards[2].formats[0].start, 18u);
  EXPECT_EQ(shards[15].formats[0].start, 122u);
  EXPECT_EQ(shards[15].formats[0].length, 9u);  // its last is sample 0
  EXPECT_EQ(shards[0].repeated_in_all, 14u);
}

TEST(MakeShardTest, FewerSamplesThanShards) {
  for (ShardPolicy policy : kPolicies) {
    CheckShards({3}, 8, policy);
    CheckShards({1, 1, 0, 1}, 8, policy);
    CheckShards({0, 0}, 8, policy);
    CheckShards({}, 8, policy);
  }
  // The five repeats are spread over the three samples.
  std::vector<int> times(3);
  for (const Shard& shard : AllShards({3}, 8, ShardPolicy::kPad)) {
    ++times[shard.formats[0].start];
  }
  std::sort(times.begin(), times.end());
  EXPECT_EQ(times, (std::vector<int>{2, 3, 3}));
}

TEST(MakeShardTest, OneShardIsTheDataset) {
  for (ShardPolicy policy : kPolicies) {
    const Shard shard = AllShards({7, 0, 12}, 1, policy)[0];
    EXPECT_EQ(shard.formats[0].length, 7u);
    EXPECT_EQ(shard.formats[1].length, 0u);
    EXPECT_EQ(shard.formats[2].length, 12u);
    EXPECT_EQ(shard.repeated + shard.dropped, 0u);
  }
}

TEST(MakeShardTest, WrongArguments) {
  Shard shard;
  EXPECT_EQ(MakeShard({5}, 0, 0, ShardPolicy::kPad, &shard).message(),
            "count (0) must be between 1 and 4294967294");
  EXPECT_EQ(MakeShard({5}, 2, 2, ShardPolicy::kPad, &shard).message(),
            "index (2) must be below count, 2");
  EXPECT_EQ(MakeShard({5, uint64_t{1} << 32}, 0, 2, ShardPolicy::kPad, &shard)
                .message(),
            "samples[1] (4294967296) must be at most 4294967294");
}

TEST(PiecesOfTest, CoversTheRangeInOrder) {
  RandomStream random = TestStream(2);
  for (int i = 0; i < 1000 && !HasFailure(); ++i) {
    std::vector<uint64_t> files(1 + random.Below(6));
    uint64_t samples = 0;
    for (uint64_t& in_file : files) samples += in_file = random.Below(5);
    if (samples == 0) continue;
    const ShardRange range = {random.Below(samples + 1),
                              random.Below(samples + 1)};
    std::vector<uint64_t> expected, seen;
    for (uint64_t j = 0; j < range.length; ++j) {
      expected.push_back((range.start + j) % samples);
    }
    for (const FilePiece& piece : PiecesOf(files, range)) {
      ASSERT_GT(piece.count, 0u);
      ASSERT_LE(piece.first + piece.count, files[piece.file]);
      uint64_t sample = piece.first;
      for (size_t f = 0; f < piece.file; ++f) sample += files[f];
      for (uint64_t j = 0; j < piece.count; ++j) seen.push_back(sample++);
    }
    EXPECT_EQ(seen, expected);
  }
  EXPECT_TRUE(PiecesOf({}, {0, 1}).empty());
  EXPECT_TRUE(PiecesOf({0, 0}, {0, 1}).empty());
}

}  // namespace
}  // namespace liquid
