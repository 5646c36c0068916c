#include "ops/sampler/mixture.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ops/sampler/random_spec.h"

namespace liquid::mixture_test {
namespace {

struct Table {
  std::vector<uint64_t> samples, kept;
  uint64_t batch_size = 1;
};

Table RandomTable(RandomStream* random, uint64_t most) {
  const PlanSpec spec = RandomSpec(random, most);
  Table table;
  for (const FormatSpec& f : spec.formats) {
    table.samples.push_back(SampleCount(f));
    table.kept.push_back(f.cached);
  }
  table.batch_size = spec.batch_size;
  return table;
}

uint64_t Total(const std::vector<uint64_t>& counts) {
  uint64_t total = 0;
  for (uint64_t count : counts) total += count;
  return total;
}

// |running * batches - t * total| < bound * batches: the running total is less
// than `bound` away from t times its mean.
void ExpectDriftBelow(uint64_t bound, uint64_t running, uint64_t t,
                      uint64_t total, uint64_t batches) {
  const int64_t drift =
      static_cast<int64_t>(running * batches) - static_cast<int64_t>(t * total);
  EXPECT_LT(std::abs(drift), static_cast<int64_t>(bound * batches));
}

void ExpectFloorOrCeiling(uint64_t part, uint64_t total, uint64_t batches) {
  EXPECT_GE(part, total / batches);
  EXPECT_LE(part, (total + batches - 1) / batches);
}

void CheckTable(const Table& table) {
  BatchTable batches(table.samples, table.kept, table.batch_size);
  const uint64_t n = batches.full_batches();
  const size_t formats = table.samples.size();
  ASSERT_EQ(n, Total(table.samples) / table.batch_size);

  std::vector<uint64_t> drawn_total(formats), kept_total(formats);
  uint64_t last_drawn = 0;
  for (size_t f = 0; f < formats; ++f) {
    const BatchPart& last = batches.last()[f];
    ASSERT_LE(last.drawn, table.samples[f]);
    ASSERT_LE(last.kept, std::min(last.drawn, table.kept[f]));
    drawn_total[f] = table.samples[f] - last.drawn;
    kept_total[f] = table.kept[f] - last.kept;
    ASSERT_LE(kept_total[f], drawn_total[f]);
    last_drawn += last.drawn;
  }
  ASSERT_EQ(last_drawn, Total(table.samples) % table.batch_size);

  std::vector<uint64_t> drawn(formats), kept(formats);
  std::vector<BatchPart> batch;
  for (uint64_t t = 1; t <= n; ++t) {
    ASSERT_TRUE(batches.Next(&batch));
    uint64_t size = 0, kept_in_batch = 0;
    for (size_t f = 0; f < formats; ++f) {
      ASSERT_LE(batch[f].kept, batch[f].drawn);
      const uint64_t evicted = batch[f].drawn - batch[f].kept;
      const uint64_t evicted_total = drawn_total[f] - kept_total[f];
      ExpectFloorOrCeiling(batch[f].drawn, drawn_total[f], n);
      ExpectFloorOrCeiling(batch[f].kept, kept_total[f], n);
      ExpectFloorOrCeiling(evicted, evicted_total, n);
      size += batch[f].drawn;
      kept_in_batch += batch[f].kept;
      drawn[f] += batch[f].drawn;
      kept[f] += batch[f].kept;
      ExpectDriftBelow(2, drawn[f], t, drawn_total[f], n);
      ExpectDriftBelow(2, kept[f], t, kept_total[f], n);
      ExpectDriftBelow(2, drawn[f] - kept[f], t, evicted_total, n);
    }
    ASSERT_EQ(size, table.batch_size);
    // Of all formats, too; what is evicted is the rest of the batch.
    ExpectFloorOrCeiling(kept_in_batch, Total(kept_total), n);
    ExpectDriftBelow(1, Total(kept), t, Total(kept_total), n);
  }
  EXPECT_EQ(drawn, drawn_total);
  EXPECT_EQ(kept, kept_total);
  if (last_drawn > 0) {
    ASSERT_TRUE(batches.Next(&batch));
    for (size_t f = 0; f < formats; ++f) {
      EXPECT_EQ(batch[f].drawn, batches.last()[f].drawn);
      EXPECT_EQ(batch[f].kept, batches.last()[f].kept);
    }
  }
  EXPECT_FALSE(batches.Next(&batch));
}

TEST(BatchTableTest, EveryBatchIsFloorOrCeilingAndEveryTotalExact) {
  RandomStream random = TestStream(1);
  for (int i = 0; i < 6000 && !testing::Test::HasFailure(); ++i) {
    const Table table = RandomTable(&random, i % 4 == 0 ? 12 : 800);
    SCOPED_TRACE(i);
    CheckTable(table);
  }
}

// Two formats alike, which by themselves would step together.
TEST(BatchTableTest, TwoFormatsTakeTurns) {
  BatchTable batches({750, 750}, {225, 225}, 32);
  std::vector<BatchPart> batch;
  for (uint64_t t = 0; t < batches.full_batches(); ++t) {
    ASSERT_TRUE(batches.Next(&batch));
    const uint64_t kept = batch[0].kept + batch[1].kept;
    // 9.6 in the mean.
    EXPECT_TRUE(kept == 9 || kept == 10) << kept;
  }
}

TEST(BatchTableTest, ManyFormats) {
  RandomStream random = TestStream(2);
  for (int i = 0; i < 40 && !testing::Test::HasFailure(); ++i) {
    Table table;
    for (size_t f = 0; f < kMaxFormats; ++f) {
      table.samples.push_back(random.Below(40));
      table.kept.push_back(random.Below(table.samples.back() + 1));
    }
    table.batch_size = 1 + random.Below(300);
    SCOPED_TRACE(i);
    CheckTable(table);
  }
}

TEST(BatchTableTest, SizesBeyond32BitsStayExact) {
  const uint64_t huge = (uint64_t{1} << 40) + 12345;
  const std::vector<uint64_t> samples = {huge, huge / 3, 1};
  const std::vector<uint64_t> kept = {huge / 7, huge / 3, 0};
  const uint64_t batch_size = huge / 50;
  BatchTable batches(samples, kept, batch_size);
  std::vector<uint64_t> drawn(3), keep(3);
  std::vector<BatchPart> batch;
  uint64_t count = 0;
  while (batches.Next(&batch)) {
    uint64_t size = 0;
    for (size_t f = 0; f < 3; ++f) {
      drawn[f] += batch[f].drawn;
      keep[f] += batch[f].kept;
      size += batch[f].drawn;
    }
    if (++count <= batches.full_batches()) {
      EXPECT_EQ(size, batch_size);
    }
  }
  EXPECT_EQ(drawn, samples);
  EXPECT_EQ(keep, kept);
}

TEST(BatchTableTest, PartialBatchIsLikeTheOthers) {
  // 10 full batches of 10 and a partial one of 5, in the proportions of the
  // whole.
  BatchTable batches({63, 42}, {21, 42}, 10);
  ASSERT_EQ(batches.full_batches(), 10u);
  EXPECT_EQ(batches.last()[0].drawn, 3u);
  EXPECT_EQ(batches.last()[0].kept, 1u);
  EXPECT_EQ(batches.last()[1].drawn, 2u);
  EXPECT_EQ(batches.last()[1].kept, 2u);
}

TEST(BatchTableTest, BatchLargerThanTheEpoch) {
  BatchTable batches({3, 0, 4}, {1, 0, 4}, 100);
  EXPECT_EQ(batches.full_batches(), 0u);
  std::vector<BatchPart> batch;
  ASSERT_TRUE(batches.Next(&batch));
  EXPECT_EQ(batch[0].drawn, 3u);
  EXPECT_EQ(batch[0].kept, 1u);
  EXPECT_EQ(batch[1].drawn, 0u);
  EXPECT_EQ(batch[2].drawn, 4u);
  EXPECT_EQ(batch[2].kept, 4u);
  EXPECT_FALSE(batches.Next(&batch));
}

TEST(BatchTableTest, NothingToDraw) {
  std::vector<BatchPart> batch;
  EXPECT_FALSE(BatchTable({}, {}, 4).Next(&batch));
  EXPECT_FALSE(BatchTable({0, 0}, {0, 0}, 4).Next(&batch));
}

}  // namespace
}  // namespace liquid::mixture_test
