#include "ops/sampler/worker_part.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ops/sampler/random_spec.h"

namespace liquid::worker_part_test {
namespace {

std::vector<WorkerPart> AllParts(const std::vector<uint64_t>& samples,
                                 uint64_t count, PartPolicy policy) {
  std::vector<WorkerPart> parts(count);
  for (uint64_t i = 0; i < count; ++i) {
    const Status status = MakeWorkerPart(samples, i, count, policy, &parts[i]);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return parts;
}

uint64_t Total(const WorkerPart& part) {
  uint64_t total = 0;
  for (const PartRange& range : part.formats) total += range.length;
  return total;
}

void CheckParts(const std::vector<uint64_t>& samples, uint64_t count,
                PartPolicy policy) {
  const std::vector<WorkerPart> parts = AllParts(samples, count, policy);
  uint64_t all = 0, least = ~uint64_t{0}, most = 0;
  uint64_t repeated = 0, dropped = 0, times_more = 0, missing = 0;
  for (const WorkerPart& part : parts) {
    ASSERT_EQ(part.formats.size(), samples.size());
    least = std::min(least, Total(part));
    most = std::max(most, Total(part));
    EXPECT_LE(part.repeated, 1u);
    EXPECT_LE(part.dropped, 1u);
    repeated += part.repeated;
    dropped += part.dropped;
  }
  for (size_t f = 0; f < samples.size(); ++f) {
    all += samples[f];
    std::vector<uint64_t> times(samples[f]);
    uint64_t least_part = ~uint64_t{0}, most_part = 0;
    for (const WorkerPart& part : parts) {
      const PartRange& range = part.formats[f];
      least_part = std::min(least_part, range.length);
      most_part = std::max(most_part, range.length);
      if (range.length == 0) continue;
      EXPECT_LE(range.start + range.length, samples[f] + part.repeated);
      for (uint64_t i = 0; i < range.length; ++i) {
        ++times[(range.start + i) % samples[f]];
      }
    }
    EXPECT_LE(most_part, least_part + 1);
    for (uint64_t t : times) {
      missing += t == 0;
      times_more += t > 1 ? t - 1 : 0;
    }
  }
  EXPECT_EQ(times_more, repeated);
  EXPECT_EQ(missing, dropped);
  for (const WorkerPart& part : parts) {
    EXPECT_EQ(part.repeated_in_all, repeated);
    EXPECT_EQ(part.dropped_in_all, dropped);
  }
  switch (policy) {
    case PartPolicy::kPad:
      EXPECT_EQ(least, (all + count - 1) / count);
      EXPECT_EQ(most, least);
      EXPECT_EQ(dropped, 0u);
      break;
    case PartPolicy::kDrop:
      EXPECT_EQ(most, all / count);
      EXPECT_EQ(most, least);
      EXPECT_EQ(repeated, 0u);
      break;
    case PartPolicy::kUneven:
      EXPECT_EQ(least, all / count);
      EXPECT_LE(most, least + 1);
      EXPECT_EQ(repeated + dropped, 0u);
  }
}

constexpr PartPolicy kPolicies[] = {PartPolicy::kPad, PartPolicy::kDrop,
                                    PartPolicy::kUneven};

TEST(MakeWorkerPartTest, PartsAndTotalsDifferByAtMostOne) {
  RandomStream random = TestStream(1);
  for (int i = 0; i < 3000 && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const uint64_t count = 1 + random.Below(20);
    std::vector<uint64_t> samples(1 + random.Below(6));
    for (uint64_t& s : samples) {
      s = random.Below(random.Below(3) == 0 ? 4 : 100);
    }
    for (PartPolicy policy : kPolicies) CheckParts(samples, count, policy);
  }
}

TEST(MakeWorkerPartTest, HundredAndThirtySamplesOverSixteenParts) {
  for (PartPolicy policy : kPolicies) {
    CheckParts({130}, 16, policy);
    CheckParts({78, 52}, 16, policy);
  }
  const std::vector<WorkerPart> parts = AllParts({130}, 16, PartPolicy::kPad);
  EXPECT_EQ(parts[0].formats[0].start, 0u);
  EXPECT_EQ(parts[1].formats[0].start, 9u);
  EXPECT_EQ(parts[2].formats[0].start, 18u);
  EXPECT_EQ(parts[15].formats[0].start, 122u);
  EXPECT_EQ(parts[15].formats[0].length, 9u);  // its last is sample 0
  EXPECT_EQ(parts[0].repeated_in_all, 14u);
}

TEST(MakeWorkerPartTest, FewerSamplesThanParts) {
  for (PartPolicy policy : kPolicies) {
    CheckParts({3}, 8, policy);
    CheckParts({1, 1, 0, 1}, 8, policy);
    CheckParts({0, 0}, 8, policy);
    CheckParts({}, 8, policy);
  }
  // The five repeats are spread over the three samples.
  std::vector<int> times(3);
  for (const WorkerPart& part : AllParts({3}, 8, PartPolicy::kPad)) {
    ++times[part.formats[0].start];
  }
  std::sort(times.begin(), times.end());
  EXPECT_EQ(times, (std::vector<int>{2, 3, 3}));
}

TEST(MakeWorkerPartTest, OnePartIsTheDataset) {
  for (PartPolicy policy : kPolicies) {
    const WorkerPart part = AllParts({7, 0, 12}, 1, policy)[0];
    EXPECT_EQ(part.formats[0].length, 7u);
    EXPECT_EQ(part.formats[1].length, 0u);
    EXPECT_EQ(part.formats[2].length, 12u);
    EXPECT_EQ(part.repeated + part.dropped, 0u);
  }
}

TEST(MakeWorkerPartTest, WrongArguments) {
  WorkerPart part;
  EXPECT_EQ(MakeWorkerPart({5}, 0, 0, PartPolicy::kPad, &part).message(),
            "count (0) must be between 1 and 4294967294");
  EXPECT_EQ(MakeWorkerPart({5}, 2, 2, PartPolicy::kPad, &part).message(),
            "index (2) must be below count, 2");
  EXPECT_EQ(
      MakeWorkerPart({5, uint64_t{1} << 32}, 0, 2, PartPolicy::kPad, &part)
          .message(),
      "samples[1] (4294967296) must be at most 4294967294");
}

TEST(PiecesOfTest, CoversTheRangeInOrder) {
  RandomStream random = TestStream(2);
  for (int i = 0; i < 1000 && !HasFailure(); ++i) {
    std::vector<uint64_t> files(1 + random.Below(6));
    uint64_t samples = 0;
    for (uint64_t& in_file : files) samples += in_file = random.Below(5);
    if (samples == 0) continue;
    const PartRange range = {random.Below(samples + 1),
                             random.Below(samples + 1)};
    std::vector<uint64_t> expected, seen;
    for (uint64_t j = 0; j < range.length; ++j) {
      expected.push_back((range.start + j) % samples);
    }
    for (const FilePiece& piece : PiecesOf(files, range)) {
      ASSERT_GT(piece.count, 0u);
      ASSERT_LE(piece.first + piece.count, files[piece.file]);
      uint64_t sample = piece.first;
      for (size_t f = 0; f < piece.file; ++f) sample += files[f];
      for (uint64_t j = 0; j < piece.count; ++j) seen.push_back(sample++);
    }
    EXPECT_EQ(seen, expected);
  }
  EXPECT_TRUE(PiecesOf({}, {0, 1}).empty());
  EXPECT_TRUE(PiecesOf({0, 0}, {0, 1}).empty());
}

}  // namespace
}  // namespace liquid::worker_part_test
