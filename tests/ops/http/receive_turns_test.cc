#include "ops/http/receive_turns.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace liquid::receive_turns_test {
namespace {

constexpr auto kMost = ReceiveTurns::kMost;

// As many as are received at a time, numbered from 100 on.
ReceiveTurns Full() {
  ReceiveTurns turns;
  for (uint64_t i = 0; i < kMost; ++i) EXPECT_TRUE(turns.Begin(100 + i, 0));
  return turns;
}

TEST(ReceiveTurnsTest, AFewAreReceivedAtATime) {
  ReceiveTurns turns = Full();
  EXPECT_FALSE(turns.Begin(300, 0));
  EXPECT_TRUE(turns.Begin(100, 0));  // as before
  EXPECT_EQ(turns.Next(.1), std::nullopt);
  turns.End(104);
  EXPECT_EQ(turns.Next(.1), 300u);
  EXPECT_TRUE(turns.Begin(300, .1));
  EXPECT_EQ(turns.Next(.1), std::nullopt);
}

TEST(ReceiveTurnsTest, WhatWasAskedForFirstIsReceivedFirst) {
  ReceiveTurns turns = Full();
  // The answer to a repeated one comes last.
  for (const uint64_t number : {301, 300, 302, 7}) {
    EXPECT_FALSE(turns.Begin(number, 0));
  }
  turns.End(302);  // it was given up
  for (const uint64_t number : {7, 300, 301}) {
    turns.End(100 + number % 10);
    EXPECT_EQ(turns.Next(.1), number);
  }
  turns.End(105);
  EXPECT_EQ(turns.Next(.1), std::nullopt);
}

TEST(ReceiveTurnsTest, NoneWaitsForLong) {
  constexpr double kLongest = ReceiveTurns::kLongest;
  ReceiveTurns turns = Full();
  EXPECT_EQ(turns.wait(0), std::nullopt);
  EXPECT_FALSE(turns.Begin(301, 1));
  EXPECT_FALSE(turns.Begin(300, 1 + kLongest / 2));
  EXPECT_DOUBLE_EQ(*turns.wait(1 + kLongest / 4), kLongest * 3 / 4);
  EXPECT_EQ(turns.Next(1 + .9 * kLongest), std::nullopt);
  EXPECT_EQ(turns.Next(1 + 1.1 * kLongest), 301u);
  EXPECT_NEAR(*turns.wait(1 + 1.1 * kLongest), .4 * kLongest, 1e-9);
  EXPECT_EQ(turns.Next(1 + 1.1 * kLongest), std::nullopt);
  EXPECT_DOUBLE_EQ(*turns.wait(1 + 2 * kLongest), 0);
  EXPECT_EQ(turns.Next(1 + 2 * kLongest), 300u);
  // More than usual are received now: as many have to end.
  EXPECT_FALSE(turns.Begin(302, 3));
  turns.End(100);
  turns.End(101);
  EXPECT_EQ(turns.Next(3), std::nullopt);
  turns.End(102);
  EXPECT_EQ(turns.Next(3), 302u);
}

}  // namespace
}  // namespace liquid::receive_turns_test
