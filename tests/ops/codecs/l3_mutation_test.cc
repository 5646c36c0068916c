// Damaged files of the compact profile whose checksums are right, so that the
// damage reaches what parses patches: one clear error, or the same pixels by
// every instruction set; nothing out of bounds (the sanitizers watch).
//
// LIQUID_TEST_MUTATIONS=100000 takes that many, and all truncations.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <tuple>

#include "tests/ops/codecs/l3_testing.h"

namespace liquid::l3_mutation_test {
namespace {

constexpr size_t kMutations = 6000;

size_t Mutations() {
  const char* const text = std::getenv("LIQUID_TEST_MUTATIONS");
  return text == nullptr ? kMutations : std::strtoull(text, nullptr, 10);
}

// A sound file, and its patches' kind.
struct Sound {
  ImageInfo info;
  bool flat;
  std::string file;
};

bool IsFlat(const std::string& file, const L3PatchBytes& patch) {
  return (file[patch.begin + 5] & 0x80) != 0;
}

// Patches of residuals (noise, slopes, calm and wild groups) and of few
// colours, of 1 to 4 channels and both depths, whole ones and parts.
std::vector<Sound> SoundFiles() {
  constexpr std::pair<uint32_t, uint32_t> kSides[] = {
      {64, 64}, {37, 75}, {66, 9}};
  std::vector<Sound> files;
  Noise noise(31);
  for (int channels = 1; channels <= 4; ++channels) {
    for (const int bits : {8, 16}) {
      for (const auto& [height, width] : kSides) {
        const ImageInfo info = Info(height, width, channels, bits);
        for (const Content content :
             {Content::kSlope, Content::kMixed, Content::kFlat}) {
          const Bytes pixels = content == Content::kSlope
                                   ? MakePixels(info, 5, 60)
                                   : MakeContent(content, info, &noise);
          const auto effort = static_cast<Effort>(files.size() % 3);
          const std::string file = EncodeAsL3(L3Version::kV2, 0, info, pixels,
                                              L3Profile::kCompact, effort);
          files.push_back({info, IsFlat(file, L3PatchesIn(file)[0]), file});
        }
      }
    }
  }
  return files;
}

class L3MutationTest : public testing::Test {
 protected:
  // Decodes a damaged file whole and in a window, and checks what comes of it.
  void Open(const std::string& file) {
    ImageInfo info;
    Status status;
    Bytes pixels, part;
    ASSERT_EQ(DecodeWholeByTargets(file, &info, &status, &pixels), "");
    ++found_[Kind(status)];
    if (!status.ok()) {
      ASSERT_EQ(status.message().substr(0, 4), "l3: ");
      ASSERT_EQ(status.message().find('\n'), std::string::npos);
      // The header is at offset 0; a limit says how to raise it.
      ASSERT_TRUE(Says(status, " offset ") || Says(status, "the header") ||
                  status.code() == StatusCode::kResourceExhausted)
          << status.message();
    }
    if (info.height == 0 || info.width == 0) return;
    const Window window = RandomWindow(info, &noise_);
    const Bytes whole = pixels;
    const bool ok = status.ok();
    ASSERT_EQ(DecodeByTargets(file, info, window, &status, &part), "");
    if (!ok) return;
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(part, Crop(info, whole, window));
  }

  static bool Says(const Status& status, const char* part) {
    return status.message().find(part) != std::string::npos;
  }

  // What a status is about, in the words of its message.
  static std::string Kind(const Status& status) {
    if (status.ok()) return "decoded";
    for (const char* part : {"CRC", "the row", "its last row", "palette",
                             "channel", "patch", "table", "limit"}) {
      if (Says(status, part)) return part;
    }
    return "header";
  }

  void Report(const char* what) {
    size_t sum = 0;
    for (const auto& [kind, count] : found_) sum += count;
    std::printf("%zu %s of %zu files:", sum, what, files_.size());
    for (const auto& [kind, count] : found_) {
      std::printf(" %s %zu;", kind.c_str(), count);
    }
    std::printf(" by");
    for (const VectorTarget target : RunnableTargets()) {
      std::printf(" %s", VectorTargetName(target));
    }
    std::printf("\n");
  }

  const std::vector<Sound> files_ = SoundFiles();
  Noise noise_{32};
  std::map<std::string, size_t> found_;
};

TEST_F(L3MutationTest, SoundFilesAreOfEveryKind) {
  std::map<std::tuple<int, int, bool>, int> kinds;
  for (const Sound& sound : files_) {
    ++kinds[{sound.info.channels, sound.info.bits, sound.flat}];
    ASSERT_NO_FATAL_FAILURE(Open(sound.file));
  }
  EXPECT_EQ(kinds.size(), 4u * 2 * 2);
  EXPECT_EQ(found_["decoded"], files_.size());
}

TEST_F(L3MutationTest, MutationsGiveAnErrorOrTheSamePixels) {
  const size_t count = Mutations();
  for (size_t i = 0; i < count; ++i) {
    const Sound& sound = files_[i % files_.size()];
    const Sound& other =
        files_[noise_.Below(static_cast<uint32_t>(files_.size()))];
    const std::string damaged = MutateL3(sound.file, other.file, &noise_);
    ASSERT_NO_FATAL_FAILURE(Open(damaged)) << "mutation " << i;
  }
  Report("mutations");
  if (count < kMutations) return;
  // Otherwise the mutations would test the first checks only.
  for (const char* kind : {"decoded", "channel", "the row", "its last row"}) {
    EXPECT_GT(found_[kind], count / 1000) << kind;
  }
  EXPECT_EQ(found_["CRC"], 0u);
}

// Every file, cut at every byte: as it is, and with table, segment and checksum
// mended.
TEST_F(L3MutationTest, TruncationsGiveAnError) {
  const size_t step = Mutations() > kMutations ? 1 : 61;
  size_t cut = 0;
  for (const Sound& sound : files_) {
    const size_t first = cut++ % step;
    for (size_t size = first; size < sound.file.size(); size += step) {
      ImageInfo info;
      Status status;
      Bytes pixels;
      ASSERT_EQ(DecodeWholeByTargets(sound.file.substr(0, size), &info, &status,
                                     &pixels),
                "");
      ++found_[Kind(status)];
      ASSERT_EQ(status.code(), StatusCode::kDataLoss) << size;
      ASSERT_NE(status.message().find(" offset "), std::string::npos);
    }
    for (const L3PatchBytes& patch : L3PatchesIn(sound.file)) {
      for (size_t bytes = 1 + first; bytes <= patch.end - patch.begin - 4;
           bytes += step) {
        const std::string shorter = ShortenL3(sound.file, patch.number, bytes);
        ASSERT_NO_FATAL_FAILURE(Open(shorter)) << bytes;
      }
    }
  }
  Report("truncations");
}

}  // namespace
}  // namespace liquid::l3_mutation_test
