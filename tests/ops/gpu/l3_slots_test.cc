// Which memory a batch is decoded in.
#include "ops/gpu/driver/l3_slots.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace liquid::l3_slots_test {
namespace {

struct Slot : L3Slot {
  bool IsOurs() const override { return is_ours; }
  Status WaitForOthers() override {
    ++waits;
    return waiting;
  }

  void LetGo() override { size = 0; }

  bool is_ours = true;
  int waits = 0;
  int size = 0;
  Status waiting;
};

class L3SlotsTest : public testing::Test {
 protected:
  // Takes a slot, and lends it.
  Status Take(std::shared_ptr<Slot>* taken) {
    std::shared_ptr<L3Slot> slot;
    LIQUID_RETURN_IF_ERROR(slots_.Take(
        [&] {
          auto made = std::make_unique<Slot>();
          made_ = made.get();
          return made;
        },
        // What was made once fits again.
        [&](bool may_wait, L3Slot* of) {
          may_wait_.push_back(may_wait);
          if (of != made_ || !is_full_) return OkStatus();
          return Status(StatusCode::kResourceExhausted, "full");
        },
        &slot));
    made_ = nullptr;
    *taken = std::static_pointer_cast<Slot>(slot);
    (*taken)->is_ours = false;
    slots_.Return(slot.get());
    return OkStatus();
  }

  L3Slots slots_;
  L3Slot* made_ = nullptr;
  bool is_full_ = false;
  std::vector<bool> may_wait_;
};

TEST_F(L3SlotsTest, WhatHasBeenFreeForACallComesBeforeWhatIsNew) {
  std::shared_ptr<Slot> first, second, third, fourth;
  ASSERT_TRUE(Take(&first).ok());
  ASSERT_TRUE(Take(&second).ok());
  EXPECT_NE(first, second);
  first->is_ours = true;
  // Just freed: a step may still use it.
  ASSERT_TRUE(Take(&third).ok());
  EXPECT_NE(third, first);
  EXPECT_NE(third, second);
  EXPECT_EQ(first->waits, 1);
  ASSERT_TRUE(Take(&fourth).ok());
  EXPECT_EQ(fourth, first);
  EXPECT_EQ(first->waits, 1);
}

TEST_F(L3SlotsTest, WithoutMemoryWhatWasJustFreedIsTaken) {
  std::shared_ptr<Slot> first, second;
  ASSERT_TRUE(Take(&first).ok());
  is_full_ = true;
  EXPECT_EQ(Take(&second).code(), StatusCode::kResourceExhausted);
  first->is_ours = true;
  may_wait_.clear();
  ASSERT_TRUE(Take(&second).ok());
  EXPECT_EQ(second, first);
  // For a new one nothing is waited for, since there is this one.
  EXPECT_EQ(may_wait_, (std::vector<bool>{false, true}));
}

// A device of a few pieces of memory, of which each slot has some.
TEST_F(L3SlotsTest, ALargerBatchGetsWhatFreeSlotsHave) {
  constexpr int kAll = 6;
  std::vector<std::shared_ptr<Slot>> all;
  std::vector<bool> may_wait;
  const auto take = [&](int size, std::shared_ptr<Slot>* taken) -> Status {
    std::shared_ptr<L3Slot> slot;
    LIQUID_RETURN_IF_ERROR(
        slots_.Take([] { return std::make_unique<Slot>(); },
                    [&](bool may, L3Slot* of) {
                      may_wait.push_back(may);
                      auto* const fitted = static_cast<Slot*>(of);
                      fitted->size = 0;  // what was there goes first
                      int used = 0;
                      for (const auto& other : all) used += other->size;
                      if (used + size > kAll) {
                        return Status(StatusCode::kResourceExhausted, "full");
                      }
                      fitted->size = size;
                      return OkStatus();
                    },
                    &slot));
    *taken = std::static_pointer_cast<Slot>(slot);
    (*taken)->is_ours = false;
    slots_.Return(slot.get());
    return OkStatus();
  };
  for (int i = 0; i < 3; ++i) {
    std::shared_ptr<Slot> slot;
    ASSERT_TRUE(take(2, &slot).ok());
    all.push_back(slot);
  }
  std::shared_ptr<Slot> taken;
  EXPECT_EQ(take(2, &taken).code(), StatusCode::kResourceExhausted);
  for (const auto& slot : all) slot->is_ours = true;
  ASSERT_TRUE(take(2, &taken).ok());  // they are free from now on
  may_wait.clear();
  // One is held; the two others have what it needs.
  std::shared_ptr<Slot> large;
  ASSERT_TRUE(take(4, &large).ok());
  EXPECT_EQ(may_wait, (std::vector<bool>{false, true}));
  EXPECT_EQ(taken->size, 2);
  // What was emptied is used again, and nothing is left to be emptied.
  large->is_ours = true;
  std::shared_ptr<Slot> small;
  ASSERT_TRUE(take(0, &small).ok());
  EXPECT_NE(small, large);
  may_wait.clear();
  EXPECT_EQ(take(5, &large).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(may_wait, (std::vector<bool>{true}));
}

TEST_F(L3SlotsTest, WhatOthersLeftIsAnErrorOfTheNextBatch) {
  std::shared_ptr<Slot> first, second;
  ASSERT_TRUE(Take(&first).ok());
  first->is_ours = true;
  first->waiting = Status(StatusCode::kInternal, "no stream");
  const Status taken = Take(&second);
  EXPECT_EQ(taken.code(), StatusCode::kInternal);
  EXPECT_EQ(taken.message(), "no stream");
}

TEST_F(L3SlotsTest, AUserKeepsASlotWhenTheOthersGo) {
  auto slots = std::make_unique<L3Slots>();
  std::shared_ptr<L3Slot> slot;
  ASSERT_TRUE(slots
                  ->Take([] { return std::make_unique<Slot>(); },
                         [](bool, L3Slot*) { return OkStatus(); }, &slot)
                  .ok());
  slots->Return(slot.get());
  slots.reset();
  EXPECT_EQ(slot.use_count(), 1);
}

}  // namespace
}  // namespace liquid::l3_slots_test
