#include "ops/sampler/fidelity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace liquid::fidelity_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(FidelityTest, FullUnlessSaid) {
  const Fidelity full;
  EXPECT_EQ(full.At(0), kFullFidelity);
  EXPECT_EQ(full.At(1000), kFullFidelity);
  EXPECT_THAT(full.steps(), IsEmpty());
}

TEST(FidelityTest, ABatchHasItsOwnAndTheLastOneGoesOn) {
  Fidelity fidelity;
  ASSERT_TRUE(Fidelity::Create({2, 2, 5, 5, 5, 1}, &fidelity).ok());
  std::vector<uint32_t> groups;
  for (uint64_t batch = 0; batch < 8; ++batch) {
    groups.push_back(fidelity.At(batch));
  }
  EXPECT_THAT(groups, ElementsAre(2, 2, 5, 5, 5, 1, 1, 1));
  EXPECT_THAT(fidelity.steps(), ElementsAre(0, 2, 2, 5, 5, 1));
  Fidelity again;
  ASSERT_TRUE(Fidelity::FromSteps(fidelity.steps(), &again).ok());
  for (uint64_t batch = 0; batch < 8; ++batch) {
    EXPECT_EQ(again.At(batch), groups[batch]);
  }
}

TEST(FidelityTest, MoreThanAllIsAll) {
  Fidelity fidelity;
  ASSERT_TRUE(Fidelity::Create({int64_t{1} << 40}, &fidelity).ok());
  EXPECT_EQ(fidelity.At(3), kFullFidelity);
}

TEST(FidelityTest, Arguments) {
  Fidelity fidelity;
  EXPECT_EQ(Fidelity::Create({3, 0}, &fidelity).message(),
            "fidelity (0 in batch 1) must be at least 1");
  for (const std::vector<int64_t>& steps :
       {std::vector<int64_t>{0}, {1, 2}, {0, 2, 0, 3}, {0, 2, -1, 3}}) {
    EXPECT_EQ(Fidelity::FromSteps(steps, &fidelity).code(),
              StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace liquid::fidelity_test
