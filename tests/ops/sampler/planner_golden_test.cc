// The order of samples across versions, platforms and compilers.
//
// A change of these numbers is a change of every user's training run: a seed
// would no longer give the order that it gave before.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"

namespace liquid::planner_golden_test {
namespace {

std::vector<Draw> PlanOf(std::shared_ptr<const PlanSpec> spec, int64_t epoch,
                         HeldSets* held) {
  std::unique_ptr<EpochPlan> plan;
  const Status status =
      EpochPlan::Create(std::move(spec), epoch, std::move(*held), &plan);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<Draw> draws;
  while (plan->position() < plan->size()) draws.push_back(plan->Next());
  *held = plan->kept();
  return draws;
}

TEST(PlannerGoldenTest, TwoFormatsTwoEpochs) {
  auto spec = std::make_shared<PlanSpec>();
  spec->seed = 42;
  spec->batch_size = 8;
  spec->formats.resize(2);
  // 24 samples of which 7 are kept, and 16 that are all kept.
  spec->formats[0] = {{9, 7, 8}, 7, 10};
  spec->formats[1] = {{5, 11}, 16, 0};

  // Format, sample, load (-1: held), kept.
  const std::vector<Draw> first = {
      {1, 3, 3, true},    {1, 1, 1, true},    {0, 10, 1, false},
      {1, 2, 2, true},    {0, 4, 11, true},   {0, 15, 6, true},
      {0, 0, 7, false},   {0, 5, 12, false},  {1, 4, 4, true},
      {0, 12, 3, false},  {0, 7, 14, false},  {0, 14, 5, true},
      {1, 5, 5, true},    {0, 6, 13, false},  {0, 8, 15, false},
      {1, 7, 7, true},    {1, 0, 0, true},    {0, 11, 2, true},
      {1, 6, 6, true},    {0, 13, 4, false},  {1, 12, 12, true},
      {0, 16, 16, false}, {0, 20, 20, false}, {1, 14, 14, true},
      {0, 19, 19, false}, {0, 3, 10, false},  {0, 18, 18, false},
      {0, 2, 9, true},    {1, 15, 15, true},  {1, 8, 8, true},
      {1, 11, 11, true},  {0, 9, 0, false},   {1, 13, 13, true},
      {0, 17, 17, true},  {0, 22, 22, false}, {1, 9, 9, true},
      {0, 21, 21, false}, {0, 23, 23, true},  {0, 1, 8, false},
      {1, 10, 10, true}};
  const std::vector<Draw> second = {
      {0, 4, -1, false}, {0, 9, 0, true},    {0, 14, -1, true},
      {0, 2, -1, false}, {1, 3, -1, true},   {1, 4, -1, true},
      {1, 1, -1, true},  {0, 13, 3, false},  {1, 0, -1, true},
      {0, 1, 5, false},  {0, 15, -1, false}, {1, 15, -1, true},
      {0, 10, 1, false}, {0, 11, -1, false}, {0, 5, 7, true},
      {1, 7, -1, true},  {1, 12, -1, true},  {0, 23, -1, false},
      {0, 12, 2, false}, {1, 11, -1, true},  {1, 8, -1, true},
      {0, 17, -1, true}, {1, 10, -1, true},  {0, 7, 9, false},
      {1, 14, -1, true}, {0, 16, 11, false}, {0, 18, 12, true},
      {0, 6, 8, false},  {0, 0, 4, false},   {1, 2, -1, true},
      {0, 8, 10, false}, {1, 9, -1, true},   {1, 6, -1, true},
      {1, 5, -1, true},  {0, 21, 15, true},  {1, 13, -1, true},
      {0, 22, 16, true}, {0, 3, 6, false},   {0, 19, 13, false},
      {0, 20, 14, false}};
  HeldSets held = NothingHeld(*spec);
  EXPECT_TRUE(PlanOf(spec, 0, &held) == first);
  EXPECT_TRUE(PlanOf(spec, 1, &held) == second);
}

TEST(PlannerGoldenTest, RecordsOfManySamplesBesideSamples) {
  auto spec = std::make_shared<PlanSpec>();
  spec->seed = 42;
  spec->batch_size = 6;
  spec->formats.resize(2);
  // 7 records of 18 samples, of which 2 are kept, and 6 samples, 3 kept.
  spec->formats[0] = {{3, 4}, 2, 6, {3, 3, 2, 3, 3, 3, 1}};
  spec->formats[1] = {{6}, 3, 0, {}};

  // Format, sample, load (-1: held), kept, record, its last.
  const std::vector<Draw> first = {
      {1, 1, 1, true, 1, true},   {0, 16, 5, true, 5, false},
      {0, 14, 5, true, 5, false}, {1, 0, 0, false, 0, true},
      {0, 5, 1, false, 1, false}, {0, 15, 5, true, 5, true},
      {1, 2, 2, true, 2, true},   {0, 6, 2, false, 2, false},
      {0, 3, 1, false, 1, false}, {0, 7, 2, false, 2, true},
      {0, 13, 4, true, 4, false}, {0, 12, 4, true, 4, false},
      {1, 5, 5, false, 5, true},  {0, 11, 4, true, 4, true},
      {0, 2, 0, false, 0, false}, {0, 17, 6, false, 6, true},
      {0, 8, 3, false, 3, false}, {0, 9, 3, false, 3, false},
      {0, 4, 1, false, 1, true},  {1, 3, 3, true, 3, true},
      {1, 4, 4, false, 4, true},  {0, 10, 3, false, 3, true},
      {0, 1, 0, false, 0, false}, {0, 0, 0, false, 0, true}};
  const std::vector<Draw> second = {
      {0, 13, -1, true, 4, false},  {0, 3, 1, false, 1, false},
      {0, 5, 1, false, 1, false},   {1, 2, -1, false, 2, true},
      {1, 4, 1, true, 4, true},     {0, 15, -1, false, 5, false},
      {0, 12, -1, true, 4, false},  {1, 1, -1, true, 1, true},
      {0, 14, -1, false, 5, false}, {0, 11, -1, true, 4, true},
      {0, 16, -1, false, 5, true},  {0, 7, 2, true, 2, false},
      {0, 1, 0, false, 0, false},   {0, 6, 2, true, 2, true},
      {0, 4, 1, false, 1, true},    {1, 0, 0, false, 0, true},
      {0, 9, 3, false, 3, false},   {0, 10, 3, false, 3, false},
      {0, 8, 3, false, 3, true},    {0, 0, 0, false, 0, false},
      {1, 3, -1, false, 3, true},   {0, 17, 4, false, 6, true},
      {0, 2, 0, false, 0, true},    {1, 5, 2, true, 5, true}};
  HeldSets held = NothingHeld(*spec);
  EXPECT_TRUE(PlanOf(spec, 0, &held) == first);
  EXPECT_TRUE(PlanOf(spec, 1, &held) == second);
}

}  // namespace
}  // namespace liquid::planner_golden_test
