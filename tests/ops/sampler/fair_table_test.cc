#include "ops/sampler/fair_table.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ops/sampler/random_spec.h"

namespace liquid::fair_table_test {
namespace {

// Rows of one or two cells in each of `slots`; the last one fills up the last
// column to a multiple of them.
std::vector<FairTable::Parts> RandomParts(RandomStream* random, uint64_t slots,
                                          size_t rows) {
  std::vector<FairTable::Parts> parts;
  uint64_t last = 0;
  for (size_t r = 0; r < rows; ++r) {
    const bool two = random->Below(2) == 0;
    // Below 1 all of a row's cells or none are likely, which are forced.
    FairTable::Parts row = {random->Below(slots + 1), 0, 0};
    if (random->Below(3) == 0) row[0] = random->Below(2) * slots;
    const uint64_t rest = slots - row[0];
    row[1] = rest == 0 ? 0 : random->Below(rest + 1);
    if (r + 1 == rows) row[1] = rest - std::min(rest, (slots - last) % slots);
    row[2] = rest - row[1];
    // Of two cells each is left out as often as one would be held.
    if (two && r + 1 < rows) {
      for (uint64_t& part : row) part = slots - part;
    }
    last = (last + row[2]) % slots;
    parts.push_back(row);
  }
  if (last > 0) parts.push_back({last, 0, slots - last});
  return parts;
}

void CheckTable(const std::vector<FairTable::Parts>& parts, uint64_t slots) {
  FairTable table(parts, slots);
  FairTable::Parts total = {};
  std::vector<FairTable::Parts> given(parts.size());
  for (const FairTable::Parts& row : parts) {
    for (size_t c = 0; c < FairTable::kColumns; ++c) total[c] += row[c];
  }
  for (uint64_t t = 1; t <= slots; ++t) {
    table.Next();
    FairTable::Parts column = {};
    for (size_t r = 0; r < parts.size(); ++r) {
      uint64_t cells = 0;
      for (size_t c = 0; c < FairTable::kColumns; ++c) {
        const bool held = table.held(r)[c];
        cells += held;
        column[c] += held;
        given[r][c] += held;
        const int64_t drift = static_cast<int64_t>(given[r][c] * slots) -
                              static_cast<int64_t>(t * parts[r][c]);
        ASSERT_LT(std::abs(drift), static_cast<int64_t>(2 * slots));
      }
      ASSERT_EQ(cells * slots, parts[r][0] + parts[r][1] + parts[r][2]);
    }
    for (size_t c = 0; c < FairTable::kColumns; ++c) {
      ASSERT_GE(column[c], total[c] / slots);
      ASSERT_LE(column[c], (total[c] + slots - 1) / slots);
    }
  }
  EXPECT_TRUE(given == parts);
}

TEST(FairTableTest, CellsRowsAndColumnsComeOut) {
  RandomStream random = TestStream(11);
  for (int i = 0; i < 20000 && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const uint64_t slots = 1 + random.Below(i % 2 == 0 ? 8 : 60);
    CheckTable(RandomParts(&random, slots, 1 + random.Below(6)), slots);
  }
}

TEST(FairTableTest, ManyRows) {
  RandomStream random = TestStream(12);
  for (int i = 0; i < 40 && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const uint64_t slots = 1 + random.Below(60);
    CheckTable(RandomParts(&random, slots, 250), slots);
  }
}

// Rows alike want the same columns in the same slots; a column takes them in
// turn, the first column's number spread as the steps of a line.
TEST(FairTableTest, RowsAlikeTakeTurns) {
  FairTable table({{1, 3, 0}, {1, 3, 0}}, 4);
  std::vector<int> first;
  for (int t = 0; t < 4; ++t) {
    table.Next();
    ASSERT_FALSE(table.held(0)[0] && table.held(1)[0]);
    first.push_back(table.held(0)[0] ? 0 : table.held(1)[0] ? 1 : -1);
  }
  EXPECT_EQ(std::count(first.begin(), first.end(), -1), 2);
  EXPECT_EQ(std::count(first.begin(), first.end(), 0), 1);
}

// Four rows of which two never hold the first column and two never the second:
// the last column's two rests must be one of either kind in each slot.
TEST(FairTableTest, ColumnsBindRows) {
  CheckTable({{1, 0, 1}, {1, 0, 1}, {0, 1, 1}, {0, 1, 1}}, 2);
}

}  // namespace
}  // namespace liquid::fair_table_test
