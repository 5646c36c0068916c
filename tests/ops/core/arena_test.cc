#include "ops/core/arena.h"

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace liquid::arena_test {
namespace {

constexpr uint64_t kPlace = Arena::kAlignment;

TEST(ArenaTest, PlacesAreAlignedAndInside) {
  const auto arena =
      std::make_shared<Arena>(kPlace + 1, 10 * kPlace, "", nullptr);
  EXPECT_EQ(arena->counters().bytes, 9 * kPlace);
  std::vector<std::shared_ptr<const Arena::Piece>> pieces;
  while (auto piece = arena->Take(kPlace - 7)) pieces.push_back(piece);
  ASSERT_EQ(pieces.size(), 9);
  for (const auto& piece : pieces) {
    EXPECT_EQ(piece->address() % kPlace, 0);
    EXPECT_GE(piece->address(), 2 * kPlace);
    EXPECT_LE(piece->address() + piece->size(), 11 * kPlace);
  }
  EXPECT_EQ(arena->counters().used, 9 * kPlace);
  pieces.clear();
  EXPECT_EQ(arena->counters().used, 0);
  EXPECT_EQ(arena->Take(9 * kPlace)->size(), 9 * kPlace);
}

TEST(ArenaTest, WhatIsTooLargeHasNoPlace) {
  const auto arena = std::make_shared<Arena>(0, 4 * kPlace, "", nullptr);
  EXPECT_EQ(arena->Take(4 * kPlace + 1), nullptr);
  EXPECT_EQ(arena->Take(UINT64_MAX), nullptr);
  EXPECT_NE(arena->Take(0), nullptr);
  const auto small = std::make_shared<Arena>(1, kPlace, "", nullptr);
  EXPECT_EQ(small->counters().bytes, 0);
  EXPECT_EQ(small->Take(1), nullptr);
}

TEST(ArenaTest, MemoryStaysWithItsPieces) {
  auto owner = std::make_shared<int>(1);
  const std::weak_ptr<int> there = owner;
  auto arena = std::make_shared<Arena>(0, 4 * kPlace, "", std::move(owner));
  auto piece = arena->Take(1);
  arena.reset();
  EXPECT_FALSE(there.expired());
  piece.reset();
  EXPECT_TRUE(there.expired());
}

TEST(ArenaTest, PiecesDoNotMeetAndComeTogetherAgain) {
  constexpr uint64_t kBytes = 200 * kPlace;
  const auto arena = std::make_shared<Arena>(kPlace, kBytes, "", nullptr);
  std::mt19937_64 random(3);
  std::vector<std::shared_ptr<const Arena::Piece>> pieces;
  for (int step = 0; step < 20000; ++step) {
    if (random() % 5 < 2 && !pieces.empty()) {
      pieces.erase(pieces.begin() +
                   static_cast<std::ptrdiff_t>(random() % pieces.size()));
      continue;
    }
    auto piece = arena->Take(1 + random() % (20 * kPlace));
    if (piece != nullptr) pieces.push_back(std::move(piece));
    std::map<uint64_t, uint64_t> sorted;
    uint64_t used = 0;
    for (const auto& one : pieces) {
      sorted[one->address()] = one->size();
      used += one->size();
    }
    EXPECT_EQ(arena->counters().used, used);
    uint64_t end = kPlace;
    for (const auto& [address, size] : sorted) {
      ASSERT_GE(address, end);
      end = address + size;
    }
    ASSERT_LE(end, kPlace + kBytes);
  }
  pieces.clear();
  EXPECT_NE(arena->Take(kBytes), nullptr);
}

}  // namespace
}  // namespace liquid::arena_test
