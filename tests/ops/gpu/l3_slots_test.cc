// Which memory a batch is decoded in.
#include "ops/gpu/driver/l3_slots.h"

#include <gtest/gtest.h>

#include <algorithm>
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

TEST_F(L3SlotsTest, WhatNobodyNeedsForLongGoes) {
  std::vector<std::shared_ptr<Slot>> held(9);
  std::vector<std::weak_ptr<Slot>> all;
  const auto there = [&] {
    return std::count_if(all.begin(), all.end(),
                         [](const auto& slot) { return !slot.expired(); });
  };
  for (std::shared_ptr<Slot>& slot : held) {
    ASSERT_TRUE(Take(&slot).ok());
    all.push_back(slot);
  }
  // Two more come where one is in use after another.
  std::shared_ptr<Slot> slot;
  const auto use = [&](int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(Take(&slot).ok());
      all.push_back(slot);
      slot->is_ours = true;
      slot.reset();
      std::sort(all.begin(), all.end(), std::owner_less<>());
      all.erase(std::unique(all.begin(), all.end(),
                            [](const auto& one, const auto& other) {
                              return one.lock() == other.lock();
                            }),
                all.end());
    }
  };
  use(200);
  EXPECT_EQ(there(), 9 + 2);
  // Those that are let go of stay, as long as they are needed again soon.
  for (int i = 0; i < 20; ++i) {
    for (const auto& one : held) one->is_ours = true;
    use(1);
    for (std::shared_ptr<Slot>& one : held) ASSERT_TRUE(Take(&one).ok());
  }
  EXPECT_EQ(there(), 9 + 1);
  for (const auto& one : held) one->is_ours = true;
  held.clear();
  use(200);
  EXPECT_EQ(there(), 2);
}

// A device of a few pieces of memory, of which each slot has some.
class L3SlotsMemoryTest : public L3SlotsTest {
 protected:
  static constexpr int kAll = 6;

  Status Take(int size, std::shared_ptr<Slot>* taken) {
    std::shared_ptr<L3Slot> slot;
    LIQUID_RETURN_IF_ERROR(slots_.Take(
        [this] {
          ++made_count_;
          return std::make_unique<Slot>();
        },
        [&](bool may, L3Slot* of) {
          may_wait_.push_back(may);
          auto* const fitted = static_cast<Slot*>(of);
          if (fitted->size >= size) return OkStatus();
          fitted->size = 0;  // what was there goes first
          int used = 0;
          for (const auto& other : all_) used += other->size;
          if (used + size > kAll) {
            return Status(StatusCode::kResourceExhausted, "full");
          }
          fitted->size = size;
          return OkStatus();
        },
        &slot));
    *taken = std::static_pointer_cast<Slot>(slot);
    (*taken)->is_ours = false;
    if (std::find(all_.begin(), all_.end(), *taken) == all_.end()) {
      all_.push_back(*taken);
    }
    slots_.Return(slot.get());
    return OkStatus();
  }

  // Three slots fill the device. One of them is taken again, and then another
  // one, for which the third gives its memory.
  void TakeALargeOne(std::shared_ptr<Slot>* taken,
                     std::shared_ptr<Slot>* large) {
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(Take(2, large).ok());
    EXPECT_EQ(Take(2, taken).code(), StatusCode::kResourceExhausted);
    for (const auto& slot : all_) slot->is_ours = true;
    ASSERT_TRUE(Take(2, taken).ok());  // they are free from now on
    may_wait_.clear();
    ASSERT_TRUE(Take(4, large).ok());
    EXPECT_EQ(may_wait_, (std::vector<bool>{false, true}));
    EXPECT_EQ((*taken)->size, 2);
  }

  std::vector<std::shared_ptr<Slot>> all_;
  int made_count_ = 0;
};

TEST_F(L3SlotsMemoryTest, ALargerBatchGetsWhatFreeSlotsHave) {
  std::shared_ptr<Slot> taken, large, small;
  TakeALargeOne(&taken, &large);
  // What was emptied is used again, and nothing is left to be emptied.
  large->is_ours = true;
  made_count_ = 0;
  ASSERT_TRUE(Take(0, &small).ok());
  EXPECT_EQ(made_count_, 0);
  EXPECT_NE(small, large);
  may_wait_.clear();
  EXPECT_EQ(Take(5, &large).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(may_wait_, (std::vector<bool>{true}));
}

TEST_F(L3SlotsMemoryTest, WhatHasMemoryComesBeforeWhatWasEmptied) {
  std::shared_ptr<Slot> taken, large, next;
  TakeALargeOne(&taken, &large);
  taken->is_ours = large->is_ours = true;
  ASSERT_TRUE(Take(2, &next).ok());
  EXPECT_EQ(next, taken);
  // The one that was emptied has been free for longer than the large one.
  taken->is_ours = true;
  const auto sizes = [this] {
    std::vector<int> found;
    for (const auto& slot : all_) found.push_back(slot->size);
    return found;
  };
  const std::vector<int> before = sizes();
  may_wait_.clear();
  ASSERT_TRUE(Take(2, &next).ok());
  EXPECT_EQ(next, large);
  EXPECT_EQ(may_wait_.size(), 1U);
  EXPECT_EQ(sizes(), before);
}

TEST_F(L3SlotsMemoryTest, WhatWasJustFreedComesBeforeWhatFindsNoMemory) {
  std::shared_ptr<Slot> taken, large, next;
  TakeALargeOne(&taken, &large);
  taken->is_ours = true;
  may_wait_.clear();
  ASSERT_TRUE(Take(2, &next).ok());
  EXPECT_EQ(next, taken);
  // For what was emptied nothing is waited for, since there is this one.
  EXPECT_EQ(may_wait_, (std::vector<bool>{false, true}));
  EXPECT_EQ(taken->size, 2);
}

TEST_F(L3SlotsTest, WhatOthersLeftIsAnErrorOfTheNextBatch) {
  std::shared_ptr<Slot> first, second;
  ASSERT_TRUE(Take(&first).ok());
  first->is_ours = true;
  first->waiting = Status(StatusCode::kInternal, "no stream");
  const Status taken = Take(&second);
  EXPECT_EQ(taken.code(), StatusCode::kInternal);
  EXPECT_EQ(taken.message(), "no stream");
  // And of no other one.
  ASSERT_TRUE(Take(&second).ok());
  EXPECT_NE(second, first);
  EXPECT_EQ(first.use_count(), 1);
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
