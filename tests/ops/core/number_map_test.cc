#include "ops/core/number_map.h"

#include <cstdint>
#include <map>
#include <memory>

#include "gtest/gtest.h"

namespace liquid::number_map_test {
namespace {

void ExpectSame(const NumberMap<uint64_t>& map,
                const std::map<uint64_t, uint64_t>& wanted) {
  std::map<uint64_t, uint64_t> found;
  for (const auto& entry : map) found[entry.first] = entry.second;
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(map.size(), wanted.size());
  EXPECT_EQ(map.empty(), wanted.empty());
}

TEST(NumberMapTest, AnEmptyOneHasNothing) {
  NumberMap<uint64_t> map;
  EXPECT_FALSE(map.contains(0));
  EXPECT_TRUE(map.find(7) == map.end());
  EXPECT_TRUE(map.begin() == map.end());
  map.prefetch(3);
}

// Few keys, so that they meet: at the end of the array too, where it goes on
// with the first place.
TEST(NumberMapTest, DoesWhatAMapDoes) {
  for (const uint64_t keys : {5u, 40u, 3000u}) {
    NumberMap<uint64_t> map;
    std::map<uint64_t, uint64_t> wanted;
    uint64_t state = keys;
    const auto next = [&state] {
      state = state * 6364136223846793005u + 1442695040888963407u;
      return state >> 33;
    };
    for (int step = 0; step < 20000; ++step) {
      const uint64_t key = next() % keys;
      switch (next() % 5) {
        case 0:
        case 1:
          map[key] = step;
          wanted[key] = step;
          break;
        case 2:
        case 3: {
          const auto found = map.find(key);
          ASSERT_EQ(found == map.end(), wanted.count(key) == 0);
          if (found == map.end()) break;
          ASSERT_EQ(found->second, wanted[key]);
          map.erase(found);
          wanted.erase(key);
          break;
        }
        default:
          ASSERT_EQ(map.contains(key), wanted.count(key) == 1);
      }
      if (step % 997 == 0) ExpectSame(map, wanted);
    }
    ExpectSame(map, wanted);
  }
}

TEST(NumberMapTest, ErasesWhatIsAskedFor) {
  NumberMap<uint64_t> map;
  std::map<uint64_t, uint64_t> wanted;
  for (uint64_t i = 0; i < 1000; ++i) {
    map[i * i] = i;
    if (i % 3 != 0) wanted[i * i] = i + 1;
  }
  map.erase_if([](auto& entry) { return entry.second++ % 3 == 0; });
  ExpectSame(map, wanted);
}

TEST(NumberMapTest, ValuesAreMoved) {
  NumberMap<std::unique_ptr<int>> map;
  for (int i = 0; i < 100; ++i) map[i] = std::make_unique<int>(i);
  NumberMap<std::unique_ptr<int>> other = std::move(map);
  for (int i = 0; i < 100; i += 2) other.erase(other.find(i));
  for (int i = 1; i < 100; i += 2) EXPECT_EQ(*other.find(i)->second, i);
  EXPECT_EQ(other.size(), 50u);
  EXPECT_TRUE(map.empty());
  map[1] = nullptr;
  EXPECT_EQ(map.size(), 1u);
}

// A place of an erased entry keeps nothing alive.
TEST(NumberMapTest, AnErasedValueIsGone) {
  NumberMap<std::shared_ptr<int>> map;
  const auto value = std::make_shared<int>(1);
  map[1] = value;
  map.erase(map.find(1));
  EXPECT_EQ(value.use_count(), 1);
}

TEST(NumberMapTest, ReservedRoomIsNotMovedAgain) {
  NumberMap<uint64_t> map;
  map.reserve(3000);
  const uint64_t* first = &map[0];
  for (uint64_t i = 1; i < 3000; ++i) map[i] = i;
  EXPECT_EQ(first, &map.find(0)->second);
}

}  // namespace
}  // namespace liquid::number_map_test
