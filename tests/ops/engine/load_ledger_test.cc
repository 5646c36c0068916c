#include "ops/engine/load_ledger.h"

#include <gtest/gtest.h>

#include <memory>

namespace liquid::load_ledger_test {
namespace {

TEST(LoadLedgerTest, EachReadIsChargedToTheDrawOfItsNumber) {
  LoadLedger ledger;
  const auto first = std::make_shared<BatchCost>();
  const auto second = std::make_shared<BatchCost>();
  // One read in advance.
  ledger.Read(1);
  ledger.Need(first);
  EXPECT_EQ(first->disk_bytes, 1u);
  // Two that come when both batches are gone.
  ledger.Need(first);
  ledger.Need(second);
  EXPECT_EQ(first->disk_bytes, 1u);
  ledger.Read(10);
  EXPECT_EQ(first->disk_bytes, 11u);
  EXPECT_EQ(second->disk_bytes, 0u);
  ledger.Read(100);
  EXPECT_EQ(second->disk_bytes, 100u);
  // In advance again, in order.
  ledger.Read(1000);
  ledger.Read(0);
  ledger.Need(second);
  ledger.Need(first);
  EXPECT_EQ(second->disk_bytes, 1100u);
  EXPECT_EQ(first->disk_bytes, 11u);
}

}  // namespace
}  // namespace liquid::load_ledger_test
