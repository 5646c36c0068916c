// What the tests of record streams share.
#ifndef LIQUID_TESTS_OPS_READER_STREAM_READING_H_
#define LIQUID_TESTS_OPS_READER_STREAM_READING_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "ops/reader/record_stream.h"

namespace liquid {

// Those given, one after another.
inline TurnSource Positions(std::vector<uint64_t> positions) {
  return [positions = std::move(positions),
          i = size_t{0}](ReadTurn* read) mutable {
    if (i == positions.size()) return false;
    read->position = positions[i++];
    return true;
  };
}

inline std::vector<uint64_t> Range(uint64_t size) {
  std::vector<uint64_t> positions(size);
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

// To its end, up to `most` at once.
inline std::vector<RecordPtr> ReadAll(RecordStream* stream, size_t most = 7) {
  std::vector<RecordPtr> all, some;
  do {
    const Status status = stream->Next(most, &some);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_LE(some.size(), most);
    all.insert(all.end(), some.begin(), some.end());
  } while (!some.empty());
  return all;
}

inline StreamOptions Options(int depth) {
  StreamOptions options;
  options.depth = depth;
  return options;
}

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_READER_STREAM_READING_H_
