#include "ops/reader/selected_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/ops/containers/recordio/packed_rows.h"

namespace liquid::selected_rows_test {
namespace {

// Rows of formats 0 to 2 in splits 0 to 3, in the order of an index, with
// sample numbers in any order.
std::vector<IndexRow> MakeRows(size_t each, std::mt19937* random) {
  std::vector<uint64_t> numbers(each * 12);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  std::shuffle(numbers.begin(), numbers.end(), *random);
  std::vector<IndexRow> rows;
  for (uint8_t split = 0; split < 4; ++split) {
    for (uint8_t format = 0; format < 3; ++format) {
      for (size_t i = 0; i < each; ++i) {
        IndexRow row;
        row.sample = numbers[rows.size()];
        row.split = split;
        row.format = format;
        row.offset = 8 * i;
        rows.push_back(row);
      }
    }
  }
  return rows;
}

class SelectedRowsTest : public ::testing::TestWithParam<size_t> {};

TEST_P(SelectedRowsTest, FindsWhatAListOfTheRowsHas) {
  std::mt19937 random(7);
  const std::vector<IndexRow> rows = MakeRows(GetParam(), &random);
  const IndexView index = Pack(rows);
  for (const double share : {-1., 0., .001, .3, .97, 1.}) {
    // Fewer bits than samples: the last ones are not chosen.
    std::vector<uint8_t> chosen(share < 0 ? 0 : rows.size() * 9 / 80 + 1);
    for (size_t i = 0; i < 8 * chosen.size(); ++i) {
      if (random() < share * 4294967296.) chosen[i / 8] |= 1 << i % 8;
    }
    const auto is_chosen = [&](uint64_t sample) {
      return share < 0 || (sample / 8 < chosen.size() &&
                           (chosen[sample / 8] >> sample % 8 & 1) != 0);
    };
    for (const std::vector<uint8_t>& splits :
         {std::vector<uint8_t>{}, {0}, {3}, {1, 2}, {0, 1, 2, 3}}) {
      const SelectedRows selected(index, splits, 1,
                                  ByteSpan(chosen.data(), chosen.size()));
      uint64_t rank = 0;
      uint64_t place = 0;
      for (const uint8_t split : splits) {
        for (const IndexRow& row : rows) {
          if (row.split != split || row.format != 1) continue;
          ASSERT_EQ(selected.At(place).sample, row.sample);
          ASSERT_EQ(selected.IsChosen(place), is_chosen(row.sample));
          if (is_chosen(row.sample)) {
            ASSERT_EQ(selected.PlaceOf(rank), place);
            ASSERT_EQ(selected[rank].sample, row.sample);
            ++rank;
          }
          ++place;
        }
      }
      ASSERT_EQ(selected.size(), rank);
      ASSERT_EQ(selected.places(), place);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, SelectedRowsTest,
                         ::testing::Values(0, 1, 63, 64, 65, 2047, 2048, 5000));

}  // namespace
}  // namespace liquid::selected_rows_test
