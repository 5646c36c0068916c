// A hash map from numbers, which needs no library.
#ifndef LIQUID_OPS_CORE_NUMBER_MAP_H_
#define LIQUID_OPS_CORE_NUMBER_MAP_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace liquid {

// A map with open addressing: entries lie in one array, each at the place that
// its key hashes to or in the next free one behind it. A place that is erased
// is filled from behind, so that there are no marks of what was there.
//
// Key UINT64_MAX must not be used. `Value` has a default constructor and can be
// moved. References and iterators are valid until the next insertion, erasure
// or reserve. Thread-compatible.
template <typename Value>
class NumberMap {
 public:
  struct Entry {
    uint64_t first = kFree;
    Value second{};
  };

  // Over the entries in no order that means anything.
  template <typename Map, typename Of>
  class Iterator {
   public:
    Iterator(Map* map, size_t place) : map_(map), place_(place) { Settle(); }
    Of& operator*() const { return map_->entries_[place_]; }
    Of* operator->() const { return &map_->entries_[place_]; }
    Iterator& operator++() {
      ++place_;
      Settle();
      return *this;
    }
    bool operator==(const Iterator& other) const {
      return place_ == other.place_;
    }
    bool operator!=(const Iterator& other) const { return !(*this == other); }

   private:
    friend class NumberMap;
    void Settle() {
      while (place_ < map_->entries_.size() &&
             map_->entries_[place_].first == kFree) {
        ++place_;
      }
    }

    Map* map_;
    size_t place_;
  };
  using iterator = Iterator<NumberMap, Entry>;
  using const_iterator = Iterator<const NumberMap, const Entry>;

  NumberMap() = default;
  NumberMap(const NumberMap&) = default;
  NumberMap& operator=(const NumberMap&) = default;
  // The other is empty then.
  NumberMap(NumberMap&& other) noexcept { *this = std::move(other); }
  NumberMap& operator=(NumberMap&& other) noexcept {
    entries_ = std::move(other.entries_);
    other.entries_.clear();
    shift_ = other.shift_;
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  iterator begin() { return iterator(this, 0); }
  iterator end() { return iterator(this, entries_.size()); }
  const_iterator begin() const { return const_iterator(this, 0); }
  const_iterator end() const { return const_iterator(this, entries_.size()); }

  iterator find(uint64_t key) {
    const size_t place = Find(key);
    return place == kNone ? end() : iterator(this, place);
  }
  const_iterator find(uint64_t key) const {
    const size_t place = Find(key);
    return place == kNone ? end() : const_iterator(this, place);
  }
  bool contains(uint64_t key) const { return Find(key) != kNone; }

  // The value of a key, which is made where there is none.
  Value& operator[](uint64_t key) {
    // Three quarters full, so that a search ends soon.
    if (4 * (size_ + 1) > 3 * entries_.size()) Rehash(2 * entries_.size());
    size_t place = Home(key);
    while (entries_[place].first != key) {
      if (entries_[place].first == kFree) {
        entries_[place].first = key;
        ++size_;
        break;
      }
      place = Behind(place);
    }
    return entries_[place].second;
  }

  void erase(iterator found) {
    size_t hole = found.place_;
    for (size_t place = Behind(hole); entries_[place].first != kFree;
         place = Behind(place)) {
      // One that stands where it belongs, or between there and the hole, stays.
      const size_t home = Home(entries_[place].first);
      const bool passes_hole =
          ((place - home) & mask()) >= ((place - hole) & mask());
      if (!passes_hole) continue;
      entries_[hole] = std::move(entries_[place]);
      hole = place;
    }
    entries_[hole] = Entry();
    --size_;
  }

  // Erases the entries of which `gone` is true; it may change their values.
  template <typename Predicate>
  void erase_if(Predicate gone) {
    NumberMap left;
    left.reserve(size_);
    for (Entry& entry : entries_) {
      if (entry.first == kFree || gone(entry)) continue;
      left[entry.first] = std::move(entry.second);
    }
    *this = std::move(left);
  }

  // Makes room for so many entries.
  void reserve(size_t count) {
    size_t places = kLeast;
    while (3 * places < 4 * count) places *= 2;
    if (places > entries_.size()) Rehash(places);
  }

  // Brings the place of a key towards the processor.
  void prefetch(uint64_t key) const {
    if (!entries_.empty()) __builtin_prefetch(&entries_[Home(key)]);
  }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;
  static constexpr size_t kNone = SIZE_MAX;
  static constexpr size_t kLeast = 8;

  size_t mask() const { return entries_.size() - 1; }
  size_t Behind(size_t place) const { return (place + 1) & mask(); }
  // Fibonacci hashing: numbers that follow one another are spread.
  size_t Home(uint64_t key) const {
    return static_cast<size_t>((key * 0x9E3779B97F4A7C15u) >> shift_);
  }
  size_t Find(uint64_t key) const {
    if (entries_.empty()) return kNone;
    for (size_t place = Home(key);; place = Behind(place)) {
      if (entries_[place].first == key) return place;
      if (entries_[place].first == kFree) return kNone;
    }
  }
  void Rehash(size_t places) {
    std::vector<Entry> old(places < kLeast ? kLeast : places);
    old.swap(entries_);
    shift_ = 64 - __builtin_ctzll(entries_.size());
    size_ = 0;
    for (Entry& entry : old) {
      if (entry.first != kFree) (*this)[entry.first] = std::move(entry.second);
    }
  }

  std::vector<Entry> entries_;  // a power of two, or none
  int shift_ = 0;
  size_t size_ = 0;
};

}  // namespace liquid

#endif  // LIQUID_OPS_CORE_NUMBER_MAP_H_
